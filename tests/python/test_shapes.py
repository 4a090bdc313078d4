# SPDX-License-Identifier: Apache-2.0
"""test_shapes.py: Dimension and TensorShape: arithmetic, comparison, incompatible shapes."""

import operator

import numpy as np
import pytest

import situ as tf

Dimension, Shape = tf.compat.v1.Dimension, tf.TensorShape


def test_dimensions_as_numbers():
    assert not Dimension(0) and Dimension(3) and not Dimension(None)
    assert (Dimension(0) or 7) == 7 and int(Dimension(3)) == 3
    assert list(range(Dimension(2))) == [0, 1] and [1] * Dimension(2) == [1, 1]
    assert Dimension(np.int64(3)).value == 3
    for value in (1.5, "3", [2]):
        with pytest.raises(TypeError):
            Dimension(value)
    with pytest.raises(ValueError, match="Dimension -1 must be >= 0"):
        Dimension(-1)


@pytest.mark.parametrize(
    "call", [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod]
)
def test_arithmetic_of_dimensions(call):
    for other in (Dimension(3), 3, np.int64(3)):
        assert call(Dimension(7), other).value == call(7, 3)
        assert call(Dimension(None), other).value is None
    assert call(7, Dimension(3)).value == call(7, 3)
    assert call(Dimension(7), None).value is None
    for other in (1.5, object()):
        with pytest.raises(TypeError):
            call(Dimension(7), other)
    with pytest.raises(TypeError):
        Dimension(7) / 2


def test_comparison_of_dimensions():
    assert Dimension(3) == 3 and (Dimension(3) != 3) is False and (Dimension(3) == 2) is False
    for unknown in (Dimension(None) == 3, Dimension(None) != 3, Dimension(3) == Dimension(None)):
        assert unknown is None
    assert (Dimension(3) == "a") is False and (Dimension(3) != "a") is True
    assert Dimension(3) < 4 and Dimension(3) >= 3 and (Dimension(None) < 4) is None
    with pytest.raises(TypeError):
        Dimension(3) < 1.5


def test_merging_dimensions():
    assert Dimension(None).merge_with(3).value == Dimension(3).merge_with(None).value == 3
    assert Dimension(3).is_compatible_with(None) and not Dimension(3).is_compatible_with(4)
    for call in (Dimension(3).merge_with, Dimension(3).assert_is_compatible_with):
        with pytest.raises(ValueError, match="are not compatible"):
            call(4)


def test_shapes_that_do_not_exist():
    for sizes in ([1.5], "a", [None, "2"]):
        with pytest.raises(TypeError):
            Shape(sizes)
    with pytest.raises(ValueError):
        Shape([-1, 2])
    assert Shape(5).as_list() == [5] and Shape([Dimension(2), Dimension(None)]).as_list() == [
        2,
        None,
    ]
    assert Shape([2]) != "a" and not Shape([2]) == "a"


def test_ranks_and_parts():
    known, unknown = Shape([2, None]), Shape(None)
    assert known and not unknown and len(known) == 2
    assert unknown[0:1].as_list() == [None] and unknown[1:].rank is None
    assert known.with_rank_at_least(2) is known and known.with_rank_at_most(2) is known
    assert unknown.with_rank_at_least(9) is unknown
    for call in (
        lambda: known.with_rank_at_least(3),
        lambda: known.with_rank_at_most(1),
        lambda: known.assert_same_rank([1]),
        lambda: len(unknown),
        lambda: list(unknown),
        lambda: known.with_rank(3),
    ):
        with pytest.raises(ValueError):
            call()
    assert Shape([2, 3]).is_subtype_of(known) and not known.is_subtype_of(Shape([2, 3]))
    assert known.is_subtype_of(unknown) and not unknown.is_subtype_of(known)
