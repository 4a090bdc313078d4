# SPDX-License-Identifier: Apache-2.0
"""names.py: a global function is public, or begins with the noun of its file or folder."""
from checks import text


def nouns(path):
    """The words that a global function of this file may begin with."""
    words = {path.stem, path.stem.split("_")[0], *path.parts[1:-1]}
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
        elif not any(name == noun or name.startswith(noun + "_") for noun in nouns(path)):
            wanted = " or ".join(sorted(noun + "_" for noun in nouns(path)))
            yield path, line, f"{name} must begin with {wanted}"
