# SPDX-License-Identifier: Apache-2.0
"""stubs.py: writes type stubs of the Python package, for editors and type checkers, from the
imported package and the op definitions.

Usage: stubs.py FOLDER (gets situ-stubs/)
"""

import inspect
import keyword
import re
import shutil
import sys
import types
from pathlib import Path

import _situ
import situ.compat
import situ.testing
from situ._src.framework import api, tensor
from situ._src.variables import eager_variable, graph_variable, variable

HEAD = """\"\"\"Made by tools/stubs.py.\"\"\"
import builtins as _b
import typing as _t
from situ import _types as _s
"""
# Functions without annotations that return a tensor.
TENSORS = """abs add_n argmax argmin boolean_mask broadcast_to cast clip_by_value concat
constant convert_to_tensor cumsum einsum expand_dims eye fill gather gather_nd identity
l2_normalize linspace log_softmax matmul norm normal one_hot ones ones_like pad placeholder
placeholder_with_default pow random_normal random_uniform range rank reduce_all reduce_any
reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum
reduce_variance relu repeat reshape reverse roll round sequence_mask shape sigmoid size slice
softmax sqrt square squeeze stack stop_gradient tanh tensordot tile transpose truncated_normal
uniform where zeros zeros_like""".split()
PLAIN = ("situ.compat", "situ.compat.v1", "situ.testing")  # modules with files of their own
KINDS = {
    "bool": "_b.bool",
    "int": "_b.int",
    "float": "_b.float",
    "string": "_b.str",
    "type": "_s.DTypeLike",
    "shape": "_s.ShapeLike",
    "list(int)": "_t.Sequence[_b.int]",
    "list(float)": "_t.Sequence[_b.float]",
}
# Names in annotations of the package, and what they are in a stub.
ANNOTATIONS = {
    **{
        name: f"_b.{name}"  # tf.bool and others hide the names of builtins
        for name in "str int float bool bytes object list dict tuple set type".split()
    },
    "None": "None",
    **{
        name: f"_t.{name}"
        for name in "Any Callable Sequence Iterable Iterator Mapping Optional Union Literal".split()
    },
    "Tensor": "_s.Tensor",
    "TensorLike": "_s.TensorLike",
    "DTypeLike": "_s.DTypeLike",
    "ShapeLike": "_s.ShapeLike",
}
# Methods that subclasses override with other parameters.
OVERRIDDEN = ("call", "build", "train_step", "test_step", "predict_step", "update_state")
SPECIAL = """__init__ __call__ __enter__ __exit__ __iter__ __len__ __getitem__ __float__ __int__
__bool__ __index__ __array__""".split()
RESULTS = {
    "__init__": "None",
    "__float__": "_b.float",
    "__int__": "_b.int",
    "__bool__": "_b.bool",
    "__index__": "_b.int",
    "__len__": "_b.int",
}
NUMBERS = "add sub mul truediv floordiv mod pow matmul and or xor lt le gt ge".split()


def value(default):
    return repr(default) if default is None or type(default) in (bool, int, float, str) else "..."


def parameter(p, annotation):
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    default = "" if p.default is p.empty else f" = {value(p.default)}"
    return f"{star}{p.name}: {annotation}{default}"


def annotation_of(annotation, other):
    """An annotation of the package as a stub writes it; `other` if it names anything unknown."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "?")
    names = re.findall(r"[A-Za-z_][\w.]*", re.sub(r"'[^']*'|\"[^\"]*\"", "", text))
    if not names or any(name not in ANNOTATIONS for name in names):
        return other
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda m: ANNOTATIONS.get(m.group(), m.group()), text)


def arguments(signature, annotate, bound=False):
    """The text between the parentheses; `bound` leaves the annotation of self out."""
    texts, marked = [], False
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.KEYWORD_ONLY and not marked:
            texts.append("*")
        marked = marked or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        known = annotation_of(p.annotation, annotate(p.name))
        texts.append(p.name if bound and not i else parameter(p, known))
    return ", ".join(texts)


def op_types(op):
    """name in Python -> annotation"""
    inputs, own = {port["name"]: port for port in op.inputs}, op.attrs
    found = {"name": "_t.Optional[_b.str]"}
    for name, meant, _ in op.parameters:
        if meant in inputs:
            many = inputs[meant]["list"]
            found[name] = "_t.Sequence[_s.TensorLike]" if many else "_s.TensorLike"
            continue
        kind = own[meant]
        words = kind.strip("{}").replace(",", " ")
        found[name] = (
            f"_t.Literal[{', '.join(words.split())}]"
            if kind.startswith("{'")
            else KINDS["type"]
            if kind.startswith("{")
            else KINDS.get(kind.partition(">=")[0], "_t.Any")
        )
    return found


def op_result(op):
    if len(op.outputs) != 1:
        return "_t.Any"
    return "_t.List[_s.Tensor]" if op.outputs[0]["list"] else "_s.Tensor"


def docstring(thing, indent):
    text = (inspect.getdoc(thing) or "").replace("\\", "\\\\").replace('"""', "'''")
    if not text:
        return " ..."
    body = text.replace("\n", "\n" + indent)
    return f'\n{indent}"""{body}{" " if body.endswith(chr(34)) else ""}"""'


def function(name, thing):
    """The stub of anything that is called."""
    if isinstance(getattr(thing, "__wrapped__", None), _situ.Op):
        thing = thing.__wrapped__
    if isinstance(thing, _situ.Op):
        annotations = op_types(thing)
        return (
            f"def {name}({arguments(inspect.signature(thing), annotations.get)}) -> "
            f"{op_result(thing)}:{docstring(thing, '    ')}\n"
        )
    result = "_s.Tensor" if name in TENSORS else "_t.Any"
    try:
        signature = inspect.signature(thing)
        words = arguments(signature, lambda n: "_t.Optional[_b.str]" if n == "name" else "_t.Any")
        result = annotation_of(signature.return_annotation, result)
    except (TypeError, ValueError):
        words = "*args: _t.Any, **kwargs: _t.Any"
    return f"def {name}({words}) -> {result}:{docstring(thing, '    ')}\n"


def method(name, thing):
    static, of_class = isinstance(thing, staticmethod), isinstance(thing, classmethod)
    thing = getattr(thing, "__func__", thing)
    result = RESULTS.get(name, "_t.Any")
    words = "self, *args: _t.Any, **kwargs: _t.Any"
    try:
        if name not in OVERRIDDEN:
            signature = inspect.signature(thing)
            words = arguments(signature, lambda n: "_t.Any", not static)
            result = annotation_of(signature.return_annotation, result)
    except (TypeError, ValueError):
        pass
    mark = "    @staticmethod\n" if static else "    @classmethod\n" if of_class else ""
    text = " ..." if name.startswith("__") else docstring(thing, "        ")
    return f"{mark}    def {name}({words}) -> {result}:{text}\n"


def members(cls):
    """The body of a class: what it and its bases define, but for object's."""
    found = {}
    for base in reversed(cls.__mro__[:-1]):
        if base.__module__ not in ("builtins", "abc", "typing"):
            found.update(vars(base))
    for name, thing in sorted(found.items()):
        if keyword.iskeyword(name) or name.startswith("_") and name not in SPECIAL:
            continue
        inner = getattr(thing, "__func__", thing)
        if callable(inner) and not isinstance(inner, type):
            yield method(name, thing)
        else:
            yield f"    {name}: _t.Any\n"


def merged(*classes):
    """The body of a class with the members of several and the operators of tensors."""
    both = type("Both", (), {n: v for c in classes for n, v in vars(c).items()})
    yield from members(both)
    for name in NUMBERS:
        yield f"    def __{name}__(self, other: TensorLike) -> Tensor: ...\n"
        if name not in ("lt", "le", "gt", "ge"):
            yield f"    def __r{name}__(self, other: TensorLike) -> Tensor: ...\n"
    for name in ("neg", "abs", "invert"):
        yield f"    def __{name}__(self) -> Tensor: ...\n"


class Stubs:
    """The files, and the classes that they share."""

    def __init__(self):
        self.classes, self.files, self.names = {}, {}, set()

    def of_class(self, cls):
        """The name of a class in _types."""
        if cls not in self.classes:
            name = cls.__name__
            while name in self.names:
                name += "_"
            self.names.add(name)
            self.classes[cls] = name
        return self.classes[cls]

    def line(self, name, thing):
        if isinstance(thing, type):
            return f"{name} = _s.{self.of_class(thing)}\n"
        if callable(thing):
            return function(name, thing)
        return (
            f"{name}: _s.{self.of_class(type(thing))}\n"
            if type(thing).__module__.startswith("situ")
            else f"{name}: _t.Any\n"
        )

    def module(self, module, path):
        """The stub of a module and of those below it."""
        if path in self.files:
            return
        self.files[path] = ""
        text = HEAD + ("__version__: _b.str\n" if hasattr(module, "__version__") else "")
        for name in sorted(dir(module)):
            thing = getattr(module, name)
            if name.startswith("_") or keyword.iskeyword(name) or not name.isidentifier():
                continue
            if not isinstance(thing, types.ModuleType):
                if path != ("testing",) or thing.__module__ == module.__name__:
                    text += self.line(name, thing)
            elif (
                isinstance(thing, api.Names)
                or thing.__name__ in PLAIN
                and thing.__name__ == ".".join(("situ", *path, name))
            ):
                text += f"from . import {name} as {name}\n"
                self.module(thing, (*path, name))
        self.files[path] = text

    def types(self):
        """The text of _types.pyi."""
        text = (
            '"""Made by tools/stubs.py: the classes that the other stubs share."""\n'
            "import builtins as _b\nimport typing as _t\n\n"
            "TensorLike = _t.Any\nDTypeLike = _t.Any\nShapeLike = _t.Any\n\n\n"
        )
        text += "class Tensor:\n" + "".join(
            merged(*tensor.Tensor.__mro__[:-1], tensor.GraphTensor, tensor.EagerTensor)
        )
        text += "\n\nclass Variable:\n" + "".join(
            merged(
                *graph_variable.GraphVariable.__mro__[-2::-1],
                *eager_variable.EagerVariable.__mro__[-2::-1],
            )
        )
        for cls, name in sorted(self.classes.items(), key=lambda item: item[1]):
            if name in ("Tensor", "Variable"):
                continue
            base = "(Exception)" if issubclass(cls, Exception) else ""
            body = "".join(members(cls))
            about = docstring(cls, "    ") if cls.__doc__ or not body else ""
            text += f"\n\nclass {name}{base}:{about}\n{body}"
        return text

    def write(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in self.files.items():
            place = Path(folder, *path)
            place.mkdir(parents=True, exist_ok=True)
            (place / "__init__.pyi").write_text(text, encoding="utf-8")
        Path(folder, "_types.pyi").write_text(self.types(), encoding="utf-8")
        Path(folder, "py.typed").write_text("partial\n", encoding="utf-8")


def main(folder):
    stubs = Stubs()
    stubs.classes.update({tensor.Tensor: "Tensor", variable.Variable: "Variable"})
    stubs.names.update(("Tensor", "Variable"))
    api.load_all()
    assert situ.compat.v1  # is made when it is first asked for
    stubs.module(situ, ())
    stubs.write(Path(folder, "situ-stubs"))
    print(f"{len(stubs.files)} stubs of modules, {len(stubs.classes)} classes")


if __name__ == "__main__":
    main(*sys.argv[1:])
