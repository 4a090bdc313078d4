#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh: every static check; needs a built build/. Fails if one of them does.
failed=0
step() {
  echo "--- $1"
  shift
  "$@" || failed=1
}

step "tools/check.py" python3 tools/check.py
step "ruff and mypy" tools/lint.sh
step "clang-format" tools/format.sh --check
step "cppcheck" cppcheck --quiet --std=c11 --language=c -j "$(nproc)" --error-exitcode=1 \
  --enable=warning,portability --inline-suppr --suppressions-list=.cppcheck \
  --cppcheck-build-dir="$(mkdir -p build/cppcheck && echo build/cppcheck)" \
  -D_GNU_SOURCE -Isrc -Iinclude -Ibuild/include src cli
step "clang-tidy" python3 tools/tidy.py
[ $failed = 0 ] && echo "check: no problems"
exit $failed
