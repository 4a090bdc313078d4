# SPDX-License-Identifier: Apache-2.0
"""test_data_specs.py: what is known of datasets without their elements: specs, fingerprints,
inputs; components that are None."""

import numpy as np
import pytest

import situ as tf

Dataset, DatasetSpec, TensorSpec = tf.data.Dataset, tf.data.DatasetSpec, tf.TensorSpec


def test_subtypes_of_dataset_specs():
    wide = DatasetSpec({"a": TensorSpec([None, 3]), "b": None}, [None])
    narrow = DatasetSpec({"a": TensorSpec([2, 3]), "b": None}, [4])
    other = DatasetSpec({"a": TensorSpec([5, 3]), "b": None}, [7])
    assert narrow.is_subtype_of(wide) and not wide.is_subtype_of(narrow)
    assert narrow.most_specific_common_supertype([other]) == wide
    assert narrow.most_specific_common_supertype([]) == narrow
    for strange in (DatasetSpec({"c": TensorSpec([2, 3]), "b": None}, [4]), TensorSpec([2, 3])):
        assert not narrow.is_subtype_of(strange)
        assert narrow.most_specific_common_supertype([strange]) is None
    assert narrow.most_specific_common_supertype([DatasetSpec({"a": None, "b": None})]) is None


def test_fingerprints():
    def make(n):
        return Dataset.range(n).flat_map(lambda x: Dataset.range(x + n)).shuffle(3, seed=1)

    same, other = make(3).fingerprint(), make(4).fingerprint()
    assert same.dtype == tf.uint64 and same == make(3).fingerprint() and same != other
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(make(3).fingerprint()) == same.numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Python generator"):
        Dataset.from_generator(lambda: iter([1]), tf.int32).fingerprint()


def test_components_that_are_none():
    pairs = Dataset.range(3).map(lambda x: (x, None))
    assert [none for _, none in pairs] == [None] * 3
    assert [(x.numpy().tolist(), none) for x, none in pairs.batch(2)] == [
        ([0, 1], None),
        ([2], None),
    ]
    assert list(Dataset.from_tensors((2, None)).as_numpy_iterator()) == [(2, None)]
    doubled = pairs.map(lambda x, none: (x * 2, none)).filter(lambda x, none: none is None)
    assert [x.numpy() for x, _ in doubled] == [0, 2, 4]


def test_static_sizes_of_rebatched_datasets():
    def rows(dataset, *args):
        return dataset.rebatch(*args).element_spec.shape.as_list()[0]

    fours, any_size = Dataset.range(8).batch(4, True), Dataset.range(8).batch(4)
    assert [rows(fours, 2), rows(fours, 3), rows(fours, 3, True)] == [2, None, 3]
    assert [rows(any_size, 2), rows(any_size, 2, True), rows(fours, [2, 2])] == [None, 2, 2]
    assert rows(fours, [1, 2]) is None
    with pytest.raises(ValueError, match="rank of >= 1"):
        Dataset.range(3).rebatch(2)
    with pytest.raises(ValueError, match="scalar or a vector"):
        fours.rebatch([[2]])


def test_mixtures():
    ones, floats = Dataset.range(3), Dataset.from_tensors(0.0)
    with pytest.raises(TypeError, match="must have compatible element specs"):
        Dataset.sample_from_datasets([ones, floats])
    with pytest.raises(TypeError, match="should be a `tf.data.Dataset`"):
        Dataset.choose_from_datasets([ones], choice_dataset=None)
    assert not list(Dataset.sample_from_datasets([ones, ones], weights=[0.0, 0.0]))
    for target, initial in (("float64", "float32"), ("float32", "float64"), ("float64", None)):
        start = None if initial is None else np.array([0.5, 0.5], initial)
        kept = Dataset.range(9).rejection_resample(
            lambda x: x % 2, np.array([0.5, 0.5], target), start
        )
        assert list(kept)


def test_inputs_and_lengths():
    endless = Dataset.range(3).repeat().interleave(lambda x: Dataset.range(x))
    assert endless.cardinality() == tf.data.INFINITE_CARDINALITY
    one, two = Dataset.range(3), Dataset.range(4)
    assert one.zip((one, two))._inputs() == [one, two] and one._inputs() == []
    with pytest.raises(TypeError, match="is not supported for datasets that"):
        Dataset.from_tensors(one).as_numpy_iterator()
    with tf.Graph().as_default(), pytest.raises(TypeError, match="only supports `len` in eager"):
        len(Dataset.range(3))
