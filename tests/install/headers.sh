#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headers.sh: every public header compiles alone, as C11 and as C++17, without a warning.
# Usage: headers.sh INCLUDE_FOLDER...
for folder in "$@"; do include="$include -I$folder"; done
flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only $include"
failed=0 count=0
for folder in "$@"; do
  for header in "$folder"/situ/*.h; do
    [ -f "$header" ] || continue
    name=situ/$(basename "$header")
    count=$((count + 1))
    for language in "${CC:-cc} -x c -std=c11" "${CXX:-c++} -x c++ -std=c++17"; do
      echo "#include <$name>" | $language $flags - || { echo "$name: fails as $language"; failed=1; }
    done
  done
done
echo "$count headers"
[ $count -gt 0 ] && [ $failed = 0 ]
