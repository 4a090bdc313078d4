# SPDX-License-Identifier: Apache-2.0
"""jumps.py: rewrites return, break and continue for conversion.py, so that control flow is
structured.

A return in a loop sets a flag and a value and leaves the loop; after the loop the flag is tested.
Statements after an if with a return move into the branches without one.
"""

from __future__ import annotations

import ast
import copy

PREFIX = "ag__"
FLAG, VALUE = PREFIX + "return", PREFIX + "value"
_LOOPS = (ast.For, ast.While)


def has(nodes, kinds, loops=True):
    """Returns whether there are statements of a kind, outside of nested functions (and of
    loops)."""
    for node in nodes:
        if isinstance(node, kinds):
            return True
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if not loops and isinstance(node, _LOOPS):
            continue
        if has(ast.iter_child_nodes(node), kinds, loops):
            return True
    return False


def is_part(node):
    """Returns whether an expression is o.a, o.a.b, d["a"] or d[i], which can be evaluated again."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) or is_part(node.value)
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, (ast.Constant, ast.Name))
        and (isinstance(node.value, ast.Name) or is_part(node.value))
    )


def parse(text, context=None):
    """Returns an expression parsed from its text, to be read or assigned."""
    node = ast.parse(text, mode="eval").body
    if context is not None:
        node.ctx = context
    return node


def loads(nodes):
    """Counts the reads of each name, attribute and item."""
    found = {}
    for node in nodes:
        for below in ast.walk(node):
            if isinstance(getattr(below, "ctx", None), ast.Load) and (
                isinstance(below, ast.Name) or is_part(below)
            ):
                text = ast.unparse(below)
                found[text] = found.get(text, 0) + 1
    return found


def declared(nodes, kind):
    """Removes global (or nonlocal) statements and returns their names."""
    found = []

    class Taker(ast.NodeTransformer):
        def generic_visit(self, node):
            if isinstance(node, kind):
                found.extend(n for n in node.names if n not in found)
                return ast.Pass()
            return super().generic_visit(node)

        visit_FunctionDef = visit_Lambda = visit_ClassDef = lambda self, node: node

    nodes[:] = [Taker().visit(n) for n in nodes]
    return found


def load(name):
    return ast.Name(name, ast.Load())


def put(name, value):
    """Returns a statement that assigns a value, or a constant, to a name."""
    value = value if isinstance(value, ast.AST) else ast.Constant(value)
    return ast.Assign([ast.Name(name, ast.Store())], value)


def call(name, *args):
    return ast.Call(ast.Attribute(load(PREFIX), name, ast.Load()), list(args), [])


def ends(body):
    """Returns whether statements always return or raise."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    if isinstance(last, ast.With):
        return ends(last.body)
    return isinstance(last, (ast.Return, ast.Raise))


def _leave(body):
    """Returns the statements of a loop body with each return replaced by a break."""
    made = []
    for node in body:
        if isinstance(node, ast.Return):
            value = call("result", node.value or ast.Constant(None))
            return made + [put(FLAG, True), put(VALUE, value), ast.Break()]
        made.append(node)
        if isinstance(node, ast.If):
            node.body, node.orelse = _leave(node.body), _leave(node.orelse)
        elif isinstance(node, ast.With):
            node.body = _leave(node.body)
        elif isinstance(node, _LOOPS) and has(node.body, ast.Return):
            node.body = _leave(node.body)
            made.append(ast.If(load(FLAG), [ast.Break()], []))
    return made


def out_of_loops(body):
    """Returns the statements of a function without returns inside of loops."""
    made = []
    for node in body:
        if isinstance(node, _LOOPS) and has(node.body, ast.Return):
            node.body = _leave(node.body)
            made += [put(FLAG, False), node, ast.If(load(FLAG), [ast.Return(load(VALUE))], [])]
            continue
        if isinstance(node, ast.If):
            node.body, node.orelse = out_of_loops(node.body), out_of_loops(node.orelse)
        elif isinstance(node, ast.With):
            node.body = out_of_loops(node.body)
        made.append(node)
    return made


def spread_returns(body):
    """Moves the statements after an if with a return into its branches that do not return."""
    made = []
    for i, node in enumerate(body):
        if isinstance(node, ast.If) and has([node], ast.Return, loops=False):
            rest = body[i + 1 :]
            yes = node.body if ends(node.body) else node.body + rest
            no = node.orelse if ends(node.orelse) else node.orelse + copy.deepcopy(rest)
            made.append(ast.If(node.test, spread_returns(yes), spread_returns(no)))
            return made
        if isinstance(node, ast.With) and has([node], ast.If) and has([node], ast.Return):
            if not ends(node.body) and body[i + 1 :]:
                raise SyntaxError("a return on some ways out of a with")
            node.body = spread_returns(node.body)
        made.append(node)
        if ends([node]):
            return made
    return made + [ast.Return(ast.Constant(None))]


def guard(body, flag, skip):
    """Guards the statements after a break or continue: they run only if it was not reached."""
    made, jumps = [], (ast.Break, ast.Continue)
    for i, node in enumerate(body):
        if isinstance(node, jumps):
            made.append(put(skip, True))
            return made + ([put(flag, True)] if isinstance(node, ast.Break) else [])
        made.append(node)
        if isinstance(node, (ast.If, ast.With)) and has([node], jumps, loops=False):
            node.body = guard(node.body, flag, skip)
            if isinstance(node, ast.If):
                node.orelse = guard(node.orelse, flag, skip)
            rest = guard(body[i + 1 :], flag, skip)
            return made + ([ast.If(ast.UnaryOp(ast.Not(), load(skip)), rest, [])] if rest else [])
    return made


def parse_lambda(function, lines):
    """Returns the function definition equivalent to a lambda in these lines of a file."""
    code = function.__code__
    found = [
        n
        for n in ast.walk(ast.parse("".join(lines)))
        if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno
    ]
    if len(found) > 1 and hasattr(code, "co_positions"):
        at = {(p[0], p[2]) for p in code.co_positions() if p[2] is not None}
        found = [n for n in found if (n.body.lineno, n.body.col_offset) in at]
    if len(found) != 1:
        raise SyntaxError("the line has several lambdas")
    made = ast.FunctionDef("lambda_", found[0].args, [ast.Return(found[0].body)], [], None)
    return ast.copy_location(made, found[0])
