# SPDX-License-Identifier: Apache-2.0
"""control_flow.py: tf.cond, tf.case, tf.while_loop and what is made of them."""
import contextlib

import _situ
from situ._lib import branches, shapes as _shapes
from situ._lib.api import OPS, export
from situ._lib.array_ops import convert_to_tensor
from situ._lib.scopes import name_scope


def _map(structure, function):
    if isinstance(structure, dict):
        return {k: _map(structure[k], function) for k in sorted(structure)}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_map(v, function) for v in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)(_map(v, function) for v in structure)
    return function(structure)


def _leaves(structure):
    found = []
    _map(structure, found.append)
    return found


def _pack(structure, values):
    values = iter(values)
    return _map(structure, lambda _: next(values))


def _after(graph, value):
    """What a branch returned, as a value: an operation counts as the number 0 behind it."""
    if value is None:
        return None
    if isinstance(value, _situ.Operation):
        with graph.control_dependencies([value]):
            return OPS["Identity"](convert_to_tensor(False))
    return graph.inside(value)


def _branch(outer, function):
    def call(graph):
        return _map(function(), lambda v: _after(graph, v))
    return branches.trace(outer, call)


def _check_alike(graphs, results):
    first = [x for x in _leaves(results[0]) if x is not None]
    for other in results[1:]:
        values = [x for x in _leaves(other) if x is not None]
        if len(values) != len(first):
            raise ValueError("true_fn and false_fn must return the same number of outputs. "
                             f"Received {len(first)} and {len(values)}.")
        for a, b in zip(first, values):
            if a.dtype.base_dtype != b.dtype.base_dtype:
                raise TypeError("true_fn and false_fn arguments to tf.cond must have the same "
                                f"number, type, and overall structure of return values: "
                                f"{a.dtype.name} and {b.dtype.name}.")


def _choose(outer, pred, functions, name):
    """If over two traced functions: the structure of the results."""
    traced = [_branch(outer, f) for f in functions]
    graphs, results = [g for g, _ in traced], [r for _, r in traced]
    _check_alike(graphs, results)
    written = list({v: None for g in graphs for v in g.writes})
    outputs = []
    for graph, result in traced:
        values = [x for x in _leaves(result) if x is not None]
        with graph.as_default():
            values += [graph.inside(graph.read_variable(v)) for v in written]
            if not values:
                values = [convert_to_tensor(False)]
        outputs.append(branches.with_effects(graph, values))
    outers = branches.join_captures(graphs)
    names = [branches.add(outer, word, g, branches.inner(g, outers), o)
             for word, g, o in zip(("true", "false"), graphs, outputs)]
    before = [op for g in graphs for op in g.before]
    with outer.control_dependencies(before) if before else contextlib.nullcontext():
        made = OPS["If"](pred, outers, Tin=[t.dtype.base_dtype for t in outers],
                         Tout=[t.dtype.base_dtype for t in outputs[0]],
                         then_branch=names[0], else_branch=names[1], name=name)
    made = list(made)
    for variable, value in zip(written, made[len(made) - len(written):]):
        outer.write_variable(variable, value)
    values = iter(made)
    return _map(results[0], lambda v: None if v is None else next(values))


def _plain(result):
    """TensorFlow gives the one element of a list."""
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields") and len(result) == 1:
        return result[0]
    return result


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
        result = _choose(outer, convert_to_tensor(pred), [true_fn, false_fn], "If")
    return result if strict else _plain(result)


@export(v2="cond")
def cond_v2(pred, true_fn=None, false_fn=None, name=None):
    """true_fn() where pred is true, else false_fn(); only one of them runs."""
    if isinstance(pred, bool):
        return true_fn() if pred else false_fn()
    return cond(pred, true_fn, false_fn, True, name)


def _pairs(pred_fn_pairs):
    return list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)


@export("case")
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """The function of the first condition that is true, else the default."""
    pairs = _pairs(pred_fn_pairs)
    if not pairs:
        raise ValueError("At least one pair of a predicate and a function is needed.")

    def rest(index):
        if index == len(pairs):
            return default
        if index == len(pairs) - 1 and default is None:
            return pairs[index][1]
        pred, function = pairs[index]
        return lambda: cond(pred, function, rest(index + 1), strict=strict)
    with name_scope(name, "case"):
        return rest(0)()


@export("switch_case")
def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """The function of that number; the last one (or the default) for any other."""
    fns = dict(branch_fns.items() if isinstance(branch_fns, dict) else
               branch_fns if branch_fns and isinstance(branch_fns[0], tuple) else
               enumerate(branch_fns))
    default = default or fns[max(fns)]
    index = convert_to_tensor(branch_index)
    return case([(OPS["Equal"](index, k), f) for k, f in sorted(fns.items())], default, name=name)


def _eager_loop(test, body, loop_vars, maximum):
    count = 0
    while (maximum is None or count < int(maximum)) and bool(test(*loop_vars)):
        result = body(*loop_vars)
        loop_vars = result if isinstance(result, (list, tuple)) else [result]
        count += 1
    return loop_vars


def _check_shapes(values, results, invariants):
    for before, after, invariant in zip(values, results, invariants):
        if before.dtype.base_dtype != after.dtype.base_dtype:
            raise TypeError(f"The body gives {after.dtype.name} for a loop variable of type "
                            f"{before.dtype.name}.")
        if invariant.is_compatible_with(after.shape) and (
                not invariant.is_fully_defined() or after.shape.is_fully_defined()):
            continue
        raise ValueError(f"Input tensor '{before.name}' enters the loop with shape "
                         f"{before.shape}, but has shape {after.shape} after one iteration. To "
                         "allow the shape to vary across iterations, use the `shape_invariants` "
                         "argument of tf.while_loop to specify a less-specific shape.")


def _loop(outer, test, body, values, structure, invariants, name):
    """While over two traced functions: the flat results."""
    def inputs():
        return [OPS["Placeholder"](dtype=v.dtype.base_dtype, shape=s, name="loop")
                for v, s in zip(values, invariants)]

    def call_test(graph):
        places = inputs()
        return places, graph.inside(test(*_pack(structure, places)))

    def call_body(graph):
        places = inputs()
        result = body(*_pack(structure, places))
        result = result if isinstance(result, (list, tuple)) and len(structure) == len(result) \
            else [result]
        return places, [graph.inside(v) for v in _leaves(result)]

    first, (test_in, truth) = branches.trace(outer, call_test)
    second, (body_in, results) = branches.trace(outer, call_body)
    if len(results) != len(values):
        raise ValueError(f"The body gives {len(results)} values for {len(values)} loop variables.")
    if second.writes or first.writes:
        raise NotImplementedError("Variables of eager style cannot be assigned in tf.while_loop: "
                                  "make them loop variables.")
    _check_shapes(values, results, invariants)
    results = branches.with_effects(second, results)
    outers = branches.join_captures([first, second])
    kept = branches.inner(second, outers)
    names = [branches.add(outer, "cond", first, test_in + branches.inner(first, outers), [truth]),
             branches.add(outer, "body", second, body_in + kept, list(results) + kept)]
    before = first.before + second.before
    with outer.control_dependencies(before) if before else contextlib.nullcontext():
        made = OPS["While"](list(values) + outers,
                            T=[t.dtype.base_dtype for t in list(values) + outers],
                            cond=names[0], body=names[1], name=name)
    return list(made)[:len(values)]


def _run_loop(test, body, loop_vars, shape_invariants, maximum, same, name):
    outer = _situ.current_graph()
    if outer is None:
        result = _eager_loop(test, body, loop_vars, maximum)
        result = result if isinstance(result, tuple) else type(loop_vars)(result)
        return result if same or len(result) > 1 else result[0]
    structure = list(loop_vars)
    with name_scope(name, "while"):
        values = [convert_to_tensor(v) for v in _leaves(structure)]
        invariants = [v.shape for v in values] if shape_invariants is None else \
            [_shapes.as_shape(s) for s in _shape_leaves(shape_invariants)]
        if maximum is not None:
            values.append(convert_to_tensor(0, "int32"))
            invariants.append(values[-1].shape)
            limit, plain_test, plain_body = maximum, test, body
            structure = structure + [None]

            def test(*args):
                return OPS["LogicalAnd"](OPS["Less"](args[-1], limit), plain_test(*args[:-1]))

            def body(*args):
                result = plain_body(*args[:-1])
                result = list(result) if isinstance(result, (list, tuple)) else [result]
                return result + [args[-1] + 1]
        flat = _loop(outer, test, body, values, structure, invariants, "While")
    if maximum is not None:
        flat, structure = flat[:-1], structure[:-1]
    packed = _pack(structure, flat)
    if isinstance(loop_vars, tuple):
        packed = tuple(packed)
    return packed if same or len(packed) > 1 else packed[0]


def _shape_leaves(structure):
    if isinstance(structure, _shapes.TensorShape):
        return [structure]
    if isinstance(structure, dict):
        return [x for k in sorted(structure) for x in _shape_leaves(structure[k])]
    return [x for s in structure for x in _shape_leaves(s)]


@export(v1="while_loop")
def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10,
               back_prop=True, swap_memory=False, name=None, maximum_iterations=None,
               return_same_structure=False):
    """Runs body on its own results as long as cond of them is true."""
    if not callable(cond) or not callable(body):
        raise TypeError("cond and body must be callable.")
    if not loop_vars:
        raise ValueError("No loop variables provided")
    return _run_loop(cond, body, loop_vars, shape_invariants, maximum_iterations,
                     return_same_structure, name)


@export(v2="while_loop")
def while_loop_v2(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10,
                  back_prop=True, swap_memory=False, maximum_iterations=None, name=None):
    """Runs body on its own results as long as cond of them is true."""
    return while_loop(cond, body, loop_vars, shape_invariants, parallel_iterations, back_prop,
                      swap_memory, name, maximum_iterations, True)
