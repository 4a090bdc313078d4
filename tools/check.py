# SPDX-License-Identifier: Apache-2.0
"""check.py: the rules of the repository that no compiler knows; one line per problem.

Layers, sizes, names, vocabulary, first lines, comments of the public headers, calls that the
library may not make, ignored keyword arguments, annotations and doc strings, imports inside
functions, the mirror of tests/, the symbols of libsitu.so.
Usage: python3 tools/check.py (needs a built build/).
"""

import subprocess
import sys
from pathlib import Path

from checks import (
    doc_strings,
    imports,
    keywords,
    layers,
    mirror,
    name_table,
    names,
    public,
    source,
    vocabulary,
)

CHECKS = (
    source.sizes,
    source.functions,
    source.first_lines,
    source.words,
    source.decimals,
    source.op_names,
    source.flags,
    layers.includes,
    names.functions,
    public.comments,
    public.symbols,
    public.blocks,
    keywords.swallowed,
    doc_strings.explained,
    name_table.current,
    imports.inside_functions,
    mirror.mirrored,
    vocabulary.file_names,
    vocabulary.phrases,
)


def tracked():
    """Every file of the repository that git knows or would take."""
    done = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], text=True, capture_output=True, check=True
    )
    return sorted({Path(line) for line in done.stdout.splitlines() if Path(line).is_file()})


def main():
    files = tracked()
    problems = [problem for check in CHECKS for problem in check(files)]
    for path, line, text in sorted(problems, key=lambda p: (str(p[0]), p[1])):
        print(f"{path}:{line}: {text}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
