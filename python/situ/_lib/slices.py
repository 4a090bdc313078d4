# SPDX-License-Identifier: Apache-2.0
"""slices.py: IndexedSlices; names of tensorflow.python.framework.ops, and small ones."""
from situ._lib.api import BOTH, V1, export
from situ._lib.array_ops import convert_to_tensor, op
from situ._lib.session import Session


@export("IndexedSlices")
class IndexedSlices:
    """Rows of a tensor: values[i] belongs to row indices[i]; rows that come twice are added."""

    def __init__(self, values, indices, dense_shape=None):
        self.values, self.indices = convert_to_tensor(values), convert_to_tensor(indices)
        self.dense_shape = None if dense_shape is None else convert_to_tensor(dense_shape)

    dtype = property(lambda s: s.values.dtype)
    name = property(lambda s: s.values.name)
    op = property(lambda s: s.values.op)
    graph = property(lambda s: s.values.graph)
    device = property(lambda s: s.values.device)

    @property
    def shape(self):
        return self._situ_tensor_().shape

    def _situ_tensor_(self):
        if self.dense_shape is None:
            raise ValueError("Tensor conversion requested for IndexedSlices without dense_shape: "
                             f"{self!r}")
        rows = op("StridedSlice", self.dense_shape, [0], [1], [1], shrink_axis_mask=1)
        return op("UnsortedSegmentSum", self.values, self.indices, rows)

    def __repr__(self):
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{shape})"


BOTH["python.framework.ops.IndexedSlices"] = IndexedSlices

for _name in ("add_to_collection", "get_collection", "RegisterGradient", "colocate_with", "Graph",
              "control_dependencies", "get_default_graph", "name_scope", "device",
              "reset_default_graph", "convert_to_tensor", "Tensor", "Operation", "GraphKeys",
              "NotDifferentiable", "NoGradient", "get_default_session"):
    _thing = V1.get(_name, BOTH.get(_name))
    if _thing is not None:
        BOTH["python.framework.ops." + _name] = _thing


@export(v1="python.framework.ops.colocate_with")
def colocate_with(op_, ignore_existing=False):
    from situ._lib.graph import get_default_graph
    return get_default_graph().colocate_with(op_, ignore_existing)


def _reset(target, containers=None, config=None):
    """There is nothing of other sessions to forget."""


Session.reset = staticmethod(_reset)


@export("contrib.checkpoint.List")
class List(list):
    """A list that checkpoints see."""


@export("contrib.data.python.ops.threadpool.PrivateThreadPool")
class PrivateThreadPool:
    """Threads of a data set: situ chooses them itself."""

    def __init__(self, num_threads, display_name=None, max_intra_op_parallelism=1):
        self.num_threads, self.display_name = num_threads, display_name


@export("contrib.data.python.ops.threadpool.override_threadpool")
def override_threadpool(dataset, thread_pool):
    return dataset
