# SPDX-License-Identifier: Apache-2.0
"""iterators.py: iterators over datasets: Python iterators in eager mode, handles and nodes in
graphs."""

from __future__ import annotations

import atexit
import weakref

import numpy

import _situ
from situ._src.checkpoint.saveables import SaveableObject, SaveSpec
from situ._src.data import structure as trace
from situ._src.data.native import handle_in_graph
from situ._src.data.options import ExternalStatePolicy
from situ._src.data.structure import DatasetSpec
from situ._src.framework import errors
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.nest import DATA, PARTS
from situ._src.framework.resource_order import in_order
from situ._src.framework.tensor_shape import as_shape
from situ._src.framework.type_spec import SparseTensorSpec, TensorSpec, TypeSpec
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec
from situ._src.ops.random_ops import get_seed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import (
        Any,
        Sequence,
        TensorLike,
    )

_live: weakref.WeakSet = weakref.WeakSet()


@atexit.register
def _close_all():
    """Stops threads that call Python functions before the interpreter ends."""
    for iterator in list(_live):
        iterator.close()


def _attrs(spec):
    leaves = PARTS.flatten(spec)
    return dict(output_types=[s.dtype for s in leaves], output_shapes=[s.shape for s in leaves])


def _next_node(handle, spec, name=None):
    name = name or "IteratorGetNext"
    return _packed(
        spec, in_order(handle, lambda: op("IteratorGetNext", handle, name=name, **_attrs(spec)))
    )


def _packed(spec, parts):
    """Packs the outputs of a node into an element."""
    leaves = PARTS.flatten(spec)
    return PARTS.pack(
        spec, [s(p) if isinstance(s, DatasetSpec) else p for s, p in zip(leaves, parts)]
    )


def single_element(dataset, name=None):
    """Returns the element of a dataset that has exactly one."""
    if _situ.current_graph() is None and _situ.executing_eagerly():
        elements = list(dataset.take(2))
        if len(elements) != 1:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Dataset was empty." if not elements else "Dataset had more than one element.",
            )
        return elements[0]
    handle, arguments = handle_in_graph(dataset)

    def emit():
        return op(
            "DatasetToSingleElement",
            handle,
            arguments,
            name=name or "DatasetToSingleElement",
            **_argument_attrs(arguments),
            **_attrs(dataset.element_spec),
        )

    parts = in_order(_situ.current_graph(), emit) if dataset._has_effects() else emit()
    return _packed(dataset.element_spec, parts)


def _argument_attrs(arguments):
    """Returns attributes of nodes that iterate in each run; within a function a captured dataset
    keeps its state (cache, shuffle) between calls."""
    return dict(shares=not arguments and _situ.current_graph().building_function)


def in_function(dataset):
    """Creates an iterator that starts anew in each run."""
    handle, arguments = handle_in_graph(dataset)
    return FunctionIterator(
        op("DatasetIterator", handle, arguments, **_argument_attrs(arguments)),
        None,
        dataset.element_spec,
    )


class Elements:
    """The elements of a dataset or iterator for a graph loop."""

    def __init__(self, items):
        if isinstance(items, OwnedIterator):
            self._handle = items.graph_handle()
        else:
            self._handle = getattr(items, "_iterator_resource", None)
        self._spec = items.element_spec
        if self._handle is None:
            self._handle = in_function(items)._iterator_resource

    def first(self):
        """Returns [whether there is an element, *its components or zeros]."""
        return self.after(True, *[_zeros(s) for s in PARTS.flatten(self._spec)])

    def after(self, wanted, *defaults):
        """Returns the same for the next element; if `asks` is false none is taken."""
        result = op(
            "IteratorGetNextOr",
            self._handle,
            convert_to_tensor(wanted, "bool"),
            list(defaults),
            output_shapes=_attrs(self._spec)["output_shapes"],
        )
        return [result[0], *result[1:]]

    def element(self, parts):
        return _packed(self._spec, parts)


_CAPTURED = (
    ": A likely cause of this error is that the dataset for which you are calling "
    "`make_one_shot_iterator()` captures a stateful object, such as a `tf.Variable` or "
    "`tf.lookup.StaticHashTable`, which is not supported. Use `make_initializable_iterator()` "
    "instead."
)
_NO_VALUE = "The given optional does not have a value."


def _zeros(spec):
    """Returns zeros for a missing element."""
    sizes = [] if spec.shape.rank is None else [n or 0 for n in spec.shape.as_list()]
    is_string = spec.dtype.name == "string"
    return convert_to_tensor(
        numpy.full(sizes, b"", object)
        if is_string
        else numpy.zeros(sizes, spec.dtype.as_numpy_dtype),
        spec.dtype,
    )


class OwnedIterator(_situ.Iterator):
    """A Python iterator over a dataset."""

    @classmethod
    def over(cls, dataset):
        result, arguments = dataset._start()
        self = cls(result, dataset._structure(), arguments)
        self.element_spec, self._handle = dataset.element_spec, None
        self._dataset = dataset
        _live.add(self)
        return self

    def save(self):
        """Returns the position of the iterator, for `restore`.

        Raises:
          FailedPreconditionError: a function of the dataset depends on state that is not saved,
            and the options of the dataset do not allow it.
        """
        policy = self._dataset.options().experimental_external_state_policy
        return self.position(policy in (None, ExternalStatePolicy.FAIL))

    def get_next(self, name=None):
        del name  # the element is taken eagerly, not by an op
        try:
            return next(self)
        except StopIteration:
            raise errors.OutOfRangeError(
                None, None, "End of sequence [Op:IteratorGetNext]"
            ) from None

    next = get_next

    def get_next_as_optional(self):
        if _situ.current_graph() is not None:
            return next_optional(self)
        return Optional(next(self, None), self.element_spec)

    def _emit_next(self):
        """Emits a node that takes the next element in each call of a tf.function."""
        return _next_node(self.graph_handle(), self.element_spec)

    def graph_handle(self):
        """Returns the handle for nodes."""
        if self._handle is None:
            self._handle = self.handle()
        return self._handle

    # As an argument of a tf.function an iterator is a composite of its handle.
    _situ_tensors_ = property(lambda s: [s.graph_handle()])

    def _situ_from_tensors_(self, tensors):
        return IteratorSpec(self.element_spec)._situ_from_tensors_(tensors)

    output_types = property(lambda s: DATA.map(lambda x: x.dtype, s.element_spec))
    output_shapes = property(lambda s: DATA.map(lambda x: x.shape, s.element_spec))


@export("data.IteratorSpec")
class IteratorSpec(TypeSpec):
    """Describes an iterator over a dataset.

    Args:
      element_spec: the structure of tf.TypeSpecs of the elements.
    """

    dtype, shape = as_dtype("resource"), as_shape([])

    def __init__(self, element_spec: Any):
        self.element_spec = element_spec

    value_type = property(lambda s: OwnedIterator)
    _situ_tensors_ = property(lambda s: [TensorSpec([], "resource")])

    @staticmethod
    def from_value(value: TensorLike) -> Any:
        """Returns the spec of an iterator."""
        return IteratorSpec(value.element_spec)

    def is_compatible_with(self, spec_or_value: Any) -> Any:
        """Returns whether an iterator, or every one of another spec, can match this spec."""
        other = getattr(spec_or_value, "element_spec", None)
        mine, theirs = PARTS.flatten(self.element_spec), PARTS.flatten(other)
        return len(mine) == len(theirs) and all(
            a.is_compatible_with(b) for a, b in zip(mine, theirs)
        )

    def most_specific_common_supertype(self, others: Sequence) -> Any:
        """Returns this spec if the others are equal; otherwise None."""
        return self if all(other == self for other in others) else None

    def is_subtype_of(self, other: object) -> Any:
        """Returns whether the other spec is equal."""
        return self == other

    def _situ_from_tensors_(self, tensors):
        return FunctionIterator(tensors[0], None, self.element_spec)

    def __eq__(self, other):
        return isinstance(other, IteratorSpec) and self.element_spec == other.element_spec

    def __hash__(self):
        return hash(str(self.element_spec))

    def __repr__(self):
        return f"IteratorSpec({self.element_spec!r},)"


def _to_numpy(value):
    """Converts a component of an element to arrays that cannot be written."""
    if value is None:
        return None
    if not hasattr(value, "numpy"):
        return value._situ_value_([part.numpy() for part in value._situ_tensors_], None)
    array = value.numpy()
    if isinstance(array, numpy.ndarray):
        array.setflags(write=False)
    return array


@export("data.NumpyIterator")
class NumpyIterator:
    """An iterator over the elements of a dataset, converted to NumPy arrays.

    Args:
      dataset: a tf.data.Dataset.
    """

    def __init__(self, dataset: Any):
        for spec in DATA.flatten(dataset.element_spec):
            if isinstance(spec, DatasetSpec):
                raise TypeError(
                    "`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that "
                    f"produce values of type {spec.value_type}."
                )
        self._iterator = iter(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        return DATA.map(_to_numpy, next(self._iterator))

    next = __next__

    def save(self) -> Any:
        """Returns the position of the iterator, for `restore`."""
        return self._iterator.save()

    def restore(self, state: dict | None) -> Any:
        """Continues at a position that `save` returned."""
        return self._iterator.restore(state)

    def __repr__(self):
        return f"NumpyIterator(iterator={self._iterator})"


@export("data.experimental.get_next_as_optional")
def get_next_as_optional(iterator: Any) -> Any:
    """Returns the next element of an iterator as a tf.experimental.Optional.

    Args:
      iterator: The iterator.
    """
    return iterator.get_next_as_optional()


def next_optional(items):
    """Returns the next element of an iterator as an Optional of a graph."""
    elements = Elements(items)
    has_value, *parts = in_order(elements._handle, elements.first)
    return GraphOptional(has_value, elements.element(parts), items.element_spec)


class Optional:
    """An element or nothing."""

    def __init__(self, value, spec):
        self._value, self.element_spec = value, spec

    @staticmethod
    def from_value(value):
        value = DATA.map(trace.component, value)
        return Optional(value, DATA.map(trace.spec_of, value))

    @staticmethod
    def empty(element_spec):
        return Optional(None, element_spec)

    none_from_structure = empty

    def has_value(self, name=None):
        return convert_to_tensor(self._value is not None, name=name)

    def get_value(self, name=None):
        del name  # the tensors exist already
        if self._value is None:
            raise errors.InvalidArgumentError(None, None, _NO_VALUE)
        return self._value

    def apply(self, function, spec):
        """Returns an Optional of function(value)."""
        return Optional(None if self._value is None else function(self._value), spec)


class GraphOptional(Optional):
    """An element or nothing, known when the graph runs; the value is then zeros."""

    def __init__(self, has_value, value, spec, function=None):
        super().__init__(value, spec)
        self._has_value, self._function = has_value, function

    def has_value(self, name=None):
        return op("Identity", self._has_value, name=name)

    def get_value(self, name=None):
        del name  # a structure of several tensors
        check = op("Assert", self._has_value, [convert_to_tensor(_NO_VALUE)])
        with _situ.current_graph().control_dependencies([check]):
            value = PARTS.map(lambda x: op("Identity", x), self._value)
        return value if self._function is None else self._function(value)

    def apply(self, function, spec):
        return GraphOptional(self._has_value, self._value, spec, function)


def _with_classes(spec, output_classes):
    """Returns the spec of elements whose components are of given classes."""
    if output_classes is None:
        return spec

    def one(part, kind):
        if issubclass(kind, _situ.Tensor):
            return part

        for spec_class in (SparseTensorSpec, RaggedTensorSpec):
            if issubclass(kind, spec_class([None, None]).value_type):
                return spec_class(part.shape, part.dtype)
        raise TypeError(f"Unsupported class of a component of elements: {kind}.")

    parts = zip(DATA.flatten(spec), DATA.flatten_like(spec, output_classes))
    return DATA.pack(spec, [one(part, kind) for part, kind in parts])


@export("data.Iterator", "contrib.data.Iterator")
class Iterator:
    """An iterator of a graph: a handle and nodes that take elements."""

    def __init__(self, handle: str, initializer: Any, spec: Any):
        self._iterator_resource, self._initializer, self.element_spec = handle, initializer, spec
        self._string_handle = self._make_string_handle()

    def _make_string_handle(self):
        return op("IteratorToStringHandle", self._iterator_resource)

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Any:
        """Creates an iterator without a dataset; see `make_initializer`.

        Args:
          output_types: Types of the components of an element.
          output_shapes: Their shapes; default: unknown.
          shared_name: Name under which sessions share the iterator.
          output_classes: Classes of the components; default: dense tensors.
        """
        spec = _with_classes(_spec(output_types, output_shapes), output_classes)
        return Iterator(op("IteratorV2", shared_name=shared_name or "", **_attrs(spec)), None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Any:
        """Returns the iterator of a string handle, which may be fed.

        Args:
          string_handle: Scalar string tensor; see `string_handle`.
          output_types: Types of the components of an element.
          output_shapes: Their shapes; default: unknown.
          output_classes: Classes of the components; default: dense tensors.
        """
        spec = _with_classes(_spec(output_types, output_shapes), output_classes)
        return Iterator(op("IteratorFromStringHandleV2", string_handle, **_attrs(spec)), None, spec)

    @property
    def initializer(self) -> Any:
        """The operation that starts the iterator at the first element."""
        if self._initializer is None:
            raise ValueError(
                "The iterator does not have an initializer. This means it was likely "
                "created using `tf.data.Dataset.make_one_shot_iterator()`. For an "
                "initializable iterator, use "
                "`tf.data.Dataset.make_initializable_iterator()` instead."
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """Returns an operation that starts the iterator with a dataset."""
        DATA.assert_same(self.element_spec, dataset.element_spec)
        mine, other = DATA.flatten(self.element_spec), DATA.flatten(dataset.element_spec)
        if [s.dtype for s in mine] != [s.dtype for s in other]:
            raise TypeError(
                f"Expected output types {self.output_types!r} but got dataset with "
                f"output types {dataset.output_types!r}."
            )
        for expected, actual in zip(mine, other):
            if not expected.shape.is_compatible_with(actual.shape):
                raise TypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} "
                    f"but got dataset with output shapes {dataset.output_shapes!r}."
                )
        handle, arguments = handle_in_graph(dataset)
        return op(
            "MakeIterator",
            handle,
            self._iterator_resource,
            arguments,
            name=name or "make_initializer",
        )

    def get_next(self, name: str | None = None) -> Any:
        """Returns the next element in each run."""
        return _next_node(self._iterator_resource, self.element_spec, name)

    def get_next_as_optional(self) -> Any:
        """Returns the next element as a tf.experimental.Optional."""
        return next_optional(self)

    def string_handle(self, name: str | None = None) -> Any:
        """Returns a string tensor that from_string_handle accepts; without a name always the
        same."""
        if name is not None:
            return op("IteratorToStringHandle", self._iterator_resource, name=name)
        return self._string_handle

    output_types = property(lambda s: DATA.map(lambda x: x.dtype, s.element_spec))
    output_shapes = property(lambda s: DATA.map(lambda x: x.shape, s.element_spec))
    output_classes = property(
        lambda s: DATA.map(
            lambda x: x.value_type if hasattr(x, "_situ_tensors_") else _situ.Tensor,
            s.element_spec,
        )
    )


class FunctionIterator(Iterator):
    """An iterator of a function: next(iterator) emits a node."""

    _most = 1000  # elements that a function may take outside of a graph loop

    def _make_string_handle(self):
        return None  # it is not known outside of the function

    def __iter__(self):
        return self

    def __next__(self):
        self._most -= 1
        if self._most < 0:
            raise RuntimeError(
                "A function takes too many elements of a dataset one by one: its loop over the "
                "dataset was not converted to a graph loop."
            )
        return self.get_next()

    next = __next__


def _spec(types, shapes):
    types = DATA.map(as_dtype, types)
    flat = DATA.flatten(types)
    if shapes is None:
        return DATA.pack(types, [TensorSpec(None, t) for t in flat])

    try:
        parts = DATA.flatten_like(types, shapes)
    except ValueError as error:
        raise TypeError(f"Shapes {shapes} do not have the structure of types {types}.") from error
    return DATA.pack(types, [TensorSpec(as_shape(s), t) for s, t in zip(parts, flat)])


def _refuse_state(tensors):
    """Raises ValueError if tensors that a one-shot iterator captures depend on placeholders or on
    stateful operations."""
    waiting, seen = [t.op for t in tensors if hasattr(t, "op")], set()
    while waiting:
        operation = waiting.pop()
        if operation.name in seen or operation.type.startswith("Dataset"):
            continue
        seen.add(operation.name)
        what = f"(name:{operation.name}, type:{operation.type}) by value."
        reads = operation.type == "ReadVariableOp"  # the handle is named instead
        if not reads and operation.type in OPS and OPS[operation.type].definition["stateful"]:
            raise ValueError("Cannot capture a stateful node " + what + _CAPTURED)
        if operation.type.startswith("Placeholder") and not operation.inputs:
            raise ValueError("Cannot capture a placeholder " + what)
        waiting += [t.op for t in operation.inputs]


@export("compat.v1.data.make_one_shot_iterator", v1="data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: Any) -> Any:
    """Creates an iterator that needs no initialization.

    Args:
      dataset: a tf.data.Dataset.
    """
    if _situ.current_graph() is None and _situ.executing_eagerly():
        return iter(dataset)
    get_seed(None)  # TensorFlow's iterator function uses up a seed of the graph
    handle, arguments = handle_in_graph(dataset)
    _refuse_state(arguments)
    iterator = op(
        "DatasetOneShotIterator",
        handle,
        arguments,
        name="OneShotIterator",
        **_attrs(dataset.element_spec),
    )
    return Iterator(iterator, None, dataset.element_spec)


@export("compat.v1.data.make_initializable_iterator", v1="data.make_initializable_iterator")
def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Any:
    """Creates an iterator that its initializer starts.

    Args:
      dataset: a tf.data.Dataset.
      shared_name: Name under which sessions share the iterator.
    """
    if _situ.current_graph() is None and _situ.executing_eagerly():
        raise RuntimeError(
            "dataset.make_initializable_iterator is not supported when eager "
            "execution is enabled. Use `for element in dataset` instead."
        )
    spec = dataset.element_spec
    handle = op("IteratorV2", shared_name=shared_name or "", name="IteratorV2", **_attrs(spec))
    iterator = Iterator(handle, None, spec)
    iterator._initializer = iterator.make_initializer(dataset, "MakeIterator")
    get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator._initializer)
    return iterator


class IteratorSaveable(SaveableObject):
    """The position of an iterator of a graph, for a tf.compat.v1.train.Saver.

    Args:
      handle: the handle of the iterator.
      name: its name in checkpoints.
      policy: an ExternalStatePolicy.
    """

    def __init__(self, handle, name, policy):
        position = op("SerializeIterator", handle, external_state_policy=policy.value)
        super().__init__(handle, [SaveSpec(position, "", name + "_STATE")], name)

    def restore(self, restored_tensors, restored_shapes):
        """Continues at the position of a checkpoint."""
        del restored_shapes  # a position is a vector
        return op("DeserializeIterator", self.op, restored_tensors[0])


@export("data.experimental.make_saveable_from_iterator")
def make_saveable_from_iterator(iterator: Any, external_state_policy: Any = None) -> Any:
    """Returns an object that makes a tf.compat.v1.train.Saver save the position of an iterator.

    Args:
      iterator: an iterator of a graph.
      external_state_policy: "fail" (default), "warn" or "ignore", or a
        tf.data.experimental.ExternalStatePolicy: what to do if functions of elements depend on
        state that is not saved.

    Raises:
      ValueError: `external_state_policy` is something else.
    """
    policy = external_state_policy or "fail"
    if not isinstance(policy, ExternalStatePolicy):
        if policy not in ("warn", "ignore", "fail"):
            raise ValueError(
                "Invalid `ExternalStatePolicy.` Supported values include 'warn', 'ignore', and "
                f"'fail.' Received {external_state_policy}."
            )
        policy = ExternalStatePolicy[policy.upper()]
    handle = iterator._iterator_resource
    return IteratorSaveable(handle, handle.name, policy)


@export(v1="data.get_output_types")
def get_output_types(dataset_or_iterator: Any) -> Any:
    """Returns the types of the components of an element.

    Args:
      dataset_or_iterator: A dataset or an iterator.
    """
    return dataset_or_iterator.output_types


@export(v1="data.get_output_shapes")
def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Returns the shapes of the components of an element.

    Args:
      dataset_or_iterator: A dataset or an iterator.
    """
    return dataset_or_iterator.output_shapes


@export(v1="data.get_output_classes")
def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Returns the classes of the components of an element.

    Args:
      dataset_or_iterator: A dataset or an iterator.
    """
    return dataset_or_iterator.output_classes


@export("contrib.eager.Iterator", "contrib.eager.python.tfe.Iterator")
def eager_iterator(dataset: Any) -> Any:
    """An iterator of eager style.

    Args:
      dataset: a tf.data.Dataset.
    """
    return iter(dataset)
