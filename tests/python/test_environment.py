# SPDX-License-Identifier: Apache-2.0
"""test_environment.py: environment variables and --gpus: documented variables are read, and
invalid values are errors before anything runs."""

import os
import re

import pytest
from conftest import ROOT

NO_VARIABLES = {"SITU_"}


def _sources():
    for folder in ("src", "cli", "python"):
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith((".c", ".h", ".py")):
                    with open(os.path.join(where, name), encoding="utf-8") as file:
                        yield file.read()


def _read():
    """Variables that some source file asks the environment for: quoted names beside a reader."""
    text = "\n".join(_sources())
    readers = r"(?:getenv|number_of|environ(?:\.get|\.pop|\.setdefault)?)\s*[(\[]\s*\"(SITU_\w+)\""
    listed = re.findall(r'names\[\] = \{"(SITU_\w+)"', text)  # visible.c: SITU_, then CUDA_...
    return set(re.findall(readers, text)) | set(listed)


def _documented():
    with open(os.path.join(ROOT, "docs", "reference", "environment.md"), encoding="utf-8") as file:
        return set(re.findall(r"^\| `(SITU_\w+)`", file.read(), re.M))


def test_every_documented_variable_is_read_and_every_read_one_documented():
    assert _documented() == _read()


def test_every_variable_that_a_text_names_is_documented():
    """README, docs and public headers speak of no variable that is not in the table."""
    known = _documented()
    for where, _, names in [*os.walk(os.path.join(ROOT, "docs")), (ROOT, [], ["README.md"])]:
        for name in names:
            if not name.endswith(".md"):
                continue
            with open(os.path.join(where, name), encoding="utf-8") as file:
                said = set(re.findall(r"\b(SITU_[A-Z_]+)=", file.read()))
            assert said <= known, name


def test_public_constants_are_used():
    """A flag of the C API that no source reads would be a switch without effect."""
    text = "\n".join(_sources())
    folder = os.path.join(ROOT, "include", "situ")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for body in re.findall(r"\benum\b[^{};]*\{([^}]*)\}", header):
            for constant in re.findall(r"\b(SITU_[A-Z0-9_]+)\s*=", body):
                assert re.search(rf"\b{constant}\b", text), f"{name}: {constant}"


PROGRAM = {"a.py": "import tensorflow as tf\nprint('ran')\nprint(tf.ones([2]) + 1.0)\n"}


@pytest.mark.parametrize(
    "variable, value, takes",
    [
        ("SITU_GPU_MEMORY", "fraction=7", "above 0 and at most 1"),
        ("SITU_GPU_MEMORY", "fraction=0", "above 0"),
        ("SITU_GPU_MEMORY", "growth=yes", "is not an option"),
        ("SITU_GPU_MEMORY", "limit=-1", "is not a size"),
        ("SITU_THREADS", "-1", "1 to 1024"),
        ("SITU_STRICT", "perhaps", "0 or 1"),
        ("SITU_CUDA", "off", "0 or 1"),
        ("SITU_SEED", "one", "an integer"),
        ("SITU_REQUIRE", "gpu:-1", "gpu:2"),
        ("SITU_SIM_GPUS", "-1", "a count from 0 to 64"),
    ],
)
def test_wrong_values_are_errors(situ, variable, value, takes):
    env = {"SITU_SIM_GPUS": "0", variable: value}
    for words in (("devices",), ("run", "a.py")):
        result = situ(*words, files=PROGRAM, **env)
        assert result.code != 0 and "InvalidArgumentError" in result.err, words
        assert takes in result.err and value.rpartition("=")[2] in result.err
        if variable != "SITU_SIM_GPUS":
            assert variable in result.err


@pytest.mark.parametrize(
    "value",
    [
        "-1",
        "+2",
        "1.5",
        "1e9",
        "65",
        "99999999999999999999",
        "-1=2GiB",
        "A=-1GiB",
        "A=0",
        "A=1e30TiB",
        "A,,B",
        "4GiB",
        "",
    ],
)
def test_wrong_gpus_are_errors_before_the_run(situ, value):
    for words in (
        ("devices", "--gpus", value),
        ("run", "--gpus", value, "a.py"),
        ("run", "--gpus=" + value, "a.py"),
    ):
        result = situ(*words, files=PROGRAM)
        assert result.code != 0 and "ran" not in result.out and "Traceback" not in result.err
        assert "simulated GPUs" in result.err or "--gpus" in result.err


def test_options_that_cannot_be_met_are_no_limit_of_zero(situ):
    result = situ("devices", SITU_SIM_GPUS="A=1GiB", SITU_GPU_MEMORY="reserve=2GiB")
    assert result.code != 0 and "2.00GiB are to stay free" in result.err
    result = situ(
        "run",
        "a.py",
        SITU_SIM_GPUS="1",
        files={
            "a.py": """
        import tensorflow.compat.v1 as tf
        options = tf.GPUOptions(per_process_gpu_memory_fraction=7)
        tf.Session(config=tf.ConfigProto(gpu_options=options)).run(tf.ones([2]) + 1.0)
        """
        },
    )
    assert result.code != 0 and "nified memory" in result.err


def test_options_for_a_gpu_that_is_not_there_are_said(situ):
    result = situ("devices", SITU_SIM_GPUS="2", SITU_GPU_MEMORY="5:growth")
    assert result.code == 0
    assert "SITU_GPU_MEMORY has options for GPU 5, but the last GPU is 1" in result.err
