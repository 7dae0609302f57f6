"""Plays the Inspect example in a Python that has Inspect: prints one JSON line of accuracies and not-judged counts.

``python inspect_elsewhere.py EXAMPLES LOGS LINES``: the example's folder, one for logs, the entries of simple_python.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from inspect_ai import eval as play
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall
from inspect_task import bfcl


def output(stop_reason, calls=()):
    message = ChatMessageAssistant(content="" if calls else "Nothing to call.", tool_calls=list(calls) or None)
    choice = ChatCompletionChoice(message=message, stop_reason=stop_reason)
    return ModelOutput(model="mockllm/model", choices=[choice], usage=ModelUsage(total_tokens=1))


def expected(line):
    (function,) = json.loads(line)["possible_answer"]
    ((name, arguments),) = function.items()
    values = {key: value(allowed[0]) for key, allowed in arguments.items() if allowed[0] != ""}
    return ToolCall(id="call_1", function=name.replace(".", "_"), arguments=values, type="function")


def value(allowed):
    if isinstance(allowed, dict):
        return {key: value(under[0]) for key, under in allowed.items() if under[0] != ""}
    return [value(item) for item in allowed] if isinstance(allowed, list) else allowed


def played(category, answers):
    model = get_model("mockllm/model", custom_outputs=answers)
    log = play(bfcl(category), model=model, display="none", log_dir=sys.argv[2], max_connections=1, max_samples=1)[0]
    scored = [sample for sample in log.samples if sample.scores and sample.scores["judged"].value is not None]
    right = [sample for sample in scored if float(sample.scores["judged"].value) == 1.0]
    return {"status": log.status, "samples": len(log.samples), "scored": len(scored), "right": len(right)}


lines = Path(sys.argv[3]).read_text().splitlines()
quiet = [output("stop")] * 200
print(
    json.dumps(
        {
            "right": played("simple_python", [output("tool_calls", [expected(line)]) for line in lines]),
            "silent": played("simple_python", quiet),
            "irrelevance": played("irrelevance", quiet),
            "cut": played("simple_python", [output("max_tokens")] * 200),
            "multi_turn": played("multi_turn_base", quiet),
        }
    )
)
