# SPDX-License-Identifier: Apache-2.0
"""ops_module.py: names of tensorflow.python.framework.ops, ops.resources and util.tf_decorator."""

from __future__ import annotations

import contextlib
import functools
import inspect

from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.ops.array_ops import group

for _name in (
    "add_to_collection",
    "get_collection",
    "RegisterGradient",
    "colocate_with",
    "Graph",
    "control_dependencies",
    "get_default_graph",
    "name_scope",
    "device",
    "reset_default_graph",
    "convert_to_tensor",
    "Tensor",
    "Operation",
    "GraphKeys",
    "NotDifferentiable",
    "NoGradient",
    "get_default_session",
):
    _thing = V1.get(_name, BOTH.get(_name))
    if _thing is not None:
        BOTH["python.framework.ops." + _name] = _thing


@export(v1="python.framework.ops.colocate_with")
def colocate_with(op_, ignore_existing=False):
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


@export("python.ops.resources.shared_resources")
def shared_resources():
    return get_default_graph().get_collection(GraphKeys.RESOURCES)


@export("python.ops.resources.initialize_resources")
def initialize_resources(resource_list, name="init"):
    """An operation that prepares what was given."""
    return group(*[r.create for r in resource_list], name=name)


BOTH["python.util.tf_contextlib.contextmanager"] = contextlib.contextmanager


@export("python.util.tf_decorator.make_decorator")
def make_decorator(
    target, decorator_func, decorator_name=None, decorator_doc="", decorator_argspec=None
):
    """What a decorator made of a function, with the name and the text of the function."""
    return functools.update_wrapper(decorator_func, target)


@export("python.util.tf_decorator.unwrap")
def unwrap(maybe_tf_decorator):
    """(the decorators of a function, the function below them)"""
    return [], inspect.unwrap(maybe_tf_decorator)
