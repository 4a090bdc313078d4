# SPDX-License-Identifier: Apache-2.0
"""tensors.py: what tensors print, how they are indexed, and the methods that both kinds share."""
import _situ
from situ._lib import nodedef, shapes, sessions_default

Tensor, EagerTensor, GraphTensor = _situ.Tensor, _situ.EagerTensor, _situ.GraphTensor
Operation = _situ.Operation


def _text(tensor):
    value = tensor.numpy()
    return repr(value) if isinstance(value, bytes) else str(value)


def eager_str(tensor):
    text = _text(tensor)
    if "\n" in text:
        text = "\n" + text
    return f"tf.Tensor({text}, shape={tensor.shape}, dtype={tensor.dtype.name})"


def eager_repr(tensor):
    text = repr(tensor.numpy()) if tensor.ndim else _text(tensor)
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
    if isinstance(self, EagerTensor):
        raise NotImplementedError("eval is not supported when eager execution is enabled, is "
                                  ".numpy() what you're looking for?")
    session = session or sessions_default.current()
    if session is None:
        raise ValueError("Cannot evaluate tensor using `eval()`: No default session is registered. "
                         "Use `with sess.as_default()` or pass an explicit session to "
                         "`eval(session=sess)`")
    return session.run(self, feed_dict)


def _run(self, feed_dict=None, session=None):
    session = session or sessions_default.current()
    if session is None:
        raise ValueError("Cannot execute operation using `run()`: No default session is "
                         "registered. Use `with sess.as_default():` or pass an explicit session "
                         "to `run(session=sess)`")
    session.run(self, feed_dict)


def _set_shape(self, shape):
    merged = self.shape.merge_with(shape)
    if isinstance(self, GraphTensor):
        self._store_shape(merged)


def _consumers(self):
    return [o for o in self.graph.get_operations() if any(i is self for i in o.inputs)]


def _to(device):
    def copy(self, index=0):
        return _situ.copy_to(self, f"/device:{device}:{index}")
    return copy


_extend(Tensor, eval=_eval, set_shape=_set_shape, get_shape=lambda self: self.shape,
        __array_priority__=100)
_extend(GraphTensor, consumers=_consumers, _as_graph_element=lambda self: self)
_extend(EagerTensor, cpu=_to("CPU"), gpu=_to("GPU"),
        _shape_tuple=lambda self: tuple(self.shape.as_list()))
_extend(Operation, run=_run, get_attr=nodedef.get_attr,
        node_def=property(nodedef.node_def), _as_graph_element=lambda self: self,
        colocation_groups=lambda self: [g.encode() for g in _groups(self)],
        values=lambda self: tuple(self.outputs))


def _groups(operation):
    try:
        return [g.decode() for g in nodedef.get_attr(operation, "_class")]
    except ValueError:
        return ["loc:@" + operation.name]


def constant_value(tensor):
    """The value of a tensor where it is known while the graph is built, else None."""
    if isinstance(tensor, EagerTensor):
        return tensor.numpy()
    value = getattr(tensor, "_constant", None)
    return value


def static_shape(tensor):
    return shapes.as_shape(tensor.shape)
