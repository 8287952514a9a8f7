#!/usr/bin/env bash
# Makes the packages and uses them in a Debian 12 that has nothing else: scripts/test_packages.sh [BUILD]
#
# BUILD is a build folder of the preset `python`; without it build/release is built. The Debian is unpacked in
# build/debian12 by debootstrap and changed by the test, which needs root.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
. "$root/scripts/build.sh"
debian=$root/build/debian12
made=$root/build/packages

if ((EUID != 0)); then
  echo "test_packages.sh needs root, for debootstrap and mounts" >&2
  exit 2
fi
"$root/scripts/install_packages.sh" run python pythontest nightly || exit
build=${1:-}
if [[ -z $build ]]; then
  build=$root/build/release
  saltus_configure python release SALTUS_PYTHON:BOOL=ON
  cmake --build "$build" -j "$(saltus_jobs)"
fi
build=$(cd "$build" && pwd -P)

rm -rf "$made" "$debian"
mkdir -p "$made"
cpack --config "$build/CPackConfig.cmake" -B "$made" >"$root/build/cpack.log"
rm -rf "$made/_CPack_Packages"
"$root/scripts/make_archive.py" "$build" --out "$made"
cp "$root/examples/models/StickSlip.mo" "$root/tests/package/consumer.cpp" "$made"
debootstrap --variant=minbase bookworm "$debian" >"$root/build/debian12.log"

cat >"$made/use" <<'USE'
set -euo pipefail
cd /packages
export DEBIAN_FRONTEND=noninteractive
works() { "$@" run StickSlip.mo --no-plot | tee output | grep -q "success at t = 10" || { cat output; exit 1; }; }
mkdir archive && apt-get -qq update && apt-get -qq install -y --no-install-recommends xz-utils >/dev/null
tar xf saltus-*.tar.xz -C archive
works archive/saltus-*/bin/saltus
echo "the archive works"
apt-get -qq install -y --no-install-recommends ./saltus_*.deb >/dev/null
works saltus
apt-get -qq install -y --no-install-recommends ./python3-saltus_*.deb >/dev/null
python3 -c "import saltus; assert len(saltus.simulate(saltus.load('StickSlip.mo')).events) == 7"
apt-get -qq install -y --no-install-recommends ./libsaltus-dev_*.deb g++ pkg-config >/dev/null
g++ -std=c++20 consumer.cpp -o consumer $(pkg-config --cflags --libs saltus)
./consumer
apt-get -qq remove -y saltus libsaltus-dev python3-saltus >/dev/null
if command -v saltus; then exit 1; fi
echo "the packages install, work and go away again"
USE
mkdir -p "$debian/packages"
cp "$made"/* "$debian/packages"
cp -L /etc/resolv.conf "$debian/etc/resolv.conf" || true
unshare --mount sh -c '
  mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$1" bash /packages/use' sh "$debian"
