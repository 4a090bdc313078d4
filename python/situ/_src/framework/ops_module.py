# SPDX-License-Identifier: Apache-2.0
"""ops_module.py: names of tensorflow.python.framework.ops, ops.resources and util.tf_decorator."""

from __future__ import annotations

import contextlib
import functools
import inspect

from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable

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
    _item = V1.get(_name, BOTH.get(_name))
    if _item is not None:
        BOTH["python.framework.ops." + _name] = _item


@export("contrib.checkpoint.List")
class List(list):
    """A list whose variables checkpoints track."""


@export("contrib.data.python.ops.threadpool.PrivateThreadPool")
class PrivateThreadPool:
    """A thread pool of a dataset; without effect, as situ manages its threads itself."""

    def __init__(
        self, num_threads: int, display_name: Any = None, max_intra_op_parallelism: int = 1
    ):
        del max_intra_op_parallelism  # situ manages its threads itself
        self.num_threads, self.display_name = num_threads, display_name


@export("contrib.data.python.ops.threadpool.override_threadpool")
def override_threadpool(dataset: Any, thread_pool: Any) -> Any:
    """Returns the dataset unchanged.

    Args:
      dataset: The dataset.
      thread_pool: Has no effect: all datasets use one pool.
    """
    del thread_pool  # situ manages its threads itself
    return dataset


@export("python.ops.resources.shared_resources")
def shared_resources() -> list:
    """Returns the shared resources of the default graph."""
    return get_default_graph().get_collection(GraphKeys.RESOURCES)


@export("python.ops.resources.initialize_resources")
def initialize_resources(resource_list: Any, name: str | None = "init") -> Any:
    """Returns an operation that creates resources.

    Args:
      resource_list: a list of resources.
      name: a name for the operation.
    """
    return group(*[r.create for r in resource_list], name=name)


BOTH["python.util.tf_contextlib.contextmanager"] = contextlib.contextmanager


@export("python.util.tf_decorator.make_decorator")
def make_decorator(
    target: Any,
    decorator_func: Callable,
    decorator_name: Any = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Returns the decorator function with the name and doc string of its target.

    Args:
      target: the function that is decorated.
      decorator_func: the function that calls it.
      decorator_name: has no effect: a name in TensorFlow's list of decorators.
      decorator_doc: a doc string in place of that of the target.
      decorator_argspec: not supported.
    """
    del decorator_name  # `unwrap` returns no list of decorators
    unsupported("make_decorator", decorator_argspec=(decorator_argspec, None))
    made = functools.update_wrapper(decorator_func, target)
    made.__doc__ = decorator_doc or made.__doc__
    return made


@export("python.util.tf_decorator.unwrap")
def unwrap(maybe_tf_decorator: Any) -> Any:
    """Returns the decorators of a function (none) and the undecorated function.

    Args:
      maybe_tf_decorator: The function.
    """
    return [], inspect.unwrap(maybe_tf_decorator)
