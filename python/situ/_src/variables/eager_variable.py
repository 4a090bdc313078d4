# SPDX-License-Identifier: Apache-2.0
"""eager_variable.py: variables of eager style: a tensor that assign replaces; scatter updates."""

from __future__ import annotations

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
    def forward(self, *others):
        return getattr(self._situ_tensor_(), name)(
            *[o._situ_tensor_() if _is_read_first(o) else o for o in others]
        )

    return forward


def _is_read_first(operand):
    """Whether an operand is a variable that is read before the op: one with a handle is read in
    the op's scope of names."""
    return hasattr(operand, "_situ_tensor_") and not hasattr(operand, "_situ_reads_")


def _has_elements(value):
    """Whether == compares a variable's elements with those of a value; else it is it, or not."""
    return hasattr(value, "dtype") or isinstance(value, (int, float, list, tuple))


class Operators:
    """A variable takes part in expressions as its value does."""

    __array_priority__ = 100
    ref = experimental_ref = _ref

    def __getitem__(self, key):
        return slice_assign.remember(self._situ_tensor_()[key], self, key)

    def __iter__(self):
        return iter(self._situ_tensor_())


for _name in (
    "add sub mul truediv floordiv mod pow matmul radd rsub rmul rtruediv rfloordiv rmod "
    "rpow rmatmul lt le gt ge neg abs and or xor rand ror rxor invert"
).split():
    setattr(Operators, f"__{_name}__", _binary(f"__{_name}__"))


read_listeners: list = []  # lists that every variable read is appended to (tf.custom_gradient)


class Place:
    """Where the copies of mirrored variables are meant: the number of a replica, and whether the
    replica runs ("replica": writes of all are joined) or is changed ("update"). None: all."""

    def __init__(self):
        self.index = self.mode = self.run = None
        self.idle = False  # what this replica computes does not count


place = Place()


class Log:
    """The placement log of eager variables: they say what TensorFlow's would do."""

    on = False

    @classmethod
    def write(cls, row, variable):
        if cls.on and _situ.current_graph() is None:
            _situ.log_call(row, variable._value, variable._device)

    @classmethod
    def call_as(cls, row, variable, function, *args, **kwargs):
        """Calls a function whose ops are not logged, but another one is."""
        if not cls.on or _situ.current_graph() is not None:
            return function(*args, **kwargs)
        cls.set(False)
        try:
            return function(*args, **kwargs)
        finally:
            cls.set(True)
            cls.write(row, variable)

    @classmethod
    def set(cls, on):
        cls.on = on
        _situ.set_log(on)


def _destroy(value, device):
    if Log.on:
        _situ.log_call("DestroyResourceOp", value, device)


class EagerVariable(Operators):
    """A variable with a value of its own."""

    _owner = None  # the mirrored variable of which this is a copy

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
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self.synchronization = variable_modes.synchronization(synchronization, name)
        self.aggregation = variable_modes.aggregation(aggregation, name)
        before = _situ.swap_graph(None)
        try:
            value = initial_value() if callable(initial_value) else initial_value
            dtype = None if dtype is None else as_dtype(dtype)
            if isinstance(value, GraphTensor):  # of the function that is being traced
                value = value.graph.evaluate_now(value)
            self._value = self._at_home(convert_to_tensor(value, dtype))
        finally:
            _situ.swap_graph(before)
        self.trainable = variable_modes.is_trainable(trainable, self.synchronization)
        self.constraint = constraint
        self.name = f"{eager_scope()}{name or 'Variable'}:0"
        self._device = self._value.device
        if Log.on:
            self._log_birth()

    dtype = property(lambda s: s._value.dtype)
    shape = property(lambda s: s._value.shape)
    device = property(lambda s: s._device)
    op = property(lambda s: None)
    handle = property(lambda s: s)

    def _at_home(self, value):
        """The first value where the variable lives: on the device of the scope, else on the best
        one; whole numbers that count steps stay with the host, as TensorFlow's do."""
        if not _situ.current_device() and value.dtype.name in ("int32", "string", "resource"):
            return value
        logs, Log.on = Log.on, False
        _situ.set_log(False)
        try:
            return self._run_unrecorded("Identity", value)
        finally:
            Log.set(logs)

    def _log_birth(self):
        Log.write("VarHandleOp", self)
        Log.write("AssignVariableOp", self)
        weakref.finalize(self, _destroy, self._value, self._device).atexit = False

    def get_shape(self):
        return self.shape

    def numpy(self):
        return self._value.numpy()

    def value(self):
        return self._situ_tensor_()

    read_value = value

    def _local_copy(self):
        """The variable itself; of a mirrored one, the copy that is meant here."""
        return self

    def _situ_tensor_(self):
        graph = _situ.current_graph()
        for heard in read_listeners:
            heard.append(self)
        if graph is not None and graph.building_function:
            return graph.read_variable(self)
        if self.trainable and _situ.tape_count():
            _situ.tape_variable(self, self._value)
        if Log.on:
            Log.write("ReadVariableOp", self)
        return self._value

    def _put(self, value):
        """Sets the value: at once, or when the function that is being traced has run."""
        graph = _situ.current_graph()
        if place.index and self._owner is None and place.mode == "update":
            return self  # it is no replica's own: the first one changes it
        if graph is not None and graph.building_function:
            graph.write_variable(self, value)
        else:
            if value.device != self._device:
                value = _situ.copy_to(value, self._device)
            self._value = self._run_unrecorded("Identity", value) if _situ.tape_count() else value
        return self

    def assign(self, value, use_locking=False, name=None, read_value=True):
        value = convert_to_tensor(
            value, None if hasattr(value, "dtype") and not hasattr(value, "tolist") else self.dtype
        )
        if value.dtype != self.dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {self.dtype.name} for Tensor with "
                f"dtype {value.dtype.name}: {value!r}"
            )
        tensor_shape.as_shape(self.shape).assert_is_compatible_with(value.shape)
        return self._given(Log.call_as("AssignVariableOp", self, self._put, value), read_value)

    def _given(self, variable, read_value):
        """What an assignment returns: the variable, or the operation (None eagerly)."""
        if read_value:
            return variable
        graph = _situ.current_graph()
        return None if graph is None else self._situ_tensor_().op

    @staticmethod
    def _run_unrecorded(name, *inputs, **kwargs):
        """Runs an op that no tape hears of: an assignment has no gradient."""
        count = _situ.tape_pause()
        try:
            return op(name, *inputs, **kwargs)
        finally:
            _situ.tape_resume(count)

    def _changed(self, row, delta):
        value = self._situ_tensor_()
        delta = convert_to_tensor(
            delta, None if hasattr(delta, "dtype") and not hasattr(delta, "tolist") else self.dtype
        )
        if not value.shape.is_compatible_with(delta.shape):  # no broadcasting: it must stay as is
            sizes = [str(list(t.shape.as_list())).replace(" ", "") for t in (value, delta)]
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Cannot update variable with shape {sizes[0]} using a Tensor with "
                f"shape {sizes[1]}, shapes must be equal.",
            )
        return self._put(self._run_unrecorded(row, value, delta))

    def _assign_part(self, parts, value):
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
        return self._given(
            Log.call_as("AssignAddVariableOp", self, self._changed, "Add", delta), read_value
        )

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
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
        return constant(True, "bool")

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


_ROWS = {
    "Update": "TensorScatterUpdate",
    "Add": "TensorScatterAdd",
    "Sub": "TensorScatterSub",
    "Min": "TensorScatterMin",
    "Max": "TensorScatterMax",
}


def _scaled(whole, places, updates, row):
    """Rows multiplied or divided one after the other: by the product of what is for each."""
    count = op("StridedSlice", op("Shape", whole), [0], [1], [1], shrink_axis_mask=1)
    return op(row, whole, op("UnsortedSegmentProd", updates, places, count))


def _by_rows(word):
    def scatter(self, sparse_delta, use_locking=False, name=None):
        whole = self._situ_tensor_()
        places = convert_to_tensor(sparse_delta.indices)
        behind = op("StridedSlice", op("Shape", whole), [1], [0], [1], end_mask=1)
        updates = op(
            "BroadcastTo",
            convert_to_tensor(sparse_delta.values, self.dtype),
            op("ConcatV2", [op("Shape", places), behind], 0),
        )
        if word in _ROWS:
            made = self._run_unrecorded(_ROWS[word], whole, op("ExpandDims", places, -1), updates)
        else:
            made = _scaled(whole, places, updates, word)
        return self._put(made)

    scatter.__name__, scatter.__doc__ = "scatter_" + word.lower(), "Changes rows by their numbers."
    return scatter


def _by_elements(word):
    def scatter(self, indices, updates, name=None):
        return self._put(
            self._run_unrecorded(
                _ROWS[word],
                self._situ_tensor_(),
                convert_to_tensor(indices),
                convert_to_tensor(updates, self.dtype),
            )
        )

    scatter.__name__ = "scatter_nd_" + word.lower()
    scatter.__doc__ = "Changes parts that tuples of numbers name."
    return scatter


for _word in (*_ROWS, "Mul", "Div"):
    setattr(EagerVariable, "scatter_" + _word.lower(), _by_rows(_word))
for _word in _ROWS:
    setattr(EagerVariable, "scatter_nd_" + _word.lower(), _by_elements(_word))
