#!/usr/bin/env bash
# A newcomer's first minute: a fresh clone, empty caches, `make bench`, timed. Usage: benchmarks/first_minute.sh [REPOSITORY]
# Packages come from the index that pip or uv is set up for; nothing of an earlier run is used again.
set -euo pipefail
repository=${1:-$(cd "$(dirname "$0")/.." && pwd)}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Empty caches of packages, of this package, of Python and of git.
export HOME="$place/home" XDG_CACHE_HOME="$place/cache" UV_CACHE_DIR="$place/uv" PIP_CACHE_DIR="$place/pip"
export PYTEST_BFCL_CACHE="$place/bfcl" PYTHONDONTWRITEBYTECODE=
mkdir -p "$HOME"
unset VIRTUAL_ENV PYTHONPATH PYTEST_ADDOPTS

seconds() { date +%s.%N; }
begun=$(seconds)
git clone --quiet --no-hardlinks "$repository" "$place/clone"
cd "$place/clone"
cloned=$(seconds)
make --no-print-directory bench > "$place/shown"
ended=$(seconds)

tail -n 4 "$place/shown"
test -s reports/bench/index.html
installer=$(command -v uv > /dev/null && echo uv || echo pip)
awk -v begun="$begun" -v cloned="$cloned" -v ended="$ended" -v installer="$installer" 'BEGIN {
    printf "clone %.1f s, make bench %.1f s with %s, together %.1f s\n", cloned - begun, ended - cloned, installer, ended - begun }'
