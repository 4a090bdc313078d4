# SPDX-License-Identifier: Apache-2.0
"""text_ops.py: texts made of tensors (tf.strings.format), regular expressions on texts, the time.
Expressions are Python's, and are applied by Python on the host."""
import re
import time

import numpy

import _situ
from situ._lib.api import export
from situ._lib.array_ops import constant, convert_to_tensor, op
from situ._lib.readers import py_func


@export("strings.format")
def format_(template, inputs, placeholder="{}", summarize=3, name=None):
    """The template with tensors in the place of its placeholders."""
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(inputs) + 1:
        raise ValueError(f"{len(parts) - 1} placeholder(s) in template does not match "
                         f"{len(inputs)} tensor(s) provided as input")
    joined = [constant(parts[0])]
    for value, text in zip(inputs, parts[1:]):
        joined += [op("StringFormat", convert_to_tensor(value), summarize=summarize),
                   constant(text)]
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
