#!/usr/bin/env bash
# ./python.sh [SCRIPT.py ARGUMENTS]: Python with the package saltus. Installs what is missing and builds what is needed,
# in the folder of ./run, so that nothing is compiled twice; without a script a prompt opens.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
build=$root/build/release
. "$root/scripts/build.sh"

"$root/scripts/install_packages.sh" run python || exit
if ! compgen -G "$build/python/saltus/_core.*.so" >/dev/null; then
  echo "building the Python package (first time, some minutes) …" >&2
fi
saltus_lock "$build"
trap 'echo "building saltus was interrupted; the next call goes on where it stopped" >&2; exit 130' INT TERM
saltus_configure python release SALTUS_PYTHON:BOOL=ON
log=$build/python.log
cmake --build "$build" -j "$(saltus_jobs)" --target saltus_python_package >"$log" 2>&1 || {
  cat "$log" >&2
  echo "building saltus failed; the reason is above (also in build/release/python.log)" >&2
  exit 1
}
trap - INT TERM
exec 9>&-
python=$(sed -n 's/^_*Python3_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt" | head -1)
PYTHONPATH="$build/python${PYTHONPATH:+:$PYTHONPATH}" exec "${python:-python3}" "$@"
