# SPDX-License-Identifier: Apache-2.0
"""initializers.py: tf.keras.initializers: those of tf by name, and those that only Keras has."""
import numpy

from situ._lib import initializers as plain, random_ops
from situ._lib.api import BOTH
from situ._lib.array_ops import constant
from situ._lib.keras.names import Kind, shown

KIND = Kind("initializer", {})


@shown("initializers.Orthogonal", "initializers.orthogonal")
class Orthogonal(plain.Initializer):
    """A matrix whose rows or columns are orthogonal."""

    def __init__(self, gain=1.0, seed=None, dtype="float32"):
        super().__init__(dtype)
        self.gain, self.seed = gain, seed

    def make(self, shape, dtype):
        sizes = [int(s) for s in shape]
        rows, columns = int(numpy.prod(sizes[:-1])), sizes[-1]
        flat = max(rows, columns), min(rows, columns)
        drawn = random_ops.random_normal(flat, dtype=dtype, seed=self.seed)
        q, r = numpy.linalg.qr(numpy.asarray(drawn.numpy(), "float64"))
        q = q * numpy.sign(numpy.diag(r))
        q = q.T if rows < columns else q
        return constant((self.gain * q).reshape(sizes), dtype)

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
