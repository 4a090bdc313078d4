# SPDX-License-Identifier: Apache-2.0
"""variable_store.py: the variables of tf.compat.v1.get_variable by name: a new variable, or one
that exists, in a graph or in an EagerVariableStore."""

from __future__ import annotations

import contextlib
import inspect
import threading

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.scopes import name_scope
from situ._src.ops import init_ops
from situ._src.variables import partitioned_variable
from situ._src.variables.partitioned_variable import PartitionedVariable
from situ._src.variables.synchronization import aggregation as as_aggregation
from situ._src.variables.synchronization import is_trainable
from situ._src.variables.synchronization import synchronization as as_mode
from situ._src.variables.variable import variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


class _Auto:
    """The value of tf.compat.v1.AUTO_REUSE: creates a variable the first time and reuses it
    later."""

    def __repr__(self):
        return "_ReuseMode.AUTO_REUSE"

    def __bool__(self):
        return True


AUTO_REUSE = _Auto()
export(v1="AUTO_REUSE")(AUTO_REUSE)

_eager = threading.local()  # .store: the variables of the active EagerVariableStore


def eager_store() -> dict | None:
    """Returns the variables of the EagerVariableStore that is active, or None."""
    graph = _situ.current_graph()
    if graph is not None and not graph.building_function:
        return None
    return getattr(_eager, "store", None)


@export(v1=("contrib.eager.EagerVariableStore", "contrib.eager.python.tfe.EagerVariableStore"))
class EagerVariableStore:
    """Holds the variables of tf.compat.v1.get_variable while eager execution is enabled, so that
    they can be reused."""

    def __init__(self):
        self._variables = {}

    @contextlib.contextmanager
    def as_default(self) -> Any:
        """Returns a context manager in which get_variable looks for variables in this store."""
        before, _eager.store = getattr(_eager, "store", None), self._variables
        try:
            yield
        finally:
            _eager.store = before

    def variables(self) -> list:
        """Returns the variables, sorted by name."""
        found = [v for v in self._variables.values() if not isinstance(v, PartitionedVariable)]
        return sorted(found, key=lambda v: v.name)

    def trainable_variables(self) -> list:
        """Returns the trainable variables, sorted by name."""
        return [v for v in self.variables() if v.trainable]

    def non_trainable_variables(self) -> list:
        """Returns the variables that are not trainable, sorted by name."""
        return [v for v in self.variables() if not v.trainable]

    def copy(self) -> EagerVariableStore:
        """Returns a store with copies of the variables."""
        made = EagerVariableStore()
        for name, old in self._variables.items():
            if not isinstance(old, PartitionedVariable):
                made._variables[name] = variable(
                    old.read_value(), name=old.name.split(":")[0], trainable=old.trainable
                )
        return made


@export(v1="no_regularizer")
def no_regularizer(_: Any) -> None:
    """Returns None: a regularizer for variables that shall not have one."""
    return


def get(name, *, custom_getter=None, **options):
    """Returns the variable with a full name. A custom getter is called instead of the store; it
    receives the getter of the store.

    Raises:
      ValueError: the custom getter is not callable, or as `get_true`.
      RuntimeError: reuse while eager execution is enabled, without an EagerVariableStore.
    """
    if custom_getter is not None and not callable(custom_getter):
        raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
    if _situ.current_graph() is None:
        if eager_store() is not None:
            options["reuse"] = AUTO_REUSE
        elif options["reuse"]:
            raise RuntimeError(
                "When eager execution is enabled variable reuse is only supported when an "
                "EagerVariableStore is active. See the documentation on EagerVariableStore for "
                "example usage."
            )
    if getattr(options["dtype"], "base_dtype", None) is not None:
        options["dtype"] = options["dtype"].base_dtype
    mode = options["synchronization"] = as_mode(options["synchronization"], name)
    options["aggregation"] = as_aggregation(options["aggregation"], name)
    options["trainable"] = is_trainable(options["trainable"], mode)
    if custom_getter is None:
        return get_true(name, **options)
    if not _accepts(custom_getter, "constraint"):
        options.pop("constraint", None)
    return custom_getter(get_true, name=name, **options)


def _accepts(function, keyword) -> bool:
    """Returns whether a function has a parameter, or takes any keywords."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == keyword or p.kind is p.VAR_KEYWORD for p in parameters)


def get_true(
    name,
    shape=None,
    dtype="float32",
    initializer=None,
    regularizer=None,
    reuse=None,
    trainable=None,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    constraint=None,
    synchronization=None,
    aggregation=None,
):
    """Returns the variable with a full name, existing or new, or a PartitionedVariable.

    Raises:
      ValueError: the variable exists and is not reused, or the reverse, or with another shape,
        type or partitioning.
    """
    options = dict(
        regularizer=regularizer,
        reuse=reuse,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        validate_shape=validate_shape,
        use_resource=use_resource,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )
    if partitioner is not None and not _is_scalar(shape):
        if not callable(partitioner):
            raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
        with name_scope(None):
            return get_partitioned(name, partitioner, shape, dtype, initializer, **options)
    known = _known()
    if reuse is True and isinstance(known.get(name), PartitionedVariable):
        return get_partitioned(name, None, shape, dtype, initializer, **options)
    if f"{name}/part_0" in known:
        raise ValueError(
            "No partitioner was provided, but a partitioned version of the variable was found: "
            f"{name}/part_0. Perhaps a variable of the same name was already created with "
            "partitioning?"
        )
    return _get_single(name, shape, dtype, initializer, **options)


def _is_scalar(shape) -> bool:
    if shape is None:
        return False
    return tensor_shape.as_shape(shape).rank == 0


def _known() -> dict:
    """Returns the variables by name where get_variable looks for them."""
    store = eager_store()
    if store is not None:
        return store
    return {} if _situ.current_graph() is None else get_default_graph()._variable_store


def get_partitioned(name, partitioner, shape, dtype, initializer, *, reuse=None, **options):
    """Returns the PartitionedVariable with a full name, existing or new.

    Raises:
      ValueError: as `get_true`.
    """
    known, dtype = _known(), as_dtype(dtype or "float32").base_dtype
    existing = known.get(name)
    if existing is not None and not isinstance(existing, PartitionedVariable):
        raise ValueError(
            "A partitioner was provided, but an unpartitioned version of the variable was found: "
            f"{name}.  Perhaps a variable of the same name was already created without "
            "partitioning?"
        )
    shape = tensor_shape.as_shape(shape)
    if initializer is not None and not callable(initializer) and hasattr(initializer, "shape"):
        shape = shape.merge_with(initializer.shape)
    counts = None
    if not reuse or partitioner is not None:
        counts = partitioned_variable.call_partitioner(partitioner, shape, dtype)
    if existing is not None:
        if not reuse:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set "
                "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
        return _check_partitioned(existing, name, shape, dtype, counts)
    if reuse is True:
        raise ValueError(
            f"PartitionedVariable {name} does not exist, or was not created with "
            "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
        )
    _check_shards(known, name, max(counts))
    options["reuse"] = reuse
    made = partitioned_variable.create(
        _get_single, name, counts, shape, dtype, initializer, options
    )
    known[name] = made
    return made


def _check_partitioned(existing, name, shape, dtype, counts):
    if not shape.is_compatible_with(existing.get_shape()):
        raise ValueError(
            f"Trying to reuse partitioned variable {name}, but specified shape {shape} and found "
            f"shape {existing.get_shape()}."
        )
    if not dtype.is_compatible_with(existing.dtype):
        raise ValueError(
            f"Trying to reuse partitioned variable {name}, but specified dtype {dtype.name} and "
            f"found dtype {existing.dtype.name}."
        )
    if counts is not None and existing._get_partitions() != list(counts):
        raise ValueError(
            f"Trying to reuse partitioned variable {name}, but specified partitions {counts} and "
            f"found partitions {existing._get_partitions()}."
        )
    return existing


def _check_shards(known, name, count):
    """Raises ValueError if another number of shards of a variable exists."""
    if f"{name}/part_0" not in known:
        return
    if f"{name}/part_{count - 1}" not in known:
        raise ValueError(
            "Partitioner returned a different partitioning than what was already found.  "
            f"Partitioner returned {count} shards, and shard {name}/part_0 was found, but "
            f"{name}/part_{count - 1} was not."
        )
    if f"{name}/part_{count}" in known:
        raise ValueError(
            "Partitioner returned a different partitioning than what was already found.  "
            f"Partitioner returned {count} shards, and shard {name}/part_0 was found, but so was "
            f"the extra shard {name}/part_{count}."
        )


def _check_existing(existing, name, shape, dtype):
    if not shape.is_compatible_with(existing.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{existing.shape}."
        )
    if not dtype.is_compatible_with(existing.dtype.base_dtype):
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{existing.dtype.name}."
        )
    return existing


def _has_only_defaults(function) -> bool:
    """Returns whether a function can be called without arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )


def _initial_value(shape, dtype, initializer):
    """Returns the initial value of a new variable, or a function of it, and the type."""
    if initializer is None:
        initializer = init_ops.GlorotUniform() if dtype.is_floating else init_ops.Zeros()
    if not callable(initializer):
        return initializer, None
    if isinstance(initializer, type):
        initializer = initializer()
    if shape.is_fully_defined():
        sizes = shape.as_list()
        return lambda: initializer(sizes, dtype=dtype), dtype
    if _has_only_defaults(initializer):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the "
        "shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` "
        "should be fully defined."
    )


def _get_single(
    name, shape=None, dtype="float32", initializer=None, *, regularizer=None, reuse=None, **options
):
    """Returns the variable with a full name, existing or new: a shard, or one as a whole."""
    if shape is not None and initializer is not None and not callable(initializer):
        raise ValueError("If initializer is a constant, do not specify shape.")
    dtype, shape = as_dtype(dtype).base_dtype, tensor_shape.as_shape(shape)
    known = _known()
    existing = known.get(name)
    if existing is not None:
        if not reuse:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        return _check_existing(existing, name, shape, dtype)
    if reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you "
            "mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    value, dtype = _initial_value(shape, dtype, initializer)
    with name_scope(None):
        made = variable(value, name=name, dtype=dtype, **options)
    known[name] = made
    if eager_store() is not None:
        _collect(made, options["collections"])
    if regularizer is not None:
        _regularize(made, name, regularizer)
    return made


def _collect(made, collections):
    """Adds a variable of an EagerVariableStore to the collections of the default graph."""
    graph = get_default_graph()
    graph.add_to_collections(collections or [GraphKeys.GLOBAL_VARIABLES], made)
    if made.trainable:
        graph.add_to_collection(GraphKeys.TRAINABLE_VARIABLES, made)


def _regularize(made, name, regularizer):
    """Adds the result of a regularizer to the collection of losses."""
    graph = get_default_graph()
    with name_scope(name + "/Regularizer/"):
        loss = regularizer(made)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
