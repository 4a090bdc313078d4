# SPDX-License-Identifier: Apache-2.0
"""test_data_compared.py: what TensorFlow does with data sets that are made wrongly, fail, are
packed or counted."""
import gzip

import numpy as np
import pytest

import situ as tf

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def values(data):
    return [x.tolist() if hasattr(x, "tolist") else x for x in data.as_numpy_iterator()]


def test_packed_files_in_functions(tmp_path):
    names = [str(tmp_path / n) for n in "ab"]
    for name in names:
        with tf.io.TFRecordWriter(name, "GZIP") as writer:
            for word in (b"x", b"", b"yz"):
                writer.write(word)
    read = lambda name: tf.data.TFRecordDataset(name, compression_type="GZIP")
    assert values(Dataset.from_tensor_slices(names).flat_map(read)) == [b"x", b"", b"yz"] * 2
    assert values(Dataset.from_tensor_slices(names).interleave(read, cycle_length=2)) == \
        [b"x", b"x", b"", b"", b"yz", b"yz"]
    assert values(tf.data.TFRecordDataset(names, "GZIP", num_parallel_reads=2)) == \
        [b"x", b"x", b"", b"", b"yz", b"yz"]
    (tmp_path / "c").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert values(tf.data.FixedLengthRecordDataset(str(tmp_path / "c"), 4,
                                                   compression_type="GZIP")) == [b"one\n", b"two\n"]


def test_how_many_there_are():
    assert int(Dataset.from_tensor_slices([[1, 2], [3, 4]]).unbatch().cardinality()) == 4
    assert int(Dataset.counter().cardinality()) == -1 == int(Dataset.counter(5, -2).cardinality())
    some = Dataset.range(4).filter(lambda x: x >= 0)
    assert len(some.apply(experimental.assert_cardinality(4))) == 4
    for count, words in ((3, "at least 4"), (6, "only 4")):
        with pytest.raises(tf.errors.FailedPreconditionError,
                           match=f"expected to contain {count} elements but contained {words}"):
            values(some.apply(experimental.assert_cardinality(count)))


def test_batches_of_several_sizes():
    assert values(Dataset.range(7).batch(7).rebatch([2, 3])) == [[0, 1], [2, 3, 4], [5, 6]]


def test_lists_inside_of_elements_are_tensors():
    data = Dataset.range(2).map(lambda x: ((x,), [x, x]))
    assert data.element_spec[1].shape.as_list() == [2]
    assert [tuple(b.tolist()) for _, b in data.as_numpy_iterator()] == [(0, 0), (1, 1)]


def test_rows_that_fail_are_passed_by():
    data = Dataset.range(3).map(lambda x: (tf.fill([x + 1], x), tf.fill([2], x))).unbatch()
    iterator, found = iter(data), []
    for _ in range(4):
        try:
            found.append(tuple(int(x) for x in next(iterator)))
        except tf.errors.InvalidArgumentError as error:
            found.append("same batch size" in str(error))
    assert found == [True, (1, 1), (1, 1), True]


@pytest.mark.parametrize("make,kind,words", [
    (lambda: Dataset.range(), ValueError, "between 1 and 3"),
    (lambda: Dataset.zip((Dataset.range(2), 3)), TypeError, "Invalid input to `zip`"),
    (lambda: Dataset.range(2).concatenate(Dataset.from_tensors("a")), TypeError, "Incompatible"),
    (lambda: Dataset.range(2).concatenate(Dataset.range(2).enumerate()), TypeError, "Incompatible"),
    (lambda: Dataset.from_tensors([1]).filter(lambda x: x > 1), ValueError, "Invalid `predicate`"),
    (lambda: Dataset.range(2).unbatch(), ValueError, "scalar components"),
    (lambda: Dataset.from_tensors(([1], [1, 2])).unbatch(), ValueError, "Encountered both 1 and 2"),
    (lambda: Dataset.range(2).batch(2).padded_batch(2, [None], 1.5), TypeError, "padding_values"),
    (lambda: Dataset.range(2).batch(2).padded_batch(2, [None, 1]), ValueError, "not compatible"),
    (lambda: tf.data.TextLineDataset(5), TypeError, "must contain `tf.string` elements"),
    (lambda: Dataset.range(2).map(lambda x: object()), TypeError, "Unsupported return value"),
    (lambda: Dataset.range(2).scan(0, lambda s, x: s), TypeError, "should return a pair"),
    (lambda: Dataset.range(2).group_by_window(lambda x: x, lambda k, w: w), ValueError, "Either"),
])
def test_wrong_data_sets(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


@pytest.mark.parametrize("make", [
    lambda: Dataset.range(1, 5, 0), lambda: Dataset.range(2).interleave(
        lambda x: Dataset.range(x), cycle_length=0), lambda: Dataset.range(2).batch(0)])
def test_wrong_numbers(make):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be"):
        values(make())


def test_shuffles_without_bounds():
    assert values(Dataset.range(4).shuffle(-2, seed=3)) == [0, 1, 2, 3]  # so says chance
    assert sorted(values(Dataset.range(400).shuffle(tf.data.UNKNOWN_CARDINALITY))) == \
        list(range(400))


def test_shapes_of_padding_are_tensors():
    rows = Dataset.range(4).map(lambda x: tf.fill([x], x))
    assert values(rows.padded_batch(4, tf.constant([4]), np.int64(-1))) == [
        [[-1] * 4, [1, -1, -1, -1], [2, 2, -1, -1], [3, 3, 3, -1]]]
