# SPDX-License-Identifier: Apache-2.0
"""test_summary.py: tf.summary: event files that TensorBoard reads."""

import glob
import os

import numpy as np
import pytest

import situ
import situ.compat.v1 as tf
from situ._src.framework import style
from situ._src.ops.image import png
from situ._src.summary import event_file


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def eager():
    style.use("v2")
    from _situ import swap_graph

    before = swap_graph(None)
    yield
    swap_graph(before)
    style.use("v1")


def _events(folder):
    files = sorted(glob.glob(os.path.join(str(folder), "events.out.tfevents.*")))
    return [e for f in files for e in tf.train.summary_iterator(f)]


def test_checksum():
    assert event_file.masked_crc(b"") == 0xA282EAD8
    from _situ import crc32c

    assert crc32c(b"123456789") == 0xE3069283


def test_scalar_and_histogram(tmp_path):
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.name_scope("part"):
        mean = tf.summary.scalar("mean value", tf.reduce_mean(x))
    tf.summary.histogram("x", x)
    both = tf.summary.merge_all()
    assert mean.name == "part/mean_value:0"
    assert tf.get_collection(tf.GraphKeys.SUMMARIES, "part") == [mean]
    with tf.Session() as sess, tf.summary.FileWriter(str(tmp_path), sess.graph) as writer:
        text, two = sess.run([both, x], {x: [1.0, 3.0, 3.1]})
        assert isinstance(text, bytes) and len(two) == 3
        writer.add_summary(text, 7)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="own", simple_value=0.5)]), 8)
    first, graph, third, last = _events(tmp_path)
    assert first.file_version == "brain.Event:2"
    assert b"part/Mean" in graph.graph_def
    values = {v.tag: v for v in third.summary.value}
    assert third.step == 7 and sorted(values) == ["part/mean_value", "x_1"]
    assert values["part/mean_value"].simple_value == pytest.approx(7.1 / 3)
    histo = values["x_1"].histo
    assert (histo.num, histo.min, histo.max) == (3, 1, pytest.approx(3.1))
    assert sum(histo.bucket) == 3 and len(histo.bucket) == len(histo.bucket_limit)
    assert (last.step, last.summary.value[0].simple_value) == (8, 0.5)


def test_histogram_of_what_is_no_number():
    made = tf.summary.histogram("h", tf.constant([1.0, float("nan")]))
    with (
        tf.Session() as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match="Nan in summary histogram for: h"),
    ):
        sess.run(made)


def test_image():
    made = tf.summary.image("i", tf.zeros([2, 4, 5, 3]), max_outputs=2)
    with tf.Session() as sess:
        summary = tf.Summary()
        summary.ParseFromString(sess.run(made))
    assert [v.tag for v in summary.value] == ["i/image/0", "i/image/1"]
    image = summary.value[0].image
    assert (image.height, image.width, image.colorspace) == (4, 5, 3)
    assert image.encoded_image_string.startswith(b"\x89PNG\r\n")


def test_images_are_scaled_as_tensorflow_does():
    images = png.bytes_of(np.array([[[[0.0], [2.0]]], [[[-1.0], [1.0]]]], "f"))
    assert images.ravel().tolist() == [0, 255, 1, 255]


def test_merge_refuses_a_tag_twice():
    one = tf.summary.scalar("a", 1.0)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag"):
        sess.run(tf.summary.merge([one, one]))


def test_nothing_to_merge():
    assert tf.summary.merge_all() is None


def test_summary_message():
    summary = tf.Summary()
    summary.value.add(tag="a", simple_value=0.0)
    again = tf.Summary.FromString(summary.SerializeToString())
    assert again.value[0].HasField("simple_value") and again.value[0].tag == "a"
    assert again.value[0].WhichOneof("value") == "simple_value"
    assert str(again).startswith('value {\n  tag: "a"\n')


def test_damaged_event_file(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.close()
    (path,) = glob.glob(str(tmp_path / "*"))
    with open(path, "r+b") as file:
        file.seek(-6, 2)
        file.write(b"x")
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
        list(tf.train.summary_iterator(path))


def test_eager(tmp_path, eager):
    tf2 = situ
    writer = tf2.summary.create_file_writer(str(tmp_path))
    assert not tf2.summary.scalar("nowhere", 1.0, step=0)
    with writer.as_default():
        assert tf2.summary.scalar("loss", tf2.constant(0.5), step=3)
        tf2.summary.image("i", tf2.zeros([1, 2, 2, 1]), step=3)
        tf2.summary.text("t", "hello", step=3)
        tf2.summary.histogram("h", tf2.constant([1.0, 2.0]), step=3)
        with pytest.raises(ValueError, match="No step set"):
            tf2.summary.scalar("loss", 0.5)
    writer.close()
    _, loss, *_ = _events(tmp_path)
    assert loss.step == 3 and loss.summary.value[0].tensor.float_val == [0.5]
    assert loss.summary.value[0].metadata.plugin_data.plugin_name == "scalars"


def test_in_a_function(tmp_path, eager):
    writer, step = situ.summary.create_file_writer(str(tmp_path)), situ.Variable(4, dtype="int64")

    @situ.function
    def train(x):
        step.assign_add(1)
        with writer.as_default():
            situ.summary.scalar("x", x * 2.0, step=step)
        return x

    train(situ.constant(1.5))
    train(situ.constant(2.5))
    writer.close()
    events = [e for e in _events(tmp_path) if e.summary.value]
    assert [(e.step, e.summary.value[0].tensor.float_val) for e in events] == [
        (5, [3.0]),
        (6, [5.0]),
    ]


def test_tensorboard_reads_it(tmp_path):
    module = "tensorboard.backend.event_processing.event_accumulator"
    accumulator = pytest.importorskip(module, reason="the package tensorboard is not installed")
    tf.summary.scalar("loss", tf.constant(2.5))
    tf.summary.histogram("h", tf.constant([1.0, 2.0]))
    tf.summary.image("i", tf.zeros([1, 2, 2, 3]))
    made = tf.summary.merge_all()
    with tf.Session() as sess, tf.summary.FileWriter(str(tmp_path), sess.graph) as writer:
        writer.add_summary(sess.run(made), 1)
    with situ.summary.create_file_writer(str(tmp_path)).as_default() as writer:
        written = situ.summary.scalar("eager", 4.5, step=2)
    with tf.Session() as sess:
        assert sess.run([writer.init(), written])[1]
        sess.run(writer.flush())
    events = accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    assert events.Scalars("loss")[0].value == 2.5 and events.Scalars("loss")[0].step == 1
    assert events.Histograms("h")[0].histogram_value.num == 2
    assert events.Images("i/image/0")[0].width == 2
    assert events.Tensors("eager")[0].tensor_proto.float_val[0] == 4.5
    assert {n.name for n in events.Graph().node} >= {"Const", "zeros"}


@pytest.mark.parametrize(
    "value, dtype, content",
    [
        ([1, 2], 3, np.array([1, 2], "int32").tobytes()),
        (np.array([1, 2], "int64"), 9, np.array([1, 2], "int64").tobytes()),
        (True, 10, b"\1"),
        (np.float64(1.5), 2, np.float64(1.5).tobytes()),
        (np.uint8(2), 4, b"\2"),
        (np.array([1, 2], "float16"), 19, np.array([1, 2], "float16").tobytes()),
        ([1.5], 1, np.float32(1.5).tobytes()),
        (lambda: 1.5, 1, np.float32(1.5).tobytes()),
    ],
)
def test_tensors_keep_their_type(tmp_path, eager, value, dtype, content):
    with situ.summary.create_file_writer(str(tmp_path)).as_default(step=1):
        assert situ.summary.write("t", value)
    (made,) = [v.tensor for e in _events(tmp_path) for v in e.summary.value]
    assert made.dtype == dtype and made.tensor_content == content


def test_tensors_of_strings(tmp_path, eager):
    with situ.summary.create_file_writer(str(tmp_path)).as_default(step=1):
        situ.summary.write("t", ["a", "b"])
        situ.summary.write("t", "c")
    first, second = [v.tensor for e in _events(tmp_path) for v in e.summary.value]
    assert first.dtype == 7 and first.string_val == [b"a", b"b"]
    assert second.string_val == [b"c"] and not second.tensor_shape.dim


def test_contrib_summaries(tmp_path, eager):
    contrib = tf.contrib.summary
    images = np.full([1, 1, 1, 3], np.nan, "float32")
    with contrib.create_file_writer(str(tmp_path)).as_default():
        contrib.scalar("a", 2.0, None, 5)
        contrib.scalar("a", 3.0, family="f", step=6)
        contrib.histogram("h", [1.0, 2.0], None, 7)
        contrib.image("i", images, [1, 2, 3, 4], 1, None, 8)
        with contrib.record_summaries_every_n_global_steps(2, global_step=3):
            assert not contrib.scalar("a", 4.0, step=9)
    events = [e for e in _events(tmp_path) if e.summary.value]
    assert [e.step for e in events] == [5, 6, 7, 8]
    scalar, family, histogram, image = [e.summary.value[0] for e in events]
    assert (scalar.tag, scalar.simple_value) == ("a", 2)
    assert (family.tag, family.simple_value) == ("f/f/a", 3)
    assert histogram.histo.num == 2 and image.tag == "i/image"
    assert png.encode(np.array([[[1, 2, 3]]], "uint8")) == image.image.encoded_image_string


def test_description_of_a_node():
    node = tf.NodeDef(name="n", op="NoOp")
    node.attr["description"].s = b'{"typeHint": "x"}'
    with pytest.raises(ValueError, match="Can't get_summary_description on NoOp"):
        tf.summary.get_summary_description(node)
    node.op = "TensorSummary"
    assert tf.summary.get_summary_description(node).type_hint == "x"


def test_no_queue(tmp_path, eager):
    with situ.summary.create_file_writer(str(tmp_path), 0, filename_suffix="").as_default(1):
        situ.summary.write("t", 1.0)
        assert [e.step for e in _events(tmp_path)] == [0, 1]
        assert not any(name.endswith(".v2") for name in os.listdir(tmp_path))


def run(summary, feeds=None):
    with tf.Session() as session:
        return tf.Summary.FromString(session.run(summary, feeds)).value


def test_tensor_summary_keeps_type_and_metadata():
    with tf.Graph().as_default(), tf.name_scope("a"):
        metadata = tf.SummaryMetadata(display_name="shown", summary_description="of that")
        summary = tf.summary.tensor_summary(
            "t", tf.constant([[True, False]]), summary_metadata=metadata, display_name="other"
        )
        (value,) = run(summary)
        (text,) = run(tf.summary.tensor_summary("s", [b"x", b"yz"], family="f"))
    assert value.tag == "a/t" and text.tag == "f/a/f/s"
    assert (value.metadata.display_name, value.metadata.summary_description) == ("other", "of that")
    assert metadata.display_name == "shown"
    assert tf.make_ndarray(value.tensor).tolist() == [[True, False]]
    assert tf.make_ndarray(text.tensor).tolist() == [b"x", b"yz"]


def test_audio_summary():
    with tf.Graph().as_default():
        sounds = tf.constant(np.linspace(-1, 1, 24).reshape(4, 3, 2), tf.float32)
        values = run(tf.summary.audio("snd", sounds, 8000, max_outputs=2))
        assert [value.tag for value in values] == ["snd/audio/0", "snd/audio/1"]
        sound = values[1].audio
        assert (sound.sample_rate, sound.num_channels, sound.length_frames) == (8000, 2, 3)
        decoded = tf.audio.decode_wav(sound.encoded_audio_string)
        with tf.Session() as session:
            assert np.allclose(session.run(decoded.audio), session.run(sounds)[1], atol=1e-4)
        (mono,) = run(tf.summary.audio("one", sounds[:, :, 0], 8000.5, max_outputs=1))
        assert mono.tag == "one/audio" and mono.audio.num_channels == 1
        with pytest.raises(ValueError, match="at least rank 2"):
            tf.summary.audio("a", [1.0], 8000)
        with pytest.raises(ValueError, match="max_outputs must be > 0"):
            tf.summary.audio("a", sounds, 8000, max_outputs=0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="sample_rate must be > 0"):
            run(tf.summary.audio("a", sounds, 0))


def test_scalar_summaries_of_several_tags():
    with tf.Graph().as_default():
        values = run(tf.scalar_summary(["a", "b"], [10.0, 20.0], name="many"))
        assert [(v.tag, v.simple_value) for v in values] == [("a", 10), ("b", 20)]
        assert [v.tag for v in run(tf.scalar_summary("c", 1))] == ["c"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="not the same shape"):
            run(tf.scalar_summary(["a", "b"], [1.0]))


def _written(folder):
    """(step, tag) of each value in the event files of a folder."""
    return [(e.step, v.tag) for e in _events(folder) for v in e.summary.value]


def test_conditions_are_evaluated_in_each_run(tmp_path, eager):
    writer, step = situ.summary.create_file_writer(str(tmp_path)), situ.Variable(-1, dtype="int64")

    @situ.function
    def next_is_even():
        step.assign_add(1)
        return situ.equal(step % 2, 0)

    @situ.function
    def train(recorded):
        with writer.as_default():
            with situ.summary.record_if(next_is_even):
                first = [situ.summary.write("a", 1, step=step) for _ in range(3)]
            with situ.summary.record_if(recorded):
                second = situ.summary.write("b", lambda: situ.constant(2.0), step=step)
            with situ.summary.record_if(False):
                third = situ.summary.write("c", 3)
            return first, second, third

    results = [situ.nest.map_structure(bool, train(situ.constant(r))) for r in (True, False)]
    assert results == [([True, False, True], True, False), ([False, True, False], False, False)]
    assert _written(tmp_path) == [(0, "a"), (2, "a"), (2, "b"), (4, "a")]  # flushed by the function


def test_a_callable_condition_is_called_once_per_summary(tmp_path, eager):
    calls = []
    with situ.summary.create_file_writer(str(tmp_path)).as_default():
        with situ.summary.record_if(lambda: calls.append(1) or len(calls) % 2 == 1):
            written = [situ.summary.write("a", 1, step=i).numpy() for i in range(4)]
    assert written == [True, False, True, False] and len(calls) == 4


def test_summaries_in_branches_and_loops(tmp_path, eager):
    writer = situ.summary.create_file_writer(str(tmp_path))

    @situ.function
    def train(n):
        with writer.as_default():
            for i in situ.range(n):
                if i % 2 == 1:
                    with situ.name_scope("odd"):
                        situ.summary.scalar("i", i, step=situ.cast(i, "int64"))
        return n

    train(situ.constant(5))
    assert [step for step, _ in _written(tmp_path)] == [1, 3]


def test_default_steps(tmp_path, eager):
    writer = situ.summary.create_file_writer(str(tmp_path))

    @situ.function
    def traced():
        with writer.as_default():
            situ.summary.write("f", 1.0)

    with writer.as_default(step=1):
        situ.summary.write("t", 1.0)
        with writer.as_default(step=2):
            situ.summary.write("t", 1.0)
        with writer.as_default():
            situ.summary.experimental.set_step(3)  # a scope without a step does not restore it
        situ.summary.write("t", 1.0)
        traced()
        situ.summary.experimental.set_step(4)
        traced()  # the step of the trace
    assert situ.summary.experimental.get_step() is None
    assert [step for step, _ in _written(tmp_path)] == [1, 2, 3, 3, 3]


def test_closed_writers_and_writers_that_do_nothing(tmp_path, eager):
    writer = situ.summary.create_file_writer(str(tmp_path))
    writer.close(), writer.close(), writer.flush()
    for use in (writer.init, writer.as_default, writer.set_as_default):
        with pytest.raises(RuntimeError, match="already closed"):
            use()
    with pytest.raises(ValueError, match="Invalid argument to flush"):
        situ.summary.flush(writer=())
    nothing = situ.summary.create_noop_writer()
    with nothing.as_default():
        assert not situ.summary.should_record_summaries().numpy()
        assert not situ.summary.write("tag", 1.0, step=0).numpy()


def test_messages_and_metadata(tmp_path, eager):
    parts = [tf.Summary(value=[tf.Summary.Value(tag=t, simple_value=1.0)]) for t in "ab"]
    parts = [p.SerializeToString() for p in parts]
    metadata = tf.SummaryMetadata()
    metadata.plugin_data.plugin_name = "p"
    with situ.summary.create_file_writer(str(tmp_path)).as_default(step=7):
        assert situ.summary.experimental.write_raw_pb(parts).numpy()
        with pytest.raises(situ.errors.DataLossError, match="Bad tf.compat.v1.Summary"):
            situ.summary.experimental.write_raw_pb("no message")
        data = metadata.SerializeToString()
        for given in (metadata, data, situ.constant(data)):
            situ.summary.write("m", 0, metadata=given)
    values = [v for e in _events(tmp_path) for v in e.summary.value]
    assert [v.tag for v in values] == ["a", "b", "m", "m", "m"]
    assert all(v.metadata == metadata for v in values[2:])


def test_scope_of_a_summary(eager):
    @situ.function
    def f():
        with situ.name_scope("outer"):
            with situ.summary.experimental.summary_scope("a $b/c") as (tag, scope):
                return situ.constant(tag), situ.constant(scope)

    tag, scope = f()
    assert (tag.numpy(), scope.numpy()) == (b"outer/a $b/c", b"outer/ab/c/")
    with situ.summary.experimental.summary_scope("") as (tag, _):
        assert tag == "summary"


def test_graphs_are_written_eagerly_only(tmp_path, eager):
    with tf.Graph().as_default() as made:
        situ.constant(1.0)
        with pytest.raises(ValueError, match="inside a graph context"):
            situ.summary.graph(made)
    assert not situ.summary.graph(made).numpy()
    with situ.summary.create_file_writer(str(tmp_path)).as_default():
        assert situ.summary.graph(made).numpy() and situ.summary.graph(made.as_graph_def()).numpy()
        with pytest.raises(ValueError, match="'graph_data' is not tf.Graph"):
            situ.summary.graph("graph")
    assert sum(bool(e.graph_def) for e in _events(tmp_path)) == 2


def test_summaries_of_tensorflow_1_are_strings_eagerly(eager):
    with situ.name_scope("a"):
        made = tf.summary.tensor_summary("s", situ.constant([1, 2]))
    value = tf.Summary.FromString(made.numpy()).value[0]
    assert value.tag == "a/s" and tf.make_ndarray(value.tensor).tolist() == [1, 2]
    for merge in (lambda: tf.summary.merge([made]), tf.summary.merge_all):
        with pytest.raises(RuntimeError, match="not compatible with eager execution"):
            merge()
    assert tf.summary.all_v2_summary_ops() is None


def test_summaries_of_tensorflow_2_in_a_graph(tmp_path):
    with situ.summary.create_file_writer(str(tmp_path)).as_default():
        step = tf.placeholder("int64", [])
        written = situ.summary.scalar("x", 2.0, step=step)
    assert tf.summary.all_v2_summary_ops() == [written]
    with tf.Session() as sess:
        assert [sess.run(written, {step: i}) for i in (1, 5)] == [True, True]
        sess.run(situ.summary.create_file_writer(str(tmp_path / "b")).flush())
    with pytest.raises(ValueError, match="Invalid graph Tensor argument 'logdir="):
        situ.summary.create_file_writer(tf.constant("a"))
