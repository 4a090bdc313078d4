# SPDX-License-Identifier: Apache-2.0
"""import_hook.py: the import hook of `situ run`: `import tensorflow` and its submodules resolve to
situ."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import operator
import sys
import types

from situ._src.framework import api, style
from situ._src.runner import missing_names

# Internal packages of tensorflow that programs import from.
INNER = {
    "python": {
        "client",
        "data",
        "distribute",
        "eager",
        "estimator",
        "feature_column",
        "framework",
        "keras",
        "layers",
        "lib",
        "ops",
        "platform",
        "pywrap_tensorflow",
        "saved_model",
        "summary",
        "tools",
        "trackable",
        "training",
        "util",
    },
    "core": {"example", "framework", "protobuf", "util"},
}


class Inner(types.ModuleType):
    """An internal module such as tensorflow.python.ops.math_ops: resolves names anywhere below
    tf."""

    PARTS = (
        "",
        "nn",
        "math",
        "train",
        "errors",
        "random",
        "linalg",
        "gfile",
        "logging",
        "dtypes",
        "feature_column",
        "estimator",
        "python_io",
    )
    KERAS = (
        "keras",
        "keras.layers",
        "keras.models",
        "keras.optimizers",
        "keras.utils",
        "keras.optimizers.schedules",
        "keras.optimizers.legacy",
    )
    FOLDERS = [
        [n]
        for n in ("framework", "ops", "training", "platform", "client", "layers", "summary", "util")
    ]
    # Modules that correspond to one public module; nested packages.
    FILES = {
        "python.ops.rnn_cell": "nn.rnn_cell",
        "python.ops.rnn_cell_impl": "nn.rnn_cell",
        "python.ops.image_ops": "image",
        "python.ops.image_ops_impl": "image",
        "python.ops.losses.losses": "losses",
        "python.ops.losses.losses_impl": "losses",
        "python.ops.metrics_impl": "metrics",
        "python.ops.metrics": "metrics",
        "python.ops.init_ops": "initializers",
        "python.ops.string_ops": "strings",
        "python.ops.numpy_ops": "experimental.numpy",
        "python.ops.numpy_ops.np_array_ops": "experimental.numpy",
        "python.ops.numpy_ops.np_arrays": "experimental.numpy",
        "python.ops.numpy_ops.np_dtypes": "experimental.numpy",
        "python.ops.numpy_ops.np_math_ops": "experimental.numpy",
        "python.ops.numpy_ops.np_random": "experimental.numpy.random",
        "python.ops.numpy_ops.np_utils": "experimental.numpy",
    }
    NESTED = {
        ("data", "ops"),
        ("data", "util"),
        ("estimator", "canned"),
        ("estimator", "export"),
        ("estimator", "inputs"),
        ("lib", "io"),
        ("ops", "distributions"),
        ("ops", "linalg"),
        ("ops", "losses"),
        ("ops", "numpy_ops"),
        ("ops", "ragged"),
        ("saved_model", "model_utils"),
        ("training", "tracking"),
    }
    modules: dict = {}

    @classmethod
    def find(cls, root, parts):
        nested = parts[1:3] and (parts[1] == "keras" or tuple(parts[1:3]) in cls.NESTED)
        if len(parts) > 3 + bool(nested) or parts[1:] and parts[1] not in INNER[parts[0]]:
            return None
        name = "tensorflow." + ".".join(parts)
        if name not in cls.modules:
            module = cls.modules[name] = cls(name)
            module.__dict__.update(_root=root, _path=".".join(parts), __path__=[])
        return cls.modules[name]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"{self._path}.{name}"
        if whole == "python.keras":
            return self._root.keras
        which = "v1" if style.is_graph() else "v2"
        if api.has(whole, which):
            return api.lookup(whole, which)
        if api.is_module(whole, which):
            raise AttributeError(name)  # a module: it is imported then
        parts = self._path.split(".")
        first = (
            self.KERAS
            if parts[:2] == ["python", "keras"]
            else [n for n in parts[1:2] if n in ("layers", "summary", "estimator")]
        )
        if self._path in self.FILES:
            first = [self.FILES[self._path]]
        if ".".join([*parts[:-1], name]) in self.FILES:  # a file that the file imports
            return self.find(self._root, [*parts[:-1], name])
        for part in (*first, *self.PARTS):
            try:
                found = getattr(operator.attrgetter(part)(self._root) if part else self._root, name)
            except AttributeError:
                continue
            if parts[1:] in self.FOLDERS and (
                name in INNER or not isinstance(found, types.ModuleType)
            ):
                return self.find(self._root, [*parts, name])  # a file of the name of a function
            return found
        raise missing_names.missing(self._path, name, tuple, tuple)


# Internal packages and modules of tf.contrib that programs import from.
CONTRIB = set(
    """
    arg_scope attention_wrapper basic_decoder beam_search_decoder beam_search_ops checkpoint_utils
    core_rnn core_rnn_cell core_rnn_cell_impl crf data fused_rnn_cell metric_ops nets
    decoder eager embedding_ops encoders fake_summary_writer framework helper initializers layers
    learn loss lstm_ops normalization ops optimizers regularizers rnn rnn_cell seq2seq slim summary
    training util_test utils variables""".split()
)


class Sources(types.ModuleType):
    """An internal module such as tensorflow.contrib.layers.python.layers: the names of
    tf.contrib.layers."""

    modules: dict = {}

    @classmethod
    def find(cls, part, parts, rest):
        if not CONTRIB.issuperset(rest):
            return None
        name = "tensorflow." + ".".join(parts)
        if name not in cls.modules:
            cls.modules[name] = cls(name)
            cls.modules[name].__dict__.update(_part=part, __path__=[])
        return cls.modules[name]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._part, name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Resolves tensorflow.a.b to the attribute a.b of situ's root module."""

    def __init__(self, root):
        self.root = root

    def _module(self, fullname):
        parts = fullname.split(".")[1:]
        if parts[:2] == ["compat", "v1"]:
            at, parts = importlib.import_module("situ.compat.v1"), parts[2:]
        elif parts[:1] == ["compat"]:
            at, parts = importlib.import_module("situ.compat"), parts[1:]
        else:
            at = self.root
        if parts[:2] == ["python", "keras"]:
            found = self._below(at, parts[1:])
            return found if isinstance(found, types.ModuleType) else Inner.find(at, parts)
        if parts[:1] and parts[0] in INNER:
            return Inner.find(at, parts)
        found = self._below(at, parts)
        if found is None and parts[0] == "contrib" and parts[2:3] == ["python"]:
            part = self._below(at, parts[:2])
            return part and Sources.find(part, parts, parts[3:])
        return found

    @staticmethod
    def _below(at, parts):
        for part in parts:
            at = getattr(at, part, None)
            if at is None:
                return None
        return at

    def _source(self, fullname):
        """Returns an internal module of tf.contrib."""
        below = fullname.partition(self.root.__name__ + ".contrib.")[2].split(".")
        if below[1:2] != ["python"]:
            return None
        part = self._below(self.root, ["contrib", below[0]])
        return part and Sources.find(part, ["contrib", *below], below[2:])

    def find_spec(self, fullname, path=None, target=None):
        if self._source(fullname) is not None:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if fullname.split(".")[0] != "tensorflow":
            return None
        if fullname != "tensorflow" and self._module(fullname) is None:
            below = fullname.partition(".")[2]
            raise ModuleNotFoundError(
                f"No module named '{fullname}'\nsitu does not have "
                f"tf.{below} (yet).\n{missing_names.hint_for(below)}",
                name=fullname,
            )
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        module = (
            self.root
            if spec.name == "tensorflow"
            else self._source(spec.name) or self._module(spec.name)
        )
        self.kept = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module):
        if self.kept is not None:
            module.__spec__ = self.kept


def install(version: str):
    """Installs situ as tensorflow. Returns the root module."""
    style.choose(version)
    root = importlib.import_module("situ.compat.v1" if version == "v1" else "situ")
    sys.meta_path.insert(0, _Finder(root))
    sys.modules["tensorflow"] = root
    return root


def log_placement():
    """Logs the placement of eager operations, functions and sessions, whatever the program
    configures."""
    from situ._src.framework import config, protos

    before = protos.config_options
    protos.config_options = lambda c: {**before(c), "log_device_placement": True}
    config.set_log_device_placement(True)
