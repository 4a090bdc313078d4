# SPDX-License-Identifier: Apache-2.0
"""registry.py: exports of tf.keras, unique layer names, and registries of objects by name."""

from __future__ import annotations

import contextlib
import inspect
import re
from typing import Any

from situ._src.framework import api
from situ._src.framework.api import export

_counts: dict[str, int] = {}  # prefix of names -> how often it was given
_custom: dict[str, Any] = {}  # registered name -> class or function
_scopes: list[dict] = []  # of custom_object_scope


def keras_export(*names):
    """Decorator that exports an object under names below tf.keras."""
    return export(*["keras." + n for n in names])


def to_snake_case(name):
    """Converts BatchNormalization to batch_normalization."""
    snake = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub(r"([a-z])([A-Z])", r"\1_\2", snake).lower()
    return snake if snake[0] != "_" else "private" + snake


def unique(prefix, first_plain=True):
    """Returns prefix, prefix_1, prefix_2, ...; without first_plain: prefix_1, prefix_2, ..."""
    count = _counts[prefix] = _counts.get(prefix, 0) + 1
    if first_plain:
        return prefix if count == 1 else f"{prefix}_{count - 1}"
    return f"{prefix}_{count}"


def reset_names():
    """Restarts the numbering of names."""
    _counts.clear()


@keras_export("utils.register_keras_serializable", "saving.register_keras_serializable")
def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Any:
    """Decorator that registers a class or function for loading models.

    Args:
      package: Prefix of the registered name.
      name: Name; default: that of the object.

    Returns:
      The decorator, which returns its argument.
    """

    def register(thing):
        key = f"{package}>{name or thing.__name__}"
        _custom[key] = _custom[name or thing.__name__] = thing
        thing._registered_name = key
        return thing

    return register


@keras_export("utils.get_custom_objects", "saving.get_custom_objects")
def get_custom_objects() -> Any:
    """Returns the dictionary of registered classes and functions by name."""
    return _custom


@keras_export(
    "utils.custom_object_scope",
    "utils.CustomObjectScope",
    "saving.custom_object_scope",
    "saving.CustomObjectScope",
)
@contextlib.contextmanager
def custom_object_scope(*args: Any) -> Any:
    """Context in which names refer to given classes and functions.

    Args:
      *args: Dictionaries from names to objects.
    """
    merged = {}
    for some in args:
        merged.update(some)
    _scopes.append(merged)
    try:
        yield
    finally:
        _scopes.pop()


def custom(name, custom_objects=None):
    """Returns the object that the program registered under a name, or None."""
    for table in (custom_objects or {}, *reversed(_scopes), _custom):
        if name in table:
            return table[name]
    return None


@contextlib.contextmanager
def reading_config():
    """Converts errors of the block about a configuration without what it must have to ValueError.

    Raises:
      ValueError: a key is missing, or has a value of another type.
    """
    try:
        yield
    except (LookupError, AttributeError, RecursionError) as error:
        text = f"Invalid configuration of a model: {type(error).__name__}: {error}"
        raise ValueError(text) from error


class Registry:
    """Objects of one kind by name, such as losses or activations."""

    def __init__(self, what, table):
        self.what, self.table = what, table

    def add(self, thing, *names):
        """Registers an object under names; default: its `__name__`."""
        for name in names or (thing.__name__,):
            self.table[name] = thing
        return thing

    def find(self, name, custom_objects=None):
        """Returns an object by name; raises a ValueError if it is unknown."""
        result = custom(name, custom_objects)
        if result is None:
            result = self.table.get(name)
        if result is None:  # its module may not have been imported yet
            api.load_below("keras.")
            result = self.table.get(name)
        if result is None:
            raise ValueError(
                f"Unknown {self.what}: '{name}'. Please ensure you are using a "
                f"`keras.utils.custom_object_scope` and that this object is included "
                "in the scope. See https://www.tensorflow.org/guide/keras/"
                "save_and_serialize#registering_the_custom_object for details."
            )
        return result

    def get(self, identifier: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns the object that an identifier stands for.

        Args:
          identifier: A name, a dictionary with `class_name` and `config`, a class, which is called
            without arguments, or a callable object, which is returned; None gives None.
          custom_objects: Dictionary from names to classes and functions of the program.

        Raises:
          ValueError: If the name is unknown, or the identifier is none of these.
        """
        if identifier is None:
            return None
        if isinstance(identifier, dict):
            return self.deserialize(identifier, custom_objects)
        if isinstance(identifier, str):
            result = self.find(identifier, custom_objects)
            return result() if inspect.isclass(result) else result
        if inspect.isclass(identifier):
            return identifier()
        if callable(identifier):
            return identifier
        raise ValueError(f"Could not interpret {self.what} identifier: {identifier}")

    def deserialize(self, config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        """Creates an object from its configuration.

        Args:
          config: A dictionary with `class_name` and `config`, or a name; other objects are
            returned as they are.
          custom_objects: Dictionary from names to classes and functions of the program.

        Raises:
          ValueError: If the name is unknown, or the dictionary has no `class_name`.
        """
        if isinstance(config, str):
            return self.find(config, custom_objects)
        if not isinstance(config, dict):  # it is the object already
            return config
        serialize_attributes = config.get("config", {})
        if not isinstance(config.get("class_name"), str):
            raise ValueError(f"Improper config format of a {self.what}: no `class_name`.")
        result = self.find(config["class_name"], custom_objects)
        if hasattr(result, "from_config"):
            return result.from_config(serialize_attributes)
        return result(**serialize_attributes) if inspect.isclass(result) else result

    @staticmethod
    def serialize(thing: Any) -> Any:
        """Returns the name or the configuration of an object.

        Args:
          thing: A function, whose name is returned, or an object with get_config, for which a
            dictionary with `class_name` and `config` is returned.
        """
        return serialize_keras_object(thing)

    def export(self, place):
        """Exports get, serialize and deserialize under a name below tf.keras."""
        for snake in ("get", "serialize", "deserialize"):
            keras_export(f"{place}.{snake}")(getattr(self, snake))


@keras_export("utils.serialize_keras_object")
def serialize_keras_object(thing: Any) -> Any:
    """Returns the name of a function, or a dictionary with the class name and configuration.

    Args:
      thing: A function or an object with get_config.
    """
    if thing is None or isinstance(thing, (str, int, float, bool, dict)):
        return thing
    if hasattr(thing, "get_config") and not inspect.isclass(thing):
        return {
            "class_name": getattr(type(thing), "_registered_name", type(thing).__name__),
            "config": to_json_value(thing.get_config()),
        }
    return getattr(thing, "_registered_name", None) or getattr(thing, "__name__", str(thing))


def to_json_value(value):
    """Converts a configuration to values that JSON supports."""
    if isinstance(value, dict):
        return {k: to_json_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(v) for v in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "as_list"):
        return value.as_list()
    if hasattr(value, "name") and hasattr(value, "as_numpy_dtype"):
        return value.name
    return serialize_keras_object(value)


LAYERS = Registry("layer", {})
