# SPDX-License-Identifier: Apache-2.0
"""api.py: which names stand under tf, in which style; the modules that show them.

The modules are empty when they are imported. The first name that is asked for fills them from the
first of GROUPS; a name that is not there is looked for in the next group, until there is none.
"""
import importlib
import sys
import types

import _situ
from situ._lib import style

BOTH, V1, V2 = {}, {}, {}  # dotted name -> object
OPS, _rows = {}, {}        # name of an op, dotted name -> the function of a row
# Modules that import what exports names, those that are needed most first.
GROUPS = ["situ._lib.names", "situ._lib.tape", "situ._lib.catalogue", "situ._lib.training",
          "situ._lib.inputs", "situ._lib.pipelines", "situ._lib.keras", "situ._lib.distribute",
          "situ._lib.estimator", "situ._lib.further", "situ._lib.modern", "situ._lib.contrib",
          "situ._lib.testing", "situ._lib.rarer"]
_roots = []   # (module, table of its style, prefix, names that it has)
_loaded = []  # the groups that were imported


def export(*names, v1=(), v2=()):
    """A decorator: the names of a function under tf, in both styles and in one."""
    def record(thing):
        for table, some in ((BOTH, names), (V1, v1), (V2, v2)):
            for name in ((some,) if isinstance(some, str) else some):
                table[name] = thing
        return thing
    return record


def named(name):
    """What stands under a dotted name of tf, wherever it is defined."""
    return BOTH.get(name) or V2.get(name) or read_rows().get(name) or V1[name]


def front(op, name=None, rank=-1, real=False):
    """A decorator: calls of a function with tensors alone (of a rank; of real numbers) are calls of
    an op, and go there without a detour; `name` is the node's, where it is not the op's."""
    def wrap(function):
        read_rows()
        return _situ.Front(OPS[op], function, name, rank, real)
    return wrap


def read_rows():
    """The functions of all rows by their names; those that are exported by hand win."""
    if not _rows:
        for function, name, python, _, _ in _situ.ops():
            OPS[name] = function
            for word in (python or "").split():
                _rows[word] = function
            _rows["raw_ops." + name] = function
    return _rows


class Names(types.ModuleType):
    """A part of tf: tf.math. A name that is not there is an error that helps."""

    def __init__(self, name, path=""):
        super().__init__(name)
        # In the module, not in the class: names that are there are found without a detour.
        self.__getattr__ = lambda name: find(path, name, self.__dict__)
        self.__dir__ = lambda: load_all() or list(self.__dict__)


def find(path, name, have):
    """A name that the module with these names lacks, from groups that were not needed yet."""
    if name.startswith("__"):
        raise AttributeError(name)
    while load():
        if name in have:
            return have[name]
    raise missing(path, name, have)


def missing(path, name, have):
    """The AttributeError for a name that situ does not have."""
    from situ._lib import plan
    return plan.missing(path, name, have, V2 if style.is_graph() else V1)


def fill(module, table, prefix):
    """Hangs a table of dotted names into a module; parts become modules of their own."""
    for dotted, thing in sorted(table.items()):
        *parts, name = dotted.split(".")
        at, path = module, []
        for part in parts:
            path.append(part)
            below = at.__dict__.get(part)
            if not isinstance(below, types.ModuleType):
                below = Names(f"{prefix}.{'.'.join(path)}", ".".join(path))
                below.__path__ = []
                sys.modules.setdefault(below.__name__, below)
                setattr(at, part, below)
            at = below
        if not isinstance(at.__dict__.get(name), types.ModuleType):
            setattr(at, name, thing)


def build(module, which, prefix):
    """Makes a module the root of the names of a style, now or when they are asked for."""
    _roots.append((module, which, prefix, set()))
    if _loaded:
        _fill_roots()


def _fill_roots():
    rows = read_rows()
    for module, which, prefix, have in _roots:
        table = {**rows, **BOTH, **which}
        new = {k: v for k, v in table.items() if k not in have and not k.startswith("compat.")}
        fill(module, new, prefix)
        have.update(new)


def load():
    """Imports the next group and shows its names; False: there is none."""
    if len(_loaded) == len(GROUPS):
        return False
    group = GROUPS[len(_loaded)]
    importlib.import_module(group)
    if group not in _loaded:  # nobody has loaded it meanwhile
        _loaded.append(group)
        _fill_roots()
    return True


def load_all():
    while load():
        pass


class _Finder:
    """Finds modules that are made of names, as in `import situ.nn`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not any(name.startswith(prefix + ".") for _, _, prefix, _ in _roots):
            return None
        while name not in sys.modules and load():
            pass
        if name not in sys.modules:
            return None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, _Finder, is_package=True)

    @staticmethod
    def create_module(spec):
        return sys.modules[spec.name]

    @staticmethod
    def exec_module(module):
        """It is there already."""


sys.meta_path.append(_Finder)
