# SPDX-License-Identifier: Apache-2.0
"""random_generator.py: tf.random.Generator: random numbers from a state that is a variable."""

import enum
import os

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.ops.array_ops import cast, concat, convert_to_tensor, op
from situ._src.ops.random_ops import global_seed
from situ._src.variables.variable import variable

_BLOCKS = 256  # of the generator that are set aside for each number


@export("random.Algorithm", "random.experimental.Algorithm")
class Algorithm(enum.Enum):
    """Ways to make random numbers; situ has the first one."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _check(alg):
    name = str(getattr(alg, "name", alg)).lower()
    if alg is None or alg in (1, 3) or name in ("philox", "auto_select"):
        return
    raise ValueError(f"Unsupported algorithm: {alg}. situ has tf.random.Algorithm.PHILOX.")


def _full(seed):
    """Numbers of any size as int64."""
    seed = int(seed) & (2**64 - 1)
    return seed - 2**64 if seed >= 2**63 else seed


@export("random.create_rng_state", "random.experimental.create_rng_state")
def create_rng_state(seed, alg="philox"):
    """The state of a generator: two numbers that count, and a key. One seed is a number of 192
    bits, of which the lowest come first; of several the last one is the key."""
    _check(alg)
    if not isinstance(seed, (list, tuple)) and not getattr(seed, "shape", ()):
        return convert_to_tensor([_full(int(seed) >> 64 * i) for i in range(3)], "int64")
    seeds = [_full(s) for s in seed]
    return convert_to_tensor(([0] * (3 - len(seeds)) + seeds)[:3], "int64")


def _sizes(shape):
    sizes = shape.as_list() if isinstance(shape, tensor_shape.TensorShape) else shape
    return convert_to_tensor(
        sizes if hasattr(sizes, "dtype") or len(sizes) else convert_to_tensor([], "int32"), "int32"
    )


@export("random.Generator", "random.experimental.Generator")
class Generator:
    """A source of random numbers; each call goes on where the last one ended."""

    def __init__(self, copy_from=None, state=None, alg=None):
        if (copy_from is None) == (state is None):
            raise ValueError(
                "Generator needs copy_from, or state and alg, and not both; "
                "tf.random.Generator.from_seed makes one."
            )
        _check(alg)
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
    def from_seed(cls, seed, alg=None):
        """A generator that gives the same numbers for the same seed."""
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_state(cls, state, alg):
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key, counter, alg):
        counter = [_full(c) for c in convert_to_tensor(counter).numpy().reshape(-1)]
        return cls(state=[*counter, *[0] * (2 - len(counter)), _full(key)], alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        """A generator that begins somewhere else in each program."""
        numbers = os.urandom(24)
        return cls(
            state=[_full(int.from_bytes(numbers[i : i + 8], "little")) for i in (0, 8, 16)], alg=alg
        )

    state = property(lambda s: s._state)
    algorithm = property(lambda s: Algorithm.PHILOX.value)
    key = property(lambda s: s._state.value()[-1])

    def reset(self, state):
        self._state.assign(convert_to_tensor(state, "int64"))

    def reset_from_seed(self, seed):
        self.reset(create_rng_state(seed))

    def reset_from_key_counter(self, key, counter):
        counter = convert_to_tensor(counter, "int64")
        self.reset(
            concat(
                [op("Reshape", counter, [-1]), op("Reshape", convert_to_tensor(key, "int64"), [1])],
                0,
            )
        )

    def skip(self, delta):
        """Goes on as if `delta` numbers had been made; the state before."""
        before = op("Identity", self._state.value())
        low = before[0] + cast(convert_to_tensor(delta), "int64") * _BLOCKS
        # A sum that passes the end of 64 bits counts one in the second number.
        turned = op(
            "LogicalAnd",
            op("GreaterEqual", low, convert_to_tensor(0, "int64")),
            op("Less", before[0], convert_to_tensor(0, "int64")),
        )
        self._state.assign(op("Pack", [low, before[1] + cast(turned, "int64"), before[2]]))
        return before

    def _numbers(self, row, shape, dtype, *more):
        sizes = _sizes(shape)
        before = self.skip(op("Prod", sizes, [0]))
        words = {} if more else {"dtype": dtype}
        return op(row, sizes, before[2:], before[:2], convert_to_tensor(1), *more, **words)

    def _scaled(self, row, shape, mean, width, dtype):
        dtype = as_dtype(dtype).base_dtype
        made = self._numbers(row, shape, dtype)
        return made * convert_to_tensor(width, dtype) + convert_to_tensor(mean, dtype)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype="float32", name=None):
        """Numbers of the normal distribution."""
        return self._scaled("StatelessRandomNormalV2", shape, mean, stddev, dtype)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype="float32", name=None):
        """Numbers of the normal distribution, none farther than two deviations from the mean."""
        return self._scaled("StatelessTruncatedNormalV2", shape, mean, stddev, dtype)

    def uniform(self, shape, minval=0, maxval=None, dtype="float32", name=None):
        """Numbers from minval to before maxval."""
        dtype = as_dtype(dtype).base_dtype
        if dtype.is_integer:
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

    def uniform_full_int(self, shape, dtype="int64", name=None):
        """Integers, all that the type has."""
        return self._numbers("StatelessRandomUniformFullIntV2", shape, as_dtype(dtype))

    def make_seeds(self, count=1):
        """Pairs of seeds for tf.random.stateless_*: of shape [2, count]."""
        keys = self.uniform_full_int([count], "int64")
        return op("Pack", [keys, op("ZerosLike", keys)])

    def split(self, count=1):
        """Generators that have nothing to do with each other."""
        keys = self.uniform_full_int([count], "int64").numpy()
        return [Generator(state=[0, 0, int(key)]) for key in keys]


_one = {}


@export("random.get_global_generator", "random.experimental.get_global_generator")
def get_global_generator():
    """The generator that a program shares; tf.random.set_seed decides how it begins."""
    if "generator" not in _one:
        before = _situ.swap_graph(None)
        try:
            seed = global_seed()
            _one["generator"] = (
                Generator.from_non_deterministic_state()
                if seed is None
                else Generator.from_seed(seed)
            )
        finally:
            _situ.swap_graph(before)
    return _one["generator"]


@export("random.set_global_generator", "random.experimental.set_global_generator")
def set_global_generator(generator):
    _one["generator"] = generator
