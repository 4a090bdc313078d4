# SPDX-License-Identifier: Apache-2.0
"""test_bad_files.py: truncated and damaged files, and threads that fail: one error that names
the file and the position."""

import json
import os
import struct

import numpy
import pytest

import situ as tf

DataLoss = tf.errors.DataLossError

JPEG = bytes.fromhex(  # 8 x 8 pixels, gray
    "ffd8ffe000104a46494600010101012c012c0000ffdb004300100b0c0e0c0a100e0d0e1211101318281a"
    "181616183123251d283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064"
    "785c656763ffc0000b080008000801011100ffc40014000100000000000000000000000000000004ffc4"
    "00161000030000000000000000000000000000000643ffda0008010100003f001a6ccfffd9"
)


@pytest.fixture
def records(tmp_path):
    """The bytes of a file of five records of 90 bytes, and a function that reads other bytes."""
    good = str(tmp_path / "good.tfrecord")
    with tf.io.TFRecordWriter(good) as writer:
        for i in range(5):
            writer.write(b"record %d " % i * 10)

    def read(data, **kwargs):
        path = str(tmp_path / "bad.tfrecord")
        with open(path, "wb") as file:
            file.write(data)
        return [x.numpy() for x in tf.data.TFRecordDataset(path, **kwargs)]

    with open(good, "rb") as file:
        return file.read(), read


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


def test_records(records):
    data, read = records
    size = len(data) // 5
    assert len(read(data)) == 5 and len(read(data[:size])) == 1 and read(b"") == []
    for cut, at in ((4, 0), (50, 0), (size + 3, size), (len(data) - 3, 4 * size)):
        with pytest.raises(DataLoss, match=rf"truncated record at {at} in .*bad\.tfrecord"):
            read(data[:cut])
    for place in (0, 9, 20, size + 30, len(data) - 1):
        with pytest.raises(DataLoss, match=rf"corrupted record at {place // size * size} in .*bad"):
            read(flip(data, place))
    for seed in range(50):  # whatever is there, it is no crash and no endless loop
        noise = numpy.random.RandomState(seed).bytes(seed * 7)
        if noise:
            with pytest.raises(DataLoss, match="record at 0 in"):
                read(noise)


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_packed_records(tmp_path, records, kind):
    _, read = records
    path = str(tmp_path / "packed")
    with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(kind)) as writer:
        for _ in range(100):
            writer.write(os.urandom(100))
    with open(path, "rb") as file:
        data = file.read()
    assert len(read(data, compression_type=kind)) == 100
    assert len(read(data * 2, compression_type="GZIP")) == 200 if kind == "GZIP" else True
    early = rf"bad.tfrecord: damaged near byte {len(data) - 9}: .* early"
    with pytest.raises(DataLoss, match=early):
        read(data[:-9], compression_type=kind)
    with pytest.raises(DataLoss, match="bad.tfrecord: damaged near byte [24]"):
        read(b"\x1f\x8b no", compression_type=kind)
    with pytest.raises(DataLoss, match="bad.tfrecord"):
        read(flip(data, len(data) // 2), compression_type=kind)


def test_what_is_no_file(tmp_path):
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        list(tf.data.TFRecordDataset(str(tmp_path)))
    with pytest.raises(tf.errors.NotFoundError, match="nowhere; No such file"):
        list(tf.data.TextLineDataset(str(tmp_path / "nowhere")))


def test_examples_that_are_none():
    wanted = {"x": tf.io.FixedLenFeature([], tf.float32)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
        tf.io.parse_single_example(tf.constant(b"\xff\xff\xff garbage"), wanted)


def _with_header(data, change):
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


LIES = [
    lambda h: h["w"].update(data_offsets=[0, 10**12]),
    lambda h: h["w"].update(data_offsets=[-400, 0]),
    lambda h: h["w"].update(data_offsets=[400, 0]),
    lambda h: h["w"].update(data_offsets="no"),
    lambda h: h["w"].update(shape=[10**12]),
    lambda h: h["w"].update(shape=[-1, -100]),
    lambda h: h["w"].update(dtype="F99"),
    lambda h: h.update(w=5),
    lambda h: h.update(v=h.pop("w")),
]


def test_checkpoints(tmp_path):
    from situ._src.checkpoint import safetensors

    path = str(tmp_path / "data")
    safetensors.write(path, {"w": numpy.arange(100, dtype="float32"), "b": numpy.ones(3)})
    with open(path, "rb") as file:
        good = file.read()

    def read(data):
        with open(path, "wb") as file:
            file.write(data)
        opened = safetensors.File(path)
        return {name: opened.get(name) for name in opened.entries}

    assert read(good)["w"].tolist() == list(range(100))
    for lie in LIES:
        with pytest.raises(DataLoss, match="data: damaged at byte "):
            read(_with_header(good, lie))
    for cut in range(0, len(good), 7):
        with pytest.raises(DataLoss, match="data: damaged at byte "):
            read(good[:cut])
    begin = 8 + struct.unpack("<Q", good[:8])[0]
    for place in range(begin, len(good)):
        with pytest.raises(DataLoss, match=r"the checksum of tensor '[wb]' does not match"):
            read(flip(good, place))
    for text in (b"[1, 2]", b"\xff" * 8, b"{", b'"no"', b"null"):
        with pytest.raises(DataLoss, match="damaged at byte 8: invalid header"):
            read(struct.pack("<Q", len(text)) + text + good[begin:])


@pytest.mark.parametrize("parallel", [None, 1, 4])
def test_an_error_of_a_worker_comes_once(parallel):
    def fail(x):
        if x == 21:
            raise RuntimeError("element 21")
        return x

    data = (
        tf.data.Dataset.range(40)
        .map(lambda x: tf.py_function(fail, [x], tf.int64), num_parallel_calls=parallel)
        .prefetch(4)
    )
    got, failures = [], []
    iterator = iter(data)
    for _ in range(60):
        try:
            got.append(int(next(iterator)))
        except StopIteration:
            break
        except tf.errors.OpError as error:
            failures.append(str(error))
    assert len(failures) == 1 and "RuntimeError: element 21" in failures[0]
    assert got == [i for i in range(40) if i != 21]


def test_pictures_that_are_cut_off():
    image = numpy.arange(5 * 7 * 3, dtype="uint8").reshape(5, 7, 3)
    for data, decode in (
        (tf.io.encode_png(image).numpy(), tf.io.decode_png),
        (JPEG, tf.io.decode_jpeg),
    ):
        assert decode(data).shape[2] in (1, 3)
        for n in range(len(data) - 2):
            with pytest.raises(tf.errors.InvalidArgumentError):
                decode(data[:n])
    assert tf.io.decode_jpeg(JPEG[:-2], try_recover_truncated=True).shape == [8, 8, 1]
    assert tf.io.decode_jpeg(JPEG, ratio=2).shape == [4, 4, 1]
    huge = b"BM" + bytes(8) + struct.pack("<IIiiHHI", 54, 40, 2**31 - 1, -(2**31), 1, 32, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Total possible pixel bytes"):
        tf.io.decode_bmp(huge + bytes(40))


@pytest.mark.parametrize(
    "write",
    [
        lambda path: tf.io.TFRecordWriter(path + "/no/r"),
        lambda path: tf.train.Checkpoint(v=tf.Variable(1.0)).write(path + "/file/c"),
        lambda path: tf.summary.create_file_writer(path + "/file/e").flush(),
        lambda path: tf.io.gfile.GFile(path + "/file/g", "w").write("x"),
    ],
)
def test_places_where_no_file_can_be(write, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.OpError, match=str(tmp_path)):
        write(str(tmp_path))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_disks_that_are_full():
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left"):
        with tf.io.TFRecordWriter("/dev/full") as writer:
            writer.write(b"x" * 100000)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left"):
        with tf.io.gfile.GFile("/dev/full", "w") as file:
            file.write("x")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left"):
        tf.io.write_file("/dev/full", "x")


def test_a_state_of_checkpoints_that_is_no_text(tmp_path):
    (tmp_path / "checkpoint").write_bytes(b"model\xff\xfe")
    with pytest.raises(DataLoss, match="checkpoint: damaged at byte 5"):
        tf.train.latest_checkpoint(tmp_path)
