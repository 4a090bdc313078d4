# SPDX-License-Identifier: Apache-2.0
"""test_public_names.py: the public names that programs use most exist, in one of the styles."""

import functools
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import situ as tf
from situ._src.framework import api
from situ._src.runner import missing_names

LIST = Path(__file__).resolve().parents[2].parent / "shared" / "spec" / "api.txt"
PROGRAM = """
import sys
import {module} as tf
for name in sys.stdin.read().split():
    thing = tf
    try:
        for part in name.split(".")[1:]:
            thing = getattr(thing, part)
    except AttributeError:
        print(name)
"""


def _missing(module, names):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module)],
        text=True,
        input=" ".join(names),
        capture_output=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.skipif(not LIST.exists(), reason="the list of names is not here")
def test_names_down_to_the_third_mark():
    text = LIST.read_text().split("## mark 3")[0]
    names = [
        w
        for line in text.splitlines()
        if not line.startswith("#")
        for w in re.findall(r"tf\.[\w.]+", line)
    ]
    missing = _missing("situ", names) & _missing("situ.compat.v1", names)
    assert sorted(missing) == []


def test_hints_are_made_when_an_error_is_printed(monkeypatch):
    def fail(*_arguments):
        raise AssertionError("a hint was made")

    monkeypatch.setattr(missing_names, "nearest", fail)
    assert not hasattr(tf.math, "ad") and getattr(tf, "no_such_name", 3) == 3
    with pytest.raises(AttributeError) as error:
        _ = tf.math.ad
    monkeypatch.undo()
    assert "Nearest: tf.math.add." in str(error.value)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def _functions():
    """Yields each function of the name table once, with its name."""
    seen = set()
    for name, style, _ in api.lines(""):
        if style == "v1" or name.startswith("python."):
            continue
        try:
            found = functools.reduce(getattr, name.split("."), tf)
        except (AttributeError, ImportError):  # of the other style, or of a library that is missing
            continue
        if inspect.isfunction(found) and found not in seen and "situ" in found.__module__:
            seen.add(found)
            yield name, found


def test_functions_explain_and_annotate_their_arguments():
    """tools/check.py reads the source: functions that other functions make are seen only here."""
    checked, missing = 0, []
    for name, function in _functions():
        checked += 1
        parameters = inspect.signature(function).parameters.values()
        named = [p for p in parameters if p.name not in ("self", "name", "args", "kwargs")]
        if not inspect.getdoc(function) or (named and "Args:" not in inspect.getdoc(function)):
            missing.append(f"{name}: arguments are not explained")
        if any(p.annotation is p.empty for p in parameters if p.name != "self"):
            missing.append(f"{name}: parameters without annotation")
    assert checked > 1000 and not missing
