#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# release.sh: checks that the tree can be released as a version, then tags it. Nothing is pushed.
# Usage: tools/release.sh VERSION [--dry-run]
fail() { echo "release.sh: $1" >&2; exit 1; }
version=$1
echo "$version" | grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' || fail "VERSION must be x.y.z, as in make release VERSION=0.1.0"
cd "$(dirname "$0")/.." || exit 1
[ -z "$(git status --porcelain)" ] || fail "there are uncommitted changes"
[ "$(git rev-parse --abbrev-ref HEAD)" = main ] || fail "the checkout is not on main"
grep -q "^project(situ VERSION $version " CMakeLists.txt || fail "CMakeLists.txt does not say VERSION $version"
grep -qE "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md ||
  fail "CHANGELOG.md has no section '## [$version] - YYYY-MM-DD'"
git rev-parse -q --verify "refs/tags/v$version" >/dev/null && fail "the tag v$version exists already"
[ "$2" = --dry-run ] && { echo "release.sh: $version could be released; make test and make check would run next"; exit 0; }
make test || fail "make test failed"
make check || fail "make check failed"
make wheels test-wheels || fail "make wheels test-wheels failed"
git tag -a "v$version" -m "situ $version" || exit 1
echo "Tagged v$version. Publish with: git push origin main v$version"
