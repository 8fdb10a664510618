#!/usr/bin/env bash
# Makes Debian packages and the Python wheel from a built tree; needs no network and no root.
#
#   deploy/package.sh [--build DIR] [--out DIR] [--version V]
#                                  default: build/release, build/packages, what pyasc says
#
#   pyasc-server   pyascd, its workers, the systemd unit and its configuration (a conffile)
#   pyasc          the command line
#   python3-pyasc  the Python package for Debian's Python
#   pyasc-*.whl    the same for any Python from 3.9 on
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/release out=$PWD/build/packages version=
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$(realpath "$2"); shift 2 ;;
    --out) mkdir -p "$2"; out=$(realpath "$2"); shift 2 ;;
    --version) version=$2; shift 2 ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
for program in pyascd pyasc-worker pyasc; do
  [ -x "$build/bin/$program" ] || { echo "package: $build/bin/$program is not built" >&2; exit 1; }
done
[ -n "$version" ] || version=$("$build/bin/pyasc" --version | awk '{print $2}')
architecture=$(dpkg --print-architecture)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

program() { # PACKAGE NAME...: stripped programs into /usr/bin
  local package=$1; shift
  mkdir -p "$work/$package/usr/bin"
  for name in "$@"; do
    install -m 0755 "$build/bin/$name" "$work/$package/usr/bin/$name"
    strip --strip-unneeded "$work/$package/usr/bin/$name"
  done
}

depends() { # PACKAGE: what its programs are linked with, as Debian names it
  mkdir -p "$work/shlibs/debian"
  printf 'Source: pyasc\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/shlibs/debian/control"
  (cd "$work/shlibs" && dpkg-shlibdeps -O --ignore-missing-info "$work/$1"/usr/bin/* 2>/dev/null) |
    sed -n 's/^shlibs:Depends=//p'
}

deb() { # PACKAGE ARCHITECTURE DEPENDS DESCRIPTION
  local package=$1 directory=$work/$1
  mkdir -p "$directory/DEBIAN" "$directory/usr/share/doc/$package"
  cat >"$directory/DEBIAN/control" <<CONTROL
Package: $package
Version: $version
Architecture: $2
Maintainer: pyasc <pyasc@localhost>
Section: devel
Priority: optional
Installed-Size: $(du -ks "$directory" | cut -f1)
Depends: $3
Description: $4
CONTROL
  if [ -d "$directory/etc" ]; then
    (cd "$directory" && find etc -type f -printf '/%p\n' | sort) >"$directory/DEBIAN/conffiles"
  fi
  (cd "$directory" && find usr -type f | sort | xargs md5sum) >"$directory/DEBIAN/md5sums"
  dpkg-deb --root-owner-group --build "$directory" "$out/${package}_${version}_$2.deb" >/dev/null
}

# The daemon. User, directories and their modes are declared, not scripted: systemd makes them.
program pyasc-server pyascd pyasc-worker
server=$work/pyasc-server
install -D -m 0644 deploy/systemd/pyascd.service "$server/lib/systemd/system/pyascd.service"
install -D -m 0644 deploy/systemd/pyascd.yaml "$server/etc/pyasc/pyascd.yaml"
mkdir -p "$server/usr/lib/sysusers.d"
echo 'u pyasc - "pyasc kernel service" /var/cache/pyasc' >"$server/usr/lib/sysusers.d/pyasc.conf"
install -D -m 0644 docs/operations.md "$server/usr/share/doc/pyasc-server/operations.md"
install -D -m 0644 docs/security.md "$server/usr/share/doc/pyasc-server/security.md"
deb pyasc-server "$architecture" "$(depends pyasc-server)" "service that compiles, caches and runs pyasc kernels"

program pyasc pyasc
install -D -m 0644 docs/guide.md "$work/pyasc/usr/share/doc/pyasc/guide.md"
deb pyasc "$architecture" "$(depends pyasc)" "command line of the pyasc kernel service"

# The wheel, and its contents for Debian's Python. Built in a copy: setuptools writes beside its input.
cp -r client/python "$work/python" && mkdir -p "$work/src/client" && mv "$work/python" "$work/src/client/"
cp -r proto "$work/src/proto"
(cd "$work/src/client/python" && /usr/bin/python3 setup.py -q bdist_wheel -d "$out" >/dev/null 2>"$work/wheel.log") ||
  { cat "$work/wheel.log" >&2; exit 1; }
wheel=$(ls -t "$out"/pyasc-*.whl | head -1)
mkdir -p "$work/python3-pyasc/usr/lib/python3/dist-packages"
/usr/bin/python3 -m zipfile -e "$wheel" "$work/python3-pyasc/usr/lib/python3/dist-packages"
deb python3-pyasc all "python3 (>= 3.9), python3-numpy, python3-grpcio, python3-protobuf" \
  "Python package of the pyasc kernel service"

ls -1 "$out"
