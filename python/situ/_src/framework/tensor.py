# SPDX-License-Identifier: Apache-2.0
"""tensor.py: methods and printing of tf.Tensor and tf.Operation that are written in Python;
installs them in the types of the C extension."""

from __future__ import annotations

import _situ
from _situ import EagerTensor, GraphTensor, Tensor
from situ._src.framework import (
    default_session,
    device_spec,
    dtypes,
    errors,
    node_def,
    style,
    tensor_shape,
)

Operation = _situ.Operation


def _value_string(tensor):
    value = tensor.numpy()
    return repr(value) if isinstance(value, bytes) else str(value)


def _handle_text(tensor):
    """Returns what stands for the value of a resource handle or a variant."""
    return "<Resource Tensor>" if tensor.dtype.name == "resource" else "<TensorVariant>"


def eager_str(tensor):
    """Returns str() of an eager tensor."""
    if tensor.dtype.name in ("resource", "variant"):
        return f"tf.Tensor({_handle_text(tensor)}, shape={tensor.shape}, dtype={tensor.dtype.name})"
    text = _value_string(tensor)
    if "\n" in text:
        text = "\n" + text
    return f"tf.Tensor({text}, shape={tensor.shape}, dtype={tensor.dtype.name})"


def eager_repr(tensor):
    """Returns repr() of an eager tensor."""
    if tensor.dtype.name in ("resource", "variant"):
        return (
            f"<tf.Tensor: shape={tensor.shape}, dtype={tensor.dtype.name}, "
            f"value={_handle_text(tensor)}>"
        )
    text = repr(tensor.numpy()) if tensor.ndim else _value_string(tensor)
    if "\n" in text:
        text = "\n" + text
    return f"<tf.Tensor: shape={tensor.shape}, dtype={tensor.dtype.name}, numpy={text}>"


_situ.hook("str", eager_str)
_situ.hook("repr", eager_repr)


def _extend(cls, **members):
    """Adds members to a type of the extension."""
    for name, member in members.items():
        _situ.extend(cls, name, member)


def _eval(self, feed_dict=None, session=None):
    """Evaluates this tensor in a session.

    Args:
      feed_dict: maps tensors to values.
      session: the session; the default session if it is None.

    Returns:
      The value as a NumPy array.

    Raises:
      NotImplementedError: this is an eager tensor.
      ValueError: there is no default session.
    """
    if isinstance(self, EagerTensor):
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is "
            ".numpy() what you're looking for?"
        )
    return default_session.for_eval(session).run(self, feed_dict)


def _run(self, feed_dict=None, session=None):
    """Runs this operation in a session.

    Args:
      feed_dict: maps tensors to values.
      session: the session; the default session if it is None.

    Raises:
      ValueError: there is no default session.
    """
    session = session or default_session.current()
    if session is None:
        raise ValueError(
            "Cannot execute operation using `run()`: No default session is "
            "registered. Use `with sess.as_default():` or pass an explicit session "
            "to `run(session=sess)`"
        )
    session.run(self, feed_dict)


def _set_shape(self, shape):
    """Merges a shape into the static shape of this tensor.

    Args:
      shape: a shape that is compatible with the current one.

    Raises:
      ValueError: the shapes are not compatible.
    """
    merged = self.shape.merge_with(shape)
    if isinstance(self, GraphTensor):
        self._store_shape(merged)


def _consumers(self):
    """Returns the operations that have this tensor as an input."""
    return [o for o in self.graph.get_operations() if any(i is self for i in o.inputs)]


def copy_to_device(tensor, device: str):
    """Copies an eager tensor to a device; its gradient is copied back to the device of the
    tensor."""
    copied = _situ.copy_to(tensor, device)
    if _situ.tape_count() and copied is not tensor:
        source = tensor.device
        _situ.tape_function(
            [tensor],
            [copied],
            lambda grads: [None if grads[0] is None else copy_to_device(grads[0], source)],
        )
    return copied


def _copy_method(device):
    def copy(self, index=0):
        return copy_to_device(self, f"/device:{device}:{index}")

    return copy


class Reference:
    """A hashable reference to a tensor or variable, compared by identity: tensor.ref()."""

    def __init__(self, wrapped):
        self._wrapped = wrapped

    def deref(self):
        """Returns the tensor or variable."""
        return self._wrapped

    def __eq__(self, other):
        return isinstance(other, Reference) and self._wrapped is other._wrapped

    def __hash__(self):
        return id(self._wrapped)

    def __repr__(self):
        return f"<Reference wrapping {self._wrapped!r}>"


def _refuse_bool(self):
    if not self.graph.building_function:
        raise errors.OperatorNotAllowedInGraphError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not "
            "None:` instead of `if t:` to test if a tensor is defined, and use "
            "TensorFlow ops such as tf.cond to execute subgraphs conditioned on the "
            "value of a tensor."
        )
    raise errors.OperatorNotAllowedInGraphError(
        "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: AutoGraph did not convert "
        "this code.\n" + _AUTOGRAPH_HINT
    )


_AUTOGRAPH_HINT = (
    "AutoGraph converts `if`, `while` and `for` over tensors in functions whose source code "
    "is available, except in generators and installed packages.\nUse tf.cond, tf.while_loop or "
    "tf.where, or make the decision depend on an argument that is not a tensor."
)


def _refuse_iteration(self):
    in_function = self.graph.building_function
    if not in_function and style.is_graph():
        raise errors.OperatorNotAllowedInGraphError(
            "iterating over `tf.Tensor` is not allowed in Graph execution: Tensor objects are only "
            "iterable when eager execution is enabled. To iterate over this tensor use tf.map_fn."
        )
    if in_function and self.shape.rank == 0:
        raise TypeError("Cannot iterate over a scalar tensor.")
    if not in_function or self.shape.rank is None or self.shape.as_list()[0] is None:
        raise errors.OperatorNotAllowedInGraphError(
            "Iterating over a symbolic `tf.Tensor` is not allowed: AutoGraph did not convert this "
            "code.\n" + _AUTOGRAPH_HINT
        )


def _refuse_array(self, dtype=None, copy=None):
    raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array.")


def _refuse_length(self):
    raise TypeError(
        f"len is not well defined for symbolic Tensors. ({self.name}) Please call "
        "`x.shape` rather than `len(x)` for shape information."
    )


def _undefined(name):
    def get(self):
        raise AttributeError(f"Tensor.{name} is undefined when eager execution is enabled.")

    return property(get)


_extend(
    GraphTensor,
    _refuse_bool=_refuse_bool,
    _refuse_iteration=_refuse_iteration,
    _refuse_length=_refuse_length,
    __array__=_refuse_array,
    __format__=lambda self, spec: format(str(self), spec),
)
_extend(
    EagerTensor,
    **{name: _undefined(name) for name in ("graph", "name", "op", "value_index")},
    __format__=lambda self, spec: (
        format(self.numpy(), spec) if spec or self.ndim == 0 else str(self.numpy())
    ),
    __deepcopy__=lambda self, memo: self,
    __copy__=lambda self: self,
    __reduce__=lambda self: (_restore, (self.numpy(), self.dtype.name)),
)


def _dlpack(self, stream=None, max_version=None, dl_device=None, copy=None):
    del stream, max_version  # tensors are exported from the host, in the first version
    here = self.cpu() if dl_device == (1, 0) else self
    if copy is False and here.device != self.device:
        raise BufferError(f"DLPack: a tensor on {self.device} cannot be exported without a copy")
    return _situ.to_dlpack(_restore(here.numpy().copy(), here.dtype.name) if copy else here)


def _dlpack_device(self):
    if "/device:CPU:" not in self.device:
        raise BufferError(
            f"DLPack does not support the device {self.device}: copy the tensor to the CPU first"
        )
    return 1, 0


_extend(EagerTensor, __dlpack__=_dlpack, __dlpack_device__=_dlpack_device)


def _restore(array, dtype):
    return _situ.constant(array, dtypes.as_dtype(dtype))


def _ref(self):
    return Reference(self)


_extend(
    Tensor,
    ref=_ref,
    experimental_ref=_ref,
    eval=_eval,
    set_shape=_set_shape,
    get_shape=lambda self: self.shape,
    _shape_as_list=lambda self: self.shape.as_list() if self.shape.rank is not None else None,
    __array_priority__=100,
)
_extend(GraphTensor, consumers=_consumers, _as_graph_element=lambda self: self)
_extend(
    EagerTensor,
    cpu=_copy_method("CPU"),
    gpu=_copy_method("GPU"),
    _shape_tuple=lambda self: tuple(self.shape.as_list()),
)


def _set_device(self, device):
    """Requests another device; `device` returns the string as it was set."""
    text = device.to_string() if hasattr(device, "to_string") else device or ""
    self._ask_device(device_spec.to_engine_name(text))
    self._device_text = text


_extend(
    Operation,
    run=_run,
    _set_device=_set_device,
    get_attr=node_def.get_attr,
    node_def=property(node_def.node_def),
    _as_graph_element=lambda self: self,
    colocation_groups=lambda self: [g.encode() for g in _colocation_groups(self)],
    values=lambda self: tuple(self.outputs),
)


def _colocation_groups(operation):
    """Returns the colocation groups of an operation: "loc:@NAME"."""
    try:
        return [g.decode() for g in node_def.get_attr(operation, "_class")]
    except ValueError:
        return ["loc:@" + operation.name]


def constant_value(tensor):
    """Returns the value of a tensor if it can be computed while the graph is built.

    Args:
      tensor: a tensor of a graph, or an eager tensor; a TensorShape is returned as it is.

    Returns:
      A NumPy array, or None if the value is not known.
    """
    if isinstance(tensor, tensor_shape.TensorShape):
        return tensor
    if isinstance(tensor, EagerTensor):
        return tensor.numpy()
    value = getattr(tensor, "_constant", None)
    if value is None and isinstance(tensor, GraphTensor):
        known = tensor.graph._known(tensor)
        value = None if known is None else known.numpy()
    return value


# The device whose memory holds the elements: situ keeps them on the device of the tensor.
_situ.extend(EagerTensor, "backing_device", property(lambda t: t.device))
