# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts: where things are. Sets root, cache and venv, goes to root, and puts venv first on PATH.
# All that is fetched or made outside the tree is in $cache; removing it costs only the time to fetch it again.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
cache=${OLDDOG_CACHE:-${XDG_CACHE_HOME:-${HOME:-$(echo ~)}/.cache}/olddog}
# Keyed by what it is made of, so that a change of pins makes a new one and leaves the old for older checkouts.
venv=$cache/venv-$(cat scripts/requirements.txt scripts/setup | sha256sum | cut -c1-16)
export PATH="$venv/bin:$PATH" OLDDOG_CACHE="$cache" LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH PYTHONHOME

die() { echo "$(basename "$0"): $*" >&2; exit 1; }
