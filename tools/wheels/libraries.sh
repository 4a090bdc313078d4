#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libraries.sh: builds the libraries that wheels contain as static archives with hidden symbols, and collects their
# licenses. The flags of the compiler come from $CFLAGS.
# Usage: tools/wheels/libraries.sh PREFIX DOWNLOADS JOBS
mkdir -p "$1" && prefix=$(realpath "$1") || exit 1
downloads=$2 jobs=$3
here=$(dirname "$0")
work=$prefix/work

# Name, checksum, path in the Debian archive (the sources of the upstream project), files of the license.
sources() {
  cat <<'END'
zlib 7b6903eb019983987b7112eccf90f1703f1c6c0e0cede36564bf611d19ca579d pool/main/z/zlib/zlib_1.3.dfsg+really1.3.2.orig.tar.gz LICENSE
libpng a9d4df463d36a6e5f9c29bd6f4967312d17e996c1854f3511f833924eb1993cf pool/main/libp/libpng1.6/libpng1.6_1.6.58.orig.tar.gz LICENSE
libjpeg-turbo 3a13a5ba767dc8264bc40b185e41368a80d5d5f945944d1dbaa4b2fb0099f4e5 pool/main/libj/libjpeg-turbo/libjpeg-turbo_3.1.3.orig.tar.gz LICENSE.md README.ijg
END
}

# The options of CMake for a library.
options() {
  case $1 in
    libpng) echo "-DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_TOOLS=OFF -DPNG_FRAMEWORK=OFF -DZLIB_ROOT=$prefix" ;;
    libjpeg-turbo) echo "-DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DWITH_TOOLS=OFF -DWITH_TESTS=OFF -DREQUIRE_SIMD=ON" ;;
  esac
}

# zlib's part without files, in memory: a dozen C files that need no configuration.
build_zlib() {
  for file in adler32 crc32 deflate inffast inflate inftrees trees zutil; do
    # shellcheck disable=SC2086
    ${CC:-cc} $CFLAGS -O3 -fPIC -fvisibility=hidden -c "$1/$file.c" -o "$1/$file.o" || return 1
  done
  mkdir -p "$prefix/include" "$prefix/lib" && cp "$1/zlib.h" "$1/zconf.h" "$prefix/include" &&
    ar rcs "$prefix/lib/libz.a" "$1"/*.o
}

build_with_cmake() {
  # shellcheck disable=SC2046
  cmake -S "$1" -B "$1.build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_C_VISIBILITY_PRESET=hidden $(options "$2") &&
    cmake --build "$1.build" -j "$jobs" && cmake --install "$1.build"
}

# build NAME ARCHIVE LICENSE...
build() {
  name=$1 source=$work/$1
  mkdir -p "$source" "$prefix/licenses" && tar -xzf "$2" -C "$source" --strip-components 1 || return 1
  shift 2
  for file in "$@"; do cp "$source/$file" "$prefix/licenses/$name-$file" || return 1; done
  if [ "$name" = zlib ]; then build_zlib "$source"; else build_with_cmake "$source" "$name"; fi \
    >"$work/$name.log" 2>&1 && return 0
  tail -n 15 "$work/$name.log" >&2
  echo "libraries.sh: $name was not built" >&2
  return 1
}

stamp=$(sources | cat - "$0" | sha256sum)
[ "$(cat "$prefix/complete" 2>/dev/null)" = "$stamp $CFLAGS" ] && exit 0
rm -rf "$prefix" && mkdir -p "$work" || exit 1
sources | while read -r name sum path licenses; do
  file=$("$here/fetch.sh" "$downloads" "$sum" "$path") || exit 1
  # shellcheck disable=SC2086
  build "$name" "$file" $licenses || exit 1
done || exit 1
rm -rf "$work"
echo "$stamp $CFLAGS" >"$prefix/complete"
