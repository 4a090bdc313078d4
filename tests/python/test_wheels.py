# SPDX-License-Identifier: Apache-2.0
"""test_wheels.py: the manylinux wheels of `make wheels`, where they have been built."""

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SITU_BUILD", ROOT / "build"))
WHEELS = sorted((BUILD / "wheels").glob("situ-*.whl"))
MOST_BYTES = 25e6

pytestmark = pytest.mark.skipif(not WHEELS, reason="no wheels in build/wheels: run make wheels")


@pytest.fixture(params=WHEELS, ids=lambda path: path.name.split("-")[2])
def wheel(request):
    return zipfile.ZipFile(request.param)


@pytest.fixture
def binaries(wheel, tmp_path):
    names = [n for n in wheel.namelist() if n.endswith((".so", "_bin/situ"))]
    assert len(names) == 2  # no library beside the extension and the command
    return [wheel.extract(name, tmp_path) for name in names]


def test_name_and_size(wheel):
    path = Path(wheel.filename)
    assert re.search(r"-cp3(9|1\d)-cp3\d+-manylinux_2_28_(x86_64|aarch64)\.whl$", path.name)
    assert path.stat().st_size < MOST_BYTES


def test_licenses_of_bundled_libraries(wheel):
    found = [n for n in wheel.namelist() if re.match("situ/licenses/.", n)]
    texts = {n: wheel.read(n) for n in found}
    names = {Path(n).name for n in texts}
    expected = {"libjpeg-turbo-LICENSE.md", "libjpeg-turbo-README.ijg", "libpng-LICENSE"}
    assert expected | {"zlib-LICENSE"} == names and all(texts.values())


@pytest.mark.skipif(not shutil.which("readelf"), reason="no readelf")
def test_binaries_need_nothing_but_glibc(binaries):
    for path in binaries:
        needed = subprocess.run(
            ["readelf", "-dVW", path], capture_output=True, text=True, check=True
        ).stdout
        libraries = re.findall(r"NEEDED.*\[(.*?)\]", needed)
        assert all(re.match(r"(lib(c|m|dl|rt|pthread)|ld)\W", n) for n in libraries), libraries
        versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", needed)
        assert max((int(a), int(b)) for a, b in versions) <= (2, 28)


@pytest.mark.skipif(not shutil.which("nm"), reason="no nm")
def test_bundled_symbols_are_not_exported(binaries):
    (extension,) = [p for p in binaries if p.endswith(".so")]
    shown = subprocess.run(["nm", "-D", extension], capture_output=True, text=True, check=True)
    defined = [line.split()[-1] for line in shown.stdout.splitlines() if " T " in line]
    assert defined == ["PyInit__situ"]
