# SPDX-License-Identifier: Apache-2.0
"""docs.py: the manual from the sources: the public headers as Markdown, and the list of ops.

Usage: docs.py FOLDER
"""

import re
import subprocess
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)


def prose(comment):
    """The text of a comment without its frame."""
    return "\n".join(re.sub(r"^\s*\*? ?", "", line) for line in comment.splitlines()).strip()


def sections(header):
    """(comment, declarations that follow it) of every part of a header."""
    body = header.split('extern "C" {\n#endif\n', 1)[-1].rsplit("#ifdef __cplusplus", 1)[0]
    for part in re.split(r"\n\s*\n(?=/\*|\S)", body.strip()):
        match = COMMENT.match(part)
        yield (prose(match.group(1)), part[match.end() :].strip()) if match else ("", part)


def page(path):
    """One header as a page."""
    header = path.read_text(encoding="utf-8")
    opening = prose(COMMENT.match(header).group(1)).split("\n", 1)[1]
    title, _, rest = opening.partition("\n")
    parts = [f"# {title}", rest.strip()]
    for comment, code in sections(header):
        parts += [comment, f"```c\n{code}\n```" if code else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def ops():
    """What the command says about every op."""
    done = subprocess.run(["build/situ", "ops"], text=True, capture_output=True, check=False)
    return f"# The operations\n\n```\n{done.stdout}```\n" if done.returncode == 0 else None


def main(folder):
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    pages = {path.stem: page(path) for path in sorted(Path("include/situ").glob("*.h"))}
    if Path("build/situ").exists() and (listing := ops()):
        pages["ops"] = listing
    index = [
        "# situ",
        *(f"- [{name}]({name}.md): {text.splitlines()[0][2:]}" for name, text in pages.items()),
    ]
    pages["index"] = "\n".join(index) + "\n"
    for name, text in pages.items():
        (out / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
