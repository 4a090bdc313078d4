# SPDX-License-Identifier: Apache-2.0
"""legacy.py: modules in which older releases of Keras kept their names."""
from situ._lib.api import BOTH
from situ._lib.keras.names import shown

# module -> where its names stand today
_MODULES = {
    "layers.core": "layers", "layers.convolutional": "layers", "layers.pooling": "layers",
    "layers.advanced_activations": "layers", "layers.embeddings": "layers",
    "layers.merge": "layers", "layers.noise": "layers", "layers.normalization": "layers",
    "layers.recurrent": "layers", "layers.wrappers": "layers", "layers.local": "layers",
    "layers.convolutional_recurrent": "layers",
    "layers.normalization.batch_normalization": "layers",
    "layers.experimental.preprocessing": "layers",
    "utils.np_utils": "utils", "utils.generic_utils": "utils", "utils.data_utils": "utils",
    "utils.vis_utils": "utils", "utils.layer_utils": "utils", "utils.training_utils": "utils",
    "engine.topology": "layers", "engine.base_layer": "layers", "engine.training": "models",
    "engine.input_layer": "layers", "engine.data_adapter": "utils",
}
_MORE = {"engine.Layer": "layers.Layer", "engine.InputSpec": "layers.InputSpec",
         "engine.Model": "models.Model", "engine.Input": "Input",
         "engine.topology.Input": "Input", "engine.topology.Container": "models.Model",
         "layers.Input": "Input"}


def _spread():
    """Shows today's names under the modules of old."""
    today = {k[6:]: v for k, v in BOTH.items() if k.startswith("keras.")}
    for module, now in _MODULES.items():
        for name, thing in today.items():
            place, _, last = name.rpartition(".")
            if place == now:
                shown(f"{module}.{last}")(thing)
    for name, now in _MORE.items():
        if now in today:
            shown(name)(today[now])


_spread()
