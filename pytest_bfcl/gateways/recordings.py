"""Recorded answers of a model to the requests of people's own tests, so that these run without one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.runs.journal import reply_from_dict, reply_to_dict, request_digest
from pytest_bfcl.runs.lines import DamagedLine, read_json_lines

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Mode, Reply


class StaleRecording(UsageError):
    """The recording has no answer to this request, or to another one than is asked now."""


class Recorded:
    """The answers in a file, by test and number of the request in it. Raises `UsageError` for a broken file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[tuple[str, int], tuple[str, Reply]] = {}
        self._asked: Counter[str] = Counter()
        self.mode: Mode = "fc"
        """How the recorded model was asked."""
        if not path.is_file():
            raise UsageError(f"--bfcl-replay: there is no file {path}; make it with --bfcl-record {path} --model …")
        damaged: list[DamagedLine] = []
        for line in read_json_lines(path, damaged.append):
            try:
                value = line.value
                if str(value["model"]).endswith("@prompt"):
                    self.mode = "prompt"
                key = str(value["test"]), int(value["request"])
                self._answers[key] = str(value["request_sha256"]), reply_from_dict(value["reply"])
            except (KeyError, TypeError, ValueError) as error:
                raise UsageError(f"{path}, line {line.number}: not a recorded answer: {error}") from None
        if damaged:
            raise UsageError(f"{path}, line {damaged[0].line}: {damaged[0].why}")

    def answer(self, test: str, request: Request) -> Reply:
        """The recorded answer. Raises `StaleRecording`."""
        number = self._asked[test] = self._asked[test] + 1
        found = self._answers.get((test, number))
        again = f"record it again: pytest {test} --model … --bfcl-record {self.path}"
        if found is None:
            raise StaleRecording(f"{self.path} has no answer to request {number} of {test}; {again}")
        if found[0] != digest_of(request):
            raise StaleRecording(
                f"{self.path} is stale: request {number} of {test} has changed since (messages or tools); {again}"
            )
        return found[1]

    def begin(self, test: str) -> None:
        """The test begins (again): its first request comes next."""
        self._asked.pop(test, None)


class Recording:
    """Answers noted as they arrive, until they go to the file; there the last one to a request counts."""

    def __init__(self) -> None:
        self._noted: dict[str, list[Parsed]] = {}
        self._asked: Counter[str] = Counter()

    def keep(self, test: str, model: str, request: Request, reply: Reply) -> None:
        """Note one answer."""
        self._asked[test] += 1
        line = {
            "test": test,
            "request": self._asked[test],
            "model": model,
            "request_sha256": digest_of(request),
            "reply": reply_to_dict(reply),
        }
        self._noted.setdefault(test, []).append(line)

    def begin(self, test: str) -> None:
        """The test begins (again): its first request comes next."""
        self._asked.pop(test, None)

    def take(self, test: str) -> list[Parsed]:
        """What was noted of a test since this was last asked: lines of the file."""
        return self._noted.pop(test, [])


def digest_of(request: Request) -> str:
    """SHA-256 of messages and tools; another model or temperature does not make a recording stale."""
    return request_digest(request.messages, request.functions, {})
