# SPDX-License-Identifier: Apache-2.0
"""api.py: the public names of tf, and the modules that show them.

Modules export names while they are imported. name_table.txt says which module exports a name in
which style, so that a name that is asked for imports the module that defines it, and nothing else.
tools/name_table.py generates the table. Functions of ops come from the op definitions in the
extension, and have no lines in it.
"""

from __future__ import annotations

import importlib
import os
import sys
import types

import _situ
from situ._src.framework import style

# Modules that hook into the engine: tensors print, convert, and have operators with them.
CORE = (
    "framework.errors",
    "framework.tensor",
    "framework.graph",
    "framework.op_docs",
    "framework.config",
    "ops.array_ops",
    "ops.indexing",
    "ops.math_ops",
)
OPS: dict = {}  # name of an op -> its function
_op_functions: dict = {}  # public dotted name of an op -> its function
_state = {"table": None, "core": False}
MOVED = {"python.keras": "keras", "contrib.eager.python.tfe": "contrib.eager"}
_roots: list[str] = []  # names of the modules at the top: situ, situ.compat.v1


class Exports(dict):
    """dotted name -> object; a name that no module has exported yet imports the one that does."""

    def __init__(self, which):
        super().__init__()
        self.which = which

    def __missing__(self, name):
        if not load_name(name, self.which) or name not in self:
            raise KeyError(name)
        return self[name]

    def get(self, name, default=None):
        if name in self or load_name(name, self.which):
            return super().get(name, default)
        return default


BOTH, V1, V2 = Exports("both"), Exports("v1"), Exports("v2")


def export(*names, v1=(), v2=()):
    """A decorator: the names of a function under tf, in both styles and in one."""

    def record(thing):
        for table, some in ((BOTH, names), (V1, v1), (V2, v2)):
            for name in (some,) if isinstance(some, str) else some:
                table[name] = thing
        return thing

    return record


def named(name):
    """What stands under a dotted name of tf, wherever it is defined."""
    return BOTH.get(name) or V2.get(name) or op_functions().get(name) or V1[name]


def front(op, name=None, rank=-1, real=False):
    """A decorator: calls of a function with tensors alone (of a rank; of real numbers) are calls of
    an op, and go there without a detour; `name` is the node's, where it is not the op's."""

    def wrap(function):
        op_functions()
        return _situ.Front(OPS[op], function, name, rank, real)

    return wrap


def op_functions():
    """The functions of all ops by their public names; those that are exported by hand win."""
    if not _op_functions:
        for function, name, python, _, _ in _situ.ops():
            OPS[name] = function
            for word in (python or "").split():
                _op_functions[word] = function
            _op_functions["raw_ops." + name] = function
    return _op_functions


# The table: lines "name style module", sorted


def table():
    """The text of name_table.txt, with a line feed before the first line."""
    if _state["table"] is None:
        path = os.path.join(os.path.dirname(__file__), "name_table.txt")
        with open(path, encoding="utf-8") as file:
            _state["table"] = "\n" + file.read()
    return _state["table"]


def lines(start):
    """[name, style, module] of each line of the table that begins so."""
    text, start = table(), "\n" + start
    at = text.find(start)
    while at >= 0:
        end = text.find("\n", at + 1)
        yield text[at + 1 : end].split(" ")
        at = end if end + 1 < len(text) and text.startswith(start, end) else -1


def module_of(name, which):
    """The module that exports a name in a style, or None."""
    for _, _, module in lines(f"{name} {which} "):
        return module
    return None


def moved(name):
    """The name of a module, or below it, where the table has it: tf.keras for tf.python.keras."""
    for old, new in MOVED.items():
        if name == old or name.startswith(old + "."):
            return new + name[len(old) :]
    return name


def canonical(name):
    """The name under which the table has a name: of modules that moved, and of modules of older
    releases of Keras."""
    name = moved(name)
    if name.startswith("keras.") and not any(lines(name + " ")):
        from situ._src.framework import keras_aliases

        return "keras." + keras_aliases.today(name[6:])
    return name


def load_name(name, which):
    """Imports the module that exports a name; False: there is none."""
    module = module_of(name, which)
    if module is None:
        return False
    importlib.import_module("situ._src." + module)
    return True


def load_below(prefix):
    """Imports all modules that export a name with a prefix: "keras.layers."."""
    for module in sorted({line[2] for line in lines(prefix)}):
        importlib.import_module("situ._src." + module)


def load_all():
    """Imports all modules that export names."""
    load_below("")


def load_core():
    if not _state["core"]:
        _state["core"] = True
        for module in CORE:
            importlib.import_module("situ._src." + module)


def exports_of(which):
    return V1 if which == "v1" else V2


def has(name, which):
    """Whether a style has a name that is no module."""
    name = canonical(name)
    return bool(
        module_of(name, which)
        or module_of(name, "both")
        or name in op_functions()
        or name in exports_of(which)
        or name in BOTH
    )


def lookup(name, which):
    """The object under a dotted name of a style."""
    name = canonical(name)
    for exports in (exports_of(which), BOTH):
        if load_name(name, exports.which) or name in exports:
            return exports[name]
    return op_functions()[name]


def is_module(name, which):
    """Whether a dotted name is a module of a style: names stand below it."""
    if any(
        old.startswith(name + ".") and new != name and is_module(new, which)
        for old, new in MOVED.items()
    ):
        return True
    name = moved(name)
    if any(line[1] in ("both", which) for line in lines(name + ".")):
        return True
    if name.startswith("keras."):
        from situ._src.framework import keras_aliases

        return name[6:] in keras_aliases.MODULES or bool(keras_aliases.names_below(name[6:]))
    return any(row.startswith(name + ".") for row in op_functions())


def names_below(path, which):
    """The names that a module of a style has."""
    start = path + "." if path else ""
    below = [old for old, new in MOVED.items() if old.startswith(start) and is_module(new, which)]
    found = {moved(start) + old[len(start) :] for old in below}
    path, start = moved(path), moved(start)
    found.update(line[0] for line in lines(start) if line[1] in ("both", which))
    found.update(row for row in op_functions() if row.startswith(start))
    cut = {name[len(start) :].partition(".")[0] for name in found}
    if path == "keras" or start.startswith("keras."):
        from situ._src.framework import keras_aliases

        cut |= keras_aliases.names_below(path[6:])
        if path[6:] in keras_aliases.MODULES:
            today = "keras." + keras_aliases.MODULES[path[6:]]
            cut.update(n for n in names_below(today, which) if not is_module(f"{today}.{n}", which))
    return sorted(cut - {"compat"} if not path else cut)


def all_names(*which):
    """All dotted names of styles, without those of ops."""
    return [line[0] for line in lines("") if line[1] in which]


# Modules made of names


class Names(types.ModuleType):
    """A part of tf: tf.math. A name that is not there is an error that helps."""

    def __init__(self, name, path="", which="v2", prefix="situ"):
        super().__init__(name)
        self.__path__ = []
        # In the module, not in the class: names that are there are found without a detour.
        self.__getattr__ = lambda name: find(path, name, self.__dict__, which, prefix)
        self.__dir__ = lambda: sorted({*self.__dict__, *names_below(path, which)})


def find(path, name, have, which, prefix):
    """A name that the module with these names lacks: a part of it, or what a module exports."""
    if name == "__all__":
        return [n for n in names_below(path, which) if not n.startswith("_")]
    whole = f"{path}.{name}" if path else name
    if name.startswith("__") and not (has(whole, which) or is_module(whole, which)):
        raise AttributeError(name)
    load_core()
    if is_module(whole, which):
        have[name] = Names(f"{prefix}.{whole}", whole, which, prefix)
        have[name] = sys.modules.setdefault(have[name].__name__, have[name])
    elif has(whole, which):
        have[name] = lookup(whole, which)
    else:
        raise missing(path, name, which)
    return have[name]


def missing(path, name, which):
    """The AttributeError for a name that situ does not have."""
    from situ._src.runner import missing_names

    other = "v2" if style.is_graph() else "v1"
    return missing_names.missing(path, name, names_below(path, which), all_names(other))


def build(prefix):
    """Makes a module the root of names: modules below it can be imported."""
    _roots.append(prefix)


class _Finder:
    """Finds modules that are made of names, as in `import situ.nn`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        for prefix in _roots:
            root = sys.modules.get(prefix)
            if not name.startswith(prefix + ".") or root is None:
                continue
            at, below = root, name[len(prefix) + 1 :]
            if below.startswith("_"):
                return None
            for part in below.split("."):
                try:
                    at = getattr(at, part)
                except AttributeError:
                    break
            if isinstance(at, Names) and at.__name__ == name:
                from importlib.machinery import ModuleSpec

                return ModuleSpec(name, _Finder, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        return sys.modules[spec.name]

    @staticmethod
    def exec_module(module):
        """It is there already."""


sys.meta_path.append(_Finder)
