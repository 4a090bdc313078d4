# SPDX-License-Identifier: Apache-2.0
"""import_tensor_arrays.py: TensorArray nodes of TensorFlow 1 in GraphDefs become operations on
TensorLists. The flow of a TensorArray is its list; the handle identifies it only."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import OPS
from situ._src.framework.tensor_shape import as_shape
from situ._src.ops.array_ops import convert_to_tensor


class Arrays:
    """The TensorArrays of a GraphDef."""

    def __init__(self) -> None:
        self._dynamic: dict[str, bool] = {}  # name of a handle -> whether the array grows

    @staticmethod
    def has(kind: str) -> bool:
        """Returns whether an op is one on TensorArrays."""
        return _method(kind) is not None and kind not in OPS

    def add(self, kind: str, inputs: list, attrs: dict, name: str) -> list:
        """Adds the operations of a node. Returns its outputs."""
        return getattr(self, "_" + str(_method(kind)))(inputs, attrs, name)

    def _create(self, inputs, attrs, name):
        shape = _dims(attrs.get("element_shape"))
        flow = OPS["TensorListReserve"](
            shape, inputs[0], element_dtype=attrs["dtype"], name=name + "flow/"
        )
        handle = convert_to_tensor(0, "int32", name)
        self._dynamic[handle.name] = bool(attrs.get("dynamic_size", False))
        return [handle, flow]

    def _write(self, inputs, attrs, name):
        del attrs  # the list has the type of its elements
        handle, index, value, flow = inputs
        grows = self._dynamic.get(handle.name, False)
        return [
            OPS["TensorListSetItem"](
                flow, index, value, resize_if_index_out_of_bounds=grows, name=name
            )
        ]

    def _read(self, inputs, attrs, name):
        _, index, flow = inputs
        dtype = attrs["dtype"]
        return [OPS["TensorListGetItem"](flow, index, _dims(), element_dtype=dtype, name=name)]

    def _gather(self, inputs, attrs, name):
        _, indices, flow = inputs
        shape, dtype = _dims(attrs.get("element_shape")), attrs["dtype"]
        return [OPS["TensorListGather"](flow, indices, shape, element_dtype=dtype, name=name)]

    def _scatter(self, inputs, attrs, name):
        del attrs  # the list has the type of its elements
        _, indices, value, flow = inputs
        return [OPS["TensorListScatterIntoExistingList"](flow, value, indices, name=name)]

    def _concat(self, inputs, attrs, name):
        known = attrs.get("element_shape_except0")
        known = as_shape(None) if known is None else as_shape(known)
        shape = as_shape(None if known.rank is None else [None, *known.as_list()])
        none = convert_to_tensor([], "int64")
        return OPS["TensorListConcatV2"](
            inputs[1], _dims(shape), none, element_dtype=attrs["dtype"], name=name
        )

    def _split(self, inputs, attrs, name):
        del attrs  # the list has the type of its elements
        _, value, lengths, _ = inputs
        return [OPS["TensorListSplit"](value, _dims(), lengths, name=name)]

    def _size(self, inputs, attrs, name):
        del attrs  # the list has the type of its elements
        return [OPS["TensorListLength"](inputs[1], name=name)]

    def _close(self, inputs, attrs, name):
        del attrs  # the list has the type of its elements
        return [OPS["Identity"](inputs[0], name=name)]


def _method(kind: str) -> str | None:
    """Returns the name of the method for an op: "write" for TensorArrayWriteV3."""
    if not kind.startswith("TensorArray"):
        return None
    action = kind[len("TensorArray") :]
    action = action[:-2] if action[-2:] in ("V2", "V3") else action
    method = action.lower() or "create"
    return method if hasattr(Arrays, "_" + method) else None


def _dims(shape: Any = None) -> Any:
    """Returns an element shape as an argument of operations on TensorLists."""
    shape = as_shape(shape)
    dims = -1 if shape.rank is None else [-1 if n is None else n for n in shape.as_list()]
    return convert_to_tensor(dims, "int32")
