# SPDX-License-Identifier: Apache-2.0
"""op_docs.py: signatures and doc strings of op functions (help(tf.matmul)), generated from the op
definitions."""

from __future__ import annotations

import _situ

_ATTR = r"(\w+):((?:\{[^}]*\}|\[[^]]*\]|'[^']*'|[^ {\['])+)"
_KIND = r"(\{[^}]*\}|list\(\{[^}]*\}\)|[\w()]+(?:>=-?\d+)?)(?:=(.*))?$"
_LITERALS = {"true": True, "false": False, "[]": (), "<unknown>": None, "none": None}


def ports(text):
    """Returns [(name, type)] of inputs or outputs; the type of a list is 'N*T'."""
    return [tuple(port.split(":", 1)) for port in (text or "").split()]


def attributes(op):
    """Returns {name: (kind, default as a string or None)} in the order of the op definition."""
    import re  # not needed at start-up

    result = {}
    for name, rest in re.findall(_ATTR, op.row["attrs"] or ""):
        result[name] = re.match(_KIND, rest).groups()
    return result


def default(text):
    """Converts a default of an op definition to its value."""
    if text in _LITERALS:
        return _LITERALS[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text.strip("'")


def signature(op):
    """Returns the inspect.Signature of an op function."""
    import inspect

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found, optional = [], False
    for name, _, text in op.parameters:
        optional = optional or text is not None
        value = default(text) if text is not None else None if optional else inspect.Parameter.empty
        found.append(inspect.Parameter(name, kind, default=value))
    found.append(inspect.Parameter("name", kind, default=None))
    return inspect.Signature(found)


def types_of(op, type_name):
    """Describes the types of a port: 'a tensor of half, float', 'a list of tensors'."""
    if type_name.startswith("@"):
        return "the handle of a variable"
    many = "*" in type_name
    type_name = type_name.rpartition("*")[2].lstrip("&")
    kind = attributes(op).get(type_name, (type_name, None))[0]
    texts = (
        kind.strip("{}").split() if kind.startswith("{") else [] if kind == "type" else [type_name]
    )
    return ("a list of tensors" if many else "a tensor") + (
        " of " + ", ".join(texts) if texts else ""
    )


def documentation(op):
    """Returns the doc string: description, arguments, result and devices."""
    op_def, attrs = op.row, attributes(op)
    inputs = dict(ports(op_def["inputs"]))
    lines = [op_def["doc"] or f"{op_def['name']}.", "", "Args:"]
    for name, source, _ in op.parameters:
        what = (
            types_of(op, inputs[source]) if source in inputs else attrs.get(source, ("any", 0))[0]
        )
        what = f"one of {what.strip('{}')}" if what.startswith("{") else what
        sentence = op.argument_doc(source)
        lines.append(f"  {name}: {sentence} ({what})" if sentence else f"  {name}: {what}")
    outputs = ports(op_def["outputs"])
    lines += ["  name: a name for the operation", "", "Returns:"]
    lines += [f"  {name}: {types_of(op, what)}" for name, what in outputs] or ["  the operation"]
    lines += ["", f"Runs on {op_def['devices']}; the op {op_def['name']} of a graph."]
    return "\n".join(lines)


def short_name(op):
    """Returns the first public name of an op without its module."""
    names = (op.row["python"] or op.row["name"]).split()
    return names[0].rpartition(".")[2]


for _name, _get in (
    ("__signature__", signature),
    ("__doc__", documentation),
    ("__name__", short_name),
    ("__qualname__", short_name),
):
    _situ.extend(_situ.Op, _name, property(_get))
_situ.extend(_situ.Op, "__module__", "situ")
