# SPDX-License-Identifier: Apache-2.0
"""random_generator.py: tf.random.Generator: random numbers from a state (Philox counter and key) in
a
variable, bit-compatible with TensorFlow."""

from __future__ import annotations

import enum
import os

import numpy

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, concat, convert_to_tensor, op
from situ._src.ops.random_ops import global_seed
from situ._src.variables.eager_variable import place
from situ._src.variables.variable import strategy as current_strategy
from situ._src.variables.variable import variable

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, ShapeLike, Tensor

_ZERO = numpy.int64(0)
_BLOCKS = 256  # of Philox, which each number reserves


@export("random.Algorithm", "random.experimental.Algorithm")
class Algorithm(enum.Enum):
    """Random number algorithms; situ implements Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _check(alg):
    name = str(getattr(alg, "name", alg)).lower()
    if alg is None or alg in (1, 3) or name in ("philox", "auto_select"):
        return
    raise ValueError(f"Unsupported algorithm: {alg}. situ has tf.random.Algorithm.PHILOX.")


def _wrap_int64(seed):
    """Wraps an integer to the range of int64."""
    seed = int(seed) & (2**64 - 1)
    return seed - 2**64 if seed >= 2**63 else seed


@export("random.create_rng_state", "random.experimental.create_rng_state")
def create_rng_state(seed: Any, alg: str = "philox") -> Tensor:
    """Creates the state of a generator: a 128-bit counter and a 64-bit key, as three int64.

    Args:
      seed: An integer of up to 192 bits, the lowest first, or a list of which the last is the key.
      alg: "philox" or tf.random.Algorithm.PHILOX.

    Returns:
      An int64 tensor of shape [3].
    """
    _check(alg)
    if isinstance(seed, _situ.Tensor):
        return _padded(cast(op("Reshape", seed, [-1]), "int64"))
    if isinstance(seed, int):
        return convert_to_tensor([_wrap_int64(seed >> 64 * i) for i in range(3)], "int64")
    seeds = [_wrap_int64(s) for s in (seed if numpy.ndim(seed) else [seed])]
    return convert_to_tensor(([0] * (3 - len(seeds)) + seeds)[:3], "int64")


def _padded(seeds):
    """Returns the first three elements of a vector, with zeros before if there are fewer."""
    size = op("Shape", seeds)
    missing = op("Maximum", op("Sub", 3, size), 0)
    padded = op("Pad", seeds, op("ExpandDims", concat([missing, [0]], 0), 0))
    return op("Slice", padded, [0], [3])


def _key_counter_state(key, counter):
    """Returns the state of a key and a counter of up to two int64."""
    key = convert_to_tensor(_wrap_int64(key) if isinstance(key, int) else key)
    if isinstance(counter, (list, tuple)):
        counter = [_wrap_int64(c) if isinstance(c, int) else c for c in counter]
    counter = cast(op("Reshape", convert_to_tensor(counter), [-1]), "int64")
    zeros = op("Fill", op("Maximum", op("Sub", 2, op("Shape", counter)), 0), _ZERO)
    return concat([counter, zeros, op("Reshape", cast(key, "int64"), [1])], 0)


def _unsigned(value):
    """Returns a part of a state as key or counter of an op."""
    return cast(value, "uint64")


def _sizes(shape):
    sizes = shape.as_list() if isinstance(shape, tensor_shape.TensorShape) else shape
    return convert_to_tensor(
        sizes if hasattr(sizes, "dtype") or len(sizes) else convert_to_tensor([], "int32"), "int32"
    )


@export("random.Generator", "random.experimental.Generator")
class Generator:
    """A random number generator with its own state; each call advances it."""

    def __init__(self, copy_from: Any = None, state: Any = None, alg: str | None = None):
        if (copy_from is None) == (state is None):
            raise ValueError(
                "Generator needs copy_from, or state and alg, and not both; "
                "tf.random.Generator.from_seed makes one."
            )
        _check(alg)
        self._strategy = current_strategy()
        value = (
            copy_from.state.value()
            if copy_from is not None
            else state.value()
            if hasattr(state, "assign")
            else convert_to_tensor(state, "int64")
        )
        self._state = (
            state
            if hasattr(state, "assign")
            else variable(value, dtype="int64", trainable=False, name="StateVar")
        )

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Any:
        """Creates a generator from a seed."""
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Any:
        """Creates a generator from a state."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Any:
        """Creates a generator from a key and a counter."""
        return cls(state=_key_counter_state(key, counter), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Any:
        """Creates a generator with a state that differs in each run of the program."""
        numbers = os.urandom(24)
        return cls(
            state=[_wrap_int64(int.from_bytes(numbers[i : i + 8], "little")) for i in (0, 8, 16)],
            alg=alg,
        )

    state = property(lambda s: s._state)
    algorithm = property(lambda s: Algorithm.PHILOX.value)
    key = property(lambda s: s._state.value()[-1])

    def reset(self, state: Any) -> None:
        """Replaces the state."""
        self._state.assign(convert_to_tensor(state, "int64"))

    def reset_from_seed(self, seed: Any) -> None:
        """Replaces the state by that of a seed."""
        self.reset(create_rng_state(seed))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Replaces the state by a key and a counter."""
        self.reset(_key_counter_state(key, counter))

    def skip(self, delta: Any) -> Any:
        """Advances the counter by `delta` numbers and returns the state before. In a replica the
        copy of its device advances; the copies stay equal if all replicas draw alike. A state
        without copies advances in each replica."""
        mode, index = place.mode, place.index
        if mode == "replica":
            place.mode = "update"
            if len(getattr(self._state, "values", ())) < 2:
                place.index = 0
        try:
            return self._skip(delta)
        finally:
            place.mode, place.index = mode, index

    def _skip(self, delta):
        before = op("Identity", self._state.value())
        low = before[0] + cast(convert_to_tensor(delta), "int64") * _BLOCKS
        # The carry of the lower 64 bits.
        carry = op(
            "LogicalAnd",
            op("GreaterEqual", low, convert_to_tensor(0, "int64")),
            op("Less", before[0], convert_to_tensor(0, "int64")),
        )
        self._state.assign(op("Pack", [low, before[1] + cast(carry, "int64"), before[2]]))
        return before

    def _numbers(self, op_name, shape, dtype, *bounds):
        sizes = _sizes(shape)
        before = self.skip(op("Prod", sizes, [0]))
        attrs = {} if bounds else {"dtype": dtype}
        key, counter = self._replica_key(_unsigned(before[2:])), _unsigned(before[:2])
        return op(op_name, sizes, key, counter, convert_to_tensor(1), *bounds, **attrs)

    def _replica_key(self, key):
        """Returns the key of the current replica, a hash of the key and the replica's index: other
        numbers in each replica. It is the key itself in cross-replica context."""
        if self._strategy is None or place.mode != "replica":
            return key
        replica = self._strategy.first_replica + place.index
        counter = convert_to_tensor([replica, 0], "uint64")
        kind = "StatelessRandomUniformFullIntV2"
        return op(kind, [1], key, counter, convert_to_tensor(1), dtype=as_dtype("uint64"))

    def _scaled(self, op_name, shape, mean, width, dtype):
        dtype = as_dtype(dtype).base_dtype
        result = self._numbers(op_name, shape, dtype)
        return result * convert_to_tensor(width, dtype) + convert_to_tensor(mean, dtype)

    def normal(
        self,
        shape: ShapeLike,
        mean: float = 0.0,
        stddev: float = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Draws numbers from the normal distribution."""
        with scope(name, "stateful_normal"):
            return self._scaled("StatelessRandomNormalV2", shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: float = 0.0,
        stddev: float = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Draws numbers from the normal distribution, at most two standard deviations from the
        mean."""
        with scope(name, "truncated_normal"):
            return self._scaled("StatelessTruncatedNormalV2", shape, mean, stddev, dtype)

    def uniform(
        self,
        shape: ShapeLike,
        minval: Any = 0,
        maxval: Any = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Draws numbers from the uniform distribution in [minval, maxval); integers from the whole
        range of the type if both are None."""
        with scope(name, "stateful_uniform"):
            dtype = as_dtype(dtype).base_dtype
            if dtype.is_integer:
                if minval is None and maxval is None:
                    return self._numbers("StatelessRandomUniformFullIntV2", shape, dtype)
                if maxval is None:
                    raise ValueError("Must specify maxval for integer dtype " + repr(dtype))
                return self._numbers(
                    "StatelessRandomUniformIntV2",
                    shape,
                    dtype,
                    convert_to_tensor(minval, dtype),
                    convert_to_tensor(maxval, dtype),
                )
            low = convert_to_tensor(minval, dtype)
            high = convert_to_tensor(1 if maxval is None else maxval, dtype)
            return self._numbers("StatelessRandomUniformV2", shape, dtype) * (high - low) + low

    def uniform_full_int(
        self, shape: ShapeLike, dtype: DTypeLike = "uint64", name: str | None = None
    ) -> Tensor:
        """Draws integers from the whole range of the type."""
        with scope(name, "stateful_uniform_full_int"):
            return self._numbers("StatelessRandomUniformFullIntV2", shape, as_dtype(dtype))

    def binomial(
        self,
        shape: ShapeLike,
        counts: Any,
        probs: Any,
        dtype: DTypeLike = "int32",
        name: str | None = None,
    ) -> Tensor:
        """Draws numbers from binomial distributions.

        Args:
          shape: The shape of the result, which ends with that of `counts` and `probs`, broadcast.
          counts: The numbers of trials.
          probs: The probabilities of success.
          dtype: The type of the result: float16, float32, float64, int32 or int64.
          name: A name for the operation (optional).

        Returns:
          A tensor.
        """
        with scope(name, "binomial"):
            sizes, trials = _sizes(shape), convert_to_tensor(counts, name="counts")
            odds = convert_to_tensor(probs, name="probs")
            batch = op("Size", op("Add", op("ZerosLike", trials), op("ZerosLike", odds)))
            samples = op("FloorDiv", op("Prod", sizes, [0]), op("Maximum", batch, 1))
            before = self.skip(batch * 200 * (samples + 3) // 4)
            key, counter = self._replica_key(_unsigned(before[2:])), _unsigned(before[:2])
            inputs = (sizes, key, counter, convert_to_tensor(1), trials, odds)
            return op("StatelessRandomBinomialV2", *inputs, dtype=as_dtype(dtype))

    def make_seeds(self, count: int = 1) -> Tensor:
        """Returns seeds for tf.random.stateless_* ops, of shape [2, count]."""
        keys = self.uniform_full_int([count], "int64")
        return op("Pack", [keys, op("ZerosLike", keys)])

    def split(self, count: int = 1) -> Any:
        """Returns a list of independent generators."""
        seeds = self.make_seeds(count)  # counters are 0
        return [
            Generator(state=op("Pack", [seeds[1, i]] * 2 + [seeds[0, i]])) for i in range(count)
        ]


_global: dict = {}


@export("random.get_global_generator", "random.experimental.get_global_generator")
def get_global_generator() -> Generator:
    """Returns the global generator, which tf.random.set_seed seeds."""
    if _global.get("generator") is None:
        before = _situ.swap_graph(None)
        try:
            seed = global_seed()
            _global["generator"] = (
                Generator.from_non_deterministic_state()
                if seed is None
                else Generator.from_seed(seed)
            )
        finally:
            _situ.swap_graph(before)
    return _global["generator"]


@export("random.set_global_generator", "random.experimental.set_global_generator")
def set_global_generator(generator: Any) -> None:
    """Replaces the global generator; None: the next use creates one.

    Args:
      generator: The tf.random.Generator.
    """
    _global["generator"] = generator
