# SPDX-License-Identifier: Apache-2.0
"""links.py: relative links in Markdown pages point to files and headings that exist."""

import re

LINK = re.compile(r"\]\(([^()\s]+)\)")
FENCE = re.compile(r"(?ms)^```.*?^```$")
HEADING = re.compile(r"(?m)^#+ (.*)$")


def anchor(heading):
    """The anchor that GitHub generates for a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(page):
    """All anchors of a page; a repeated heading gets a numbered one."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        name, count = anchor(heading), 0
        while (name if not count else f"{name}-{count}") in found:
            count += 1
        found.add(name if not count else f"{name}-{count}")
    return found


def broken(page):
    """(line, link) of every relative link in a page whose target does not exist."""
    text = FENCE.sub(lambda fence: "\n" * fence.group().count("\n"), page.read_text("utf-8"))
    for match in LINK.finditer(text):
        link = match.group(1)
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if (
            not target.exists()
            or fragment
            and (target.suffix != ".md" or fragment not in anchors(target))
        ):
            yield text.count("\n", 0, match.start()) + 1, link
