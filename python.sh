#!/usr/bin/env bash
# ./python.sh [SCRIPT.py ARGUMENTS]: Python with the package saltus. Installs what is missing and builds what is needed;
# without a script a prompt opens.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
. "$root/scripts/build.sh"

"$root/scripts/install_packages.sh" run python || exit
saltus_configure python
log=$root/build/python/build.log
if ! compgen -G "$root/build/python/python/saltus/_core.*.so" >/dev/null; then
  echo "building the Python package (first time, some minutes) …" >&2
fi
cmake --build "$root/build/python" -j "$(saltus_jobs)" --target saltus_python_package >"$log" 2>&1 || {
  cat "$log" >&2
  echo "building saltus failed; the reason is above (also in build/python/build.log)" >&2
  exit 1
}
python=$(sed -n 's/^_*Python3_EXECUTABLE:[A-Z]*=//p' "$root/build/python/CMakeCache.txt" | head -1)
PYTHONPATH="$root/build/python/python${PYTHONPATH:+:$PYTHONPATH}" exec "${python:-python3}" "$@"
