# SPDX-License-Identifier: Apache-2.0
"""test_stubs.py: type stubs, signatures and help texts, for editors."""

import ast
import inspect
import os
import pydoc
import types

import pytest

import _situ
import situ as tf

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STUBS = os.path.join(
    os.environ.get("SITU_BUILD", os.path.join(HERE, "build")), "python", "situ-stubs"
)


def parse(*path):
    with open(os.path.join(STUBS, *path, "__init__.pyi"), encoding="utf-8") as file:
        return ast.parse(file.read())


def names(*path):
    """name -> node, of a stub."""
    found = {}
    for node in parse(*path).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found.update({a.asname or a.name: node for a in node.names})
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            found[target.id] = node
    return found


def words(node):
    return [a.arg for a in node.args.args]


@pytest.mark.parametrize(
    "path", ["", "math", "nn", "config.experimental", "compat.v1", "compat.v1.train", "raw_ops"]
)
def test_stubs_know_every_name(path):
    module = tf
    for part in filter(None, path.split(".")):
        module = getattr(module, part)
    public = {
        n
        for n in dir(module)
        if not n.startswith("_")
        and n.isidentifier()
        and not (
            isinstance(getattr(module, n), types.ModuleType) and n in ("testing", "compat", "run")
        )
    }
    known = names(*filter(None, path.split(".")))
    assert len(public) > 2 and not {n for n in public if n not in known}


def test_stubs_are_typed():
    matmul = names("raw_ops")["MatMul"]
    assert words(matmul) == ["a", "b", "transpose_a", "transpose_b", "grad_a", "grad_b", "name"]
    assert ast.unparse(matmul.args.args[0].annotation) == "_s.TensorLike"
    assert ast.unparse(matmul.args.args[2].annotation) == "_b.bool"
    assert ast.unparse(matmul.returns) == "_s.Tensor"
    assert "product of two matrices" in ast.get_docstring(matmul)
    assert ast.unparse(names("raw_ops")["Unpack"].returns) == "_t.List[_s.Tensor]"
    assert ast.unparse(names()["matmul"].returns) == "_s.Tensor"


def test_stubs_are_all_python():
    for folder, _, files in os.walk(STUBS):
        for file in files:
            if file.endswith(".pyi"):
                with open(os.path.join(folder, file), encoding="utf-8") as text:
                    ast.parse(text.read(), file)
    with open(os.path.join(STUBS, "py.typed"), encoding="utf-8") as text:
        assert text.read() == "partial\n"


def test_signatures():
    assert (
        str(inspect.signature(tf.raw_ops.MatMul))
        == "(a, b, transpose_a=False, transpose_b=False, grad_a=False, grad_b=False, name=None)"
    )
    assert str(inspect.signature(tf.nn.leaky_relu)).startswith("(features, alpha=0.2")
    assert str(inspect.signature(tf.expand_dims)).startswith("(input, axis")
    assert list(inspect.signature(tf.matmul).parameters)[:3] == ["a", "b", "transpose_a"]


def test_help_reads_well():
    text = pydoc.render_doc(tf.raw_ops.MatMul, renderer=pydoc.plaintext)
    assert "matmul(a, b, transpose_a=False, transpose_b=False, grad_a=False, grad_b=False" in text
    for part in (
        "product of two matrices",
        "a: Left matrix",
        "transpose_a: Transpose a before the multiplication. (bool)",
        "product: a tensor",
        "Runs on CPU GPU",
    ):
        assert part in text
    assert pydoc.render_doc(tf.matmul, renderer=pydoc.plaintext).count("transpose_a")


@pytest.mark.parametrize(
    "op", [row[0] for row in _situ.ops()], ids=lambda op: op.definition["name"]
)
def test_every_row_has_a_signature_and_a_text(op):
    signature = inspect.signature(op)
    assert "name" in signature.parameters
    assert {p for p, _, _ in op.parameters} < set(signature.parameters)
    assert op.definition["name"] in op.__doc__ and op.__name__.isidentifier()
    for kind in op.attrs.values():
        assert kind
