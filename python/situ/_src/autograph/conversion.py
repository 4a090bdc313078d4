# SPDX-License-Identifier: Apache-2.0
"""conversion.py: converts Python's if, while and for over tensors in tf.function to graph
operations.

Statements in the source of a function become calls of operators.py and loops.py, with functions
for their parts. When these are called, they build operations for tensors of a graph and otherwise
run the Python statement. A function without source, such as one typed in, is not converted.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import sys
import textwrap
import types
import weakref

from situ._src.autograph import jumps, loops, operators
from situ._src.autograph.jumps import PREFIX as _PREFIX
from situ._src.autograph.jumps import call as _call
from situ._src.autograph.jumps import load as _load
from situ._src.autograph.jumps import put as _put
from situ._src.framework import keywords
from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

# What converted functions call as `ag__`.
_CALLS = types.SimpleNamespace(
    **{n: v for m in (operators, loops) for n, v in vars(m).items() if not n.startswith("__")}
)
_INSIDE = (
    ast.FunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def _assigned(nodes):
    """Returns the names that statements assign, except inside of nested functions; then the
    attributes and items that they assign, such as o.a and d["a"]."""
    found, parts = {}, {}

    def visit(node):
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
        if isinstance(node, _INSIDE):
            return
        if isinstance(getattr(node, "ctx", None), ast.Store):
            if isinstance(node, ast.Name):
                found[node.id] = None
            elif jumps.is_part(node):
                parts[ast.unparse(node)] = node
        for below in ast.iter_child_nodes(node):
            visit(below)

    for node in nodes:
        visit(node)
    names = [n for n in found if not n.startswith(_PREFIX + "f")]
    free = [
        n
        for n, node in parts.items()
        if not {x.id for x in ast.walk(node) if isinstance(x, ast.Name)} & set(names)
    ]
    return names + free


def _lambda(value):
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.Lambda(nothing, value)


class _Rewriter(ast.NodeTransformer):
    """Turns the statements of a function into calls."""

    def __init__(self, shared=()):
        self._count, self.names, self.loads = 0, {}, {}
        self._shared = set(shared)  # names that a global statement names

    def _function(self, body, names, argument=None):
        """A function of statements that sets names of the function around it."""
        self._count += 1
        name = f"{_PREFIX}f{self._count}"
        args = ast.arguments([], [ast.arg(argument)] if argument else [], None, [], [], None, [])
        names = [n for n in names if n.isidentifier()]
        own, shared = [
            [n for n in names if (n in self._shared) is shared] for shared in (False, True)
        ]
        head = ([ast.Nonlocal(own)] if own else []) + ([ast.Global(shared)] if shared else [])
        return name, ast.FunctionDef(name, args, head + (body or [ast.Pass()]), [], None)

    def _state(self, names):
        """Functions that read and set the names."""
        plain = [n for n in names if n.isidentifier()]
        self.names.update(dict.fromkeys(plain))
        values = [
            _load(n) if n in plain else _call("peek", _lambda(jumps.parse(n)), ast.Constant(n))
            for n in names
        ]
        get, get_def = self._function([ast.Return(ast.Tuple(values, ast.Load()))], [])
        body = []
        for i, name in enumerate(names):
            value = ast.Subscript(_load(_PREFIX + "values"), ast.Constant(i), ast.Load())
            if name in plain:
                body.append(_put(name, value))
            else:
                body.append(
                    ast.If(
                        _call("is_set", value),
                        [ast.Assign([jumps.parse(name, ast.Store())], value)],
                        [],
                    )
                )
        put, put_def = self._function(body, names, _PREFIX + "values")
        return [get_def, put_def], [
            _load(get),
            _load(put),
            ast.Tuple([ast.Constant(n) for n in names], ast.Load()),
        ]

    def _late(self, node, names):
        """Of the names that a loop sets, those that code outside of it reads."""
        inside = jumps.loads([node])
        some = [n for n in names if self.loads.get(n, 0) > inside.get(n, 0)]
        return ast.Tuple([ast.Constant(n) for n in some], ast.Load())

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
            # Each branch is a function, so names that it sets are local.
            yes, yes_def = self._own(node.body)
            no, no_def = self._own(node.orelse)
            return [yes_def, no_def, ast.Return(_call("if_return", test, _load(yes), _load(no)))]
        names = _assigned(node.body + node.orelse)
        yes, yes_def = self._function(self._block(node.body), names)
        no, no_def = self._function(self._block(node.orelse), names)
        defs, state = self._state(names)
        return [
            *defs,
            yes_def,
            no_def,
            ast.Expr(_call("if_stmt", test, _load(yes), _load(no), *state)),
        ]

    def _own(self, nodes):
        names = _assigned(nodes)
        self.names.update(dict.fromkeys(names))
        return self._function(self._block(nodes), names)

    def visit_While(self, node):
        if node.orelse:
            return self._plain(node)
        late = self._late(node, _assigned(node.body))
        flag, body = self._without_jumps(node.body)
        test = self.visit(node.test)
        if flag:
            test = _call("and_", _lambda(_call("not_", _load(flag))), _lambda(test))
        names = _assigned(body)
        loop, loop_def = self._function(self._block(body), names)
        check, check_def = self._function([ast.Return(test)], [])
        defs, state = self._state(names)
        head = [_put(flag, False)] if flag else []
        return [
            *head,
            *defs,
            loop_def,
            check_def,
            ast.Expr(_call("while_stmt", _load(check), _load(loop), *state, late)),
        ]

    def visit_For(self, node):
        if node.orelse:
            return self._plain(node)
        late = self._late(node, _assigned([node]))
        flag, body = self._without_jumps(node.body)
        names = _assigned([ast.Assign([node.target], node.iter), *body])
        first = ast.Assign([node.target], _load(_PREFIX + "item"))
        loop, loop_def = self._function([first] + self._block(body), names, _PREFIX + "item")
        defs, state = self._state(names)
        head = [_put(flag, False)] if flag else []
        stop = _lambda(_load(flag)) if flag else ast.Constant(None)
        return [
            *head,
            *defs,
            loop_def,
            ast.Expr(_call("for_stmt", self.visit(node.iter), stop, _load(loop), *state, late)),
        ]

    def _plain(self, node):
        """Converts the body of a loop that runs in Python."""
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

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        names = ast.Tuple([ast.Constant(type(o).__name__) for o in node.ops], ast.Load())
        values = [_lambda(v) for v in (node.left, *node.comparators)]
        return _call("chain", names, ast.Tuple(values, ast.Load()))

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
    lines, first = inspect.getsourcelines(function.__code__)  # not those of __wrapped__
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise SyntaxError("not a def")
    ast.increment_lineno(tree, first - 1)
    return tree


def _tree(function):
    """The function's definition with its control flow converted."""
    tree = _parse(function)
    if jumps.has(tree.body, (ast.Yield, ast.YieldFrom, ast.Delete)):
        raise SyntaxError("a generator, or names that end")
    shared, outer = jumps.declared(tree.body, ast.Global), jumps.declared(tree.body, ast.Nonlocal)
    params = {
        a.arg
        for a in [
            *tree.args.args,
            *tree.args.posonlyargs,
            *tree.args.kwonlyargs,
            tree.args.vararg,
            tree.args.kwarg,
        ]
        if a is not None
    }
    rewriter = _Rewriter(shared)
    body = jumps.out_of_loops(tree.body)
    spread = jumps.has(body, ast.If) and jumps.has(body, ast.Return)
    body = jumps.spread_returns(body) if spread else body
    rewriter.loads = jumps.loads(body)
    body = rewriter._block(body)
    unset = [
        ast.Assign([ast.Name(n, ast.Store())], _call("Undefined", ast.Constant(n)))
        for n in rewriter.names
        if n not in {*params, *shared, *outer}
    ]
    heads = [kind(names) for kind, names in ((ast.Global, shared), (ast.Nonlocal, outer)) if names]
    tree.body, tree.decorator_list, tree.returns = heads + unset + body, [], None
    return tree


def _drop_expressions(arguments):
    """Removes annotations and the expressions of defaults: the function has their values, and the
    names in them may no longer exist."""
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [d and ast.Constant(None) for d in arguments.kw_defaults]
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in (*named, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None


def _rewrite(function):
    tree = _tree(function)
    _drop_expressions(tree.args)
    free = [n for n in function.__code__.co_freevars] + [_PREFIX]
    tree.name = _PREFIX + "made"  # a function that calls itself means the name outside
    factory = ast.FunctionDef(
        "factory",
        ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []),
        [tree, ast.Return(_load(tree.name))],
        [],
        None,
    )
    module = ast.fix_missing_locations(ast.Module([factory], []))
    scope = {}
    file = inspect.getsourcefile(function.__code__)
    future = function.__code__.co_flags & __future__.annotations.compiler_flag
    exec(compile(module, file, "exec", future, dont_inherit=True), function.__globals__, scope)
    code = scope["factory"](*[None] * len(free)).__code__
    names = {"co_name": function.__name__, "co_qualname": function.__qualname__}
    code = code.replace(**{k: v for k, v in names.items() if hasattr(code, k)})  # for tracebacks
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[_PREFIX] = types.CellType(_CALLS)
    made = types.FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[n] for n in code.co_freevars),
    )
    made.__kwdefaults__, made.__dict__ = function.__kwdefaults__, dict(function.__dict__)
    return made


_known: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _is_users(function):
    name = function.__globals__.get("__name__") or ""  # a decorator may have set another __module__
    path = getattr(sys.modules.get(name), "__file__", None) or ""
    if name.split(".")[0] in ("situ", "_situ", "tensorflow", "numpy"):
        return False
    return (
        "site-packages" not in path
        and not (path and path.startswith(sys.prefix + "/lib"))
        and not path.startswith(sys.base_prefix + "/lib/python")
    )


def convert(function):
    """The function with its control flow converted, or itself where that cannot be."""
    if isinstance(function, types.MethodType):
        return types.MethodType(convert(function.__func__), function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(convert(function.func), *function.args, **function.keywords)
    call = getattr(type(function), "__call__", None)  # noqa: B004
    if isinstance(call, types.FunctionType) and not isinstance(function, type):
        made = convert(call)
        return function if made is call else types.MethodType(made, function)
    if (
        not isinstance(function, types.FunctionType)
        or not _is_users(function)
        or getattr(function, "_situ_as_it_is", False)
    ):
        return function
    if function not in _known:
        try:
            _known[function] = _rewrite(function)
        except (OSError, TypeError, SyntaxError, IndexError, ValueError):
            _known[function] = None
        else:
            _known.setdefault(_known[function], None)
    return _known[function] or function


@export("autograph.experimental.set_loop_options")
def set_loop_options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Sets options of the loop over tensors whose body calls it first.

    Args:
      parallel_iterations: has no effect: a hint for speed.
      swap_memory: has no effect: a hint for speed.
      maximum_iterations: the largest number of iterations; no effect on loops over a dataset, as
        in TensorFlow.
      shape_invariants: pairs of a tensor and the shape that it may take.
    """
    del parallel_iterations, swap_memory  # hints for speed
    loops.set_options(shape_invariants or (), maximum_iterations)


@export("autograph.to_graph")
def to_graph(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None
) -> Any:
    """Returns the function with its control flow converted.

    Args:
      entity: a function.
      recursive: False, to convert only the function itself, is not supported.
      experimental_optional_features: not supported.
    """
    keywords.unsupported(
        "tf.autograph.to_graph",
        recursive=(recursive, True),
        experimental_optional_features=(experimental_optional_features, None),
    )
    return convert(getattr(entity, "python_function", entity))


@export("autograph.to_code")
def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> Any:
    """Returns the text of the converted function, where `ag__` stands for the functions that situ
    calls.

    Args:
      entity: a function.
      recursive: has no effect on the text of one function.
      experimental_optional_features: not supported.
    """
    del recursive  # the text is that of one function
    keywords.unsupported(
        "tf.autograph.to_code",
        experimental_optional_features=(experimental_optional_features, None),
    )
    function = getattr(entity, "python_function", entity)
    tree = _tree(getattr(function, "__func__", function))
    tree.name = function.__name__
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


@export("autograph.set_verbosity")
def set_verbosity(level: Any, alsologtostdout: bool = False) -> None:
    """Does nothing: the conversion logs nothing.

    Args:
      level: The level; it has no effect.
      alsologtostdout: Has no effect.
    """


@export("autograph.trace")
def trace(*args: Any) -> None:
    """Prints its arguments while a function is traced.

    Args:
      *args: Values to print.
    """
    print(*args)


operators.set_converter(convert)
