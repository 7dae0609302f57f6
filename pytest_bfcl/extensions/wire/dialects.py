"""Every API by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_bfcl.extensions.wire.chat import Chat, Completions
from pytest_bfcl.extensions.wire.messages import Messages
from pytest_bfcl.extensions.wire.responses import Responses

Dialect = Chat | Responses | Messages | Completions
DIALECTS: Mapping[str, Callable[[], Dialect]] = {
    "chat": Chat,
    "responses": Responses,
    "anthropic": Messages,
    "completions": Completions,
}
"""Name, as ``--bfcl-api`` has it → how to ask and to read."""
