# SPDX-License-Identifier: Apache-2.0
"""test_setup.py: the set-up step installs every shared library that is loaded at run time."""

import ctypes
import re
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "tools" / "setup.sh"
LIBRARY = re.compile(r'"(?:[^"\s]*/)?lib([A-Za-z0-9_]+)\.so(?:\.\d+)*"')


def _listed():
    """{base name: (library, group, package)}, as the set-up step lists them."""
    lines = subprocess.run(
        [SETUP, "--libraries"], stdout=subprocess.PIPE, check=True, text=True
    ).stdout.splitlines()
    rows = [line.split() for line in lines]
    return {re.match(r"lib(\w+)\.so", row[0]).group(1): tuple(row) for row in rows}


def _code():
    """(path, text without comments) of every C file that is part of the library."""
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        yield path.relative_to(ROOT), re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)


class Setup(unittest.TestCase):
    def test_every_library_that_is_loaded_is_listed(self):
        listed = _listed()
        found = {name for _, text in _code() for name in LIBRARY.findall(text)}
        self.assertIn("png16", found)
        self.assertEqual(found, set(listed))

    def test_what_loads_libraries_names_them(self):
        for path, text in _code():
            if "dl_load(" in text and path.parts[1] != "base":
                folder = "".join(t for p, t in _code() if p.parent == path.parent)
                self.assertRegex(folder, LIBRARY, path)

    def test_groups_install_the_packages(self):
        groups = {"build", "test", "-"}
        for library, group, package in _listed().values():
            self.assertIn(group, groups, library)
            self.assertEqual(group == "-", package == "-", library)

    def test_errors_name_the_library_and_its_package(self):
        text = "".join(t for _, t in _code())
        for library, group, package in _listed().values():
            if group == "build" and library != "libdnnl.so.2":  # situ also runs without oneDNN
                self.assertIn(f'"{package}"', text, library)

    @unittest.skipUnless(shutil.which("dpkg-query"), "the set-up step installs on Debian only")
    def test_libraries_can_be_loaded_after_the_set_up(self):
        for library, group, package in _listed().values():
            if group == "-":
                continue
            with self.subTest(library=library, package=package):
                try:
                    ctypes.CDLL(library)
                except OSError as error:
                    known = subprocess.run(
                        ["apt-cache", "show", package],
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        check=False,
                    )
                    if known.returncode:  # another release: the library has another name there
                        self.skipTest(f"no package {package}: {error}")
                    raise


if __name__ == "__main__":
    unittest.main()
