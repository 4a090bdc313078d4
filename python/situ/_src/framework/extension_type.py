# SPDX-License-Identifier: Apache-2.0
"""extension_type.py: tf.experimental.ExtensionType: classes of typed fields, some of them tensors,
whose values are composite tensors."""

from __future__ import annotations

import abc
import functools
import inspect
import typing

from situ._src.framework import nest, spec_fields, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.extension_type_field import (
    NO_DEFAULT,
    VariableField,
    convert_fields,
    is_reserved,
    is_variable_class,
    make_field,
)
from situ._src.framework.tensor import Tensor
from situ._src.framework.type_spec import TypeSpec, spec_of
from situ._src.ops.array_ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import (
        Any,
        Sequence,
        TensorLike,
    )

_IN_CONSTRUCTOR = "_tf_extension_type_in_constructor"
_FRAMEWORK = "_tf_extension_type_do_not_transform_this_class"
_KERAS = ("_keras_mask", "_keras_history", "_keras_component", "_keras_optional")
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _create(kind, fields):
    """Creates an object without calling its constructor."""
    made = object.__new__(kind)
    made.__dict__.update(fields)
    return made


def _annotations(kind):
    """Returns the annotations of a class without those of its base classes."""
    return vars(kind).get("__annotations__", {})


def _is_tensor(value):
    return isinstance(value, Tensor) or (
        hasattr(value, "_situ_tensors_") and not isinstance(value, TypeSpec)
    )


def _field_spec(value):
    """Returns what stands for a field in a spec: the spec of a tensor, or the value itself."""
    if _is_tensor(value):
        return spec_of(value)
    return VariableField(value) if is_variable_class(type(value)) else value


class ExtensionTypeMetaclass(abc.ABCMeta):
    """Metaclass of extension types: adds a constructor and the nested class Spec."""

    def __init__(cls, name, bases, namespace):
        if not namespace.get(_FRAMEWORK, False):
            _check_names(cls)
            _add_constructor(cls)
            _add_spec(cls)
        super().__init__(name, bases, namespace)


class _Immutable:
    """Fields that only a constructor can set."""

    def _check_mutable(self, name):
        known = [field.name for field in self._tf_extension_type_fields()]
        if not (_IN_CONSTRUCTOR in self.__dict__ and name in known):
            raise AttributeError(
                f"Cannot mutate attribute `{name}` outside the custom constructor of {self._KIND}."
            )

    def __setattr__(self, name, value):
        if name not in _KERAS:
            self._check_mutable(name)
        self.__dict__[name] = value

    def __delattr__(self, name):
        if name not in _KERAS:
            self._check_mutable(name)
        del self.__dict__[name]

    def _own(self):
        """Returns the fields by name, in their order."""
        names = [field.name for field in self._tf_extension_type_fields()]
        return {name: self.__dict__[name] for name in names}

    def __validate__(self):
        """Checks a new object; subclasses override it."""


@export("experimental.ExtensionType")
class ExtensionType(_Immutable, metaclass=ExtensionTypeMetaclass):
    """Base class of classes with typed fields that are used like tensors: as arguments and results
    of tf.function, tf.cond and tf.while_loop, elements of tf.data and inputs of Keras layers.

    A subclass annotates its fields with int, float, str, bytes, bool, None, tf.Tensor, classes of
    composite tensors, tf.TensorShape, tf.DType, or tuples, mappings and unions of them. Values are
    immutable. `__validate__` may check them. `Spec` is the class of their TypeSpecs.
    """

    locals()[_FRAMEWORK] = True
    _KIND = "ExtensionType"

    def __init__(self, *args: Any, **kwargs: Any):
        del args, kwargs  # those of a subclass
        if type(self) is ExtensionType:
            raise AssertionError(
                "Cannot create an instance of ExtensionType because ExtensionType is an abstract "
                "base class."
            )

    @classmethod
    def _tf_extension_type_fields(cls):
        """Returns the fields; forward references are resolved as far as possible."""
        if "_tf_extension_type_cached_fields" in cls.__dict__:
            return cls.__dict__["_tf_extension_type_cached_fields"]
        try:
            hints, is_resolved = typing.get_type_hints(cls), True
        except (NameError, AttributeError):
            hints, is_resolved = {}, False
            for base in reversed(cls.__mro__):
                hints.update(_annotations(base))
        hints.pop("_KIND", None)
        found = tuple(
            make_field(name, kind, getattr(cls, name, NO_DEFAULT)) for name, kind in hints.items()
        )
        if is_resolved:
            cls._tf_extension_type_cached_fields = found
        return found

    @classmethod
    def _tf_extension_type_has_field(cls, name):
        return any(name == field.name for field in cls._tf_extension_type_fields())

    def _tf_extension_type_convert_fields(self):
        convert_fields(self._tf_extension_type_fields(), self.__dict__)

    @property
    def _type_spec(self):
        return self.Spec.from_value(self)

    @property
    def _situ_spec_(self):
        return self._type_spec

    @property
    def _situ_tensors_(self):
        return nest.COMPOSITES.flatten(self._type_spec._to_components(self))

    def _situ_from_tensors_(self, tensors):
        return self._type_spec._situ_from_tensors_(tensors)

    def _situ_value_(self, values, session):
        del session  # the arrays are all that is needed
        return self._type_spec._with_leaves(values)

    _situ_parts_ = _situ_tensors_

    def __eq__(self, other):
        if type(self) is not type(other) or self._type_spec != other._type_spec:
            return False
        ours, theirs = self._situ_tensors_, other._situ_tensors_
        if len(ours) != len(theirs):
            return False
        conditions = []
        for a, b in zip(ours, theirs):
            for x, y in ((op("Shape", a), op("Shape", b)), (a, b)):
                same = op("Equal", x, y, incompatible_shape_error=False)
                conditions.append(op("All", op("Reshape", same, [-1]), [0]))
        if not conditions:
            return True
        return op("All", op("Pack", conditions), [0])

    def __ne__(self, other):
        equal = self.__eq__(other)
        return op("LogicalNot", equal) if isinstance(equal, Tensor) else not equal

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        parts = ", ".join(f"{name}={value!r}" for name, value in self._own().items())
        return f"{type(self).__qualname__}({parts})"


@export("experimental.extension_type.as_dict")
def as_dict(value: ExtensionType) -> dict:
    """Returns the fields of an extension type value by name; nested values stay as they are.

    Args:
      value: the value.
    """
    return value._own()


# Specs


def _plain(value):
    """Returns a structure with plain dictionaries as mappings."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, typing.Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return value


def _restore_spec(value_type, state):
    return value_type.Spec._deserialize(state)


@export("experimental.ExtensionTypeSpec")
class ExtensionTypeSpec(_Immutable, TypeSpec):
    """Base class of the TypeSpecs of extension types: a TypeSpec for each field that is a tensor,
    the values of all others."""

    _KIND = "ExtensionTypeSpec"
    value_type: typing.Any = None  # type: ignore[assignment]

    @classmethod
    def _tf_extension_type_fields(cls):
        return cls.value_type._tf_extension_type_fields()

    @classmethod
    def _tf_extension_type_has_field(cls, name):
        return cls.value_type._tf_extension_type_has_field(name)

    def _tf_extension_type_convert_fields(self):
        convert_fields(self._tf_extension_type_fields(), self.__dict__, "spec")

    @classmethod
    def from_value(cls, value: TensorLike) -> Any:
        """Returns the spec of a value."""
        return _create(cls, nest.map_structure(_field_spec, value._own()))

    def _serialize(self):
        return tuple((name, _plain(value)) for name, value in self._own().items())

    @classmethod
    def _deserialize(cls, state):
        made = _create(cls, dict(state))
        made._tf_extension_type_convert_fields()
        return made

    @property
    def _situ_static_(self):
        """The fields that are not tensors, as a hashable value."""
        hide = lambda x: type(x) if isinstance(x, TypeSpec) else x
        return spec_fields.hashable(_plain(nest.map_structure(hide, tuple(self._own().values()))))

    def __reduce__(self):
        return _restore_spec, (self.value_type, self._serialize())

    @property
    def _component_specs(self):
        leaves = nest.flatten(tuple(self._own().values()))
        return tuple(x for x in leaves if isinstance(x, TypeSpec))

    def _to_components(self, value):
        """Returns the fields of a value that are tensors or composite tensors."""
        return tuple(x for x in nest.flatten(tuple(value._own().values())) if _is_tensor(x))

    def _from_components(self, components):
        """Returns the value with some components, without calling its constructor.

        Raises:
          ValueError: there are more components than in the spec.
        """
        fields, remaining = self._own(), iter(components)
        values = tuple(fields.values())
        flat = [
            next(remaining)
            if isinstance(x, TypeSpec)
            else x.variable
            if isinstance(x, VariableField)
            else x
            for x in nest.flatten(values)
        ]
        if list(remaining):
            raise ValueError(
                "Cannot build an ExtensionType instance from components because more components "
                "are provided than the number expected by the type spec."
            )
        return _create(self.value_type, dict(zip(fields, nest.pack_sequence_as(values, flat))))

    def _with_leaves(self, leaves):
        """Returns the value with the tensors of its components, or arrays of them."""
        remaining, made = list(leaves), []
        for spec in self._component_specs:
            if not hasattr(spec, "_situ_tensors_"):
                made.append(remaining.pop(0))
                continue
            count = len(spec._situ_tensors_)
            own, remaining = remaining[:count], remaining[count:]
            made.append(spec._situ_from_tensors_(own))
        return self._from_components(made)

    @property
    def _situ_tensors_(self):
        return nest.COMPOSITES.flatten(self._component_specs)

    def _situ_from_tensors_(self, tensors):
        return self._with_leaves(tensors)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a value, or every value of another spec, can match this spec."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            try:
                other = spec_of(other)
            except TypeError:
                return False
        if type(other) is not type(self):
            return False
        return spec_fields.compatible(tuple(self._own().values()), tuple(other._own().values()))

    def most_specific_common_supertype(self, others: Sequence) -> Any:
        """Returns the narrowest spec that includes this one and the others, or None."""
        if any(type(other) is not type(self) for other in others):
            return None
        own = self._own()
        try:
            fields = {
                name: spec_fields.supertype(value, [o._own()[name] for o in others])
                for name, value in own.items()
            }
            return _create(type(self), fields)
        except spec_fields.NoSupertype:
            return None

    def __repr__(self):
        parts = ", ".join(f"{name}={value!r}" for name, value in self._serialize())
        return f"{type(self).__qualname__}({parts})"


# Batches


def _batched_field(value, batch_size):
    from situ._src.data import composite

    if isinstance(value, TypeSpec):
        return composite.batched(value, batch_size)
    if isinstance(value, tensor_shape.TensorShape):
        return tensor_shape.as_shape([batch_size]).concatenate(value)
    return value


def _unbatched_field(value):
    from situ._src.data import composite

    if isinstance(value, TypeSpec):
        return composite.unbatched(value)
    return value[1:] if isinstance(value, tensor_shape.TensorShape) else value


@export("experimental.ExtensionTypeBatchEncoder")
class ExtensionTypeBatchEncoder:
    """How values of an extension type are encoded as tensors that can be stacked and unstacked.

    By default all tensors among the fields are stacked, and a dimension is added to shapes.
    """

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        """Returns the spec of a batch of values.

        Args:
          spec: the spec of a value.
          batch_size: the number of values, or None.
        """
        fields = nest.map_structure(lambda f: _batched_field(f, batch_size), spec._own())
        return _create(type(spec), fields)

    def unbatch(self, spec: Any) -> Any:
        """Returns the spec of one value of a batch.

        Args:
          spec: the spec of the batch.
        """
        return _create(type(spec), nest.map_structure(_unbatched_field, spec._own()))

    def encode(self, spec: Any, value: TensorLike, minimum_rank: int = 0) -> Any:
        """Returns a value as a structure of tensors and composite tensors.

        Args:
          spec: the spec of the value.
          value: the value.
          minimum_rank: the smallest rank of the results.
        """
        del minimum_rank  # the fields of a batch have a rank of at least 1
        return spec._to_components(value)

    def decode(self, spec: Any, encoded_value: Any) -> Any:
        """Returns the value of the result of encode, or of stacked or unstacked results.

        Args:
          spec: the spec of the value.
          encoded_value: the tensors.
        """
        return spec._from_components(encoded_value)

    def encoding_specs(self, spec: Any) -> Any:
        """Returns the specs of the results of encode.

        Args:
          spec: the spec of a value.
        """
        return spec._component_specs


class BatchableExtensionTypeSpec(ExtensionTypeSpec):
    """Base class of the specs of batchable extension types."""

    __batch_encoder__ = ExtensionTypeBatchEncoder()

    def _batch(self, batch_size):
        return self.__batch_encoder__.batch(self, batch_size)

    def _unbatch(self):
        return self.__batch_encoder__.unbatch(self)

    def _situ_encode_(self, value, minimum_rank=0):
        """Returns the flat encoding of a value."""
        return nest.flatten(self.__batch_encoder__.encode(self, value, minimum_rank))

    def _situ_encoding_specs_(self):
        return nest.flatten(self.__batch_encoder__.encoding_specs(self))

    def _situ_decode_(self, parts):
        """Returns the value of a flat encoding."""
        specs = self.__batch_encoder__.encoding_specs(self)
        return self.__batch_encoder__.decode(self, nest.pack_sequence_as(specs, list(parts)))

    def _situ_row_count_(self, value):
        """Returns the number of values of an eager batch."""
        first = self._situ_encode_(value, 1)[0]
        return int(first.nrows()) if hasattr(first, "nrows") else int(first.shape[0])

    def _situ_take_rows_(self, value, rows):
        """Returns the values of an eager batch with some indices."""
        from situ._src.keras import composite

        parts = [
            op("GatherV2", part, rows, 0)
            if isinstance(part, Tensor)
            else composite.rows_of(part).take(rows, 0)
            for part in self._situ_encode_(value, 1)
        ]
        return self._unbatch()._batch(len(rows))._situ_decode_(parts)


@export("experimental.BatchableExtensionType")
class BatchableExtensionType(ExtensionType):
    """Base class of extension types whose values tf.data, tf.map_fn and Keras can batch.

    `__batch_encoder__` may be an ExtensionTypeBatchEncoder that encodes values in another way.
    """

    locals()[_FRAMEWORK] = True


# Classes


def _check_names(cls):
    """Raises a ValueError for reserved names and fields without annotations."""
    annotations = _annotations(cls)
    invalid = f"The field annotations for {cls.__name__} are invalid. "
    for name, value in cls.__dict__.items():
        if name == "Spec":
            if not isinstance(value, type):
                raise ValueError(f"{cls.__qualname__}.Spec must be a nested class; got {value}.")
            if value.__bases__ not in ((TypeSpec,), (object,)):
                raise ValueError(
                    f"{cls.__qualname__}.Spec must be directly subclassed from tf.TypeSpec."
                )
    for name in (*cls.__dict__, *annotations):
        if name != "Spec" and is_reserved(name):
            raise ValueError(f"{invalid}Field '{name}' is reserved.")
    for name, value in cls.__dict__.items():
        is_known = name in annotations or callable(value) or name.startswith("_abc_")
        is_special = name.startswith("__") and name.endswith("__")
        is_method = isinstance(value, (property, classmethod, staticmethod))
        if not (is_known or is_special or is_method or name == "Spec"):
            raise ValueError(f"{invalid}Field {name} is missing a type annotation.")


def _wrap_constructor(cls):
    """Converts and checks fields after a constructor that the class defines."""
    own = cls.__init__

    @functools.wraps(own)
    def __init__(self, *args, **kwargs):
        self.__dict__[_IN_CONSTRUCTOR] = True
        try:
            own(self, *args, **kwargs)
        finally:
            del self.__dict__[_IN_CONSTRUCTOR]
        self._tf_extension_type_convert_fields()
        self.__validate__()

    cls.__init__ = __init__


def _make_constructor(cls, parameters):
    """Adds a constructor with parameters."""
    signature = inspect.Signature(parameters, return_annotation=cls.__name__)

    def __init__(self, *args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)
        self._tf_extension_type_convert_fields()
        self.__validate__()

    own = inspect.Parameter("self", _POSITIONAL)
    __init__.__signature__ = inspect.Signature([own, *parameters], return_annotation=cls)
    cls.__init__ = __init__


def _add_constructor(cls):
    """Adds a constructor of the fields. Those without a default after one with a default are
    keyword-only, and all that follow."""
    if "__init__" in cls.__dict__:
        _wrap_constructor(cls)
        return
    parameters, has_default, kind = [], False, _POSITIONAL
    for field in cls._tf_extension_type_fields():
        if field.default is not NO_DEFAULT:
            has_default = True
        elif has_default:
            kind = inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if field.default is NO_DEFAULT else field.default
        parameters.append(
            inspect.Parameter(field.name, kind, default=default, annotation=field.value_type)
        )
    _make_constructor(cls, parameters)


def _spec_namespace(cls, qualname):
    """Returns the namespace of the nested class Spec, with what the user's class defines."""
    namespace = {"value_type": cls, "__module__": cls.__module__}
    for name, value in vars(cls.__dict__.get("Spec", object)).items():
        if "Spec" not in cls.__dict__ or name in ("__module__", "__dict__", "__weakref__"):
            continue
        if is_reserved(name):
            raise ValueError(f"TypeSpec {qualname} uses reserved name '{name}'.")
        if cls._tf_extension_type_has_field(name):
            raise ValueError(
                f"TypeSpec {qualname} defines a variable '{name}' which shadows a field in "
                f"{cls.__qualname__}"
            )
        namespace[name] = value
    return namespace


def _add_spec(cls):
    """Adds the nested class Spec."""
    qualname = cls.__qualname__ + ".Spec"
    namespace = _spec_namespace(cls, qualname)
    is_batchable = issubclass(cls, BatchableExtensionType)
    if is_batchable and hasattr(cls, "__batch_encoder__"):
        namespace.setdefault("__batch_encoder__", cls.__batch_encoder__)
    elif not is_batchable and (
        hasattr(cls, "__batch_encoder__") or "__batch_encoder__" in namespace
    ):
        raise ValueError(
            "__batch_encoder__ should only be defined for BatchableExtensionType classes."
        )
    base = BatchableExtensionTypeSpec if is_batchable else ExtensionTypeSpec
    spec: typing.Any = type(cls.__name__ + ".Spec", (base,), namespace)
    spec.__qualname__ = qualname
    cls.Spec = spec
    if "__init__" in namespace:
        _wrap_constructor(spec)
        return
    fields = cls._tf_extension_type_fields()
    _make_constructor(spec, [inspect.Parameter(field.name, _POSITIONAL) for field in fields])
