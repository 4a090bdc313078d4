# SPDX-License-Identifier: Apache-2.0
"""options.py: tf.data.Options: options with checked types. situ ignores those about threads and
optimization."""

from __future__ import annotations

import enum

from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export("data.experimental.AutotuneAlgorithm")
class AutotuneAlgorithm(enum.Enum):
    """How TensorFlow tunes parallelism; situ does not use it."""

    DEFAULT, HILL_CLIMB, GRADIENT_DESCENT, MAX_PARALLELISM, STAGE_BASED = range(5)


@export("data.experimental.AutoShardPolicy")
class AutoShardPolicy(enum.IntEnum):
    """How a dataset is sharded over workers."""

    OFF, AUTO, FILE, DATA, HINT = -1, 0, 1, 2, 3


@export("data.experimental.ExternalStatePolicy")
class ExternalStatePolicy(enum.Enum):
    """What happens when a dataset with external state is saved."""

    WARN, IGNORE, FAIL = 0, 1, 2


class OptionsBase:
    """Options by name. `_fields` has their types; unset options are None, or those of a class
    that is derived from this one."""

    _fields: dict = {}
    _defaults: dict = {}
    _aliases: dict = {}
    _mutable = True

    def __init__(self):
        object.__setattr__(self, "_options", {})

    def __getattr__(self, name):
        name = self._aliases.get(name, name)
        kind = self._fields.get(name)
        if kind is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name not in self._options:
            default = kind() if issubclass(kind, OptionsBase) else self._defaults.get(name)
            self._options[name] = default
        return self._options[name]

    def __setattr__(self, name, value):
        if not self._mutable:
            raise ValueError(
                "Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` has no "
                "effect. Use `tf.data.Dataset.with_options(options)` to set or update dataset "
                "options."
            )
        name = self._aliases.get(name, name)
        kind = self._fields.get(name)
        if kind is None:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        if not isinstance(value, kind):
            raise TypeError(
                f'Property "{name}" must be of type {kind}, got: {value} (type: {type(value)})'
            )
        self._options[name] = value

    def _freeze(self):
        """Makes these options immutable."""
        for value in self._options.values():
            if isinstance(value, OptionsBase):
                value._freeze()
        object.__setattr__(self, "_mutable", False)
        return self

    def __eq__(self, other):
        if not isinstance(other, type(self)):
            return NotImplemented
        names = set(self._options) | set(other._options)
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]  # options can change


def merge_options(*options):
    """Returns new options: those of the last argument that sets them.

    Raises:
      TypeError: the arguments are not options of one type.
      ValueError: there are none.
    """
    if not options:
        raise ValueError("At least one options should be provided")
    kind = type(options[0])
    for one in options:
        if not isinstance(one, kind):
            raise TypeError(f"Could not merge incompatible options of type {type(one)} and {kind}.")
    if not issubclass(kind, OptionsBase):
        raise TypeError(
            "All options to be merged should inherit from `OptionsBase` but found option of type "
            f"{kind} which does not."
        )
    result, default = kind(), kind()
    for one in options:
        for name in one._options:
            value, before = getattr(one, name), getattr(result, name)
            if isinstance(value, OptionsBase):
                result._options[name] = merge_options(before, value)
            elif value != getattr(default, name):
                result._options[name] = value
    return result


@export("data.experimental.AutotuneOptions")
class AutotuneOptions(OptionsBase):
    """Options of the tuning of parallelism."""

    _fields = {
        "enabled": bool,
        "cpu_budget": int,
        "ram_budget": int,
        "autotune_algorithm": AutotuneAlgorithm,
        "initial_parallelism": int,
    }


@export("data.experimental.DistributeOptions")
class DistributeOptions(OptionsBase):
    """How elements are sharded over devices and workers."""

    _fields = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}
    _defaults = {"auto_shard_policy": AutoShardPolicy.AUTO}


@export("data.experimental.OptimizationOptions")
class OptimizationOptions(OptionsBase):
    """Options of graph rewrites."""

    _fields = dict.fromkeys(
        (
            "apply_default_optimizations",
            "autotune",
            "filter_fusion",
            "filter_parallelization",
            "hoist_random_uniform",
            "inject_prefetch",
            "seq_interleave_prefetch",
            "map_and_batch_fusion",
            "map_and_filter_fusion",
            "map_fusion",
            "map_parallelization",
            "map_vectorization",
            "noop_elimination",
            "parallel_batch",
            "shuffle_and_repeat_fusion",
        ),
        bool,
    )
    # Those of TensorFlow 1 are integers.
    _fields.update(autotune_buffers=bool, autotune_cpu_budget=int, autotune_ram_budget=int)


@export("data.experimental.ServiceOptions")
class ServiceOptions(OptionsBase):
    """Options of the tf.data service."""

    _fields = {"pinned": bool}


@export("data.ThreadingOptions", "data.experimental.ThreadingOptions")
class ThreadingOptions(OptionsBase):
    """Options of threads."""

    _fields = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


@export("data.Options")
class Options(OptionsBase):
    """Options of a dataset. situ accepts them all and ignores those about threads and
    optimization."""

    _fields = {
        "autotune": AutotuneOptions,
        "deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_service": ServiceOptions,
        "experimental_warm_start": bool,
        "experimental_stats": object,
        "dataset_name": str,
        "framework_type": list,
        "threading": ThreadingOptions,
    }
    _aliases = {
        "experimental_threading": "threading",
        "experimental_deterministic": "deterministic",
    }

    def merge(self, options: Any) -> Any:
        """Returns these options, overridden by those that are set in others.

        Args:
          options: a tf.data.Options.
        """
        return merge_options(self, options)
