# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts: goes to the root of the tree and sets root and cache.
# All that is fetched or made outside the tree is in $cache; removing it costs only the time to make it again.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
cache=${OLDDOG_CACHE:-${XDG_CACHE_HOME:-${HOME:-$(echo ~)}/.cache}/olddog}
export OLDDOG_CACHE="$cache" LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH PYTHONHOME

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# Puts the environment of building and testing first on PATH.
use_venv() {
	venv=$(scripts/venv scripts/requirements.txt)
	export PATH="$venv/bin:$PATH"
}
