"""Keeps keys out of logs, error texts, results and reports, in every form in which they are sent or returned.

`secrets_of` lists all credentials of a request: the key, the parts of the URL, values of headers and parameters, and
the Base64 of ``user:password``. Each is found unchanged, percent-encoded, with the escapes of JSON or HTML, and as
UTF-8 read as Latin-1.
"""

from __future__ import annotations

import html.entities
import os
import re
import shlex
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, unquote_plus, urlsplit, urlunsplit

TEXT_LIMIT = 500
"""Longest excerpt of a foreign text in an error message, in characters."""
HIDDEN = "[hidden]"

_SCAN_LIMIT = 20_000
_SHORTEST = 4
_SHORTEST_IN_REPLY = 8
_SURE_IN_REPLY = 16
_CREDENTIAL = re.compile(
    r"(?:^|[^A-Za-z]|[a-z](?=[A-Z]))(?i:(?:api|access|secret|auth)?[-_]?"
    r"(?:key|token|secret|sig|signature|auth|authorization|pass|passwd|password|code|credentials?|cookie|session|bearer|pat|pwd|jwt))$"
)
"""Last words of header and parameter names (of a URL or a body) whose values are credentials."""
_HARMLESS = frozenset(
    (
        "api-version",
        "api_version",
        "version",
        "alt",
        "model",
        "deployment",
        "region",
        "location",
        "project",
        "timeout",
        "prompt_cache_key",
    )
)
"""URL parameters whose values are harmless; every other value may be a credential."""
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key|AIza|AKIA|ASIA)[-_]?[A-Za-z0-9_*\-]{12,}"
    r"|(?i:\b(?:bearer|basic)\s+)[^\s\"',}]+"
    r"|(?i:\b(?:api[-_]?key|x-api-key|authorization|access[-_]?token|secret)\b[\"']?\s*[:=]\s*[\"']?)[^\s\"',}&]+"
)
_TOKENS = re.compile(
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?|\b(?:gh[pousr]|github_pat|glpat|xox[abeprs])[-_][A-Za-z0-9_-]{10,}"
)
"""Tokens of the web and of known services."""

_NONE: Mapping[str, Any] = {}
T = TypeVar("T")


def redact(text: str, secrets: Iterable[str] = (), *, limit: int = TEXT_LIMIT) -> str:
    """``text`` without the given secrets and without anything shaped like a key, on one line of ``limit`` characters.

    What a terminal or an XML file cannot take (control, bidirectional and unpaired surrogate characters) becomes
    ``\N{REPLACEMENT CHARACTER}``.
    """
    text = _SHAPES.sub(HIDDEN, hide(text, secrets)[:_SCAN_LIMIT])
    text = " ".join(text.split())
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def without_keys(value: Any) -> Any:
    """A JSON value whose texts contain nothing shaped like a key or a token."""
    if isinstance(value, str):
        return _TOKENS.sub(HIDDEN, _SHAPES.sub(HIDDEN, value))
    if isinstance(value, list | tuple):
        return [without_keys(each) for each in value]
    return {name: without_keys(each) for name, each in value.items()} if isinstance(value, dict) else value


def hide(text: str, secrets: Iterable[str], instead: str = HIDDEN) -> str:
    """``text`` with every occurrence of the secrets hidden, in any form, and also a cut one at its end.

    A secret of a few characters would hide ordinary words and stays.
    """
    may_be_escaped = any(mark in text for mark in _ESCAPES)
    for secret in sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True):
        escaped = may_be_escaped and any(first in text for first in _first_escapes(secret))
        if escaped or secret in text or not secret.isalnum():
            text = _pattern(secret, escaped=escaped).sub(lambda _: instead, text)
        if (at := text.rfind(secret[:_SHORTEST_IN_REPLY], -len(secret))) >= 0 and secret.startswith(text[at:]):
            text = text[:at] + instead  # it was cut
    return text


def discreet(reply: T, secrets: Iterable[str]) -> T:
    """A record without the secrets the request was sent with: some proxies and debug servers echo their headers.

    All texts are searched, also in nested records, lists and objects. Secrets of fewer than 8 characters stay: they may
    well be words of the answer. A record without secrets is returned unchanged.
    """
    known = [secret for secret in secrets if len(secret) >= _SHORTEST_IN_REPLY]
    return _hidden(reply, known) if known else reply


def _hidden(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        return hide(value, secrets)
    if isinstance(value, Mapping):
        new: Any = {_hidden(name, secrets): _hidden(each, secrets) for name, each in value.items()}
    elif isinstance(value, list | tuple):
        new = type(value)(_hidden(each, secrets) for each in value)
    elif is_dataclass(value) and not isinstance(value, type):
        found = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        changed = {name: new for name, old in found.items() if (new := _hidden(old, secrets)) is not old}
        return replace(value, **changed) if changed else value
    else:
        return value
    return value if new == value else new


def secrets_of(
    *,
    key: str = "",
    url: str = "",
    headers: Mapping[str, str] = _NONE,
    parameters: Mapping[str, Any] = _NONE,
    in_replies: bool = False,
) -> tuple[str, ...]:
    """Every text that identifies the sender of a request. ``key`` is sent as it is, by Bearer or its own header.

    ``in_replies``: without the short values of ordinary headers, which may be words of an answer.
    """
    found = [key, *url_secrets(url), *_of_parameters(parameters)]
    ordinary: list[str] = []
    for name, value in headers.items():
        if _CREDENTIAL.search(name):
            found += [value, *_parts_of(value)]
        elif not in_replies or len(value) >= _SURE_IN_REPLY:
            ordinary.append(value)
    return _written(found) + tuple(
        text for value in ordinary if value for text in dict.fromkeys((value, unquote(value)))
    )


def process_secrets(command: str) -> tuple[str, ...]:
    """The parts of a command or of a server's address that may be credentials.

    These are variables before it, values of flags with such a name, parts of a URL, and words that look like a key.
    """
    address = command.startswith(("http://", "https://"))
    found = list(url_secrets(command)) if address else []
    leading = True
    words = [] if address else _words(command)
    for flag, word in zip(["", *words], words, strict=False):
        name, equals, value = word.partition("=")
        leading = leading and bool(equals) and name.isidentifier()
        if leading:
            found.append(value)
        elif flag.startswith("-") and "=" not in flag and (flag in _FLAGS or _is_credential(flag.lstrip("-"))):
            found += [word, *_parts_of(word)]
        if "://" in word:
            found += url_secrets(word)
        for named in _ASSIGNED.finditer(word):
            if _is_credential(named[1].lstrip("-")):
                found += [named[2], *_parts_of(named[2])]
    found += [piece for piece in _PIECES.findall(command) if _KEY_LIKE.fullmatch(piece)]
    return _written(dict.fromkeys(each for value in found for each in (value, value.rpartition(":")[2])
                                  if len(each) >= _SHORTEST_IN_REPLY))  # fmt: skip


_FLAGS = frozenset(("-u", "-p", "-k", "-H", "--user", "--header"))
_ASSIGNED = re.compile(r"([\w.-]+)[\"']?\s*[=:]\s*[\"']?((?:(?:bearer|basic|token)\s+)?[^\s\"';,{}]+)", re.IGNORECASE)
"""A name and its value in one word: in a header, in JSON, in a connection string."""
_PIECES = re.compile(r"[A-Za-z0-9_-]+")
_KEY_LIKE = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9_-]{16,}|(?=.*\d)(?=.*[a-f])[0-9a-f-]{24,}", re.DOTALL)
"""A text that is no word of a language: letters of both cases with digits, or hexadecimal."""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


_PLACES = ("PWD", "OLDPWD")
"""Shell variables whose names only look like a password's: the working directory."""


def environment_secrets() -> tuple[str, ...]:
    """Credentials in environment variables, which users' code and child processes could print."""
    named = (name for name in os.environ if _is_credential(name) and name not in _PLACES)
    return _written(os.environ[name] for name in named if len(os.environ[name]) >= _SHORTEST_IN_REPLY)


def _written(secrets: Iterable[str]) -> tuple[str, ...]:
    """Credentials unchanged, unquoted, and (if long enough to differ from words) in Base64 and hexadecimal."""
    texts = dict.fromkeys(form for text in secrets if text for form in (text, unquote(text)))
    coded = (form for text in texts if len(text) >= _SHORTEST_IN_REPLY for form in (*_base64(text), *_inside(text)))
    return tuple(dict.fromkeys((*texts, *coded)))


def names_credentials(command: str) -> bool:
    """Whether a command contains a credential: in a variable or flag with such a name, or in an address."""
    try:
        words = shlex.split(command)
    except ValueError:
        return True
    names = [word.partition("=")[0].lstrip("-") for word in words if "=" in word or word.startswith("-")]
    return any(map(_is_credential, names)) or any(url_secrets(word) for word in words if "://" in word)


def url_secrets(url: str) -> tuple[str, ...]:
    """The secret parts of a URL: the password (or the user, if alone) and the Base64 of both."""
    parts = urlsplit(url)
    found: list[str] = []
    if parts.username or parts.password:
        alone = parts.password or parts.username or ""
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        found += [alone, unquote(alone), f"{user}:{password}", *_base64(f"{user}:{password}")]
    for name, value in parse_qsl(parts.query):
        if _CREDENTIAL.search(name) or (name.lower() not in _HARMLESS and len(value) >= _SHORTEST_IN_REPLY):
            found += [value, unquote(value)]
    for piece in parts.query.split("&"):  # where it is no text of UTF-8, or has its own plus
        name, _, value = piece.partition("=")
        if _CREDENTIAL.search(unquote_plus(name)):
            found += [value, unquote(value)]
    return tuple(dict.fromkeys(text for text in found if text))


def public_url(url: str) -> str:
    """The URL without user, password, query and fragment, safe for a fingerprint."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    if parts.port:
        host += f":{parts.port}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def public_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a request's body, safe for a fingerprint: values of credentials and headers are hidden."""
    secrets = _of_parameters(parameters)
    shown: dict[str, Any] = _hidden(dict(parameters), secrets) if secrets else dict(parameters)
    return {name: HIDDEN if _is_credential(name) else value for name, value in shown.items()}


def _is_credential(name: str) -> bool:
    return _CREDENTIAL.search(name) is not None and name.lower() not in _HARMLESS


def _of_parameters(parameters: Mapping[str, Any]) -> list[str]:
    """Values of credentials in the fields of a body, and in headers that a library adds."""
    found: list[str] = []
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            found += [str(each) for each in value.values()] if "header" in name else _of_parameters(value)
        elif isinstance(value, str) and _is_credential(name):
            found += [value, *_parts_of(value)]
    return found


def _parts_of(value: str) -> Iterator[str]:
    """The parts of a credential header's value: without its scheme, each cookie, decoded Base64."""
    parts = re.split(r"[\s;,]+", value.strip())
    for part in parts[1:] if len(parts) > 1 and parts[0].isalpha() else parts:
        for each in (part, part.partition("=")[2]):
            if len(each) >= _SHORTEST_IN_REPLY:
                yield each
    scheme, _, rest = value.strip().partition(" ")
    if scheme.lower() == "basic":
        try:
            pair = b64decode(rest, validate=True).decode()
        except ValueError:
            return
        yield from (pair, pair.partition(":")[2])


def _base64(text: str) -> tuple[str, ...]:
    """Base64 in the standard and the URL alphabet, without padding."""
    raw = text.encode()
    return tuple(encoded.decode().rstrip("=") for encoded in (b64encode(raw), urlsafe_b64encode(raw)))


def _inside(text: str) -> Iterator[str]:
    """The forms of this text inside a longer encoded one: Base64 at three offsets, or hexadecimal."""
    raw = text.encode(errors="surrogatepass")
    for before in (1, 2) if len(raw) >= _SURE_IN_REPLY else ():
        for encode in (b64encode, urlsafe_b64encode):
            coded = encode(bytes(before) + raw).decode()
            yield coded[before + 1 : len(coded) - 4]
    yield from (raw.hex(), raw.hex().upper())


@lru_cache(maxsize=512)
def _pattern(secret: str, *, escaped: bool = False) -> re.Pattern[str]:
    """A pattern that finds a secret in every form. Letters and digits are unescaped unless everything is escaped."""
    return re.compile("".join(c if c.isascii() and c.isalnum() and not escaped else _forms(c) for c in secret))


_ESCAPES = ("%", "&#", "\\u00", "\\x", "\\1", "\\0")


@lru_cache(maxsize=512)
def _first_escapes(secret: str) -> tuple[str, ...]:
    """How a text begins if every character of the secret is escaped, letters and digits included."""
    code = ord(secret[0])
    digits = (f"{code:02x}", f"{code:02X}")
    marks = ("%{}", "\\u00{}", "\\x{}", "&#x{};", "&#X{};")
    return (*(mark.format(each) for mark in marks for each in digits), f"&#{code};", f"\\{code:03o}")


def _forms(character: str) -> str:
    """The forms of one character, also as UTF-8 that was read as Latin-1."""
    try:
        misread = character.encode().decode("latin-1")
    except UnicodeEncodeError:  # half a surrogate pair
        return re.escape(character)
    whole = _escapes(character)
    return whole if misread == character else f"(?:{whole}|{''.join(map(_escapes, misread))})"


def _escapes(character: str) -> str:
    """A character unchanged, or escaped any number of times by backslash, percent sign or HTML."""
    code, raw, units = ord(character), character.encode(), character.encode("utf-16-be").hex()
    pairs = "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4))
    named = html.entities.codepoint2name.get(code, "apos" if character == "'" else f"#{code}")
    forms = [
        re.escape(character),
        rf"(?i:{pairs}|\\+U{code:08x}|\\+x{code:02x})",
        "".join(f"(?i:%(?:25)*{byte:02x})" for byte in raw),
        "".join(rf"(?i:\\+x{byte:02x})" for byte in raw),
        "".join(rf"\\+{byte:03o}" for byte in raw),
        f"&(?:amp;)*(?:{named}|(?i:#0*{code}|#x0*{code:x}));",
    ]
    if character in " +":
        forms.append(r"[ +]")
    return rf"\\*(?:{'|'.join(forms)})"
