"""Why a recorded verdict and ours differ, as far as that can be told (docs/fidelity.md explains the exceptions)."""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """A cause in a word and in a sentence; ``known``: nothing is wrong with our verdict, or the fault is explained."""

    name: str
    words: str
    known: bool = True


FAILED_REQUEST = Cause(
    "failed request",
    "The request failed. The reference takes the error's text for an answer; here it is an error and enters no score.",
)
UNANSWERED = Cause(
    "nothing answered",
    "The reply was cut, filtered or refused before it said anything. Here that never passes (exception d).",
)
TOO_MANY_CALLS = Cause(
    "too many calls", "A step of more than 500 calls ends its conversation here; the reference carries out all of them."
)
EVALUATED = Cause(
    "evaluated text", "The reference evaluates model text; here it is parsed and never run (exception a)."
)
CRASH = Cause("crash", "The reference's checker raises and ends the run; here the entry fails (exception b).")
NAMES = Cause(
    "names",
    "The folder was scored with the other spelling of native names: with it (`score --names`) the verdicts are equal.",
)
OTHER_DATA = Cause("other data", "The folder was scored against another question or answer than this data set has.")
EARLIER_RELEASE = Cause(
    "older benchmark",
    "An older release of the benchmark scored it (the name of its file tells): data and checker have changed since.",
)
NO_RESULT = Cause("no result", "The score file lists an entry that has no line in the result file.", known=False)
NETWORK = Cause(
    "network",
    "The call asks a service of the network, whose answer is not recorded (`--bfcl-search rest=replay:PATH`).",
)
NOT_JUDGED = Cause("not judged", "The result line cannot be judged.", known=False)
HEADER = Cause("header", "The counts in the score file's first line are not those of its lines.", known=False)
PARTLY_SCORED = Cause(
    "partly scored",
    "Not as many entries were scored as have results. Which passed cannot be told; the failed ones are compared.",
)
UNKNOWN = Cause("unknown", "Nothing explains it: one of the two verdicts is wrong.", known=False)
