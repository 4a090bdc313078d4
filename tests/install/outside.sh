#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outside.sh: installs into a temporary folder, builds programs outside against it and runs them.
# Usage: outside.sh pkg_config|find_package BUILD_FOLDER
set -e
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix="$scratch/some where" # a blank in the path must not matter to CMake
[ "$1" = find_package ] || prefix=$scratch/prefix
cmake --install "$2" --prefix "$prefix" >/dev/null
cd "$scratch"

pkg_config() {
  pc=$(find "$prefix" -name situ.pc)
  PKG_CONFIG_PATH=$(dirname "$pc")
  export PKG_CONFIG_PATH
  flags="-Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags situ)"
  libdir=$(pkg-config --variable=libdir situ)
  ${CC:-cc} -std=c11 $flags "$here/outside.c" -o shared_c $(pkg-config --libs situ)
  ${CXX:-c++} -std=c++17 $flags "$here/outside.cpp" -o shared_cpp $(pkg-config --libs situ)
  ${CC:-cc} -std=c11 $flags "$here/outside.c" -o static_c "$libdir/libsitu.a" \
    $(pkg-config --static --libs-only-l situ | sed 's/-lsitu//')
  LD_LIBRARY_PATH=$libdir ./shared_c
  LD_LIBRARY_PATH=$libdir ./shared_cpp
  ./static_c
}

find_package() {
  cmake -S "$here" -B out "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null
  env -u MAKEFLAGS cmake --build out >/dev/null
  ./out/shared_c
  ./out/shared_cpp
  ./out/static_c
}

"$1"
if [ -x "$prefix/bin/situ" ]; then "$prefix/bin/situ" --version; fi
