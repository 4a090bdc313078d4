# SPDX-License-Identifier: Apache-2.0
"""api.py: the registry of public names (tf.math.add) and the modules that expose them.

Modules register names with `export` while they are imported. name_table.txt maps each public name
and style to the module that exports it, so that an attribute access imports that module only.
tools/name_table.py generates the table. Functions of ops come from the op definitions of the
extension and are not in the table.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import types
from importlib.machinery import ModuleSpec

import _situ
from situ._src.framework import style

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# Modules that install hooks in the extension: printing, conversion and operators of tensors.
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
_state: dict = {"table": None, "core": False}
MOVED = {"python.keras": "keras", "contrib.eager.python.tfe": "contrib.eager"}
_roots: list[str] = []  # names of the root modules: situ, situ.compat.v1


class Exports(dict):
    """Maps dotted names to objects. A lookup imports the module that exports the name."""

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


_FUNCTION = type(lambda: None)


def export(*names: str, v1: str | tuple | list = (), v2: str | tuple | list = ()) -> Callable:
    """Returns a decorator that registers an object under public names.

    Args:
      *names: dotted names below tf in both styles.
      v1: a name or names of graph style only.
      v2: a name or names of eager style only.

    Returns:
      A decorator that returns its argument.
    """

    def register(item):
        for exports, style_names in ((BOTH, names), (V1, v1), (V2, v2)):
            for name in (style_names,) if isinstance(style_names, str) else style_names:
                exports[name] = item
                if "<locals>" in getattr(item, "__qualname__", "") and isinstance(item, _FUNCTION):
                    item.__qualname__ = name.rpartition(".")[2]  # what a TypeError shows
        return item

    return register


def named(name: str) -> Any:
    """Returns the object with a dotted public name, in whichever style it is defined."""
    return BOTH.get(name) or V2.get(name) or op_functions().get(name) or V1[name]


def fast_path(op: str, name: str | None = None, rank: int = -1, real: bool = False) -> Callable:
    """Returns a decorator that dispatches calls with tensors only directly to an op.

    The C extension tests the arguments; all other calls reach the decorated function.

    Args:
      op: the name of the op.
      name: the default name of the node, if it is not the op's.
      rank: the required rank of the tensors, or -1.
      real: whether the tensors must have a real type.
    """

    def wrap(function):
        op_functions()
        return _situ.FastPath(OPS[op], function, name, rank, real)

    return wrap


def op_functions() -> dict:
    """Returns the functions of all ops by public name; names that modules export take
    precedence."""
    if not _op_functions:
        for function, name, public_names in _situ.ops():
            OPS[name] = function
            for public_name in public_names.split():
                _op_functions[public_name] = function
            _op_functions["raw_ops." + name] = function
    return _op_functions


# The name table: sorted lines "name style module"


def table() -> str:
    """Returns the contents of name_table.txt, with a line feed before the first line."""
    if _state["table"] is None:
        path = os.path.join(os.path.dirname(__file__), "name_table.txt")
        with open(path, encoding="utf-8") as file:
            _state["table"] = "\n" + file.read()
    return _state["table"]


def _first_line(text, start):
    """Returns the position before the first of the sorted lines that is not less than `start`. A
    list of the lines would take 0.7 MB."""
    low, high = 0, len(text) - 1  # of line feeds
    while low < high:
        before = text.rfind("\n", low, (low + high) // 2 + 1)
        after = text.find("\n", before + 1)
        if text[before + 1 : after] < start:
            low = after
        else:
            high = before
    return low


def lines(start: str) -> Iterator[list[str]]:
    """Yields [name, style, module] of each line of the table that starts with `start`."""
    text = table()
    at = _first_line(text, start)
    while at + 1 < len(text) and text.startswith(start, at + 1):
        end = text.find("\n", at + 1)
        yield text[at + 1 : end].split(" ")
        at = end


def module_of(name: str, which: str) -> str | None:
    """Returns the module that exports a name in a style, or None."""
    for _, _, module in lines(f"{name} {which} "):
        return module
    return None


def moved(name: str) -> str:
    """Returns the name that the table has for a name below a moved module: keras for
    python.keras."""
    for old, new in MOVED.items():
        if name == old or name.startswith(old + "."):
            return new + name[len(old) :]
    return name


def canonical(name: str) -> str:
    """Returns the name that the table has for a name of a moved module, of an older Keras release,
    or of Keras 3, which TensorFlow has as tf.keras since 2.16."""
    name = moved(name)
    if name.startswith("keras3.") and not any(lines(name + " ")):
        from situ._src.framework import keras3_names

        shared = keras3_names.current_name(name[7:])
        return name if shared is None else "keras." + shared
    if name.startswith("keras.") and not any(lines(name + " ")):
        from situ._src.framework import keras_aliases

        current = "keras." + keras_aliases.current_name(name[6:])
        added = "keras3." + current[6:]
        return added if not any(lines(current + " ")) and any(lines(added + " ")) else current
    return name


def load_name(name: str, which: str) -> bool:
    """Imports the module that exports a name. Returns False if there is none."""
    module = module_of(name, which)
    if module is None:
        return False
    importlib.import_module("situ._src." + module)
    return True


def load_below(prefix: str) -> None:
    """Imports all modules that export a name with a prefix, such as "keras.layers."."""
    for module in sorted({line[2] for line in lines(prefix)}):
        importlib.import_module("situ._src." + module)


def load_all() -> None:
    """Imports all modules that export names."""
    load_below("")


def load_core() -> None:
    """Imports the modules that install hooks in the extension, once."""
    if not _state["core"]:
        _state["core"] = True
        for module in CORE:
            importlib.import_module("situ._src." + module)


def exports_of(which: str) -> Exports:
    return V1 if which == "v1" else V2


def has(name: str, which: str) -> bool:
    """Returns whether a style has an object (not a module) with this name."""
    name = canonical(name)
    return bool(
        module_of(name, which)
        or module_of(name, "both")
        or name in op_functions()
        or name in exports_of(which)
        or name in BOTH
    )


def lookup(name: str, which: str) -> Any:
    """Returns the object with a dotted name in a style."""
    name = canonical(name)
    for exports in (exports_of(which), BOTH):
        if load_name(name, exports.which) or name in exports:
            return exports[name]
    function = op_functions()[name]
    if name.startswith("raw_ops."):
        from situ._src.framework import raw_ops

        return raw_ops.raw_op(function)
    return function


def is_module(name: str, which: str) -> bool:
    """Returns whether a dotted name is a module of a style, that is, a prefix of other names."""
    if any(
        old.startswith(name + ".") and new != name and is_module(new, which)
        for old, new in MOVED.items()
    ):
        return True
    name = moved(name)
    if any(line[1] in ("both", which) for line in lines(name + ".")):
        return True
    if name.startswith("keras3."):
        from situ._src.framework import keras3_names

        return keras3_names.is_module(name[7:])
    if name.startswith("keras."):
        from situ._src.framework import keras_aliases

        return (
            name[6:] in keras_aliases.MODULES
            or bool(keras_aliases.names_below(name[6:]))
            or any(line[1] == which for line in lines(f"keras3.{name[6:]}."))
        )
    return name in _op_modules()


@functools.cache
def _op_modules() -> set[str]:
    """Returns the modules that hold functions of ops."""
    names = [name.split(".") for name in op_functions()]
    return {".".join(parts[:n]) for parts in names for n in range(1, len(parts))}


def names_below(path: str, which: str) -> list[str]:
    """Returns the sorted names of a module's attributes in a style."""
    start = path + "." if path else ""
    below = [old for old, new in MOVED.items() if old.startswith(start) and is_module(new, which)]
    full_names = {moved(start) + old[len(start) :] for old in below}
    path, start = moved(path), moved(start)
    full_names.update(line[0] for line in lines(start) if line[1] in ("both", which))
    full_names.update(name for name in op_functions() if name.startswith(start))
    names = {name[len(start) :].partition(".")[0] for name in full_names}
    if path == "keras3" or start.startswith("keras3."):
        from situ._src.framework import keras3_names

        names |= keras3_names.names_below(path[7:])
    if path == "keras" or start.startswith("keras."):
        from situ._src.framework import keras_aliases

        names |= keras_aliases.names_below(path[6:])
        added = "keras3" + path[5:] + "."
        names.update(
            line[0][len(added) :].partition(".")[0] for line in lines(added) if line[1] == which
        )
        if path[6:] in keras_aliases.MODULES:
            module = "keras." + keras_aliases.MODULES[path[6:]]
            names.update(
                n for n in names_below(module, which) if not is_module(f"{module}.{n}", which)
            )
    return sorted(names - {"compat"} if not path else names)


def all_names(*which: str) -> list[str]:
    """Returns all dotted names of the given styles, without those of ops."""
    return [line[0] for line in lines("") if line[1] in which]


# Modules that the name table defines


class Names(types.ModuleType):
    """A public module, such as tf.math. An unknown attribute raises an error with a hint."""

    def __init__(self, name, path="", which="v2", prefix="situ"):
        super().__init__(name)
        self.__path__ = []
        # Module-level __getattr__ (PEP 562): attributes that exist are found without a call.
        self.__getattr__ = lambda name: find(path, name, self.__dict__, which, prefix)
        self.__dir__ = lambda: sorted({*self.__dict__, *names_below(path, which)})


def find(path: str, name: str, namespace: dict, which: str, prefix: str) -> Any:
    """Resolves an attribute that a module lacks, stores it in the module's namespace and returns
    it."""
    if name == "__all__":
        return [n for n in names_below(path, which) if not n.startswith("_")]
    whole = f"{path}.{name}" if path else name
    if name.startswith("__") and not (has(whole, which) or is_module(whole, which)):
        raise AttributeError(name)
    load_core()
    if is_module(whole, which):
        namespace[name] = Names(f"{prefix}.{whole}", whole, which, prefix)
        namespace[name] = sys.modules.setdefault(namespace[name].__name__, namespace[name])
    elif has(whole, which):
        found = lookup(whole, which)
        namespace[name] = _replaced.get(id(found), found)
    else:
        raise missing(path, name, which)
    return namespace[name]


_replaced: dict = {}  # by the id of a public object: what modules have in its place


def _public_modules():
    """Yields the modules that have public names as attributes."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, Names) or name in _roots:
            yield module


def replace(item: Any, other: Any) -> None:
    """Replaces a public object by another in all public modules."""
    _replaced[id(item)] = other
    for module in _public_modules():
        for name, value in list(vars(module).items()):
            if value is item:
                vars(module)[name] = other


def is_public(item: Any) -> bool:
    """Returns whether an object is public."""
    tables = (BOTH, V1, V2, op_functions())
    return any(value is item for table in tables for value in list(table.values()))


def missing(path: str, name: str, which: str) -> AttributeError:
    """Returns the AttributeError for a name that situ does not have."""
    from situ._src.runner import missing_names

    other = "v2" if style.is_graph() else "v1"
    have = functools.partial(names_below, path, which)
    return missing_names.missing(path, name, have, functools.partial(all_names, other))


def build(prefix: str) -> None:
    """Registers a root module, so that modules below it can be imported."""
    _roots.append(prefix)


class _Finder:
    """The import hook for modules of the name table, as in `import situ.nn`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        for prefix in _roots:
            root = sys.modules.get(prefix)
            if not name.startswith(prefix + ".") or root is None:
                continue
            module, below = root, name[len(prefix) + 1 :]
            if below.startswith("_"):
                return None
            for part in below.split("."):
                try:
                    module = getattr(module, part)
                except AttributeError:
                    break
            if isinstance(module, Names) and module.__name__ == name:
                return ModuleSpec(name, _Finder, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        return sys.modules[spec.name]

    @staticmethod
    def exec_module(module):
        """Does nothing: create_module returns a complete module."""


sys.meta_path.append(_Finder)
