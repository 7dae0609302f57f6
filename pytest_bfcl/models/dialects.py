"""How the reference's handlers of chat endpoints differ in what goes back in history (spec/formats.md §6).

One row a dialect, found by the provider's name in a spec or by the host of the base URL; every other endpoint is
`GENERIC`.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Dialect:
    """``echo``: reasoning comes back under its own field. ``null_content``: the text next to calls does not.

    ``join_users``: in prompting mode consecutive messages of the user are sent as one.
    ``folded``: schemas of results are in the descriptions of tools.
    """

    name: str
    echo: bool = True
    null_content: bool = False
    join_users: bool = False
    folded: bool = False
    providers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


GENERIC = Dialect("generic")
DIALECTS = (
    Dialect("deepseek", echo=False, join_users=True, providers=("deepseek",), hosts=("api.deepseek.com",)),
    Dialect("grok", echo=False, providers=("xai",), hosts=("api.x.ai",)),
    Dialect("ling", echo=False, join_users=True, hosts=("bailingchat.alipay.com",)),
    Dialect(
        "qwen", null_content=True, providers=("dashscope",),
        hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
    ),
    Dialect("novita", folded=True, providers=("novita",), hosts=("api.novita.ai",)),
    Dialect("nvidia", join_users=True, providers=("nvidia_nim",), hosts=("integrate.api.nvidia.com",)),
)  # fmt: skip


def dialect_of(provider: str, base_url: str = "") -> Dialect:
    """The dialect of a provider (of litellm's, for its adapter) or of the host."""
    host = urlsplit(base_url).hostname
    for dialect in DIALECTS:
        if provider in dialect.providers or host in dialect.hosts:
            return dialect
    return GENERIC
