# SPDX-License-Identifier: Apache-2.0
"""print_ops.py: tf.print and tf.Print: print tensors when they are computed."""

from __future__ import annotations

import pprint
import sys

import numpy

import _situ
from situ._src.framework import nest, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.graph import get_default_graph, scope
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.script_ops import py_func

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


def _is_tensor(value):
    return (
        dtype_of(value) is not None
        and not hasattr(value, "tolist")
        and not hasattr(value, "_situ_tensors_")
    )


def _holds_tensors(value):
    return any(hasattr(v, "_situ_tensors_") or _is_tensor(v) for v in nest.flatten(value))


def _format_ragged(value):
    """Formats a ragged tensor as nested lists."""

    def format_pieces(*pieces):
        rows = pieces[0].tolist()
        for splits in reversed(pieces[1:]):
            rows = [rows[a:b] for a, b in zip(splits[:-1], splits[1:])]
        return _format_list(rows)

    pieces = value._situ_tensors_
    if all(hasattr(p, "numpy") for p in pieces):
        return format_pieces(*[p.numpy() for p in pieces])

    return py_func(lambda *arrays: format_pieces(*arrays).encode(), list(pieces), "string")


def _format_list(rows):
    if isinstance(rows, list):
        return f"[{', '.join(map(_format_list, rows))}]"
    return repr(rows.decode(errors="replace")) if isinstance(rows, bytes) else str(rows)


def _format_sparse(value, summarize):
    parts = [
        "'SparseTensor(indices=",
        _format(value.indices, summarize),
        ", values=",
        _format(value.values, summarize),
        ", shape=",
        _format(value.dense_shape, summarize),
        ")'",
    ]
    return op("StringJoin", [convert_to_tensor(p) for p in parts])


def _format(value, summarize):
    """Returns a value as a string tensor, or as a str if it holds no tensor."""
    if hasattr(value, "with_flat_values"):
        return _format_ragged(value)
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        return _format_sparse(value, summarize)
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
        parts += [", " if i else left, "" if key is None else f"{key!r}: ", _format(one, summarize)]
    return op("StringJoin", [convert_to_tensor(p) for p in parts + [right]])


def _format_all(inputs, summarize):
    """Formats values: strings, and a single string scalar, are printed as they are."""
    if len(inputs) == 1 and _is_tensor(inputs[0]):
        alone = convert_to_tensor(inputs[0])
        if alone.dtype.name == "string" and tensor_shape.as_shape(alone.shape).rank == 0:
            return [alone]
    return [i if isinstance(i, str) else _format(i, summarize) for i in inputs]


def _stream(stream):
    """Returns "stderr", "stdout" or a file URL for an output stream."""
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
def print_v2(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int | None = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Any:
    """Prints values: immediately in eager mode, else when the operation runs.

    Args:
      *inputs: Tensors, strings and nested structures of them.
      output_stream: sys.stderr (default), sys.stdout, "file://PATH" or a logging level.
      summarize: The number of first and last elements to print of each dimension; -1 for all.
      sep: The string between values.
      end: The string at the end.
      name: A name for the operation (optional).

    Returns:
      An operation that prints; None in eager mode.

    Raises:
      ValueError: If the stream is unknown.
    """
    target = _stream(output_stream)
    strings = _format_all(inputs, summarize)
    if _situ.executing_eagerly():
        line = (
            sep.join(
                t if isinstance(t, str) else t.numpy().decode(errors="replace") for t in strings
            )
            + end
        )
        if target.startswith("file://"):
            with open(target[7:], "a", encoding="utf-8") as file:
                file.write(line)
        else:
            stream = sys.stderr if target == "stderr" else sys.stdout
            stream.write(line)
            stream.flush()
        return None
    with scope(name, "print"):
        parts = [convert_to_tensor(t) for t in strings] or [constant("")]
        line = op("StringJoin", parts, separator=sep)
        return op("PrintV2", line, output_stream=target, end=end, name="PrintV2")


_eager_prints: dict = {}  # how often each eager tf.compat.v1.Print with first_n has printed


def _write_line(line, first_n, counts, key=None):
    """Prints a line to stderr, unless `counts[key]` has reached first_n."""
    if first_n is None or first_n < 0 or counts.get(key, 0) < first_n:
        counts[key] = counts.get(key, 0) + 1
        sys.stderr.write(numpy.asarray(line, object).item().decode(errors="replace") + "\n")
        sys.stderr.flush()


@export(v1="Print")
def print_v1(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: Any = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns `input_` and prints `data` to stderr whenever it is computed.

    Args:
      input_: A tensor.
      data: A list of tensors to print.
      message: A prefix of the line.
      first_n: The number of computations that print; all by default. In eager mode, calls with
        equal arguments and types count together.
      summarize: The number of elements to print of each tensor.
      name: A name for the operation (optional).

    Returns:
      A tensor with the value of `input_`.
    """
    input_ = convert_to_tensor(input_)
    limit = 3 if summarize is None else summarize
    parts = [constant(message or "")]
    for one in data:
        one = convert_to_tensor(one)
        parts += [
            constant("["),
            op("StringFormat", one, summarize=limit, _ends=False),
            constant("]"),
        ]
    line = op("StringJoin", parts)
    if _situ.executing_eagerly():
        types = [convert_to_tensor(d).dtype for d in (input_, *data)]
        _write_line(line.numpy(), first_n, _eager_prints, (message, first_n, summarize, *types))
        return op("Identity", input_)
    if first_n is None or first_n < 0:
        printed = op("PrintV2", line, end="\n")
    else:
        count: dict = {}
        printed = py_func(lambda text: _write_line(text, first_n, count), [line], [])
    with get_default_graph().control_dependencies([printed]):
        return op("Identity", input_, name=name or "Print")
