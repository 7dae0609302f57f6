"""An MCP server without any SDK, so that it lists things in its own order: ``python odd.py [--many | --floods]``.

`LISTED`: its schemas; ``--many`` adds 300 tools of odd names, ``--floods`` says a great deal before each answer.
"""

import json
import sys
from typing import Any

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "value": {"type": ["string", "null"]}}}
LIMIT = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "default": None, "title": "Limit"}
LISTED: dict[str, dict[str, Any]] = {
    "set-limit": {
        "type": "object",
        "properties": {"limit": LIMIT, "by": {"type": ["string", "null"], "enum": ["day", "week", None]}},
        "required": ["limit"],
        "additionalProperties": False,
        "$schema": "http://json-schema.org/draft-07/schema#",
    },
    "store_tree": {"$defs": {"node": NODE}, "properties": {"root": {"$ref": "#/$defs/node"}}, "type": "object"},
    "learn": {"type": "object"},
    "show": {"type": "object", "properties": {}},
}
LATER = {"fly": {"type": "object", "properties": {"height": {"type": "number", "exclusiveMinimum": 0}}}}
MANY = {f"{odd}{n}": {"type": "object", "properties": {"a b": {"type": "integer"}}}
        for n in range(100) for odd in ("tool/", "tool ", "Werkzeug-ü.")}  # fmt: skip
FLOOD = 20_000
known = dict(LISTED) | (MANY if "--many" in sys.argv else {})
calls: list[str] = []


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def called(name: str, arguments: Any) -> dict[str, Any]:
    calls.append(f"{name} {arguments}")
    for number in range(FLOOD if "--floods" in sys.argv else 0):
        say(method="notifications/message", params={"level": "info", "data": f"{number} " * 20})
        print(f"{number} " * 20, file=sys.stderr)
    if name == "learn":
        known.update(LATER)
        say(method="notifications/tools/list_changed")
    if name == "show":
        image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        inside = {"type": "resource", "resource": {"uri": "odd://calls", "text": "as a resource"}}
        return {"content": [image, inside], "structuredContent": {"calls": calls}}
    return {"content": [], "structuredContent": {"done": name}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        server = {"name": "odd", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        described = {"set-limit": {"description": "Sets the limit."}}
        return {"tools": [{"name": n, **described.get(n, {}), "inputSchema": schema} for n, schema in known.items()]}
    return called(params["name"], params.get("arguments")) if method == "tools/call" else None


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            found = answer(asked["method"], asked.get("params") or {})
            unknown = {"code": -32601, "message": "not known here"}
            say(id=asked["id"], **({"error": unknown} if found is None else {"result": found}))


if __name__ == "__main__":
    main()
