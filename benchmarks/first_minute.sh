#!/usr/bin/env bash
# A newcomer's first minute, timed: a fresh clone, then `make bench`. Twice: with empty caches, and again from a second
# clone with the packages the first one fetched. Usage: benchmarks/first_minute.sh [REPOSITORY]
# Packages come from the index that pip or uv is set up for; nothing of an earlier run is used.
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
# `times` knows the children of this very shell only: no pipe, no substitution.
children() { times > "$place/times"; }
cpu() { awk 'END { split($1, u, /[ms]/); split($2, s, /[ms]/); print 60 * (u[1] + s[1]) + u[2] + s[2] }' "$place/times"; }
installer=$(command -v uv > /dev/null && echo uv || echo pip)

for caches in empty filled; do
    children
    begun=$(seconds) spent=$(cpu)
    git clone --quiet --no-hardlinks "$repository" "$place/$caches"
    cloned=$(seconds)
    make --no-print-directory -C "$place/$caches" bench > "$place/shown"
    ended=$(seconds)
    children
    test -s "$place/$caches/reports/bench/index.html"
    [ "$caches" = filled ] || tail -n 4 "$place/shown"
    awk -v begun="$begun" -v cloned="$cloned" -v ended="$ended" -v installer="$installer" -v caches="$caches" \
        -v cpu="$(cpu)" -v spent="$spent" -v load="$(cut -d ' ' -f 1 /proc/loadavg 2> /dev/null || echo '?')" 'BEGIN {
        printf "%s caches, %s: clone %.1f s, make bench %.1f s, together %.1f s; %.1f s CPU; load %s\n",
            caches, installer, cloned - begun, ended - cloned, ended - begun, cpu - spent, load }'
done
