#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh: runs every fuzz target of a build folder for FUZZ_SECONDS; seeds come from tests/fuzz/seeds/NAME.
folder=${1:-build-fuzz}
failed=0
for program in "$folder"/fuzz/fuzz_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  corpus=$folder/corpus/$name
  mkdir -p "$corpus"
  seeds=tests/fuzz/seeds/$name
  [ -d "$seeds" ] || seeds=
  echo "=== $name: ${FUZZ_SECONDS:-60} s"
  "$program" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="$folder/$name-" "$corpus" $seeds || failed=1
done
exit $failed
