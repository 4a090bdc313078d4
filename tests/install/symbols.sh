#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh: libsitu.so and libsitu.a show the names situ_* and no others, and the same ones; libsitu.so stays when it
# is closed.
# Usage: symbols.sh BUILD_FOLDER
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
nm -D --defined-only "$1/libsitu.so" | awk '{print $3}' | sort >"$scratch/shared"
nm -g --defined-only "$1/libsitu.a" | awk 'NF == 3 {print $3}' | sort >"$scratch/static"
[ -s "$scratch/shared" ] || { echo "libsitu.so shows nothing"; exit 1; }
if grep -v '^situ_' "$scratch/shared" "$scratch/static"; then
  echo "these names do not begin with situ_"
  exit 1
fi
readelf -d "$1/libsitu.so" | grep -q NODELETE ||
  { echo "libsitu.so may be unloaded while its workers run"; exit 1; }
diff "$scratch/shared" "$scratch/static"
