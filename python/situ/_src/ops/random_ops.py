# SPDX-License-Identifier: Apache-2.0
"""random_ops.py: random numbers and their seeds."""

from __future__ import annotations

import os

import _situ
from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype, beyond_int32, dtype_of
from situ._src.framework.graph import get_default_graph, scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op

_eager = {"seed": None, "numbers": None, "weights": None}
_DEFAULT, _MOST = 87654321, 2**31 - 1


def _generator(seed):
    import random  # few programs need it

    return random.Random(seed)


@export("random.set_seed", v1=("set_random_seed", "random.set_random_seed"))
def set_seed(seed):
    """Makes random numbers the same in every run of the program."""
    seed = None if seed is None else int(seed)
    if _situ.executing_eagerly():
        _eager.update(
            seed=seed, numbers=None if seed is None else _generator(int(seed)), weights=None
        )
        _situ.forget_calls()
    else:
        get_default_graph().seed = seed


def global_seed():
    """What tf.random.set_seed said in eager style."""
    return _eager["seed"]


def seed_weights(seed: int) -> None:
    """Says where initializers of Keras without a seed take theirs from, until set_seed is called:
    tf.keras.utils.set_random_seed."""
    _eager["weights"] = _generator(seed)


def weights_seed() -> int | None:
    """The seed of an initializer of Keras that was given none; None: those of its ops count, as
    tf.random.set_seed or SITU_SEED say."""
    if _eager["weights"] is None and (_eager["seed"] is not None or os.environ.get("SITU_SEED")):
        return None
    import random

    return (_eager["weights"] or random).randint(1, int(1e9))


def _own_seed(graph):
    """The seed of an op that was given none: the next one of its graph."""
    if graph is None:
        return _eager["numbers"].randint(0, _MOST)
    root = getattr(graph, "root", graph)
    if not root.building_function:
        graph = root  # branches and loops of graph style count with the graph that they are in
    number = getattr(graph, "_seeds_given", 0)
    graph._seeds_given = number + 1
    return number


@export("random.get_seed", v1="get_seed")
def get_seed(op_seed):
    """The two seeds of an op: of the graph (or program) and of the op itself."""
    graph = _situ.current_graph()
    whole = _eager["seed"] if graph is None else graph.seed
    if whole is None and op_seed is None:
        return None, None
    own = _own_seed(graph) if op_seed is None else op_seed
    seeds = (_DEFAULT if whole is None else whole) % _MOST, own % _MOST
    return (0, _MOST) if seeds == (0, 0) else seeds


def _seeds(seed):
    one, two = get_seed(seed)
    return dict(seed=one or 0, seed2=two or 0)


def _sizes(shape):
    plain = [] if shape is None else _plain(shape)
    kind = dtype_of(plain)
    wide = (
        kind is not None
        and kind.name == "int64"
        or isinstance(plain, (list, tuple))
        and beyond_int32(*plain)
    )
    return convert_to_tensor(plain, "int64" if wide else "int32", name="shape")


def _plain(shape):
    return shape.as_list() if hasattr(shape, "as_list") else shape


@export("random.uniform", v1="random_uniform")
def random_uniform(shape, minval=0, maxval=None, dtype="float32", seed=None, name=None):
    """Numbers from minval to before maxval."""
    return _uniform(
        shape, minval, maxval, dtype, name, "random_uniform", "", lambda: ((), _seeds(seed))
    )


def _uniform(shape, minval, maxval, dtype, name, default, prefix, seeds):
    """Uniform numbers from the op of that prefix; seeds() are its inputs and attributes."""
    dtype = as_dtype(dtype).base_dtype
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype}")
        maxval = 1
    with scope(name, default) as full:
        sizes = _sizes(shape)
        low = convert_to_tensor(minval, dtype, "min")
        high = convert_to_tensor(maxval, dtype, "max")
        inputs, words = seeds()
        if dtype.is_integer:
            return op(prefix + "RandomUniformInt", sizes, *inputs, low, high, name=full, **words)
        numbers = op(prefix + "RandomUniform", sizes, *inputs, dtype=dtype, **words)
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
    _normal("RandomStandardNormal", "random_normal")
)
truncated_normal = export("random.truncated_normal", v1="truncated_normal")(
    _normal("TruncatedNormal", "truncated_normal")
)


def _pair_of_seeds(seed):
    return lambda: ((convert_to_tensor(seed, name="seed"),), {})


@export("random.stateless_uniform")
def stateless_uniform(
    shape, seed, minval=0, maxval=None, dtype="float32", name=None, alg="auto_select"
):
    """Uniform numbers that depend on the two numbers of `seed` alone."""
    return _uniform(
        shape,
        minval,
        maxval,
        dtype,
        name,
        "stateless_random_uniform",
        "Stateless",
        _pair_of_seeds(seed),
    )


def _stateless_normal(row, default):
    def normal(shape, seed, mean=0.0, stddev=1.0, dtype="float32", name=None, alg="auto_select"):
        dtype = as_dtype(dtype).base_dtype
        with scope(name, default) as full:
            sizes = _sizes(shape)
            seed = convert_to_tensor(seed, name="seed")
            middle = convert_to_tensor(mean, dtype, "mean")
            width = convert_to_tensor(stddev, dtype, "stddev")
            numbers = op(row, sizes, seed, dtype=dtype)
            return op("Add", op("Mul", numbers, width), middle, name=full)

    return normal


stateless_normal = export("random.stateless_normal")(
    _stateless_normal("StatelessRandomNormal", "stateless_random_normal")
)
stateless_truncated_normal = export("random.stateless_truncated_normal")(
    _stateless_normal("StatelessTruncatedNormal", "stateless_truncated_normal")
)


@export("random.shuffle", v1="random_shuffle")
def random_shuffle(value, seed=None, name=None):
    """The value with its first dimension in a random order."""
    return op("RandomShuffle", value, name=name, **_seeds(seed))


@export("random.categorical")
def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Numbers of randomly chosen classes, a row for each row of logits."""
    kind = as_dtype("int64" if dtype is None else dtype)
    with scope(name, "categorical"):
        return op("Multinomial", logits, num_samples, output_dtype=kind, **_seeds(seed))


@export(v1=("multinomial", "random.multinomial"))
def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    with scope(name, "multinomial"):
        return categorical(logits, num_samples, output_dtype, seed)


@export("random.stateless_categorical", v1="random.stateless_multinomial")
def stateless_categorical(logits, num_samples, seed, dtype="int64", name=None):
    return op(
        "StatelessMultinomial",
        logits,
        num_samples,
        convert_to_tensor(seed),
        output_dtype=as_dtype(dtype),
        name=name,
    )


@export("random.gamma", v1="random_gamma")
def random_gamma(shape, alpha, beta=None, dtype="float32", seed=None, name=None):
    """Numbers of the gamma distribution, `shape` for each pair of alpha and beta."""
    dtype = as_dtype(dtype).base_dtype
    with scope(name, "random_gamma"):
        sizes = _sizes(shape)
        alpha = convert_to_tensor(alpha, dtype, "alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, "beta")
        many = op("Add", alpha, op("ZerosLike", beta))
        numbers = op("RandomGamma", sizes, many, **_seeds(seed))
        tiny = dict(float16=6.1e-05, float32=1.1754944e-38).get(dtype.name, 2.2250738585072014e-308)
        return op("Maximum", convert_to_tensor(tiny, dtype), op("RealDiv", numbers, beta))


def _check_crop(value, size):
    """A box must fit, as far as its size is known."""
    wanted, have = constant_value(size), tensor_shape.as_shape(value.shape)
    if wanted is None or have.rank is None:
        return
    if len(wanted) != have.rank or any(
        n is not None and n < w for n, w in zip(have.as_list(), wanted)
    ):
        raise errors.invalid_argument(
            f"Need value.shape >= size, got {have} and {[int(n) for n in wanted]} (random_crop)"
        )


@export("image.random_crop", v1="random_crop")
def random_crop(value, size, seed=None, name=None):
    """A box of `size` at a random place of the value."""
    with scope(name, "random_crop") as full:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, "int32", name="size")
        _check_crop(value, size)
        sizes = shape_op(value)
        limit = op("Add", op("Sub", sizes, size), convert_to_tensor(1, "int32"))
        numbers = random_uniform(shape_op(sizes), 0, _MOST, "int32", seed=seed)
        return op("Slice", value, op("FloorMod", numbers, limit), size, name=full)
