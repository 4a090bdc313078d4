# SPDX-License-Identifier: Apache-2.0
"""registry.py: names under tf.keras, names of layers, and objects that are found by their names."""

import contextlib
import inspect
import re

from situ._src.framework import api
from situ._src.framework.api import export

_counts = {}  # prefix of names -> how often it was given
_custom = {}  # registered name -> class or function
_scopes = []  # of custom_object_scope


def shown(*names):
    """A decorator: the names of something under tf.keras."""
    return export(*["keras." + n for n in names])


def snake(name):
    """batch_normalization for BatchNormalization."""
    word = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    word = re.sub(r"([a-z])([A-Z])", r"\1_\2", word).lower()
    return word if word[0] != "_" else "private" + word


def unique(prefix, first_plain=True):
    """The prefix, then prefix_1, ..."""
    count = _counts[prefix] = _counts.get(prefix, 0) + 1
    if first_plain:
        return prefix if count == 1 else f"{prefix}_{count - 1}"
    return f"{prefix}_{count}"


def forget_names():
    _counts.clear()


@shown("utils.register_keras_serializable", "saving.register_keras_serializable")
def register_keras_serializable(package="Custom", name=None):
    """A decorator: the class or function is found when a model is loaded."""

    def register(thing):
        key = f"{package}>{name or thing.__name__}"
        _custom[key] = _custom[name or thing.__name__] = thing
        thing._registered_name = key
        return thing

    return register


@shown("utils.get_custom_objects", "saving.get_custom_objects")
def get_custom_objects():
    return _custom


@shown("utils.custom_object_scope", "utils.CustomObjectScope", "saving.custom_object_scope")
@contextlib.contextmanager
def custom_object_scope(*args):
    merged = {}
    for some in args:
        merged.update(some)
    _scopes.append(merged)
    try:
        yield
    finally:
        _scopes.pop()


def custom(name, custom_objects=None):
    """What a program gave this name, or None."""
    for table in (custom_objects or {}, *reversed(_scopes), _custom):
        if name in table:
            return table[name]
    return None


class Kind:
    """Things of one kind by name: losses, activations. A name, a configuration, the thing itself
    or a class are all ways to say which."""

    def __init__(self, what, table):
        self.what, self.table = what, table

    def add(self, thing, *names):
        for name in names or (thing.__name__,):
            self.table[name] = thing
        return thing

    def find(self, name, custom_objects=None):
        found = custom(name, custom_objects)
        if found is None:
            found = self.table.get(name)
        if found is None:  # its module may not have been imported yet
            api.load_below("keras.")
            found = self.table.get(name)
        if found is None:
            raise ValueError(
                f"Unknown {self.what}: '{name}'. Please ensure you are using a "
                f"`keras.utils.custom_object_scope` and that this object is included "
                "in the scope. See https://www.tensorflow.org/guide/keras/"
                "save_and_serialize#registering_the_custom_object for details."
            )
        return found

    def get(self, identifier, custom_objects=None):
        if identifier is None:
            return None
        if isinstance(identifier, dict):
            return self.deserialize(identifier, custom_objects)
        if isinstance(identifier, str):
            found = self.find(identifier, custom_objects)
            return found() if inspect.isclass(found) else found
        if inspect.isclass(identifier):
            return identifier()
        if callable(identifier):
            return identifier
        raise ValueError(f"Could not interpret {self.what} identifier: {identifier}")

    def deserialize(self, config, custom_objects=None):
        if isinstance(config, str):
            return self.find(config, custom_objects)
        found = self.find(config["class_name"], custom_objects)
        settings = config.get("config", {})
        if hasattr(found, "from_config"):
            return found.from_config(settings)
        return found(**settings) if inspect.isclass(found) else found

    @staticmethod
    def serialize(thing):
        return serialized(thing)

    def export(self, place):
        for word in ("get", "serialize", "deserialize"):
            shown(f"{place}.{word}")(getattr(self, word))


@shown("utils.serialize_keras_object")
def serialized(thing):
    """A name for a function, a dict for an object with a configuration."""
    if thing is None or isinstance(thing, (str, int, float, bool, dict)):
        return thing
    if hasattr(thing, "get_config") and not inspect.isclass(thing):
        return {
            "class_name": getattr(type(thing), "_registered_name", type(thing).__name__),
            "config": plain(thing.get_config()),
        }
    return getattr(thing, "_registered_name", None) or getattr(thing, "__name__", str(thing))


def plain(value):
    """A configuration of nothing but what JSON knows."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "as_list"):
        return value.as_list()
    if hasattr(value, "name") and hasattr(value, "as_numpy_dtype"):
        return value.name
    return serialized(value)


KINDS_OF_LAYERS = Kind("layer", {})
