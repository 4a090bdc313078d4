# SPDX-License-Identifier: Apache-2.0
"""importer.py: `import tensorflow` and every module below it get situ's."""
import importlib
import importlib.abc
import importlib.machinery
import sys

from situ._lib import style


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds tensorflow.a.b as attribute a.b of situ's root module."""

    def __init__(self, root):
        self.root = root

    def _module(self, fullname):
        parts = fullname.split(".")[1:]
        if parts[:2] == ["compat", "v1"]:
            import situ.compat
            if style.is_graph():
                importlib.import_module("situ.compat.v1")
            at, parts = situ.compat.v1, parts[2:]
        elif parts[:1] == ["compat"]:
            at, parts = importlib.import_module("situ.compat"), parts[1:]
        else:
            at = self.root
        if parts[:1] == ["python"]:  # tensorflow.python.framework.ops and its like
            inner = getattr(at, "python", None)
            for part in parts[1:]:
                inner = getattr(inner, "__dict__", {}).get(part)
            if inner is not None:
                return inner
            parts = parts[1:]
        for part in parts:
            at = getattr(at, part, None)
            if at is None:
                return None
        return at

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] != "tensorflow":
            return None
        if fullname != "tensorflow" and self._module(fullname) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        module = self.root if spec.name == "tensorflow" else self._module(spec.name)
        self.kept = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module):
        if self.kept is not None:
            module.__spec__ = self.kept


def install(api):
    """Puts situ in tensorflow's place; returns the root module."""
    root = importlib.import_module("situ.compat.v1" if api == "v1" else "situ")
    sys.meta_path.insert(0, _Finder(root))
    sys.modules["tensorflow"] = root
    return root


def log_placement(root):
    """Logs placement whatever the program says."""
    from situ._lib import config, protos
    if style.is_graph():
        before = protos.options_of
        from situ._lib import session
        session.protos.options_of = lambda c: {**before(c), "log_device_placement": True}
    else:
        config.set_log_device_placement(True)
