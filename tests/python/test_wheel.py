# SPDX-License-Identifier: Apache-2.0
"""test_wheel.py: the wheel, built and installed in a new environment, far from the sources."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("SITU_BUILD", ROOT / "build")
EAGER = "import situ as tf; print(tf.constant([[1., 2.]]) @ tf.constant([[3.], [4.]]))"
SCRIPT = """import sys
import tensorflow as tf
with tf.device('/gpu:1'):
    product = tf.constant(2.0, name='two') * tf.placeholder(tf.float32, name='x')
with tf.Session() as sess:
    print(sess.run(product, {'x:0': 21.0}), product.device, sys.argv[1:])
"""


def run(*words, cwd):
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("SITU_", "PYTHON", "CUDA_")) and k != "VIRTUAL_ENV"
    }
    return subprocess.run(
        [str(w) for w in words],
        cwd=cwd,
        env=env,
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )


def output(*words, cwd):
    done = run(*words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    output(ROOT / "tools" / "wheel.sh", sys.executable, folder, BUILD, cwd=ROOT)
    (path,) = folder.glob("situ-*.whl")
    return path


@pytest.fixture(scope="module")
def home(wheel, tmp_path_factory):
    """A new environment with the wheel; NumPy and pytest are those that are here."""
    folder = tmp_path_factory.mktemp("home")
    venv.create(folder / "env", with_pip=True)
    bin_ = folder / "env" / "bin"
    output(bin_ / "pip", "install", "-q", "--no-index", "--no-deps", wheel, cwd=folder)
    site = output(
        bin_ / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
    ).strip()
    Path(site, "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder


def test_is_small_and_whole(wheel):
    assert wheel.stat().st_size < 10e6
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {"situ", "situ-stubs", "pytest_situ.py"} < tops
    assert not [name for name in names if "__pycache__" in name or name.endswith((".c", ".h"))]


def test_says_what_it_needs(wheel):
    (name,) = [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("METADATA")]
    text = zipfile.ZipFile(wheel).read(name).decode()
    assert re.findall(r"(?m)^Requires-Dist: (.*)$", text) == ["numpy"]
    assert "Requires-Python: >=3.9" in text


def test_needs_no_library_but_the_systems(wheel, tmp_path):
    archive = zipfile.ZipFile(wheel)
    (name,) = [n for n in archive.namelist() if n.startswith("_situ.") and n.endswith(".so")]
    needed = output("readelf", "-d", archive.extract(name, tmp_path), cwd=tmp_path)
    libraries = re.findall(r"NEEDED.*\[(.*?)\]", needed)
    own = re.compile(r"(lib(c|m|dl|rt|pthread)|ld)\W")
    assert libraries and all(own.match(library) for library in libraries)


def test_imports_and_computes(home):
    python = home / "env" / "bin" / "python"
    assert (
        output(python, "-c", EAGER, cwd=home) == "tf.Tensor([[11.]], shape=(1, 1), dtype=float32)\n"
    )
    files = "import situ, _situ; print(situ.__file__, _situ.__file__)"
    where = output(python, "-c", files, cwd=home)
    assert str(ROOT) not in where and where.count(str(home)) == 2


def test_runs_an_unmodified_program(home):
    (home / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = home / "env" / "bin" / "situ"
    printed = output(command, "run", "--gpus", "2", "script.py", "--steps", "3", cwd=home)
    assert printed == "42.0 /device:GPU:1 ['--steps', '3']\n"


def test_brings_its_plug_in_for_pytest(home):
    text = "def test_two(simulated_gpus):\n    assert len(simulated_gpus(2)) == 2\n"
    (home / "test_two.py").write_text(text, encoding="utf-8")
    printed = output(home / "env" / "bin" / "python", "-m", "pytest", "-q", "test_two.py", cwd=home)
    assert "1 passed" in printed


def test_has_the_command(home):
    python = home / "env" / "bin" / "python"
    printed = output(python, "-m", "situ", "devices", "--gpus", "A=1GiB", cwd=home)
    assert re.search(r"/device:GPU:0 +GPU +A ", printed)
    assert run(home / "env" / "bin" / "situ", "nonsense", cwd=home).returncode == 2
