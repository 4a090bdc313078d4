#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fetch.sh: downloads files of the Debian archive and verifies their checksums.
# Usage: tools/wheels/fetch.sh FOLDER SHA256 PATH  (PATH below the mirror; prints where the file is)
#
# Mirrors: $DEBIAN_MIRROR, the current archive, the archive of old releases, and the snapshots, which keep every file.
folder=$1 sum=$2 path=$3
file=$folder/$(basename "$path")
mkdir -p "$folder" || exit 1

is_good() {
  [ -f "$1" ] && echo "$sum  $1" | sha256sum --check --status
}

is_good "$file" && { echo "$file"; exit 0; }
for mirror in $DEBIAN_MIRROR http://deb.debian.org/debian http://archive.debian.org/debian \
  http://snapshot.debian.org/archive/debian/20260901T000000Z; do
  curl -fsSL --retry 2 --connect-timeout 20 -o "$file.new" "$mirror/$path" 2>/dev/null || continue
  is_good "$file.new" && mv "$file.new" "$file" && { echo "$file"; exit 0; }
done
rm -f "$file.new"
echo "fetch.sh: no mirror has $path with the expected checksum" >&2
exit 1
