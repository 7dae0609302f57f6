"""Plays an example in a Python that has its harness: prints one JSON object, id → outcome.

``python harness_elsewhere.py EXAMPLES MODULE URL ID…``
"""

import contextlib
import json
import sys
from collections import defaultdict
from importlib import import_module

from pytest_bfcl.judge import Data

_, EXAMPLES, MODULE, URL, *IDS = sys.argv
sys.path.insert(0, EXAMPLES)


def played(example):
    """The examples with a function of their own hand out judgements."""
    data = Data("bundled")
    return {each.id: each.outcome for each in example.play("faulty", URL, map(data.task, IDS))}


def inspected(example):
    """Inspect plays a task for each category; an error of a sample is an entry that was not judged."""
    from inspect_ai import eval as inspect
    from inspect_ai.model import get_model

    categories = defaultdict(set)
    for entry_id in IDS:
        categories[entry_id.rpartition("_")[0]].add(entry_id)
    model = get_model("openai/faulty", base_url=URL, api_key="sk-none", responses_api=False, max_retries=0)
    found = {}
    for category, ids in categories.items():
        log = inspect(example.bfcl(category), model=model, sample_id=list(ids), display="none", log_dir="logs")[0]
        for sample in log.samples:
            outcome = sample.metadata.get("judgement", {}).get("outcome")
            assert (sample.error is None) == (outcome is not None), sample.error
            assert outcome is None or (outcome == "right") == (sample.scores["exact"].value == "C")
            found[sample.id] = outcome or "not judged"
    return found


with contextlib.redirect_stdout(sys.stderr):
    example = import_module(MODULE)
    found = inspected(example) if hasattr(example, "bfcl") else played(example)
print(json.dumps(found))
