# SPDX-License-Identifier: Apache-2.0
"""test_flags.py: tf.app.flags, tf.app.run, tf.gfile, tf.logging."""

import re

import pytest

import situ.compat.v1 as tf

PROGRAM = """
import tensorflow as tf
tf.app.flags.DEFINE_integer('steps', 10, 'How many.')
tf.app.flags.DEFINE_boolean('log', False, 'Whether.')
tf.app.flags.DEFINE_string('dir', None, 'Where.')
tf.app.flags.DEFINE_float('rate', 0.5, 'How fast.')
F = tf.app.flags.FLAGS
def main(argv):
    print(F.steps, F.log, F.dir, F.rate, argv[1:])
if __name__ == '__main__':
    tf.app.run()
"""


@pytest.mark.parametrize(
    "words,want",
    [
        ((), "10 False None 0.5 []"),
        (("--steps=3", "--log", "--dir", "/x", "more"), "3 True /x 0.5 ['more']"),
        (("-steps", "4", "--log=true", "--rate=1e-3"), "4 True None 0.001 []"),
        (("--nolog", "--unknown=1"), "10 False None 0.5 ['--unknown=1']"),
        (("--", "--steps=3"), "10 False None 0.5 ['--steps=3']"),
    ],
)
def test_program(situ, words, want):
    done = situ("run", "--api", "v1", "a.py", *words, files={"a.py": PROGRAM})
    assert (done.code, done.out.strip()) == (0, want), done.err


def test_wrong_flag(situ):
    done = situ("run", "--api", "v1", "a.py", "--steps=x", files={"a.py": PROGRAM})
    assert done.code == 1
    assert "flag --steps=x: invalid literal for int() with base 10: 'x'" in done.err


def test_help(situ):
    done = situ("run", "--api", "v1", "a.py", "--help", files={"a.py": PROGRAM})
    assert "--steps: How many.\n    (default: 10)" in done.out
    assert "--[no]log: Whether.\n    (default: false)" in done.out


def test_flags_are_not_defined_twice():
    tf.flags.DEFINE_string("once", "a", "")
    with pytest.raises(tf.flags.DuplicateFlagError, match="'once' is defined twice"):
        tf.flags.DEFINE_string("once", "b", "")
    assert tf.flags.FLAGS["once"].value == "a" and "once" in tf.flags.FLAGS
    tf.flags.FLAGS.mark_as_parsed()
    tf.flags.FLAGS.once = "c"
    assert tf.flags.FLAGS.once == "c" and tf.flags.FLAGS.flag_values_dict()["once"] == "c"
    with pytest.raises(AttributeError):
        print(tf.flags.FLAGS.never)


def test_gfile(tmp_path):
    folder = str(tmp_path / "a" / "b")
    tf.gfile.MakeDirs(folder)
    tf.gfile.MakeDirs(folder)
    with tf.gfile.GFile(folder + "/f", "w") as file:
        file.write("one\ntwo\n")
    assert tf.gfile.Exists(folder + "/f") and tf.gfile.IsDirectory(folder)
    assert list(tf.gfile.Open(folder + "/f")) == ["one\n", "two\n"]
    assert tf.gfile.FastGFile(folder + "/f", "rb").read() == b"one\ntwo\n"
    assert tf.io.gfile.stat(folder + "/f").length == 8
    tf.gfile.Copy(folder + "/f", folder + "/g")
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Copy(folder + "/f", folder + "/g")
    assert tf.gfile.ListDirectory(folder) == ["f", "g"]
    assert tf.gfile.Glob(folder + "/*") == [folder + "/f", folder + "/g"]
    tf.gfile.Remove(folder + "/f")
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        tf.gfile.Open(folder + "/f").read()
    tf.gfile.DeleteRecursively(str(tmp_path / "a"))
    assert not tf.gfile.Exists(folder)


def test_logging(capsys):
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.logging.info("step %d", 3)
    tf.logging.debug("no")
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.logging.warn("no")
    tf.logging.error("bad")
    tf.logging.set_verbosity(tf.logging.WARN)
    assert capsys.readouterr().err == "INFO:tensorflow:step 3\nERROR:tensorflow:bad\n"


@pytest.mark.parametrize(
    "lower, upper, text, words",
    [
        (1, None, "0", "0 is not a positive integer"),
        (0, None, "-1", "-1 is not a non-negative integer"),
        (2, 5, "6", "6 is not an integer in the range [2, 5]"),
        (None, 5, "9", "9 is not integer <= 5"),
        (3, None, "2", "2 is not integer >= 3"),
        (None, 0, "1", "1 is not a non-positive integer"),
    ],
)
def test_bounds(lower, upper, text, words):
    values = type(tf.app.flags.FLAGS)()
    tf.app.flags.DEFINE_integer(
        "n", lower or upper, "", flag_values=values, lower_bound=lower, upper_bound=upper
    )
    with pytest.raises(tf.app.flags.IllegalFlagValueError, match=re.escape(f"--n={text}: {words}")):
        values(["program", f"--n={text}"])


def test_flags_that_are_defined_or_set_twice():
    values = tf.flags.FlagValues()
    tf.flags.DEFINE_integer("n", 1, "", flag_values=values, allow_overwrite=False)
    tf.flags.DEFINE_string("s", "a", "", flag_values=values)
    with pytest.raises(tf.flags.DuplicateFlagError):
        tf.flags.DEFINE_string("s", "b", "", flag_values=values)
    tf.flags.DEFINE_string("s", "b", "", flag_values=values, allow_override=True)
    with pytest.raises(tf.flags.IllegalFlagValueError, match="--n=3: already defined as 2"):
        values(["program", "--n=2", "--n=3"])
    values(["program"])
    assert values.s == "b"


def test_bounds_of_numbers_follow_the_help():
    values = tf.flags.FlagValues()
    tf.flags.DEFINE_integer("n", 3, "How many.", 1, 9, values)
    with pytest.raises(tf.flags.IllegalFlagValueError, match="10 is not an integer in the range"):
        values(["program", "--n=10"])
