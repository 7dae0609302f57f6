"""The judge for any harness (docs/judge.md): data, tasks, conversations, judgements.

Promised from version 1.0 on; importing it needs neither pytest nor an HTTP client.
"""

from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.judging.conversation import Conversation, Task
from pytest_bfcl.judging.data import Data, Group, Overall
from pytest_bfcl.judging.judge import judge, judge_many
from pytest_bfcl.judging.judgement import Judgement
from pytest_bfcl.judging.said import Said, read
from pytest_bfcl.tools.documents import to_tools

__all__ = [
    "Conversation",
    "Data",
    "Group",
    "HeldSnapshots",
    "Judgement",
    "Overall",
    "Said",
    "Task",
    "judge",
    "judge_many",
    "read",
    "to_tools",
]
