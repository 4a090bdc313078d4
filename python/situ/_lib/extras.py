# SPDX-License-Identifier: Apache-2.0
"""extras.py: small names that programs of training use: tf.newaxis, tf.VERSION, to_categorical."""
import contextlib
import functools
import inspect

import numpy

from situ._lib import optimizers_v2, style, variables
from situ._lib.api import BOTH, V1, export
from situ._lib.array_ops import cast, convert_to_tensor, group, op
from situ._lib.graph import GraphKeys, get_default_graph

BOTH["newaxis"] = None
BOTH["GIT_VERSION"] = V1["GIT_VERSION"] = "situ"
V1["VERSION"] = style.VERSIONS["v1"]
BOTH["keras.optimizer_v2.gradient_descent.SGD"] = optimizers_v2.SGD
BOTH["keras.optimizer_v2.adam.Adam"] = optimizers_v2.Adam
BOTH["keras.optimizer_v2.rmsprop.RMSProp"] = optimizers_v2.RMSprop
BOTH["keras.optimizer_v2.rmsprop.RMSprop"] = optimizers_v2.RMSprop


@export(v1="floor_div")
def floor_div(x, y, name=None):
    """x / y rounded down."""
    return op("FloorDiv", x, y, name=name)


@export("keras.utils.to_categorical")
def to_categorical(y, num_classes=None, dtype="float32"):
    """Numbers of classes as rows with one 1."""
    y = numpy.asarray(y, dtype="int64")
    shape = y.shape[:-1] if y.ndim > 1 and y.shape[-1] == 1 else y.shape
    flat = y.ravel()
    count = num_classes or int(flat.max()) + 1
    rows = numpy.zeros((flat.size, count), dtype=dtype)
    rows[numpy.arange(flat.size), flat] = 1
    return rows.reshape(*shape, count)


@export("nn.compute_average_loss")
def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of losses over the size of the whole batch."""
    losses = convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        losses = losses * cast(convert_to_tensor(sample_weight), losses.dtype)
    size = op("Size", losses) * _replicas() if global_batch_size is None else global_batch_size
    return op("Sum", losses) / cast(size, losses.dtype)


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss):
    """The sum of penalties, for one replica."""
    return op("Sum", convert_to_tensor(regularization_loss)) / float(_replicas())


def _replicas():
    found = variables.strategy()
    return 1 if found is None else found.num_replicas_in_sync


@export("python.ops.resources.shared_resources")
def shared_resources():
    return get_default_graph().get_collection(GraphKeys.RESOURCES)


@export("python.ops.resources.initialize_resources")
def initialize_resources(resource_list, name="init"):
    """An operation that prepares what was given."""
    return group(*[r.create for r in resource_list], name=name)


BOTH["python.util.tf_contextlib.contextmanager"] = contextlib.contextmanager


@export("python.util.tf_decorator.make_decorator")
def make_decorator(target, decorator_func, decorator_name=None, decorator_doc="",
                   decorator_argspec=None):
    """What a decorator made of a function, with the name and the text of the function."""
    return functools.update_wrapper(decorator_func, target)


@export("python.util.tf_decorator.unwrap")
def unwrap(maybe_tf_decorator):
    """(the decorators of a function, the function below them)"""
    return [], inspect.unwrap(maybe_tf_decorator)
