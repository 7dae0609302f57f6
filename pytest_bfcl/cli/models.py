"""List the providers of a model spec (provider:name[@fc|@prompt]) and what each needs.

Keys are read from the environment. The list shows the variables and whether they are set, never a value. --model shows
adapter, mode and price of one spec. --family shows how a model family writes calls and thoughts, and which flags make
a server parse them.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.table import VERSIONS, families, family_of, find_decoder, nearest_families, registered_format
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.prices import listed_price, lists
from pytest_bfcl.models.registry import ProviderInfo, create_model, list_providers
from pytest_bfcl.models.spec import parse_spec
from pytest_bfcl.plain_text import say, say_data
from pytest_bfcl.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("--model", metavar="SPEC", help="show one model: adapter, mode, price")
    parser.add_argument("--family", metavar="NAME", help="show how a model family writes calls, and its server flags")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the table, one model or one family; exit code 2 (through UsageError) for an unknown name."""
    if args.model or args.family:
        shown: Any = describe(args.model) if args.model else describe_family(args.family)
        if args.json:
            say_data(json.dumps(shown, indent=2) + "\n")
        else:
            say("\n".join(f"{key:<17} {value}" for key, value in shown.items()))
        return 0
    providers = list_providers()
    if args.json:
        say_data(json.dumps([_as_dict(info) for info in providers], indent=2) + "\n")
        return 0
    width = max(len(info.name) for info in providers)
    for info in providers:
        say(f"{info.name:<{width}}  {info.what}{_needs(info)}")
    say("\nSpec: provider:name[@fc|@prompt], for instance openai:gpt-4o@fc. fc = native tool calls, prompt = text.")
    say("An OpenAI-compatible server elsewhere: openai:NAME with --bfcl-base-url URL.")
    return 0


def describe(text: str) -> Parsed:
    """The meaning of a spec. Raises `UsageError` if it has none."""
    spec = parse_spec(text)
    model = create_model(spec, Settings())
    price = listed_price(spec)
    known = next((info for info in list_providers() if info.name == spec.provider), None)
    return {
        "spec": model.spec,
        "adapter": type(model).__name__,
        "mode": model.mode if spec.mode else f"{model.mode} (auto: prompt if the endpoint refuses tools)",
        "endpoint": getattr(getattr(model, "server", None), "shown", None) or getattr(model, "base_url", None) or "-",
        "needs": ", ".join(f"{name}{' (set)' if os.environ.get(name) else ''}" for name in known.needs)
        if known
        else "-",
        "list price": f"{price.input} / {price.output} USD per million tokens" if price else "unknown",
        "prices from": lists(),
    }


def describe_family(name: str) -> Parsed:
    """A row of the table of families, by its name or a served model's. Raises `UsageError` with the nearest names."""
    row = families().get(name) or family_of(name)
    if row is None:
        raise UsageError(
            f"no family is known for {name!r}; near: {', '.join(nearest_families(name))} (all: {', '.join(families())})"
        )
    reference = registered_format(name) or registered_format(f"{name}-FC")
    thoughts = " … ".join(row.tags) if row.tags else {"harmony": "the analysis channel"}.get(row.think, "none")
    flags = {engine: " ".join(row.flags(engine)) or "no parser of its own" for engine in VERSIONS}
    return {
        "family": row.name,
        "names": row.pattern,
        "calls": find_decoder(row.format).what,
        "server reading": row.format,
        "reference reading": (reference.decoder or "native") if reference is not None else "not registered",
        "marks": " ".join(row.marks) or "none",
        "thoughts": thoughts,
        "template": row.template or "the model's own",
        **{VERSIONS[engine]: said for engine, said in flags.items()},
        "source": row.source,
    }


def _as_dict(info: ProviderInfo) -> Parsed:
    return {
        "name": info.name,
        "what": info.what,
        "needs": {name: bool(os.environ.get(name)) for name in info.needs if name.isupper() and name not in _ARGUMENTS},
        "modes": list(info.modes),
        "via": info.via,
    }


_ARGUMENTS = ("PATH", "FILE")


def _needs(info: ProviderInfo) -> str:
    variables = [name for name in info.needs if name not in _ARGUMENTS]
    if not variables:
        return ""
    shown = ", ".join(f"{name}{' (set)' if os.environ.get(name) else ''}" for name in variables)
    return f"; needs {shown}"
