# SPDX-License-Identifier: Apache-2.0
"""while_loop.py: tf.while_loop: a While op over traced functions; a Python loop in eager mode."""

from __future__ import annotations

import contextlib
import numbers

import _situ
from situ._src.framework import branch_graph, nest, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.resource_order import effects_before
from situ._src.framework.scopes import name_scope
from situ._src.framework.type_spec import spec_of
from situ._src.ops.array_ops import convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Callable, TensorLike


def _run_eagerly(test, body, loop_vars, maximum):
    count = 0
    while (maximum is None or count < int(maximum)) and bool(test(*loop_vars)):
        result = body(*loop_vars)
        result = result if isinstance(result, (list, tuple)) else [result]
        if len(result) != len(loop_vars):
            nest.assert_same_structure(list(loop_vars), list(result), expand_composites=True)
        loop_vars = result
        count += 1
    return list(loop_vars)


def _loop_error(kind, text, index, before, after):
    """Returns an exception; AutoGraph, which knows the names of the program's variables, reads
    `loop_variable`."""
    error = kind(text)
    error.loop_variable = index, before, after
    return error


def _check_shapes(values, results, invariants):
    """Checks that the body keeps the types and the shape invariants of the loop variables."""
    for i, (before, after, invariant) in enumerate(zip(values, results, invariants)):
        if before.dtype.base_dtype != after.dtype.base_dtype:
            raise _loop_error(
                TypeError,
                f"Loop var {before.name} enters the loop with type {before.dtype.base_dtype} "
                f"but has type {after.dtype.base_dtype} after 1 iteration.",
                i,
                before,
                after,
            )
        if invariant.is_compatible_with(after.shape) and (
            not invariant.is_fully_defined() or after.shape.is_fully_defined()
        ):
            continue
        raise _loop_error(
            ValueError,
            f"Input tensor '{before.name}' enters the loop with shape "
            f"{before.shape}, but has shape {after.shape} after one iteration. To "
            "allow the shape to vary across iterations, use the `shape_invariants` "
            "argument of tf.while_loop to specify a less-specific shape.",
            i,
            before,
            after,
        )


class _Loop:
    """A While op under construction; `values` are the flat loop variables."""

    parallel_iterations = 10

    def __init__(self, outer, structure, values, invariants, scope):
        self.outer, self.structure, self.scope = outer, structure, scope
        self.values, self.invariants = values, invariants

    def _placeholders(self):
        """Returns the loop variables as inputs of a traced function."""
        return [
            OPS["Placeholder"](dtype=v.dtype.base_dtype, shape=s, name="Identity")
            for v, s in zip(self.values, self.invariants)
        ]

    def _test(self, function):
        """Traces the condition."""

        def call(graph):
            placeholders = self._placeholders()
            condition = graph.inside(function(*branch_graph.pack(self.structure, placeholders)))
            if condition.shape.ndims not in (0, None):
                condition = OPS["Reshape"](condition, convert_to_tensor([], "int32"))
            return placeholders, condition

        return branch_graph.trace(self.outer, call)

    def _body(self, function):
        """Traces the body."""

        def call(graph):
            placeholders = self._placeholders()
            result = function(*branch_graph.pack(self.structure, placeholders))
            if (
                not isinstance(result, (list, tuple))
                or hasattr(result, "_fields")
                and len(self.structure) == 1
            ):
                result = [result]
            flat = nest.flatten(list(result), True)
            if len(flat) != len(self.values):
                raise ValueError(
                    "The two structures don't have the same nested structure: the "
                    f"loop variables are {self.structure}, the body returns {result}."
                )
            return placeholders, [
                branch_graph.tensor_of(v, lambda v, p=p: self._result(graph, v, p))
                for v, p in zip(flat, self.values)
            ]

        return branch_graph.trace(self.outer, call)

    @staticmethod
    def _result(graph, value, like):
        if not hasattr(value, "dtype") and not hasattr(value, "_situ_tensor_"):
            value = convert_to_tensor(value, like.dtype.base_dtype)
        return graph.inside(value)

    def make(self, test, body, back_prop=True):
        """Emits the While op and returns its flat results. Without back_prop they have no
        gradient."""
        end = OPS["Identity" if back_prop else "StopGradient"]
        is_v2 = branch_graph.uses_v2(self.outer)
        first, (test_in, condition) = self._test(test)
        second, (body_in, results) = self._body(body)
        _check_shapes(self.values, results, self.invariants)
        written = {**first.writes, **second.writes}
        for variable in written:  # variables that the loop assigns are loop variables, too
            second._input(variable, self.outer.read_variable(variable))
        outers = branch_graph.drop_constants(
            branch_graph.unify_captures([first, second]), [first, second]
        )
        with second.as_default():
            kept = [
                second.writes[key] if key in second.writes else second.captured[key][1]
                for key in outers
            ]
        condition = branch_graph.order_after_effects(first, [condition])
        outputs = branch_graph.order_after_effects(second, list(results) + kept)
        outer, inputs = self.outer, list(self.values) + list(outers.values())
        names = [
            branch_graph.add(outer, branch_graph.function_name(self.scope, kind), *function)
            for kind, function in (
                ("cond", (first, test_in + branch_graph.inner(first, outers), condition)),
                ("body", (second, body_in + branch_graph.inner(second, outers), outputs)),
            )
        ]
        before = first.before + second.before + effects_before(outer, [first, second])
        with outer.control_dependencies(before) if before else contextlib.nullcontext():
            stateful = branch_graph.is_stateful(first) or branch_graph.is_stateful(second)
            result = OPS["While" if stateful else "StatelessWhile"](
                inputs,
                cond=names[0],
                body=names[1],
                output_shapes=self.invariants + [t.shape for t in inputs[len(self.values) :]],
                parallel_iterations=self.parallel_iterations,
                name=self.scope if is_v2 else "While",
            )
        branch_graph.note_effects(outer, [first, second], result[0].op)
        for key, value in zip(outers, result[len(self.values) :]):
            if key in written:
                outer.write_variable(key, value)
        return [
            x if x.dtype.name == "variant" else end(x, name="Identity" if is_v2 else "Exit")
            for x in result[: len(self.values)]
        ]


def _bounded(test, body, limit):
    """Adds an iteration counter as the last loop variable."""

    def next_test(*args):
        return OPS["LogicalAnd"](OPS["Less"](args[-1], limit), convert_to_tensor(test(*args[:-1])))

    def next_body(*args):
        result = body(*args[:-1])
        result = list(result) if isinstance(result, (list, tuple)) else [result]
        return result + [args[-1] + 1]

    return next_test, next_body


def _invariants(structure, shape_invariants):
    leaves = nest.flatten(structure)
    if shape_invariants is None:
        return [shape for leaf in leaves for shape in branch_graph.shapes_of(leaf)]
    if len(structure) == 1 and not (
        isinstance(shape_invariants, (list, tuple)) and len(shape_invariants) == 1
    ):
        shape_invariants = [shape_invariants]
    given, made = nest.CORE.flatten_like(structure, shape_invariants), []
    for leaf, invariant in zip(leaves, given):
        if hasattr(leaf, "_flow"):
            made += branch_graph.shapes_of(leaf)
        elif hasattr(leaf, "_situ_tensors_"):
            made += _composite_invariants(leaf, invariant)
        else:
            shape = None if invariant is None else getattr(invariant, "shape", invariant)
            made.append(tensor_shape.as_shape(shape))
    return made


def _composite_invariants(leaf, invariant):
    """Returns the shapes of the parts of a composite tensor whose invariant is a spec or shape."""
    spec = spec_of(leaf)
    if hasattr(invariant, "_situ_tensors_"):
        spec = invariant
    elif invariant is not None and hasattr(spec, "ragged_rank"):
        spec = type(spec)(invariant, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    elif invariant is not None:
        spec = type(spec)(invariant, spec.dtype)
    return [part.shape for part in spec._situ_tensors_]


def _run_loop(test, body, loop_vars, shape_invariants, maximum, same, name, back_prop, parallel):
    outer, alone = _situ.current_graph(), not isinstance(loop_vars, (list, tuple))
    structure = [loop_vars] if alone else list(loop_vars)
    if outer is None:
        packed = _run_eagerly(test, body, structure, maximum)
    else:
        with name_scope(name or None, "while") as scope:
            values = [branch_graph.tensor_of(v) for v in nest.flatten(structure, True)]
            invariants = _invariants(structure, shape_invariants)
            whole = structure
            if maximum is not None:
                values.append(convert_to_tensor(0, "int32"))
                invariants.append(values[-1].shape)
                test, body = _bounded(test, body, convert_to_tensor(maximum, "int32"))
                whole = structure + [None]
            loop = _Loop(outer, whole, values, invariants, scope)
            loop.parallel_iterations = parallel
            flat = loop.make(test, body, back_prop)
        packed = branch_graph.pack(structure, flat[: len(nest.flatten(structure, True))])
    if isinstance(loop_vars, tuple):
        packed = type(loop_vars)(*packed) if hasattr(loop_vars, "_fields") else tuple(packed)
    return packed if (same and not alone) or len(packed) > 1 else packed[0]


@export(v1="while_loop")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: TensorLike,
    shape_invariants: TensorLike = None,
    parallel_iterations: TensorLike = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats `body` while `cond` is true.

    Args:
      cond: A function of the loop variables that returns a boolean scalar.
      body: A function of the loop variables that returns their next values.
      loop_vars: A list or tuple of tensors, or nested structures of them.
      shape_invariants: The shapes that the loop variables keep; by default their initial shapes.
        Ignored in eager mode.
      parallel_iterations: An attribute of the operation without effect.
      back_prop: Whether the loop has a gradient; ignored in eager mode.
      swap_memory: Ignored.
      maximum_iterations: The largest number of iterations (optional).
      return_same_structure: Whether a single loop variable is returned in a list.
      name: A name for the operation (optional).

    Returns:
      The loop variables after the loop.

    Raises:
      TypeError: If `cond` or `body` is not callable.
      ValueError: If there are no loop variables, or the body changes a shape in a graph.
    """
    del swap_memory  # a hint for memory
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not isinstance(parallel_iterations, numbers.Integral) or parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if isinstance(loop_vars, (list, tuple)) and not loop_vars:
        raise ValueError("No loop variables provided")
    return _run_loop(
        cond,
        body,
        loop_vars,
        shape_invariants,
        maximum_iterations,
        return_same_structure,
        name,
        back_prop,
        parallel_iterations,
    )


@export(v2="while_loop")
def while_loop_v2(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: TensorLike,
    shape_invariants: TensorLike = None,
    parallel_iterations: TensorLike = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike = None,
    name: str | None = None,
    *,
    return_same_structure: bool = True,
) -> Any:
    """Repeats `body` while `cond` is true.

    Args:
      cond: A function of the loop variables that returns a boolean scalar.
      body: A function of the loop variables that returns their next values.
      loop_vars: A list or tuple of tensors, or nested structures of them.
      shape_invariants: The shapes that the loop variables keep; by default their initial shapes.
        Ignored in eager mode.
      parallel_iterations: An attribute of the operation without effect.
      back_prop: Whether the loop has a gradient; ignored in eager mode.
      swap_memory: Ignored.
      maximum_iterations: The largest number of iterations (optional).
      name: A name for the operation (optional).
      return_same_structure: Whether a single loop variable is returned in a list, as in
        tf.compat.v1.while_loop.

    Returns:
      The loop variables after the loop, in the structure of `loop_vars`.

    Raises:
      TypeError: If `cond` or `body` is not callable.
      ValueError: If there are no loop variables, or the body changes a shape in a graph.
    """
    return while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        name,
        maximum_iterations,
        return_same_structure,
    )
