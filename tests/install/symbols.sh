#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh: libsitu.so and libsitu.a export the symbols of cmake/symbols.txt and no others; libsitu.so has the soname of
# its major version and is never unloaded.
# Usage: symbols.sh BUILD_FOLDER [--update]
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
nm -D --defined-only "$1/libsitu.so" | awk '{print $3}' | LC_ALL=C sort >"$scratch/shared"
nm -g --defined-only "$1/libsitu.a" | awk 'NF == 3 {print $3}' | LC_ALL=C sort >"$scratch/static"
[ -s "$scratch/shared" ] || { echo "libsitu.so shows nothing"; exit 1; }
if grep -v '^situ_' "$scratch/shared" "$scratch/static"; then
  echo "these names do not begin with situ_"
  exit 1
fi
readelf -d "$1/libsitu.so" | grep -q NODELETE ||
  { echo "libsitu.so may be unloaded while its workers run"; exit 1; }
diff "$scratch/shared" "$scratch/static" || { echo "libsitu.so and libsitu.a differ"; exit 1; }

# The ABI: functions of <situ/ops.h> are inline and export nothing.
list=$(dirname "$0")/../../cmake/symbols.txt
[ "$2" = --update ] && { cp "$scratch/shared" "$list"; exit 0; }
diff "$list" "$scratch/shared" || {
  echo "The exported symbols are not those of cmake/symbols.txt (<: missing, >: new). If that is intended:"
  echo "  tests/install/symbols.sh $1 --update, and a line in CHANGELOG.md"
  exit 1
}
major=$(sed -n 's/^project(situ VERSION \([0-9]*\)\..*/\1/p' "$(dirname "$0")/../../CMakeLists.txt")
readelf -d "$1/libsitu.so" | grep -q "SONAME.*libsitu.so.$major\]" ||
  { echo "the soname is not libsitu.so.$major"; exit 1; }
