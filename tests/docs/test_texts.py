# SPDX-License-Identifier: Apache-2.0
"""test_texts.py: README and docs show what the commands really print.

In a ```console block every line "$ command" is run from the root of the repository; the lines up to
the next command are its output (stdout and stderr). "..." matches anything: alone on a line any
number of lines, else a part of the line. Two or more spaces match two or more: column widths depend
on the machine.

A block ```python examples/NAME.py or ```c examples/NAME.c shows that file without its header.
Any other ```python block is a program that `situ run --gpus 4` runs. A ```c block before a ```text
block is compiled, linked with libsitu and run with SITU_SIM_GPUS=4. The ```text block after a
program is its output.

docs/reference/environment.md lists every environment variable that the library reads. Links between
pages resolve (links.py). Each promise of SECURITY.md names tests, and they exist.

Usage: test_texts.py [--update] [PAGE.md]... BUILD_FOLDER; --update writes the real output into the
pages, for you to review.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import links

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```")
PROGRAM = re.compile(r"(?ms)^```(python|c)(?: ([^\n]*))?\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?")
HEAD = re.compile(r'(?s)\A(?:#[^\n]*\n""".*?"""\n+|/\*.*?\*/\n+)')
PROMPT = "$ "
ENVIRONMENT = "docs/reference/environment.md"


def commands(text):
    """(line, command, output) of every command in the console blocks of a page."""
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1)) + 1
        parts = re.split(r"(?m)^\$ ", block.group(1))
        line += parts[0].count("\n")
        for part in parts[1:]:
            command, _, output = part.partition("\n")
            yield line, command, output
            line += part.count("\n")


def line_pattern(line):
    if line == "...":
        return "(?:.*\n)*?"
    words = re.split(r"(\.\.\.|  +)", line)
    return (
        "".join(
            ".*" if word == "..." else " {2,}" if word.startswith("  ") else re.escape(word)
            for word in words
        )
        + "\n"
    )


def pattern(output):
    """The output as a regular expression."""
    return re.compile("".join(map(line_pattern, output.splitlines())))


def run(command, build):
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("SITU_") and k != "CUDA_VISIBLE_DEVICES"
    }
    env["SITU_OPENCL_DEVICES"] = "none"  # the same on machines with GPUs
    env["SITU_CUDA"] = "0"
    env["SITU_SEED"] = "1"  # a test that passes today passes tomorrow
    command = command.replace("build/", f"{build}/")
    in_order = ["stdbuf", "-oL", "sh", "-c", command]  # as on a terminal
    done = subprocess.run(
        in_order,
        cwd=ROOT,
        env=env,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=1200,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.replace(f"{build}/", "build/")


def shown(file):
    """An example as the pages show it."""
    return HEAD.sub("", (ROOT / file).read_text(encoding="utf-8"))


def run_python(text, build):
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return run(f"build/situ run --gpus 4 {file.name}", build)


def run_c(text, build):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.c").write_text(text, encoding="utf-8")
        return run(
            f"cc -std=c11 -Iinclude -Ibuild/include {folder}/program.c -L{build} -lsitu"
            f" -Wl,-rpath,{build} -o {folder}/program && SITU_SIM_GPUS=4 {folder}/program",
            build,
        )


def programs(text, build):
    """(line, what is wrong, block as it is, block as it should be) of ```python and ```c blocks."""
    for block in PROGRAM.finditer(text):
        language, file, code, output = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if file:
            if code != shown(file):
                fence = f"```{language} {file}\n"
                yield (
                    line,
                    f"{file} is not as it is shown",
                    f"{fence}{code}```",
                    f"{fence}{shown(file)}```",
                )
            continue
        if language == "c" and output is None:
            continue  # compiled by tools/check.py
        printed = (run_python if language == "python" else run_c)(code, build)
        if not pattern(output or "").fullmatch(printed):
            want = block.group().replace(f"```text\n{output}", f"```text\n{printed}")
            yield line, f"the program prints\n{printed}", block.group(), want


def unlisted():
    """Variables that src/ reads and docs/reference/environment.md does not list."""
    read = {
        name
        for path in (ROOT / "src").rglob("*.c")
        for name in re.findall(r'"((?:SITU|CUDA|TF)_[A-Z_]+)"', path.read_text("utf-8"))
    }
    listed = (ROOT / ENVIRONMENT).read_text(encoding="utf-8")
    return sorted(name for name in read if f"`{name}`" not in listed)


def untested_promises():
    """(line, problem) of promises of SECURITY.md that name no test, or one that does not exist."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    begin, end = text.index("## What is promised"), text.index("## What is not")
    for match in re.finditer(r"(?ms)^- .*?(?=^- |^\s*$|\Z)", text[begin:end]):
        line = text.count("\n", 0, begin + match.start()) + 1
        tests = re.findall(r"`(tests/[^`]*)`", match.group())
        if not tests:
            yield line, "a promise without a test"
        for test in tests:
            if not (ROOT / test).is_file():
                yield line, f"{test} does not exist"


def main(arguments):
    build, update = os.path.abspath(arguments[-1]), "--update" in arguments
    pages = [Path(a).resolve() for a in arguments[:-1] if a.endswith(".md")]
    count = wrong = 0
    for path in sorted(pages or [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        text = fresh = path.read_text(encoding="utf-8")
        for line, command, output in commands(text):
            count += 1
            printed = run(command, build)
            if pattern(output).fullmatch(printed):
                continue
            wrong += 1
            print(f"{path.relative_to(ROOT)}:{line}: $ {command}\nprints\n{printed}")
            fresh = fresh.replace(f"{PROMPT}{command}\n{output}", f"{PROMPT}{command}\n{printed}")
        for line, problem, was, want in programs(text, build):
            wrong += 1
            print(f"{path.relative_to(ROOT)}:{line}: {problem}")
            fresh = fresh.replace(was, want)
        if update:
            path.write_text(fresh, encoding="utf-8")
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        for line, link in links.broken(path):
            wrong += 1
            print(f"{path.relative_to(ROOT)}:{line}: broken link {link}")
    for line, problem in untested_promises():
        wrong += 1
        print(f"SECURITY.md:{line}: {problem}")
    for name in unlisted():
        wrong += 1
        print(f"{ENVIRONMENT}:1: {name} is not listed")
    print(f"{count} commands, {wrong} problems")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
