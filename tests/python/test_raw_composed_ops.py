# SPDX-License-Identifier: Apache-2.0
"""test_raw_composed_ops.py: functions of tf.raw_ops that are composed of other ops."""

import numpy
import pytest

import situ as tf


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_bounds(kind):
    rows = [[0.0, 2.0, 2.0, 9.0], [1.0, 3.0, 5.0, 7.0]]
    values = [[2.0, 10.0], [0.0, 4.0]]
    low = tf.raw_ops.LowerBound(sorted_inputs=rows, values=values, out_type=kind)
    high = tf.raw_ops.UpperBound(sorted_inputs=rows, values=values, out_type=kind)
    assert low.dtype == kind and low.numpy().tolist() == [[1, 4], [0, 2]]
    assert high.numpy().tolist() == [[3, 4], [0, 2]]
    with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 3"):
        tf.raw_ops.LowerBound(sorted_inputs=[rows], values=values)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_population_count(kind):
    limits = numpy.iinfo(kind)
    values = numpy.array([0, 1, 5, limits.max, limits.min], kind)
    made = tf.raw_ops.PopulationCount(x=values)
    expected = [sum(bin(b).count("1") for b in v.tobytes()) for v in values]
    assert made.dtype == tf.uint8 and made.numpy().tolist() == expected
    with pytest.raises(TypeError, match="not in list of allowed values"):
        tf.raw_ops.PopulationCount(x=[1.0])
