# SPDX-License-Identifier: Apache-2.0
"""tensor_array_ops.py: tf.TensorArray: a Python list in eager mode, TensorList ops in graphs."""

import _situ
from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.scopes import name_scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import concat, convert_to_tensor, stack


class _TensorArrayBase:
    """What both implementations share. `_known` is a list with the element shape, shared by arrays
    that
    derive from each other."""

    def _begin(self, dtype, infer_shape, element_shape, dynamic):
        self._dtype, self._infer = as_dtype(dtype).base_dtype, infer_shape
        self._known, self._dynamic = [tensor_shape.as_shape(element_shape)], bool(dynamic)

    def _copy(self):
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__)
        return result

    def _learn(self, shape):
        if self._known[0].is_compatible_with(shape):
            self._known[0] = self._known[0].merge_with(shape) if self._infer else self._known[0]
        elif self._infer:
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self._known[0]}")

    dtype = property(lambda s: s._dtype)
    dynamic_size = property(lambda s: s._dynamic)
    element_shape = property(lambda s: s._known[0])

    def _value(self, value):
        tensor = convert_to_tensor(value, None if hasattr(value, "dtype") else self._dtype)
        if tensor.dtype.base_dtype != self._dtype:
            raise ValueError(
                f"Tried to write {tensor.dtype.name} to a TensorArray of {self._dtype.name}"
            )
        return tensor

    def identity(self):
        return self._copy()

    def close(self, name=None):
        return OPS["NoOp"](name=name)


class _EagerArray(_TensorArrayBase):
    """A list of tensors, modified in place."""

    def __init__(self, dtype, size, dynamic, infer_shape, element_shape, clear):
        self._begin(dtype, infer_shape, element_shape, dynamic)
        try:
            self._items, self._clear = [None] * int(size), clear
        except (MemoryError, OverflowError) as error:
            raise errors.ResourceExhaustedError(
                None, None, f"OOM when allocating a TensorArray of {size} elements"
            ) from error

    handle = flow = property(lambda s: None)

    def _at(self, index):
        index = int(index)
        if index < 0:
            raise IndexError(f"Reading from negative indices (index {index}) is not allowed.")
        return index

    def read(self, index, name=None):
        del name  # eager tensors have no names
        index = self._at(index)
        if index >= len(self._items):
            raise errors.OutOfRangeError(
                None,
                None,
                f"Tried to read from index {index} but array size is: {len(self._items)} ",
            )
        value = self._items[index]
        if value is None:
            if self._clear and index in self.__dict__.get("_read", ()):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Could not read index {index} twice because it was cleared after "
                    "a previous read (perhaps try setting clear_after_read = false?)",
                )
            value = self._zeros(index)
        if self._clear:
            self.__dict__.setdefault("_read", set()).add(index)
            self._items[index] = None
        return value

    def _zeros(self, index):
        if not self._known[0].is_fully_defined():
            raise errors.InvalidArgumentError(
                None, None, f"Could not read index {index} because it has not been written to."
            )
        return OPS["Fill"](self._known[0].as_list(), convert_to_tensor(0, self._dtype))

    def write(self, index, value, name=None):
        del name  # eager tensors have no names
        index, value = self._at(index), self._value(value)
        self._learn(value.shape)
        if index >= len(self._items):
            if not self._dynamic:
                raise errors.OutOfRangeError(
                    None,
                    None,
                    f"Tried to write to index {index} but "
                    f"array is not resizeable and size is: "
                    f"{len(self._items)} ",
                )
            self._items += [None] * (index + 1 - len(self._items))
        self._items[index] = value
        return self

    def _all(self):
        return [self._zeros(i) if v is None else v for i, v in enumerate(self._items)]

    def stack(self, name=None):
        del name  # eager tensors have no names
        return stack(self._all())

    def concat(self, name=None):
        del name  # eager tensors have no names
        return concat(self._all(), 0)

    def gather(self, indices, name=None):
        del name  # eager tensors have no names
        items = self._all()
        return stack([items[int(i)] for i in convert_to_tensor(indices).numpy()])

    def unstack(self, value, name=None):
        del name  # eager tensors have no names
        value = self._value(value)
        self._items = list(OPS["Unpack"](value, num=int(value.shape[0])))
        self._learn(value.shape[1:])
        return self

    def scatter(self, indices, value, name=None):
        del name  # eager tensors have no names
        value = self._value(value)
        rows = OPS["Unpack"](value, num=int(value.shape[0]))
        for i, row in zip(convert_to_tensor(indices).numpy(), rows):
            self.write(int(i), row)
        return self

    def split(self, value, lengths, name=None):
        del name  # eager tensors have no names
        at = 0
        for i, n in enumerate(convert_to_tensor(lengths).numpy()):
            self.write(i, self._value(value)[at : at + int(n)])
            at += int(n)
        return self

    def size(self, name=None):
        del name  # eager tensors have no names
        return convert_to_tensor(len(self._items), "int32")


class _GraphArray(_TensorArrayBase):
    """A TensorList; each write returns another one."""

    def __init__(self, dtype, size, dynamic, infer_shape, element_shape, name, flow):
        self._begin(dtype, infer_shape, element_shape, dynamic)
        if flow is None:
            with name_scope(name, "TensorArrayV2"):
                flow = OPS["TensorListReserve"](
                    self._shape_of_elements(),
                    convert_to_tensor(size, "int32"),
                    element_dtype=self._dtype,
                )
        self._list, self._count = (
            flow,
            constant_value(convert_to_tensor(size)) if not dynamic and size is not None else None,
        )

    handle = flow = property(lambda s: s._list)

    def _flow(self):
        return self._list

    def _with_flow(self, flow):
        result = self._copy()
        result._list = flow
        return result

    def _shape_of_elements(self):
        return dims_of(self._known[0])

    def read(self, index, name=None):
        with name_scope(name, "TensorArrayV2Read"):
            return OPS["TensorListGetItem"](
                self._list,
                convert_to_tensor(index, "int32"),
                self._shape_of_elements(),
                element_dtype=self._dtype,
            )

    def write(self, index, value, name=None):
        with name_scope(name, "TensorArrayV2Write"):
            value = self._value(value)
            self._learn(value.shape)
            return self._with_flow(
                OPS["TensorListSetItem"](
                    self._list,
                    convert_to_tensor(index, "int32"),
                    value,
                    resize_if_index_out_of_bounds=self._dynamic,
                )
            )

    def stack(self, name=None):
        with name_scope(name, "TensorArrayV2Stack"):
            return OPS["TensorListStack"](
                self._list,
                self._shape_of_elements(),
                element_dtype=self._dtype,
                num_elements=-1 if self._count is None else int(self._count),
            )

    def gather(self, indices, name=None):
        with name_scope(name, "TensorArrayV2Gather"):
            return OPS["TensorListGather"](
                self._list,
                convert_to_tensor(indices, "int32"),
                self._shape_of_elements(),
                element_dtype=self._dtype,
            )

    def concat(self, name=None):
        with name_scope(name, "TensorArrayV2Concat"):
            return OPS["TensorListConcatV2"](
                self._list,
                self._shape_of_elements(),
                convert_to_tensor([], "int64"),
                element_dtype=self._dtype,
            )[0]

    def unstack(self, value, name=None):
        with name_scope(name, "TensorArrayUnstack"):
            value = self._value(value)
            self._learn(value.shape[1:])
            result = self._with_flow(OPS["TensorListFromTensor"](value, self._shape_of_elements()))
            result._count = value.shape.as_list()[0] if value.shape.ndims else None
            return result

    def scatter(self, indices, value, name=None):
        with name_scope(name, "TensorArrayV2Scatter"):
            value = self._value(value)
            self._learn(value.shape[1:])
            return self._with_flow(
                OPS["TensorListScatterIntoExistingList"](
                    self._list, value, convert_to_tensor(indices, "int32")
                )
            )

    def split(self, value, lengths, name=None):
        with name_scope(name, "TensorArrayV2Split"):
            return self._with_flow(
                OPS["TensorListSplit"](
                    self._value(value),
                    convert_to_tensor(-1, "int32"),
                    convert_to_tensor(lengths, "int64"),
                )
            )

    def size(self, name=None):
        return OPS["TensorListLength"](self._list, name=name)


def dims_of(shape):
    """Returns the element shape of a TensorList as a tensor."""
    dims = -1 if shape.ndims is None else [-1 if d is None else d for d in shape.as_list()]
    return convert_to_tensor(dims, "int32")


def from_list(flow, dtype, element_shape, dynamic, infer_shape):
    """Returns the TensorArray with the elements of a TensorList."""
    return _GraphArray(dtype, None, dynamic, infer_shape, element_shape, None, flow)


class _TensorArrayMeta(type):
    def __call__(
        cls,
        dtype,
        size=None,
        dynamic_size=None,
        clear_after_read=None,
        tensor_array_name=None,
        handle=None,
        flow=None,
        infer_shape=True,
        element_shape=None,
        colocate_with_first_write_call=True,
        name=None,
    ):
        del colocate_with_first_write_call  # situ places a TensorArray by its uses
        if size is None and flow is None and handle is None:
            size, dynamic_size = 0, True if dynamic_size is None else dynamic_size
        if _situ.current_graph() is None:
            return _EagerArray(
                dtype, size, dynamic_size, infer_shape, element_shape, clear_after_read is not False
            )
        return _GraphArray(
            dtype, size, dynamic_size, infer_shape, element_shape, name or tensor_array_name, flow
        )

    def __instancecheck__(cls, thing):
        return isinstance(thing, _TensorArrayBase)


@export("TensorArray")
class TensorArray(metaclass=_TensorArrayMeta):
    """An array of tensors for loops: `TensorArray(dtype, size)`."""
