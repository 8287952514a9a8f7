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
build_package() {
  local log=$build/python.log
  saltus_configure python release SALTUS_PYTHON:BOOL=ON || return
  if ! cmake --build "$build" -j "$(saltus_jobs)" --target saltus_python_package >"$log" 2>&1; then
    cat "$log" >&2
    echo "building saltus failed; the reason is above (also in build/release/python.log)" >&2
    return 1
  fi
}
saltus_interruptible ./python.sh build_package
exec 9>&-
python=$(sed -n 's/^_*Python3_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt" | head -1)
PYTHONPATH="$build/python${PYTHONPATH:+:$PYTHONPATH}" exec "${python:-python3}" "$@"
