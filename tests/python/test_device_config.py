# SPDX-License-Identifier: Apache-2.0
"""test_device_config.py: tf.config: visible and logical devices, memory growth, memory figures and
threads. Expected results are those of TensorFlow 2.21."""

import pytest

START = """
import situ as tf
E = tf.config.experimental
P = tf.config.list_physical_devices
L = tf.config.LogicalDeviceConfiguration
def bogus(kind="GPU", index=9):
    return tf.config.PhysicalDevice(f"/physical_device:{kind}:{index}", kind)
def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
"""
CPU = "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"


def gpu(index):
    return f"PhysicalDevice(name='/physical_device:GPU:{index}', device_type='GPU')"


@pytest.fixture
def outcomes(python):
    """Runs expressions in a new process; returns what each printed."""

    def run(*lines, gpus=0):
        body = "".join(
            line[1:] + "\n" if line.startswith("!") else f"attempt(lambda: ({line}))\n"
            for line in lines
        )
        done = python(START + body, gpus=gpus)
        assert done.err == ""
        return done.out.splitlines()

    return run


def test_devices_are_named_tuples(outcomes):
    assert outcomes(
        "tuple(P('CPU')[0])",
        "P('CPU')[0] == ('/physical_device:CPU:0', 'CPU')",
        "P('CPU')[0]._replace(name='x')",
        "setattr(P('CPU')[0], 'name', 'x')",
        "L(5)",
        "L(5) == L(memory_limit=5), L() == L(1), tuple(L(3, 2))",
        "E.VirtualDeviceConfiguration is L",
    ) == [
        "('/physical_device:CPU:0', 'CPU')",
        "True",
        "PhysicalDevice(name='x', device_type='CPU')",
        "AttributeError can't set attribute",
        "LogicalDeviceConfiguration(memory_limit=5, experimental_priority=None, "
        "experimental_device_ordinal=None)",
        "(True, False, (3, 2, None))",
        "True",
    ]


def test_visible_devices_are_checked(outcomes):
    assert outcomes(
        "tf.config.set_visible_devices(P('CPU'), 'GPU')",
        "tf.config.set_visible_devices(tuple(P('CPU')))",
        "tf.config.set_visible_devices(None)",
        "tf.config.set_visible_devices('CPU:0')",
        "tf.config.set_visible_devices(bogus())",
        "tf.config.set_visible_devices([bogus('CPU', 3)], 'CPU')",
        "tf.config.set_visible_devices([], 'TPU')",
        "tf.config.get_visible_devices(), tf.config.get_visible_devices('FOO')",
    ) == [
        f"ValueError Unrecognized device: {CPU}",
        f"ValueError Unrecognized device: ({CPU},)",
        "ValueError Unrecognized device: None",
        "ValueError Unrecognized device: 'CPU:0'",
        f"ValueError Unrecognized device: {gpu(9)}",
        f"ValueError Unrecognized device: {CPU.replace(':0', ':3')}",
        "None",
        f"([{CPU}], [])",
    ]


def test_a_program_without_cpus_fails_when_it_starts(outcomes):
    missing = "NotFoundError No CPU devices are available in this process"
    assert outcomes(
        "tf.config.set_visible_devices([], 'CPU')",
        "tf.config.get_visible_devices()",
        "tf.config.list_logical_devices()",
        "tf.constant(1.) + 1.",
        "tf.config.set_visible_devices(P('CPU'))",
        "tf.config.set_logical_device_configuration(P('CPU')[0], [])",
        "tf.config.list_logical_devices()",
        "tf.config.set_logical_device_configuration(P('CPU')[0], [L()])",
        "len(tf.config.list_logical_devices())",
    ) == ["None", "[]", missing, missing, "None", "None", missing, "None", "1"]


def test_visible_devices_after_the_start(outcomes):
    late = "RuntimeError Visible devices cannot be modified after being initialized"
    assert outcomes(
        "!tf.constant(1)",
        "tf.config.set_visible_devices(P())",
        "tf.config.set_visible_devices(P('CPU'), 'CPU')",
        "tf.config.set_visible_devices(P('GPU')[0], 'GPU')",
        "tf.config.set_visible_devices([], 'GPU')",
        "tf.config.set_visible_devices(P('CPU') * 2)",
        "tf.config.set_visible_devices(bogus())",
        gpus=2,
    ) == ["None", late, late, late, late, f"ValueError Unrecognized device: {gpu(9)}"]


def test_logical_gpus_are_in_the_order_of_physical_ones(outcomes):
    assert outcomes(
        "!g = P('GPU')",
        "tf.config.set_visible_devices([g[2], g[1]], 'GPU')",
        "[d.name[-1] for d in tf.config.get_visible_devices('GPU')]",
        "E.set_memory_growth(g[1], True), E.set_memory_growth(g[2], True)",
        "len(tf.config.list_logical_devices('GPU'))",
        "[E.get_memory_growth(d) for d in g]",
        gpus=3,
    ) == ["None", "['2', '1']", "(None, None)", "2", "[None, True, True]"]


def test_memory_growth_of_cpus_and_unknown_devices(outcomes):
    on_cpu = "ValueError Cannot set memory growth on non-GPU devices"
    assert outcomes(
        "!c = P('CPU')[0]",
        "E.set_memory_growth(c, True)",
        "E.set_memory_growth(c, None)",
        "E.get_memory_growth(c)",
        "E.set_memory_growth(bogus(), True)",
        "E.get_memory_growth('GPU:0')",
        "E.set_memory_growth([c], True)",
        "tf.config.set_logical_device_configuration(c, [L()] * 2)",
        "E.set_memory_growth(c, True)",
    ) == [
        on_cpu,
        on_cpu,
        f"KeyError {CPU}",
        f"ValueError Unrecognized device: {gpu(9)}",
        "ValueError Unrecognized device: 'GPU:0'",
        f"ValueError Unrecognized device: [{CPU}]",
        "None",
        "ValueError Cannot set memory growth on device when virtual devices configured",
    ]


def test_memory_growth_of_gpus(outcomes):
    late = "RuntimeError Physical devices cannot be modified after being initialized"
    assert outcomes(
        "!g = P('GPU')",
        "E.get_memory_growth(g[0])",
        "E.set_memory_growth(g[0], True)",
        "tf.config.list_logical_devices()",
        "E.set_memory_growth(g[1], True)",
        "len(tf.config.list_logical_devices('GPU'))",
        "E.set_memory_growth(g[1], True)",
        "E.set_memory_growth(g[1], False)",
        "E.set_memory_growth(g[1], None)",
        "E.get_memory_growth(g[1])",
        gpus=2,
    ) == [
        "None",
        "None",
        "ValueError Memory growth cannot differ between GPU devices",
        "None",
        "2",
        "None",
        late,
        late,
        "True",
    ]


def test_growth_may_differ_from_that_of_invisible_and_divided_gpus(outcomes):
    assert outcomes(
        "!g = P('GPU')",
        "E.set_memory_growth(g[0], True)",
        "tf.config.set_visible_devices(g[:1], 'GPU')",
        "len(tf.config.list_logical_devices('GPU'))",
        gpus=2,
    ) == ["None", "None", "1"]
    assert outcomes(
        "!g = P('GPU')",
        "E.set_memory_growth(g[0], True)",
        "tf.config.set_logical_device_configuration(g[1], [L(64), L(64)])",
        "E.set_memory_growth(g[1], True)",
        "len(tf.config.list_logical_devices('GPU'))",
        gpus=2,
    ) == [
        "None",
        "None",
        "ValueError Cannot set memory growth on device when virtual devices configured",
        "3",
    ]


def test_logical_devices_are_checked(outcomes):
    cannot = "on CPU virtual devices is currently not supported"
    assert outcomes(
        "!c, g = P('CPU')[0], P('GPU')[0]",
        "!S = tf.config.set_logical_device_configuration",
        "S(c, [L(memory_limit=0)])",
        "S(c, [L(experimental_priority=1)])",
        "S(c, [L(experimental_device_ordinal=1)])",
        "S(g, [L()])",
        "S(g, [L(64, experimental_device_ordinal=1)])",
        "S(bogus(), [L(64)])",
        "S(c, L())",
        "tf.config.get_logical_device_configuration(c)",
        "tf.config.get_logical_device_configuration('CPU:0')",
        gpus=1,
    ) == [
        f"ValueError Setting memory limit {cannot}",
        f"ValueError Setting experimental_priority {cannot}",
        f"ValueError Setting experimental_device_ordinal {cannot}",
        "ValueError Setting memory limit is required for GPU virtual devices",
        "None",
        f"ValueError Unrecognized device: {gpu(9)}",
        "AttributeError 'NoneType' object has no attribute 'memory_limit'",
        "None",
        "ValueError Unrecognized device: 'CPU:0'",
    ]


def test_logical_devices_after_the_start(outcomes):
    late = "RuntimeError Virtual devices cannot be modified after being initialized"
    assert outcomes(
        "!c, S = P('CPU')[0], tf.config.set_logical_device_configuration",
        "S(c, [L()] * 2)",
        "S(c, [L()] * 3)",
        "len(tf.config.list_logical_devices())",
        "S(c, [L()] * 3)",
        "S(c, (L(),) * 3)",
        "S(c, [L()] * 2)",
        "len(tf.config.get_logical_device_configuration(c))",
    ) == ["None", "None", "3", "None", late, late, "3"]


def test_memory_figures_of_a_name_that_matches_one_device(outcomes):
    invalid = (
        "ValueError Failed parsing device name: '%s'. Note a valid device string should at least "
        'contain a device type and a device index, like "GPU:0".'
    )
    several = "ValueError Multiple devices match the provided string '%s': '%s0' and '%s1'."
    full = "/job:localhost/replica:0/task:0/device:CPU:"
    right = ["CPU:1", "/device:CPU:0", "/cpu:1", full + "2", "CPU:01", "/job:localhost/cpu:0"]
    wrong = ["CPU", "foo", "CPU:x", "CPU:", "CPU:*", "*:1", "/device:CPU:1/"]
    absent = ["unknown_device:0", "GPU:0", "cpu:0", "CPU:9", "/job:x/device:CPU:0", "TPU:0"]
    vague = ["", "/", "/job:localhost", "/device:CPU", "/device:CPU:*"]
    names = [right, wrong, absent, vague]
    found = outcomes(
        "!tf.config.set_logical_device_configuration(P('CPU')[0], [L()] * 3)",
        *(f"E.get_memory_info({n!r})['peak']" for group in names for n in group),
        "E.reset_memory_stats('foo:0')",
        "E.get_memory_usage('foo:0')",
        "E.reset_memory_stats('CPU:0')",
    )
    assert found == [
        *("0" for _ in right),
        *(invalid % n for n in wrong),
        *(f"ValueError No matching devices found for '{n}'" for n in absent),
        *(several % (n, full, full) for n in vague),
        *["ValueError No matching devices found for 'foo:0'"] * 2,
        "None",
    ]


def test_details_of_devices(outcomes):
    assert outcomes(
        "E.get_device_details(P('CPU')[0])",
        "list(E.get_device_details(P('GPU')[0]))",
        "E.get_device_details(bogus())",
        "E.get_device_details('CPU:0')",
        gpus=1,
    ) == [
        "{}",
        "['device_name']",
        "ValueError The PhysicalDevice must be one obtained from calling "
        f"`tf.config.list_physical_devices`, but got: {gpu(9)}",
        "ValueError device must be a tf.config.PhysicalDevice, but got: CPU:0",
    ]


def test_threads_after_the_start(outcomes):
    assert outcomes(
        "!T = tf.config.threading",
        "T.get_intra_op_parallelism_threads(), T.get_inter_op_parallelism_threads()",
        "T.set_intra_op_parallelism_threads(2)",
        "!tf.constant(1)",
        "T.set_intra_op_parallelism_threads(2)",
        "T.set_intra_op_parallelism_threads(4)",
        "T.set_inter_op_parallelism_threads(0)",
        "T.get_intra_op_parallelism_threads()",
    ) == [
        "(0, 0)",
        "None",
        "None",
        "RuntimeError Intra op parallelism cannot be modified after initialization.",
        "RuntimeError Inter op parallelism cannot be modified after initialization.",
        "2",
    ]


def test_sessions_use_the_configured_devices(outcomes):
    assert outcomes(
        "!tf.config.set_logical_device_configuration(P('CPU')[0], [L()] * 2)",
        "!graph = tf.Graph()",
        "!with graph.as_default(), tf.device('/cpu:1'): c = tf.constant(1.) + 1.",
        "!session = tf.compat.v1.Session(graph=graph)",
        "[d.name[-5:] for d in session.list_devices()]",
        "session.run(c)",
    ) == ["['CPU:0', 'CPU:1']", "2.0"]


def test_devices_of_eager_scopes(outcomes):
    got = "ValueError Expecting a string device name. Got <class '%s'>(%s)"
    assert outcomes(
        "!tf.config.set_logical_device_configuration(P('CPU')[0], [L()] * 3)",
        "!def at(device):\n  with tf.device('/cpu:1'), tf.device(device): "
        "return (tf.constant(1.) + 1.).device[-5:]",
        "at(tf.DeviceSpec(device_type='CPU', device_index=2))",
        "at(tf.DeviceSpec(device_index=2))",
        "at(tf.DeviceSpec())",
        "at(tf.config.list_logical_devices()[2])",
        "at('cpu'), at(None), at(''), at('/job:localhost'), at('/device:CPU:*')",
        "at(3)",
        "at([])",
        "at(P('CPU')[0])",
    ) == [
        "CPU:2",
        "CPU:1",
        "CPU:1",
        "CPU:2",
        "('CPU:1', 'CPU:0', 'CPU:1', 'CPU:1', 'CPU:1')",
        got % ("int", "3"),
        got % ("list", "[]"),
        got % ("situ._src.framework.device_types.PhysicalDevice", CPU),
    ]


def test_strings_are_on_the_cpu_of_the_scope(outcomes):
    assert outcomes(
        "!tf.config.set_logical_device_configuration(P('CPU')[0], [L()] * 2)",
        "!with tf.device('/cpu:1'): t = [tf.constant('s'), tf.convert_to_tensor('s'), "
        "tf.zeros([], tf.string), tf.identity('s'), tf.constant(1), tf.constant(True)]",
        "{x.device[-5:] for x in t}",
        "tf.constant('s').device[-5:]",
    ) == ["{'CPU:1'}", "CPU:0"]


def test_eager_colocation_uses_the_device_of_a_value(outcomes):
    assert outcomes(
        "!tf.config.set_logical_device_configuration(P('CPU')[0], [L()] * 3)",
        "!def at(value):\n"
        "  with tf.compat.v1.colocate_with(value): return (tf.constant(1.) + 1.).device[-5:]",
        "!with tf.device('/cpu:1'): x, v = tf.constant(1.), tf.Variable(1.)",
        "at(x), at(v), at(None), at([1., 2.])",
    ) == ["('CPU:1', 'CPU:1', 'CPU:0', 'CPU:0')"]


def test_device_scopes_end_in_the_reverse_order(outcomes):
    assert outcomes(
        "!a, b = tf.device('/cpu:0'), tf.device('CPU:0')",
        "a.__enter__(), b.__enter__()",
        "a.__exit__(None, None, None)",
    ) == [
        "(None, None)",
        "RuntimeError Exiting device scope without proper scope nesting",
    ]


def test_device_policies(outcomes):
    assert outcomes(
        "tf.config.experimental.get_device_policy()",
        "!tf.config.experimental.set_device_policy('explicit')",
        "tf.config.experimental.get_device_policy()",
        "tf.config.experimental.set_device_policy(None)",
        "tf.config.experimental.get_device_policy()",
        "tf.config.experimental.set_device_policy('quiet')",
    )[:4] == ["silent", "explicit", "None", "silent"]


def test_ordinals_order_virtual_gpus(python):
    """Lower ordinals have lower numbers; among equal ones the physical device counts."""
    done = python(
        """
        import situ as tf
        L, gpus = tf.config.LogicalDeviceConfiguration, tf.config.list_physical_devices("GPU")
        for gpu, limits in zip(gpus, ([10, 20], [30, 40])):
            tf.config.set_logical_device_configuration(
                gpu, [L(mb, None, i) for i, mb in enumerate(limits)])
        print([tf.config.experimental.get_memory_info(f"GPU:{i}")["limit"] >> 20
               for i in range(len(tf.config.list_logical_devices("GPU")))])
        """,
        gpus=2,
    )
    assert done.out == "[10, 30, 20, 40]\n", done.err
    done = python(
        """
        import situ as tf
        L, gpus = tf.config.LogicalDeviceConfiguration, tf.config.list_physical_devices("GPU")
        tf.config.set_logical_device_configuration(gpus[0], [L(10, None, 1), L(10)])
        try:
            tf.config.list_logical_devices("GPU")
        except ValueError as error:
            print(error)
        """,
        gpus=1,
    )
    assert "device_ordinals must be specified for all" in done.out


def test_virtual_gpus_of_a_session(python):
    """memory_limit_mb is a list of floats."""
    done = python(
        """
        import situ.compat.v1 as tf
        options = tf.GPUOptions(visible_device_list="0,1")
        for ordinals in ([1, 0], [0, 1]):
            options.experimental.virtual_devices.add(
                memory_limit_mb=[64.5, 128], device_ordinal=ordinals)
        with tf.Graph().as_default(), tf.Session(
                config=tf.ConfigProto(gpu_options=options)) as session:
            print([d.memory_limit_bytes / 2**20 for d in session.list_devices()
                   if d.device_type == "GPU"])
        """,
        gpus=2,
    )
    assert done.out == "[128.0, 64.5, 64.5, 128.0]\n", done.err
