# SPDX-License-Identifier: Apache-2.0
"""names.py: a global function is public, or begins with the noun of its file, header or folder."""

import re

from checks import text


def nouns(path, name, files):
    """The words that this global function of this file may begin with."""
    words = {path.stem, path.stem.split("_")[0], *path.parts[1:-1]}
    words |= {
        header.stem
        for header in files
        if header.suffix == ".h"
        and header.parent == path.parent
        and re.search(rf"\b{name}\(", text.code(header))
    }
    return words | {word[:-1] for word in words if word.endswith("s")}


def functions(files):
    """situ_noun_verb for what the headers in include/ declare; file_verb inside."""
    declared = "".join(text.code(f) for f in files if f.parts[0] == "include")
    library = [f for f in files if f.parts[0] == "src" and f.suffix == ".c"]
    for path, name, line, _, is_static in text.functions(library):
        if is_static or name.isupper():
            continue
        if name.startswith("situ_"):
            if f"{name}(" not in declared:
                yield path, line, f"{name} is not declared in include/situ"
            continue
        allowed = nouns(path, name, files)
        if not any(name == noun or name.startswith(noun + "_") for noun in allowed):
            wanted = " or ".join(sorted(noun + "_" for noun in allowed))
            yield path, line, f"{name} must begin with {wanted}"
