# SPDX-License-Identifier: Apache-2.0
"""fuzz_python.py: mutates files and messages that Python code reads: each must give a value or an
error of the documented kinds, within seconds and without much memory.

Usage: fuzz_python.py [--seconds N | --runs N] [--seed N] [TARGET]...; without a TARGET all. A
mutation is a function of the seed and its number, so that a failure can be repeated.
"""

import argparse
import faulthandler
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import traceback
import zipfile
import zlib

import numpy as np

os.environ.setdefault("SITU_EXPANSION_LIMIT", "16MiB")
os.environ.setdefault("SITU_HDF5_SECONDS", "5")
os.environ.setdefault("SITU_CLUSTER_KEY", "a secret of this test")
import situ as tf
from situ._src.framework.message_classes import message_class
from situ._src.summary.event_file import masked_crc, record

# TypeError: a configuration of Keras with an argument that a layer does not take.
ALLOWED = (
    tf.errors.OpError,
    ValueError,
    OSError,
    NotImplementedError,
    EOFError,
    ImportError,
    TypeError,
)
SECONDS = 20  # that one input may take
MEMORY = 6 << 30  # address space
TARGETS = {}


def target(*seeds):
    """Registers a fuzz target: a function of bytes, with functions that make its seeds."""

    def register(function):
        TARGETS[function.__name__] = (function, seeds)
        return function

    return register


class Folder:
    """A folder for the files of one process."""

    path = None

    @classmethod
    def file(cls, name, data=None):
        if cls.path is None:
            cls.path = tempfile.mkdtemp(prefix="situ-fuzz-")
        path = os.path.join(cls.path, name)
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        return path


def content(path):
    with open(path, "rb") as file:
        return file.read()


# ---- Keras ----


def model():
    layers = tf.keras.layers
    return tf.keras.Sequential([tf.keras.Input((3,)), layers.Dense(2, name="a", activation="relu")])


def hdf5_config():
    """The configuration of a model in an HDF5 file. Other parts of the file are left alone: HDF5
    itself does not return from some files with damaged attributes."""
    import h5py

    made = model()
    made.compile("adam", "mse")
    made.save(Folder.file("seed.h5"))
    with h5py.File(Folder.file("seed.h5"), "r") as file:
        config = file.attrs["model_config"]
        return config.encode() if isinstance(config, str) else bytes(config)


def hdf5_weights():
    model().save_weights(Folder.file("seed.weights.h5"))
    return content(Folder.file("seed.weights.h5"))


@target(hdf5_config)
def hdf5(data):
    import h5py

    path = Folder.file("model.h5", content(Folder.file("seed.h5")))
    with h5py.File(path, "r+") as file:
        file.attrs["model_config"] = np.bytes_(data) if data.strip(b"\0") else b"{}"
    tf.keras.models.load_model(path)


@target(hdf5_weights)
def weights(data):
    model().load_weights(Folder.file("m.weights.h5", data))


def keras_config():
    return model().to_json().encode()


@target(keras_config)
def keras_json(data):
    tf.keras.models.model_from_json(data.decode("utf-8", "replace"))


def keras_archive():
    import keras

    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="a")])
    made.save(Folder.file("seed.keras"))
    return content(Folder.file("seed.keras"))


def plain_archive():
    """An archive whose configuration is mutated, as it is not compressed."""
    config = {"class_name": "Sequential", "config": {"name": "s", "layers": []}}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", hdf5_weights())
    return file.getvalue()


@target(plain_archive)
def keras_file(data):
    tf.keras.models.load_model(Folder.file("model.keras", data))


# ---- Checkpoints, SavedModels, graphs ----


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def table(entries):
    """An SSTable of TensorFlow with one block."""

    def page(pairs):
        out = b"".join(varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in pairs)
        return out + struct.pack("<II", 0, 1)

    data, empty = page(entries), page([])
    first = varint(0) + varint(len(data))
    file = data + bytes(5)
    second = varint(len(file)) + varint(len(empty))
    file += empty + bytes(5)
    index = page([(entries[-1][0], first)])
    footer = (second + varint(len(file)) + varint(len(index))).ljust(40, b"\0")
    return file + index + bytes(5) + footer + struct.pack("<Q", 0xDB4775248B80FB57)


def bundle_index():
    data = np.arange(6, dtype="f4").tobytes()
    entry = message_class("tensorflow.BundleEntryProto")(
        dtype=1,
        shape={"dim": [{"size": 2}, {"size": 3}]},
        size=len(data),
        crc32c=masked_crc(data),
    )
    header = message_class("tensorflow.BundleHeaderProto")(num_shards=1)
    return table([(b"", header.SerializeToString()), (b"w", entry.SerializeToString())])


@target(bundle_index)
def tensor_bundle(data):
    prefix = Folder.file("bundle")
    Folder.file("bundle.index", data)
    Folder.file("bundle.data-00000-of-00001", np.arange(6, dtype="f4").tobytes())
    reader = tf.train.load_checkpoint(prefix)
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


def safetensors_checkpoint():
    from situ._src.checkpoint import safetensors

    arrays = {"w": np.arange(6, dtype="f4"), "s": np.array([b"ab", b"c"], object)}
    safetensors.write(Folder.file("seed"), arrays, {"strings": '{"s":[2]}'})
    return content(Folder.file("seed"))


@target(safetensors_checkpoint)
def checkpoint(data):
    reader = tf.train.load_checkpoint(Folder.file("v1", data))
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


@target(lambda: b'model_checkpoint_path: "m-2"\nall_model_checkpoint_paths: "m-1"\n')
def checkpoint_state(data):
    Folder.file("checkpoint", data)
    tf.train.latest_checkpoint(Folder.path)


class Saved(tf.Module):
    """A module with a variable and a function."""

    def __init__(self):
        self.w = tf.Variable([1.0, 2.0])

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def f(self, x):
        return tf.reduce_sum(x * self.w) + tf.constant([1.0] * 3)


def saved_file(name):
    """The seed of a SavedModel: one of its files."""

    def make():
        folder = Folder.file("saved")
        if not os.path.isdir(folder):
            tf.saved_model.save(Saved(), folder)
        found = [os.path.join(d, f) for d, _, files in os.walk(folder) for f in files]
        return content(next(f for f in sorted(found) if name in f))

    return make


def load_saved(data, name):
    folder = Folder.file("saved")
    found = [os.path.join(d, f) for d, _, files in os.walk(folder) for f in files]
    path = next(f for f in sorted(found) if name in f)
    before = content(path)
    try:
        with open(path, "wb") as file:
            file.write(data)
        loaded = tf.saved_model.load(folder)
        if hasattr(loaded, "f"):
            loaded.f(tf.ones([2]))
    finally:
        with open(path, "wb") as file:
            file.write(before)


@target(saved_file("situ"))
def saved_model(data):
    load_saved(data, "situ")


def graph_def():
    with tf.Graph().as_default() as graph:
        a = tf.constant([[1.0, 2.0]], name="a")
        tf.matmul(a, tf.ones([2, 3]), name="b")
        tf.compat.v1.placeholder(tf.string, [None], name="c")
    return graph.as_graph_def().SerializeToString()


def graph_def_with_functions():
    with tf.Graph().as_default() as graph:
        tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
    return graph.as_graph_def().SerializeToString()


@target(graph_def, graph_def_with_functions)
def import_graph_def(data):
    message = tf.compat.v1.GraphDef.FromString(data)
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")


def meta_graph():
    with tf.Graph().as_default():
        tf.compat.v1.get_variable("v", [2])
        return tf.compat.v1.train.export_meta_graph().SerializeToString()


@target(meta_graph)
def import_meta_graph(data):
    with tf.Graph().as_default():
        tf.compat.v1.train.import_meta_graph(Folder.file("g.meta", data))


@target(lambda: tf.make_tensor_proto([[1.0, 2.0]]).SerializeToString())
def parse_tensor(data):
    tf.io.parse_tensor(data, tf.float32)


# ---- Records and data ----


def event():
    value = message_class("tensorflow.Event")(wall_time=1.0, step=2, file_version="brain.Event:2")
    return value.SerializeToString()


@target(lambda: record(event()) + record(event()))
def event_file(data):
    for _ in tf.compat.v1.train.summary_iterator(Folder.file("events", data)):
        pass


@target(event)
def event_message(data):
    for _ in tf.compat.v1.train.summary_iterator(Folder.file("events", record(data))):
        pass


def sequence_example():
    feature = lambda *v: tf.train.Feature(int64_list=tf.train.Int64List(value=v))
    context = tf.train.Features(feature={"c": feature(1)})
    lists = tf.train.FeatureLists(
        feature_list={"s": tf.train.FeatureList(feature=[feature(1, 2), feature(3)])}
    )
    made = tf.train.SequenceExample(context=context, feature_lists=lists)
    return made.SerializeToString()


@target(sequence_example)
def parse_sequence_example(data):
    tf.io.parse_single_sequence_example(
        data,
        {"c": tf.io.FixedLenFeature([], tf.int64)},
        {"s": tf.io.VarLenFeature(tf.int64)},
    )


@target(lambda: gzip.compress(record(b"abc") * 3, mtime=0))
def tf_record_iterator(data):
    path = Folder.file("records", data)
    for _ in tf.compat.v1.io.tf_record_iterator(path, tf.io.TFRecordOptions("GZIP")):
        pass


@target(lambda: b'a,b,c\n1,2.5,x\n3,4.5,"y,z"\n')
def csv(data):
    path = Folder.file("t.csv", data)
    made = tf.data.experimental.make_csv_dataset(path, 1, num_epochs=1, shuffle=False)
    for _ in made.take(3):
        pass


def saved_dataset():
    folder = Folder.file("set")
    tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"])).save(folder, compression="GZIP")
    return content(os.path.join(folder, "dataset.safetensors"))


@target(saved_dataset)
def dataset(data):
    os.makedirs(Folder.file("loaded"), exist_ok=True)
    Folder.file("loaded/dataset.safetensors", data)
    for _ in tf.data.Dataset.load(Folder.file("loaded"), compression="GZIP"):
        pass


@target(lambda: struct.pack(">IIII", 2051, 1, 2, 2) + bytes(4))
def mnist(data):
    from situ._src.legacy.mnist import extract_images

    extract_images(io.BytesIO(data))


def vocabulary_file():
    from situ._src.legacy.contrib_learn import VocabularyProcessor

    made = VocabularyProcessor(4)
    made.fit(["a b c", "a d"])
    made.save(Folder.file("words"))
    return content(Folder.file("words"))


@target(vocabulary_file)
def vocabulary(data):
    from situ._src.legacy.contrib_learn import VocabularyProcessor

    VocabularyProcessor.restore(Folder.file("words", data))


# ---- Images and sound ----


def gif_file():
    from PIL import Image

    file = io.BytesIO()
    frames = [Image.new("L", (8, 8), 9 * k) for k in range(3)]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    return file.getvalue()


@target(gif_file)
def gif(data):
    tf.io.decode_gif(data)


@target(lambda: tf.audio.encode_wav([[0.5, 0.1], [0.2, 0.3]], 44100).numpy())
def wav(data):
    tf.audio.decode_wav(data)


# ---- Messages of a cluster ----


def _channel(data, accepted):
    """Sends bytes to an end that expects the handshake of a peer, over TCP."""
    from situ._src.cluster import channel

    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            connected, _ = server.accept()
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            try:
                made = channel.Channel(connected, accepted)
                made.receive()
            finally:
                connected.close()


@target(lambda: bytes(64), lambda: bytes(32) + zlib.compress(b"proof"))
def handshake(data):
    try:
        _channel(data, accepted=True)
    except OSError:
        return
    raise AssertionError("a peer without the secret was accepted")


def sent(*message):
    """Returns a function that returns the bytes of a message."""

    def make():
        from situ._src.cluster import wire_format

        data = b"".join(wire_format.encode(message))
        return struct.pack("<Q", len(data)) + data

    return make


@target(
    sent("hello", "scope", ["localhost:1"]),
    sent("run", 1, {"nodes": b"[]", "functions": b""}, b"", {"x:0": np.ones([2, 3], "f4")}, 0),
    sent("tensor", "p", "k", np.array([b"ab", b""], object)),
    sent("tensor", "p", "k", np.arange(5)),
    sent("failed", 3, "text", None),
)
def unix_message(data):
    """A message of a peer that is the same user."""
    from situ._src.cluster import channel, wire_format

    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        made = channel.Channel(ours, True)
        theirs.sendall(data)
        theirs.close()
        wire_format.check(made.receive())


# ---- The fuzzer ----

NOTABLE = [b"\0", b"\xff", b"\x7f", b"\x80", bytes(8), b"\xff" * 8, b"\0\0\0\0\0\0\0\x80", b"-1"]


def mutate(rng, seeds):
    """Returns a seed with some changes."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice([1, 1, 2, 4, 8])):
        at, length = rng.randrange(len(data) + 1), rng.randint(1, 16)
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            notable = rng.choice(NOTABLE)
            data[at : at + len(notable)] = notable
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length]
        elif kind == 4:
            data[at:at] = bytes(rng.randrange(256) for _ in range(length))
        else:
            other = rng.choice(seeds)
            begin = rng.randrange(len(other) + 1)
            data[at : at + length] = other[begin : begin + length]
    return bytes(data[: rng.randrange(len(data) + 1)] if rng.randrange(20) == 0 else data)


def late(*_):
    raise TimeoutError(f"more than {SECONDS} seconds")


def attempt(function, data):
    """Runs a target on an input. Returns the text of a failure, or None."""
    signal.alarm(SECONDS)
    faulthandler.dump_traceback_later(2 * SECONDS, exit=True)  # where C code does not return
    try:
        function(data)
    except TimeoutError as error:
        return f"{error}\n{traceback.format_exc()}" if "more than" in str(error) else None
    except ALLOWED as error:
        is_silent = not str(error).strip() and not isinstance(error, EOFError)
        is_internal = isinstance(error, tf.errors.InternalError)
        return traceback.format_exc() if is_internal or is_silent else None
    except (Exception, SystemExit, MemoryError):
        return traceback.format_exc()
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
    return None


def make_seeds(makers):
    """Returns the seeds of a target; none if a package is missing."""
    try:
        return [make() for make in makers]
    except ImportError:
        return []


def fuzz(name, seconds, runs, seed):
    """Runs a target for a time or a number of inputs. Returns whether all were handled."""
    function, makers = TARGETS[name]
    seeds = make_seeds(makers)
    until, count = time.monotonic() + seconds, 0
    if not seeds:
        print(f"{name}: skipped, a package is missing")
        return True
    while count < runs and time.monotonic() < until:
        rng = random.Random(f"{name} {seed} {count}")
        data = seeds[count] if count < len(seeds) else mutate(rng, seeds)
        Folder.file("input", data)  # of a crash
        failure = attempt(function, data)
        if failure:
            print(f"{name}: run {count} of seed {seed}, {len(data)} bytes:\n{failure}")
            with open(f"fuzz_python-{name}-{seed}-{count}", "wb") as file:
                file.write(data)
            return False
        count += 1
    print(f"{name}: {count} inputs", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--runs", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print the names of the targets")
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS], default=[])
    options = parser.parse_args()
    if options.list:
        print(*TARGETS, sep="\n")
        return 0
    faulthandler.enable()
    signal.signal(signal.SIGALRM, late)
    threading.stack_size(1 << 20)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    runs = 100 if options.seconds == options.runs == float("inf") else options.runs
    names = options.target or list(TARGETS)
    results = [fuzz(name, options.seconds, runs, options.seed) for name in names]
    if Folder.path:
        shutil.rmtree(Folder.path, ignore_errors=True)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
