# SPDX-License-Identifier: Apache-2.0
"""manual.py: writes the man page situ(1) from the --help of the command.

Usage: tools/manual.py SITU > situ.1
"""

import re
import subprocess
import sys

HEAD = """.\\" Generated from `situ --help` by tools/manual.py.
.TH SITU 1 "" "situ {version}" "User Commands"
.SH NAME
situ \\- {purpose}
.SH SYNOPSIS
.B situ
.I COMMAND
[\\fB\\-\\-\\fR\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...
.SH DESCRIPTION
situ is a tensor runtime in C. Programs are graphs of operations or sequences of eager calls; every
operation is placed on a named device. The command shows devices and operations, explains and plans
the placement of graphs, and runs unmodified TensorFlow programs.
.SH COMMANDS
"""
TAIL = """.SH EXIT STATUS
0 on success, 1 on failure (the reason is on standard error), 2 on wrong usage.
.SH ENVIRONMENT
SITU_SIM_GPUS, SITU_GPU_MEMORY, SITU_REQUIRE, CUDA_VISIBLE_DEVICES and others; see
docs/reference/environment.md in the source distribution.
.SH SEE ALSO
README.md and docs/ in the source distribution.
"""


def escape(text):
    """Text as roff: hyphens are minus signs, and no line begins a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def ask(situ, *arguments):
    return subprocess.run([situ, *arguments], text=True, capture_output=True, check=True).stdout


def command_section(situ, name):
    """The section of one command: its summary, its usage and options, its notes."""
    summary, _, rest = ask(situ, name, "--help").partition("\n\n")
    lines = [f".SS {name}", escape(summary.partition(": ")[2]) + ".", ".PP", ".nf"]
    return "\n".join([*lines, escape(rest.rstrip()), ".fi"])


def main(situ):
    help_text = ask(situ, "--help")
    purpose = help_text.partition("\n")[0].partition(": ")[2]
    version = ask(situ, "--version").split()[1]
    listed = help_text.split("\n\n")[2]
    names = re.findall(r"^  ([a-z]+) ", listed, re.M)
    print(HEAD.format(version=version, purpose=escape(purpose)), end="")
    for name in names:
        print(command_section(situ, name))
    print(TAIL, end="")


if __name__ == "__main__":
    main(sys.argv[1])
