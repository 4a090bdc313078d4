# SPDX-License-Identifier: Apache-2.0
"""function.py: tf.function: traces a Python function to one graph per combination of argument types
and shapes, and runs these graphs."""

from __future__ import annotations

import enum
import functools
import inspect
import weakref

import _situ
from situ._src.framework import nest, tensor_shape, traces
from situ._src.framework.api import export
from situ._src.framework.concrete_function import ConcreteFunction
from situ._src.framework.concrete_function import is_tensor as _is_tensor
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable

    from situ._src.framework.type_aliases import Any

_all_functions: weakref.WeakSet = weakref.WeakSet()
_state = {"eagerly": False}  # config.run_functions_eagerly


@export(v2=("config.run_functions_eagerly", "config.experimental_run_functions_eagerly"))
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Disables or enables tracing of tf.function, for debugging.

    Args:
      run_eagerly: True calls the Python function itself in each call.
    """
    _state["eagerly"] = bool(run_eagerly)
    for function_ in list(_all_functions):
        function_._forget()


@export(v2="config.functions_run_eagerly")
def functions_run_eagerly() -> bool:
    """Returns whether calls of tf.function run the Python function itself."""
    return _state["eagerly"]


class Function(_situ.Function):
    """A Python function that runs as a graph; what tf.function returns.

    A call with new types and shapes of tensors, or new values of other arguments, traces a new
    graph.
    """

    def __init__(self, python, input_signature=None, name=None, autograph=True, relax=False):
        self.python_function = python
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._autograph, self._relax, self._relaxed = autograph, relax, []
        self._name = name or getattr(python, "__name__", "function")
        self._traces, self._kept = traces.Traces(), []
        functools.update_wrapper(self, python)
        try:
            self._signature = inspect.signature(python)
        except (TypeError, ValueError):
            self._signature = None
        _all_functions.add(self)

    def __get__(self, instance, owner):
        if instance is None:
            return self
        key = "_situ_function_" + self._name
        if key not in instance.__dict__:
            bound = self.python_function.__get__(instance, owner)
            instance.__dict__[key] = Function(
                bound, self.input_signature, self._name, self._autograph, self._relax
            )
        return instance.__dict__[key]

    def _key(self, value, with_shapes=True):
        """Returns the hashable key of an argument: equal keys share a trace."""
        if isinstance(value, (EagerTensor, GraphTensor)):
            dims = tuple(tensor_shape.as_shape(value.shape)._dims or ()) if with_shapes else None
            return value.dtype, dims
        if isinstance(value, TensorSpec):
            return value.dtype, value.shape if with_shapes else None
        container = nest.COMPOSITES[type(value)]
        if container is not None:
            parts = [self._key(v, with_shapes) for v in container.values(value)]
            fields = None
            if hasattr(value, "_situ_spec_"):  # an extension type has fields besides its tensors
                fields = value._situ_spec_
                fields = fields if with_shapes else fields._situ_static_
            elif hasattr(value, "_component_specs"):
                fields = value
            elif hasattr(value, "element_spec"):  # of an iterator
                fields = str(value.element_spec)
            return type(value), container.keys(value), tuple(parts), fields
        if hasattr(value, "__tf_tracing_type__"):  # tf.types.experimental.SupportsTracingProtocol
            return value.__tf_tracing_type__(None)
        try:
            hash(value)
            return type(value), value
        except TypeError:
            self._kept.append(value)  # keeps its id unique
            return id(value)

    def _bind(self, args, kwargs):
        """Binds arguments to the signature: arrays become tensors; with an input_signature
        everything does."""
        received = args, kwargs
        try:
            if self._signature is not None:  # equal calls get equal keys
                bound = self._signature.bind(*args, **kwargs)
                given = len(bound.args)
                bound.apply_defaults()
                args, kwargs = bound.args, bound.kwargs
                if self.input_signature is not None:  # parameters after it have their defaults
                    args = args[: max(given, len(self.input_signature))]
                    kwargs = {k: v for k, v in kwargs.items() if k in received[1]}
            if self.input_signature is not None:
                if len(args) != len(self.input_signature) or kwargs:
                    raise TypeError(
                        f"input_signature has {len(self.input_signature)} arguments, but "
                        f"{len(args) + len(kwargs)} were given"
                    )
                signature = self.input_signature
                return nest.CORE.map(lambda s, v: self._cast_to_spec(v, s), signature, args), {}
        except (TypeError, ValueError) as e:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{e}`. Received args: "
                f"{received[0]} and kwargs: {received[1]} for signature: {self._signature}."
            ) from None
        args = tuple(args)
        if not any(hasattr(v, "__array_interface__") for v in nest.flatten((args, kwargs))):
            return args, kwargs
        convert = lambda v: convert_to_tensor(v) if hasattr(v, "__array_interface__") else v
        return nest.CORE.map(convert, (args, kwargs))

    @staticmethod
    def _cast_to_spec(value, spec):
        """Converts an argument to the type of its spec."""
        if isinstance(value, TensorSpec) or hasattr(value, "_situ_tensors_"):
            return value
        tensor = convert_to_tensor(value, None if dtype_of(value) is not None else spec.dtype)
        if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
            raise TypeError(f"Can not cast {TensorSpec(tensor.shape, tensor.dtype)} to {spec}")
        return tensor

    def _converted(self):
        """Returns the Python function with AutoGraph applied."""
        if not self._autograph:
            return self.python_function
        from situ._src.autograph.conversion import convert

        return convert(self.python_function)

    def _names(self):
        """Returns the names of the positional parameters."""
        return (
            [
                p.name
                for p in self._signature.parameters.values()
                if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            ]
            if self._signature
            else []
        )

    def _create_trace(self, args, kwargs, specs):
        """Traces the function. A first trace that creates variables is repeated, as later calls
        must not create any."""
        python = self._converted()
        names = self._names()

        def trace():
            return ConcreteFunction(self._name, python, args, kwargs, specs(), names)

        concrete = trace()
        if concrete.graph.created and not self._traces.count:
            concrete = trace()
        if concrete.graph.created or concrete.graph.slots and self._traces.count:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the "
                "first call. Make sure the tf.Variable is only created once or "
                "created outside tf.function."
            )
        return concrete

    def _relaxed_trace(self, args, kwargs, tensors):
        """Returns a trace whose shapes include those of the tensors, or creates one for the common
        supertype of all shapes so far."""
        kind = _situ.current_device(), self._key(args, False), self._key(kwargs, False)
        shapes = [TensorSpec(t.shape, t.dtype) for t in tensors]
        for known, specs, concrete in self._relaxed:
            if known == kind and all(w.is_subtype_of(s) for w, s in zip(shapes, specs)):
                return concrete
        for known, specs, _ in self._relaxed:
            if known == kind:
                shapes = [w.most_specific_common_supertype([s]) for w, s in zip(shapes, specs)]

        def specs():
            remaining = iter(shapes)
            return lambda v: next(remaining)

        concrete = self._create_trace(args, kwargs, specs)
        self._relaxed.append((kind, shapes, concrete))
        self._traces[kind, tuple(shapes)] = concrete
        return concrete

    def _trace(self, args, kwargs):
        """Returns the concrete function for arguments, and their tensors."""
        device = _situ.current_device()
        leaves = nest.COMPOSITES.flatten((args, kwargs))
        if self._relax and self.input_signature is None:
            tensors = [v for v in leaves if _is_tensor(v)]
            return self._relaxed_trace(args, kwargs, tensors), tensors
        key = (
            (device, self._key(args), self._key(kwargs)) if self.input_signature is None else device
        )

        def specs():
            if self.input_signature is None:
                return lambda v: TensorSpec(v.shape, v.dtype)
            signature = iter(nest.COMPOSITES.flatten(self.input_signature))
            return lambda v: next(signature)

        if key not in self._traces:
            self._traces[key] = self._create_trace(args, kwargs, specs)
        return self._traces[key], [v for v in leaves if _is_tensor(v)]

    def get_concrete_function(self, *args, **kwargs):
        """Returns the concrete function for arguments, traced if necessary.

        Args:
          *args: as for a call; tf.TensorSpec stands for a tensor.
          **kwargs: as for a call.

        Returns:
          A ConcreteFunction.
        """
        if not args and self.input_signature is not None:
            device = _situ.current_device()
            if device not in self._traces:
                self._traces[device] = self._create_trace(self.input_signature, {}, lambda: None)
            return self._traces[device]
        return self._trace(*self._bind(args, kwargs))[0]

    def _call(self, *args, **kwargs):
        """Handles a call that the extension has no cached trace for."""
        graph = _situ.current_graph()
        if graph is not None:  # inlined into the outer trace
            return self._inlined(graph, args, kwargs)
        if _state["eagerly"]:
            return self.python_function(*args, **kwargs)
        bound_args, bound_kwargs = self._bind(args, kwargs)
        concrete, tensors = self._trace(bound_args, bound_kwargs)
        if not kwargs and not _situ.current_device() and not _situ.tape_count():
            self._remember(args, concrete.trace)
        return concrete.call(tensors)

    def _inlined(self, graph, args, kwargs):
        """Calls the function in a graph. Its random ops without a seed count from 0, as in a graph
        of their own."""
        root = getattr(graph, "root", graph)
        owner = graph if root.building_function else root
        before, owner._seeds_given = getattr(owner, "_seeds_given", 0), 0
        try:
            return self._converted()(*args, **kwargs)
        finally:
            owner._seeds_given = before

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Returns the signatures of all traces in readable form."""
        return "\n\n".join(c.pretty_printed_signature(verbose) for c in self._traces.values())

    @property
    def experimental_get_tracing_count(self):
        """A function that returns the number of traces."""
        return lambda: self._traces.count


@export("autograph.experimental.Feature")
class Feature(enum.Enum):
    """Optional conversions of AutoGraph for tf.function."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


_ATTRIBUTES = frozenset(
    """api_implements api_preferred_device _disable_acd disable_summaries_at_runtime go_backwards
    _implements experimental_ints_on_device _noinline runtime_constant_optimization
    _tf_data_function time_major _OutputsOnOpDevice""".split()
)


def _check_options(options, attributes):
    """Raises a ValueError for options of AutoGraph or attributes that TensorFlow does not know."""
    for option in options if isinstance(options, (list, tuple, set)) else [options]:
        if option is not None and not isinstance(option, Feature):
            raise ValueError(
                "experimental_autograph_options must be a tf.autograph.experimental.Feature or a "
                f"tuple of them, but contains {option!r}."
            )
    for name in attributes or ():
        if name not in _ATTRIBUTES:
            raise ValueError(f"Attribute name {name} is not supported by tf.function.")


@export("function")
def function(
    func: Callable | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: Any = None,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_attributes: dict | None = None,
) -> Callable:
    """Compiles a Python function into a callable graph.

    Use it as a decorator, with or without arguments.

    Args:
      func: the function to compile; None returns a decorator.
      input_signature: a sequence of tf.TensorSpec, one per argument; the function is traced once
        for them on each device.
      autograph: whether Python control flow that depends on tensors becomes operations.
      experimental_implements: has no effect: a name for converters such as TensorFlow Lite.
      experimental_autograph_options: has no effect: a tf.autograph.experimental.Feature or a tuple
        of them; AutoGraph converts all that it can.
      experimental_relax_shapes: as reduce_retracing.
      experimental_compile: has no effect: situ compiles every function.
      jit_compile: has no effect: situ compiles every function.
      reduce_retracing: whether a call with new shapes creates a trace for all shapes so far,
        which later calls with such shapes share.
      experimental_attributes: has no effect: a dictionary of options for TensorFlow's runtime, of
        which the names are checked.

    Returns:
      A callable that runs the graph, or a decorator if `func` is None.

    Raises:
      ValueError: if the name of an attribute is unknown, or an option is not a Feature.
      ValueError: when called, if the function creates variables after its first call.
      TypeError: when called, if the arguments do not fit the function or `input_signature`.
    """
    del experimental_implements  # a name for converters such as TensorFlow Lite
    del experimental_compile, jit_compile  # every function is compiled
    _check_options(experimental_autograph_options, experimental_attributes)
    relax = bool(reduce_retracing or experimental_relax_shapes)
    if func is None:
        return lambda f: Function(f, input_signature, autograph=autograph, relax=relax)
    return Function(func, input_signature, autograph=autograph, relax=relax)


@export("autograph.experimental.do_not_convert")
def do_not_convert(func: Any = None) -> Callable:
    """Excludes a function from AutoGraph.

    Args:
      func: the function; None returns a decorator.

    Returns:
      `func`, marked, or a decorator.
    """
    if func is None:
        return do_not_convert
    if hasattr(func, "__dict__"):
        func._situ_as_it_is = True
    return func
