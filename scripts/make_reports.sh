#!/usr/bin/env bash
# Writes the HTML reports of all models of the gallery: scripts/make_reports.sh [FOLDER [PROGRAM]]
#
# FOLDER is build/reports unless given. PROGRAM is a saltus; without it the release build is used, and built if need be.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
folder=${1:-$root/build/reports}
run=("$root/run")
if [[ -n ${2:-} ]]; then run=("$(realpath "$2")" run); fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
cd "$root/examples/gallery"
for model in *.mo; do
  # a run that fails has a report, too
  "${run[@]}" "$model" --quiet --no-plot --html "$folder/${model%.mo}.html" || true
  echo "$folder/${model%.mo}.html"
done
