# SPDX-License-Identifier: Apache-2.0
"""config.py: experimental_enable_numpy_behavior: operators, indices and methods of tensors as those
of NumPy's arrays."""

from __future__ import annotations

import numpy

import _situ
from situ._src.framework.api import export
from situ._src.numpy_ops import dtypes, elementwise, indexing, manipulation, products, reductions
from situ._src.numpy_ops.arrays import asarray, is_tensor
from situ._src.numpy_ops.exports import tf
from situ._src.ops.math_ops import COMPOSITE

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor

_MODES = ("off", "legacy", "safe", "all")


def _is_number(value):
    """Returns whether NumPy's rules apply to a value: not to None, strings and lists of these."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_number, value))
    is_text = isinstance(value, (str, bytes)) or getattr(value, "dtype", None) == "string"
    return value is not None and not is_text


def _promote(x, y):
    """Returns two operands as tensors of their common type; as they are if they have none."""
    if is_tensor(x) and is_tensor(y) and x.dtype is y.dtype:
        return x, y
    if not (_is_number(x) and _is_number(y)):
        return x, y
    try:
        dtype = dtypes.result_type(x, y)
    except (TypeError, ValueError):
        return x, y
    return asarray(x, dtype), asarray(y, dtype)


def _reshape(self: Tensor, *newshape: Any, order: str = "C") -> Tensor:
    """Returns the elements in another shape.

    Args:
      *newshape: The dimensions, or a list of these.
      order: "C": the last dimension changes fastest; "F": the first one.

    Returns:
      A tensor.
    """
    alone = len(newshape) == 1 and not isinstance(newshape[0], int)
    return manipulation.reshape(self, newshape[0] if alone else newshape, order)


def _size(self: Tensor) -> Any:
    """Returns the number of elements; None if it is unknown."""
    count = self.shape.num_elements()
    return None if count is None else numpy.int64(count)


def _tolist(self: Tensor) -> Any:
    """Returns the elements as nested lists.

    Raises:
      ValueError: The tensor has no value: it belongs to a graph.
    """
    if not isinstance(self, _situ.EagerTensor):
        raise ValueError("Symbolic Tensors do not support the tolist API.")
    return self.numpy().tolist()


def _members():
    """Returns the methods and properties that tensors get, by name."""
    return {
        "T": property(lambda self: manipulation.transpose(self)),
        "__round__": elementwise.around,
        "astype": lambda self, dtype: tf.cast(self, dtypes.result_type(dtype)),
        "clip": elementwise.clip,
        "data": property(lambda self: self),
        "flatten": manipulation.flatten,
        "max": reductions.amax,
        "mean": reductions.mean,
        "min": reductions.amin,
        "ndim": property(lambda self: self.shape.rank),
        "ravel": manipulation.ravel,
        "reshape": _reshape,
        "size": property(_size),
        "tolist": _tolist,
        "transpose": manipulation.transpose,
    }


@export(
    v2=[
        "experimental.numpy.experimental_enable_numpy_behavior",
        "python.ops.numpy_ops.np_config.enable_numpy_behavior",
    ]
)
def enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Lets tensors behave as NumPy's arrays.

    Operators convert operands of different types to their common type, tensors take NumPy's
    indices, and they have methods of arrays such as `T`, `reshape`, `ravel` and `astype`. This
    cannot be undone.

    Args:
      prefer_float32: Whether Python numbers with fractions are float32 instead of float64.
      dtype_conversion_mode: "legacy": NumPy's rules for types of operands; "off": operands must
        have one type.

    Raises:
      NotImplementedError: The mode is "safe" or "all", which need weak types.
      ValueError: There is no such mode.
    """
    if dtype_conversion_mode not in _MODES:
        raise ValueError(f"The provided promotion mode {dtype_conversion_mode} does not exist.")
    if dtype_conversion_mode in ("safe", "all"):
        raise NotImplementedError(
            f"dtype_conversion_mode={dtype_conversion_mode!r} is not supported yet: tensors have "
            "no weak types"
        )
    dtypes.prefer_float32(prefer_float32)
    legacy = dtype_conversion_mode == "legacy"
    _situ.hook("promote", _promote if legacy else None)
    _situ.hook("index", indexing.index)
    COMPOSITE["matmul"] = products.matmul if legacy else tf.matmul
    for name, member in _members().items():
        _situ.extend(_situ.Tensor, name, member)
