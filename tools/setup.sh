#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh: installs the Debian packages that are missing; a machine that has them all is left alone, also offline.
# Usage: tools/setup.sh build|test|check|fuzz|peers... installs the packages of these groups
#        tools/setup.sh --libraries lists the shared libraries that are loaded at run time

# Libraries that src/ loads at run time: name, group that installs it, Debian package. "-": Debian has no package of
# it; its tests have a stand-in.
libraries() {
  cat <<'END'
libpng16.so.16    build  libpng16-16
libjpeg.so.62     build  libjpeg62-turbo
libz.so.1         build  zlib1g
libdnnl.so.2      build  libdnnl2
libOpenCL.so.1    test   ocl-icd-libopencl1
libmpi.so.40      test   libopenmpi3
libcuda.so.1      -      -
libnvrtc.so.12    -      -
libcublas.so.12   -      -
libnccl.so.2      -      -
END
}

packages() {
  libraries | awk -v group="$1" '$2 == group { print $3 }'
  case $1 in
    build) echo build-essential cmake pkg-config python3 python3-dev python3-venv libdnnl-dev libjpeg-dev ;;
    test) echo git libcmocka-dev valgrind universal-ctags ocl-icd-libopencl1 pocl-opencl-icd clang-16 openmpi-bin ;;
    oclgrind) echo ocl-icd-libopencl1 oclgrind ;;
    bench) echo ocl-icd-libopencl1 pocl-opencl-icd libclblast1 openmpi-bin ;;
    check) echo git clang-format clang-tidy cppcheck universal-ctags libcmocka-dev ;;
    fuzz) echo clang-16 libclang-rt-16-dev ;;
    wheels) echo curl nasm xz-utils ;;
    peers) echo python3-venv ;;
  esac
}

[ "$1" = --libraries ] && { libraries; exit 0; }
command -v dpkg-query >/dev/null || exit 0 # not Debian: CMake will say what it misses

missing=
for group in "$@"; do
  for package in $(packages "$group"); do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)
    [ "$state" = installed ] || missing="$missing $package"
  done
done
[ -z "$missing" ] && exit 0

apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq"
[ "$(id -u)" = 0 ] || apt="sudo $apt"
echo "Installing:$missing"
install="$apt install -y --no-install-recommends $missing"
$install >/dev/null 2>&1 || { $apt update && $install >/dev/null; } ||
  echo "setup.sh: going on without:$missing" >&2 # what cannot do without it will say so
