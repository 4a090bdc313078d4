# SPDX-License-Identifier: Apache-2.0
"""small_array.py: tensors moved and joined, templates, and other names fewer programs use."""
import functools

import numpy

from situ._lib import rearranging, variable_scope as scopes
from situ._lib.api import BOTH, V1, export
from situ._lib.array_ops import constant, convert_to_tensor, op
from situ._lib.graph import scope


@export("shape_n", v1="shape_n")
def shape_n(input, out_type="int32", name=None):
    with scope(name, "ShapeN"):
        return [op("Shape", convert_to_tensor(x), out_type=out_type) for x in input]


def _square(size):
    return [size, size]


@export(v1=("space_to_batch", "nn.space_to_batch"))
def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    """Blocks of an image become images of the batch."""
    block = block_shape if block_shape is not None else _square(block_size)
    return rearranging.space_to_batch_nd(input, block, paddings, name)


@export(v1="batch_to_space")
def batch_to_space(input, crops, block_size=None, name=None, block_shape=None):
    """The way back."""
    block = block_shape if block_shape is not None else _square(block_size)
    return rearranging.batch_to_space_nd(input, block, crops, name)


V1["manip.space_to_batch_nd"] = rearranging.space_to_batch_nd
V1["manip.batch_to_space_nd"] = rearranging.batch_to_space_nd


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """(paddings, crops) that make sizes multiples of blocks."""
    sizes, block = numpy.asarray(input_shape), numpy.asarray(block_shape)
    base = numpy.zeros((len(block), 2), int) if base_paddings is None else \
        numpy.asarray(base_paddings)
    more = -(sizes + base.sum(1)) % block
    pads = numpy.stack([base[:, 0], base[:, 1] + more], 1)
    crops = numpy.stack([numpy.zeros_like(more), more], 1)
    return constant(pads.astype("int32")), constant(crops.astype("int32"))


@export("make_template", v1=("contrib.eager.make_template",
                             "contrib.eager.python.tfe.make_template"))
def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None,
                  **kwargs):
    """A function that makes its variables when it is first called, and uses them later."""
    return _Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)


class _Template:
    """What make_template gives."""

    def __init__(self, name, function, now, unique_name, getter, words):
        self._function = functools.partial(function, **words) if words else function
        self._name, self._unique, self._getter = name, unique_name, getter
        self.__name__ = name
        self._scope = self._made = None
        if now:
            with self._enter() as here:
                self._scope = here

    def _enter(self):
        if self._unique:
            return scopes.variable_scope(self._unique, custom_getter=self._getter)
        return scopes.variable_scope(None, self._name, custom_getter=self._getter)

    def __call__(self, *args, **words):
        if self._scope is None:
            with self._enter() as here:
                self._scope = here
                return self._call(here, args, words)
        with scopes.variable_scope(self._scope, reuse=True if self._made else None) as here:
            return self._call(here, args, words)

    def _call(self, here, args, words):
        result = self._function(*args, **words)
        if not self._made:
            self._made = bool(self._scope.global_variables())
        return result

    variable_scope = property(lambda s: s._scope)
    variable_scope_name = property(lambda s: s._scope.name if s._scope else None)
    global_variables = property(lambda s: s._scope.global_variables() if s._scope else [])
    trainable_variables = property(lambda s: s._scope.trainable_variables() if s._scope else [])
    variables = weights = global_variables
    trainable_weights = trainable_variables


@export("register_tensor_conversion_function", v1="register_tensor_conversion_function")
def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """Objects of a class become tensors by a function wherever a tensor is expected."""
    def convert(self):
        return conversion_func(self, dtype=None, name=None, as_ref=False)
    for kind in base_type if isinstance(base_type, tuple) else (base_type,):
        if not hasattr(kind, "_situ_tensor_"):
            kind._situ_tensor_ = convert


for _name in ("PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"):
    _kind = V1.get(_name) or BOTH.get(_name)
    if _kind is not None:
        V1["io." + _name] = _kind
