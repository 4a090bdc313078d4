# SPDX-License-Identifier: Apache-2.0
"""test_saver.py: tf.train.Saver: checkpoints written, kept, restored; damaged ones refused."""

import os
import resource
import struct

import numpy as np
import pytest

import situ.compat.v1 as tf
from situ._src.framework.message_classes import message_class
from situ._src.summary.event_file import masked_crc


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def _variables():
    w = tf.get_variable("w", initializer=np.arange(6, dtype="f").reshape(2, 3))
    n = tf.Variable(np.int64(7), name="n", trainable=False)
    return w, n


def _saved(path, step=None, **kwargs):
    w, n = _variables()
    saver = tf.train.Saver(**kwargs)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return w, n, saver, saver.save(sess, path, global_step=step)


def test_round_trip(tmp_path):
    w, n, saver, path = _saved(str(tmp_path / "model.ckpt"), 100)
    assert path == str(tmp_path / "model.ckpt-100")
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint",
        "model.ckpt-100.data-00000-of-00001",
        "model.ckpt-100.index",
        "model.ckpt-100.meta",
    ]
    with tf.Session() as sess:
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(w), [[0, 1, 2], [3, 4, 5]])
        assert sess.run(n) == 7


def test_files_are_safetensors(tmp_path):
    path = _saved(str(tmp_path / "m"))[3]
    with open(path + ".data-00000-of-00001", "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = file.read(size)
        assert file.read() == np.int64(7).tobytes() + np.arange(6, dtype="f").tobytes()
    assert b'"w":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]}' in header


def test_global_step_may_be_a_variable(tmp_path):
    step = tf.train.create_global_step()
    with tf.Session() as sess:
        sess.run(step.assign(5).op)
        assert tf.train.Saver().save(sess, str(tmp_path / "m"), step).endswith("m-5")


def test_max_to_keep(tmp_path):
    _variables()
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            saver.save(sess, str(tmp_path / "m"), global_step=step)
    kept = [str(tmp_path / f"m-{i}") for i in (2, 3)]
    assert saver.last_checkpoints == kept
    assert tf.train.latest_checkpoint(str(tmp_path)) == kept[1]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == kept[1]
    assert list(state.all_model_checkpoint_paths) == kept
    assert not tf.train.checkpoint_exists(str(tmp_path / "m-1"))
    assert not [f for f in os.listdir(tmp_path) if f.startswith("m-1")]


def test_relative_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("logs")
    _saved("logs/m", 3)
    with open("logs/checkpoint", encoding="utf-8") as file:
        assert file.read().startswith('model_checkpoint_path: "m-3"\n')
    assert tf.train.latest_checkpoint("logs") == "logs/m-3"
    assert tf.train.latest_checkpoint("elsewhere") is None
    assert tf.train.get_checkpoint_state("elsewhere") is None


def test_var_list_by_name(tmp_path):
    w, _ = _variables()
    saver = tf.train.Saver({"other": w})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "m"))
    assert tf.train.list_variables(path) == [("other", [2, 3])]
    reader = tf.train.NewCheckpointReader(path)
    assert reader.has_tensor("other") and not reader.has_tensor("w")
    assert reader.get_variable_to_dtype_map() == {"other": tf.float32}
    np.testing.assert_array_equal(tf.train.load_variable(str(tmp_path), "other")[1], [3, 4, 5])


def test_missing_variable(tmp_path):
    path = _saved(str(tmp_path / "m"))[3]
    tf.Variable(1.0, name="new")
    with (
        tf.Session() as sess,
        pytest.raises(tf.errors.NotFoundError, match="Key new not found in checkpoint"),
    ):
        tf.train.Saver().restore(sess, path)


def test_wrong_shape(tmp_path):
    path = _saved(str(tmp_path / "m"))[3]
    other = tf.Variable([1.0], name="other")
    with (
        tf.Session() as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"lhs shape= \[1\] rhs shape= \[2,3\]"),
    ):
        tf.train.Saver({"w": other}).restore(sess, path)


def test_what_is_no_checkpoint(tmp_path):
    _variables()
    with tf.Session() as sess:
        with pytest.raises(ValueError, match="The passed save_path is not a valid checkpoint"):
            tf.train.Saver().restore(sess, str(tmp_path / "m"))
        with pytest.raises(ValueError, match="Can't load save_path when it is None"):
            tf.train.Saver().restore(sess, None)
        with pytest.raises(tf.errors.FailedPreconditionError):
            tf.train.Saver().save(sess, str(tmp_path / "m"))
        sess.run(tf.global_variables_initializer())
        (tmp_path / "file").write_text("")
        with pytest.raises(ValueError, match="doesn't exist, can't save"):
            tf.train.Saver().save(sess, str(tmp_path / "file" / "m"))
        with pytest.raises(ValueError, match="doesn't exist, can't save"):
            tf.train.Saver().save(sess, str(tmp_path / "no" / "no" / "m"))
        path = tf.train.Saver().save(sess, str(tmp_path / "new" / "m"))  # one folder is made
        assert tf.train.latest_checkpoint(str(tmp_path / "new")) == path


def test_no_variables():
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()


@pytest.mark.parametrize("size", [0, 5, 30, -1])
def test_truncated(tmp_path, size):
    _, _, saver, path = _saved(str(tmp_path / "m"))
    name = path + ".data-00000-of-00001"
    with open(name, "rb") as file:
        data = file.read()
    with open(name, "wb") as file:
        file.write(data[:size])
    with (
        tf.Session() as sess,
        pytest.raises(tf.errors.DataLossError, match=r"m\.data.*damaged at byte \d+"),
    ):
        saver.restore(sess, path)


def test_flipped_bit(tmp_path):
    _, _, saver, path = _saved(str(tmp_path / "m"))
    name = path + ".data-00000-of-00001"
    with open(name, "r+b") as file:
        file.seek(-3, 2)
        byte = file.read(1)[0]
        file.seek(-3, 2)
        file.write(bytes([byte ^ 1]))
    with tf.Session() as sess, pytest.raises(tf.errors.DataLossError, match="checksum.*'w'"):
        saver.restore(sess, path)


def test_a_failed_write_keeps_the_last_good_one(tmp_path):
    w, _, saver, path = _saved(str(tmp_path / "m"))
    files = sorted(os.listdir(tmp_path))
    with tf.Session() as sess:
        saver.restore(sess, path)
        sess.run(w.assign(np.ones([2, 3])).op)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
        try:
            with pytest.raises(tf.errors.ResourceExhaustedError, match="File too large"):
                saver.save(sess, str(tmp_path / "m"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert sorted(os.listdir(tmp_path)) == files
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(w), [[0, 1, 2], [3, 4, 5]])


def test_meta_graph(tmp_path):
    with tf.device("/cpu:0"):
        w, _ = _variables()
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.matmul(x, w, name="y")
    tf.add_to_collection("things", y)
    parts = tf.split(tf.concat([y, y], 0, name="twice"), 3, 1, name="parts")
    tf.add_n(parts, name="sum")
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "m"), 1)
        want = sess.run("sum:0", {x: [[1, 2]]})
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        again = tf.train.import_meta_graph(path + ".meta")
        assert [v.name for v in tf.global_variables()] == ["w:0", "n:0"]
        assert [v.name for v in tf.trainable_variables()] == ["w:0"]
        assert tf.get_collection("things")[0].name == "y:0"
        assert graph.get_operation_by_name("w").device == "/device:CPU:0"
        again.restore(sess, tf.train.latest_checkpoint(str(tmp_path)))
        np.testing.assert_array_equal(sess.run("sum:0", {"x:0": [[1, 2]]}), want)


def test_import_graph_def():
    tf.add(tf.placeholder(tf.float32, [2], name="x"), [1.0, 2.0], name="y")
    data = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session() as sess:
        (y,) = tf.import_graph_def(data, {"x:0": tf.constant([5.0, 5.0])}, ["y:0"])
        assert y.name == "import/y:0"
        np.testing.assert_array_equal(sess.run(y), [6, 7])


def test_init_from_checkpoint(tmp_path):
    path = _saved(str(tmp_path / "m"))[3]
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("net"):
            w = tf.get_variable("w", [2, 3])
        other = tf.get_variable("other", [2, 3])
        tf.train.init_from_checkpoint(path, {"/": "net/", "w": other})
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(w), [[0, 1, 2], [3, 4, 5]])
        np.testing.assert_array_equal(sess.run(other), sess.run(w))
        with pytest.raises(ValueError, match="is not found in"):
            tf.train.init_from_checkpoint(path, {"none": other})


def test_threads_save_one_after_the_other(tmp_path):
    import threading

    tf.Variable(np.zeros(1000), name="v")
    saver, failed = tf.train.Saver(max_to_keep=3), []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())

        def save(first):
            try:
                for step in range(first, first + 8):
                    saver.save(sess, str(tmp_path / "m"), global_step=step)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=save, args=(n,)) for n in (0, 100)]
        [t.start() for t in threads]
        [t.join() for t in threads]
    assert not failed
    assert tf.train.checkpoint_exists(tf.train.latest_checkpoint(str(tmp_path)))
    assert len([f for f in os.listdir(tmp_path) if f.endswith(".index")]) == 3


def varint(value):
    out = b""
    while value > 127:
        value, out = value >> 7, out + bytes([value & 127 | 128])
    return out + bytes([value])


def _table(entries):
    """A sorted table of names as TensorFlow writes it; keys share their beginnings."""

    def page(items):
        out, last = b"", b""
        for key, value in items:
            same = len(os.path.commonprefix([last, key]))
            out += varint(same) + varint(len(key) - same) + varint(len(value)) + key[same:] + value
            last = key
        return out + struct.pack("<II", 0, 1)

    data, empty = page(entries), page([])
    handles = [varint(0) + varint(len(data))]
    file = data + bytes(5)
    handles.append(varint(len(file)) + varint(len(empty)))
    file += empty + bytes(5)
    index = page([(entries[-1][0], handles[0])])
    footer = (handles[1] + varint(len(file)) + varint(len(index))).ljust(40, b"\0")
    return file + index + bytes(5) + footer + struct.pack("<Q", 0xDB4775248B80FB57)


def _tensorflow_checkpoint(prefix, arrays):
    header = message_class("tensorflow.BundleHeaderProto")(num_shards=1)
    entries, data = [(b"", header.SerializeToString())], b""
    for name, array in sorted(arrays.items()):
        entry = message_class("tensorflow.BundleEntryProto")(
            dtype=tf.as_dtype(array.dtype).as_datatype_enum,
            shape={"dim": [{"size": size} for size in array.shape]},
            offset=len(data),
            size=array.nbytes,
            crc32c=masked_crc(array.tobytes()),
        )
        entries.append((name.encode(), entry.SerializeToString()))
        data += array.tobytes()
    open(prefix + ".index", "wb").write(_table(entries))
    open(prefix + ".data-00000-of-00001", "wb").write(data)


def test_checkpoints_of_tensorflow_are_read(tmp_path):
    prefix, w = str(tmp_path / "model.ckpt"), np.arange(6, dtype=np.float32).reshape(3, 2)
    _tensorflow_checkpoint(prefix, {"layer/w": w, "layer/w/Adam": w * 2, "step": np.int64(7)})
    assert tf.train.list_variables(prefix) == [
        ("layer/w", [3, 2]),
        ("layer/w/Adam", [3, 2]),
        ("step", []),
    ]
    assert tf.train.load_variable(prefix, "step") == 7
    with tf.variable_scope("layer"):
        made = tf.get_variable("w", [3, 2])
    with tf.Session() as sess:
        tf.train.Saver().restore(sess, prefix)
        assert sess.run(made).tolist() == w.tolist()
    path = prefix + ".data-00000-of-00001"
    data = bytearray(open(path, "rb").read())
    data[5] ^= 1
    open(path, "wb").write(data)
    with pytest.raises(tf.errors.DataLossError, match="checksum of layer/w"):
        tf.train.load_variable(prefix, "layer/w")
    open(path, "wb").write(data[:10])
    with pytest.raises(tf.errors.DataLossError, match="10 of 24 bytes of layer/w"):
        tf.train.load_variable(prefix, "layer/w")
    open(prefix + ".index", "r+b").write(b"\xff" * 40)
    with pytest.raises(tf.errors.DataLossError, match="damaged"):
        tf.train.list_variables(prefix)


class Training:
    """A session that trains a step after each run, as another thread might."""

    def __init__(self, session, train):
        self.session, self.train, self.graph = session, train, session.graph

    def run(self, *args):
        found = self.session.run(*args)
        self.session.run(self.train)
        return found


def test_the_step_in_the_name_is_that_of_the_values(tmp_path):
    step = tf.train.create_global_step()
    train = tf.assign_add(step, 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        busy, saver = Training(session, train), tf.train.Saver()
        for _ in range(2):
            path = saver.save(busy, str(tmp_path / "m"), global_step=step)
            kept = tf.train.NewCheckpointReader(path).get_tensor("global_step")
            assert path.endswith(f"m-{kept}")


def test_relative_paths_of_the_state(tmp_path):
    _saved(str(tmp_path / "m"), 1, save_relative_paths=True)
    assert (tmp_path / "checkpoint").read_text() == (
        'model_checkpoint_path: "m-1"\nall_model_checkpoint_paths: "m-1"\n'
    )
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m-1")


def test_state_of_a_relative_directory(tmp_path, monkeypatch):
    made, absolute = tf.train.generate_checkpoint_state_proto, str(tmp_path / "m-0")
    kept = ["train/m-1"]
    state = made("train", "train/m-2", kept, [1.0, 2.0], 0.5)
    assert kept == ["train/m-1", "train/m-2"]  # the caller's list grows
    assert (state.model_checkpoint_path, state.last_preserved_timestamp) == ("m-2", 0.5)
    assert list(state.all_model_checkpoint_paths) == ["m-1", "m-2"]
    assert made("train", absolute).model_checkpoint_path == absolute
    with pytest.raises(ValueError, match="must match checkpoint paths"):
        made("train", "train/m-2", None, [1.0, 2.0])
    monkeypatch.chdir(tmp_path)
    os.mkdir("train")
    tf.train.update_checkpoint_state("train", absolute, ["train/m-1"])
    state = tf.train.get_checkpoint_state("train")
    assert list(state.all_model_checkpoint_paths) == ["train/m-1", absolute]
    with pytest.raises(RuntimeError, match="conflicts with path used for"):
        tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "checkpoint"))
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        tf.train.get_checkpoint_state(str(tmp_path))


def test_a_path_that_is_the_state_file(tmp_path):
    path = str(tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="'latest_filename' collides with 'save_path'"):
        _saved(path)
    with tf.Graph().as_default():
        assert _saved(path, 1)[3] == f"{path}-1"
    with tf.Session() as sess, pytest.raises(ValueError, match="path components"):
        tf.Variable(1.0)
        tf.train.Saver().save(sess, path, latest_filename="a/b")


def test_a_session_of_another_graph_with_the_same_names(tmp_path):
    w, _, _, path = _saved(str(tmp_path / "m"))
    with tf.Graph().as_default():
        _variables()
        saver = tf.train.Saver()
    with tf.Session(graph=w.graph) as sess:
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(w), [[0, 1, 2], [3, 4, 5]])


def test_saver_of_a_definition(tmp_path):
    w, _, saver, _ = _saved(str(tmp_path / "m"), max_to_keep=3)
    again = tf.train.Saver(saver_def=saver.as_saver_def())
    assert again.as_saver_def() == saver.as_saver_def() and again.as_saver_def().max_to_keep == 3
    with tf.Session() as sess:
        again.restore(sess, str(tmp_path / "m"))
        np.testing.assert_array_equal(sess.run(w), [[0, 1, 2], [3, 4, 5]])
    with tf.Graph().as_default(), pytest.raises(KeyError, match="save/restore_all"):
        tf.train.Saver(saver_def=saver.as_saver_def())


def test_saver_that_is_not_built(tmp_path):
    path = _saved(str(tmp_path / "m"))[3]
    saver = tf.train.Saver(defer_build=True)
    assert saver.as_saver_def() is None
    with tf.Session() as sess:
        for call in (saver.save, saver.restore):
            with pytest.raises(RuntimeError, match="`build\\(\\)` should be called before"):
                call(sess, path)
    assert saver.export_meta_graph().collection_def["variables"]
    saver.build()
    with tf.Session() as sess:
        saver.restore(sess, path)


def test_unsupported_options_of_a_saver(tmp_path):
    with tf.device("/cpu:0"):
        _, _, saver, path = _saved(str(tmp_path / "m"))
    with pytest.raises(NotImplementedError, match="builder"):
        tf.train.Saver(builder=object())
    with pytest.raises(RuntimeError, match="Unknown write_version"):
        tf.train.Saver(write_version=3)
    with tf.Session() as sess, pytest.raises(NotImplementedError, match="save_debug_info"):
        saver.save(sess, path, save_debug_info=True)
    with pytest.raises(NotImplementedError, match="save_debug_info"):
        saver.export_meta_graph(save_debug_info=True)


def test_meta_graph_without_devices():
    with tf.device("/cpu:0"):
        tf.get_variable("v", [2])
    saver = tf.train.Saver()
    assert "CPU:0" in str(saver.export_meta_graph())
    assert "CPU:0" not in str(saver.export_meta_graph(clear_devices=True))


def test_checkpoint_of_one_file_is_removed(tmp_path):
    path = tmp_path / "old"
    path.write_text("x")
    tf.train.remove_checkpoint(str(path))
    assert path.exists()
    tf.train.remove_checkpoint(str(path), 1)
    assert not path.exists()


def test_a_saver_without_variables_saves_and_restores_nothing(graph, tmp_path):
    tf.constant(1)
    saver = tf.train.Saver(allow_empty=True)
    with tf.Session() as sess:
        assert saver.save(sess, str(tmp_path / "empty")) is None
        saver.restore(sess, str(tmp_path / "empty"))


def test_checkpoints_of_a_single_file(graph, tmp_path):
    v = tf.Variable([1.0, 2.0], name="v")
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1, max_to_keep=1)
    with tf.Session() as sess:
        sess.run(v.initializer)
        old = saver.save(sess, str(tmp_path / "old"), write_meta_graph=False)
        path = saver.save(sess, str(tmp_path / "new"), write_meta_graph=False)
        sess.run(v.assign([0, 0]))
        saver.restore(sess, path)
        assert sess.run(v).tolist() == [1, 2]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint", "new"]
    assert tf.train.checkpoint_exists(path) and not tf.train.checkpoint_exists(old)
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    reader = tf.train.NewCheckpointReader(path)
    assert b"v (DT_FLOAT) [2]" in reader.debug_string()


def test_paths_may_be_file_uris(graph, tmp_path):
    v = tf.Variable(3.0, name="v")
    saver = tf.train.Saver()
    uri = f"file://{tmp_path}/saved"
    with tf.Session() as sess:
        sess.run(v.initializer)
        saver.save(sess, uri)
        sess.run(v.assign(0))
        saver.restore(sess, uri)
        assert sess.run(v) == 3
    assert tf.train.checkpoint_exists(uri)
    assert tf.train.load_variable(uri, "v") == 3
    assert tf.train.latest_checkpoint(f"file://{tmp_path}") is not None


@pytest.mark.parametrize("most", [None, 0])
def test_a_saver_that_keeps_all_checkpoints_lists_none(graph, tmp_path, most):
    v = tf.Variable(3.0)
    saver = tf.train.Saver(max_to_keep=most)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for name in "ab":
            saver.save(sess, str(tmp_path / name))
            assert saver.last_checkpoints == []
    assert all(tf.train.checkpoint_exists(str(tmp_path / name)) for name in "ab")


def test_the_session_of_a_saver_is_checked(graph, tmp_path):
    saver = tf.train.Saver([tf.Variable(3.0)])
    with pytest.raises(TypeError, match="'sess' must be a Session"):
        saver.save(3, str(tmp_path / "a"))
