# SPDX-License-Identifier: Apache-2.0
"""structure.py: elements of data sets: their structure, and functions of them as graphs."""

import _situ
from situ._src.autograph.conversion import convert
from situ._src.framework import default_session
from situ._src.framework.concrete_function import FuncGraph
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.tensor_shape import as_shape
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor, op


def is_structure(value):
    """Tuples and dicts are structure; a list is a tensor."""
    return isinstance(value, (tuple, dict)) and not isinstance(value, TensorSpec)


def _parts(structure):
    return [structure[k] for k in sorted(structure)] if isinstance(structure, dict) else structure


def flatten(structure):
    if not is_structure(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in flatten(part)]


def pack(structure, leaves):
    """The leaves in the structure."""
    return _pack(structure, iter(leaves))


def _pack(structure, leaves):
    if isinstance(structure, dict):
        parts = {k: _pack(structure[k], leaves) for k in sorted(structure)}
        made = {k: parts[k] for k in structure}
        return made if type(structure) is dict else type(structure)(made)
    if is_structure(structure):
        parts = [_pack(p, leaves) for p in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
    return next(leaves)


def map_leaves(function, structure):
    return pack(structure, [function(x) for x in flatten(structure)])


class DatasetSpec:
    """The kind of elements that are data sets themselves."""

    dtype, shape = as_dtype("resource"), as_shape([])

    def __init__(self, element_spec, dataset_shape=()):
        self.element_spec, self.index = element_spec, None

    def at(self, index):
        spec = DatasetSpec(self.element_spec)
        spec.index = index
        return spec

    def __call__(self, handle):
        from situ._src.data import dataset

        return dataset.from_handle(handle, self.element_spec)

    def __eq__(self, other):
        return isinstance(other, DatasetSpec) and self.element_spec == other.element_spec

    def __hash__(self):
        return hash(str(self.element_spec))

    def __repr__(self):
        return f"DatasetSpec({self.element_spec!r}, TensorShape([]))"


def spec_of(value):
    if isinstance(value, (TensorSpec, DatasetSpec)):
        return value
    if hasattr(value, "element_spec"):
        return DatasetSpec(value.element_spec)
    return TensorSpec(value.shape, value.dtype.base_dtype)


def tensor(value, dtype=None):
    """A value as a param: a tensor of the graph that is being built, or one in host memory."""
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


def is_variable(value):
    return not isinstance(value, GraphTensor) and hasattr(value, "_situ_tensor_")


def values_now(arguments):
    """What arguments are as an iterator begins: variables as they are, tensors of a graph that
    sessions run in the session of this place, or in one of their own."""
    tensors = [a for a in arguments if isinstance(a, GraphTensor)]
    found = iter(_evaluated(tensors) if tensors else ())
    return tuple(
        convert_to_tensor(next(found)) if isinstance(a, GraphTensor) else a._situ_tensor_()
        for a in arguments
    )


def _evaluated(tensors):
    from situ._src.framework.session import Session

    session = default_session.current()
    if session is not None and session.graph is tensors[0].graph:
        return session.run(tensors)
    with Session(graph=tensors[0].graph) as session:
        return session.run(tensors)


class DataGraph(FuncGraph):
    """The graph of a function of elements; values from outside become params of the data set."""

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
        """A variable is read when an iterator begins."""
        if isinstance(self._outer, DataGraph):
            self._outer.read_variable(variable)
        return FuncGraph._capture(self, variable, "captured")


def _at_run_time(function, result):
    """A function that changes variables, as one that Python calls for each element."""

    def call(element):
        from situ._src.ops.script_ops import py_function

        def now(*parts):
            made = function(pack(element, parts))
            return flatten(tuple(made) if isinstance(made, list) else made)

        traced = flatten(result)
        made = py_function(now, flatten(element), [t.dtype for t in traced])
        for one, before in zip(made, traced):
            one.set_shape(before.shape)
        return pack(result, made)

    return call


_CHANGES = (
    "Assign",
    "Scatter",
    "ResourceScatter",
    "Apply",
    "ResourceApply",
    "ResourceStrided",
    "StridedSliceAssign",
    "CountUpTo",
)


def _refuse_changes(graph):
    """A function of elements runs apart from the session whose variables it captures: it would
    change a copy."""
    inner = {id(inside): outer for outer, inside in graph.captured.values()}
    for operation in graph.get_operations():
        if (
            operation.type.startswith(_CHANGES)
            and operation.inputs
            and id(operation.inputs[0]) in inner
        ):
            name = getattr(inner[id(operation.inputs[0])], "name", "?").split(":")[0]
            raise NotImplementedError(
                f"A function of a tf.data.Dataset changes variable '{name}' ({operation.type}) of "
                "a graph that sessions run, which situ does not support. Return what is to be "
                "assigned, and assign it outside of the data set; in eager style and in "
                "tf.function such functions work."
            )


class Traced:
    """A function of elements of a data set, traced once."""

    def __init__(self, function, spec):
        name = getattr(function, "__name__", "function")
        call = function = convert(function)
        if type(spec) is tuple:
            call = lambda element: function(*element)
        self._trace(call, name, spec)
        if self.graph.writes:
            self._trace(_at_run_time(call, self.result), name, spec)
        _refuse_changes(self.graph)
        self._native = {}

    def _trace(self, function, name, spec):
        self.graph = graph = DataGraph(name)
        self.inputs = []
        device = _situ.swap_device("")
        try:
            with graph.as_default(), graph.device("/device:CPU:0"):
                arguments = map_leaves(self._argument, spec)
                self.result = self._convert(function(arguments))
        finally:
            _situ.swap_device(device)

    def _argument(self, spec):
        self.inputs.append(op("Placeholder", dtype=spec.dtype, shape=spec.shape, name="args"))
        return spec(self.inputs[-1]) if isinstance(spec, DatasetSpec) else self.inputs[-1]

    def _convert(self, result):
        if isinstance(result, list):
            result = tuple(result)
        return map_leaves(self._leaf, result)

    @staticmethod
    def _leaf(result):
        if hasattr(result, "element_spec"):
            return result
        try:
            return tensor(convert_to_tensor(result))  # one of another graph is captured
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Unsupported return value from function passed to Dataset.map(): {result}."
            ) from error

    def give_tensors(self, bound):
        """Data sets among the results become tensors."""
        with self.graph.as_default(), self.graph.device("/device:CPU:0"):
            self.result = map_leaves(
                lambda x: bound(x) if hasattr(x, "element_spec") else x, self.result
            )

    @property
    def captured(self):
        """Values from outside, in the order of the inputs behind the elements."""
        return [value for value, _ in self.graph.captured.values()]

    def native(self, outputs):
        """The function that gives these tensors of the graph, and values of these variables."""
        outputs = [self.graph.captured[id(o)][1] if is_variable(o) else o for o in outputs]
        key = tuple(id(o) for o in outputs)
        if key not in self._native:
            inside = tuple(inner for _, inner in self.graph.captured.values())
            self._native[key] = _situ.Transform(
                self.graph, tuple(self.inputs) + inside, tuple(outputs)
            )
        return self._native[key]
