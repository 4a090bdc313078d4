# SPDX-License-Identifier: Apache-2.0
"""test_arguments.py: options of `situ run` after the script are arguments of the script; if it
does not use them, a line on standard error says so."""

import pytest

HINT = (
    "situ run: --gpus 4: after a.py this is an argument of the program, which has no such option. "
    "For situ: situ run --gpus 4 a.py\n"
)

ARGPARSE = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--steps')\n"
FLAGS = """\
import tensorflow as tf
tf.app.flags.DEFINE_integer("steps", 1, "")
def main(_):
    print("ran")
if __name__ == "__main__":
    tf.app.run()
"""
UNKNOWN = {
    "argparse": ARGPARSE + "p.parse_args()",
    "parse_known_args": ARGPARSE + "p.parse_known_args()",
    "subparser": "import argparse\np = argparse.ArgumentParser()\n"
    "p.add_subparsers().add_parser('train')\n"
    "p.parse_known_args(['train', '--gpus', '4'])",
    "tf.app.flags": FLAGS,
    "absl": FLAGS.replace("import tensorflow as tf", "from absl import app, flags")
    .replace("tf.app.flags", "flags")
    .replace("tf.app", "app"),
    "optparse": "import optparse\np = optparse.OptionParser()\np.add_option('--steps')\n"
    "p.parse_args()",
    "getopt": "import getopt, sys\ngetopt.getopt(sys.argv[1:], '', ['steps='])",
    "sys.argv": "import sys\nsteps = '--steps' in sys.argv",
    "sys.argv[0]": "import sys\nname = sys.argv[0]",
    "num_gpus": ARGPARSE + "p.add_argument('--num_gpus')\np.parse_known_args()",
    "a word of the text": ARGPARSE + "gpus = 1\np.parse_known_args()",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_option_that_the_program_does_not_know_is_pointed_out(situ, name):
    result = situ("run", "a.py", "--gpus", "4", files={"a.py": UNKNOWN[name]})
    assert result.err.count("situ run:") == 1 and HINT in result.err


KNOWN = {
    "argparse": ARGPARSE + "p.add_argument('--gpus')\nprint(p.parse_args().gpus)",
    "abbreviated": ARGPARSE + "p.add_argument('--gpus_per_node')\n"
    "print(p.parse_args().gpus_per_node)",
    "name of its own": ARGPARSE + "p.add_argument('--' + 'gp' + 'us', dest='n')\n"
    "print(p.parse_args().n)",
    "remainder": ARGPARSE + "p.add_argument('rest', nargs='...')\n"
    "print(p.parse_args(['x', '--gpus', '4']).rest[-1])",
    "tf.app.flags": FLAGS.replace('"steps"', '"gpus"').replace('"ran"', "tf.app.flags.FLAGS.gpus"),
    "two parsers": ARGPARSE + "_, rest = p.parse_known_args()\nq = argparse.ArgumentParser()\n"
    "q.add_argument('--gpus')\nprint(q.parse_args(rest).gpus)",
    "sys.argv": "import sys\nprint(sys.argv[sys.argv.index('--gpus') + 1])",
    "by index": "import sys\nprint(sys.argv[2])",
    "all of them": "import sys\nprint([int(w) for w in sys.argv if w.isdigit()][0])",
    "another program": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import sys; "
    "print(sys.argv[2])', *sys.argv[1:]])",
}


@pytest.mark.parametrize("name", KNOWN)
def test_an_option_that_the_program_takes_is_not(situ, name):
    result = situ("run", "a.py", "--gpus", "4", files={"a.py": KNOWN[name]})
    assert (result.out, result.err, result.code) == ("4\n", "", 0)


def test_a_module_beside_the_script_may_know_it(situ):
    files = {
        "a.py": "import options\nprint(options.parse().gpus)",
        "options.py": ARGPARSE + "p.add_argument('--gpus')\ndef parse():\n"
        "    return p.parse_args()\n",
    }
    result = situ("run", "a.py", "--gpus=4", files=files)
    assert (result.out, result.err) == ("4\n", "")


def test_each_option_is_judged_by_itself(situ):
    text = ARGPARSE + "p.add_argument('--trace')\nprint(p.parse_known_args()[0].trace)"
    result = situ("run", "a.py", "--trace", "t", "--gpus", "4", files={"a.py": text})
    assert (result.out, result.err) == ("t\n", HINT)


def test_modules_are_judged_as_scripts_are(situ):
    files = {"tool.py": ARGPARSE + "print(p.parse_known_args()[0].steps)"}
    result = situ("run", "-m", "tool", "--gpus", "4", files=files)
    assert result.out == "None\n"
    assert "after -m tool this is an argument of the program" in result.err
    assert "situ run --gpus 4 -m tool" in result.err


def test_sys_argv_stays_a_list(situ):
    text = (
        "import copy, pickle, sys\nassert isinstance(sys.argv, list) and sys.argv == "
        "['a.py', '--gpus', '4'] and len(sys.argv) == 3\n"
        "print(type(pickle.loads(pickle.dumps(sys.argv))), repr(copy.copy(sys.argv)))\n"
    )
    result = situ("run", "a.py", "--gpus", "4", files={"a.py": text})
    assert result.out == "<class 'list'> ['a.py', '--gpus', '4']\n"


def test_a_program_without_arguments(situ):
    result = situ("run", "a.py", "--gpus", "4", files={"a.py": "print(1)"})
    assert result.out == "1\n" and "does not read its arguments" in result.err
