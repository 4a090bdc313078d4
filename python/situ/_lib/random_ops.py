# SPDX-License-Identifier: Apache-2.0
"""random_ops.py: random numbers and their seeds."""
import _situ
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor, op
from situ._lib.dtypes import as_dtype
from situ._lib.graph import get_default_graph, scope

_eager = {"seed": None, "count": 0}
_DEFAULT = 87654321


@export("random.set_seed", v1=("set_random_seed", "random.set_random_seed"))
def set_seed(seed):
    """Makes random numbers the same in every run of the program."""
    if _situ.executing_eagerly():
        _eager.update(seed=seed, count=0)
    else:
        get_default_graph().seed = seed


@export("random.get_seed", v1="get_seed")
def get_seed(op_seed):
    graph = _situ.current_graph()
    graph_seed = _eager["seed"] if graph is None else graph.seed
    if graph_seed is not None:
        if op_seed is None:
            if graph is None:
                _eager["count"] += 1
                op_seed = _eager["count"]
            else:
                op_seed = len(graph.get_operations())
        return graph_seed, op_seed
    if op_seed is not None:
        return _DEFAULT, op_seed
    return 0, 0


def _seeds(seed):
    one, two = get_seed(seed)
    return dict(seed=one or 0, seed2=two or 0)


def _sizes(shape):
    return convert_to_tensor([] if shape is None else _plain(shape), "int32", name="shape")


def _plain(shape):
    return shape.as_list() if hasattr(shape, "as_list") else shape


@export("random.uniform", v1="random_uniform")
def random_uniform(shape, minval=0, maxval=None, dtype="float32", seed=None, name=None):
    dtype = as_dtype(dtype).base_dtype
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype}")
        maxval = 1
    with scope(name, "random_uniform") as full:
        sizes = _sizes(shape)
        low = convert_to_tensor(minval, dtype, "min")
        high = convert_to_tensor(maxval, dtype, "max")
        if dtype.is_integer:
            return op("RandomUniformInt", sizes, low, high, name=full, **_seeds(seed))
        numbers = op("RandomUniform", sizes, dtype=dtype, **_seeds(seed))
        spread = op("Sub", high, low, name="sub")
        return op("Add", op("Mul", numbers, spread, name="mul"), low, name=full)


def _normal(row, default):
    def normal(shape, mean=0.0, stddev=1.0, dtype="float32", seed=None, name=None):
        dtype = as_dtype(dtype).base_dtype
        with scope(name, default) as full:
            sizes = _sizes(shape)
            middle = convert_to_tensor(mean, dtype, "mean")
            width = convert_to_tensor(stddev, dtype, "stddev")
            numbers = op(row, sizes, dtype=dtype, **_seeds(seed))
            return op("Add", op("Mul", numbers, width, name="mul"), middle, name=full)
    return normal


random_normal = export("random.normal", v1="random_normal")(
    _normal("RandomStandardNormal", "random_normal"))
truncated_normal = export("random.truncated_normal", v1="truncated_normal")(
    _normal("TruncatedNormal", "truncated_normal"))
