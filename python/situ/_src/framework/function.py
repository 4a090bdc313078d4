# SPDX-License-Identifier: Apache-2.0
"""function.py: tf.function: traces a Python function to a graph and runs that."""

from __future__ import annotations

import functools
import inspect
import weakref

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.concrete_function import ConcreteFunction
from situ._src.framework.concrete_function import is_tensor as _is_tensor
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.structure import leaves as _leaves
from situ._src.framework.structure import map_leaves as _map
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor

_ALL: weakref.WeakSet = weakref.WeakSet()
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

    def __init__(self, python, input_signature=None, name=None, autograph=True, relax=False):
        self.python_function, self.input_signature = python, input_signature
        self._autograph, self._relax, self._relaxed = autograph, relax, []
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
            instance.__dict__[key] = Function(
                bound, self.input_signature, self._name, self._autograph, self._relax
            )
        return instance.__dict__[key]

    def _key(self, value, shaped=True):
        if isinstance(value, (EagerTensor, GraphTensor)):
            dims = tuple(tensor_shape.as_shape(value.shape)._dims or ()) if shaped else None
            return value.dtype, dims
        if isinstance(value, TensorSpec):
            return value.dtype, value.shape if shaped else None
        if hasattr(value, "_situ_tensors_"):
            return type(value), tuple(self._key(p, shaped) for p in value._situ_tensors_)
        if isinstance(value, dict):
            return type(value), tuple((k, self._key(v, shaped)) for k, v in value.items())
        if isinstance(value, (list, tuple)):
            return type(value), tuple(self._key(v, shaped) for v in value)
        if hasattr(value, "__tf_tracing_type__"):  # the object says itself what it is alike
            return value.__tf_tracing_type__(None)
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
                    raise TypeError(
                        f"{len(self.input_signature)} arguments stand in the "
                        f"input_signature, {len(args) + len(words)} were given"
                    )
                return tuple(self._fit(a, s) for a, s in zip(args, self.input_signature)), {}
        except TypeError as e:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{e}`. Received args: "
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
        if isinstance(value, TensorSpec) or hasattr(value, "_situ_tensors_"):
            return value
        tensor = convert_to_tensor(value, None if dtype_of(value) is not None else spec.dtype)
        if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
            raise TypeError(f"Can not cast {TensorSpec(tensor.shape, tensor.dtype)} to {spec}")
        return tensor

    def _converted(self):
        """The function with Python's control flow over tensors as operations."""
        if not self._autograph:
            return self.python_function
        from situ._src.autograph.conversion import convert

        return convert(self.python_function)

    def _names(self):
        """The names of the parameters by place."""
        return (
            [
                p.name
                for p in self._signature.parameters.values()
                if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            ]
            if self._signature
            else []
        )

    def _make(self, args, words, specs):
        """A trace. Variables are made by the first one alone, which therefore is made again."""
        python = self._converted()
        names = self._names()

        def trace():
            return ConcreteFunction(self._name, python, args, words, specs(), names)

        concrete = trace()
        if concrete.graph.created and not self._traces:
            concrete = trace()
        if concrete.graph.created or concrete.graph.slots and self._traces:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the "
                "first call. Make sure the tf.Variable is only created once or "
                "created outside tf.function."
            )
        return concrete

    def _wider(self, args, words, tensors):
        """A trace that fits, or one for shapes that fit what was seen before, too."""
        kind = _situ.current_device(), self._key(args, False), self._key(words, False)
        wanted = [TensorSpec(t.shape, t.dtype) for t in tensors]
        for known, specs, concrete in self._relaxed:
            if known == kind and all(w.is_subtype_of(s) for w, s in zip(wanted, specs)):
                return concrete
        for known, specs, _ in self._relaxed:
            if known == kind:
                wanted = [w.most_specific_common_supertype([s]) for w, s in zip(wanted, specs)]

        def specs():
            given = iter(wanted)
            return lambda v: next(given)

        concrete = self._make(args, words, specs)
        self._relaxed.append((kind, wanted, concrete))
        self._traces[kind, tuple(wanted)] = concrete
        return concrete

    def _trace(self, args, words):
        device = _situ.current_device()
        leaves = _leaves((args, words))
        if self._relax and self.input_signature is None:
            tensors = [v for v in leaves if _is_tensor(v)]
            return self._wider(args, words, tensors), tensors
        key = (
            (device, self._key(args), self._key(words)) if self.input_signature is None else device
        )

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
        bound, more = self._bind(args, words)
        concrete, tensors = self._trace(bound, more)
        if not words and not _situ.current_device() and not _situ.tape_count():
            self._remember(args, concrete.trace)
        return concrete.call(tensors)

    def pretty_printed_concrete_signatures(self, verbose=True):
        """What it was traced for, for people."""
        return "\n\n".join(c.pretty_printed_signature() for c in self._traces.values())

    @property
    def experimental_get_tracing_count(self):
        return lambda: len(self._traces)


@export("function")
def function(
    func=None,
    input_signature=None,
    autograph=True,
    experimental_implements=None,
    experimental_autograph_options=None,
    experimental_relax_shapes=False,
    experimental_compile=None,
    jit_compile=None,
    reduce_retracing=False,
):
    """Makes a Python function run as a graph: as a decorator, with or without arguments."""
    relax = bool(reduce_retracing or experimental_relax_shapes)
    if func is None:
        return lambda f: Function(f, input_signature, autograph=autograph, relax=relax)
    return Function(func, input_signature, autograph=autograph, relax=relax)


@export("autograph.experimental.do_not_convert")
def do_not_convert(func=None):
    """A decorator: Python's control flow in a function stays Python's."""
    if func is None:
        return do_not_convert
    if hasattr(func, "__dict__"):
        func._situ_as_it_is = True
    return func
