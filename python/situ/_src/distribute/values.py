# SPDX-License-Identifier: Apache-2.0
"""values.py: values of replicas: PerReplica, mirrored variables, and variables that are reduced
when they are read."""

from __future__ import annotations

import contextlib

import _situ
from situ._src.framework import nest, style
from situ._src.framework.api import export
from situ._src.framework.indexed_slices import IndexedSlices, is_slices
from situ._src.framework.scopes import device
from situ._src.framework.tensor import copy_to_device
from situ._src.framework.type_spec import TypeSpec, spec_of
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.variables.eager_variable import EagerVariable, place
from situ._src.variables.synchronization import VariableAggregation, VariableSynchronization


class PerReplicaSpec(TypeSpec):
    """Describes a PerReplica: the TypeSpec of each value."""

    def __init__(self, *value_specs):
        self.value_specs = value_specs

    value_type = property(lambda s: PerReplica)
    shape = property(lambda s: s.value_specs[0].shape)
    dtype = property(lambda s: s.value_specs[0].dtype)
    _situ_tensors_ = property(lambda s: list(s.value_specs))

    def _situ_from_tensors_(self, tensors):
        return PerReplica(tensors)

    def is_compatible_with(self, spec_or_value):
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        return self._matches(other) and all(
            own.is_compatible_with(spec) for own, spec in zip(self.value_specs, other.value_specs)
        )

    def is_subtype_of(self, other):
        return self._matches(other) and all(
            own.is_subtype_of(spec) for own, spec in zip(self.value_specs, other.value_specs)
        )

    def most_specific_common_supertype(self, others):
        if not all(self._matches(other) for other in others):
            return None
        columns = zip(self.value_specs, *(other.value_specs for other in others))
        common = [own.most_specific_common_supertype(rest) for own, *rest in columns]
        return None if None in common else PerReplicaSpec(*common)

    def _matches(self, other):
        return isinstance(other, PerReplicaSpec) and len(other.value_specs) == len(self.value_specs)

    def __eq__(self, other):
        return isinstance(other, PerReplicaSpec) and other.value_specs == self.value_specs

    def __hash__(self):
        return hash(self.value_specs)

    def __repr__(self):
        return f"PerReplicaSpec{self.value_specs!r}"


class PerReplica(tuple):
    """One value for each replica."""

    _situ_leaf_ = True
    values = property(lambda s: tuple(s))
    _situ_tensors_ = values
    _type_spec = property(lambda s: PerReplicaSpec(*map(spec_of, s)))

    @classmethod
    def _make(cls, parts):
        return cls(parts)

    _situ_from_tensors_ = _make

    def __repr__(self):
        lines = ",\n".join(f"  {i}: {v!r}" for i, v in enumerate(self))
        return "PerReplica:{\n" + lines + "\n}"

    __str__ = __repr__

    @property
    def dtype(self):
        return self[0].dtype

    @property
    def shape(self):
        return self[0].shape


def chosen(index, structure):
    """Returns the arguments of one replica."""
    choose = lambda value: value[index] if isinstance(value, PerReplica) else value
    return nest.map_structure(choose, structure)


def group_results(results):
    """Groups the results of replicas leaf by leaf."""

    def group(*values):  # a value that all replicas share stays one
        return values[0] if all(v is values[0] for v in values) else PerReplica(values)

    return nest.CORE.map(group, *results)


@contextlib.contextmanager
def at(index, mode, run=None):
    """Sets the current replica: it runs, or its copies of variables are updated."""
    before = place.index, place.mode, place.run
    place.index, place.mode, place.run = index, mode, run
    try:
        yield
    finally:
        place.index, place.mode, place.run = before


def on(where, tensor):
    """Copies a tensor or IndexedSlices to a device; in a graph with an operation."""
    if is_slices(tensor):
        return IndexedSlices(*[on(where, part) for part in tensor._situ_parts_])
    graph = _situ.current_graph()
    if graph is None:
        return tensor if tensor.device == where else copy_to_device(tensor, where)
    with device(None), device(where):
        return op("Identity", tensor)


def joined(values, how, where):
    """Reduces the values of replicas on a device, in a fixed order."""
    if how is VariableAggregation.ONLY_FIRST_REPLICA or len(values) == 1:
        return values[0]
    with device(where):
        total = op("AddN", [convert_to_tensor(v) for v in values])
        return total / len(values) if how is VariableAggregation.MEAN else total


def of_replicas(strategy, value):
    """Returns the list of the values of the replicas of this process."""
    return list(value) if isinstance(value, PerReplica) else [value] * len(strategy.devices)


@export("distribute.experimental.ValueContext")
class ValueContext:
    """The replica that a value is created for."""

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1):
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync


def total(strategy, values, variable):
    """Returns what an assignment of the replicas' values assigns to a variable that they share.

    Raises:
      ValueError: the mean of integers.
    """
    how = variable.aggregation
    if isinstance(values, PerReplica):
        if how is VariableAggregation.MEAN and not variable.dtype.is_floating:
            raise ValueError(
                "Cannot update non-float variables with tf.VariableAggregation.MEAN aggregation in "
                "replica context. Either change the variable dtype to float or update it in "
                "cross-replica context."
            )
        return joined(values, how, variable.device)
    if how is not VariableAggregation.SUM:
        return values
    return joined(of_replicas(strategy, values), how, variable.device)


class Copies(EagerVariable):
    """A variable with a copy on each device of a strategy."""

    def __init__(self, parts, trainable, constraint, name, aggregation):
        self._parts, self.trainable, self.constraint = parts, trainable, constraint
        self.name, self.aggregation = name, aggregation
        self._static_shape = parts[0]._static_shape
        self.across = None  # a strategy over several processes
        for part in parts:
            part._owner = self

    values = property(lambda s: tuple(s._parts))
    _value = property(lambda s: s._local_copy()._value)
    device = property(lambda s: s._local_copy()._device)
    _device = device

    home = None  # the number of the device that changes it and has its slots; None: all do

    def _local_copy(self):
        index = place.index if place.index is not None else self._main()
        return self._parts[index] if len(self._parts) > 1 else self._parts[0]

    def _main(self):
        """Returns the index of the copy that is read outside of replicas."""
        return 0

    def _situ_tensor_(self):
        return self._local_copy()._situ_tensor_()

    def _put_all(self, value):
        """Assigns a value to every copy."""
        for part in self._parts:
            part._put(on(part._device, value))
        return self

    @property
    def primary(self):
        return self._parts[0]

    def __repr__(self):
        inner = ",\n".join(f"  {i}: {p!r}" for i, p in enumerate(self._parts))
        return f"{type(self).__name__}:{{\n{inner}\n}}"


_NEEDS_AGGREGATION = (
    "You must specify an aggregation method to update a MirroredVariable in Replica Context. You "
    "can do so by passing an explicit value for argument `aggregation` to tf.Variable(..).e.g. "
    "`tf.Variable(..., aggregation=tf.VariableAggregation.SUM)``tf.VariableAggregation` lists the "
    "possible aggregation methods.This is required because MirroredVariable should always be kept "
    "in sync. When updating them or assigning to them in a replica context, we automatically try "
    "to aggregate the values before updating the variable."
)


class MirroredVariable(Copies):
    """A variable whose copies are always equal: values that replicas assign are reduced first."""

    def _defer(self, kind, value):
        if self.aggregation is not VariableAggregation.NONE:
            place.run.write(self, kind, value)
            return self
        if style.is_graph_program():
            raise ValueError(_NEEDS_AGGREGATION)
        with at(place.index, "update"):  # TensorFlow 2: each replica changes its own copy
            self._put(self._changed(kind, value))
        return self

    def _changed(self, kind, value):
        """Returns the value of the local copy after a change."""
        if kind == "set":
            return value
        op_name = "Add" if kind == "add" else "Sub"
        return self._run_unrecorded(op_name, self._situ_tensor_(), value)

    def _put(self, value):
        if place.mode == "replica":
            return self._defer("set", value)
        if place.mode == "update":
            if not place.index or len(self._parts) > 1:  # a single copy is changed once
                self._local_copy()._put(value)
            return self
        return self._put_all(value)

    def _change(self, kind, delta):
        delta = convert_to_tensor(delta, self.dtype)
        if place.mode == "replica":
            return self._defer(kind, delta)
        return self._put(self._changed(kind, delta))

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        del use_locking, name  # an assignment replaces the tensors, without an op
        return self._given(self._change("add", delta), read_value)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        del use_locking, name  # an assignment replaces the tensors, without an op
        return self._given(self._change("sub", delta), read_value)

    def join(self, kind, values):
        """Assigns the reduced values of the replicas to all copies."""
        with at(None, None):
            value = joined(values, self.aggregation, self._parts[0]._device)
            if self.across is not None:
                value = self.across.joined_over_processes(value, self.aggregation.name.lower())
        for index, part in enumerate(self._parts):
            with at(index, "update"), device(part._device):
                part._put(on(part._device, self._changed(kind, value)))

    def spread(self):
        """Copies the value of the home device to the other devices."""
        with at(self.home, "update"):
            value = self._parts[self.home]._situ_tensor_()
        for index, part in enumerate(self._parts):
            if index != self.home:
                with at(index, "update"):
                    part._put(on(part._device, value))

    def mirrored_like(self, value, name):
        """Creates a mirrored variable for a slot of an optimizer."""
        parts = []
        for i, part in enumerate(self._parts):
            with device(part._device):
                first = value() if callable(value) else value
                parts.append(
                    EagerVariable(
                        on(part._device, convert_to_tensor(first, self.dtype.base_dtype)),
                        trainable=False,
                        name=copy_name(name, i),
                    )
                )
        return Slot(parts, self)


class Slot(MirroredVariable):
    """A slot variable of an optimizer; only the copy on the variable's home device is valid."""

    def __init__(self, parts, variable):
        super().__init__(parts, False, None, parts[0].name, VariableAggregation.NONE)
        self._variable = variable

    def _main(self):
        return self._variable.home or 0


class SyncOnReadVariable(Copies):
    """A variable with a value per replica, which are reduced when it is read outside of
    replicas."""

    synchronization = VariableSynchronization.ON_READ

    def _is_local(self):
        return place.mode in ("replica", "update")

    def _situ_tensor_(self):
        if self._is_local():
            return super()._situ_tensor_()
        how = self.aggregation
        if how is VariableAggregation.NONE:
            raise ValueError(
                "Could not convert from `tf.VariableAggregation` "
                f"{how} to`tf.distribute.ReduceOp` type"
            )
        total = joined([p._situ_tensor_() for p in self._parts], how, self._parts[0]._device)
        if self.across is None or how is VariableAggregation.ONLY_FIRST_REPLICA:
            return total
        return self.across.sum_over_processes([total], how.name.lower())[0]

    def numpy(self):
        return self._situ_tensor_().numpy()

    def _put(self, value):
        if self._is_local():
            if not place.idle:
                self._local_copy()._put(value)
            return self
        if self.aggregation is VariableAggregation.SUM:  # so that their sum is the value
            value = self._run_unrecorded("Cast", value / self._copies(), DstT=self.dtype)
        return self._put_all(value)

    def _copies(self):
        """Returns the number of values that a read in cross-replica context reduces."""
        return len(self._parts) if self.across is None else self.across.num_replicas_in_sync

    def _change(self, name, op_name, delta):
        delta = convert_to_tensor(delta, self.dtype)
        if self._is_local():
            return self._put(self._run_unrecorded(op_name, self._situ_tensor_(), delta))
        if self.aggregation is VariableAggregation.SUM:
            raise ValueError(
                f"SyncOnReadVariable does not support `{name}` in cross-replica "
                "context when aggregation is set to `tf.VariableAggregation.SUM`."
            )
        for index, part in enumerate(self._parts):
            with at(index, "update"), device(part._device):
                part._put(
                    self._run_unrecorded(op_name, part._situ_tensor_(), on(part._device, delta))
                )
        return self

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        del use_locking, name  # an assignment replaces the tensors, without an op
        return self._given(self._change("assign_add", "Add", delta), read_value)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        del use_locking, name  # an assignment replaces the tensors, without an op
        return self._given(self._change("assign_sub", "Sub", delta), read_value)


def copy_name(name, index):
    return name if not index else f"{name}/replica_{index}"
