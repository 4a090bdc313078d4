# SPDX-License-Identifier: Apache-2.0
"""op_docs.py: what help(tf.matmul) and inspect.signature(tf.matmul) say, told from the op's row."""

from __future__ import annotations

import _situ

_WORD = r"(\w+):((?:\{[^}]*\}|\[[^]]*\]|'[^']*'|[^ {\['])+)"
_KIND = r"(\{[^}]*\}|list\(\{[^}]*\}\)|[\w()]+(?:>=-?\d+)?)(?:=(.*))?$"
_WORDS = {"true": True, "false": False, "[]": (), "<unknown>": None, "none": None}


def ports(text):
    """[(name, type)] of inputs or outputs; the type of a list is 'N*T'."""
    return [tuple(word.split(":", 1)) for word in (text or "").split()]


def attributes(op):
    """name -> (kind, default as written or None), in the row's order."""
    import re  # nobody needs it to start

    found = {}
    for name, rest in re.findall(_WORD, op.row["attrs"] or ""):
        found[name] = re.match(_KIND, rest).groups()
    return found


def default(text):
    """The value of a default as a row writes it."""
    if text in _WORDS:
        return _WORDS[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text.strip("'")


def signature(op):
    """The signature of an op's function, for inspect and the stubs."""
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
    """What a port may hold: 'a tensor of half, float', 'a list of tensors'."""
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
    """The doc string: the row's words, arguments, result, devices."""
    row, own = op.row, attributes(op)
    inputs = dict(ports(row["inputs"]))
    lines = [row["doc"] or f"{row['name']}.", "", "Args:"]
    for name, meant, _ in op.parameters:
        what = types_of(op, inputs[meant]) if meant in inputs else own.get(meant, ("any", 0))[0]
        what = f"one of {what.strip('{}')}" if what.startswith("{") else what
        sentence = op.argument_doc(meant)
        lines.append(f"  {name}: {sentence} ({what})" if sentence else f"  {name}: {what}")
    outputs = ports(row["outputs"])
    lines += ["  name: a name for the operation", "", "Returns:"]
    lines += [f"  {name}: {types_of(op, what)}" for name, what in outputs] or ["  the operation"]
    lines += ["", f"Runs on {row['devices']}; the op {row['name']} of a graph."]
    return "\n".join(lines)


def short_name(op):
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
