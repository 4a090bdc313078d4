# SPDX-License-Identifier: Apache-2.0
"""vocabulary.py: files are named by subject, and comments and documents use the field's words."""

import re

from checks import text

# Names that sort by size or rarity say nothing of what is inside.
FILE_NAME = re.compile(
    r"(_(more|further|rest|misc|extra)|^(small|old|rare|late|further|modern)_.*)$"
)
# Phrases that readers had to decode, and what to write instead.
PHRASES = {
    r"by chance": "randomly",
    r"Python door|C door": "Python API, C API",
    r"one word too many": "unexpected argument",
    r"words of chance": "random bits",
}
CHECKED = (".c", ".h", ".cl", ".def", ".py", ".md")
EXEMPT = ("tools/checks/vocabulary.py", "tests/tools/test_checks.py")


def file_names(files):
    """No file is named by size or rarity."""
    for path in files:
        if path.suffix in (".c", ".h", ".cl", ".py") and FILE_NAME.search(path.stem):
            yield path, 1, "is named by size or rarity: name its subject"


def phrases(files):
    """No phrase of PHRASES."""
    for path in files:
        if path.suffix not in CHECKED or str(path) in EXEMPT:
            continue
        for phrase, better in PHRASES.items():
            for line, match in text.lines_with(phrase, text.read(path)):
                yield path, line, f"'{match.group()}': write {better}"
