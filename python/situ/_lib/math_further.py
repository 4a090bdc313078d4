# SPDX-License-Identifier: Apache-2.0
"""math_further.py: functions of numbers that programs use now and then, made of other ops."""
from situ._lib.api import export, named
from situ._lib.array_ops import cast, convert_to_tensor, op


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
