# SPDX-License-Identifier: Apache-2.0
"""contrib_eager.py: tf.contrib.eager: how programs of TensorFlow 1 computed at once."""
import importlib

from situ._lib import api, style
from situ._lib.api import BOTH, V1, V2, export
from situ._lib.array_ops import convert_to_tensor
from situ._lib.tape import GradientTape
from situ._lib.variables import Variable

V1.update({"contrib.eager.Variable": Variable, "contrib.eager.GradientTape": GradientTape,
           "contrib.eager.enable_eager_execution": lambda *a, **k: style.use("v2"),
           "contrib.eager.executing_eagerly": lambda: not style.is_graph(),
           "contrib.eager.in_eager_mode": lambda: not style.is_graph(),
           "contrib.eager.Checkpoint": BOTH.get("train.Checkpoint") or V1["train.Checkpoint"],
           "contrib.eager.defun": BOTH.get("function") or V2["function"]})


@export(v1=("contrib.eager.num_gpus", "contrib.eager.context.num_gpus"))
def num_gpus():
    """How many GPUs there are."""
    from situ._lib import config
    return len(config.list_logical_devices("GPU"))


V1["contrib.eager.list_devices"] = lambda: [
    d.name for d in importlib.import_module("situ._lib.config").list_logical_devices()]


def _recorded(function, args, words):
    with GradientTape() as tape:
        value = function(*args, **words)
    if value is None:
        raise ValueError("Cannot differentiate a function that returns None; did you forget to "
                         f"return a value from {getattr(function, '__name__', function)}?")
    variables = list(tape.watched_variables())
    if not variables:
        raise ValueError("No trainable variables were accessed while the function was being "
                         "computed.")
    grads = tape.gradient(value, variables)
    return value, [(g, v) for g, v in zip(grads, variables) if g is not None]


@export(v1="contrib.eager.implicit_value_and_gradients")
def implicit_value_and_gradients(f):
    """A function: (f's value, [(gradient, variable)] of the variables that f has read)."""
    return lambda *args, **words: _recorded(f, args, words)


@export(v1="contrib.eager.implicit_gradients")
def implicit_gradients(f):
    """A function: [(gradient, variable)] of the variables that f has read."""
    return lambda *args, **words: _recorded(f, args, words)[1]


@export(v1="contrib.eager.value_and_gradients_function")
def value_and_gradients_function(f, params=None):
    """A function: (f's value, its gradients with respect to its arguments, or some of them)."""
    import inspect

    def compute(*args, dy=None):
        names = list(inspect.signature(f).parameters)
        places = range(len(args)) if params is None else \
            [names.index(p) if isinstance(p, str) else p for p in params]
        args = [convert_to_tensor(a) for a in args]
        with GradientTape() as tape:
            for place in places:
                tape.watch(args[place])
            value = f(*args)
        return value, tape.gradient(value, [args[p] for p in places], output_gradients=dy)
    return compute


@export(v1="contrib.eager.gradients_function")
def gradients_function(f, params=None):
    """A function: f's gradients with respect to its arguments, or some of them."""
    both = value_and_gradients_function(f, params)
    return lambda *args, dy=None: both(*args, dy=dy)[1]


@export(v1="contrib.eager.Iterator")
class Iterator:
    """The elements of a data set, one after the other."""

    def __init__(self, dataset):
        self._iterator = iter(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._iterator)

    next = get_next = __next__


def _metric(name):
    def make(*args, **words):
        api.load_all()
        return (BOTH.get(name) or V2[name])(*args, **words)
    return make


for _name in ("Mean", "Accuracy"):
    V1["contrib.eager.metrics." + _name] = _metric("keras.metrics." + _name)


@export(v1="contrib.eager.Network")
class Network:
    """Layers that are told with track_layer; a subclass says in `call` what they do."""

    def __init__(self, name=None):
        self.name, self._tracked = name or type(self).__name__, []

    def track_layer(self, layer):
        self._tracked.append(layer)
        return layer

    layers = property(lambda s: list(s._tracked))
    variables = property(lambda s: [v for layer in s._tracked for v in layer.variables])
    trainable_variables = property(lambda s: [v for v in s.variables if v.trainable])

    def __call__(self, *args, **words):
        return self.call(*args, **words)


for _name in [n for n in V1 if n.startswith("contrib.eager.")]:
    V1[_name.replace("contrib.eager.", "contrib.eager.python.tfe.")] = V1[_name]
