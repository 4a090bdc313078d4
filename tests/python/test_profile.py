# SPDX-License-Identifier: Apache-2.0
"""test_profile.py: tf.profiler: parameters, float operations and times of graphs; the numbers are
TensorFlow's."""

import json

import numpy as np
import pytest

import situ.compat.v1 as tf

Builder = tf.profiler.ProfileOptionBuilder
ANALYZER = tf.contrib.tfprof.model_analyzer


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def model(graph):
    """A step of a small network for images; (graph, placeholder, loss)."""
    x = tf.placeholder(tf.float32, [8, 24, 24, 3], name="x")
    with tf.variable_scope("conv1") as scope:
        kernel = tf.get_variable("weights", [5, 5, 3, 64])
        biases = tf.get_variable("biases", [64])
        sums = tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), biases)
        conv = tf.nn.relu(sums, name=scope.name)
    pool = tf.nn.max_pool(conv, [1, 3, 3, 1], [1, 2, 2, 1], "SAME", name="pool1")
    with tf.variable_scope("local") as scope:
        weights = tf.get_variable("weights", [12 * 12 * 64, 10])
        biases = tf.get_variable("biases", [10])
        y = tf.add(tf.matmul(tf.reshape(pool, [8, -1]), weights), biases, name=scope.name)
    tf.Variable(0, trainable=False, name="global_step")
    return graph, x, tf.nn.l2_loss(y)


def report(text):
    """The lines of the profile itself."""
    lines = text.split("Profile:\n")[1].splitlines()
    return [line for line in lines if line and not line.startswith("===")]


def quiet(options):
    return Builder(options).with_empty_output().build()


def traced(model):
    graph, x, loss = model
    meta = tf.RunMetadata()
    with tf.Session(graph=graph) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(
            loss,
            {x: np.zeros([8, 24, 24, 3])},
            run_metadata=meta,
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
        )
    return meta


PARAMETERS = """\
node name | # parameters
_TFProfRoot (--/97.03k params)
  conv1 (--/4.86k params)
    conv1/biases (64, 64/64 params)
    conv1/weights (5x5x3x64, 4.80k/4.80k params)
  local (--/92.17k params)
    local/biases (10, 10/10 params)
    local/weights (9216x10, 92.16k/92.16k params)""".splitlines()


def test_parameters_as_the_resnet_programs_print_them(model, capsys):
    stats = ANALYZER.print_model_analysis(
        tf.get_default_graph(), tfprof_options=ANALYZER.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    )
    out = capsys.readouterr().out
    assert stats.total_parameters == 97034 and stats.name == "_TFProfRoot"
    assert [(c.name, c.total_parameters) for c in stats.children] == [
        ("conv1", 4864),
        ("local", 92170),
    ]
    assert stats.children[0].children[1].parameters == 4800
    assert report(out) == PARAMETERS
    assert (
        out.startswith("\n=========================Options====")
        and "-account_type_regexes       _trainable_variables\n" in out
        and "-account_displayed_op_only  true\n-select                     params\n" in out
        and out.endswith("\n======================End of Report==========================\n")
    )


def test_without_options_the_parameters_are_told(model, capsys):
    assert tf.profiler.profile().total_parameters == 97034
    assert report(capsys.readouterr().out) == PARAMETERS


def test_resource_variables_count_too(graph):
    tf.get_variable("v", [3, 4], use_resource=True)
    assert tf.profiler.profile(graph).total_parameters == 12


def test_float_operations_by_scope_and_by_op(model, capsys):
    graph = model[0]
    hide = Builder(Builder.float_operation()).with_node_names(hide_name_regexes=[".*Initializer.*"])
    found = tf.profiler.profile(graph, options=hide.build())
    assert (
        report(capsys.readouterr().out)
        == """\
node name | # float_ops
_TFProfRoot (--/46.67m flops)
  conv1/Conv2D (44.24m/44.24m flops)
  local/MatMul (1.47m/1.47m flops)
  pool1 (663.55k/663.55k flops)
  conv1/BiasAdd (294.91k/294.91k flops)
  L2Loss (239/239 flops)
  local/local (80/80 flops)""".splitlines()
    )
    assert found.total_float_ops == 44236800 + 1474560 + 663552 + 294912 + 239 + 80
    found = tf.profiler.profile(graph, cmd="op", options=ANALYZER.FLOAT_OPS_OPTIONS)
    assert (
        report(capsys.readouterr().out)[:4]
        == """\
node name | # float_ops
Conv2D                   44.24m float_ops (100.00%, 94.39%)
MatMul                   1.47m float_ops (5.61%, 3.15%)
MaxPool                  663.55k float_ops (2.46%, 1.42%)""".splitlines()
    )
    first = found.children[0]
    assert (first.name, first.float_ops, first.total_float_ops) == (
        "Conv2D",
        44236800,
        found.total_float_ops,
    )
    assert first.children[0].name == "MatMul" and len(first.graph_nodes) == 1


COUNTS = {  # what TensorFlow counts for the graph of the next test
    "AddN": 56,
    "ArgMax": 105,
    "ArgMin": 105,
    "AssignAdd": 28,
    "AssignSub": 28,
    "AvgPool": 90,
    "AvgPoolGrad": 180,
    "BatchMatMulV2": 1120,
    "BiasAdd": 120,
    "BiasAddGrad": 115,
    "Conv2D": 6480,
    "Conv2DBackpropFilter": 6480,
    "Conv2DBackpropInput": 6480,
    "DepthwiseConv2dNative": 5184,
    "Equal": 28,
    "Greater": 28,
    "GreaterEqual": 28,
    "L2Loss": 83,
    "Less": 28,
    "LessEqual": 28,
    "Log": 28,
    "MatMul": 392,
    "MaxPool": 160,
    "MaxPoolGrad": 200,
    "Maximum": 28,
    "Mean": 140,
    "Minimum": 28,
    "Neg": 28,
    "NotEqual": 28,
    "Pow": 28,
    "RealDiv": 28,
    "Reciprocal": 28,
    "Rsqrt": 56,
    "Softmax": 140,
    "Square": 28,
    "SquaredDifference": 56,
    "Sum": 105,
}


def test_each_op_counts_as_in_tensorflow(graph):
    a, w = tf.placeholder(tf.float32, [2, 8, 6, 3]), tf.placeholder(tf.float32, [3, 3, 3, 5])
    m, b = tf.placeholder(tf.float32, [4, 7]), tf.placeholder(tf.float32, [5, 4, 7])
    v, bias = tf.get_variable("v", [4, 7]), tf.placeholder(tf.float32, [5])
    c = tf.nn.conv2d(a, w, [1, 2, 2, 1], "SAME")
    tf.gradients(c, [a, w])
    tf.nn.depthwise_conv2d_native(a, tf.ones([3, 3, 3, 2]), [1, 1, 1, 1], "VALID")
    tf.gradients(tf.nn.max_pool(c, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), c)
    tf.gradients(tf.nn.avg_pool(c, [1, 3, 3, 1], [1, 2, 2, 1], "VALID"), c)
    tf.gradients(tf.nn.bias_add(c, bias), bias)
    tf.matmul(m, m, transpose_a=True)
    tf.matmul(b, b, transpose_b=True)
    tf.add_n([m, m, m])
    tf.nn.l2_loss(m)
    tf.nn.softmax(m)
    for name in ("reciprocal", "square", "rsqrt", "log", "negative"):
        getattr(tf.math, name)(m)
    for name in (
        "maximum",
        "minimum",
        "pow",
        "greater_equal",
        "greater",
        "less_equal",
        "less",
        "squared_difference",
        "divide",
        "equal",
        "not_equal",
    ):
        getattr(tf.math, name)(m, tf.ones([7]))
    for name in ("reduce_mean", "reduce_sum", "argmax", "argmin", "reduce_max"):
        getattr(tf.math, name)(b, 1)
    tf.assign_add(v, m)
    tf.assign_sub(v, m)
    found = tf.profiler.profile(graph, cmd="op", options=quiet(Builder.float_operation()))
    counts = {}
    while found.children:
        found = found.children[0]
        counts[found.name] = found.float_ops
    assert {name: counts[name] for name in COUNTS} == COUNTS


def test_open_shapes_are_told(graph, capsys):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    tf.matmul(x, tf.ones([3, 4]))
    assert tf.profiler.profile(graph, options=Builder.float_operation()).total_float_ops == 0
    assert "1 ops no flops stats due to incomplete shapes" in capsys.readouterr().err
    shown = Builder().select(["params"]).with_node_names(show_name_regexes=["x"]).build()
    tf.profiler.profile(graph, options=shown)
    assert report(capsys.readouterr().out)[-1] == "  x (-1x3, 0/0 params)"


def test_many_float_operations_are_counted(graph):
    x = tf.placeholder(tf.float32, [1 << 16, 1 << 16])
    tf.matmul(x, x)
    found = tf.profiler.profile(graph, options=quiet(Builder.float_operation()))
    assert found.total_float_ops == 1 << 49


def test_the_view_of_the_graph_and_a_deep_one(graph, capsys):
    x = tf.placeholder(tf.float32, [4], name="x")
    with tf.control_dependencies([tf.negative(x, name="first")]):
        tf.add(tf.square(x, name="square"), 1.0, name="sum")
    tf.profiler.profile(graph, cmd="graph", options=Builder.float_operation())
    assert report(capsys.readouterr().out)[1:] == [
        "_TFProfRoot (--/12 flops)",
        "  sum (4/12 flops)",
        "    square (4/8 flops)",
        "      first (4/4 flops)",
    ]
    for _ in range(2000):
        x = tf.square(x)
    found = tf.profiler.profile(graph, cmd="graph", options=quiet(Builder.float_operation()))
    assert found.total_float_ops == 12 + 8000


def test_times_of_a_run(model, capsys):
    meta = traced(model)
    found = tf.profiler.profile(
        model[0], run_meta=meta, cmd="op", options=Builder.time_and_memory()
    )
    lines = report(capsys.readouterr().out)
    assert lines[0] == (
        "node name | requested bytes | total execution time | accelerator "
        "execution time | cpu execution time"
    )
    assert any(line.startswith("Conv2D  ") and "1.18MB (" in line for line in lines)
    assert found.total_exec_micros == found.total_cpu_exec_micros > 0
    found = ANALYZER.print_model_analysis(
        model[0], meta, tfprof_cmd="scope", tfprof_options=ANALYZER.PRINT_ALL_TIMING_MEMORY
    )
    assert any(
        line.startswith("    conv1/Conv2D (1.18MB/1.18MB, ")
        for line in report(capsys.readouterr().out)
    )
    conv = [c for c in found.children if c.name == "conv1"][0]
    assert conv.children[0].devices == ["/job:localhost/replica:0/task:0/device:cpu:0"]
    only = Builder(Builder.time_and_memory()).with_accounted_types([".*gpu:0.*"])
    assert tf.profiler.profile(model[0], meta, options=quiet(only.build())).children == []


def test_a_profiler_of_several_steps(model, tmp_path, capsys):
    profiler = tf.profiler.Profiler(model[0])
    metas = [traced(model), traced(model)]
    for step, meta in enumerate(metas):
        profiler.add_step(step, meta)
    one = [
        profiler.profile_operations(
            quiet(Builder(Builder.time_and_memory()).with_step(i).build())
        ).total_exec_micros
        for i in (0, 1, 7)
    ]
    every = profiler.profile_operations(quiet(Builder.time_and_memory())).total_exec_micros
    assert min(one[:2]) - 20 <= every <= max(one[:2]) + 20 and one[2] == 0
    assert (
        profiler.profile_name_scope(Builder.trainable_variables_parameter()).total_parameters
        == 97034
    )
    path = tmp_path / "timeline"
    options = Builder(Builder.time_and_memory()).with_step(1).with_timeline_output(path).build()
    profiler.profile_graph(options)
    events = json.loads((tmp_path / "timeline_1").read_text())["traceEvents"]
    assert any(e["name"] == "Conv2D" for e in events)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no step 7: choose one of \[0, 1\]"):
        profiler.profile_graph({**options, "step": 7})
    assert (
        tf.profiler.profile(model[0], metas[0], options={**options, "step": -1})
        and (tmp_path / "timeline_0").exists()
    )


def test_output_goes_where_it_is_sent(model, tmp_path, capsys):
    path, old = tmp_path / "report", tmp_path / "old"
    options = Builder.trainable_variables_parameter()
    tf.profiler.profile(options=Builder(options).with_file_output(path).build())
    tf.profiler.profile(options={**options, "dump_to_file": str(old)})
    tf.profiler.profile(options=quiet(options))
    assert report(path.read_text()) == report(old.read_text()) == PARAMETERS
    assert capsys.readouterr().out == ""


def test_options_choose_what_is_shown(model, capsys):
    options = (
        Builder()
        .with_max_depth(2)
        .select(["params", "occurrence"])
        .order_by("params")
        .with_min_parameters(0)
        .with_node_names(hide_name_regexes=["x", "L2Loss"])
    )
    found = tf.profiler.profile(options=options.build())
    lines = report(capsys.readouterr().out)
    assert lines[0] == "node name | # parameters | op count (run|defined)"
    assert [line.partition(" (")[0].strip() for line in lines[2:5]] == [
        "local",
        "conv1",
        "global_step",
    ]
    assert found.total_parameters == 97034 + 1 + 8 * 24 * 24 * 3  # what is hidden counts here
    start = Builder(Builder.trainable_variables_parameter()).with_node_names(
        start_name_regexes=["conv1"], trim_name_regexes=["conv1"]
    )
    tf.profiler.profile(options=start.build())
    assert report(capsys.readouterr().out)[1:] == [
        "_TFProfRoot (--/0 params)",
        "  conv1 (--/0 params)",
    ]


def test_types_that_a_program_gives(graph):
    tf.negative(tf.placeholder(tf.float32, [3]), name="n")
    log = tf.profiler.OpLogProto()
    log.log_entries.add(name="n", types=["mine"], float_ops=30)
    options = Builder(Builder.float_operation()).with_accounted_types(["mine"]).build()
    assert tf.profiler.profile(graph, op_log=log, options=options).total_float_ops == 30


@pytest.mark.parametrize(
    "words, error, match",
    [
        ({"cmd": "code"}, tf.errors.UnimplementedError, "cmd='scope' shows them by name"),
        ({"cmd": "tree"}, tf.errors.InvalidArgumentError, "unknown cmd: tree.*scope, graph, op"),
        (
            {"options": Builder().with_pprof_output("p").build()},
            tf.errors.InvalidArgumentError,
            "pprof.*file:outfile",
        ),
        ({"options": Builder().select(["colour"]).build()}, ValueError, "'colour'.*params"),
        ({"options": Builder().order_by("colour").build()}, ValueError, "by name, bytes"),
    ],
)
def test_errors_say_what_there_is(graph, words, error, match):
    with pytest.raises(error, match=match):
        tf.profiler.profile(graph, **words)


def test_a_function_is_profiled_by_its_graph(python):
    result = python("""
        import situ as tf
        from situ.python.profiler.model_analyzer import profile
        from situ.python.profiler.option_builder import ProfileOptionBuilder
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Input((28, 28, 1)), layers.Conv2D(4, 3),
                                     layers.Flatten(), layers.Dense(10)])
        call = tf.function(lambda x: model(x), input_signature=[tf.TensorSpec([1, 28, 28, 1])])
        graph = call.get_concrete_function().graph
        for cmd in "scope", "graph", "op":
            found = profile(graph, cmd=cmd, options=ProfileOptionBuilder.float_operation())
            assert found.total_float_ops == 105466
        """)
    assert result.code == 0, result.err
