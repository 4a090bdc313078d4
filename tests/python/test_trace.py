# SPDX-License-Identifier: Apache-2.0
"""test_trace.py: RunOptions and RunMetadata, Timeline, situ run --trace."""

import json

PROGRAM = """
    import json
    import tensorflow as tf
    from tensorflow.python.client import timeline
    with tf.device('/gpu:0'):
        a = tf.placeholder(tf.float32, [64, 64], name='a')
        b = tf.matmul(a, a, name='b')
    with tf.device('/gpu:1'):
        c = tf.matmul(b, b, name='c')
    sess = tf.Session()
    feed = {a: [[1.0] * 64] * 64}
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    sess.run(c, feed, options=options, run_metadata=metadata)
"""


def test_step_stats(situ):
    result = situ(
        "run",
        "--gpus",
        "2",
        "a.py",
        files={
            "a.py": PROGRAM
            + """
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            assert node.all_start_micros > 1e15 and node.all_end_rel_micros >= 1
            assert node.op_start_rel_micros <= node.op_end_rel_micros <= node.all_end_rel_micros
            print(device.device[-5:], node.timeline_label.split(' #')[0])
    print([sorted(n.name for n in g.node) for g in metadata.partition_graphs])
    metadata = tf.RunMetadata()
    sess.run(c, feed, run_metadata=metadata)
    print(len(metadata.step_stats.dev_stats))
    """
        },
    )
    assert result.err == ""
    lines = result.out.splitlines()
    assert "GPU:0 b = MatMul(a, a)" in lines and "GPU:1 c = MatMul(b, b)" in lines
    assert lines[-2:] == ["[['a', 'b'], ['c']]", "0"]


def test_timeline(situ):
    result = situ(
        "run",
        "--gpus",
        "2",
        "a.py",
        files={
            "a.py": PROGRAM
            + """
    made = timeline.Timeline(metadata.step_stats)
    with_memory = json.loads(made.generate_chrome_trace_format(show_memory=True))
    print("C" in [e["ph"] for e in with_memory["traceEvents"]])
    print(made.generate_chrome_trace_format())
    """
        },
    )
    has_counters, _, trace = result.out.partition("\n")
    assert has_counters == "True"
    events = json.loads(trace)["traceEvents"]
    names = [e["args"]["name"] for e in events if e["ph"] == "M"]
    assert any(n.startswith("/job:localhost/replica:0/task:0/device:GPU:1") for n in names)
    work = [e for e in events if e["ph"] == "X" and e["name"] == "MatMul"]
    assert [e["args"]["name"] for e in work] == ["b", "c"]
    assert {e["ph"] for e in events} == {"M", "X", "s", "t"}


def test_wrong_options(situ):
    result = situ(
        "run",
        "--gpus",
        "2",
        "a.py",
        files={
            "a.py": PROGRAM
            + """
    for words in ({'options': 3}, {'run_metadata': {}}):
        try:
            sess.run(c, feed, **words)
        except TypeError as e:
            print(e)
    """
        },
    )
    assert result.out.splitlines() == [
        "options must be a tf.RunOptions, but got <class 'int'>",
        "run_metadata must be a tf.RunMetadata, but got <class 'dict'>",
    ]


def test_timeout(situ):
    result = situ(
        "run",
        "--gpus",
        "2",
        "a.py",
        files={
            "a.py": PROGRAM
            + """
    for i in range(3000):
        c = tf.matmul(c, b)
    try:
        sess.run(c, feed, options=tf.RunOptions(timeout_in_ms=1))
    except tf.errors.DeadlineExceededError as e:
        print(e.error_code, e.message.splitlines()[0])
    slow = tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=1))
    try:
        slow.run(c, feed)
    except tf.errors.DeadlineExceededError as e:
        print('again')
    print(sess.run(b, feed).shape)
    """
        },
    )
    assert result.out.splitlines() == ["4 Timed out waiting for notification", "again", "(64, 64)"]


def kernels(path):
    """(name of the node, its device) of each kernel of a trace."""
    events = json.loads(path.read_text())["traceEvents"]
    devices = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    return [
        (e["args"]["name"], devices[e["pid"]][-5:])
        for e in events
        if e["ph"] == "X" and "from" not in e["args"]
    ]


def test_run_with_trace(situ, tmp_path):
    result = situ("run", "--gpus", "2", "--trace", "out.json", "a.py", files={"a.py": PROGRAM})
    assert (result.code, result.err) == (0, "")
    assert kernels(tmp_path / "out.json") == [("b", "GPU:0"), ("c", "GPU:1")]
    result = situ(
        "run",
        "--gpus",
        "2",
        "--trace",
        "out.json",
        "a.py",
        files={"a.py": PROGRAM + "    sess.run(c, feed)\n    raise SystemExit(3)\n"},
    )
    assert result.code == 3
    assert kernels(tmp_path / "out.json") == [("b", "GPU:0"), ("c", "GPU:1")] * 2


def test_eager_calls_are_traced(situ, tmp_path):
    situ(
        "run",
        "--gpus",
        "1",
        "--trace",
        "out.json",
        "a.py",
        files={
            "a.py": """
        import tensorflow as tf
        tf.matmul([[1., 2.]], [[3.], [4.]])
        f = tf.function(lambda x: tf.matmul(x, x))
        f(tf.ones([2, 2]))
        """
        },
    )
    assert [device for _, device in kernels(tmp_path / "out.json")].count("GPU:0") >= 2
