# SPDX-License-Identifier: Apache-2.0
"""flops.py: how many float operations an operation of a graph makes, as TensorFlow counts.

The engine knows what its kernels cost, too, but that is a cost of time, for a device and a plan;
these are numbers of the model, the same wherever it runs.
"""

from __future__ import annotations

import math

from situ._src.framework import tensor_shape


class Unknown(ValueError):
    """The shape of a tensor that is needed for a count is not fully known."""


def _sizes(tensor):
    shape = tensor_shape.as_shape(tensor.shape)
    if not shape.is_fully_defined():
        raise Unknown(tensor.name)
    return shape.as_list()


def _count(tensor):
    return math.prod(_sizes(tensor))


def _of_input(each):
    return lambda op: _count(op.inputs[0]) * each


def _of_output(each):
    return lambda op: _count(op.outputs[0]) * each


def _reduced(last):
    """Returns the operations of a reduction: one per element after the first, and `last` per
    result."""
    return lambda op: _count(op.inputs[0]) + _count(op.outputs[0]) * (last - 1)


def _product(op):
    # MatMul has the attribute transpose_a, BatchMatMul adj_x.
    flipped = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
    return 2 * _sizes(op.inputs[0])[-2 if flipped else -1] * _count(op.outputs[0])


def _convolved(dims):
    """Returns the operations of a convolution: each output sums over the first `dims` dimensions
    of the filter."""
    return lambda op: 2 * _count(op.outputs[0]) * math.prod(_sizes(op.inputs[1])[:dims])


def _axes(op):
    """Returns the channel axis and the first of two spatial axes."""
    return (1, 2) if op.get_attr("data_format") in ("NCHW", b"NCHW") else (3, 1)


def _convolved_back(op):
    """Returns the operations of the gradient of a convolution for its images or its filter."""
    images, filter_ = (
        (op.outputs[0], op.inputs[1])
        if op.type.endswith("Input")
        else (op.inputs[0], op.outputs[0])
    )
    channels, first = _axes(op)
    strides = op.get_attr("strides")
    per = _sizes(images)[channels] * strides[first] * strides[first + 1]
    return int(2 * _count(images) * _count(filter_) / per)


def _pooled(tensor, each=1, more=0):
    """Returns the operations of a pooling: `each` per element of each window, and `more` per
    window."""
    return lambda op: _count(tensor(op)) * (math.prod(op.get_attr("ksize")) * each + more)


FLOPS = {  # op -> a function of an operation
    **dict.fromkeys(
        ("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd", "BiasAdd"), _of_input(1)
    ),
    "Rsqrt": _of_input(2),
    "Softmax": _of_input(5),
    "L2Loss": lambda op: _count(op.inputs[0]) * 3 - 1,
    **dict.fromkeys(
        (
            "Add",
            "AddV2",
            "Sub",
            "Mul",
            "RealDiv",
            "Maximum",
            "Minimum",
            "Pow",
            "GreaterEqual",
            "Greater",
            "LessEqual",
            "Less",
            "Equal",
            "NotEqual",
        ),
        _of_output(1),
    ),
    "SquaredDifference": _of_output(2),
    "RsqrtGrad": _of_output(4),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduced(0)),
    "Mean": _reduced(1),
    "AddN": lambda op: _count(op.inputs[0]) * (len(op.inputs) - 1),
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _product),
    "Conv2D": _convolved(3),
    "Conv3D": _convolved(4),
    "DepthwiseConv2dNative": _convolved(2),
    "Dilation2D": _convolved(2),
    "Conv2DBackpropInput": _convolved_back,
    "Conv2DBackpropFilter": _convolved_back,
    **dict.fromkeys(("MaxPool", "AvgPool"), _pooled(lambda op: op.outputs[0])),
    "AvgPoolGrad": _pooled(lambda op: op.inputs[1], 2),
    "MaxPoolGrad": _pooled(lambda op: op.inputs[1], 1, 1),
}


def flops(operation):
    """Returns the number of float operations of an operation, 0 for ops that are not counted."""
    count = FLOPS.get(operation.type)
    return count(operation) if count else 0
