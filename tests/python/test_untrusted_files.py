# SPDX-License-Identifier: Apache-2.0
"""test_untrusted_files.py: small files that would take much memory, and files that refer to other
files, are errors; SITU_EXPANSION_LIMIT raises the limit."""

import base64
import gzip
import io
import os
import signal
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest

import situ as tf

Exhausted = tf.errors.ResourceExhaustedError
MIB = 1 << 20


@pytest.fixture
def limit(monkeypatch):
    """Sets SITU_EXPANSION_LIMIT."""

    def set_limit(size):
        monkeypatch.setenv("SITU_EXPANSION_LIMIT", size)

    set_limit("1MiB")
    return set_limit


def repeated(count):
    """A binary TensorProto of ones."""
    proto = tf.make_tensor_proto(1.0, shape=[count])
    return proto.SerializeToString()


def test_parse_tensor(limit):
    assert tf.io.parse_tensor(repeated(1000), tf.float32).shape == [1000]
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        tf.io.parse_tensor(repeated(MIB), tf.float32)
    limit("8MiB")
    assert tf.io.parse_tensor(repeated(MIB), tf.float32).shape == [MIB]


def test_make_ndarray(limit):
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        tf.make_ndarray(tf.make_tensor_proto(b"abc" * 1000, shape=[10000]))


@pytest.mark.parametrize("as_text", [False, True])
def test_graph_def(limit, as_text):
    graph_def = tf.compat.v1.GraphDef()
    node = graph_def.node.add(name="a", op="Const")
    node.attr["dtype"].type = 1
    node.attr["value"].tensor.ParseFromString(repeated(MIB))
    load = lambda: tf.import_graph_def(graph_def, name="")
    with tf.Graph().as_default():
        with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
            load()
        limit("8MiB")
        load()


def test_a_large_graph_def_may_repeat_more(limit):
    graph_def = tf.compat.v1.GraphDef()
    for i in range(100):
        node = graph_def.node.add(name=f"n{i}", op="NoOp")
        node.attr["text"].s = b"x" * 10000
    node = graph_def.node.add(name="a", op="Const")
    node.attr["dtype"].type = 1
    node.attr["value"].tensor.ParseFromString(repeated(MIB))
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_compressed_records_are_streams(tmp_path, limit, kind):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path, kind) as writer:
        for _ in range(64):
            writer.write(bytes(MIB // 4))
    files = tf.data.TFRecordDataset(path, kind)
    assert sum(1 for _ in files) == 64  # 16 MiB in records of less than the limit
    assert len(list(tf.compat.v1.io.tf_record_iterator(path, tf.io.TFRecordOptions(kind)))) == 64
    with tf.io.TFRecordWriter(path, kind) as writer:
        writer.write(bytes(4 * MIB))
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        list(tf.data.TFRecordDataset(path, kind))
    with pytest.raises(tf.errors.DataLossError, match="does not fit"):
        list(tf.compat.v1.io.tf_record_iterator(path, tf.io.TFRecordOptions(kind)))
    limit("8MiB")
    assert [len(r.numpy()) for r in tf.data.TFRecordDataset(path, kind)] == [4 * MIB]


def test_compressed_lines(tmp_path, limit):
    path = str(tmp_path / "lines.gz")
    with open(path, "wb") as file:
        file.write(gzip.compress(b"a\r\nb\n\n" + bytes(4 * MIB)))
    lines = iter(tf.data.TextLineDataset(path, "GZIP"))
    assert [next(lines).numpy() for _ in range(3)] == [b"a", b"b", b""]
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        next(lines)


def test_compressed_records_of_fixed_length(tmp_path, limit):
    path = str(tmp_path / "fixed")
    with open(path, "wb") as file:
        file.write(zlib.compress(b"HHabcdefFFF"))
    made = tf.data.FixedLengthRecordDataset(path, 2, 2, 3, compression_type="ZLIB")
    assert [r.numpy() for r in made] == [b"ab", b"cd", b"ef"]
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        list(tf.data.FixedLengthRecordDataset(path, 1 << 40, compression_type="ZLIB"))


def test_saved_dataset(tmp_path, limit):
    made = tf.data.Dataset.from_tensors(tf.zeros([MIB]))
    made.save(str(tmp_path / "d"), compression="GZIP")
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        list(tf.data.Dataset.load(str(tmp_path / "d"), compression="GZIP"))
    limit("8MiB")
    assert len(list(tf.data.Dataset.load(str(tmp_path / "d"), compression="GZIP"))) == 1


def test_images(limit, monkeypatch):
    image = tf.zeros([1000, 1000, 3], tf.uint8)
    for name in "png", "jpeg":
        data = getattr(tf.io, f"encode_{name}")(image)
        with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
            tf.io.decode_image(data)
        with monkeypatch.context() as changed:
            changed.setenv("SITU_EXPANSION_LIMIT", "8MiB")
            assert tf.io.decode_image(data).shape == [1000, 1000, 3]
            changed.setenv("SITU_IMAGE_PIXELS", "999999")
            with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
                tf.io.decode_image(data)
    assert tf.io.extract_jpeg_shape(data).numpy().tolist() == [1000, 1000, 3]  # not decoded


def test_progressive_jpeg_counts_its_coefficients(limit):
    data = tf.io.encode_jpeg(tf.zeros([500, 500, 3], tf.uint8), progressive=True)
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        tf.io.decode_jpeg(data)  # 0.75 MB of pixels, 1.5 MB of coefficients
    limit("4MiB")
    assert tf.io.decode_jpeg(data).shape == [500, 500, 3]


def test_scans_of_a_jpeg_file(monkeypatch):
    data = tf.io.encode_jpeg(tf.zeros([16, 16, 3], tf.uint8), progressive=True)
    monkeypatch.setenv("SITU_JPEG_SCANS", "2")
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 2 scans"):
        tf.io.decode_jpeg(data)


def test_gif(limit):
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    frames = [image.new("L", (200, 200), 6 * k) for k in range(40)]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        tf.io.decode_gif(file.getvalue())
    limit("16MiB")
    assert tf.io.decode_gif(file.getvalue()).shape == [40, 200, 200, 3]
    for wrong in b"", b"GIF89a", b"BM" + bytes(60), file.getvalue()[:100]:
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.io.decode_gif(wrong)


def model():
    return tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2, name="d")])


def test_hdf5_expansion(tmp_path, limit):
    h5py = pytest.importorskip("h5py")
    path, made = str(tmp_path / "w.h5"), model()
    made.save_weights(path)
    with h5py.File(path, "r+") as file:
        group = file["d"]
        name = group.attrs["weight_names"][0]
        del group[name]
        group.create_dataset(name, (100000, 100000), "f4", chunks=(10, 10))  # never written
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        made.load_weights(path)


@pytest.mark.parametrize("kind", ["link", "external", "virtual"])
def test_hdf5_does_not_read_other_files(tmp_path, kind):
    h5py = pytest.importorskip("h5py")
    path, other, made = str(tmp_path / "w.h5"), str(tmp_path / "other.h5"), model()
    made.save_weights(path)
    with h5py.File(other, "w") as file:
        file["x"] = np.ones([3, 2], "f4")
    with h5py.File(path, "r+") as file:
        group = file["d"]
        name = group.attrs["weight_names"][0].decode()
        del group[name]
        if kind == "link":
            group[name] = h5py.ExternalLink(other, "x")
        elif kind == "external":
            group.create_dataset(name, (3, 2), "f4", external=[(other, 0, 24)])
        else:
            layout = h5py.VirtualLayout((3, 2), "f4")
            layout[:] = h5py.VirtualSource(other, "x", (3, 2))
            group.create_virtual_dataset(name, layout)
    with pytest.raises(ValueError, match="refers to another file"):
        made.load_weights(path)


# Files of HDF5 with two or three damaged bytes, compressed: the library loops for ever in one, and
# crashes in the other.
DAMAGED = {
    "loop": (
        "eNrtmM1OwkAQx2dbIA2iASFY9LIP4EXDwRs1gvZgxKgHjhCDcFBMhGC5ecQ34RE8evQRfAzfoLbd2dJuIPgVo2F+l8"
        "nO7M5u29lJ+n+0q4er6c00+BgGJCALUVyEb8XHMt5Ey9CO0U406U8FMRP9WczP9fj6i7NazZ/tKoQH2RDGAGIZsWv7"
        "p75thHUkeFHmdZR6tL+5r6zXh7wYP6M/Axbuo0HBq8oW+kuMBSuy4RmM2HnW/Vz69IxHB/VjFnmg6DyfQdsZ8NsrPm"
        "zd8et2rzPoCj9er9D2d4XVVf+OsAl5n3ED57dxnX9LtB4aa3QXCYIgCIIgCIIgiM+Twx9/VTfLwB7qASkwwIRe66bd"
        "98Z5Jv7tGWMzdQAHRiOxvhnRJ0wYLtIn5uTTInqFroyDc3jeWfqejY4m+hfpe68liJyGWDbm6XuTYnzePdqf0vfOT+"
        "pV5mWTdWcV4vm7OB4X6Rt9pI+p70vVSS8X9SGMb7Npn0kE/qSIMfl9zFjfkvqmtLoX9yM5XsHMFpRXoOxizqTn9eOa"
        "pjGxu8insyfsRFx5wvEffvtvFVm+2EUtta4nJtXoV3gHGnTu7w=="
    ),
    "crash": (
        "eNrtmL1OAkEQx2f3gFwQDQjBU5t7ABsNhR1nBL3CiFELSohBKBQLCEJniW/CI1ha+gg+hm9w3t7O4u0GAn4UJsyvmc"
        "zM7uzu3dwm93/2Kyfr6Z00CGwbEpCFOAHi7uq+yjfQMrRjtBOu4qko52A8i/VdS59/fVmtitGBwXQjW9LYQKwifvXo"
        "Qtj6tI8kb1wf1zb60f/luqpfn/LSf8V4Bjxch0Mh7MomxrcZi2Zkp3uwtf1silrW1x5Pj2tnLHag+DhBvzXsuw+37q"
        "AZuHetbrvfkXF1bGV7B9JaZnxf2gT6e7jAkFiaeD/UN+hbJAiCIAiCIAiCIL5PDn/8Td0sA4eoB6TABge6zftWL/Tz"
        "TP7bM8Zm6gBDGI3k/EZMn3BgoPSJYI4+Macej+kVluFH+wijs/Q9HwMNjC/S9963IbYbYtWYp+9Nivq4R7R/pe9dnd"
        "cqLKym+s4r6PU76I+L9I6WucfM52XqpDfqHlqgkwqdUt0ziSielDmm3o+j3VtK31TWCvMik3PLWNmD0hqUAqyZDKMi"
        "zzlncnVZz2IveBO5xgnH//jpf5RV++It6pl9PXGoR3/CJ0Ac7yI="
    ),
}


def _damaged(name):
    return zlib.decompress(base64.b64decode(DAMAGED[name]))


@pytest.mark.parametrize(
    "name, words", [("loop", "not read it within 1 sec.*SITU_HDF5_SECONDS"), ("crash", "SIG")]
)
def test_hdf5_that_loops_or_crashes(tmp_path, monkeypatch, name, words):
    pytest.importorskip("h5py")
    monkeypatch.setenv("SITU_HDF5_SECONDS", "1")
    path = tmp_path / "m.weights.h5"
    path.write_bytes(_damaged(name))
    with pytest.raises(OSError, match=f"{path} is damaged: .*{words}"):
        model().load_weights(str(path))


def test_hdf5_in_an_archive_that_loops(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    monkeypatch.setenv("SITU_HDF5_SECONDS", "1")
    path = str(tmp_path / "m.keras")
    model().save(path)
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    if "model.weights.h5" not in members:
        pytest.skip("this Keras writes no archives")
    members["model.weights.h5"] = _damaged("loop")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(OSError, match="An HDF5 file is damaged: .*SITU_HDF5_SECONDS"):
        tf.keras.models.load_model(path)


def test_archive(tmp_path, limit):
    pytest.importorskip("h5py")
    path = str(tmp_path / "m.keras")
    model().save(path)
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    if "config.json" not in members:
        pytest.skip("this Keras writes no archives")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data + (b" " * (4 * MIB) if name == "config.json" else b""))
    with pytest.raises(Exhausted, match="SITU_EXPANSION_LIMIT"):
        tf.keras.models.load_model(path)


SAVE = """
import os, sys
import numpy as np
import situ as tf
model = tf.keras.Sequential([tf.keras.Input((300,)), tf.keras.layers.Dense(3000)])
model.save_weights(sys.argv[1])
print("saved", flush=True)
while True:
    model.save_weights(sys.argv[1])
"""


def test_killed_saves_lose_nothing(tmp_path):
    """The old or the new file is there after a kill, and the next save removes what was left."""
    pytest.importorskip("h5py")
    made = tf.keras.Sequential([tf.keras.Input((300,)), tf.keras.layers.Dense(3000)])
    path = str(tmp_path / "m.h5")
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", SAVE, path], stdout=subprocess.PIPE) as child:
            assert child.stdout.readline() == b"saved\n"
            child.send_signal(signal.SIGKILL)
        made.load_weights(path)
    made.save_weights(path)
    assert os.listdir(tmp_path) == ["m.h5"]
