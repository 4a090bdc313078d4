# SPDX-License-Identifier: Apache-2.0
"""run_example.py: runs one case of an example and compares its whole output.

A case is a file examples/expect/NAME.CASE.txt for the example NAME, a program of its own, or
NAME.py.CASE.txt for a program that `situ run` runs:

    # about: the operation asks for a GPU that is not there     (a heading, for make demo)
    # env: SITU_SIM_GPUS=1                                       (any number of these)
    # args: --growth                                             (arguments of the program)
    # run: --gpus 4                                              (options of situ run)
    # exit: 1                                                    (exit code; 0 if not said)
    what the program prints on standard output
    --- stderr ---
    what it prints on standard error (nothing if the section is missing)

Usage: run_example.py [--show] [--update] FOLDER_OF_PROGRAMS CASE.txt
--show prints what is run and what it prints; --update writes the output into the case.
"""

import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile

KEY = re.compile(r"# (about|env|args|run|exit): ?(.*)")
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples")
MARK = "--- stderr ---"


class Case:
    """What a case file says."""

    def __init__(self, path):
        self.path, self.about, self.env, self.args, self.exit = path, "", {}, [], 0
        parts, self.options = os.path.basename(path).split("."), []
        self.is_python = parts[1] == "py"
        self.name = parts[0] + (".py" if self.is_python else "")
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.head = []
        while lines and (match := KEY.fullmatch(lines[0])):
            self.take(*match.groups())
            self.head.append(lines.pop(0))
        cut = lines.index(MARK) if MARK in lines else len(lines)
        self.out, self.err = lines[:cut], lines[cut + 1 :]

    def take(self, key, value):
        if key == "env":
            name, _, text = value.partition("=")
            self.env[name] = text
        elif key == "args":
            self.args = shlex.split(value)
        elif key == "run":
            self.options = shlex.split(value)
        elif key == "exit":
            self.exit = int(value)
        else:
            self.about = value

    def command(self, folder):
        """The command as it would be typed; a long one in several lines."""
        env = [f"{k}={shlex.quote(v)}" for k, v in self.env.items()]
        words = self.program(folder, "examples") + self.args
        words = [words[0], *map(shlex.quote, words[1:])]
        line = " ".join([*env, *words])
        return line if len(line) < 100 else " \\\n  ".join([*env, " ".join(words)])

    def program(self, folder, examples):
        """What is run: the example itself, or the command beside its folder."""
        if not self.is_python:
            return [os.path.join(folder, self.name)]
        situ = os.path.join(os.path.dirname(folder), "situ")
        return [situ, "run", *self.options, os.path.join(examples, self.name)]

    def update(self, done):
        head = [line for line in self.head if not line.startswith("# exit:")]
        if done.returncode:
            head.append(f"# exit: {done.returncode}")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in head) + done.stdout)
            if done.stderr:
                file.write(MARK + "\n" + done.stderr)


def run(case, folder):
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("SITU_") and k != "CUDA_VISIBLE_DEVICES"
    }
    env["SITU_OPENCL_DEVICES"] = "none"  # the same on machines with GPUs
    env["SITU_CUDA"] = "0"
    env["SITU_SEED"] = "1"  # a test that passes today passes tomorrow
    program = case.program(os.path.abspath(folder), EXAMPLES)
    with tempfile.TemporaryDirectory() as scratch:
        return subprocess.run(
            [*program, *case.args],
            env={**env, **case.env},
            cwd=scratch,
            text=True,
            errors="replace",
            capture_output=True,
            timeout=1200,
            stdin=subprocess.DEVNULL,
            check=False,
        )


def compare(case, done):
    """Prints the differences; True if there are none."""
    same = done.returncode == case.exit
    if not same:
        print(f"{case.path}: exit code {done.returncode}, expected {case.exit}")
    for stream, want, got in (("stdout", case.out, done.stdout), ("stderr", case.err, done.stderr)):
        lines = list(
            difflib.unified_diff(
                want,
                got.splitlines(),
                f"{stream} expected",
                f"{stream} of {case.name}",
                lineterm="",
            )
        )
        same = same and not lines
        print("".join(line + "\n" for line in lines), end="")
    return same


def main(arguments):
    show, update = "--show" in arguments, "--update" in arguments
    folder, path = [a for a in arguments if not a.startswith("--")]
    case = Case(path)
    done = run(case, folder)
    if update:
        case.update(done)
        return 0
    if show:
        source = case.name if case.is_python else case.name + ".c"
        print(f"\n# {case.about} (examples/{source})\n$ {case.command(folder)}")
        print(done.stdout + done.stderr, end="", flush=True)
        if done.returncode:
            print(f"(exit code {done.returncode})")
    return 0 if compare(case, done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
