#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare.sh: CONFORM FAMILY FILE: answers a file of cases and compares the answers with what it
# expects; skips (77) where the cases are not at hand.
cases=../shared/conform
[ -f "$cases/$3.jsonl" ] && [ -f "$cases/compare.py" ] ||
  { echo "skipped: $cases is not there"; exit 77; }
answers=$(mktemp) || exit 1
trap 'rm -f "$answers"' EXIT
"$1" "$2" <"$cases/$3.jsonl" >"$answers" || exit 1
python3 -B "$cases/compare.py" "$2" "$cases/$3.jsonl" <"$answers"
