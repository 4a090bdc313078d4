# SPDX-License-Identifier: Apache-2.0
"""random_ops.py: random ops and their seeds: the seeds of a graph or program and of an op are
combined as
in TensorFlow, so that equal seeds give equal numbers."""

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

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import DTypeLike, ShapeLike, Tensor, TensorLike

_eager: dict = {"seed": None, "numbers": None, "weights": False, "required": False}
_DEFAULT, _MOST = 87654321, 2**31 - 1
SMALLEST_NORMAL = {
    "float16": 6.104e-05,
    "bfloat16": 1.1754944e-38,
    "float32": 1.1754944e-38,
    "float64": 2.2250738585072014e-308,
}


def _generator(seed):
    import random  # imported on use: start-up time

    return random.Random(seed)


@export("random.set_seed", v1=("set_random_seed", "random.set_random_seed"))
def set_seed(seed: int | None) -> None:
    """Sets the global random seed.

    Ops without a seed of their own derive one from it, so that each run of the program gets the
    same
    random numbers. In a graph it is the seed of the default graph.

    Args:
      seed: An integer, or None for a different seed in each run.
    """
    seed = None if seed is None else int(seed)
    if _situ.executing_eagerly():
        _eager.update(
            seed=seed, numbers=None if seed is None else _generator(int(seed)), weights=False
        )
        _situ.forget_calls()
    else:
        get_default_graph().seed = seed


def global_seed():
    """Returns the seed of tf.random.set_seed in eager mode, or None."""
    return _eager["seed"]


def require_seeds(required: bool) -> None:
    """Sets whether random ops without a seed are an error: see
    tf.config.experimental.enable_op_determinism."""
    _eager["required"] = required


def are_seeds_required() -> bool:
    """Returns whether random ops without a seed are an error."""
    return _eager["required"]


def draw_weight_seeds() -> None:
    """Makes Python's `random` determine the seeds of Keras initializers and layers until set_seed
    is called. See tf.keras.utils.set_random_seed."""
    _eager["weights"] = True


def weights_seed() -> int | None:
    """Returns the seed for a Keras initializer or layer without one; None if the seeds of its ops
    decide, that is if tf.random.set_seed or SITU_SEED is in effect."""
    if not _eager["weights"] and (_eager["seed"] is not None or os.environ.get("SITU_SEED")):
        return None
    import random

    return random.randint(1, int(1e9))


def _next_seed(graph):
    """Returns the next seed of a graph or program, for an op without a seed."""
    if graph is None:
        return _eager["numbers"].randint(0, _MOST)
    root = getattr(graph, "root", graph)
    if not root.building_function:
        graph = root  # branches and loops of graph mode share the counter of their graph
    number = getattr(graph, "_seeds_given", 0)
    graph._seeds_given = number + 1
    return number


@export("random.get_seed", v1="get_seed")
def get_seed(op_seed: TensorLike) -> tuple[int | None, int | None]:
    """Returns the two seeds that a random op uses.

    Args:
      op_seed: The seed of the op, or None.

    Returns:
      A pair (seed of the graph or program, seed of the op); (None, None) if both are unset.

    Raises:
      RuntimeError: If both are unset after tf.config.experimental.enable_op_determinism.
    """
    graph = _situ.current_graph()
    graph_seed = _eager["seed"] if graph is None else graph.seed
    if graph_seed is None and op_seed is None:
        if _eager["required"] and not os.environ.get("SITU_SEED"):
            raise RuntimeError(
                "Random ops require a seed to be set when determinism is enabled. Please set a "
                "seed before running the op, e.g. by calling tf.random.set_seed(1)."
            )
        return None, None
    seed = _next_seed(graph) if op_seed is None else op_seed
    seeds = (_DEFAULT if graph_seed is None else graph_seed) % _MOST, seed % _MOST
    return (0, _MOST) if seeds == (0, 0) else seeds


def op_seeds(seed):
    """Returns the attributes `seed` and `seed2` of a random op."""
    one, two = get_seed(seed)
    return dict(seed=one or 0, seed2=two or 0)


def shape_tensor(shape):
    """Converts the shape of random numbers to a tensor."""
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
def random_uniform(
    shape: ShapeLike,
    minval: TensorLike = 0,
    maxval: TensorLike = None,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws numbers from the uniform distribution in [minval, maxval).

    Args:
      shape: The shape of the result.
      minval: The lower bound, included.
      maxval: The upper bound, excluded. 1 by default for floating point.
      dtype: A floating-point or integer type.
      seed: The seed of this op.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If `maxval` is None for integers.
    """
    return _uniform(
        shape, minval, maxval, dtype, name, "random_uniform", "", lambda: ((), op_seeds(seed))
    )


def _uniform(shape, minval, maxval, dtype, name, default, prefix, seeds):
    """Draws uniform numbers with the op of a prefix; `seeds()` returns its inputs and
    attributes."""
    dtype = as_dtype(dtype).base_dtype
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype}")
        maxval = 1
    with scope(name, default) as full:
        sizes = shape_tensor(shape)
        low = convert_to_tensor(minval, dtype, "min")
        high = convert_to_tensor(maxval, dtype, "max")
        inputs, attrs = seeds()
        if dtype.is_integer:
            return op(prefix + "RandomUniformInt", sizes, *inputs, low, high, name=full, **attrs)
        numbers = op(prefix + "RandomUniform", sizes, *inputs, dtype=dtype, **attrs)
        spread = op("Sub", high, low, name="sub")
        return op("Add", op("Mul", numbers, spread, name="mul"), low, name=full)


def _normal(op_name, default):
    def normal(
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        seed: int | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Draws numbers from the (truncated) normal distribution.

        Truncated numbers are at most two standard deviations from the mean.

        Args:
          shape: The shape of the result.
          mean: The mean of the distribution.
          stddev: The standard deviation.
          dtype: A floating-point type.
          seed: The seed of this op.
          name: A name for the operation (optional).

        Returns:
          A tensor.
        """
        dtype = as_dtype(dtype).base_dtype
        with scope(name, default) as full:
            sizes = shape_tensor(shape)
            middle = convert_to_tensor(mean, dtype, "mean")
            width = convert_to_tensor(stddev, dtype, "stddev")
            numbers = op(op_name, sizes, dtype=dtype, **op_seeds(seed))
            return op("Add", op("Mul", numbers, width, name="mul"), middle, name=full)

    return normal


random_normal = export("random.normal", v1="random_normal")(
    _normal("RandomStandardNormal", "random_normal")
)
truncated_normal = export("random.truncated_normal", v1="truncated_normal")(
    _normal("TruncatedNormal", "truncated_normal")
)


def check_algorithm(alg):
    """Raises an error for another random number generator than Philox.

    Raises:
      ValueError: If TensorFlow does not know the algorithm.
      NotImplementedError: If it is ThreeFry.
    """
    name = str(getattr(alg, "name", alg)).lower()
    if name in ("2", "threefry"):
        raise NotImplementedError(f"tf.random: alg={alg!r} is not supported yet.")
    if name not in ("1", "3", "philox", "auto_select"):
        raise ValueError(
            f"Argument `alg` got unsupported value {alg}. Supported values are philox for the "
            "Philox algorithm, threefry for the ThreeFry algorithm, and auto_select for "
            "auto-selection."
        )


def _stateless_seed(seed):
    return lambda: ((convert_to_tensor(seed, name="seed"),), {})


@export("random.stateless_uniform")
def stateless_uniform(
    shape: ShapeLike,
    seed: int | None,
    minval: TensorLike = 0,
    maxval: TensorLike = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """Draws uniform numbers that depend on the arguments alone.

    Args:
      shape: The shape of the result.
      seed: A tensor of shape [2], int32 or int64.
      minval: The lower bound, included. None for integers of the whole range of the type.
      maxval: The upper bound, excluded. 1 by default for floating point.
      dtype: A floating-point or integer type.
      alg: "auto_select" or "philox"; situ has no other algorithm.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If only one bound of integers is given, or bounds of unsigned integers.
    """
    check_algorithm(alg)
    kind = as_dtype(dtype).base_dtype
    if kind.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer `dtype` argument {kind}, argument `minval` and `maxval` must be both "
                f"None or not None. Got `minval`={minval} and `maxval`={maxval}."
            )
        if minval is not None and kind.name in ("uint32", "uint64"):
            raise ValueError(
                f"Argument `dtype` got invalid value {kind} when argument `minval` is not None. "
                "Please don't use unsigned integers in this case."
            )
        if minval is None:
            with scope(name, "stateless_random_uniform") as full:
                seeds = convert_to_tensor(seed, name="seed")
                sizes = shape_tensor(shape)
                return op("StatelessRandomUniformFullInt", sizes, seeds, dtype=kind, name=full)
    return _uniform(
        shape,
        minval,
        maxval,
        dtype,
        name,
        "stateless_random_uniform",
        "Stateless",
        _stateless_seed(seed),
    )


def _stateless_normal(op_name, default):
    def normal(
        shape: ShapeLike,
        seed: int | None,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
        alg: str = "auto_select",
    ) -> Tensor:
        """Draws (truncated) normal numbers that depend on the arguments alone.

        Args:
          shape: The shape of the result.
          seed: A tensor of shape [2], int32 or int64.
          mean: The mean of the distribution.
          stddev: The standard deviation.
          dtype: A floating-point type.
          alg: "auto_select" or "philox"; situ has no other algorithm.
          name: A name for the operation (optional).

        Returns:
          A tensor.
        """
        check_algorithm(alg)
        dtype = as_dtype(dtype).base_dtype
        with scope(name, default) as full:
            sizes = shape_tensor(shape)
            seed = convert_to_tensor(seed, name="seed")
            middle = convert_to_tensor(mean, dtype, "mean")
            width = convert_to_tensor(stddev, dtype, "stddev")
            numbers = op(op_name, sizes, seed, dtype=dtype)
            return op("Add", op("Mul", numbers, width), middle, name=full)

    return normal


stateless_normal = export("random.stateless_normal")(
    _stateless_normal("StatelessRandomNormal", "stateless_random_normal")
)
stateless_truncated_normal = export("random.stateless_truncated_normal")(
    _stateless_normal("StatelessTruncatedNormal", "stateless_truncated_normal")
)


@export("random.shuffle", v1="random_shuffle")
def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Shuffles a tensor along its first dimension.

    Args:
      value: A tensor of rank 1 or more.
      seed: The seed of this op.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `value`.
    """
    return op("RandomShuffle", value, name=name, **op_seeds(seed))


@export("random.categorical")
def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws class indices from categorical distributions.

    Args:
      logits: Unnormalized log probabilities of shape [batch, classes].
      num_samples: The number of draws per row.
      dtype: The type of the result, int64 by default.
      seed: The seed of this op.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch, num_samples].
    """
    kind = as_dtype("int64" if dtype is None else dtype)
    with scope(name, "categorical"):
        return op("Multinomial", logits, num_samples, output_dtype=kind, **op_seeds(seed))


@export(v1=("multinomial", "random.multinomial"))
def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: TensorLike = None,
) -> Tensor:
    """Draws class indices from categorical distributions; see `tf.random.categorical`.

    Args:
      logits: Log probabilities [batch, classes].
      num_samples: The number of samples per row.
      seed: A seed of the random numbers (optional).
      name: A name for the operation (optional).
      output_dtype: The type of the indices, int32 or int64.
    """
    with scope(name, "multinomial"):
        return categorical(logits, num_samples, output_dtype, seed)


@export("random.stateless_categorical")
def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Draws class indices that depend on the arguments alone; `seed` has shape [2].

    Args:
      logits: Log probabilities [batch, classes].
      num_samples: The number of samples per row.
      seed: Two integers, a tensor of shape [2].
      dtype: The type of the indices, int32 or int64.
      name: A name for the operation (optional).
    """
    return op(
        "StatelessMultinomial",
        logits,
        num_samples,
        convert_to_tensor(seed),
        output_dtype=as_dtype(dtype),
        name=name,
    )


@export(v1="random.stateless_multinomial")
def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None,
    output_dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Draws class indices; see `tf.random.stateless_categorical`.

    Args:
      logits: Log probabilities [batch, classes].
      num_samples: The number of samples per row.
      seed: Two integers, a tensor of shape [2].
      output_dtype: The type of the indices, int32 or int64.
      name: A name for the operation (optional).
    """
    return stateless_categorical(logits, num_samples, seed, output_dtype, name)


@export("random.gamma", v1="random_gamma")
def random_gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike = None,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws numbers from gamma distributions.

    Args:
      shape: The shape of the draws for each pair of parameters.
      alpha: The shape parameters.
      beta: The rate parameters, 1 by default.
      dtype: A floating-point type.
      seed: The seed of this op.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `shape + broadcast(alpha, beta).shape`.
    """
    dtype = as_dtype(dtype).base_dtype
    with scope(name, "random_gamma"):
        sizes = shape_tensor(shape)
        alpha = convert_to_tensor(alpha, dtype, "alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, "beta")
        broadcast_alpha = op("Add", alpha, op("ZerosLike", beta))
        numbers = op("RandomGamma", sizes, broadcast_alpha, **op_seeds(seed))
        tiny = convert_to_tensor(SMALLEST_NORMAL[dtype.name], dtype)
        return op("Maximum", tiny, op("RealDiv", numbers, beta))


def _check_crop(value, size):
    """Checks that a crop fits, as far as the shapes are known."""
    crop, shape = constant_value(size), tensor_shape.as_shape(value.shape)
    if crop is None or shape.rank is None:
        return
    if len(crop) != shape.rank or any(
        n is not None and n < w for n, w in zip(shape.as_list(), crop)
    ):
        raise errors.invalid_argument(
            f"Need value.shape >= size, got {shape} and {[int(n) for n in crop]} (random_crop)"
        )


@export("image.random_crop", v1="random_crop")
def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Crops a tensor to a size at a random offset.

    Args:
      value: A tensor.
      size: The size of the crop in each dimension.
      seed: The seed of this op.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `size`.

    Raises:
      ValueError: If the crop does not fit (InvalidArgumentError in eager mode).
    """
    with scope(name, "random_crop") as full:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, "int32", name="size")
        _check_crop(value, size)
        sizes = shape_op(value)
        limit = op("Add", op("Sub", sizes, size), convert_to_tensor(1, "int32"))
        numbers = random_uniform(shape_op(sizes), 0, _MOST, "int32", seed=seed)
        return op("Slice", value, op("FloorMod", numbers, limit), size, name=full)
