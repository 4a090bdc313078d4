# SPDX-License-Identifier: Apache-2.0
"""print_ops.py: tensors printed when they are computed."""
import sys

import _situ
from situ._lib import shapes
from situ._lib.api import export
from situ._lib.array_ops import constant, convert_to_tensor, op
from situ._lib.dtypes import dtype_of
from situ._lib.graph import get_default_graph, scope


def _text(value, summarize):
    """A value as a text tensor, or a str where no tensor is in it."""
    if dtype_of(value) is None or hasattr(value, "tolist"):
        if isinstance(value, (list, tuple)) and any(dtype_of(v) is not None for v in value):
            left, right = ("[", "]") if isinstance(value, list) else ("(", ")")
            parts = []
            for i, one in enumerate(value):
                parts += [", " if i else left, _text(one, summarize)]
            return op("StringJoin", [convert_to_tensor(p) for p in parts + [right]])
        return str(value)
    tensor = convert_to_tensor(value)
    if tensor.dtype.name == "string" and shapes.as_shape(tensor.shape).rank == 0:
        return tensor
    return op("StringFormat", tensor, summarize=-1 if summarize is None else summarize)


def _stream(stream):
    if stream in (None, "", sys.stderr):
        return "stderr"
    if stream is sys.stdout:
        return "stdout"
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    names = {"log(info)": "stderr", "log(warning)": "stderr", "log(error)": "stderr"}
    if str(stream) in names:
        return names[str(stream)]
    raise ValueError(f"Unknown output stream, output location, or function: {stream}")


@export("print")
def print_v2(*inputs, output_stream=sys.stderr, summarize=3, sep=" ", end="\n", name=None):
    """Prints values: at once in eager style, else whenever the operation runs."""
    where = _stream(output_stream)
    texts = [_text(i, summarize) for i in inputs]
    if _situ.executing_eagerly():
        whole = sep.join(t if isinstance(t, str) else t.numpy().decode() for t in texts) + end
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
        parts += [constant("["), op("StringFormat", one, summarize=limit, ends=False),
                  constant("]")]
    line = op("StringJoin", parts)
    if _situ.executing_eagerly():
        sys.stderr.write(line.numpy().decode() + "\n")
        return op("Identity", input_)
    printed = op("PrintV2", line, end="\n")
    with get_default_graph().control_dependencies([printed]):
        return op("Identity", input_, name=name or "Print")
