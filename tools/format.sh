#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# format.sh: formats every C file; with --check only names those that are not formatted.
wrong=0
for file in $(git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp'); do
  [ -f "$file" ] || continue
  if [ "$1" = --check ]; then
    clang-format --dry-run -Werror "$file" 2>/dev/null ||
      { echo "$file:1: is not formatted: run make format"; wrong=1; }
  else
    clang-format -i "$file"
  fi
done
exit $wrong
