# SPDX-License-Identifier: Apache-2.0
"""initializers.py: tf.keras.initializers: those of tf by name, and those that only Keras has."""
from situ._lib import decompose_ops, initializers as plain
from situ._lib.api import BOTH
from situ._lib.keras.names import Kind, shown

KIND = Kind("initializer", {})


@shown("initializers.Orthogonal", "initializers.orthogonal")
class Orthogonal(plain.KerasSeeds, decompose_ops.Orthogonal):
    """A matrix whose rows or columns are orthogonal."""

    def get_config(self):
        return {"gain": self.gain, "seed": self.seed}


shown("initializers.Initializer")(plain.Initializer)


def _config(self):
    """The arguments of its __init__ by their names."""
    if isinstance(self, plain._Random):
        return {self.NAMES[0]: self.a, self.NAMES[1]: self.b, "seed": self.seed}
    known = {"Constant": ("value",), "VarianceScaling": ("scale", "mode", "distribution", "seed"),
             "Identity": ("gain",)}.get(type(self).__name__)
    if known is None:
        known = ("seed",) if isinstance(self, plain.VarianceScaling) else ()
    return {n: getattr(self, n) for n in known}


plain.Initializer.get_config = _config
plain.Initializer.from_config = classmethod(lambda cls, config: cls(**{
    k: v for k, v in config.items() if k != "dtype"}))

for _name, _thing in list(BOTH.items()):
    if _name.startswith("keras.initializers."):
        KIND.add(_thing, _name.rsplit(".", 1)[1])
for _short, _long in (("normal", "RandomNormal"), ("uniform", "RandomUniform"),
                      ("one", "Ones"), ("zero", "Zeros"), ("identity", "Identity")):
    KIND.add(KIND.table[_long], _short)
    shown("initializers." + _short)(KIND.table[_long])
KIND.export("initializers")


def get(identifier):
    return KIND.get(identifier)
