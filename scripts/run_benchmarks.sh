#!/usr/bin/env bash
# scripts/run_benchmarks.sh [cmake arguments]: installs what is missing, builds all benchmarks and runs them; their tables go to
# build/bench/results. For comparisons with SUNDIALS give -DSUNDIALS_DIR=FOLDER of an optimised build. Takes about half an hour.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
"$root/scripts/install_packages.sh" run bench
cd "$root"
cmake --preset bench "$@"
cmake --build build/bench -j "$(nproc)"
mkdir -p build/bench/results
find build/bench/benchmarks -type f -executable -name 'saltus_bench_*' | sort | while read -r program; do
  name=$(basename "$program")
  echo "== $name"
  (cd build/bench/results && "$root/$program" | tee "$name.txt")
done
