# SPDX-License-Identifier: Apache-2.0
"""test_release.py: tools/release.sh refuses a tree that cannot be released, and says why."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Release(unittest.TestCase):
    """A repository of three files is released in a dry run."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "tools").mkdir()
        shutil.copy(ROOT / "tools/release.sh", self.folder / "tools")
        self.write("CMakeLists.txt", "project(situ VERSION 0.1.0 LANGUAGES C)\n")
        self.write("CHANGELOG.md", "# Changelog\n\n## [0.1.0] - 2026-01-31\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def git(self, *arguments):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Commit")

    def release(self, version):
        done = subprocess.run(
            [self.folder / "tools/release.sh", version, "--dry-run"],
            text=True,
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def refuses(self, reason, version="0.1.0"):
        code, text = self.release(version)
        self.assertEqual(1, code, text)
        self.assertIn(reason, text)

    def test_a_tree_that_is_ready(self):
        code, text = self.release("0.1.0")
        self.assertEqual(0, code, text)

    def test_versions(self):
        self.refuses("VERSION must be x.y.z", "1.0")
        self.refuses("CMakeLists.txt does not say VERSION 0.2.0", "0.2.0")

    def test_uncommitted_changes(self):
        self.write("new.txt", "")
        self.refuses("uncommitted changes")

    def test_changelog_without_the_version(self):
        self.write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n")
        self.commit()
        self.refuses("CHANGELOG.md has no section")

    def test_a_tag_that_exists(self):
        self.git("tag", "v0.1.0")
        self.refuses("exists already")

    def test_another_branch(self):
        self.git("checkout", "-q", "-b", "topic")
        self.refuses("not on main")


if __name__ == "__main__":
    unittest.main()
