# SPDX-License-Identifier: Apache-2.0
"""test_type_spec.py: TypeSpecs that a program defines: equality, compatibility and supertypes
follow from what their constructors take; names of TensorSpecs."""

import collections
import pickle

import numpy
import pytest

import situ as tf

Pair = collections.namedtuple("Pair", ["a", "b"])
OtherPair = collections.namedtuple("Pair", ["a", "b"])  # an equal type
Point = collections.namedtuple("Point", ["a", "c"])


class BoxSpec(tf.TypeSpec):
    def __init__(self, shape, dtype, label=None):
        self.box_shape, self.box_dtype, self.label = tf.TensorShape(shape), dtype, label

    value_type = property(lambda self: tuple)

    def _serialize(self):
        return self.box_shape, self.box_dtype, self.label


class TwinSpec(BoxSpec):
    """Of another class, with the same arguments."""


class NestSpec(tf.TypeSpec):
    def __init__(self, *parts):
        self.parts = parts

    def _serialize(self):
        return self.parts


def spec(*sizes, dtype=tf.int32):
    return tf.TensorSpec(sizes, dtype)


EQUAL = [
    (BoxSpec([2, 3], tf.int32), BoxSpec([2, 3], tf.int32)),
    (BoxSpec([None], tf.int32), BoxSpec([None], tf.int32)),
    (BoxSpec(None, tf.int32), BoxSpec(None, tf.int32)),
    (BoxSpec([2], tf.int32, "red"), BoxSpec([2], tf.int32, "red")),
    (BoxSpec([2], tf.int32, numpy.eye(2)), BoxSpec([2], tf.int32, numpy.eye(2))),
    (BoxSpec([2], tf.int32, [1, {"k": 2}]), BoxSpec([2], tf.int32, [1, {"k": 2}])),
    (NestSpec(Pair(spec(2), spec())), NestSpec(OtherPair(spec(2), spec()))),
]
DIFFERENT = [
    (BoxSpec([2, 3], tf.int32), BoxSpec([2, None], tf.int32)),
    (BoxSpec(None, tf.int32), BoxSpec([], tf.int32)),
    (BoxSpec([2], tf.int32), BoxSpec([2], tf.int64)),
    (BoxSpec([2], tf.int32), TwinSpec([2], tf.int32)),
    (BoxSpec([2], tf.int32, "red"), BoxSpec([2], tf.int32, "blue")),
    (BoxSpec([2], tf.int32, numpy.eye(2)), BoxSpec([2], tf.int32, numpy.ones((2, 2)))),
    (NestSpec(Pair(spec(2), spec())), NestSpec(Point(spec(2), spec()))),
    (NestSpec(Pair(spec(2), spec())), NestSpec((spec(2), spec()))),
    (BoxSpec([2], tf.int32), 5),
    (tf.TensorSpec([2], name="a"), tf.TensorSpec([2], name="b")),
    (tf.TensorSpec([2], name="a"), tf.TensorSpec([2])),
]


@pytest.mark.parametrize("one, other", EQUAL)
def test_equal_specs(one, other):
    assert one == other and (one != other) is False and hash(one) == hash(other)
    assert one.is_compatible_with(other) and one.is_subtype_of(other)
    assert one.most_specific_common_supertype([other]) == one


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_different_specs(one, other):
    assert one != other and other != one and not one == other


def test_subtypes_have_narrower_shapes():
    narrow, wide = BoxSpec([2, 3], tf.int32), BoxSpec([None, 3], tf.int32)
    assert narrow.is_subtype_of(wide) and not wide.is_subtype_of(narrow)
    assert narrow.is_compatible_with(wide) and wide.is_compatible_with(narrow)
    assert narrow.most_specific_common_supertype([BoxSpec([4, 3], tf.int32)]) == wide
    nested, loose = NestSpec(Pair(spec(2), spec(3))), NestSpec(Pair(spec(None), spec(3)))
    assert nested.is_subtype_of(loose) and not loose.is_subtype_of(nested)
    assert nested.most_specific_compatible_type(NestSpec(Pair(spec(7), spec(3)))) == loose
    assert isinstance(nested.most_specific_common_supertype([loose]).parts[0], Pair)


@pytest.mark.parametrize(
    "other",
    [
        BoxSpec([2], tf.int64),
        BoxSpec([2], tf.int32, "red"),
        TwinSpec([2], tf.int32),
        NestSpec(spec(2)),
    ],
)
def test_specs_without_common_supertype(other):
    one = BoxSpec([2], tf.int32)
    assert one.most_specific_common_supertype([other]) is None
    assert not one.is_subtype_of(other) and not one.is_compatible_with(other)
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        one.most_specific_compatible_type(other)
    assert NestSpec(spec(2)).most_specific_common_supertype([NestSpec(spec(2), spec(3))]) is None


def test_shapes_that_differ():
    assert not BoxSpec([2], tf.int32).is_compatible_with(BoxSpec([3], tf.int32))
    assert not BoxSpec([2], tf.int32).is_compatible_with(BoxSpec([2, 2], tf.int32))
    assert BoxSpec([2], tf.int32).most_specific_common_supertype(
        [BoxSpec([2, 2], tf.int32)]
    ) == BoxSpec(None, tf.int32)


def test_printed_and_pickled_specs():
    made = BoxSpec([2, None], tf.int32, "red")
    assert repr(made) == "BoxSpec(TensorShape([2, None]), tf.int32, 'red')"
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(NotImplementedError, match="_serialize"):
        tf.TypeSpec() == tf.TypeSpec()


def test_names_of_tensor_specs():
    plain, named = tf.TensorSpec([2]), tf.TensorSpec([2], name="a")
    assert plain.is_subtype_of(named) and not named.is_subtype_of(plain)
    assert named.is_compatible_with(tf.TensorSpec([2], name="b"))
    assert named.is_compatible_with(tf.constant([1.0, 2.0]))
    assert named.most_specific_common_supertype([tf.TensorSpec([2], name="b")]) is None
    common = named.most_specific_common_supertype([tf.TensorSpec([3], name="a")])
    assert common == tf.TensorSpec([None], name="a") and common.name == "a"
