# SPDX-License-Identifier: Apache-2.0
"""packages.py: packages that programs import beside TensorFlow: those that situ replaces
(stand_ins.py), and those that need TensorFlow itself, which `situ run --check` lists."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util

# Packages whose names situ has itself if they are not installed.
REPLACED = {"keras", "horovod"}

# Packages with operations that are compiled for TensorFlow, or that use its internals.
NEED_TENSORFLOW = set(
    """
    deepmd gpflow horovod keras_cv keras_hub keras_nlp kfac magenta object_detection
    official sonnet tensor2tensor tensorflow_addons tensorflow_cloud
    tensorflow_compression tensorflow_data_validation tensorflow_datasets
    tensorflow_decision_forests tensorflow_federated tensorflow_gnn tensorflow_graphics
    tensorflow_hub tensorflow_io tensorflow_lattice tensorflow_model_optimization
    tensorflow_privacy tensorflow_probability tensorflow_quantum tensorflow_ranking
    tensorflow_recommenders tensorflow_serving tensorflow_similarity tensorflow_text
    tensorflow_transform tensorflowjs tf2onnx tf_agents tf_keras tflearn tflite_runtime
    tfx trfl""".split()
)


@functools.lru_cache(None)
def is_installed(top: str) -> bool:
    """Returns whether a package is installed; installed ones take precedence."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    return spec is not None and not is_namespace(spec)


def is_namespace(spec) -> bool:
    """Returns whether a spec is that of a folder without __init__.py. Python imports it only if no
    entry of sys.path has a package of its name: a folder `keras` of data does not hide Keras."""
    return spec.origin is None and spec.submodule_search_locations is not None


def lacking(name: str) -> str | None:
    """Returns the shortest prefix of a name of horovod that situ does not have, or None."""
    parts = name.split(".")
    if parts[1:2] not in ([], ["tensorflow"]):
        return ".".join(parts[:2])
    at = importlib.import_module("situ.mpi")
    for i, part in enumerate(parts[2:3], 3):
        if not hasattr(at, part):
            return ".".join(parts[:i])
    return None


def unsupported(tree: ast.AST):
    """Yields (package, line) of imports of packages that need TensorFlow itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            continue
        for top in [name.partition(".")[0] for name in names]:
            if top in NEED_TENSORFLOW and (top not in REPLACED or is_installed(top)):
                yield top, node.lineno


def hint_for(name: str) -> str:
    """Returns a sentence about a package or a name in it."""
    if name.startswith("horovod."):
        return "docs/how-to/multiple-processes.md lists what situ has of horovod.tensorflow."
    return "This package needs TensorFlow itself; situ does not replace it."
