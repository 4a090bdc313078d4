# SPDX-License-Identifier: Apache-2.0
"""session_ops.py: tf.compat.v1.get_session_handle: tensors that a session keeps between runs."""

from __future__ import annotations

import weakref

import numpy

from situ._src.framework import default_session
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import DType, as_dtype
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import convert_to_tensor, placeholder
from situ._src.ops.constant_op import is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor

_MOST_DEAD_HANDLES = 10  # the session then deletes their tensors
_dead: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # sessions to lists of handles
_subgraphs: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # graphs to readers, deleters


def _subgraph(graph: Any, kind: Any, build: Any) -> tuple:
    """Returns the placeholder and the op that read or delete tensors, built once per graph."""
    built = _subgraphs.setdefault(graph, {})
    if kind not in built:
        with graph.as_default():
            built[kind] = build()
    return built[kind]


class TensorHandle:
    """The handle of a tensor that a session keeps; the tensor is deleted some time after it.

    Args:
      handle: The string that names the tensor.
      dtype: The type of the tensor.
      session: The session.
    """

    def __init__(self, handle: str, dtype: DType, session: Any) -> None:
        self._handle, self._dtype, self._session = handle, dtype, session
        self._owns = True

    @property
    def handle(self) -> str:
        """The string that names the tensor."""
        return self._handle

    def _check(self) -> None:
        if not self._owns:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")

    def eval(self) -> Any:
        """Returns the value of the tensor.

        Raises:
          TypeError: The tensor may be deleted.
        """
        self._check()
        holder, tensor = _subgraph(
            self._session.graph, self._dtype, lambda: get_session_tensor(self._handle, self._dtype)
        )
        return self._session.run(tensor, {holder: self._handle})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        return numpy.array(self.eval(), dtype, copy=True if copy is None else copy)

    def delete(self) -> None:
        """Deletes the tensor.

        Raises:
          TypeError: The tensor may be deleted already.
        """
        self._check()
        self._owns = False
        _delete(self._session, [self._handle])

    def get_raw_handle(self) -> str:
        """Returns the string that names the tensor, which the caller has to delete."""
        self._owns = False
        return self._handle

    def __str__(self) -> str:
        return self._handle

    def __del__(self) -> None:
        if getattr(self, "_owns", False):
            _dead.setdefault(self._session, []).append(self._handle)


def _delete(session: Any, handles: list) -> None:
    holder, deleter = _subgraph(session.graph, "delete", lambda: delete_session_tensor(""))
    for handle in handles:
        session.run(deleter, {holder: handle})


class _HandleFetch:
    """A fetch whose value is the TensorHandle of a tensor."""

    def __init__(self, tensor: Tensor, dtype: DType) -> None:
        self._tensor, self._value_dtype = tensor, dtype
        self._situ_parts_ = [tensor]
        self.graph, self.op, self.name = tensor.graph, tensor.op, tensor.name
        self.dtype, self.shape, self.device = tensor.dtype, TensorShape([]), tensor.device

    def _situ_value_(self, values: list, session: Any) -> TensorHandle:
        dead = _dead.get(session, [])
        if len(dead) >= _MOST_DEAD_HANDLES:
            handles, dead[:] = list(dead), []
            _delete(session, handles)
        name = values[0].decode() if isinstance(values[0], bytes) else str(values[0])
        return TensorHandle(name, self._value_dtype, session)

    def eval(self, feed_dict: dict | None = None, session: Any = None) -> TensorHandle:
        """Runs the op and returns the TensorHandle.

        Args:
          feed_dict: Tensors to values.
          session: The session; the default session if it is None.

        Returns:
          The TensorHandle.
        """

        return default_session.for_eval(session).run(self, feed_dict)

    def __repr__(self) -> str:
        return repr(self._tensor)


@export(v1="get_session_handle")
def get_session_handle(data: Tensor, name: str | None = None) -> Any:
    """Keeps a tensor in the session that runs it, for later runs.

    Args:
      data: The tensor.
      name: A name for the operation.

    Returns:
      A fetch whose value is a TensorHandle. Feed its attribute `handle` to the placeholder of
      `get_session_tensor`, or the TensorHandle itself to any tensor of the same type.

    Raises:
      TypeError: `data` is no tensor.
    """
    if not is_tensor(data):
        raise TypeError("`data` must be of type Tensor.")
    data = convert_to_tensor(data)
    with data.graph.device(None):
        handle = OPS["GetSessionHandle"](data, name=name)
        _subgraph(data.graph, "delete", lambda: delete_session_tensor(""))
    return _HandleFetch(handle, data.dtype.base_dtype)


def _holder() -> Tensor:
    """Returns a placeholder of handles. Tensors are kept in host memory."""
    return placeholder("string", [])


@export(v1="get_session_tensor")
def get_session_tensor(handle: str, dtype: Any, name: str | None = None) -> tuple:
    """Returns a tensor that the session keeps.

    Args:
      handle: The string that names a tensor; TensorFlow reads its device.
      dtype: The type of the tensor.
      name: A name for the operation.

    Returns:
      A placeholder of handles, and the tensor of the handle that is fed to it.
    """
    del handle  # tensors of all handles are in host memory
    holder = _holder()
    with holder.graph.device(None):
        return holder, OPS["GetSessionTensor"](holder, dtype=as_dtype(dtype), name=name)


@export(v1="delete_session_tensor")
def delete_session_tensor(handle: str, name: str | None = None) -> tuple:
    """Deletes a tensor that the session keeps.

    Args:
      handle: The string that names a tensor; TensorFlow reads its device.
      name: A name for the operation.

    Returns:
      A placeholder of handles, and the operation that deletes the tensor of the fed handle.
    """
    del handle  # tensors of all handles are in host memory
    holder = _holder()
    with holder.graph.device(None):
        return holder, OPS["DeleteSessionTensor"](holder, name=name)
