#!/usr/bin/env bash
# Installs the Debian packages that are missing: scripts/install_packages.sh SECTION...
#
# SECTION names sections of packages.txt (run, test, check, site, bench). Says nothing and takes a few milliseconds
# when nothing is missing. All output goes to stderr, so that a caller's stdout stays clean.
#   exit 0  everything is there (or this system has no dpkg, or SALTUS_SKIP_PACKAGES is set)
#   exit 2  something is missing and could not be installed; the text says what to type
set -euo pipefail
exec >&2

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
list=${SALTUS_PACKAGE_LIST:-$root/packages.txt}

# The packages of the named sections, in file order.
packages_of() {
  local wanted=" $* " section="" line
  while IFS= read -r line || [[ -n $line ]]; do
    if [[ $line =~ ^#\ *\[([a-z]+)\] ]]; then
      section=${BASH_REMATCH[1]}
      continue
    fi
    line=${line%%#*}
    line=${line//[[:space:]]/}
    if [[ -n $line && $wanted == *" $section "* ]]; then
      echo "$line"
    fi
  done <"$list"
}

# Packages that this machine can do without although dpkg does not know them as installed.
dispensable() {
  case $1 in
    # The gnuplot packages exclude each other; any of them draws.
    gnuplot-nox) command -v gnuplot >/dev/null ;;
    # Browsers and Node.js also come from elsewhere, and their packages may exclude Debian's.
    chromium) command -v chromium >/dev/null || command -v google-chrome >/dev/null ;;
    nodejs) command -v node >/dev/null ;;
    npm) command -v npm >/dev/null ;;
    # The assembler library exists for amd64 only; elsewhere programs are interpreted.
    libxbyak-dev) [[ $(dpkg --print-architecture) != amd64 ]] ;;
    *) return 1 ;;
  esac
}

missing_of() {
  local package status name
  local -A installed=()
  while read -r status name; do
    if [[ $status == installed ]]; then installed[$name]=1; fi
    # dpkg-query fails when a name is unknown to it; that is the answer we are after, not an error.
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    if [[ -z ${installed[$package]:-} ]] && ! dispensable "$package"; then echo "$package"; fi
  done
}

if [[ -n ${SALTUS_SKIP_PACKAGES:-} ]]; then exit 0; fi

mapfile -t packages < <(packages_of "$@")
if ((${#packages[@]} == 0)); then
  echo "install_packages.sh: no packages in section(s) '$*' of $list"
  exit 2
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  # Not Debian. CMake says precisely what it does not find; the list is for the reader who sees that message.
  if ! command -v cmake >/dev/null || [[ ! -e $root/build ]]; then
    echo "This system has no dpkg and apt-get, so nothing is installed automatically."
    echo "Saltus needs: a C++20 compiler, CMake 3.25, Ninja, Eigen 3.4, SuiteSparse (KLU), fmt, CLI11, nlohmann-json;"
    echo "it uses if present: SuperLU, SLEEF, xbyak (x86-64 only), gnuplot. The tests need GoogleTest, RapidCheck and Python 3;"
    echo "they use, if present, MPFR, and Chromium, Node.js and npm for the HTML report."
    echo "The Debian packages are called: ${packages[*]}"
  fi
  exit 0
fi

mapfile -t missing < <(missing_of "${packages[@]}")
if ((${#missing[@]} == 0)); then exit 0; fi

become=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    become=(none)
  elif sudo -n true 2>/dev/null; then
    become=(sudo -n)
  elif [[ -t 0 && -t 2 ]]; then
    become=(sudo)
  else
    become=(none)
  fi
fi
if [[ ${become[*]:-} == none ]]; then
  echo "Some packages are missing and this user may not install them. As root, type:"
  echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  echo "(or set SALTUS_SKIP_PACKAGES=1 if the libraries are installed in another way)"
  exit 2
fi

# Environment variables pass through sudo only when given on its command line.
apt=("${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "installing ${missing[*]} …"
# An update that fails need not hinder: the lists may be good enough. The installation decides.
"${apt[@]}" update </dev/null >"$log" 2>&1 || echo "apt-get update failed; trying with the package lists as they are" >>"$log"
if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >>"$log" 2>&1; then
  cat "$log"
  echo "The installation failed. Once the reason above is removed, type as root:"
  echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  exit 2
fi
