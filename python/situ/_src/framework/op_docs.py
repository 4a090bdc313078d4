# SPDX-License-Identifier: Apache-2.0
"""op_docs.py: signatures and doc strings of op functions (help(tf.matmul)), generated from the op
definitions."""

from __future__ import annotations

import inspect

import _situ

_LITERALS = {"true": True, "false": False, "[]": (), "<unknown>": None, "none": None}


def default(text):
    """Converts a default of an op definition to its value; that of a type is its name."""
    import ast  # not needed at start-up

    if text in _LITERALS:
        return _LITERALS[text]
    if text.startswith("'"):  # as it is: without escapes
        return text[1:-1]
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text


def signature(op):
    """Returns the inspect.Signature of an op function."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found, optional = [], False
    for name, _, text in op.parameters:
        optional = optional or text is not None
        value = default(text) if text is not None else None if optional else inspect.Parameter.empty
        found.append(inspect.Parameter(name, kind, default=value))
    found.append(inspect.Parameter("name", kind, default=None))
    return inspect.Signature(found)


def types_of(op, port):
    """Describes the types of a port: 'a tensor of half, float', 'a list of tensors'."""
    if port["handle"]:
        return "the handle of a variable"
    kind = op.attrs.get(port["type"], port["type"])
    types = kind[kind.index("{") + 1 : kind.index("}")].split() if "{" in kind else [kind]
    of = "" if kind in ("type", "list(type)") else " of " + ", ".join(types)
    return ("a list of tensors" if port["list"] else "a tensor") + of


def documentation(op):
    """Returns the doc string: description, arguments, result and devices."""
    op_def, attrs = op.definition, op.attrs
    inputs = {port["name"]: port for port in op.inputs}
    lines = [op_def["doc"], "", "Args:"]
    for name, source, _ in op.parameters:
        what = types_of(op, inputs[source]) if source in inputs else attrs[source]
        what = f"one of {what.strip('{}')}" if what.startswith("{") else what
        sentence = op.argument_doc(source)
        lines.append(f"  {name}: {sentence} ({what})" if sentence else f"  {name}: {what}")
    lines += ["  name: a name for the operation", "", "Returns:"]
    lines += [f"  {port['name']}: {types_of(op, port)}" for port in op.outputs] or [
        "  the operation"
    ]
    lines += ["", f"Runs on {op_def['devices']}; the op {op_def['name']} of a graph."]
    return "\n".join(lines)


def short_name(op):
    """Returns the first public name of an op without its module."""
    names = (op.definition["python"] or op.definition["name"]).split()
    return names[0].rpartition(".")[2]


for _name, _get in (
    ("__signature__", signature),
    ("__doc__", documentation),
    ("__name__", short_name),
    ("__qualname__", short_name),
):
    _situ.extend(_situ.Op, _name, property(_get))
_situ.extend(_situ.Op, "__module__", "situ")
