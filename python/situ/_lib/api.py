# SPDX-License-Identifier: Apache-2.0
"""api.py: which names stand under tf, in which style; the modules that show them."""
import difflib
import sys
import types

import _situ
from situ._lib import rows, style

BOTH, V1, V2 = {}, {}, {}  # dotted name -> object
OPS = {}                   # name of an op -> its function


def export(*names, v1=(), v2=()):
    """A decorator: the names of a function under tf, in both styles and in one."""
    def record(thing):
        for table, some in ((BOTH, names), (V1, v1), (V2, v2)):
            for name in ((some,) if isinstance(some, str) else some):
                table[name] = thing
        return thing
    return record


# Parameters that have another name in Python than in the op.
RENAMED = {"dim": "axis", "squeeze_dims": "axis", "dimension": "axis", "concat_dim": "axis",
           "DstT": "dtype"}


def read_rows():
    """Makes the functions of all rows; names that were exported by hand win."""
    found = {}
    for function, name, python, _, _ in _situ.ops():
        function.rename(RENAMED)
        OPS[name] = function
        for word in (python or "").split():
            found[word] = function
        found["raw_ops." + name] = function
    return found


class Names(types.ModuleType):
    """A part of tf: tf.math. A name that is not there is an error that helps."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing(self.__dict__.get("_path", ""), name, self.__dict__)


def missing(path, name, have):
    """The AttributeError for a name that situ does not have."""
    root = style.root()
    module = f"{root}.{path}" if path else root
    whole = f"{path}.{name}" if path else name
    text = f"module '{module}' has no attribute '{name}'"
    near = difflib.get_close_matches(name, [k for k in have if not k.startswith("_")], 1)
    other = V2 if style.is_graph() else V1
    if whole in other or any(k.startswith(whole + ".") for k in other):
        text += f"\ntf.{whole} belongs to the other style: " + (
            "situ run --api v2, or import situ" if style.is_graph() else
            f"tf.compat.v1.{whole}, or situ run --api v1")
    else:
        text += f"\nsitu does not have tf.{whole} (yet)."
    if near:
        text += f" Nearest: tf.{path + '.' if path else ''}{near[0]}."
    return AttributeError(text)


def fill(module, table, prefix):
    """Hangs a table of dotted names into a module; parts become modules of their own."""
    for dotted, thing in sorted(table.items()):
        *parts, name = dotted.split(".")
        at, path = module, []
        for part in parts:
            path.append(part)
            below = at.__dict__.get(part)
            if not isinstance(below, types.ModuleType):
                below = Names(f"{prefix}.{'.'.join(path)}")
                below._path = ".".join(path)
                below.__path__ = []
                sys.modules.setdefault(below.__name__, below)
                setattr(at, part, below)
            at = below
        if not isinstance(at.__dict__.get(name), types.ModuleType):
            setattr(at, name, thing)


def build(module, which, prefix):
    """Fills a root module with the names of a style."""
    table = {**read_rows(), **BOTH, **which}
    fill(module, {k: v for k, v in table.items() if not k.startswith("compat.")}, prefix)
