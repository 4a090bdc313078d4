# SPDX-License-Identifier: Apache-2.0
"""eager_variable.py: tf.Variable in eager style: an immutable tensor that assignments replace,
placement logging, and scatter updates."""

from __future__ import annotations

import threading
import weakref

import _situ
from situ._src.framework import errors, tensor_shape
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.scopes import eager_scope
from situ._src.framework.tensor import GraphTensor, _ref
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.variables import slice_assign
from situ._src.variables import synchronization as variable_modes


def _binary(name):
    """Returns an operator method that applies an operator to the values of variables."""

    def forward(self, *others):
        return getattr(self._situ_tensor_(), name)(
            *[o._situ_tensor_() if _is_read_first(o) else o for o in others]
        )

    return forward


def _is_read_first(operand):
    """Returns whether an operand is a variable to read before the op. A resource variable is read
    in the name scope of the op instead."""
    return hasattr(operand, "_situ_tensor_") and not hasattr(operand, "_situ_reads_")


def _has_elements(value):
    """Returns whether == compares elements; otherwise it compares identity."""
    return hasattr(value, "dtype") or isinstance(value, (int, float, list, tuple))


class Operators:
    """Operators of variables, which apply to their values."""

    __array_priority__ = 100
    ref = experimental_ref = _ref

    def __getitem__(self, key):
        return slice_assign.register_slice(self._situ_tensor_()[key], self, key)

    def __iter__(self):
        return iter(self._situ_tensor_())


for _name in (
    "add sub mul truediv floordiv mod pow matmul radd rsub rmul rtruediv rfloordiv rmod "
    "rpow rmatmul lt le gt ge neg abs and or xor rand ror rxor invert"
).split():
    setattr(Operators, f"__{_name}__", _binary(f"__{_name}__"))


class _Reads(threading.local):
    """The lists that every variable read of this thread is appended to (tf.custom_gradient)."""

    def __init__(self):
        self.listeners = []


reads = _Reads()


class Place(threading.local):
    """The replica context of mirrored variables in this thread: the index of the current replica
    (None: all copies) and the mode, "replica" (writes are aggregated) or "update" (a copy is
    assigned)."""

    def __init__(self):
        self.index = self.mode = self.run = None
        self.idle = False  # the results of this replica are ignored


place = Place()


class Log:
    """The placement log of eager variables. It logs the ops that TensorFlow would run."""

    on = False

    @classmethod
    def write(cls, op_name, variable):
        """Logs an op with the device of a variable."""
        if cls.on and _situ.current_graph() is None:
            _situ.log_call(op_name, variable._value, variable._device)

    @classmethod
    def call_as(cls, op_name, variable, function, *args, **kwargs):
        """Calls a function with logging of its ops replaced by one entry for `op_name`."""
        if not cls.on or _situ.current_graph() is not None:
            return function(*args, **kwargs)
        cls.set(False)
        try:
            return function(*args, **kwargs)
        finally:
            cls.set(True)
            cls.write(op_name, variable)

    @classmethod
    def set(cls, on):
        cls.on = on
        _situ.set_log(on)


def _destroy(value, device):
    if Log.on:
        _situ.log_call("DestroyResourceOp", value, device)


def compatible_shape(value, shape):
    """Returns the argument `shape` of a variable as a TensorShape.

    Raises:
      ValueError: the initial value has another shape.
    """
    if not value.shape.is_compatible_with(shape):
        raise ValueError(
            f"In this `tf.Variable` creation, the initial value's shape ({value.shape}) is not "
            f"compatible with the explicitly supplied `shape` argument ({shape})."
        )
    return tensor_shape.as_shape(shape)


def checked_constraint(constraint):
    """Returns the constraint of a variable: a function or None, else ValueError."""
    if constraint is not None and not callable(constraint):
        raise ValueError(
            "Argument `constraint` must be None or a callable. "
            f"Got a {type(constraint)}: {constraint}"
        )
    return constraint


class EagerVariable(Operators):
    """A variable whose value is a tensor; assignments replace the tensor.

    Args:
      initial_value: a value that converts to a tensor, or a function that returns one.
      trainable: whether tapes watch the variable and optimizers update it; True by
        default, False for ON_READ.
      validate_shape: ignored, as for resource variables of TensorFlow; see `shape`.
      caching_device: ignored; each read returns the current value.
      name: the name; "Variable" by default.
      variable_def: only for graphs.
      dtype: the type; by default that of the initial value.
      import_scope: ignored; it belongs to `variable_def`.
      constraint: a function that optimizers apply to the value after an update.
      synchronization: a tf.VariableSynchronization.
      aggregation: a tf.VariableAggregation.
      shape: the static shape; by default that of the initial value. Values of any compatible
        shape can be assigned.
      collections: ignored; collections belong to graphs.
      use_resource: ignored; eager variables are resource variables.

    Raises:
      ValueError: there is no initial value, its shape is not compatible with `shape`, or there is
        a `variable_def`.
    """

    _owner = None  # the mirrored variable that this is a copy of
    _static_shape = None  # the argument `shape`

    synchronization = variable_modes.VariableSynchronization.AUTO
    aggregation = variable_modes.VariableAggregation.NONE

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        import_scope=None,
        constraint=None,
        synchronization=None,
        aggregation=None,
        shape=None,
        collections=None,
        use_resource=None,
    ):
        del validate_shape  # TensorFlow ignores it, too: `shape` decides
        del caching_device  # nothing is cached: a read returns the current value
        del import_scope  # a prefix for the names in variable_def
        del collections, use_resource  # of variables in graphs
        if variable_def is not None:
            raise ValueError(
                "Creating a `tf.Variable` with a `variable_def` arg is not supported when eager "
                f"execution is enabled. Got: variable_def={variable_def}"
            )
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self.synchronization = variable_modes.synchronization(synchronization, name)
        self.aggregation = variable_modes.aggregation(aggregation, name)
        before = _situ.swap_graph(None)
        try:
            value = initial_value() if callable(initial_value) else initial_value
            dtype = None if dtype is None else as_dtype(dtype)
            if isinstance(value, GraphTensor):  # of the traced function
                value = value.graph.evaluate_now(value)
            self._value = self._at_home(convert_to_tensor(value, dtype))
        finally:
            _situ.swap_graph(before)
        if shape is not None:
            self._static_shape = compatible_shape(self._value, shape)
        self.trainable = variable_modes.is_trainable(trainable, self.synchronization)
        self.constraint = checked_constraint(constraint)
        self.name = f"{eager_scope()}{name or 'Variable'}:0"
        self._device = self._value.device
        if Log.on:
            self._log_creation()

    dtype = property(lambda s: s._value.dtype)
    shape = property(lambda s: s._value.shape if s._static_shape is None else s._static_shape)
    device = property(lambda s: s._device)
    _trace_device = device  # of its values in the graph of a function
    op = property(lambda s: None)
    handle = property(lambda s: s)

    def _at_home(self, value):
        """Copies the initial value to the device of the variable: that of the scope, else the
        default device. int32, strings and resources stay on the host, as in TensorFlow."""
        if not _situ.current_device() and value.dtype.name in ("int32", "string", "resource"):
            return value
        logs, Log.on = Log.on, False
        _situ.set_log(False)
        try:
            return self._run_unrecorded("Identity", value)
        finally:
            Log.set(logs)

    def _log_creation(self):
        """Logs the ops that create the variable, and its destruction later."""
        Log.write("VarHandleOp", self)
        Log.write("AssignVariableOp", self)
        weakref.finalize(self, _destroy, self._value, self._device).atexit = False

    def get_shape(self):
        """Returns the shape."""
        return self.shape

    def numpy(self):
        """Returns the value as a NumPy array."""
        return self._value.numpy()

    def value(self):
        """Returns the value as a tensor."""
        return self._situ_tensor_()

    read_value = value

    def _local_copy(self):
        """Returns the variable; of a mirrored variable the copy of the current replica."""
        return self

    def _situ_tensor_(self):
        graph = _situ.current_graph()
        for heard in reads.listeners:
            heard.append(self)
        if graph is not None and graph.building_function:
            return graph.read_variable(self)
        if self.trainable and _situ.tape_count():
            _situ.tape_variable(self, self._value)
        if Log.on:
            Log.write("ReadVariableOp", self)
        return self._value

    def _put(self, value):
        """Sets the value: immediately, or at the end of the function that is being traced."""
        graph = _situ.current_graph()
        if place.index and self._owner is None and place.mode == "update":
            return self  # not mirrored: the first replica assigns it
        if graph is not None and graph.building_function:
            graph.write_variable(self, value)
        else:
            if value.device != self._device:
                value = _situ.copy_to(value, self._device)
            self._value = self._run_unrecorded("Identity", value) if _situ.tape_count() else value
        return self

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Assigns a value.

        Args:
          value: a value of the shape and type of the variable.
          use_locking: ignored; an assignment replaces the whole tensor.
          name: ignored; an assignment is not an op.
          read_value: whether to return the variable.

        Returns:
          The variable; if `read_value` is false, None, or in a graph an operation.

        Raises:
          ValueError: the shape or type does not match.
        """
        del use_locking, name  # an assignment replaces the tensor, without an op
        value = convert_to_tensor(
            value, None if hasattr(value, "dtype") and not hasattr(value, "tolist") else self.dtype
        )
        if value.dtype != self.dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {self.dtype.name} for Tensor with "
                f"dtype {value.dtype.name}: {value!r}, assigned to variable '{self.name}'"
            )
        if not tensor_shape.as_shape(self.shape).is_compatible_with(value.shape):
            raise ValueError(
                f"Cannot assign a value of shape {value.shape} to variable '{self.name}' of shape "
                f"{self.shape}: Shapes {self.shape} and {value.shape} are incompatible"
            )
        return self._given(Log.call_as("AssignVariableOp", self, self._put, value), read_value)

    def _given(self, variable, read_value):
        """Returns the result of an assignment: the variable, or the operation (None eagerly)."""
        if read_value:
            return variable
        graph = _situ.current_graph()
        return None if graph is None else self._situ_tensor_().op

    @staticmethod
    def _run_unrecorded(name, *inputs, **kwargs):
        """Runs an op without recording it on tapes, as an assignment has no gradient."""
        count = _situ.tape_pause()
        try:
            return op(name, *inputs, **kwargs)
        finally:
            _situ.tape_resume(count)

    def _changed(self, op_name, delta):
        """Sets the value to op(value, delta)."""
        value = self._situ_tensor_()
        delta = convert_to_tensor(
            delta, None if hasattr(delta, "dtype") and not hasattr(delta, "tolist") else self.dtype
        )
        if not value.shape.is_compatible_with(delta.shape):  # no broadcasting
            sizes = [str(list(t.shape.as_list())).replace(" ", "") for t in (value, delta)]
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Cannot update variable with shape {sizes[0]} using a Tensor with "
                f"shape {sizes[1]}, shapes must be equal. Variable: '{self.name}'.",
            )
        return self._put(self._run_unrecorded(op_name, value, delta))

    def _assign_part(self, parts, value, name):
        del name  # an assignment replaces the tensor, without an op
        begin, end, strides, masks = parts
        return self._put(
            self._run_unrecorded(
                "TensorStridedSliceUpdate",
                self._situ_tensor_(),
                begin,
                end,
                strides,
                value,
                **masks,
            )
        )

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """Adds to the value.

        Args:
          delta: a value of the shape and type of the variable.
          use_locking: ignored; an assignment replaces the whole tensor.
          name: ignored; an assignment is not an op.
          read_value: whether to return the variable.

        Returns:
          The variable; if `read_value` is false, None, or in a graph an operation.

        Raises:
          InvalidArgumentError: the shape does not match.
        """
        del use_locking, name  # an assignment replaces the tensor, without an op
        return self._given(
            Log.call_as("AssignAddVariableOp", self, self._changed, "Add", delta), read_value
        )

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """Subtracts from the value.

        Args:
          delta: a value of the shape and type of the variable.
          use_locking: ignored; an assignment replaces the whole tensor.
          name: ignored; an assignment is not an op.
          read_value: whether to return the variable.

        Returns:
          The variable; if `read_value` is false, None, or in a graph an operation.

        Raises:
          InvalidArgumentError: the shape does not match.
        """
        del use_locking, name  # an assignment replaces the tensor, without an op
        return self._given(
            Log.call_as("AssignSubVariableOp", self, self._changed, "Sub", delta), read_value
        )

    def sparse_read(self, indices, name=None):
        """Returns the slices along the first axis at `indices`."""
        return op("GatherV2", self._situ_tensor_(), indices, 0, name=name)

    def gather_nd(self, indices, name=None):
        """Returns the slices that the index tuples in the last axis of `indices` select."""
        return op("GatherNd", self._situ_tensor_(), indices, name=name)

    def is_initialized(self, name=None):
        """Returns a true boolean tensor: an eager variable always has a value."""
        return constant(True, "bool", name=name)

    initializer = None  # the value is set at construction, as in TensorFlow

    @property
    def initial_value(self):
        """Not available, as in TensorFlow: only variables of graphs keep it."""
        raise RuntimeError("This property is not supported when eager execution is enabled.")

    def initialized_value(self):
        """Returns the value of the variable."""
        return self._situ_tensor_()

    def __array__(self, dtype=None, copy=None):
        found = self._value.__array__() if dtype is None else self._value.__array__(dtype)
        return found.copy() if copy else found

    def __float__(self):
        return float(self._value)

    def __int__(self):
        return int(self._value)

    def __bool__(self):
        return bool(self._value)

    def __repr__(self):
        text = repr(self._value).split("numpy=", 1)[1][:-1]
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={text}>"
        )

    def __eq__(self, other):
        return _binary("__eq__")(self, other) if _has_elements(other) else self is other

    def __ne__(self, other):
        return _binary("__ne__")(self, other) if _has_elements(other) else self is not other

    def __hash__(self):
        return id(self)


_SCATTER_OPS = {
    "Update": "TensorScatterUpdate",
    "Add": "TensorScatterAdd",
    "Sub": "TensorScatterSub",
    "Min": "TensorScatterMin",
    "Max": "TensorScatterMax",
}


def _scaled(value, indices, updates, op_name):
    """Multiplies or divides slices; of equal indices by the product of the updates."""
    count = op("StridedSlice", op("Shape", value), [0], [1], [1], shrink_axis_mask=1)
    return op(op_name, value, op("UnsortedSegmentProd", updates, indices, count))


def _scatter_method(update):
    def scatter(self, sparse_delta, use_locking=False, name=None):
        del use_locking, name  # an assignment replaces the tensor, without an op
        value = self._situ_tensor_()
        indices = convert_to_tensor(sparse_delta.indices)
        slice_shape = op("StridedSlice", op("Shape", value), [1], [0], [1], end_mask=1)
        updates = op(
            "BroadcastTo",
            convert_to_tensor(sparse_delta.values, self.dtype),
            op("ConcatV2", [op("Shape", indices), slice_shape], 0),
        )
        if update in _SCATTER_OPS:
            result = self._run_unrecorded(
                _SCATTER_OPS[update], value, op("ExpandDims", indices, -1), updates
            )
        else:
            result = _scaled(value, indices, updates, update)
        return self._put(result)

    scatter.__name__, scatter.__doc__ = (
        "scatter_" + update.lower(),
        "Updates slices along the first axis: sparse_delta is a tf.IndexedSlices.",
    )
    return scatter


def _scatter_nd_method(update):
    def scatter(self, indices, updates, name=None):
        del name  # an assignment replaces the tensor, without an op
        return self._put(
            self._run_unrecorded(
                _SCATTER_OPS[update],
                self._situ_tensor_(),
                convert_to_tensor(indices),
                convert_to_tensor(updates, self.dtype),
            )
        )

    scatter.__name__ = "scatter_nd_" + update.lower()
    scatter.__doc__ = (
        "Updates the slices that the index tuples in the last axis of `indices` select."
    )
    return scatter


for _update in (*_SCATTER_OPS, "Mul", "Div"):
    setattr(EagerVariable, "scatter_" + _update.lower(), _scatter_method(_update))
for _update in _SCATTER_OPS:
    setattr(EagerVariable, "scatter_nd_" + _update.lower(), _scatter_nd_method(_update))
