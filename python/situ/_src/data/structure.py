# SPDX-License-Identifier: Apache-2.0
"""structure.py: the types of dataset elements, and functions of elements traced into graphs."""

import _situ
from situ._src.autograph.conversion import convert
from situ._src.framework import default_session
from situ._src.framework.branch_graph import order_after_effects
from situ._src.framework.concrete_function import FuncGraph
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.nest import CORE, DATA, PARTS
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.tensor_shape import as_shape
from situ._src.framework.type_spec import TensorSpec, TypeSpec
from situ._src.framework.type_spec import spec_of as type_spec_of
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.ragged_tensor import to_ragged
from situ._src.ops.sparse_ops import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


class NoneSpec(TypeSpec):
    """The type of components that are None, which have no tensors."""

    dtype: "Any" = None
    shape = as_shape(None)
    value_type = property(lambda s: type(None))
    _situ_tensors_: list = []
    _component_specs: list = []

    def _situ_from_tensors_(self, tensors):
        del tensors  # there are none

    def is_compatible_with(self, spec_or_value):
        """Returns whether a value is None, or another spec that of None."""
        return spec_or_value is None or isinstance(spec_or_value, (NoneSpec, Nothing))

    def most_specific_common_supertype(self, others):
        """Returns this spec if the others are equal; otherwise None."""
        return self if all(other == self for other in others) else None

    def is_subtype_of(self, other):
        """Returns whether the other spec is equal."""
        return self == other

    def __repr__(self):
        return "NoneTensorSpec()"


class Nothing:
    """A component of an element that is None."""

    spec = NoneSpec()
    _situ_tensors_: list = []

    def _situ_from_tensors_(self, tensors):
        del tensors  # there are none
        return self


class DatasetSpec:
    """The type of elements that are datasets."""

    dtype, shape = as_dtype("resource"), as_shape([])
    value_type = property(lambda s: _dataset_class())

    def __init__(self, element_spec, dataset_shape=()):
        self.element_spec, self.index = element_spec, None
        self.dataset_shape = as_shape(dataset_shape)

    def at(self, index):
        spec = DatasetSpec(self.element_spec, self.dataset_shape)
        spec.index = index
        return spec

    def __call__(self, handle):
        from situ._src.data import dataset

        return dataset.from_handle(handle, self.element_spec)

    def _alike(self, others):
        """Returns whether others are specs of datasets whose elements have the same structure."""
        return all(
            type(other) is type(self)
            and not CORE._difference(self.element_spec, other.element_spec, True)
            for other in others
        )

    def is_subtype_of(self, other):
        """Returns whether every dataset of this spec is one of the other's."""
        if not self._alike([other]):
            return False
        pairs = zip(CORE.flatten(self.element_spec), CORE.flatten(other.element_spec))
        return all(
            a.is_subtype_of(b) if hasattr(a, "is_subtype_of") else a == b for a, b in pairs
        ) and self.dataset_shape.is_subtype_of(other.dataset_shape)

    def most_specific_common_supertype(self, others):
        """Returns the narrowest spec that includes this one and the others, or None."""
        if not self._alike(others):
            return None
        common = []
        for mine, *theirs in zip(*(CORE.flatten(s.element_spec) for s in (self, *others))):
            if hasattr(mine, "most_specific_common_supertype"):
                common.append(mine.most_specific_common_supertype(theirs))
                if common[-1] is None:
                    return None
            elif all(mine == one for one in theirs):
                common.append(mine)
            else:
                return None
        shape = self.dataset_shape.most_specific_common_supertype(
            [other.dataset_shape for other in others]
        )
        return DatasetSpec(CORE.pack(self.element_spec, common), shape)

    def __eq__(self, other):
        return isinstance(other, DatasetSpec) and (self.element_spec, self.dataset_shape) == (
            other.element_spec,
            other.dataset_shape,
        )

    def __hash__(self):
        return hash(str(self.element_spec))

    def __repr__(self):
        return f"DatasetSpec({self.element_spec!r}, {self.dataset_shape!r})"


def _dataset_class():
    from situ._src.data.dataset import Dataset

    return Dataset


def spec_of(value):
    """Returns the spec of a tensor, composite tensor or dataset."""
    if isinstance(value, (TypeSpec, DatasetSpec)):
        return value
    if hasattr(value, "element_spec"):
        return DatasetSpec(value.element_spec)
    if hasattr(value, "_situ_tensors_"):
        return getattr(value, "spec", None) or type_spec_of(value)
    return TensorSpec(value.shape, value.dtype.base_dtype)


def tensor(value, dtype=None):
    """Converts a value to a parameter of a dataset: a tensor of the current graph, or one in
    host memory."""
    behind = getattr(value, "_situ_tensor_", None)
    if behind is not None:
        value = behind()
    if isinstance(value, GraphTensor):
        graph = _situ.current_graph()
        if value.graph is not graph and hasattr(graph, "_outer"):
            return graph._capture(value)
        return value
    if isinstance(value, EagerTensor):
        return value
    if isinstance(value, (list, tuple)) and any(
        isinstance(v, (GraphTensor, EagerTensor)) or hasattr(v, "_situ_tensor_") for v in value
    ):
        return tensor(convert_to_tensor(value, dtype))
    return _situ.host(value, None if dtype is None else as_dtype(dtype))


def component(value, dtype=None):
    """Converts a value to a component of an element: a tensor or a composite tensor, of which each
    part is a parameter of a dataset."""
    if value is None:
        return Nothing()
    if hasattr(value, "element_spec"):
        return value
    if hasattr(value, "dynamic_size"):
        from situ._src.ops.tensor_array_spec import ArrayComponent

        value = ArrayComponent(value)
    if hasattr(value, "nested_row_splits"):
        value = to_ragged(value)
    elif type(value).__name__ == "SparseTensorValue":
        value = SparseTensor(*value)
    if not hasattr(value, "_situ_tensors_"):
        return tensor(value, dtype)
    made = value._situ_from_tensors_([tensor(part) for part in value._situ_tensors_])
    if getattr(value, "_static", None) is not None:
        made._static = value._static
    return made


def is_variable(value):
    return not isinstance(value, GraphTensor) and hasattr(value, "_situ_tensor_")


def values_now(arguments):
    """Evaluates arguments when an iterator starts: variables, and tensors of a graph in the default
    session or in a new one."""
    tensors = [a for a in arguments if isinstance(a, GraphTensor)]
    evaluated = iter(_evaluate(tensors) if tensors else ())
    return tuple(
        convert_to_tensor(next(evaluated)) if isinstance(a, GraphTensor) else a._situ_tensor_()
        for a in arguments
    )


def _evaluate(tensors):
    from situ._src.framework.session import Session

    session = default_session.current()
    if session is not None and session.graph is tensors[0].graph:
        return session.run(tensors)
    with Session(graph=tensors[0].graph) as session:
        return session.run(tensors)


class DataGraph(FuncGraph):
    """The graph of a function of elements; captured values become parameters of the dataset."""

    def __init__(self, name):
        outer = _situ.current_graph()
        super().__init__(name)
        self._outer, self._captures = outer, True

    def _capture(self, value, name="captured"):
        inside = getattr(value, "graph", None)
        if inside is not None and inside is not self._outer and hasattr(self._outer, "_outer"):
            value = self._outer._capture(value)
        return super()._capture(value, name)

    def read_variable(self, variable):
        """Captures a variable, which is read when an iterator starts."""
        if isinstance(self._outer, DataGraph):
            self._outer.read_variable(variable)
        return FuncGraph._capture(self, variable, "captured")


def _at_run_time(function, result):
    """Wraps a function that assigns variables in a Python call for each element."""

    def call(element):
        from situ._src.ops.script_ops import py_function

        def call_eagerly(*parts):
            outputs = function(PARTS.pack(element, parts))
            flat = PARTS.flatten(tuple(outputs) if isinstance(outputs, list) else outputs)
            return [v.read_value() if hasattr(v, "read_value") else v for v in flat]

        traced = PARTS.flatten(result)
        outputs = py_function(call_eagerly, PARTS.flatten(element), [t.dtype for t in traced])
        for output, before in zip(outputs, traced):
            output.set_shape(before.shape)
        return PARTS.pack(result, outputs)

    return call


_ASSIGNING_OPS = (
    "Assign",
    "Scatter",
    "ResourceScatter",
    "Apply",
    "ResourceApply",
    "ResourceStrided",
    "StridedSliceAssign",
    "CountUpTo",
)


def _refuse_assignments(graph):
    """Raises an error if a function assigns variables of a session graph: it would assign a
    copy."""
    inner = {id(inside): outer for outer, inside in graph.captured.values()}
    for operation in graph.get_operations():
        if (
            operation.type.startswith(_ASSIGNING_OPS)
            and operation.inputs
            and id(operation.inputs[0]) in inner
        ):
            name = getattr(inner[id(operation.inputs[0])], "name", "?").split(":")[0]
            raise NotImplementedError(
                f"A function of a tf.data.Dataset assigns variable '{name}' ({operation.type}) in "
                "graph mode, which situ does not support. Return the new value and assign it "
                "outside of the dataset, or use eager mode or tf.function."
            )


class Traced:
    """A function of elements, traced once."""

    def __init__(self, function, spec):
        name = getattr(function, "__name__", "function")
        call = function = convert(function)
        if type(spec) is tuple:
            call = lambda element: function(*element)
        self._trace(call, name, spec)
        self.has_effects = bool(self.graph.writes)
        if self.has_effects:
            self._trace(_at_run_time(call, self.result), name, spec)
        _refuse_assignments(self.graph)
        self._native = {}

    def _trace(self, function, name, spec):
        self.graph = graph = DataGraph(name)
        self.inputs = []
        device = _situ.swap_device("")
        try:
            with graph.as_default(), graph.device("/device:CPU:0"):
                arguments = DATA.map(self._argument, spec)
                self.result = self._after_effects(self._convert(function(arguments)))
        finally:
            _situ.swap_device(device)

    def _argument(self, spec):
        if hasattr(spec, "_situ_tensors_"):
            return spec._situ_from_tensors_([self._argument(s) for s in spec._situ_tensors_])
        self.inputs.append(op("Placeholder", dtype=spec.dtype, shape=spec.shape, name="args"))
        return spec(self.inputs[-1]) if isinstance(spec, DatasetSpec) else self.inputs[-1]

    def _convert(self, result):
        if isinstance(result, list):
            result = tuple(result)
        return DATA.map(self._leaf, result)

    def _after_effects(self, result):
        """Orders the tensors of a result after the side effects of the function."""
        leaves = PARTS.flatten(result)
        tensors = [x for x in leaves if isinstance(x, GraphTensor)]
        ordered = iter(order_after_effects(self.graph, tensors))
        return PARTS.pack(
            result, [next(ordered) if isinstance(x, GraphTensor) else x for x in leaves]
        )

    @staticmethod
    def _leaf(result):
        if result is None:
            return component(result)
        if hasattr(result, "element_spec"):
            return result
        is_composite = any(
            hasattr(result, name)
            for name in ("_situ_tensors_", "nested_row_splits", "dynamic_size")
        )
        try:
            if is_composite or type(result).__name__ == "SparseTensorValue":
                return component(result)
            return tensor(convert_to_tensor(result))  # captures tensors of other graphs
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Unsupported return value from function passed to Dataset.map(): {result}."
            ) from error

    def datasets_to_tensors(self, bound):
        """Converts datasets among the results to tensors."""
        with self.graph.as_default(), self.graph.device("/device:CPU:0"):
            self.result = DATA.map(
                lambda x: bound(x) if hasattr(x, "element_spec") else x, self.result
            )

    @property
    def captured(self):
        """The captured values, in the order of the inputs after the elements."""
        return [value for value, _ in self.graph.captured.values()]

    def interface(self, outputs):
        """Returns the graph, the inputs and these tensors and variables as outputs."""
        outputs = [self.graph.captured[id(o)][1] if is_variable(o) else o for o in outputs]
        inside = tuple(inner for _, inner in self.graph.captured.values())
        return self.graph, tuple(self.inputs) + inside, tuple(outputs)

    def native(self, interface):
        """Returns the compiled function of an interface."""
        key = tuple(id(o) for o in interface[2])
        if key not in self._native:
            self._native[key] = _situ.Transform(*interface)
        return self._native[key]
