# SPDX-License-Identifier: Apache-2.0
"""control_flow_ops.py: tf.cond, tf.case, tf.switch_case; switch, merge and with_dependencies of
tensorflow.python.ops.control_flow_ops.

Branches are traced into functions that the op If calls. Both outputs of a switch hold the value:
the
nodes behind both are computed.
"""

from __future__ import annotations

import collections
import contextlib

import _situ
from situ._src.framework import branch_graph, nest, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import get_default_graph, scope
from situ._src.framework.indexed_slices import IndexedSlices
from situ._src.framework.resource_order import effects_before
from situ._src.framework.scopes import name_scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.constant_op import is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, Tensor, TensorLike


def _after(graph, value, predicate):
    """Converts a result of a branch to a tensor; an operation becomes the predicate, computed
    after it."""
    if value is None:
        return None
    if isinstance(value, _situ.Operation):
        with graph.control_dependencies([value]):
            return OPS["Identity"](convert_to_tensor(predicate))
    return branch_graph.tensor_of(value, graph.inside)


def _branch(outer, function, predicate):
    """Traces a branch function into a graph."""

    def call(graph):
        result = function()
        return result, [_after(graph, v, predicate) for v in nest.flatten(result, True)]

    return branch_graph.trace(outer, call)


def _check_alike(results):
    """Checks that both branches return the same number and types of outputs."""
    first, second = [[x for x in values if x is not None] for _, values in results]
    if len(first) != len(second) or len(results[0][1]) != len(results[1][1]):
        raise ValueError(
            "true_fn and false_fn must return the same number of outputs. "
            f"Received {len(first)} and {len(second)}."
        )
    for a, b in zip(first, second):
        if a.dtype.base_dtype != b.dtype.base_dtype:
            raise ValueError(
                "Outputs of true_fn and false_fn must have the same type: "
                f"{a.dtype.name}, {b.dtype.name}"
            )


def cond_aligned(pred, true_fn, false_fn):
    """cond for functions that return lists with None: an output is None if it is in either
    branch."""
    outer = _situ.current_graph()
    with name_scope(None, "cond", [pred]) as full:
        traced = [_branch(outer, f, t) for f, t in ((true_fn, True), (false_fn, False))]
        (_, (_, yes)), (_, (_, no)) = traced
        if len(yes) != len(no):
            raise ValueError(
                "The branches of an `if` over a tensor must set values of the same structure."
            )
        for i, (a, b) in enumerate(zip(yes, no)):
            if a is None or b is None:
                yes[i] = no[i] = None
        return _emit_if(outer, convert_to_tensor(pred), traced, full)


def _trace_and_emit_if(outer, pred, functions, full):
    traced = [_branch(outer, f, t) for f, t in zip(functions, (True, False))]
    return _emit_if(outer, pred, traced, full)


def _emit_if(outer, pred, traced, full):
    """Emits an If op over two traced functions and returns its results in their structure."""
    graphs, results = [g for g, _ in traced], [r for _, r in traced]
    is_v2 = branch_graph.uses_v2(outer)
    _check_alike(results)
    written = list({v: None for g in graphs for v in g.writes})
    outputs = []
    for graph, (_, values) in traced:
        values = [x for x in values if x is not None]
        with graph.as_default():
            values += [graph.inside(graph.read_variable(v)) for v in written]
            if not values:
                values = [OPS["Identity"](convert_to_tensor(False))]
        outputs.append(branch_graph.order_after_effects(graph, values))
    outers = branch_graph.drop_constants(branch_graph.unify_captures(graphs), graphs)
    names = [
        branch_graph.add(
            outer, branch_graph.function_name(full, word), g, branch_graph.inner(g, outers), o
        )
        for word, g, o in zip(("true", "false"), graphs, outputs)
    ]
    before = [op for g in graphs for op in g.before] + effects_before(outer, graphs)
    with outer.control_dependencies(before) if before else contextlib.nullcontext():
        stateful = any(branch_graph.is_stateful(g) for g in graphs)
        result = OPS["If" if stateful else "StatelessIf"](
            pred,
            list(outers.values()),
            Tout=[t.dtype.base_dtype for t in outputs[0]],
            then_branch=names[0],
            else_branch=names[1],
            name=full if is_v2 else "If",
        )
    branch_graph.note_effects(outer, graphs, result[0].op)
    word = "Identity" if is_v2 else "Merge"
    result = [
        x if x.dtype.name == "variant" else OPS["Identity"](x, name=word)
        for x in result[: len(outputs[0])]
    ]
    for variable, value in zip(written, result[len(result) - len(written) :]):
        outer.write_variable(variable, value)
    values = iter(result)
    return branch_graph.pack(
        results[0][0], [None if v is None else next(values) for v in results[0][1]]
    )


def _unpack_singleton(result):
    """Returns the element of a list of one element, as tf.cond of TensorFlow 1 does."""
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields") and len(result) == 1:
        return result[0]
    return result


def _check_predicate(pred, strict):
    """Checks that a predicate is a scalar; without `strict` it must also be boolean."""
    pred = convert_to_tensor(pred)
    known = tensor_shape.as_shape(pred.shape)
    if not strict and pred.dtype.base_dtype != "bool":
        raise TypeError(
            f"Input 'pred' of 'Switch' Op has type {pred.dtype.base_dtype.name} that "
            "does not match expected type of bool."
        )
    if known.rank and (not strict or any(n not in (None, 1) for n in known.as_list())):
        sizes = str(known.as_list()).replace(" ", "").replace("None", "?")
        raise ValueError(
            f"Shape must be rank 0 but is rank {known.rank} for '{pred.op.name}' "
            f"(op: 'If') with input shapes: {sizes}."
        )
    return pred


@export(v1="cond")
def cond(
    pred: TensorLike,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: str | None = None,
    fn1: TensorLike = None,
    fn2: TensorLike = None,
) -> Any:
    """Calls `true_fn` if `pred` is true, else `false_fn`. In a graph only one of them runs.

    Args:
      pred: A boolean scalar tensor.
      true_fn: A function without arguments.
      false_fn: A function without arguments that returns the same structure and types.
      strict: Whether a list of one element is returned as a list.
      fn1: The name of `true_fn` in old programs.
      fn2: The name of `false_fn` in old programs.
      name: A name for the operation (optional).

    Returns:
      The results of the function that ran.

    Raises:
      TypeError: If a function is not callable, or `pred` is a Python bool in a graph.
      ValueError: If the functions return different structures.
    """
    for word, function, old, other in (
        ("true_fn", true_fn, "fn1", fn1),
        ("false_fn", false_fn, "fn2", fn2),
    ):
        if function is not None and other is not None:
            raise TypeError(f"cond: {word} and {old} may not be set simultaneously.")
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    for word, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"{word} must be callable.")
    outer = _situ.current_graph()
    if outer is None:
        result = true_fn() if bool(pred) else false_fn()
        return result if strict else _unpack_singleton(result)
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name or None, "cond", [pred]) as full:
        result = _trace_and_emit_if(
            outer, _check_predicate(pred, strict), [true_fn, false_fn], full
        )
    return result if strict else _unpack_singleton(result)


@export(v2="cond")
def cond_v2(
    pred: TensorLike, true_fn: Any = None, false_fn: Any = None, name: str | None = None
) -> Any:
    """Calls `true_fn` if `pred` is true, else `false_fn`. In a graph only one of them runs.

    Args:
      pred: A boolean scalar tensor or a Python bool.
      true_fn: A function without arguments.
      false_fn: A function without arguments that returns the same structure and types.
      name: A name for the operation (optional).

    Returns:
      The results of the function that ran.

    Raises:
      TypeError: If a function is not callable.
      ValueError: If the functions return different structures.
    """
    if isinstance(pred, bool):
        return true_fn() if pred else false_fn()
    return cond(pred, true_fn, false_fn, True, name)


@export(v1=("smart_cond", "contrib.framework.smart_cond", "layers.smart_cond"))
def smart_cond(
    pred: TensorLike, true_fn: Any = None, false_fn: Any = None, name: str | None = None
) -> Any:
    """Like `tf.cond`, but calls only one function if the value of `pred` is known while
    building.

    Args:
      pred: A boolean scalar.
      true_fn: The function for true.
      false_fn: The function for false.
      name: A name for the operation (optional).
    """
    known = pred if isinstance(pred, (bool, int)) else constant_value(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    return cond(pred, true_fn, false_fn, name=name)


def _fail_without_match(preds, name, function):
    """Wraps a function so that an assertion fails before it: no predicate is true."""
    from situ._src.ops.check_ops import Assert

    text = (
        "None of conditions evaluated as True. Conditions: ("
        + ", ".join(getattr(p, "name", str(p)) for p in preds)
        + "), Values:"
    )

    def call():
        if _situ.current_graph() is None:
            Assert(False, [text, preds])
        with _situ.current_graph().control_dependencies(
            [Assert(convert_to_tensor(False), [text, *preds], name=name)]
        ):
            return nest_identity(function())

    return call


def nest_identity(result):
    return nest.map_structure(lambda x: OPS["Identity"](convert_to_tensor(x)), result)


def _at_most_one(preds):
    """Asserts that at most one predicate is true."""
    from situ._src.ops.check_ops import Assert

    counts = OPS["Pack"]([OPS["Cast"](convert_to_tensor(p), DstT="int32") for p in preds])
    return Assert(
        OPS["LessEqual"](OPS["Sum"](counts, 0), 1),
        [
            "Input error: More than one condition evaluated as True but exclusive=True. "
            "Conditions:",
            *preds,
        ],
    )


@export(v1="case")
def case(
    pred_fn_pairs: TensorLike,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = "case",
) -> Any:
    """Calls the function of the first predicate that is true.

    Args:
      pred_fn_pairs: A list of pairs (boolean scalar, function without arguments), or a dictionary.
      default: The function to call if no predicate is true (optional).
      exclusive: Whether to fail if more than one predicate is true.
      strict: Whether a list of one element is returned as a list.
      name: A name for the operation (optional).

    Returns:
      The results of the function that ran.

    Raises:
      ValueError: If there are no pairs.
      InvalidArgumentError: If no predicate is true and there is no default.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if not pairs:
        raise ValueError("At least one pair of a predicate and a function is needed.")
    preds = [p for p, _ in pairs]

    def rest(index):
        if index == len(pairs):
            return default or _fail_without_match(preds, "assert_any", pairs[-1][1])
        pred, function = pairs[index]
        return lambda: cond(pred, function, rest(index + 1), strict=strict)

    with name_scope(name, "case"):
        alone = _at_most_one(preds) if exclusive and len(preds) > 1 else None
        if alone is None:
            return rest(0)()
        with _situ.current_graph().control_dependencies([alone]):
            return rest(0)()


@export(v2="case")
def case_v2(
    pred_fn_pairs: TensorLike,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = "case",
) -> Any:
    """Calls the function of the first predicate that is true; see `tf.compat.v1.case`.

    Args:
      pred_fn_pairs: Pairs of a boolean scalar and a function.
      default: The function if no predicate is true (optional).
      exclusive: Whether it is an error if several predicates are true.
      strict: Whether results that are lists of one stay lists.
      name: A name for the operation (optional).
    """
    del strict  # TensorFlow 2 always keeps the structure of the results
    return case(pred_fn_pairs, default, exclusive, True, name)


def _with_index(function, index):
    """Wraps a function: operations among its results become the index, computed after them."""

    def call():
        result, graph = function(), _situ.current_graph()
        if graph is None:
            return result
        return branch_graph.pack(
            result,
            [
                _after(graph, v, index) if isinstance(v, _situ.Operation) else v
                for v in nest.flatten(result)
            ],
        )

    return call


def _integer_tensor(branch_index):
    """Returns the index of a branch if it is an integer tensor."""
    if not is_tensor(branch_index):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    index = convert_to_tensor(branch_index)
    if not index.dtype.is_integer:
        raise TypeError(f"'branch_index' must be an integer Tensor, got {index.dtype}")
    return index


def _branches(branch_fns):
    """Returns the functions of branches by their indices."""
    if not branch_fns:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError("'branch_fns' must be a list, tuple, or dict")
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if all(map(callable, pairs)):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {pair}.")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {type(pair[0])}")
        if not callable(pair[1]):
            raise TypeError(f"fn for key {pair[0]} must be callable.")
    keys = sorted(key for key, _ in pairs)
    if keys != list(range(len(keys))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found "
            f"{{{','.join(map(str, keys))}}}"
        )
    return dict(pairs)


@export("switch_case")
def switch_case(
    branch_index: TensorLike,
    branch_fns: TensorLike,
    default: Any = None,
    name: str | None = "switch_case",
) -> Any:
    """Calls the function with an index.

    Args:
      branch_index: An int32 scalar tensor.
      branch_fns: A list of functions, a list of pairs (index, function), or a dictionary.
      default: The function for other indices; by default the one with the largest index.
      name: A name for the operation (optional).

    Returns:
      The results of the function that ran.

    Raises:
      TypeError: If `branch_index` is no integer tensor, or a key no int with a function.
      ValueError: If there are no functions, or the keys are not 0, 1, ...
    """
    index, fns = _integer_tensor(branch_index), _branches(branch_fns)
    if default is None:
        default = fns[max(fns)]
    fns = {k: _with_index(f, index) for k, f in fns.items()}
    default = _with_index(default, index)
    return case(
        [
            (OPS["Equal"](index, convert_to_tensor(k, index.dtype)), f)
            for k, f in sorted(fns.items())
        ],
        default,
        strict=True,
        name=name,
    )


Merge = collections.namedtuple("Merge", ["output", "value_index"])


@export("raw_ops.Switch", v1="python.ops.control_flow_ops.switch")
def switch(
    data: TensorLike, pred: TensorLike, dtype: DTypeLike = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns `data` twice: for the nodes where `pred` is false, and for those where it is true.

    Args:
      data: A tensor.
      pred: A boolean scalar.
      dtype: The type of the tensor.
      name: A name for the operation (optional).
    """
    with scope(name, "Switch"):
        data, pred = convert_to_tensor(data, dtype), convert_to_tensor(pred)
        sides = op("Identity", data), op("Identity", data)
        alive = get_default_graph().__dict__.setdefault("_switched", {})
        for side, tensor in enumerate(sides):
            alive[tensor.op.name] = pred, bool(side)
        return sides


def _conditions(tensor):
    """Returns (pred, side) of every switch that a tensor depends on."""
    alive = get_default_graph().__dict__.get("_switched", {})
    pending, visited, found = [tensor.op], set(), {}
    while pending:
        node = pending.pop()
        if node.name in visited:
            continue
        visited.add(node.name)
        if node.name in alive:
            pred, side = alive[node.name]
            found[pred.name, side] = pred, side
            pending.append(pred.op)
        pending.extend(x.op for x in node.inputs)
        pending.extend(node.control_inputs)
    return list(found.values())


@export("raw_ops.Merge", v1="python.ops.control_flow_ops.merge")
def merge(inputs: TensorLike, name: str | None = None) -> Any:
    """Returns the first input whose switches were taken, and its index.

    Args:
      inputs: A list of tensors.
      name: A name for the operation (optional).
    """
    if any(x is None for x in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with scope(name, "Merge"):
        inputs = [convert_to_tensor(x) for x in inputs]
        value, index = inputs[-1], constant(len(inputs) - 1)
        for i in range(len(inputs) - 2, -1, -1):
            truth = None
            for pred, side in _conditions(inputs[i]):
                holds = pred if side else op("LogicalNot", pred)
                truth = holds if truth is None else op("LogicalAnd", truth, holds)
            if truth is None:
                value, index = inputs[i], constant(i)
                continue
            value, index = cond(
                truth,
                lambda i=i: (op("Identity", inputs[i]), constant(i)),
                lambda c=value, n=index: (op("Identity", c), op("Identity", n)),
                strict=True,
            )
        return Merge(value, index)


@export(v1="python.ops.control_flow_ops.with_dependencies")
def with_dependencies(
    dependencies: TensorLike, output_tensor: TensorLike, name: str | None = None
) -> Any:
    """Returns the tensor after the dependencies have run.

    Args:
      dependencies: Operations to wait for.
      output_tensor: The tensor.
      name: A name for the operation (optional).
    """
    if _situ.executing_eagerly():
        return output_tensor  # dependencies have run already
    graph = get_default_graph()
    with scope(name, "control_dependency") as full, graph.control_dependencies(dependencies):
        if isinstance(output_tensor, IndexedSlices):
            return IndexedSlices(
                op("Identity", output_tensor.values, name=full),
                output_tensor.indices,
                output_tensor.dense_shape,
            )
        return op("Identity", convert_to_tensor(output_tensor), name=full)
