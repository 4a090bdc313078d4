# SPDX-License-Identifier: Apache-2.0
"""keras_aliases.py: modules and names of older Keras releases, and their current names."""

from __future__ import annotations

MODULES = {
    "layers.core": "layers",
    "layers.convolutional": "layers",
    "layers.pooling": "layers",
    "layers.advanced_activations": "layers",
    "layers.embeddings": "layers",
    "layers.merge": "layers",
    "layers.noise": "layers",
    "layers.normalization": "layers",
    "layers.recurrent": "layers",
    "layers.wrappers": "layers",
    "layers.local": "layers",
    "layers.convolutional_recurrent": "layers",
    "layers.normalization.batch_normalization": "layers",
    "layers.experimental.preprocessing": "layers",
    "utils.np_utils": "utils",
    "utils.generic_utils": "utils",
    "utils.data_utils": "utils",
    "utils.vis_utils": "utils",
    "utils.layer_utils": "utils",
    "utils.training_utils": "utils",
    "engine.topology": "layers",
    "engine.base_layer": "layers",
    "engine.training": "models",
    "engine.input_layer": "layers",
    "engine.data_adapter": "utils",
}
NAMES = {
    "engine.Layer": "layers.Layer",
    "engine.InputSpec": "layers.InputSpec",
    "engine.Model": "models.Model",
    "engine.Input": "Input",
    "engine.topology.Input": "Input",
    "engine.topology.Container": "models.Model",
    "layers.Input": "Input",
}


def current_name(name: str) -> str:
    """Returns the current name of a name below tf.keras, without the prefix "keras."."""
    if name in NAMES:
        return NAMES[name]
    module, _, last = name.rpartition(".")
    return f"{MODULES[module]}.{last}" if module in MODULES else name


def names_below(path: str) -> set[str]:
    """Returns the names that a module of older releases has in addition to current ones."""
    start = path + "." if path else ""
    return {n[len(start) :].partition(".")[0] for n in (*MODULES, *NAMES) if n.startswith(start)}
