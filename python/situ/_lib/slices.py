# SPDX-License-Identifier: Apache-2.0
"""slices.py: names of tensorflow.python.framework.ops, and small ones."""
from situ._lib.api import BOTH, V1, export


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
