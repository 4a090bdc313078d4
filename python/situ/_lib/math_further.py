# SPDX-License-Identifier: Apache-2.0
"""math_further.py: functions of numbers that programs use now and then, made of other ops."""
import inspect

import numpy

from situ._lib.api import export, named
from situ._lib.array_ops import cast, convert_to_tensor, op
from situ._lib.keywords import bind, signature
from situ._lib.readers import py_func


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype="int32", name=None):
    """The number of the bin of each value."""
    values = convert_to_tensor(values)
    low, high = op("Unpack", convert_to_tensor(value_range, values.dtype), num=2, axis=0)
    share = (values - low) / (high - low)
    most = cast(nbins - 1, "int32")
    number = cast(op("Floor", cast(share, "float64") * float(nbins)), "int32")
    return cast(op("Minimum", op("Maximum", number, 0), most), dtype)


@export("vectorized_map")
def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """A function of each element; here it is tf.map_fn, in one graph."""
    from situ._lib import nest
    count = convert_to_tensor(nest.flatten(elems)[0]).shape.as_list()[0]
    if count is None:
        return named("map_fn")(fn, elems)
    parts = [op("Unpack", convert_to_tensor(e), num=count, axis=0) for e in nest.flatten(elems)]
    made = [fn(nest.pack_sequence_as(elems, [p[i] for p in parts])) for i in range(count)]
    flat = [nest.flatten(m) for m in made]
    stacked = [op("Pack", [f[i] for f in flat], axis=0) for i in range(len(flat[0]))]
    return nest.pack_sequence_as(made[0], stacked)


# Bits


def _bits(name, function, count=2):
    needed = inspect.Parameter.empty
    defaults = {"x": needed, **({"y": needed} if count == 2 else {}), "name": None}

    @export("bitwise." + name)
    def call(*args, **kwargs):
        values = bind(call.__name__, defaults, args, kwargs)
        first = convert_to_tensor(values["x"])
        rest = [convert_to_tensor(values["y"], first.dtype)] if count == 2 else []
        made = py_func(lambda *arrays: function(*arrays).astype(arrays[0].dtype), [first, *rest],
                       first.dtype)
        if count == 1 and hasattr(made, "set_shape"):
            made.set_shape(first.shape)
        return made
    call.__name__, call.__signature__ = name, signature(defaults)


for _name, _function, _count in (
        ("bitwise_and", numpy.bitwise_and, 2), ("bitwise_or", numpy.bitwise_or, 2),
        ("bitwise_xor", numpy.bitwise_xor, 2), ("left_shift", numpy.left_shift, 2),
        ("right_shift", numpy.right_shift, 2), ("invert", numpy.invert, 1)):
    _bits(_name, _function, _count)
