# SPDX-License-Identifier: Apache-2.0
"""test_profiler.py: tf.profiler, tf.summary.trace_on, profiles of Keras' TensorBoard, and `situ
run --trace`."""

import glob
import gzip
import json
import os
import struct

import numpy as np
import pytest

import situ as tf
from situ._src.profiler import trace_recorder
from situ._src.profiler.step_stats import RunMetadata
from situ._src.summary.protos import Event


def traced(folder):
    """The events of the only profile in a folder."""
    [path] = glob.glob(os.path.join(str(folder), "plugins", "profile", "*", "*.trace.json.gz"))
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def events(folder):
    """The events of all event files of a folder."""
    found = []
    for path in sorted(glob.glob(os.path.join(str(folder), "**", "events.*"), recursive=True)):
        with open(path, "rb") as file:
            data = file.read()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            found.append(Event.FromString(data[12 : 12 + length]))
            data = data[12 + length + 4 :]
    return found


def test_a_profile_has_operations_and_named_spans(tmp_path):
    with tf.profiler.experimental.Profile(str(tmp_path)):
        for i in range(3):
            with tf.profiler.experimental.Trace("train", step_num=i, _r=1) as trace:
                tf.matmul(tf.ones([4, 4]), tf.ones([4, 4]))
                trace.set_metadata(loss="0.5")
    found = traced(tmp_path)
    assert sum(e["ph"] == "X" and e["name"] == "MatMul" for e in found) == 3
    spans = [e for e in found if e.get("cat") == "span"]
    assert [s["name"] for s in spans] == ["train"] * 3
    assert [s["args"]["step_num"] for s in spans] == [0, 1, 2] and spans[0]["args"]["loss"] == "0.5"
    inside = [e for e in found if e.get("name") == "MatMul"]
    assert spans[0]["ts"] <= inside[0]["ts"] and all(e["dur"] >= 0 for e in spans)


def test_start_and_stop(tmp_path):
    tf.profiler.experimental.start(str(tmp_path / "new" / "folder"))
    with pytest.raises(tf.errors.AlreadyExistsError, match="Another profiler is running"):
        tf.profiler.experimental.start(str(tmp_path))
    tf.profiler.experimental.stop(save=False)
    assert not glob.glob(str(tmp_path / "**" / "*.gz"), recursive=True)
    with pytest.raises(tf.errors.UnavailableError, match="No profiler is running"):
        tf.profiler.experimental.stop()
    with pytest.raises(OSError):
        (tmp_path / "file").write_text("")
        tf.profiler.experimental.start(str(tmp_path / "file"))
    tf.profiler.experimental.start(str(tmp_path))  # the failure left nothing behind
    tf.profiler.experimental.stop()


def test_levels_of_detail(tmp_path):
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=0)
    with tf.profiler.experimental.Profile(str(tmp_path), options=options):
        with tf.device("/cpu:0"):
            tf.sin(tf.ones([4]))
    assert not any(e.get("name") == "Sin" for e in traced(tmp_path))


def test_servers_and_clients_say_that_there_are_none():
    with pytest.raises(tf.errors.UnimplementedError, match="situ run --trace"):
        tf.profiler.experimental.client.trace("grpc://localhost:6009", "/tmp/x", 1000)
    with pytest.raises(tf.errors.UnimplementedError, match="situ run --trace"):
        tf.profiler.experimental.client.monitor("localhost:6009", 1000)


def test_what_records_at_the_same_time_shares(tmp_path):
    outer = trace_recorder.Recording()
    tf.sin(tf.ones([2]))
    with tf.profiler.experimental.Profile(str(tmp_path)):
        tf.cos(tf.ones([2]))
    tf.tan(tf.ones([2]))
    ops = [row[1] for row in outer.end()]
    assert [o for o in ops if o in ("Sin", "Cos", "Tan")] == ["Sin", "Cos", "Tan"]
    inner = [e["name"] for e in traced(tmp_path)]
    assert "Cos" in inner and "Sin" not in inner and "Tan" not in inner


def test_trace_export_writes_the_graph_of_a_function(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))

    @tf.function
    def my_func(x, y):
        return tf.nn.relu(tf.matmul(x, y, name="my_product"))

    tf.summary.trace_on(graph=True)
    my_func(tf.ones([2, 2]), tf.ones([2, 2]))
    with writer.as_default():
        tf.summary.trace_export(name="my_func_trace", step=3)
    writer.close()
    [event] = [e for e in events(tmp_path) if e.summary.value]
    [value] = event.summary.value
    assert value.tag == "my_func_trace" and event.step == 3
    assert value.metadata.plugin_data.plugin_name == "graph_run_metadata_graph"
    metadata = RunMetadata.FromString(value.tensor.string_val[0])
    [graphs] = metadata.function_graphs
    made = graphs.pre_optimization_graph
    assert {"my_product", "Relu"} <= {n.name for n in made.node}


def test_trace_export_with_the_profiler(tmp_path):
    tf.summary.trace_on(graph=True, profiler=True, profiler_outdir=str(tmp_path / "profile"))
    tf.function(lambda x: tf.sin(x))(tf.ones([2]))
    with tf.summary.create_file_writer(str(tmp_path / "events")).as_default():
        tf.summary.trace_export(name="run", step=0)
    assert any(e.get("name") == "Sin" for e in traced(tmp_path / "profile"))
    [event] = [e for e in events(tmp_path / "events") if e.summary.value]
    value = event.summary.value[0]
    assert value.metadata.plugin_data.plugin_name == "graph_run_metadata"
    stats = RunMetadata.FromString(value.tensor.string_val[0]).step_stats
    assert any(n.node_name == "Sin" for d in stats.dev_stats for n in d.node_stats)


def test_trace_export_that_has_nothing_says_so(tmp_path, python):
    with pytest.raises(ValueError, match="Must enable trace before export"):
        tf.summary.trace_export("nothing", step=0)
    result = python(f"""
        import situ as tf
        f = tf.function(lambda x: x + 1.0)
        f(tf.ones([2]))
        tf.summary.trace_on()
        tf.summary.trace_on()
        f(tf.ones([2]))
        with tf.summary.create_file_writer({str(tmp_path)!r}).as_default():
            tf.summary.trace_export("late", step=0)
        tf.summary.trace_on()
        tf.summary.trace_off()
        """)
    assert result.code == 0 and "Trace already enabled" in result.err
    assert "no function was compiled since trace_on" in result.err


def test_summary_graph(tmp_path):
    concrete = tf.function(lambda x: tf.cos(x)).get_concrete_function(tf.TensorSpec([2]))
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        assert tf.summary.graph(concrete.graph)
        with pytest.raises(ValueError, match="graph_data"):
            tf.summary.graph("a graph")
    assert any(b"Cos" in bytes(e.graph_def) for e in events(tmp_path))


def fitted(tmp_path, **options):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), name="dense")])
    model.compile("sgd", "mse")
    board = tf.keras.callbacks.TensorBoard(str(tmp_path), **options)
    model.fit(
        np.ones((8, 3)), np.ones((8, 2)), batch_size=2, epochs=2, verbose=0, callbacks=[board]
    )
    return events(tmp_path)


@pytest.mark.parametrize("batches, steps", [(2, 1), ((2, 4), 3), ("3,5", 3), ("1", 1), (8, 1)])
def test_profiles_of_tensorboard(tmp_path, batches, steps):
    fitted(tmp_path, profile_batch=batches)
    found = [
        e
        for e in traced(tmp_path / "train")
        if e.get("name") == "MatMul" and "grad" not in e["args"]["name"]
    ]
    assert len(found) == steps


def test_profile_batch_0_and_wrong_ones(tmp_path):
    fitted(tmp_path, profile_batch=0)
    assert not glob.glob(str(tmp_path / "**" / "*.gz"), recursive=True)
    for wrong in (-1, (3, 2), (1, 2, 3), "a", 1.5, (-2, 4)):
        with pytest.raises(ValueError, match="profile_batch must be a non-negative integer"):
            tf.keras.callbacks.TensorBoard(str(tmp_path), profile_batch=wrong)


def test_tensorboard_writes_graphs_images_and_speed(tmp_path):
    found = fitted(tmp_path, histogram_freq=1, write_images=True, write_steps_per_second=True)
    assert any(b"dense/MatMul" in bytes(e.graph_def) for e in found)
    tags = {v.tag for e in found for v in e.summary.value}
    assert {"keras", "epoch_steps_per_second", "batch_steps_per_second"} <= tags
    assert any(t.startswith("dense/kernel") and t.endswith("image") for t in tags)
    assert not any(
        b"dense/MatMul" in bytes(e.graph_def)
        for e in fitted(tmp_path / "without", write_graph=False)
    )


def test_run_metadata_is_written(tmp_path):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        metadata = v1.RunMetadata()
        session.run(
            v1.placeholder_with_default([1.0, 2.0], [2]) * 2.0,
            options=options,
            run_metadata=metadata,
        )
        writer = v1.summary.FileWriter(str(tmp_path))
        writer.add_run_metadata(metadata, "step 1", 1)
        writer.add_meta_graph(b"meta")
        with pytest.raises(TypeError, match="MetaGraphDef"):
            writer.add_meta_graph("meta")
        writer.close()
    found = events(tmp_path)
    [event] = [e for e in found if e.tagged_run_metadata.tag]
    stats = RunMetadata.FromString(bytes(event.tagged_run_metadata.run_metadata)).step_stats
    assert any(n.node_name == "mul" for d in stats.dev_stats for n in d.node_stats)
    assert any(bytes(e.meta_graph_def) == b"meta" for e in found)


PROGRAM = {"a.py": "import tensorflow as tf\nprint('ran')\ntf.sin(tf.ones([2]))\n"}


def test_run_checks_the_trace_file_before_the_run(situ, tmp_path):
    for path in ("/nonexist/t.json", str(tmp_path), "a.py/t.json", ""):
        result = situ("run", "--trace", path, "a.py", files=PROGRAM)
        assert result.code != 0 and "ran" not in result.out, path
        assert "situ run:" in result.err and "Traceback" not in result.err
        assert path in result.err or not path
    result = situ("run", "a.py", files=PROGRAM, SITU_COSTS="/nonexist/costs")
    assert result.code != 0 and "ran" not in result.out and "/nonexist/costs" in result.err


def test_run_writes_the_trace(situ, tmp_path):
    result = situ("run", "--trace", "t.json", "a.py", files=PROGRAM)
    assert result.code == 0, result.err
    found = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert any(e.get("name") == "Sin" for e in found)
    if os.path.exists("/dev/full"):
        result = situ("run", "--trace", "/dev/full", "a.py", files=PROGRAM)
        assert result.code != 0 and "cannot write /dev/full" in result.err
