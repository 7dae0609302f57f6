"""The body of a reply → `Reply`: one reader per API, for live and streamed replies, stored bodies and objects of SDKs.

Every reader takes parsed JSON. It raises `AdapterError` ``malformed_body`` for anything but a body of its API, and
`UnknownEnding` for one that did not end normally.
"""

from pytest_bfcl.answers.blocks import read_blocks, read_candidates, read_items
from pytest_bfcl.answers.chat import read_completion, read_text

__all__ = ["read_blocks", "read_candidates", "read_completion", "read_items", "read_text"]
