# SPDX-License-Identifier: Apache-2.0
"""autograph.py: Python's if, while and for over tensors in tf.function, as operations of the graph.

The source of a function is read, its statements become calls of autograph_ops with functions for
their parts, and those decide when they see the values: tensors of a graph make operations, all
else is done by Python. What has no source (programs typed in) stays as it is.
"""
import ast
import inspect
import linecache
import sys
import textwrap
import types
import weakref

from situ._lib import autograph_jumps as jumps, autograph_ops
from situ._lib.autograph_jumps import PREFIX as _PREFIX, call as _call, load as _load, put as _put


def _assigned(nodes):
    """The names that statements set, but for those of functions inside."""
    found = {}

    class Finder(ast.NodeVisitor):
        def visit_Name(self, node):
            if isinstance(node.ctx, ast.Store):
                found[node.id] = None

        def visit_FunctionDef(self, node):
            found[node.name] = None

        visit_Lambda = visit_ClassDef = visit_ListComp = visit_SetComp = visit_DictComp = \
            visit_GeneratorExp = lambda self, node: None
    for node in nodes:
        Finder().visit(node)
    return [n for n in found if not n.startswith(_PREFIX + "f")]


def _lambda(value):
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.Lambda(nothing, value)


class _Rewriter(ast.NodeTransformer):
    """Turns the statements of a function into calls."""

    def __init__(self):
        self._count, self.names = 0, {}

    def _function(self, body, names, argument=None):
        """A function of statements that sets names of the function around it."""
        self._count += 1
        name = f"{_PREFIX}f{self._count}"
        args = ast.arguments([], [ast.arg(argument)] if argument else [], None, [], [], None, [])
        head = [ast.Nonlocal(list(names))] if names else []
        return name, ast.FunctionDef(name, args, head + (body or [ast.Pass()]), [], None)

    def _state(self, names):
        """Functions that read and set the names."""
        self.names.update(dict.fromkeys(names))
        values = ast.Tuple([_load(n) for n in names], ast.Load())
        get, get_def = self._function([ast.Return(values)], [])
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
        body = [ast.Assign([target], _load("values"))] if names else []
        put, put_def = self._function(body, names, "values")
        return [get_def, put_def], [_load(get), _load(put),
                                    ast.Tuple([ast.Constant(n) for n in names], ast.Load())]

    def _block(self, nodes):
        made = []
        for node in nodes:
            result = self.visit(node)
            made += result if isinstance(result, list) else [result]
        return made

    def visit_FunctionDef(self, node):
        """One inside: converted as soon as it is there, whoever will call it."""
        return [node, _put(node.name, _call("converted", _load(node.name)))]

    def visit_ClassDef(self, node):
        return node

    def visit_If(self, node):
        test = self.visit(node.test)
        if jumps.ends(node.body) and jumps.ends(node.orelse):
            # Each way is a function of its own scope: names that it sets are its own.
            yes, yes_def = self._own(node.body)
            no, no_def = self._own(node.orelse)
            return [yes_def, no_def, ast.Return(_call("if_return", test, _load(yes), _load(no)))]
        names = _assigned(node.body + node.orelse)
        yes, yes_def = self._function(self._block(node.body), names)
        no, no_def = self._function(self._block(node.orelse), names)
        defs, state = self._state(names)
        return [*defs, yes_def, no_def,
                ast.Expr(_call("if_stmt", test, _load(yes), _load(no), *state))]

    def _own(self, nodes):
        names = _assigned(nodes)
        self.names.update(dict.fromkeys(names))
        return self._function(self._block(nodes), names)

    def visit_While(self, node):
        if node.orelse:
            return self._plain(node)
        flag, body = self._without_jumps(node.body)
        test = self.visit(node.test)
        if flag:
            test = _call("and_", _lambda(_call("not_", _load(flag))), _lambda(test))
        names = _assigned(body)
        loop, loop_def = self._function(self._block(body), names)
        check, check_def = self._function([ast.Return(test)], [])
        defs, state = self._state(names)
        head = [_put(flag, False)] if flag else []
        return [*head, *defs, loop_def, check_def,
                ast.Expr(_call("while_stmt", _load(check), _load(loop), *state))]

    def visit_For(self, node):
        if node.orelse:
            return self._plain(node)
        flag, body = self._without_jumps(node.body)
        names = _assigned([ast.Assign([node.target], node.iter), *body])
        first = ast.Assign([node.target], _load(_PREFIX + "item"))
        loop, loop_def = self._function([first] + self._block(body), names, _PREFIX + "item")
        defs, state = self._state(names)
        head = [_put(flag, False)] if flag else []
        stop = _lambda(_load(flag)) if flag else ast.Constant(None)
        return [*head, *defs, loop_def,
                ast.Expr(_call("for_stmt", self.visit(node.iter), stop, _load(loop), *state))]

    def _plain(self, node):
        """A loop that Python does; what is in it is converted."""
        for part in ("test", "iter"):
            if hasattr(node, part):
                setattr(node, part, self.visit(getattr(node, part)))
        return node

    def _without_jumps(self, body):
        """The statements with break and continue as flags; the name of the flag of break."""
        if not jumps.has(body, (ast.Break, ast.Continue), loops=False):
            return None, body
        self._count += 1
        flag, skip = f"{_PREFIX}stop{self._count}", f"{_PREFIX}skip{self._count}"
        return flag, [_put(skip, False)] + jumps.guard(body, flag, skip)

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return _call("if_exp", node.test, _lambda(node.body), _lambda(node.orelse))

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        made, word = node.values[-1], "and_" if isinstance(node.op, ast.And) else "or_"
        for value in reversed(node.values[:-1]):
            made = _call(word, _lambda(value), _lambda(made))
        return made

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return _call("not_", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Assert(self, node):
        self.generic_visit(node)
        return ast.Expr(_call("assert_stmt", node.test, node.msg or ast.Constant("")))

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals"):
            return node
        node.func = _call("converted", node.func)
        return node


def _parse(function):
    if function.__name__ == "<lambda>":
        return jumps.parse_lambda(function, linecache.getlines(inspect.getsourcefile(function)))
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise SyntaxError("not a def")
    ast.increment_lineno(tree, first - 1)
    return tree


def _rewrite(function):
    tree = _parse(function)
    if jumps.has(tree.body, (ast.Yield, ast.YieldFrom, ast.Nonlocal, ast.Global, ast.Delete)):
        raise SyntaxError("a generator, or names of others")
    params = {a.arg for a in [*tree.args.args, *tree.args.posonlyargs, *tree.args.kwonlyargs,
                              tree.args.vararg, tree.args.kwarg] if a is not None}
    rewriter = _Rewriter()
    body = jumps.out_of_loops(tree.body)
    spread = jumps.has(body, ast.If) and jumps.has(body, ast.Return)
    body = rewriter._block(jumps.spread_returns(body) if spread else body)
    unset = [ast.Assign([ast.Name(n, ast.Store())], _call("Undefined", ast.Constant(n)))
             for n in rewriter.names if n not in params]
    tree.body, tree.decorator_list, tree.returns = unset + body, [], None
    free = [n for n in function.__code__.co_freevars] + [_PREFIX]
    factory = ast.FunctionDef(
        "factory", ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []),
        [tree, ast.Return(_load(tree.name))], [], None)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    scope = {}
    exec(compile(module, inspect.getsourcefile(function), "exec"), function.__globals__, scope)
    code = scope["factory"](*[None] * len(free)).__code__
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[_PREFIX] = types.CellType(sys.modules[autograph_ops.__name__])
    made = types.FunctionType(code, function.__globals__, function.__name__,
                              function.__defaults__, tuple(cells[n] for n in code.co_freevars))
    made.__kwdefaults__, made.__dict__ = function.__kwdefaults__, dict(function.__dict__)
    return made


_known = weakref.WeakKeyDictionary()


def _is_users(function):
    name = getattr(function, "__module__", None) or ""
    path = getattr(sys.modules.get(name), "__file__", None) or ""
    if name.split(".")[0] in ("situ", "_situ", "tensorflow", "numpy"):
        return False
    return "site-packages" not in path and not (path and path.startswith(sys.prefix + "/lib")) \
        and not path.startswith(sys.base_prefix + "/lib/python")


def convert(function):
    """The function with its control flow converted, or itself where that cannot be."""
    if isinstance(function, types.MethodType):
        return types.MethodType(convert(function.__func__), function.__self__)
    if not isinstance(function, types.FunctionType) or not _is_users(function) or \
            getattr(function, "_situ_as_it_is", False):
        return function
    if function not in _known:
        try:
            _known[function] = _rewrite(function)
        except (OSError, TypeError, SyntaxError, IndexError, ValueError):
            _known[function] = None
        else:
            _known.setdefault(_known[function], None)
    return _known[function] or function


autograph_ops.set_converter(convert)
