# SPDX-License-Identifier: Apache-2.0
"""function.py: tf.function: traces a Python function to a graph and runs that."""
import functools
import inspect
import weakref

import _situ
from situ._lib import errors, shapes
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor, op
from situ._lib.config import options
from situ._lib.dtypes import as_dtype, dtype_of
from situ._lib.graph import Graph
from situ._lib.random_ops import global_seed
from situ._lib.tensors import EagerTensor, GraphTensor


class TensorSpec:
    """The shape and type of an argument: tf.TensorSpec([None, 3], tf.float32)."""

    def __init__(self, shape=None, dtype="float32", name=None):
        self.shape, self.dtype, self.name = shapes.as_shape(shape), as_dtype(dtype), name

    def __repr__(self):
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    def __eq__(self, other):
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == \
            (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))


export("TensorSpec")(TensorSpec)


def read_written(graph, variable):
    """What a graph has written to a variable, as a tensor of its own: gradients for the variable
    end there, whatever the value was made of."""
    versions = graph.versions.setdefault(variable, [])
    written = graph.writes[variable]
    if not versions or versions[-1].op.inputs[0] is not written:
        with graph.as_default(), graph.control_dependencies(None), graph.device(None), \
                graph.device(variable.device):
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
        self.created = 0  # variables
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
        if variable in self.writes:
            return read_written(self, variable)
        if variable not in self.reads:
            with self.device(None), self.device(variable.device):
                self.reads[variable] = self._placeholder(variable._value, "read")
        return self.reads[variable]

    def write_variable(self, variable, value):
        self.writes[variable] = convert_to_tensor(value)

    def value_now(self, tensor):
        """The value of a tensor for the arguments of the call that is traced: a variable that the
        function makes starts with it."""
        fed = [*self.captured.values(), *[(v, p) for p, v in self.given.items()]]
        return _situ.Trace(
            self, {}, self.name, tensor, (), tuple(inside for _, inside in fed),
            tuple(value for value, _ in fed), tuple(self.reads.values()), tuple(self.reads),
            (tensor,), (), (), ()).run([])


def _map(structure, function):
    if isinstance(structure, dict):
        return {k: _map(v, function) for k, v in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_map(v, function) for v in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)(_map(v, function) for v in structure)
    return function(structure)


def _leaves(structure):
    found = []
    _map(structure, found.append)
    return found


def _is_tensor(value):
    return isinstance(value, (EagerTensor, GraphTensor)) or hasattr(value, "__array_interface__")


class ConcreteFunction:
    """One trace: for arguments of certain types and shapes."""

    def __init__(self, name, python, args, words, specs):
        self.graph = graph = FuncGraph(name)
        self.inputs = []

        def argument(value):
            if not _is_tensor(value) and not isinstance(value, TensorSpec):
                return value
            spec = value if isinstance(value, TensorSpec) else specs(value)
            self.inputs.append(op("Placeholder", dtype=spec.dtype, shape=spec.shape,
                                  name=spec.name or "x"))
            if isinstance(value, EagerTensor):
                graph.given[self.inputs[-1]] = value
            return self.inputs[-1]

        device = _situ.swap_device("")
        try:
            with graph.as_default(), graph.device(device or ""):
                result = python(*_map(args, argument), **_map(words, argument))
                self.structure = _map(result, lambda v: None if v is None else
                                      convert_to_tensor(v))
        finally:
            _situ.swap_device(device)
            graph.given.clear()
        self.outputs = [v for v in _leaves(self.structure) if v is not None]
        self.structured_outputs = self.structure
        self.stateful = graph.get_operations()
        self.name, self._trace = name, None
        specification = lambda v: TensorSpec(v.shape, v.dtype) if _is_tensor(v) else v
        self.structured_input_signature = _map(args, specification), _map(words, specification)

    variables = property(lambda s: tuple(dict.fromkeys((*s.graph.reads, *s.graph.writes))))

    @property
    def trace(self):
        """What runs: made when it is first needed."""
        if self._trace is None:
            graph = self.graph
            captured = list(graph.captured.values())
            soft = {k: v for k, v in options().items() if k == "allow_soft_placement"}
            effects = tuple([o for o in graph.get_operations() if not o.outputs] +
                            graph.__dict__.get("_effects", []))
            self._trace = _situ.Trace(
                graph, soft, self.name, self.structure, tuple(self.inputs),
                tuple(inside for _, inside in captured), tuple(tensor for tensor, _ in captured),
                tuple(graph.reads.values()), tuple(graph.reads), tuple(self.outputs),
                tuple(graph.writes.values()), tuple(graph.writes), effects)
        return self._trace

    def call(self, tensors):
        return self.trace.run(tensors)

    def __call__(self, *args, **words):
        return self.call([convert_to_tensor(a) for a in _leaves((args, words)) if
                          _is_tensor(a) or not isinstance(a, TensorSpec)])


_ALL = weakref.WeakSet()
_state = {"eagerly": False}


@export(v2=("config.run_functions_eagerly", "config.experimental_run_functions_eagerly"))
def run_functions_eagerly(run_eagerly):
    """Whether tf.function leaves functions as they are, to be debugged."""
    _state["eagerly"] = bool(run_eagerly)
    for function_ in list(_ALL):
        function_._forget()


@export(v2="config.functions_run_eagerly")
def functions_run_eagerly():
    return _state["eagerly"]


class Function(_situ.Function):
    """A Python function that runs as a graph; a new trace for each new kind of arguments."""

    def __init__(self, python, input_signature=None, name=None, autograph=True):
        self.python_function, self.input_signature = python, input_signature
        self._autograph = autograph
        self._name = name or getattr(python, "__name__", "function")
        self._traces, self._kept = {}, []
        functools.update_wrapper(self, python)
        try:
            self._signature = inspect.signature(python)
        except (TypeError, ValueError):
            self._signature = None
        _ALL.add(self)

    def __get__(self, instance, owner):
        if instance is None:
            return self
        key = "_situ_function_" + self._name
        if key not in instance.__dict__:
            bound = self.python_function.__get__(instance, owner)
            instance.__dict__[key] = Function(bound, self.input_signature, self._name,
                                              self._autograph)
        return instance.__dict__[key]

    def _key(self, value):
        if isinstance(value, (EagerTensor, GraphTensor)):
            return value.dtype, tuple(shapes.as_shape(value.shape)._dims or ())
        if isinstance(value, TensorSpec):
            return value.dtype, value.shape
        if isinstance(value, dict):
            return type(value), tuple((k, self._key(v)) for k, v in value.items())
        if isinstance(value, (list, tuple)):
            return type(value), tuple(self._key(v) for v in value)
        try:
            hash(value)
            return type(value), value
        except TypeError:
            self._kept.append(value)  # so that no other gets its id
            return id(value)

    def _bind(self, args, words):
        """Arrays become tensors; with a signature everything does."""
        given = args, words
        try:
            if self._signature is not None:  # equal calls are written differently
                bound = self._signature.bind(*args, **words)
                if self.input_signature is None:  # else the rest has its defaults
                    bound.apply_defaults()
                args, words = bound.args, bound.kwargs
            if self.input_signature is not None:
                if len(args) != len(self.input_signature) or words:
                    raise TypeError(f"{len(self.input_signature)} arguments stand in the "
                                    f"input_signature, {len(args) + len(words)} were given")
                return tuple(self._fit(a, s) for a, s in zip(args, self.input_signature)), {}
        except TypeError as e:
            raise TypeError(f"Binding inputs to tf.function failed due to `{e}`. Received args: "
                            f"{given[0]} and kwargs: {given[1]} for signature: {self._signature}."
                            ) from None
        turn = lambda v: convert_to_tensor(v) if hasattr(v, "__array_interface__") else v
        return _map(tuple(args), turn), _map(words, turn)

    @staticmethod
    def _fit(value, spec):
        """An argument as the signature has it; structures part by part."""
        if isinstance(spec, (list, tuple)):
            return type(spec)(Function._fit(v, s) for v, s in zip(value, spec))
        if isinstance(spec, dict):
            return {k: Function._fit(value[k], s) for k, s in spec.items()}
        tensor = convert_to_tensor(value, None if dtype_of(value) is not None else spec.dtype)
        if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
            raise TypeError(f"Can not cast {TensorSpec(tensor.shape, tensor.dtype)} to {spec}")
        return tensor

    def _converted(self):
        """The function with Python's control flow over tensors as operations."""
        if not self._autograph:
            return self.python_function
        from situ._lib.autograph import convert
        return convert(self.python_function)

    def _make(self, args, words, specs):
        """A trace. Variables are made by the first one alone, which therefore is made again."""
        python = self._converted()

        def trace():
            return ConcreteFunction(self._name, python, args, words, specs())
        concrete = trace()
        if concrete.graph.created and not self._traces:
            concrete = trace()
        if concrete.graph.created:
            raise ValueError("tf.function only supports singleton tf.Variables created on the "
                             "first call. Make sure the tf.Variable is only created once or "
                             "created outside tf.function.")
        return concrete

    def _trace(self, args, words):
        device = _situ.current_device()
        leaves = _leaves((args, words))
        key = (device, self._key(args), self._key(words)) if self.input_signature is None else \
            device

        def specs():
            if self.input_signature is None:
                return lambda v: TensorSpec(v.shape, v.dtype)
            signature = iter(_leaves(self.input_signature))
            return lambda v: next(signature)
        if key not in self._traces:
            self._traces[key] = self._make(args, words, specs)
        return self._traces[key], [v for v in leaves if _is_tensor(v)]

    def get_concrete_function(self, *args, **words):
        if not args and self.input_signature is not None:
            device = _situ.current_device()
            if device not in self._traces:
                self._traces[device] = self._make(tuple(self.input_signature), {}, lambda: None)
            return self._traces[device]
        return self._trace(*self._bind(args, words))[0]

    def _call(self, *args, **words):
        """A call of a kind that has not been remembered."""
        if _situ.current_graph() is not None:  # inside of another trace
            return self._converted()(*args, **words)
        if _state["eagerly"]:
            return self.python_function(*args, **words)
        if _situ.tape_count():  # its ops are recorded one by one
            return self.python_function(*args, **words)
        bound, more = self._bind(args, words)
        concrete, tensors = self._trace(bound, more)
        if not words and not _situ.current_device():
            self._remember(args, concrete.trace)
        return concrete.call(tensors)

    @property
    def experimental_get_tracing_count(self):
        return lambda: len(self._traces)


@export("function")
def function(func=None, input_signature=None, autograph=True, experimental_implements=None,
             experimental_autograph_options=None, experimental_relax_shapes=False,
             experimental_compile=None, jit_compile=None, reduce_retracing=False):
    """Makes a Python function run as a graph: as a decorator, with or without arguments."""
    if func is None:
        return lambda f: Function(f, input_signature, autograph=autograph)
    return Function(func, input_signature, autograph=autograph)


@export("autograph.experimental.do_not_convert")
def do_not_convert(func=None, *args):
    """A decorator: Python's control flow in a function stays Python's."""
    if func is None:
        return do_not_convert
    if hasattr(func, "__dict__"):
        func._situ_as_it_is = True
    return func
