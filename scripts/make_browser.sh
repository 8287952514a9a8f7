#!/usr/bin/env bash
# Builds the solver for the page that runs models in a browser: scripts/make_browser.sh
#
# The result is build/browser/solver.js; scripts/make_site.sh and scripts/make_run_page.py put it beside the page.
# It takes emscripten 3.1.50 or newer (older ones have a C++ library without algorithms of ranges): that of the path, or
# the package of this system. Debian 12 has neither; there, Debian 13 is unpacked in build/debian13 (3 GB), which only
# root may do. SALTUS_SUITESPARSE_DIR names sources of SuiteSparse 7 where they are not to be fetched.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
. "$root/scripts/build.sh"
oldest=3.1.50
debian=$root/build/debian13

at_least() { [[ -n $1 && $(printf '%s\n' "$oldest" "$1" | sort -V | head -1) == "$oldest" ]]; }

in_the_path() {
  command -v em++ >/dev/null && at_least "$(em++ --version | sed -n '1s/.* \([0-9.]*\) .*/\1/p')"
}

among_the_packages() {
  command -v apt-cache >/dev/null &&
    at_least "$(apt-cache policy emscripten 2>/dev/null | sed -n 's/^ *Candidate: \([0-9.]*\).*/\1/p')"
}

# The parts of SuiteSparse that are compiled, from the source package of this system.
fetch_suitesparse() {
  local folder=$root/build/suitesparse part parts=()
  if [[ ! -e $folder/complete ]]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    for part in KLU BTF AMD COLAMD; do parts+=("*/$part/Source" "*/$part/Include"); done
    (cd "$folder" && apt-get -qq source --tar-only --download-only suitesparse &&
      tar xf suitesparse_*.orig.tar.* --strip-components=1 --wildcards "${parts[@]}" '*/SuiteSparse_config/*.[ch]' &&
      rm suitesparse_* && touch complete) >&2 || {
      echo "the sources of SuiteSparse cannot be fetched; SALTUS_SUITESPARSE_DIR=FOLDER names a folder with them" >&2
      return 3
    }
  fi
  echo "$folder"
}

build() {
  local sources
  sources=${SALTUS_SUITESPARSE_DIR:-$(fetch_suitesparse)} || return
  mkdir -p "$root/build/browser"
  if ! (cd "$root" && emcmake cmake --preset browser -DSALTUS_SUITESPARSE_DIR="$sources") \
    >"$root/build/browser/configure.log" 2>&1; then
    cat "$root/build/browser/configure.log" >&2
    return 3
  fi
  cmake --build "$root/build/browser" --target saltus_browser -j "$(saltus_jobs)"
}

# Debian 13 beside this system, in a folder.
make_debian() {
  if [[ -e $debian/complete ]]; then return; fi
  "$root/scripts/install_packages.sh" browser || return
  rm -rf "$debian"
  echo "unpacking Debian 13 in $debian …" >&2
  debootstrap --variant=minbase --include=ca-certificates trixie "$debian" >"$root/build/debian13.log" 2>&1 || {
    tail -20 "$root/build/debian13.log" >&2
    return 2
  }
  echo "deb-src $(awk '$1 == "deb" {print $2; exit}' "$debian/etc/apt/sources.list") trixie main" \
    >>"$debian/etc/apt/sources.list"
  touch "$debian/complete"
}

# The same script in that folder, with this tree at its place; the mounts end with it.
build_in_debian() {
  mkdir -p "$debian$root"
  cp -L /etc/resolv.conf "$debian/etc/resolv.conf" || true
  unshare --mount sh -c '
    mount --bind "$1" "$2$1" && mount -t proc proc "$2/proc" && mount --bind /dev "$2/dev" &&
      exec chroot "$2" "$1/scripts/make_browser.sh" --inside' sh "$root" "$debian"
}

saltus_lock "$root/build/browser"
if [[ ${1:-} == --inside ]] || { ! in_the_path && among_the_packages; }; then
  "$root/scripts/install_packages.sh" emscripten
fi
if in_the_path; then
  build
elif [[ ${1:-} == --inside ]]; then
  echo "$debian has no emscripten $oldest or newer" >&2
  exit 2
elif ((EUID == 0)) && [[ -e /etc/debian_version ]]; then
  make_debian
  exec 9>&-  # the script inside takes the lock
  build_in_debian
else
  echo "make_browser.sh needs emscripten $oldest or newer in the path; on Debian 12 root can build without" >&2
  exit 2
fi
