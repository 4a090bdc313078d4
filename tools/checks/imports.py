# SPDX-License-Identifier: Apache-2.0
"""imports.py: imports inside functions are those of tools/imports.txt, for reasons that hold.

A line is "module imported reason". The reason is computed, not chosen:
  optional library: neither Python nor NumPy has it, or an ImportError of it is handled
  cycle: at the top, the module would import itself
  start-up: a program of PROGRAMS loads the module, but not what it imports
An import without a reason belongs at the top of its module. tools/imports.py writes the table.
Module names below situ._src are written without it.
"""

import ast
import functools
import sys
from pathlib import Path

TABLE = Path("tools/imports.txt")
ROOT = Path("python")
PACKAGE = "situ._src."
API = PACKAGE + "framework.api"
NAMES = ROOT / "situ/_src/framework/name_table.txt"

# What start-up means: modules, and public names that are looked up.
PROGRAMS = {
    "import situ": (("situ",), ()),
    "tf.constant": (("situ",), ("constant",)),
    "tf.image.resize": (("situ",), ("image.resize",)),
    "a call of tf.function": (("situ", PACKAGE + "autograph.conversion"), ("constant", "function")),
    "a session": (("situ.compat.v1",), ("placeholder", "Session")),
    "a training step in a session": (
        ("situ.compat.v1",),
        ("Session", "get_variable", "train.GradientDescentOptimizer"),
    ),
    "tf.GradientTape": (("situ",), ("GradientTape",)),
    "tf.data": (("situ",), ("data.Dataset",)),
    "a Keras model": (("situ",), ("keras.Model", "keras.layers.Dense")),
    "situ run": (("situ.__main__", PACKAGE + "runner.run"), ()),
    "pytest": (("pytest_situ",), ()),
}


def module_name(path):
    """The dotted name of a file below python/."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _handles_absence(node):
    return isinstance(node, ast.Try) and any(
        "ImportError" in ast.unparse(handler.type or node) for handler in node.handlers
    )


def _names(node):
    """What a statement or a call imports: modules, or names in them."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        first = node.args[0]
        if isinstance(first, ast.Constant) and str(first.value).startswith(PACKAGE):
            return [first.value]
    return []


def _imports(node, inside=False, handled=False):
    """Yields (name, line, whether inside a function, whether its absence is handled)."""
    for name in _names(node):
        yield name, node.lineno, inside, handled
    inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    handled = handled or _handles_absence(node)
    for child in node.orelse if _is_for_types(node) else ast.iter_child_nodes(node):
        yield from _imports(child, inside, handled)


class Modules:
    """The modules below python/, what they import at the top, and what inside functions."""

    def __init__(self, files):
        paths = [path for path in files if path.suffix == ".py" and ROOT in path.parents]
        self.paths = {module_name(path): path for path in paths}
        self.top = {name: set() for name in self.paths}
        self.inside = {}  # (module, imported) -> (line, whether its absence is handled)
        self.trees = {name: ast.parse(path.read_text()) for name, path in self.paths.items()}
        for name, tree in self.trees.items():
            for found, line, inside, handled in _imports(tree):
                imported = self.module_of(found)
                if not inside:
                    self.top[name].add(imported)
                elif imported not in ("__future__", name):
                    self.inside.setdefault((name, imported), (line, handled))
        self.loaded = functools.cache(self._loaded)

    def module_of(self, name):
        """The module of a name: itself, the one that contains it, or a library."""
        if name in self.paths:
            return name
        parent = name.rpartition(".")[0]
        if parent in self.paths:
            return parent
        return name.partition(".")[0]

    def _loaded(self, *names, packages=False):
        """What modules load with their imports at the top, themselves included; with `packages`
        also what the packages that contain them load."""
        found, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.top.get(name, ())
                waiting += [name.rpartition(".")[0]] if packages and "." in name else []
        return found

    @functools.cached_property
    def programs(self):
        """What each program loads."""
        table = NAMES.read_text().splitlines() if NAMES.exists() else []
        exporters = {}
        for name, _, module in map(str.split, table):
            exporters.setdefault(name, set()).add(PACKAGE + module)
        core = self._core() if table else []
        result = {}
        for program, (modules, names) in PROGRAMS.items():
            wanted = {module for name in names for module in exporters.get(name, ())}
            roots = sorted({*modules, *wanted, *(core if names else ())})
            result[program] = self.loaded(*(r for r in roots if r in self.paths), packages=True)
        return result

    def _core(self):
        """The modules that the first public name imports."""
        for node in self.trees[API].body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CORE":
                return [PACKAGE + name for name in ast.literal_eval(node.value)]
        return []

    def reason(self, module, imported, handled=False):
        """Why an import is inside a function, or None."""
        own = imported in self.paths or imported == "_situ"
        known = imported in sys.stdlib_module_names or imported == "numpy"
        if not own and (handled or not known):
            return "optional library"
        if module in self.loaded(imported):
            return "cycle"
        if any(module in loaded and imported not in loaded for loaded in self.programs.values()):
            return "start-up"
        return None


def short(name):
    return name.removeprefix(PACKAGE)


def table(modules):
    """The lines of the table: every import inside a function that has a reason."""
    rows = []
    for (module, imported), (_, handled) in modules.inside.items():
        reason = modules.reason(module, imported, handled)
        if reason:
            rows.append(f"{short(module)} {short(imported)} {reason}")
    return sorted(rows)


def inside_functions(files):
    """Imports inside functions without a reason, or that the table lacks; stale lines of it."""
    modules = Modules(files)
    written = TABLE.read_text().splitlines() if TABLE.exists() else []
    for (module, imported), (line, handled) in modules.inside.items():
        reason = modules.reason(module, imported, handled)
        row = f"{short(module)} {short(imported)} {reason}"
        if reason is None:
            yield modules.paths[module], line, f"import {short(imported)} at the top of the module"
        elif row not in written:
            yield modules.paths[module], line, f"{TABLE} lacks {row!r}: run tools/imports.py"
    true = {"", *table(modules)}
    for number, row in enumerate(written, 1):
        if row not in true:
            yield TABLE, number, f"{row!r} is no longer true: run tools/imports.py"
