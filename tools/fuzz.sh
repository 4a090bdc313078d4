#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh: runs every fuzz target of a build folder for FUZZ_SECONDS; seeds come from tests/fuzz/seeds/NAME. Then
# those of tests/fuzz/fuzz_python.py with the build in build/, each in a process of its own.
folder=$(cd "${1:-build-fuzz}" && pwd) || exit 1 # absolute: fuzz_run_graph works in a folder of its own
failed=0
# A tensor that is too large is an error of the call, not of the fuzz target.
export ASAN_OPTIONS=max_allocation_size_mb=1024:allocator_may_return_null=1
for program in "$folder"/fuzz/fuzz_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  corpus=$folder/corpus/$name
  mkdir -p "$corpus"
  seeds=$PWD/tests/fuzz/seeds/$name
  [ -d "$seeds" ] || seeds=
  echo "=== $name: ${FUZZ_SECONDS:-60} s"
  "$program" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1000000 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="$folder/$name-" "$corpus" $seeds || failed=1
done
python=.venv/bin/python
if [ -x "$python" ] && "$python" -c "import situ" 2>/dev/null; then
  for name in $("$python" tests/fuzz/fuzz_python.py --list); do
    echo "=== fuzz_python.py $name: ${FUZZ_SECONDS:-60} s"
    timeout -s KILL $((${FUZZ_SECONDS:-60} + 120)) "$python" -u tests/fuzz/fuzz_python.py --seconds "${FUZZ_SECONDS:-60}" \
      --seed "$(date +%s)" "$name" 2>"$folder/fuzz_python-$name.log" || {
      tail -30 "$folder/fuzz_python-$name.log"
      failed=1
    }
  done
else
  echo "fuzz.sh: no Python package: run make first for the targets of tests/fuzz/fuzz_python.py"
fi
exit $failed
