# SPDX-License-Identifier: Apache-2.0
"""autograph.py: Python's if, while and for over tensors in tf.function, as operations of the graph.

The source of a function is read, its statements become calls of autograph_ops with functions for
their parts, and those decide when they see the values: tensors of a graph make operations, all
else is done by Python. What has no source (lambdas, programs typed in) stays as it is.
"""
import ast
import inspect
import sys
import textwrap
import types
import weakref

from situ._lib import autograph_ops

_PREFIX = "ag__"


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


def _has(nodes, kinds, loops=True):
    """Whether statements of a kind are there, outside of functions (and of loops)."""
    for node in nodes:
        if isinstance(node, kinds):
            return True
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if not loops and isinstance(node, (ast.For, ast.While)):
            continue
        if _has(ast.iter_child_nodes(node), kinds, loops):
            return True
    return False


def _ends(body):
    """Whether statements always return."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def _spread_returns(body):
    """What follows an if in which some way returns goes into the other ways."""
    made = []
    for i, node in enumerate(body):
        if isinstance(node, ast.If) and _has([node], ast.Return, loops=False):
            rest = body[i + 1:]
            yes = node.body if _ends(node.body) else node.body + rest
            no = node.orelse if _ends(node.orelse) else node.orelse + rest
            made.append(ast.If(node.test, _spread_returns(yes), _spread_returns(no)))
            return made
        made.append(node)
        if isinstance(node, (ast.Return, ast.Raise)):
            return made
    return made + [ast.Return(ast.Constant(None))]


def _load(name):
    return ast.Name(name, ast.Load())


def _call(name, *args):
    return ast.Call(ast.Attribute(_load(_PREFIX), name, ast.Load()), list(args), [])


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
        return node  # one inside: converted when it is called

    visit_Lambda = visit_ClassDef = visit_FunctionDef

    def visit_If(self, node):
        test = self.visit(node.test)
        if _ends(node.body) and _ends(node.orelse):
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
        if node.orelse or _has(node.body, ast.Return):
            return self._plain(node)
        flag, body = self._without_jumps(node.body)
        test = self.visit(node.test)
        if flag:
            test = _call("and_", _lambda(_call("not_", _load(flag))), _lambda(test))
        names = _assigned(body)
        loop, loop_def = self._function(self._block(body), names)
        check, check_def = self._function([ast.Return(test)], [])
        defs, state = self._state(names)
        head = [ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))] if flag else []
        return [*head, *defs, loop_def, check_def,
                ast.Expr(_call("while_stmt", _load(check), _load(loop), *state))]

    def visit_For(self, node):
        if node.orelse or _has(node.body, ast.Return):
            return self._plain(node)
        flag, body = self._without_jumps(node.body)
        names = _assigned([ast.Assign([node.target], node.iter), *body])
        first = ast.Assign([node.target], _load(_PREFIX + "item"))
        loop, loop_def = self._function([first] + self._block(body), names, _PREFIX + "item")
        defs, state = self._state(names)
        head = [ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))] if flag else []
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
        if not _has(body, (ast.Break, ast.Continue), loops=False):
            return None, body
        self._count += 1
        flag, skip = f"{_PREFIX}stop{self._count}", f"{_PREFIX}skip{self._count}"
        start = ast.Assign([ast.Name(skip, ast.Store())], ast.Constant(False))
        return flag, [start] + _guard(body, flag, skip)

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


def _guard(body, flag, skip):
    """Statements where those behind a break or continue only run if it was not reached."""
    made = []
    for i, node in enumerate(body):
        if isinstance(node, (ast.Break, ast.Continue)):
            set_skip = ast.Assign([ast.Name(skip, ast.Store())], ast.Constant(True))
            made.append(set_skip)
            if isinstance(node, ast.Break):
                made.append(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True)))
            return made
        if isinstance(node, ast.If) and _has([node], (ast.Break, ast.Continue), loops=False):
            made.append(ast.If(node.test, _guard(node.body, flag, skip),
                               _guard(node.orelse, flag, skip)))
            rest = _guard(body[i + 1:], flag, skip)
            if rest:
                made.append(ast.If(ast.UnaryOp(ast.Not(), _load(skip)), rest, []))
            return made
        made.append(node)
    return made


def _parse(function):
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise SyntaxError("not a def")
    ast.increment_lineno(tree, first - 1)
    return tree


def _rewrite(function):
    tree = _parse(function)
    if _has(tree.body, (ast.Yield, ast.YieldFrom, ast.Nonlocal, ast.Global, ast.Delete)):
        raise SyntaxError("a generator, or names of others")
    params = {a.arg for a in [*tree.args.args, *tree.args.posonlyargs, *tree.args.kwonlyargs,
                              tree.args.vararg, tree.args.kwarg] if a is not None}
    rewriter = _Rewriter()
    spread = _has(tree.body, ast.If) and _has(tree.body, ast.Return)
    body = rewriter._block(_spread_returns(tree.body) if spread else tree.body)
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
