# SPDX-License-Identifier: Apache-2.0
"""tidy.py: clang-tidy over the library and the command; a file that passed is not looked at again.

What a file depends on is told by its compile command and by everything it includes, so the hash of
its preprocessed text and of the settings stands for all of it. Usage: tidy.py [FILE...]
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

BUILD = Path("build")
HALF = "--extra-arg=-D_Float16=__fp16"  # clang 14 does not know _Float16
PASSED = BUILD / "tidy"


def commands(wanted):
    """(file, compile command) of every file of src/ and cli/, once."""
    root, seen = os.getcwd(), {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        name = os.path.relpath(entry["file"], root)
        if name.split("/")[0] in ("src", "cli") and (not wanted or name in wanted):
            seen.setdefault(name, entry["command"])
    return seen.items()


def stamp(command, settings):
    """The file whose being there means: this very text has passed."""
    words = shlex.split(command)
    cut = words.index("-o")
    text = subprocess.run(
        [*words[:cut], "-E", *words[cut + 2 :]], cwd=BUILD, capture_output=True, check=True
    ).stdout
    return PASSED / hashlib.sha256(settings + command.encode() + text).hexdigest()


def tidy(name, command, settings):
    """What clang-tidy says about a file, or "" if nothing."""
    mark = stamp(command, settings)
    if mark.exists():
        return ""
    done = subprocess.run(
        ["clang-tidy", "--quiet", "-p", BUILD, HALF, name],
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode == 0:
        mark.touch()
        return ""
    found = [line for line in done.stdout.splitlines() if re.search(r": (error|warning): ", line)]
    return "\n".join(found) or done.stdout + done.stderr


def main(wanted):
    PASSED.mkdir(parents=True, exist_ok=True)
    settings = Path(".clang-tidy").read_bytes()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(tidy, name, command, settings) for name, command in commands(wanted)]
        said = [text for text in (job.result() for job in jobs) if text]
    for text in said:
        print(text.replace(os.getcwd() + "/", ""))
    if said:
        print("The way to a place: clang-tidy -p build FILE")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
