# SPDX-License-Identifier: Apache-2.0
"""stateless_random_ops.py: Poisson distributions, and random functions whose results depend on
their seeds alone: gamma, Poisson and binomial distributions, shuffling, seeds from seeds."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype, dtype_of
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.random_ops import (
    SMALLEST_NORMAL,
    check_algorithm,
    op_seeds,
    shape_tensor,
    stateless_uniform,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import DTypeLike, ShapeLike, Tensor, TensorLike

_AUTO_SELECT = 3
_THIRD_WORD = 498247692  # of the key of index_shuffle, as in TensorFlow


@export(v2="random.poisson")
def random_poisson_v2(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws numbers from Poisson distributions.

    Args:
      shape: The shape of the draws for each rate.
      lam: The rates, which are the means of the distributions.
      dtype: The type of the result: float16, float32, float64, int32 or int64.
      seed: The seed of this op.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `shape + lam.shape`.
    """
    with scope(name, "random_poisson") as full:
        sizes = convert_to_tensor(shape_tensor(shape), "int32", name="shape")
        rates = convert_to_tensor(lam, name="lam")
        kind = as_dtype(dtype)
        return op("RandomPoissonV2", sizes, rates, dtype=kind, name=full, **op_seeds(seed))


@export(v1=("random_poisson", "random.poisson"))
def random_poisson(
    lam: TensorLike,
    shape: ShapeLike,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws numbers from Poisson distributions.

    Args:
      lam: The rates, which are the means of the distributions.
      shape: The shape of the draws for each rate.
      dtype: The type of the result: float16, float32, float64, int32 or int64.
      seed: The seed of this op.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `shape + lam.shape`.
    """
    return random_poisson_v2(shape, lam, dtype, seed, name)


@export("random.stateless_poisson")
def stateless_poisson(
    shape: ShapeLike,
    seed: TensorLike,
    lam: TensorLike,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Draws numbers from Poisson distributions that depend on the arguments alone.

    Args:
      shape: The shape of the result, which ends with that of `lam`.
      seed: A tensor of shape [2], int32 or int64.
      lam: The rates, which are the means of the distributions.
      dtype: The type of the result: float16, float32, float64, int32 or int64.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    with scope(name, "stateless_random_poisson") as full:
        seeds = convert_to_tensor(seed, name="seed")
        rates = convert_to_tensor(lam, name="lam")
        kind = as_dtype(dtype)
        return op(
            "StatelessRandomPoisson", shape_tensor(shape), seeds, rates, dtype=kind, name=full
        )


@export("random.stateless_binomial")
def stateless_binomial(
    shape: ShapeLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Draws numbers from binomial distributions that depend on the arguments alone.

    Args:
      shape: The shape of the result, which ends with that of `counts` and `probs`, broadcast.
      seed: A tensor of shape [2], int32 or int64.
      counts: The numbers of trials.
      probs: The probabilities of success.
      output_dtype: The type of the result: float16, float32, float64, int32 or int64.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    with scope(name, "stateless_random_binomial") as full:
        seeds = convert_to_tensor(seed, name="seed")
        odds = convert_to_tensor(probs, name="probs")
        hint = None if dtype_of(counts) is not None else odds.dtype
        trials = convert_to_tensor(counts, hint, name="counts")
        kind = as_dtype(output_dtype)
        return op(
            "StatelessRandomBinomial",
            shape_tensor(shape),
            seeds,
            trials,
            odds,
            dtype=kind,
            name=full,
        )


@export("random.stateless_gamma")
def stateless_gamma(
    shape: ShapeLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Draws numbers from gamma distributions that depend on the arguments alone.

    Args:
      shape: The shape of the result, which ends with that of `alpha` and `beta`, broadcast.
      seed: A tensor of shape [2], int32 or int64.
      alpha: The shape parameters.
      beta: The rate parameters, 1 by default.
      dtype: A floating-point type.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    kind = as_dtype(dtype).base_dtype
    with scope(name, "stateless_random_gamma"):
        concentration = convert_to_tensor(alpha, kind, "alpha")
        rate = convert_to_tensor(1 if beta is None else beta, kind, "beta")
        wide = op("Add", concentration, op("ZerosLike", rate))
        key, counter, alg = key_and_counter(seed)
        numbers = op("StatelessRandomGammaV3", shape_tensor(shape), key, counter, alg, wide)
        tiny = convert_to_tensor(SMALLEST_NORMAL[kind.name], kind)
        return op("Maximum", tiny, op("RealDiv", numbers, rate))


def key_and_counter(seed):
    """Returns key, counter and algorithm of the ops that take these instead of a seed."""
    made = op("StatelessRandomGetKeyCounter", convert_to_tensor(seed, name="seed"))
    return made[0], made[1], convert_to_tensor(_AUTO_SELECT, "int32")


@export("random.experimental.stateless_shuffle")
def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: str = "auto_select", name: str | None = None
) -> Tensor:
    """Shuffles a tensor along its first dimension, in an order that depends on the seed alone.

    Args:
      value: A tensor of rank 1 or more.
      seed: A tensor of shape [2], int32 or int64.
      alg: "auto_select" or "philox"; situ has no other algorithm.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `value`.
    """
    check_algorithm(alg)
    with scope(name, "stateless_shuffle") as full:
        key, counter, number = key_and_counter(seed)
        return op("StatelessShuffle", value, key, counter, number, name=full)


@export("random.experimental.index_shuffle")
def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> Tensor:
    """Returns the place of an index in a random permutation of 0 to `max_index`.

    Args:
      index: An integer from 0 to `max_index`, or a vector of integers.
      seed: A tensor of shape [2], or [n, 2] with a seed for each index; a permutation per seed.
      max_index: The largest number of the permutation, of the shape of `index` or a scalar.

    Returns:
      A tensor of the type of `index`, a vector if an argument has a dimension more than usual.
    """
    seed = convert_to_tensor(seed)
    index = convert_to_tensor(index)
    paddings = [[0, 0]] * ((seed.shape.rank or 1) - 1) + [[1, 0]]
    seed = op("PadV2", seed, paddings, constant(_THIRD_WORD, seed.dtype))
    return op("RandomIndexShuffle", index, seed, convert_to_tensor(max_index, index.dtype))


@export("random.split", "random.experimental.stateless_split")
def split(seed: TensorLike, num: int | None = 2, alg: str = "auto_select") -> Tensor:
    """Derives new seeds from a seed.

    Args:
      seed: A tensor of shape [2], int32 or int64.
      num: The number of new seeds.
      alg: "auto_select" or "philox"; situ has no other algorithm.

    Returns:
      A tensor of shape [num, 2] and the type of `seed`.
    """
    given = convert_to_tensor(seed)
    return stateless_uniform([num, 2], given, None, None, given.dtype, alg=alg)


@export("random.fold_in", "random.experimental.stateless_fold_in")
def fold_in(seed: TensorLike, data: TensorLike, alg: str = "auto_select") -> Tensor:
    """Derives a new seed from a seed and an integer.

    Args:
      seed: A tensor of shape [2], int32 or int64.
      data: A scalar, int32 or int64.
      alg: "auto_select" or "philox"; situ has no other algorithm.

    Returns:
      A tensor of shape [2] and the type of `data`.
    """
    number = convert_to_tensor(data)
    first = stateless_uniform([], seed, None, None, number.dtype, alg=alg)
    return op("Pack", [first, number])
