# SPDX-License-Identifier: Apache-2.0
"""extension_type_field.py: the fields of extension types: which annotations are allowed, and how
values are checked and converted."""

from __future__ import annotations

import collections.abc
import types
import typing

from situ._src.framework import tensor_shape
from situ._src.framework.dtypes import DType, as_dtype
from situ._src.framework.tensor import Tensor
from situ._src.framework.type_spec import TypeSpec
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.variables.variable import Variable

_RESERVED = frozenset(
    """self Spec _type_spec _shape_invariant_to_type_spec _consumers value_type is_compatible_with
    most_specific_compatible_type _with_tensor_ranks_only _to_components _from_components
    _component_specs _to_tensor_list _from_tensor_list _from_compatible_tensor_list
    _flat_tensor_specs _serialize _deserialize _to_legacy_output_types _to_legacy_output_shapes
    _to_legacy_output_classes _keras_mask _situ_tensors_ _situ_from_tensors_
    _situ_spec_""".split()
)
_PLAIN = (int, float, str, bytes, bool, None, type(None), DType)


def is_reserved(name: str) -> bool:
    """Returns whether a field must not have a name."""
    return name in _RESERVED or name.lower().startswith("_tf_extension_type")


class ImmutableDict(collections.abc.Mapping):
    """A mapping that cannot be changed; what fields of mappings hold."""

    __supported_by_tf_nest__ = True

    def __init__(self, *args, **kwargs):
        self._dict = dict(*args, **kwargs)

    def __getitem__(self, key):
        return self._dict[key]

    def __contains__(self, key):
        return key in self._dict

    def __iter__(self):
        return iter(self._dict)

    def __len__(self):
        return len(self._dict)

    def __repr__(self):
        return f"ImmutableDict({self._dict})"


class _NoDefault:
    def __repr__(self):
        return "ExtensionTypeField.NO_DEFAULT"


NO_DEFAULT = _NoDefault()


class Field(typing.NamedTuple):
    """A field of an extension type: its name, annotation and default."""

    name: str
    value_type: typing.Any
    default: typing.Any = NO_DEFAULT


def make_field(name: str, value_type, default=NO_DEFAULT) -> Field:
    """Returns a field.

    Raises:
      TypeError: the annotation is not supported, or the default does not fit it.
    """
    try:
        check_annotation(value_type, allow_forward_references=True)
    except TypeError as error:
        raise TypeError(f"In field {name!r}: {error}") from error
    if default is not NO_DEFAULT and not _is_forward_reference(value_type):
        default = _converted(default, value_type, f"default value for {name}", "default")
    return Field(name, value_type, default)


# Annotations


def is_composite_class(kind) -> bool:
    """Returns whether a type is a class of composite tensors."""
    return isinstance(kind, type) and hasattr(kind, "_situ_tensors_") and not _is_spec(kind)


def is_variable_class(kind) -> bool:
    """Returns whether a type is tf.Variable or a class of variables."""
    return isinstance(kind, type) and (kind is Variable or issubclass(kind, Variable))


class VariableField:
    """A variable in a spec: equal to itself alone."""

    def __init__(self, variable: typing.Any) -> None:
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableField) and self.variable is other.variable

    def __hash__(self) -> int:
        return id(self.variable)


def _is_spec(kind):
    return issubclass(kind, TypeSpec)


def _origin(annotation):
    """Returns tuple, Mapping or Union for a generic annotation, otherwise None."""
    origin = typing.get_origin(annotation)
    if origin is typing.Union or origin is getattr(types, "UnionType", typing.Union):
        return typing.Union
    if origin is tuple:
        return tuple
    return collections.abc.Mapping if origin is collections.abc.Mapping else None


def _is_forward_reference(annotation):
    return isinstance(annotation, (str, typing.ForwardRef))


def check_annotation(annotation, in_key: bool = False, allow_forward_references: bool = False):
    """Checks the annotation of a field.

    Args:
      annotation: the annotation.
      in_key: whether it is part of the key of a mapping.
      allow_forward_references: whether it may contain names of classes as strings.

    Raises:
      TypeError: the annotation is not supported.
    """
    if _is_forward_reference(annotation):
        if not allow_forward_references:
            raise TypeError(f"Unresolved forward reference {annotation!r}")
        return
    if annotation in _PLAIN:
        return
    if annotation in (Tensor, tensor_shape.TensorShape) or is_composite_class(annotation):
        if in_key:
            raise TypeError(
                f"Mapping had a key {annotation.__name__!r} with type {type(annotation).__name__!r}"
            )
        return
    origin, arguments = _origin(annotation), typing.get_args(annotation)
    if origin is None and is_variable_class(annotation) and not in_key:
        return
    if origin is None:
        shown = annotation.__name__ if isinstance(annotation, type) else annotation
        raise TypeError(f"Unsupported type annotation {shown!r}")
    if origin is collections.abc.Mapping:
        check_annotation(arguments[0], True, allow_forward_references)
        check_annotation(arguments[1], in_key, allow_forward_references)
        return
    for argument in arguments:
        if not (origin is tuple and argument is Ellipsis and len(arguments) == 2):
            check_annotation(argument, in_key, allow_forward_references)


# Values


def convert_fields(fields, values: dict, context: str = "value") -> None:
    """Checks and converts the values of fields, in place.

    Args:
      fields: the fields.
      values: their values by name.
      context: "value" for the fields of a value, "spec" for those of a TypeSpec.

    Raises:
      ValueError: there are other values than fields.
      TypeError: a value does not fit its annotation.
    """
    names = {field.name for field in fields}
    if set(values) - names:
        raise ValueError(f"Got unexpected fields: {set(values) - names}")
    if names - set(values):
        raise ValueError(f"Missing required fields: {names - set(values)}")
    values.update(
        {f.name: _converted(values[f.name], f.value_type, f.name, context) for f in fields}
    )


def _mismatch(path, expected, value):
    return TypeError(f"{path}: expected {expected}, got {type(value).__name__!r}")


def _converted(value, annotation, path, context):
    """Returns a value as its annotation requires it; path is its name for errors."""
    annotation = type(None) if annotation is None else annotation
    if annotation is Tensor:
        return _tensor(value, path, context)
    if is_composite_class(annotation):
        return _composite(value, annotation, path, context)
    for kind, convert, name in (
        (tensor_shape.TensorShape, tensor_shape.as_shape, "'tf.TensorShape'"),
        (DType, as_dtype, "'tf.DType'"),
    ):
        if annotation is kind:
            try:
                return convert(value)
            except (TypeError, ValueError) as error:
                raise _mismatch(path, name, value) from error
    if annotation in _PLAIN:
        if not isinstance(value, annotation):
            raise _mismatch(path, repr(annotation.__name__), value)
        return value
    convert = {
        tuple: _tuple,
        collections.abc.Mapping: _mapping,
        typing.Union: _union,
    }.get(_origin(annotation))
    if convert is None and is_variable_class(annotation):
        return _variable(value, annotation, path, context)
    if convert is None:
        raise TypeError(f"{path}: Unsupported type annotation {annotation!r}")
    return convert(value, annotation, path, context)


def _tensor(value, path, context):
    if context == "spec":
        if not isinstance(value, TypeSpec) or value.value_type is not Tensor:
            raise _mismatch(path, "a TensorSpec", value)
        return value
    if isinstance(value, Tensor) or context == "default":
        return value
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise _mismatch(path, "a Tensor", value) from error


def _composite(value, kind, path, context):
    if context == "spec":
        if not isinstance(value, TypeSpec) or not issubclass(value.value_type, kind):
            raise _mismatch(path, f"a TypeSpec for {kind.__name__!r}", value)
        return value
    if not isinstance(value, kind):
        raise _mismatch(path, repr(kind.__name__), value)
    return value


def _variable(value, kind, path, context):
    variable = value.variable if isinstance(value, VariableField) else value
    if (context == "spec") != isinstance(value, VariableField) or not isinstance(variable, kind):
        raise _mismatch(path, repr(kind.__name__), value)
    return value


def _tuple(value, annotation, path, context):
    if not isinstance(value, collections.abc.Sequence):
        raise _mismatch(path, "tuple", value)
    kinds = typing.get_args(annotation)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(value) != len(kinds):
        raise _mismatch(path, f"tuple with length {len(kinds)}", value)
    pairs = enumerate(zip(value, kinds))
    return tuple(_converted(v, kind, f"{path}[{i}]", context) for i, (v, kind) in pairs)


def _mapping(value, annotation, path, context):
    if not isinstance(value, collections.abc.Mapping):
        raise _mismatch(path, "mapping", value)
    key_type, value_type = typing.get_args(annotation)
    return ImmutableDict(
        [
            (
                _converted(k, key_type, f"{path}[<key>]", context),
                _converted(v, value_type, f"{path}[{k!r}]", context),
            )
            for k, v in value.items()
        ]
    )


def _union(value, annotation, path, context):
    for kind in typing.get_args(annotation):
        try:
            return _converted(value, kind, path, context)
        except TypeError:
            continue
    raise _mismatch(path, repr(annotation), value)
