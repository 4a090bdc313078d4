# SPDX-License-Identifier: Apache-2.0
"""concrete_function.py: one trace of a tf.function: its FuncGraph, the signature, and the compiled
program that calls run."""

from __future__ import annotations

import itertools

import _situ
from situ._src.framework import nest, tensor_shape
from situ._src.framework.config import function_options
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import Graph
from situ._src.framework.resource_order import effects_of
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.type_spec import Signature, TensorSpec, TypeSpec, spec_of
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.random_ops import global_seed

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable


def read_assigned_value(graph, variable):
    """Returns the value that a graph has assigned to a variable as a separate tensor, at which
    gradients with respect to the variable end."""
    versions = graph.versions.setdefault(variable, [])
    written = graph.writes[variable]
    if not versions or versions[-1].op.inputs[0] is not written:
        with (
            graph.as_default(),
            graph.control_dependencies(None),
            graph.device(None),
            graph.device(variable._trace_device),
        ):
            versions.append(op("Identity", written))
    return versions[-1]


class FuncGraph(Graph):
    """The graph of a traced function. Tensors and variables from outside become inputs
    (captures)."""

    building_function = True

    def __init__(self, name):
        super().__init__()
        outer = _situ.current_graph()
        self.seed = global_seed() if outer is None else outer.seed
        self.name, self.captured, self.reads, self.writes = name, {}, {}, {}
        self._orders_effects = True
        self.versions = {}  # variable -> tensors read from it after each assignment
        self.heard = None  # a dict that collects the variables read, or None
        self.created = self.slots = 0  # count of variables created; of optimizer slots
        self.arguments = {}  # placeholder -> eager argument of the call that is traced

    def _placeholder(self, dtype, shape, name):
        with self.as_default():
            return op("Placeholder", dtype=dtype, shape=shape, name=name)

    def _capture(self, tensor, _name):
        key = id(tensor)
        if key not in self.captured:
            self.captured[key] = (tensor, self._placeholder(tensor.dtype, tensor.shape, "captured"))
        return self.captured[key][1]

    def read_variable(self, variable):
        if self.heard is not None:
            self.heard[variable] = None
        if variable in self.writes:
            return read_assigned_value(self, variable)
        if variable not in self.reads:
            with self.device(None), self.device(variable._trace_device):
                stored = variable._value.dtype  # Keras may read it in another type
                self.reads[variable] = self._placeholder(stored, variable.shape, "read")
        return self.reads[variable]

    def write_variable(self, variable, value):
        self.writes[variable] = convert_to_tensor(value)

    def evaluate_now(self, tensor):
        """Evaluates a tensor for the arguments of the call that is traced, as the initial value of
        a variable that the function creates."""
        feeds = [*self.captured.values(), *[(v, p) for p, v in self.arguments.items()]]
        return _situ.Trace(
            self,
            function_options(),
            self.name,
            0,
            (),
            tuple(inside for _, inside in feeds),
            tuple(value for value, _ in feeds),
            tuple(self.reads.values()),
            tuple(self.reads),
            (tensor,),
            (),
            (),
            (),
        ).run([])


def is_tensor(value) -> bool:
    """Returns whether an argument is an input of the graph; other arguments are constants of the
    trace."""
    return isinstance(value, (EagerTensor, GraphTensor)) or hasattr(value, "__array_interface__")


def note_compiled(graph):
    """Calls `compiled_graphs`, if it is set."""
    if compiled_graphs is not None:
        compiled_graphs(graph)


compiled_graphs: Callable | None = None  # called with each graph of a function that is compiled


def _check_unchanged(before, after, name):
    """Raises a ValueError if a function changed lists or dictionaries that it was passed."""
    try:
        nest.CORE.assert_same(before, after)
        is_same = all(a is b for a, b in zip(nest.CORE.flatten(before), nest.CORE.flatten(after)))
    except (TypeError, ValueError):
        is_same = False
    if not is_same:
        raise ValueError(
            f"{name}() should not modify its Python input arguments. Check if it modifies any "
            "lists or dicts passed as arguments. Modifying a copy is allowed."
        )


def _signature(given, arguments, signature):
    """Returns the arguments of a trace with a TypeSpec for each tensor and composite tensor.

    Args:
      given: the leaves of the arguments for which the function was traced.
      arguments: the arguments that the Python function got.
      signature: an iterator over the TensorSpecs and constants of all components.
    """
    leaves = []
    for value, leaf in zip(given, nest.CORE.flatten(arguments)):
        components = [next(signature) for _ in nest.COMPOSITES.flatten(value)]
        if isinstance(value, TypeSpec) and not isinstance(value, TensorSpec):
            leaves.append(value)
        elif hasattr(leaf, "_situ_tensors_"):
            leaves.append(spec_of(leaf))
        else:
            leaves.extend(components)
    return nest.CORE.pack(arguments, leaves)


class ConcreteFunction:
    """A traced graph of a function for fixed types and shapes of its arguments.

    Calls take the tensors of the traced function, by position or by name.
    """

    _inlines = True  # in a graph, the Python function is called again

    def __init__(self, name, python, args, kwargs, specs, names=()):
        self.graph = graph = FuncGraph(name)
        self.inputs, self._names = [], list(names)
        signature = []

        def add_argument(value):
            if not is_tensor(value) and not isinstance(value, TensorSpec):
                signature.append(value)
                return value
            spec = value if isinstance(value, TensorSpec) else specs(value)
            self.inputs.append(
                op(
                    "Placeholder",
                    dtype=spec.dtype,
                    shape=spec.shape,
                    name=spec.name or self._name or "x",
                )
            )
            signature.append(TensorSpec(spec.shape, spec.dtype, spec.name or self._name))
            if isinstance(value, EagerTensor):
                graph.arguments[self.inputs[-1]] = value
            return self.inputs[-1]

        given = nest.CORE.flatten((args, kwargs))
        device = _situ.swap_device("")
        try:
            with graph.as_default(), graph.device(device or ""):
                args, kwargs = self._each(args, kwargs, add_argument)
                before = nest.CORE.map(lambda value: value, (args, kwargs))
                result = python(*args, **kwargs)
                _check_unchanged(before, (args, kwargs), name)
                structured = nest.COMPOSITES.map(
                    lambda v: None if v is None else convert_to_tensor(v), result
                )
        finally:
            _situ.swap_device(device)
            graph.arguments.clear()
        graph._sealed = True
        self.effects = effects_of(graph)  # gradients, which are added later, may have others
        self._python, self._arguments = python, (args, kwargs)
        self._set_outputs(structured)
        self.stateful = graph.get_operations()
        self.name, self._trace, self._taped = name, None, None
        self.structured_input_signature = _signature(given, (args, kwargs), iter(signature))

    def _set_outputs(self, structured):
        """Sets the outputs: a structure of tensors and None."""
        self.structured_outputs = self.results = structured
        self.outputs = [v for v in nest.COMPOSITES.flatten(structured) if v is not None]
        indices = itertools.count()
        self.template = nest.COMPOSITES.template(
            structured, lambda v: None if v is None else next(indices)
        )

    @property
    def output_shapes(self):
        """The static shapes of the results, in their structure."""
        return nest.COMPOSITES.map(
            lambda t: None if t is None else tensor_shape.as_shape(t.shape), self.structured_outputs
        )

    @property
    def output_dtypes(self):
        """The types of the results, in their structure."""
        return nest.COMPOSITES.map(
            lambda t: None if t is None else as_dtype(t.dtype), self.structured_outputs
        )

    @property
    def function_type(self):
        """The signature: parameters, result and captures."""
        args, kwargs = self.structured_input_signature
        names = [*self._names, *[f"args_{i}" for i in range(len(args) - len(self._names))]]
        kinds = ["POSITIONAL_OR_KEYWORD"] * len(self._names) + ["POSITIONAL_ONLY"] * len(args)
        parameters = [*zip(names, kinds, args)]
        parameters += [(k, "KEYWORD_ONLY", v) for k, v in kwargs.items()]
        output = nest.CORE.map(lambda t: t if t is None else spec_of(t), self.structured_outputs)
        captures = [(id(t), TensorSpec(t.shape, t.dtype)) for t, _ in self.graph.captured.values()]
        captures += [(id(v), TensorSpec([], "resource")) for v in self.variables]
        return Signature(parameters, output, captures)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Returns the signature in readable form."""
        return self.function_type.pretty() if verbose else repr(self.function_type)

    def __str__(self):
        return "ConcreteFunction " + self.pretty_printed_signature()

    def __repr__(self):
        return f"<ConcreteFunction {self.function_type!r} at 0x{id(self):X}>"

    def _each(self, args, kwargs, function):
        """Maps a function over the leaves of the arguments; `self._name` is the name of the current
        argument."""

        def one(name, value):
            self._name = name
            return nest.COMPOSITES.map(function, value)

        names = [*self._names, *[None] * len(args)]
        positional = tuple([one(n, v) for n, v in zip(names, args)])
        named = {k: one(k, kwargs[k]) for k in sorted(kwargs)}  # in the order of nest.flatten
        return positional, {k: named[k] for k in kwargs}

    variables = property(lambda s: tuple(dict.fromkeys((*s.graph.reads, *s.graph.writes))))
    trainable_variables = property(lambda s: tuple(v for v in s.variables if v.trainable))

    @property
    def trace(self):
        """The compiled graph, created at first use."""
        if self._trace is None:
            graph = self.graph
            captured = list(graph.captured.values())
            self._trace = _situ.Trace(
                graph,
                function_options(),
                self.name,
                self.template,
                tuple(self.inputs),
                tuple(inside for _, inside in captured),
                tuple(tensor for tensor, _ in captured),
                tuple(graph.reads.values()),
                tuple(graph.reads),
                tuple(self.outputs),
                tuple(graph.writes.values()),
                tuple(graph.writes),
                tuple(self.effects),
            )
            note_compiled(graph)
        return self._trace

    def call(self, tensors):
        """Runs the trace with tensors for its inputs, in order. In a graph, calls the Python
        function again, which adds its nodes there."""
        if _situ.current_graph() is not None and self._inlines:
            given = {id(inside): outside for inside, outside in zip(self.inputs, tensors)}
            args, kwargs = nest.COMPOSITES.map(lambda v: given.get(id(v), v), self._arguments)
            return self._python(*args, **kwargs)
        if not _situ.tape_count():
            return self.trace.run(tensors)
        if self._taped is None:
            from situ._src.framework.function_gradients import Taped

            self._taped = Taped(self)
        return self._taped.call([convert_to_tensor(t) for t in tensors])

    def __call__(self, *args, **kwargs):
        values = nest.COMPOSITES.flatten((args, kwargs))
        if kwargs or len(values) != len(self.inputs):  # otherwise only tensors are passed
            values = self._tensors(args, kwargs)
        return self.call([convert_to_tensor(v) for v in values])

    def _tensors(self, args, kwargs):
        """Returns the input tensors of a call with the signature of the traced function."""

        def fail(why):
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{why}`. Received args: "
                f"{args} and kwargs: {kwargs} for signature: {self.function_type!r}."
            )

        specs, _ = self.structured_input_signature
        positional = args
        named = dict(kwargs)
        for name, spec in zip(self._names[len(args) :], specs[len(args) :]):
            if name not in named and any(
                isinstance(v, TensorSpec) for v in nest.COMPOSITES.flatten(spec)
            ):
                fail(f"missing a required argument: {name!r}")
            positional = (*positional, named.pop(name, spec))
        values = nest.COMPOSITES.flatten((positional, named))
        expected = nest.COMPOSITES.flatten(self.structured_input_signature)
        if len(values) < len(expected):  # constants of the trace may be omitted
            values += [e for e in expected[len(values) :] if not isinstance(e, TensorSpec)]
        if len(values) != len(expected):
            fail(
                "too many positional arguments"
                if len(values) > len(expected)
                else "missing a required argument"
            )
        for v, e in zip(values, expected):
            if isinstance(v, TensorSpec):
                fail(f"missing a required argument: {v.name!r}")
            if not isinstance(e, TensorSpec) and v is not e and (is_tensor(v) or v != e):
                fail(f"Can not cast {v!r} to Literal[{e!r}]")
        return [v for v, e in zip(values, expected) if isinstance(e, TensorSpec)]
