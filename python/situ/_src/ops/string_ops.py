# SPDX-License-Identifier: Apache-2.0
"""string_ops.py: tf.strings: format, split, hash buckets, regular expressions (Python's,
applied on the host)."""

import re
import time

import numpy

import _situ
from situ._src.framework import api
from situ._src.framework.api import export
from situ._src.ops import sparse_ops
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.script_ops import py_func


@export("strings.format")
def format_(template, inputs, placeholder="{}", summarize=3, name=None):
    """The template with tensors in the place of its placeholders."""
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(inputs) + 1:
        raise ValueError(
            f"{len(parts) - 1} placeholder(s) in template does not match "
            f"{len(inputs)} tensor(s) provided as input"
        )
    joined = [constant(parts[0])]
    for value, text in zip(inputs, parts[1:]):
        joined += [
            op("StringFormat", convert_to_tensor(value), summarize=summarize),
            constant(text),
        ]
    return op("StringJoin", joined, name=name)


@export("timestamp")
def timestamp(name=None):
    """Seconds since 1970, when the operation runs."""
    if _situ.current_graph() is None:
        return convert_to_tensor(time.time(), "float64")
    made = py_func(lambda: numpy.float64(time.time()), [], "float64")
    made = made[0] if isinstance(made, (list, tuple)) else made
    made.set_shape([])
    return made


def _each(function, texts, dtype, kind):
    """A function of each text."""
    if hasattr(texts, "with_flat_values"):
        return texts.with_flat_values(_each(function, texts.flat_values, dtype, kind))
    tensor = convert_to_tensor(texts)

    def call(array):
        array = numpy.asarray(array, object)
        return numpy.array([function(t) for t in array.reshape(-1)], kind).reshape(array.shape)

    if _situ.current_graph() is None:
        return convert_to_tensor(call(tensor.numpy()), dtype)
    made = py_func(call, [tensor], dtype)
    made = made[0] if isinstance(made, (list, tuple)) else made
    made.set_shape(tensor.shape)
    return made


@export("strings.regex_replace", v1="regex_replace")
def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    """Texts with what fits a pattern replaced; \\1 in `rewrite` stands for the first group."""
    expression, by = re.compile(pattern.encode()), rewrite.encode().replace(b"\\0", b"\\g<0>")
    count = 0 if replace_global else 1
    return _each(lambda t: expression.sub(by, t, count=count), input, "string", object)


@export("strings.regex_full_match")
def regex_full_match(input, pattern, name=None):
    """Whether a pattern fits whole texts."""
    expression = re.compile(pattern.encode())
    return _each(lambda t: expression.fullmatch(t) is not None, input, "bool", bool)


@export(v1="string_split")
def string_split(
    source=None, sep=None, skip_empty=True, delimiter=None, result_type=None, name=None
):
    """The parts of each text, as a sparse matrix of a row for each."""
    separator = delimiter if delimiter is not None else " " if sep is None else sep
    return sparse_ops.SparseTensor(
        *op("StringSplit", source, separator, skip_empty=skip_empty, name=name)
    )


@export(v2="strings.to_hash_bucket")
def to_hash_bucket(input, num_buckets, name=None):
    """A number below num_buckets for each text."""
    return op("StringToHashBucket", input, num_buckets=num_buckets, name=name)


@export(v1=("strings.to_hash_bucket", "string_to_hash_bucket"))
def string_to_hash_bucket(string_tensor=None, num_buckets=None, name=None, input=None):
    """A number below num_buckets for each text."""
    return to_hash_bucket(string_tensor if input is None else input, num_buckets, name)


@export("strings.length", v1="string_length")
def string_length(input, name=None, unit="BYTE"):
    """How many bytes (or characters, with UTF8_CHAR) texts have."""
    if unit == "BYTE":
        return api.OPS["StringLength"](input, name=name)
    return _each(lambda t: len(t.decode(errors="replace")), input, "int32", "int32")
