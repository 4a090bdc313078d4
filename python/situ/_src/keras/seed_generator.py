# SPDX-License-Identifier: Apache-2.0
"""seed_generator.py: the seeds of random layers and of keras.random: a stateless op draws with
the two integers of a SeedGenerator, which counts the draws. The numbers are those of Keras 3."""

from __future__ import annotations

import random as python_random
from typing import Any

import _situ
from situ._src.framework import api, style
from situ._src.framework.api import export
from situ._src.framework.scopes import init_scope
from situ._src.keras import context
from situ._src.ops import random_ops
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.nn import norm
from situ._src.variables.eager_variable import place

_LIMIT = 2**31 - 2  # Keras takes seeds modulo this


@export(v2="keras3.random.SeedGenerator")
class SeedGenerator:
    """A stream of seeds: each draw of a random function takes the next one.

    Args:
      seed: Integer; default: a different one in each run, or that of
        `keras.utils.set_random_seed`.
      name: Name of its variable.

    Raises:
      ValueError: If the seed is not an integer.
    """

    def __init__(self, seed: int | None = None, name: str | None = None, **kwargs: Any) -> None:
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments: {kwargs}")
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
            raise ValueError(f"Argument `seed` must be an integer. Received: seed={seed}")
        self._initial_seed, self._state = seed, None
        self._first = random_ops.weights_seed() if seed is None else seed
        self.name = name or "seed_generator"

    @property
    def state(self) -> Any:
        """The variable of two integers: the seed and the number of draws."""
        if self._state is None:
            if self._first is None:
                self._first = python_random.randint(1, 10**9)
            with context.eager(), init_scope():
                self._state = api.named("Variable")(
                    [self._first, 0], trainable=False, dtype="int64", name="seed_generator_state"
                )
        return self._state

    def next(self, ordered: bool = True) -> Any:
        """Returns the next seed, two integers.

        Args:
          ordered: Whether to count the draws; otherwise both integers change.
        """
        state: Any = self.state
        if isinstance(_situ.current_graph(), context.KerasGraph):
            return convert_to_tensor([0, 0], "int64")  # this graph never runs
        seed = op("Identity", state.value())
        if ordered:
            state.assign_add(convert_to_tensor([0, 1], "int64"))
        else:
            state.assign((seed + 1) * 5387 % 933199)
        return seed

    def skip(self) -> None:
        """Counts a draw whose numbers are not used."""
        if not self.is_bypassed() and not isinstance(_situ.current_graph(), context.KerasGraph):
            self.state.assign_add(convert_to_tensor([0, 1], "int64"))

    def is_bypassed(self) -> bool:
        """Whether a layer draws with stateful ops instead: in graph mode, in a replica of a
        strategy, and if only tf.random.set_seed determines the seeds."""
        return style.is_graph() or place.mode is not None or self._first is None

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"seed": self._initial_seed, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SeedGenerator:
        """Creates a generator from the result of get_config."""
        return cls(**config)


def wrapped(seed: Any) -> Any:
    """Returns a seed in the range of int32, as Keras 3 passes it to a stateless op."""
    if isinstance(seed, int):
        return seed % _LIMIT
    return op("FloorMod", seed, convert_to_tensor(_LIMIT, "int64"))


def dropout(x: Any, rate: float, noise_shape: Any, seeds: SeedGenerator) -> Any:
    """Drops elements of x for a layer with these seeds; see tf.nn.dropout."""
    if seeds.is_bypassed():
        return norm.dropout_v2(x, rate, noise_shape, seeds._initial_seed)
    return norm.stateless_dropout(x, rate, wrapped(seeds.next()), noise_shape=noise_shape)


def normal(shape: Any, mean: float, stddev: float, dtype: Any, seeds: SeedGenerator) -> Any:
    """Draws normal numbers for a layer with these seeds."""
    if seeds.is_bypassed():
        return random_ops.random_normal(shape, mean, stddev, dtype, seed=seeds._initial_seed)
    return random_ops.stateless_normal(shape, wrapped(seeds.next()), mean, stddev, dtype)


def uniform(shape: Any, dtype: Any, seeds: SeedGenerator, low: Any = 0, high: Any = 1) -> Any:
    """Draws uniform numbers for a layer with these seeds."""
    if seeds.is_bypassed():
        return random_ops.random_uniform(shape, low, high, dtype, seed=seeds._initial_seed)
    return random_ops.stateless_uniform(shape, wrapped(seeds.next()), low, high, dtype)
