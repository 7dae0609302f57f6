"""Models that use their tools and know nothing else: what they answer is text that tools returned.

Imports only the public package, so that a test project can use a copy of this file in its conftest. Everything is
decided from the messages alone, so a conversation that is held again goes the same way.
"""

from __future__ import annotations

import ast
import json
import re

from pytest_bfcl import Reply, ToolCall

ARCHIVAL_CHARS = 2_000
LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)")
MAX_PAGES = 40


class Diligent:
    """Common to both: native calls, and a count of what was asked."""

    mode = "fc"
    underscore_names = True

    def __init__(self):
        self.asked = []

    async def generate(self, request):
        self.asked.append((request.entry.id, request.repeat, request.turn, request.step))
        names = {document["name"] for document in request.functions}
        return self.reply(request.messages, names)

    async def aclose(self):
        pass


class DiligentMemory(Diligent):
    """Stores every user turn as it stands, packed into as few texts as possible; answers with all that is stored."""

    spec = "own:diligent-memory@fc"

    def reply(self, messages, names):
        results = results_of_this_turn(messages)
        asked = last_user_text(messages)
        question = is_question(messages)
        if "memory_append" in names:
            return self.one_text(results, asked, question)
        if "archival_memory_list_keys" in names:
            return self.keys(results, asked, question)
        return self.vectors(results, asked, question)

    def one_text(self, results, asked, question):
        if not results:
            return call(("memory_retrieve", {})) if question else call(("memory_append", {"text": asked + "\n"}))
        return Reply(text=results[-1].get("memory_content", "nothing") if question else "Stored.")

    def keys(self, results, asked, question):
        if not results:
            return call(("archival_memory_list_keys", {}))
        keys = results[0]["keys"]
        if question:
            if len(results) == 1 and keys:
                searched = ("archival_memory_key_search", {"query": "note 0", "k": 1})
                return call(*(("archival_memory_retrieve", {"key": key}) for key in keys), searched)
            return Reply(text=joined(result.get("value", "") for result in results[1:]))
        if len(results) == 1 and keys:
            return call(("archival_memory_retrieve", {"key": keys[-1]}))
        last = results[1].get("value", "") if keys else ""
        if len(results) > (2 if keys else 1):
            return Reply(text="Stored.")
        if keys and len(last) + len(asked) < ARCHIVAL_CHARS:
            return call(("archival_memory_replace", {"key": keys[-1], "value": f"{last}\n{asked}"}))
        return call(("archival_memory_add", {"key": f"note_{len(keys)}", "value": asked}))

    def vectors(self, results, asked, question):
        if not results:
            if question:
                return call(("archival_memory_retrieve", {"query": asked}), ("archival_memory_retrieve_all", {}))
            return call(("archival_memory_retrieve_all", {}))
        if question:
            return Reply(text=joined(row["text"] for result in results for row in result["result"]))
        if len(results) > 1:
            return Reply(text="Stored.")
        rows = results[0]["result"]
        if rows and len(rows[-1]["text"]) + len(asked) < ARCHIVAL_CHARS:
            new = {"vec_id": rows[-1]["id"], "new_text": f"{rows[-1]['text']}\n{asked}"}
            return call(("archival_memory_update", new))
        return call(("archival_memory_add", {"text": asked}))


class DiligentWeb(Diligent):
    """Searches, reads the pages found and those they link to, twice; answers with all it read."""

    spec = "own:diligent-web@fc"

    def reply(self, messages, names):
        steps = calls_and_results(messages)
        if not steps:
            return call(("search_engine_query", {"keywords": last_user_text(messages), "max_results": 5}))
        read = {c["url"]: r.get("content", "") for name, c, r in steps if name == "fetch_url_content"}
        found = [
            row["href"] for name, _, r in steps if name == "search_engine_query" and isinstance(r, list) for row in r
        ]
        linked = [address(url, link) for url, text in read.items() for link in LINK.findall(text)]
        rounds = sum(1 for message in messages if message.get("tool_calls"))
        left = [url for url in dict.fromkeys([*found, *linked]) if url not in read]
        if left and rounds < 5 and len(read) < MAX_PAGES:
            return call(*(("fetch_url_content", {"url": url, "mode": "markdown"}) for url in left[:15]))
        return Reply(text=joined(read.values()))


def call(*calls):
    return Reply(
        tool_calls=tuple(ToolCall(name, json.dumps(arguments), f"c{n}") for n, (name, arguments) in enumerate(calls))
    )


def joined(texts):
    return "\n".join(text for text in texts if text) or "I found nothing."


def is_question(messages):
    """Whether this is a memory question: its system message asks for an answer and its context."""
    return any("'context'" in str(m["content"]) for m in messages if m["role"] == "system")


def last_user_text(messages):
    return next(m["content"] for m in reversed(messages) if m["role"] == "user")


def results_of_this_turn(messages):
    """Tool results after the last user message, as objects."""
    last = max(i for i, m in enumerate(messages) if m["role"] == "user")
    return [parsed(m["content"]) for m in messages[last:] if m["role"] == "tool"]


def calls_and_results(messages):
    calls = [c for m in messages for c in m.get("tool_calls") or ()]
    texts = [m["content"] for m in messages if m["role"] == "tool"]
    made = [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls]
    return [(name, arguments, parsed(text)) for (name, arguments), text in zip(made, texts, strict=True)]


def parsed(text):
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return {"error": text}


def address(page, link):
    return link if "://" in link else f"{page.rsplit('/', 1)[0]}/{link}"
