"""Plays an example in a Python that has its harness: prints one JSON object, id → outcome.

``python harness_elsewhere.py EXAMPLES MODULE URL ID…``
"""

import contextlib
import json
import sys
from importlib import import_module

from pytest_bfcl.judge import Data

sys.path.insert(0, sys.argv[1])
data = Data("bundled")
with contextlib.redirect_stdout(sys.stderr):
    example = import_module(sys.argv[2])
    found = {each.id: each.outcome for each in example.play("faulty", sys.argv[3], map(data.task, sys.argv[4:]))}
print(json.dumps(found))
