# SPDX-License-Identifier: Apache-2.0
"""initializers.py: tf.keras.initializers: the initializers of tf by name, and those of Keras
only."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import BOTH
from situ._src.keras.registry import Registry, keras_export
from situ._src.ops import init_ops, linalg_ops

KIND = Registry("initializer", {})


@keras_export("initializers.Orthogonal", "initializers.orthogonal")
class Orthogonal(init_ops.KerasSeeds, linalg_ops.Orthogonal):
    """A matrix whose rows or columns are orthogonal."""

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed}


keras_export("initializers.Initializer")(init_ops.Initializer)
setattr(  # noqa: B010
    init_ops.Initializer,
    "from_config",
    classmethod(lambda cls, config: cls(**{k: v for k, v in config.items() if k != "dtype"})),
)

for _name, _thing in list(BOTH.items()):
    if _name.startswith("keras.initializers."):
        KIND.add(_thing, _name.rsplit(".", 1)[1])
for _short, _long in (
    ("normal", "RandomNormal"),
    ("uniform", "RandomUniform"),
    ("one", "Ones"),
    ("zero", "Zeros"),
    ("identity", "Identity"),
    ("IdentityInitializer", "Identity"),
    ("OrthogonalInitializer", "Orthogonal"),
):
    KIND.add(KIND.table[_long], _short)
    keras_export("initializers." + _short)(KIND.table[_long])
KIND.export("initializers")


def get(identifier):
    return KIND.get(identifier)
