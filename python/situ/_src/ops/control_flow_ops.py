# SPDX-License-Identifier: Apache-2.0
"""control_flow_ops.py: tf.cond, tf.case, tf.switch_case; switch, merge and with_dependencies of
tensorflow.python.ops.control_flow_ops.

Both outputs of a switch hold the value, and everything behind them is computed."""

import collections
import contextlib

import _situ
from situ._src.framework import branch_graph, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import get_default_graph, scope
from situ._src.framework.scopes import name_scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import constant, convert_to_tensor, op


def _after(graph, value, truth):
    """What a branch returned, as a value: an operation counts as the condition, after it."""
    if value is None:
        return None
    if isinstance(value, _situ.Operation):
        with graph.control_dependencies([value]):
            return OPS["Identity"](convert_to_tensor(truth))
    return branch_graph.tensor_of(value, graph.inside)


def _branch(outer, function, truth):
    def call(graph):
        result = function()
        return result, [_after(graph, v, truth) for v in branch_graph.leaves(result)]

    return branch_graph.trace(outer, call)


def _check_alike(results):
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


def choose_aligned(pred, true_fn, false_fn):
    """cond of functions that give lists with None in them: None where one of them has it."""
    outer = _situ.current_graph()
    with name_scope(None, "cond", [pred]):
        traced = [_branch(outer, f, t) for f, t in ((true_fn, True), (false_fn, False))]
        (_, (_, yes)), (_, (_, no)) = traced
        if len(yes) != len(no):
            raise ValueError("The ways of an if over a tensor set values of different structure.")
        for i, (a, b) in enumerate(zip(yes, no)):
            if a is None or b is None:
                yes[i] = no[i] = None
        return _choose_traced(outer, convert_to_tensor(pred), traced)


def _choose(outer, pred, functions):
    return _choose_traced(
        outer, pred, [_branch(outer, f, t) for f, t in zip(functions, (True, False))]
    )


def _choose_traced(outer, pred, traced):
    """If over two traced functions: the structure of the results."""
    graphs, results = [g for g, _ in traced], [r for _, r in traced]
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
        branch_graph.add(outer, word, g, branch_graph.inner(g, outers), o)
        for word, g, o in zip(("true", "false"), graphs, outputs)
    ]
    before = [op for g in graphs for op in g.before]
    with outer.control_dependencies(before) if before else contextlib.nullcontext():
        made = OPS["If"](
            pred,
            list(outers.values()),
            Tin=[t.dtype.base_dtype for t in outers.values()],
            Tout=[t.dtype.base_dtype for t in outputs[0]],
            then_branch=names[0],
            else_branch=names[1],
            name="If",
        )
    branch_graph.note_effects(outer, graphs, made[0].op)
    made = [
        OPS["Identity"](x, name="Merge") if x.dtype.name != "variant" else x
        for x in made[: len(outputs[0])]
    ]
    for variable, value in zip(written, made[len(made) - len(written) :]):
        outer.write_variable(variable, value)
    values = iter(made)
    return branch_graph.pack(
        results[0][0], [None if v is None else next(values) for v in results[0][1]]
    )


def _plain(result):
    """TensorFlow gives the one element of a list."""
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields") and len(result) == 1:
        return result[0]
    return result


def _decision(pred, strict):
    """What a condition hangs on: one truth value; in the style of graphs nothing else."""
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
def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """true_fn() where pred is true, else false_fn(); only one of them runs."""
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    for word, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"{word} must be callable.")
    outer = _situ.current_graph()
    if outer is None:
        result = true_fn() if bool(pred) else false_fn()
        return result if strict else _plain(result)
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name, "cond", [pred]):
        result = _choose(outer, _decision(pred, strict), [true_fn, false_fn])
    return result if strict else _plain(result)


@export(v2="cond")
def cond_v2(pred, true_fn=None, false_fn=None, name=None):
    """true_fn() where pred is true, else false_fn(); only one of them runs."""
    if isinstance(pred, bool):
        return true_fn() if pred else false_fn()
    return cond(pred, true_fn, false_fn, True, name)


@export(v1=("smart_cond", "contrib.framework.smart_cond", "layers.smart_cond"))
def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """As cond, but a condition that is known runs its function now."""
    known = pred if isinstance(pred, (bool, int)) else constant_value(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    return cond(pred, true_fn, false_fn, name=name)


def _nobody(preds, name, function):
    """The function behind an assertion that fails: no condition is true."""
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
    from situ._src.framework import nest

    return nest.map_structure(lambda x: OPS["Identity"](convert_to_tensor(x)), result)


def _at_most_one(preds):
    """An assertion that no two of the conditions are true."""
    from situ._src.ops.check_ops import Assert

    many = OPS["Pack"]([OPS["Cast"](convert_to_tensor(p), DstT="int32") for p in preds])
    return Assert(
        OPS["LessEqual"](OPS["Sum"](many, 0), 1),
        [
            "Input error: More than one condition evaluated as True but exclusive=True. "
            "Conditions:",
            *preds,
        ],
    )


@export(v1="case")
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """The function of the first condition that is true, else the default."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if not pairs:
        raise ValueError("At least one pair of a predicate and a function is needed.")
    preds = [p for p, _ in pairs]

    def rest(index):
        if index == len(pairs):
            return default or _nobody(preds, "assert_any", pairs[-1][1])
        pred, function = pairs[index]
        return lambda: cond(pred, function, rest(index + 1), strict=strict)

    with name_scope(name, "case"):
        alone = _at_most_one(preds) if exclusive and len(preds) > 1 else None
        if alone is None:
            return rest(0)()
        with _situ.current_graph().control_dependencies([alone]):
            return rest(0)()


@export(v2="case")
def case_v2(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """The function of the first condition that is true, else the default."""
    return case(pred_fn_pairs, default, exclusive, True, name)


def _with_index(function, index):
    """The same function, of whose results operations count as the index, after them."""

    def call():
        result, graph = function(), _situ.current_graph()
        if graph is None:
            return result
        return branch_graph.pack(
            result,
            [
                _after(graph, v, index) if isinstance(v, _situ.Operation) else v
                for v in branch_graph.leaves(result)
            ],
        )

    return call


@export("switch_case")
def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """The function of that number; the last one (or the default) for any other."""
    fns = dict(
        branch_fns.items()
        if isinstance(branch_fns, dict)
        else branch_fns
        if branch_fns and isinstance(branch_fns[0], tuple)
        else enumerate(branch_fns)
    )
    if default is None:
        default = fns[max(fns)]
    index = convert_to_tensor(branch_index)
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


MergeOutput = collections.namedtuple("Merge", ["output", "value_index"])


@export(v1=("python.ops.control_flow_ops.switch", "raw_ops.Switch"))
def switch(data, pred, dtype=None, name=None):
    """(data where pred is false, data where it is true)."""
    with scope(name, "Switch"):
        data, pred = convert_to_tensor(data, dtype), convert_to_tensor(pred)
        sides = op("Identity", data), op("Identity", data)
        alive = get_default_graph().__dict__.setdefault("_switched", {})
        for side, tensor in enumerate(sides):
            alive[tensor.op.name] = pred, bool(side)
        return sides


def _conditions(tensor):
    """(pred, side) of every switch that the tensor comes from."""
    alive = get_default_graph().__dict__.get("_switched", {})
    waiting, seen, found = [tensor.op], set(), {}
    while waiting:
        node = waiting.pop()
        if node.name in seen:
            continue
        seen.add(node.name)
        if node.name in alive:
            pred, side = alive[node.name]
            found[pred.name, side] = pred, side
            waiting.append(pred.op)
        waiting.extend(x.op for x in node.inputs)
    return list(found.values())


@export(v1=("python.ops.control_flow_ops.merge", "raw_ops.Merge"))
def merge(inputs, name=None):
    """(the input that is alive, its number)."""
    if any(x is None for x in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with scope(name, "Merge"):
        inputs = [convert_to_tensor(x) for x in inputs]
        chosen, number = inputs[-1], constant(len(inputs) - 1)
        for i in range(len(inputs) - 2, -1, -1):
            truth = None
            for pred, side in _conditions(inputs[i]):
                here = pred if side else op("LogicalNot", pred)
                truth = here if truth is None else op("LogicalAnd", truth, here)
            if truth is None:
                chosen, number = inputs[i], constant(i)
                continue
            chosen, number = cond(
                truth,
                lambda i=i: (op("Identity", inputs[i]), constant(i)),
                lambda c=chosen, n=number: (op("Identity", c), op("Identity", n)),
                strict=True,
            )
        return MergeOutput(chosen, number)


@export(v1="python.ops.control_flow_ops.with_dependencies")
def with_dependencies(dependencies, output_tensor, name=None):
    """The tensor, once the dependencies have run."""
    from situ._src.framework.indexed_slices import IndexedSlices

    graph = get_default_graph()
    with scope(name, "control_dependency") as full, graph.control_dependencies(dependencies):
        if isinstance(output_tensor, IndexedSlices):
            return IndexedSlices(
                op("Identity", output_tensor.values, name=full),
                output_tensor.indices,
                output_tensor.dense_shape,
            )
        return op("Identity", convert_to_tensor(output_tensor), name=full)
