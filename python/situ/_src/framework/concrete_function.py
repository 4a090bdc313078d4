# SPDX-License-Identifier: Apache-2.0
"""concrete_function.py: one trace of a function: its graph, and how that is called."""

from __future__ import annotations

import _situ
from situ._src.framework.config import function_options
from situ._src.framework.graph import Graph
from situ._src.framework.structure import leaves as _leaves
from situ._src.framework.structure import map_leaves as _map
from situ._src.framework.structure import split as _split
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.type_spec import Signature, TensorSpec
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.random_ops import global_seed

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable


def read_assigned_value(graph, variable):
    """What a graph has written to a variable, as a tensor of its own: gradients for the variable
    end there, whatever the value was made of."""
    versions = graph.versions.setdefault(variable, [])
    written = graph.writes[variable]
    if not versions or versions[-1].op.inputs[0] is not written:
        with (
            graph.as_default(),
            graph.control_dependencies(None),
            graph.device(None),
            graph.device(variable.device),
        ):
            versions.append(op("Identity", written))
    return versions[-1]


class FuncGraph(Graph):
    """The graph of a traced function; what it finds outside is fed to it."""

    building_function = True

    def __init__(self, name):
        super().__init__()
        outer = _situ.current_graph()
        self.seed = global_seed() if outer is None else outer.seed
        self.name, self.captured, self.reads, self.writes = name, {}, {}, {}
        self.versions = {}  # of variables: what was read of them after each change
        self.heard = None  # the variables that were read, where somebody wants to know
        self.created = self.slots = 0  # variables; those of optimizers, which begin by themselves
        self.given = {}  # arguments of the first call: what a variable may start from

    def _placeholder(self, tensor, name):
        with self.as_default():
            return op("Placeholder", dtype=tensor.dtype, shape=tensor.shape, name=name)

    def _capture(self, tensor, name):
        key = id(tensor)
        if key not in self.captured:
            self.captured[key] = (tensor, self._placeholder(tensor, "captured"))
        return self.captured[key][1]

    def read_variable(self, variable):
        if self.heard is not None:
            self.heard[variable] = None
        if variable in self.writes:
            return read_assigned_value(self, variable)
        if variable not in self.reads:
            with self.device(None), self.device(variable.device):
                self.reads[variable] = self._placeholder(variable._value, "read")
        return self.reads[variable]

    def write_variable(self, variable, value):
        self.writes[variable] = convert_to_tensor(value)

    def evaluate_now(self, tensor):
        """The value of a tensor for the arguments of the call that is traced: a variable that the
        function makes starts with it."""
        fed = [*self.captured.values(), *[(v, p) for p, v in self.given.items()]]
        return _situ.Trace(
            self,
            function_options(),
            self.name,
            tensor,
            (),
            tuple(inside for _, inside in fed),
            tuple(value for value, _ in fed),
            tuple(self.reads.values()),
            tuple(self.reads),
            (tensor,),
            (),
            (),
            (),
        ).run([])


def is_tensor(value):
    """Whether an argument is fed to the graph; all else is a part of the trace."""
    return isinstance(value, (EagerTensor, GraphTensor)) or hasattr(value, "__array_interface__")


def note_compiled(graph):
    """Calls `compiled_graphs`, if it is set."""
    if compiled_graphs is not None:
        compiled_graphs(graph)


compiled_graphs: Callable | None = None  # called with each graph of a function that is compiled


class ConcreteFunction:
    """One trace: for arguments of certain types and shapes."""

    def __init__(self, name, python, args, words, specs, names=()):
        self.graph = graph = FuncGraph(name)
        self.inputs, self._names = [], list(names)
        signature = []

        def argument(value):
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
                graph.given[self.inputs[-1]] = value
            return self.inputs[-1]

        device = _situ.swap_device("")
        try:
            with graph.as_default(), graph.device(device or ""):
                args, words = self._each(args, words, argument)
                result = python(*args, **words)
                self.structure = _map(
                    _split(result), lambda v: None if v is None else convert_to_tensor(v)
                )
        finally:
            _situ.swap_device(device)
            graph.given.clear()
        graph._sealed = True
        self.outputs = [v for v in _leaves(self.structure) if v is not None]
        self.structured_outputs = self.structure
        self.stateful = graph.get_operations()
        self.name, self._trace, self._taped = name, None, None
        signature = iter(signature)
        self.structured_input_signature = self._each(args, words, lambda v: next(signature))

    @property
    def function_type(self):
        """What it takes and gives."""
        args, words = self.structured_input_signature
        names = [*self._names, *[f"args_{i}" for i in range(len(args) - len(self._names))]]
        kinds = ["POSITIONAL_OR_KEYWORD"] * len(self._names) + ["POSITIONAL_ONLY"] * len(args)
        takes = [*zip(names, kinds, args), *[(k, "KEYWORD_ONLY", v) for k, v in words.items()]]
        gives = _map(self.structure, lambda t: t if t is None else TensorSpec(t.shape, t.dtype))
        held = [(id(t), TensorSpec(t.shape, t.dtype)) for t, _ in self.graph.captured.values()]
        held += [(id(v), TensorSpec([], "resource")) for v in self.variables]
        return Signature(takes, gives, held)

    def pretty_printed_signature(self, verbose=True):
        """The same, for people."""
        return self.function_type.pretty() if verbose else repr(self.function_type)

    def __str__(self):
        return "ConcreteFunction " + self.pretty_printed_signature()

    def __repr__(self):
        return f"<ConcreteFunction {self.function_type!r} at 0x{id(self):X}>"

    def _each(self, args, words, function):
        """Arguments with the results of a function in them; it sees the argument's name."""

        def one(name, value):
            self._name = name
            return _map(value, function)

        names = [*self._names, *[None] * len(args)]
        return (
            tuple([one(n, v) for n, v in zip(names, args)]),
            {k: one(k, v) for k, v in words.items()},
        )

    variables = property(lambda s: tuple(dict.fromkeys((*s.graph.reads, *s.graph.writes))))

    @property
    def trace(self):
        """What runs: made when it is first needed."""
        if self._trace is None:
            graph = self.graph
            captured = list(graph.captured.values())
            effects = tuple(
                [o for o in graph.get_operations() if not o.outputs]
                + graph.__dict__.get("_effects", [])
            )
            self._trace = _situ.Trace(
                graph,
                function_options(),
                self.name,
                self.structure,
                tuple(self.inputs),
                tuple(inside for _, inside in captured),
                tuple(tensor for tensor, _ in captured),
                tuple(graph.reads.values()),
                tuple(graph.reads),
                tuple(self.outputs),
                tuple(graph.writes.values()),
                tuple(graph.writes),
                effects,
            )
            note_compiled(graph)
        return self._trace

    def call(self, tensors):
        if not _situ.tape_count():
            return self.trace.run(tensors)
        if self._taped is None:
            from situ._src.framework.function_gradients import Taped

            self._taped = Taped(self)
        return self._taped.call([convert_to_tensor(t) for t in tensors])

    def __call__(self, *args, **words):
        given = _leaves((args, words))
        if words or len(given) != len(self.inputs):  # else the tensors alone
            given = self._tensors(args, words)
        return self.call([convert_to_tensor(g) for g in given])

    def _tensors(self, args, words):
        """The tensors of a call as the traced function was called."""

        def fail(why):
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{why}`. Received args: "
                f"{args} and kwargs: {words} for signature: {self.function_type!r}."
            )

        whole, _ = self.structured_input_signature
        full = args
        rest = dict(words)
        for name, spec in zip(self._names[len(args) :], whole[len(args) :]):
            full = (*full, rest.pop(name, spec))
        given, known = _leaves((full, rest)), _leaves(self.structured_input_signature)
        if len(given) < len(known):  # what was no tensor may be left out: it is part of the trace
            given += [k for k in known[len(given) :] if not isinstance(k, TensorSpec)]
        if len(given) != len(known):
            fail(
                "too many positional arguments"
                if len(given) > len(known)
                else "missing a required argument"
            )
        for g, k in zip(given, known):
            if isinstance(g, TensorSpec):
                fail(f"missing a required argument: {g.name!r}")
            if not isinstance(k, TensorSpec) and g is not k and (is_tensor(g) or g != k):
                fail(f"Can not cast {g!r} to Literal[{k!r}]")
        return [g for g, k in zip(given, known) if isinstance(k, TensorSpec)]
