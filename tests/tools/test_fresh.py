# SPDX-License-Identifier: Apache-2.0
"""test_fresh.py: make fresh says why where it cannot run, and leaves no file system behind."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# git may be missing, or refuse a repository of another user.
IN_GIT = (
    shutil.which("git") is not None
    and subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--show-toplevel"], capture_output=True, check=False
    ).returncode
    == 0
)
TOOLS = (
    "awk",
    "cat",
    "dirname",
    "env",
    "git",
    "grep",
    "head",
    "mktemp",
    "rm",
    "sed",
    "sh",
    "sort",
    "tail",
    "tr",
    "true",
    "umount",
    "unshare",
)


class Fresh(unittest.TestCase):
    """Programs of the system are replaced by those in a folder of the test."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in TOOLS:
            path = shutil.which(name)
            if path:
                (self.folder / name).symlink_to(path)

    def program(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)

    def run_fresh(self, *args):
        env = {**os.environ, "PATH": str(self.folder), "TMPDIR": str(self.folder)}
        return subprocess.run(
            [str(ROOT / "tools" / "fresh.sh"), *args],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1200,
            check=False,
        )

    def test_help(self):
        done = self.run_fresh("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Usage: tools/fresh.sh", done.stdout)

    def test_unknown_options(self):
        self.assertEqual(self.run_fresh("--quick").returncode, 2)

    def cannot(self, reason):
        done = self.run_fresh("true")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("fresh.sh: cannot run: ", done.stdout)
        self.assertIn(reason, done.stdout)

    @unittest.skipUnless(IN_GIT, "not a git repository, or no git")
    def test_needs_root(self):
        self.program("id", "echo 1000")
        self.cannot("not root")

    @unittest.skipUnless(IN_GIT, "not a git repository, or no git")
    def test_needs_debootstrap(self):
        self.program("id", "echo 0")
        self.cannot("no debootstrap" if self.is_debian() else "not Debian")

    @unittest.skipUnless(IN_GIT, "not a git repository, or no git")
    def test_without_a_network(self):
        self.program("id", "echo 0")
        self.program("debootstrap", "mkdir -p \"$4\"; echo 'E: no route to the mirror'; exit 1")
        (self.folder / "mkdir").symlink_to(shutil.which("mkdir"))
        can = subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False)
        self.cannot(
            "not Debian"
            if not self.is_debian()
            else "no mount namespaces"
            if can.returncode
            else "debootstrap failed"
        )
        self.assertEqual(list(self.folder.glob("situ-fresh.*/root")), [])

    @staticmethod
    def is_debian():
        path = Path("/etc/os-release")
        return path.exists() and "\nID=debian" in "\n" + path.read_text()


if __name__ == "__main__":
    unittest.main()
