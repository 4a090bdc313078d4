# SPDX-License-Identifier: Apache-2.0
"""name_table.py: writes python/situ/_src/framework/name_table.txt: which module exports which
public name, in which style.

All modules are imported; a name belongs to the module whose import exported it.
Usage: name_table.py [--check] (with --check nothing is written; exit code 1: the file is stale)
"""

import importlib
import sys
from pathlib import Path

PACKAGE = "situ._src."
PLACE = Path(__file__).resolve().parent.parent / "python/situ/_src/framework/name_table.txt"


def module_at_work():
    """The innermost module of the package that is being imported."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "<module>" and name.startswith(PACKAGE):
            return name[len(PACKAGE) :]
        frame = frame.f_back
    return None


class Recorder:
    """Keeps which module exported which name."""

    def __init__(self, moved):
        self.rows, self.twice, self.moved = {}, [], moved
        top = PLACE.parent.parent
        files = sorted(p.relative_to(top).with_suffix("") for p in top.rglob("*.py"))
        self.waiting = [
            PACKAGE + ".".join(p.parts)
            for p in files
            if p.name != "__init__" and p.parts[0] != "runner"
        ]

    def note(self, name, style):
        if self.moved(name) != name:
            return
        module = module_at_work()
        before = self.rows.setdefault((name, style), module)
        if module and before != module:
            self.twice.append(f"{name} ({style}): exported by {before} and by {module}")

    def load_name(self, name, exports):
        """Imports modules until one exports a name, as there is no table yet."""
        while not dict.__contains__(exports, name) and self.waiting:
            importlib.import_module(self.waiting.pop(0))
        return dict.__contains__(exports, name)


def record():
    """The lines of the table, and complaints."""
    from situ._src.framework import api

    recorder = Recorder(api.moved)

    def put(self, name, thing):
        recorder.note(name, self.which)
        dict.__setitem__(self, name, thing)

    def update(self, *args, **kwargs):
        for name, thing in dict(*args, **kwargs).items():
            self[name] = thing

    def setdefault(self, name, thing):
        if not dict.__contains__(self, name):
            self[name] = thing
        return self[name]

    api.Exports.__setitem__, api.Exports.update = put, update
    api.Exports.setdefault = setdefault
    tables = {"both": api.BOTH, "v1": api.V1, "v2": api.V2}
    api.load_name = lambda name, which: recorder.load_name(name, tables[which])
    api.load_below = lambda prefix: None
    while recorder.waiting:
        importlib.import_module(recorder.waiting.pop(0))
    lines = sorted(f"{name} {style} {module}" for (name, style), module in recorder.rows.items())
    return lines, recorder.twice


def main(words):
    lines, twice = record()
    for text in twice:
        print(f"name_table: {text}", file=sys.stderr)
    text = "\n".join(lines) + "\n"
    if "--check" in words:
        stale = not PLACE.is_file() or PLACE.read_text(encoding="utf-8") != text
        if stale:
            print(f"{PLACE.name} is stale: run .venv/bin/python tools/name_table.py")
        return 1 if stale or twice else 0
    PLACE.write_text(text, encoding="utf-8")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
