# SPDX-License-Identifier: Apache-2.0
"""test_raw_ops.py: tf.raw_ops takes TensorFlow's names of arguments, for every op of the catalogue
(tests/golden/raw_ops.txt)."""

import pathlib

import numpy
import pytest

import situ as tf

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "raw_ops.txt"
EXPECTED = {line.split()[0]: line.split()[1:] for line in GOLDEN.read_text().splitlines()}
MISSING = {  # arguments of TensorFlow that situ does not have: a TypeError names them
    "AnonymousIterator": ["output_types", "output_shapes"],
    "BatchMatMul": ["grad_x", "grad_y"],
    "BatchMatMulV2": ["grad_x", "grad_y"],
    "DatasetToSingleElement": ["metadata"],
    "DecodeCSV": ["na_value", "select_cols"],
    "Equal": ["incompatible_shape_error"],
    "GatherNd": ["bad_indices_policy"],
    "GatherV2": ["batch_dims"],
    "MatMul": ["grad_a", "grad_b"],
    "NotEqual": ["incompatible_shape_error"],
    "OneShotIterator": ["dataset_factory"],
    "ParseExampleV2": ["ragged_value_types", "ragged_split_types"],
    "ResourceScatterNdAdd": ["bad_indices_policy"],
    "ResourceScatterNdSub": ["bad_indices_policy"],
    "ResourceScatterNdUpdate": ["bad_indices_policy"],
    "ScatterNd": ["bad_indices_policy"],
    "ScatterNdAdd": ["bad_indices_policy"],
    "ScatterNdSub": ["bad_indices_policy"],
    "ScatterNdUpdate": ["bad_indices_policy"],
    "StringFormat": ["inputs", "template", "placeholder"],
    "StringLength": ["unit"],
    "StringLower": ["encoding"],
    "StringUpper": ["encoding"],
    "TensorScatterAdd": ["bad_indices_policy"],
    "TensorScatterMax": ["bad_indices_policy"],
    "TensorScatterMin": ["bad_indices_policy"],
    "TensorScatterSub": ["bad_indices_policy"],
    "TensorScatterUpdate": ["bad_indices_policy"],
    "TileGrad": ["multiples"],
    "TopKV2": ["index_type"],
    "VarHandleOp": ["debug_name", "allowed_devices"],
}


def understood(op):
    """The names of each parameter, in order: Python's and the op's."""
    return [{name, meant} for name, meant, _ in op.parameters]


@pytest.mark.parametrize("op", sorted(EXPECTED))
def test_arguments(op):
    names = understood(getattr(tf.raw_ops, op))
    known = set().union(*names) if names else set()
    lacking = [name for name in EXPECTED[op] if name not in known]
    assert lacking == MISSING.get(op, [])


@pytest.mark.parametrize("op", sorted(set(EXPECTED) - set(MISSING)))
def test_no_name_means_another_parameter(op):
    names = understood(getattr(tf.raw_ops, op))
    meant = [next(i for i, both in enumerate(names) if name in both) for name in EXPECTED[op]]
    assert len(set(meant)) == len(meant)


def test_calls_by_name():
    x = numpy.arange(4, dtype="float32")
    first, second = tf.raw_ops.Split(axis=0, value=x, num_split=2)
    assert first.numpy().tolist() == [0, 1] and second.numpy().tolist() == [2, 3]
    parts = tf.raw_ops.SplitV(value=x, size_splits=[1, 3], axis=0, num_split=2)
    assert [p.shape[0] for p in parts] == [1, 3]
    chosen = tf.raw_ops.Select(condition=[True, False], x=[1, 2], y=[3, 4])
    assert chosen.numpy().tolist() == [1, 4]
    assert tf.raw_ops.Where(condition=[False, True]).numpy().tolist() == [[1]]
    total = tf.raw_ops.Sum(input=[[1, 2], [3, 4]], axis=0, keep_dims=True)
    assert total.numpy().tolist() == [[4, 6]]


def test_inputs_of_atan2_and_polygamma():
    for atan2 in (tf.raw_ops.Atan2, tf.math.atan2):
        assert atan2(y=1.0, x=2.0).numpy() == pytest.approx(numpy.arctan2(1.0, 2.0))
    for polygamma in (tf.raw_ops.Polygamma, tf.math.polygamma):
        assert polygamma(a=1.0, x=2.0).numpy() == pytest.approx(numpy.pi**2 / 6 - 1, rel=1e-5)
    with tf.GradientTape(persistent=True) as tape:
        y, x = tf.constant(1.0), tf.constant(2.0)
        tape.watch([y, x])
        z = tf.math.atan2(y, x)
    assert tape.gradient(z, y).numpy() == pytest.approx(0.4)
    assert tape.gradient(z, x).numpy() == pytest.approx(-0.2)


def test_values_that_are_not_supported():
    with pytest.raises(tf.errors.UnimplementedError, match="Truncate"):
        tf.raw_ops.Cast(x=tf.constant([0.1], tf.float64), DstT=tf.float32, Truncate=True)
    assert tf.raw_ops.Cast(x=[1.5], DstT=tf.int32, Truncate=True).numpy().tolist() == [1]
    with pytest.raises(tf.errors.UnimplementedError, match="ragged_keys"):
        tf.raw_ops.ParseExampleV2(
            serialized=[b""],
            names=[],
            sparse_keys=tf.constant([], tf.string),
            dense_keys=["b"],
            ragged_keys=["a"],
            dense_defaults=[tf.constant([], tf.int64)],
            num_sparse=0,
            Tdense=[tf.int64],
            sparse_types=[],
            dense_shapes=[[]],
        )


def test_leading_dimensions_of_unset_elements():
    items = tf.raw_ops.TensorListReserve(
        element_shape=tf.constant(-1), num_elements=2, element_dtype=tf.float32
    )
    items = tf.raw_ops.TensorListSetItem(input_handle=items, index=0, item=tf.constant([1.0, 2.0]))
    for given, lengths in (([], [2, 2]), ([2, 3], [2, 3]), ([5, 3], [2, 3]), ([2], [2, 2])):
        whole, found = tf.raw_ops.TensorListConcatV2(
            input_handle=items,
            element_shape=tf.constant([-1]),
            leading_dims=tf.constant(given, tf.int64),
            element_dtype=tf.float32,
        )
        assert found.numpy().tolist() == lengths
        assert whole.numpy().tolist() == [1, 2] + [0] * lengths[1]
