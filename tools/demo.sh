#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh: runs every case of every example and shows the command and what it prints.
cd "$(dirname "$0")/.." || exit 1
cases=0 wrong=0
for case in examples/expect/*.txt; do
  [ -f "$case" ] || continue
  cases=$((cases + 1))
  python3 tests/run_example.py --show build/examples "$case" || wrong=$((wrong + 1))
done
echo
echo "$cases examples ran, $wrong of them not as expected"
[ "$wrong" = 0 ]
