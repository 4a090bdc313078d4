# SPDX-License-Identifier: Apache-2.0
"""test_queues.py: queues, readers, queue runners and functions of Python in graphs."""

import gzip
import threading
import zlib

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


def _files(folder):
    names = []
    for i in range(3):
        path = folder / f"f{i}.bin"
        path.write_bytes(bytes([i] * 5 + [i + 10] * 5))
        names.append(str(path))
    return names


def test_files_become_batches(tmp_path):
    queue = tf.train.string_input_producer(_files(tmp_path), num_epochs=2, seed=1)
    key, value = tf.FixedLengthRecordReader(5).read(queue)
    x = tf.reshape(tf.decode_raw(value, tf.uint8), [5])
    batch, keys = tf.train.batch(
        [tf.cast(x, tf.float32) * 2.0, key], 4, num_threads=2, allow_smaller_final_batch=True
    )
    assert batch.shape.as_list() == [None, 5]
    total = tf.reduce_sum(batch)
    seen = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient"):
            while not coord.should_stop():
                rows, names, whole = sess.run([batch, keys, total])
                assert whole == rows.sum() and len(names) == len(rows)
                seen += list(rows[:, 0])
        coord.request_stop()
        coord.join(threads)
    assert sorted(seen) == sorted(2 * [0.0, 2.0, 4.0, 20.0, 22.0, 24.0])


def test_epochs_need_their_variable(tmp_path):
    queue = tf.train.string_input_producer(_files(tmp_path), num_epochs=1)
    name = queue.dequeue()
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(name)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
            coord.request_stop()
            coord.join(threads)


def test_lines_and_whole_files(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("head\none\ntwo\n")
    names = tf.train.string_input_producer([str(path)], num_epochs=1, shuffle=False)
    more = tf.train.string_input_producer([str(path)], shuffle=False)
    line = tf.TextLineReader(skip_header_lines=1).read(names)[1]
    whole = tf.WholeFileReader().read(more)[1]
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        tf.train.start_queue_runners(sess)
        assert [sess.run(line), sess.run(line)] == [b"one", b"two"]
        assert sess.run(whole) == b"head\none\ntwo\n"
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(line)


def test_slices_and_shuffled_batches():
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    labels = np.arange(10, dtype=np.int64)
    row, label = tf.train.slice_input_producer([rows, labels], shuffle=False)
    batch = tf.train.shuffle_batch([row, label], 5, capacity=40, min_after_dequeue=10, seed=3)
    assert batch[0].shape.as_list() == [5, 2]
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        tf.train.start_queue_runners(sess, coord)
        for _ in range(6):
            x, y = sess.run(batch)
            np.testing.assert_array_equal(x[:, 0], 2 * y)
        coord.request_stop()
        coord.join()


def test_the_order_of_chance_can_be_had_again(python):
    """SITU_SEED counts for queues, too."""
    text = """
        import situ.compat.v1 as tf
        queue = tf.RandomShuffleQueue(100, 0, tf.int32, shapes=[[]])
        with tf.Session() as sess:
            sess.run(queue.enqueue_many([list(range(50))]))
            print(sess.run(queue.dequeue_many(50)).tolist())
        """
    orders = [python(text, SITU_SEED=seed).out for seed in ("1", "1", "2")]
    assert orders[0] == orders[1] != orders[2] and orders[0].startswith("[")


def test_a_waiting_thread_ends_with_its_session():
    queue, begun = tf.FIFOQueue(1, [tf.float32]), threading.Event()
    with tf.control_dependencies([tf.py_func(lambda: begun.set() or True, [], tf.bool)]):
        take = queue.dequeue()
    sess, caught = tf.Session(), []

    def work():
        try:
            sess.run(take)
        except tf.errors.CancelledError as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(300)
    sess.close()
    thread.join(300)
    assert not thread.is_alive() and "Dequeue operation was cancelled" in caught[0]


def test_padding_fills_up():
    queue = tf.PaddingFIFOQueue(10, [tf.int32], shapes=[[None]])
    x = tf.placeholder(tf.int32, [None])
    put, take = queue.enqueue([x]), queue.dequeue_many(2)
    with tf.Session() as sess:
        sess.run(put, {x: [1]})
        sess.run(put, {x: [2, 3]})
        assert sess.run(take).tolist() == [[1, 0], [2, 3]]


def test_functions_of_python():
    double = tf.py_func(lambda a: (a * 2).astype(np.float32), [tf.constant([1.0, 2.0])], tf.float32)
    after = double + 1.0
    wrong = tf.py_func(lambda: 1 / 0, [], tf.float32)
    with tf.Session() as sess:
        assert sess.run(after).tolist() == [3.0, 5.0]
        with pytest.raises(tf.errors.UnknownError, match="division by zero"):
            sess.run(wrong)


def test_a_list_of_one_tensor_comes_back_as_a_tensor():
    with tf.Graph().as_default():
        one = tf.train.shuffle_batch([tf.constant([1.0, 2.0])], 3, 10, 2)
        assert one.shape.as_list() == [3, 2]
        assert tf.train.batch([tf.constant(1)], 4).shape.as_list() == [4]
        assert tf.train.batch_join([[tf.constant(1)], [tf.constant(2)]], 4).shape.as_list() == [4]
        assert isinstance(tf.train.batch([tf.constant(1), tf.constant(2)], 4), list)
        assert list(tf.train.batch({"a": tf.constant(1)}, 4)) == ["a"]
        assert [r.name for r in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)][:2] == [
            "shuffle_batch/random_shuffle_queue",
            "batch/fifo_queue",
        ]
        assert (
            tf.get_collection(tf.GraphKeys.SUMMARIES)[0].name
            == "shuffle_batch/fraction_over_2_of_8_full:0"
        )


@pytest.mark.parametrize("kind", ["match", "constant"])
def test_no_files_are_an_error_and_not_an_endless_loop(kind, tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        if kind == "match":
            names = tf.train.match_filenames_once(str(tmp_path / "none-*"))
        else:
            names = tf.constant([], tf.string)
        queue = tf.train.string_input_producer(names)
        sess.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(queue.dequeue())
        with pytest.raises(tf.errors.InvalidArgumentError, match="requires a non-null input"):
            coordinator.request_stop()
            coordinator.join(threads)


def _padded(dtypes, shapes, elements):
    """A batch of all elements out of a queue that pads them."""
    queue = tf.PaddingFIFOQueue(10, dtypes, shapes=shapes)
    inputs = [tf.placeholder(dtype) for dtype in dtypes]
    put, batch = queue.enqueue(inputs), queue.dequeue_many(len(elements))
    with tf.Session() as sess:
        for element in elements:
            sess.run(put, dict(zip(inputs, element)))
        return [
            part.tolist() for part in (sess.run(batch) if len(dtypes) > 1 else [sess.run(batch)])
        ]


def _strings(*values):
    return np.array(values, object)


def test_strings_are_padded_where_they_are():
    (result,) = _padded(
        [tf.string],
        [[None]],
        [[_strings("a", "b")], [_strings("c")], [_strings("d", "e", "f")], [_strings()]],
    )
    assert result == [[b"a", b"b", b""], [b"c", b"", b""], [b"d", b"e", b"f"], [b""] * 3]


def test_strings_are_padded_in_every_dimension():
    names, numbers = _padded(
        [tf.string, tf.int32],
        [[None, None], [None]],
        [
            [_strings(["a", "b"], ["c", "d"]), [1]],
            [_strings(["e", "f", "g"]), [2, 3]],
            [np.zeros((0, 2), object), []],
        ],
    )
    assert names == [
        [[b"a", b"b", b""], [b"c", b"d", b""]],
        [[b"e", b"f", b"g"], [b""] * 3],
        [[b""] * 3] * 2,
    ]
    assert numbers == [[1, 0], [2, 3], [0, 0]]
    (known,) = _padded(
        [tf.string], [[2, None]], [[_strings(["a"], ["b"])], [_strings(["c", "d"], ["e", "f"])]]
    )
    assert known == [[[b"a", b""], [b"b", b""]], [[b"c", b"d"], [b"e", b"f"]]]
    assert _padded([tf.string], [[]], [["a"], ["b"]]) == [[b"a", b"b"]]


def test_batches_of_strings_of_any_length():
    number = tf.train.slice_input_producer([tf.constant([0, 1, 2, 3])], 1, shuffle=False)[0]
    kwargs, numbers = tf.train.batch(
        [tf.strings.as_string(tf.range(number)), number], 4, dynamic_pad=True
    )
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        result = sess.run([kwargs, numbers])
        coord.request_stop()
        coord.join(threads)
    assert result[0].tolist() == [
        [b""] * 3,
        [b"0", b"", b""],
        [b"0", b"1", b""],
        [b"0", b"1", b"2"],
    ]
    assert result[1].tolist() == [0, 1, 2, 3]


def _read(reader, path):
    """Returns all values that a reader reads from one file."""
    queue = tf.FIFOQueue(1, tf.string, shapes=[[]])
    put, close, value, result = queue.enqueue([str(path)]), queue.close(), reader.read(queue)[1], []
    with tf.Session() as sess:
        sess.run(put)
        sess.run(close)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                result.append(sess.run(value))
    return result


BODY = bytes(range(30))
PACKERS = {"GZIP": gzip.compress, "ZLIB": zlib.compress, "": bytes}


@pytest.mark.parametrize("kind", PACKERS)
def test_compressed_records_of_a_fixed_length(tmp_path, kind):
    path = tmp_path / "file"
    path.write_bytes(PACKERS[kind](b"HH" + BODY + b"F"))
    plain = _read(tf.FixedLengthRecordReader(10, 2, 1, encoding=kind), path)
    assert plain == [BODY[:10], BODY[10:20], BODY[20:]]
    hops = _read(tf.FixedLengthRecordReader(10, 2, 1, 15, encoding=kind), path)
    assert hops == [BODY[:10], BODY[15:25]]


def test_compressed_records_of_tensorflow(tmp_path):
    for number, kind in ((0, ""), (1, "ZLIB"), (2, "GZIP")):
        path, options = str(tmp_path / f"file{number}"), tf.python_io.TFRecordOptions(number)
        with tf.python_io.TFRecordWriter(path, options) as writer:
            writer.write(b"one")
            writer.write(b"two" * 100)
        for how in (options, tf.python_io.TFRecordOptions(kind)):
            assert _read(tf.TFRecordReader(options=how), path) == [b"one", b"two" * 100]


def test_readers_do_not_take_one_compression_for_another(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"HH" + BODY + b"F")
    queue = tf.FIFOQueue(1, tf.string, shapes=[[]])
    put = queue.enqueue([str(path)])
    value = tf.FixedLengthRecordReader(10, encoding="GZIP").read(queue)[1]
    unknown = tf.FixedLengthRecordReader(10, encoding="BZIP2").read(queue)[1]
    with tf.Session() as sess:
        sess.run(put)
        with pytest.raises(tf.errors.DataLossError):
            sess.run(value)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported compression"):
            sess.run(unknown)


@pytest.mark.parametrize("kind", PACKERS)
def test_datasets_of_compressed_records_of_a_fixed_length(tmp_path, kind):
    path = tmp_path / "file"
    path.write_bytes(PACKERS[kind](b"HH" + BODY + b"F"))

    def read(*sizes):
        records = tf.data.FixedLengthRecordDataset(str(path), *sizes, compression_type=kind)
        value, result = tf.data.make_one_shot_iterator(records).get_next(), []
        with tf.Session() as sess:
            try:
                while True:
                    result.append(sess.run(value))
            except tf.errors.OpError as error:
                return result, type(error)

    whole = [BODY[:10], BODY[10:20], BODY[20:]]
    assert read(10, 2, 1) == (whole, tf.errors.OutOfRangeError)
    late = (whole, tf.errors.DataLossError) if kind else ([], tf.errors.InvalidArgumentError)
    assert read(10, 2, 0) == late


def _drained(batched):
    """Runs a batch until the input ends."""
    found = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        threads = tf.train.start_queue_runners(sess)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(sess.run(batched))
        for thread in threads:
            thread.join(30)
    return found


def _counter(limit):
    value = tf.Variable(0, dtype="int64")
    return value.count_up_to(limit)


def test_batches_of_sparse_tensors_have_one_more_dimension():
    count = _counter(6)
    sparse = tf.SparseTensor([[0]], [count], [count + 1])
    dense, batched = tf.train.batch([count, sparse], 2)
    assert batched.dense_shape.shape.as_list() == [2]
    for step, (numbers, got) in enumerate(_drained([dense, batched])):
        assert numbers.tolist() == got.values.tolist() == [2 * step, 2 * step + 1]
        assert got.indices.tolist() == [[0, 0], [1, 0]]
        assert got.dense_shape.tolist() == [2, 2 * step + 2]


def test_rows_of_sparse_tensors_are_elements():
    count = _counter(4)
    rows = tf.SparseTensor([[0, 1], [1, 0]], [count, -count], [2, 3])
    batched = tf.train.batch({"s": rows}, 2, enqueue_many=True)["s"]
    values = [got.values.tolist() for got in _drained(batched)]
    assert values == [[0, 0], [1, -1], [2, -2], [3, -3]]


def test_elements_of_one_queue_agree():
    sparse = tf.SparseTensor([[0]], [1], [2])
    with pytest.raises(ValueError, match="Inconsistent SparseTensors list"):
        tf.train.batch_join([[sparse], [tf.constant(1)]], 2)
    with pytest.raises(TypeError, match="Expected types to be consistent: int32 vs. float32"):
        tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 2)
    with pytest.raises(ValueError, match="must have the same keys"):
        tf.train.batch_join([{"a": 1}, {"b": 1}], 2)
    with pytest.raises(ValueError, match="Expected at least one"):
        tf.train.batch([], 2)
    with pytest.raises(ValueError, match="must be bigger than min_after_dequeue 5"):
        tf.train.shuffle_batch([1], 2, 5, 5)
    with pytest.raises(ValueError, match="Cannot infer Tensor's rank"):
        tf.train.batch([tf.placeholder("float32")], 2)


@pytest.mark.parametrize("make", ["maybe_batch", "maybe_batch_join"])
def test_only_kept_elements_are_enqueued(make):
    count = _counter(8)
    tensors = [count] if make == "maybe_batch" else [[count]]
    got = getattr(tf.train, make)(tensors, tf.equal(count % 2, 0), 2)
    assert [b.tolist() for b in _drained(got)] == [[0, 2], [4, 6]]


def test_a_vector_keeps_rows():
    count = _counter(2)
    rows = tf.stack([count, count + 10, count + 20])
    sparse = tf.SparseTensor([[0, 0], [1, 0], [2, 0]], rows, [3, 1])
    got = tf.train.maybe_batch([rows, sparse], [True, False, True], 2, enqueue_many=True)
    found = _drained(got)
    assert [dense.tolist() for dense, _ in found] == [[0, 20], [1, 21]]
    assert [some.values.tolist() for _, some in found] == [[0, 20], [1, 21]]


def test_shuffled_elements_can_be_left_out():
    count = _counter(20)
    got = tf.train.maybe_shuffle_batch([count], 2, 10, 2, count < 10)
    assert sorted(v for b in _drained(got) for v in b.tolist()) == list(range(10))
    with pytest.raises(ValueError, match="cannot be a vector when"):
        tf.train.maybe_shuffle_batch_join([[count]], 2, 10, 2, [True, False])
    with pytest.raises(ValueError, match="dimensions must be known"):
        tf.train.maybe_batch([count], tf.placeholder("bool"), 2)


def test_sparse_tensors_as_strings():
    sparse = tf.SparseTensor([[0, 1], [2, 0]], ["a", "b"], [3, 4])
    one, many = tf.io.serialize_sparse(sparse), tf.io.serialize_many_sparse(sparse)
    assert one.shape.as_list() == [3] and many.shape.as_list() == [None, 3]
    stacked = tf.io.deserialize_many_sparse(tf.stack([one, one]), "string", rank=2)
    again = tf.io.deserialize_many_sparse(many, "string", rank=1)
    assert stacked.shape.rank == 3
    wrong = tf.io.deserialize_many_sparse(many, "float32")
    with tf.Session() as sess:
        a, b = sess.run([stacked, again])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Requested SparseTensor of type"):
            sess.run(wrong)
    assert b.indices.tolist() == [[0, 1], [2, 0]] and b.values.tolist() == [b"a", b"b"]
    assert b.dense_shape.tolist() == [3, 4]
    assert a.indices.tolist() == [[0, 0, 1], [0, 2, 0], [1, 0, 1], [1, 2, 0]]
    assert a.dense_shape.tolist() == [2, 3, 4]


def test_who_starts_queue_runners():
    queue = tf.FIFOQueue(10, tf.float32)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1.0)]))
    with tf.train.MonitoredSession() as monitored:
        assert tf.train.start_queue_runners(monitored) == []  # it has started them
    with pytest.raises(TypeError, match="sess must be a `tf.Session` object"):
        tf.train.start_queue_runners("not a session")
