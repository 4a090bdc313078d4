# SPDX-License-Identifier: Apache-2.0
"""print_ops.py: tensors printed when they are computed."""

import pprint
import sys

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.graph import get_default_graph, scope
from situ._src.ops.array_ops import constant, convert_to_tensor, op


def _is_tensor(value):
    return (
        dtype_of(value) is not None
        and not hasattr(value, "tolist")
        and not hasattr(value, "_situ_tensors_")
    )


def _holds_tensors(value):
    if hasattr(value, "_situ_tensors_"):
        return True
    if isinstance(value, dict):
        return any(map(_holds_tensors, value.values()))
    return (
        any(map(_holds_tensors, value)) if isinstance(value, (list, tuple)) else _is_tensor(value)
    )


def _ragged(value):
    """Rows of different lengths as a text: lists in lists."""

    def text(*pieces):
        rows = pieces[0].tolist()
        for splits in reversed(pieces[1:]):
            rows = [rows[a:b] for a, b in zip(splits[:-1], splits[1:])]
        return _plain(rows)

    pieces = value._situ_tensors_
    if all(hasattr(p, "numpy") for p in pieces):
        return text(*[p.numpy() for p in pieces])
    from situ._src.ops.script_ops import py_func

    return py_func(lambda *arrays: text(*arrays).encode(), list(pieces), "string")


def _plain(rows):
    if isinstance(rows, list):
        return f"[{', '.join(map(_plain, rows))}]"
    return repr(rows.decode(errors="replace")) if isinstance(rows, bytes) else str(rows)


def _sparse(value, summarize):
    parts = [
        "'SparseTensor(indices=",
        _text(value.indices, summarize),
        ", values=",
        _text(value.values, summarize),
        ", shape=",
        _text(value.dense_shape, summarize),
        ")'",
    ]
    return op("StringJoin", [convert_to_tensor(p) for p in parts])


def _text(value, summarize):
    """A value as a text tensor, or a str where no tensor is in it."""
    if hasattr(value, "with_flat_values"):
        return _ragged(value)
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        return _sparse(value, summarize)
    if _is_tensor(value):
        return op(
            "StringFormat",
            convert_to_tensor(value),
            summarize=-1 if summarize is None else summarize,
        )
    if not _holds_tensors(value):
        return pprint.pformat(value)
    pairs = value.items() if isinstance(value, dict) else [(None, v) for v in value]
    left, right = (
        ("{", "}")
        if isinstance(value, dict)
        else ("[", "]")
        if isinstance(value, list)
        else ("(", ")")
    )
    parts = []
    for i, (key, one) in enumerate(pairs):
        parts += [", " if i else left, "" if key is None else f"{key!r}: ", _text(one, summarize)]
    return op("StringJoin", [convert_to_tensor(p) for p in parts + [right]])


def _texts(inputs, summarize):
    """What is printed of each: texts as they are; a tensor of one text, too, if it is alone."""
    if len(inputs) == 1 and _is_tensor(inputs[0]):
        alone = convert_to_tensor(inputs[0])
        if alone.dtype.name == "string" and tensor_shape.as_shape(alone.shape).rank == 0:
            return [alone]
    return [i if isinstance(i, str) else _text(i, summarize) for i in inputs]


def _stream(stream):
    if stream in (None, "", sys.stderr, sys.__stderr__):
        return "stderr"
    if stream in (sys.stdout, sys.__stdout__):
        return "stdout"
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    names = {"log(info)": "stderr", "log(warning)": "stderr", "log(error)": "stderr"}
    if str(stream) in names:
        return names[str(stream)]
    raise ValueError(f"Unknown output stream, output location, or function: {stream}")


@export("print")
def print_v2(*inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None):
    """Prints values: at once in eager style, else whenever the operation runs."""
    where = _stream(output_stream)
    texts = _texts(inputs, summarize)
    if _situ.executing_eagerly():
        whole = (
            sep.join(t if isinstance(t, str) else t.numpy().decode(errors="replace") for t in texts)
            + end
        )
        if where.startswith("file://"):
            with open(where[7:], "a", encoding="utf-8") as file:
                file.write(whole)
        else:
            stream = sys.stderr if where == "stderr" else sys.stdout
            stream.write(whole)
            stream.flush()
        return None
    with scope(name, "print"):
        parts = [convert_to_tensor(t) for t in texts] or [constant("")]
        line = op("StringJoin", parts, separator=sep)
        return op("PrintV2", line, output_stream=where, end=end, name="PrintV2")


@export(v1="Print")
def print_v1(input_, data, message=None, first_n=None, summarize=None, name=None):
    """The input itself; prints data on stderr whenever it is computed."""
    input_ = convert_to_tensor(input_)
    limit = 3 if summarize is None else summarize
    parts = [constant(message or "")]
    for one in data:
        one = convert_to_tensor(one)
        parts += [
            constant("["),
            op("StringFormat", one, summarize=limit, ends=False),
            constant("]"),
        ]
    line = op("StringJoin", parts)
    if _situ.executing_eagerly():
        sys.stderr.write(line.numpy().decode() + "\n")
        return op("Identity", input_)
    printed = op("PrintV2", line, end="\n")
    with get_default_graph().control_dependencies([printed]):
        return op("Identity", input_, name=name or "Print")
