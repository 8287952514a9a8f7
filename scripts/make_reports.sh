#!/usr/bin/env bash
# Writes the HTML reports of all models of the gallery: scripts/make_reports.sh [FOLDER]
#
# FOLDER is build/reports unless given. The program is built first if need be (by ./run).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
folder=${1:-$root/build/reports}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
cd "$root/examples/gallery"
for model in *.mo; do
  # a run that fails has a report, too
  "$root/run" "$model" --quiet --no-plot --html "$folder/${model%.mo}.html" || true
  echo "$folder/${model%.mo}.html"
done
