#!/usr/bin/env bash
# Writes the documentation as a site, with notebooks and reports of the gallery: scripts/make_site.sh [FOLDER [PROGRAM]]
#
# FOLDER is build/site unless given; it begins with index.html, and needs neither a web server nor a network.
# PROGRAM is a saltus; without it the release build is used, and built if need be. Notebooks are run with the Python
# package beside PROGRAM, or with that of ./python.sh; without either their cells have no output. The page that runs
# models has the solver if scripts/make_browser.sh was called, and says so if not. docs/site/conf.py says how the pages
# are read. A page that is not in the navigation and a link that leads nowhere are errors.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
folder=${1:-$root/build/site}
"$root/scripts/install_packages.sh" site || exit
if ! command -v sphinx-build >/dev/null; then
  echo "make_site.sh needs Sphinx with MyST and the theme Furo: pip install sphinx myst-parser furo" >&2
  exit 2
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
"$root/scripts/make_reports.sh" "$folder/reports" ${2:+"$2"} >/dev/null
"$root/scripts/make_run_page.py" "$folder/run" >/dev/null
package=$root/build/release/python
if [[ -n ${2:-} ]]; then package=$(dirname "$(realpath "$2")")/python; fi
if [[ -e $package/saltus/__init__.py ]]; then export PYTHONPATH=$package${PYTHONPATH:+:$PYTHONPATH}; fi
export PYDEVD_DISABLE_FILE_VALIDATION=1  # no warnings of a debugger that is not used
# All pages are written anew (-E -a): pages whose links have become wrong are found, too.
sphinx-build -q -W --keep-going -E -a -b html -d "$folder/.doctrees" -c "$root/docs/site" "$root" "$folder"
rm -r "$folder/.doctrees"
echo "$folder/index.html"
