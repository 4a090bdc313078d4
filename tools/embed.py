# SPDX-License-Identifier: Apache-2.0
"""embed.py: writes a C file with the texts of all kernel files and of the words in front of them.

Back ends that compile kernels at run time read it. Usage: embed.py SOURCE_DIR OUTPUT.c. What a
kernel file includes is put in its place; comments are left out.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include "(?P<file>[^"]+)"\n', re.MULTILINE)
PRELUDES = ("kernel/opencl.h", "kernel/cuda.h")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def read(root, name):
    """The text of a file with all that it includes."""
    text = COMMENT.sub(" ", (root / name).read_text())
    text = re.sub(r"[ \t]+\n", "\n", re.sub(r"\n\n+", "\n", text)).lstrip("\n")
    return INCLUDE.sub(lambda match: read(root, match["file"]), text)


def array(number, text):
    """The text as a C array; a literal may not be that long."""
    codes = ",".join(str(byte) for byte in text.encode())
    return f"static const char text_{number}[] = {{{codes},0}};\n"


def main():
    root, output = pathlib.Path(sys.argv[1]) / "src", pathlib.Path(sys.argv[2])
    names = sorted(str(path.relative_to(root)) for path in (root / "ops").rglob("*.cl"))
    names += [name for name in PRELUDES if (root / name).exists()]
    texts = [read(root, name) for name in names]
    lines = ["/* Made by tools/embed.py. */\n", '#include "device/backend.h"\n']
    lines += [array(number, text) for number, text in enumerate(texts)]
    lines.append("const struct kernel_source kernel_sources[] = {\n")
    lines += [f'  {{"{name}", text_{number}}},\n' for number, name in enumerate(names)]
    lines.append("  {0}};\n")
    output.write_text("".join(lines))


if __name__ == "__main__":
    main()
