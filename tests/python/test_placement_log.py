# SPDX-License-Identifier: Apache-2.0
"""test_placement_log.py: log_device_placement of TF2 programs: functions, fit, datasets, control
flow, gradients and strategies print each node once, when the first program that runs it is made."""

import re

import pytest

PREFIX = "/job:localhost/replica:0/task:0/device:"
LINE = re.compile(rf"^(\S+): \((\w+)\): {PREFIX}(\w+:\d+)$", re.M)


def sections(out):
    """The nodes that are logged behind each line `== NAME` of a program: [(name, op, device)]."""
    parts = re.split(r"^== (\w+)\n", out, flags=re.M)
    return {name: LINE.findall(text) for name, text in zip(parts[1::2], parts[2::2])}


def run(situ, program, *words, gpus="1"):
    result = situ("run", "--gpus", gpus, *words, "a.py", files={"a.py": program})
    assert result.code == 0, result.err
    return sections(result.out)


FUNCTION = """
import tensorflow as tf
tf.debugging.set_log_device_placement(True)
@tf.function
def f(a, b):
    unused = tf.exp(a)
    return tf.matmul(a, b) + 1.0
x = tf.ones([2, 2])
print("== first"); f(x, x)
print("== again"); f(x, x)
print("== retraced"); f(x, tf.ones([2, 3]))
"""


def test_a_function_is_logged_when_it_is_first_compiled(situ):
    logged = run(situ, FUNCTION)
    assert logged["first"] == [
        ("a", "_Arg", "GPU:0"),
        ("b", "_Arg", "GPU:0"),
        ("MatMul", "MatMul", "GPU:0"),
        ("add", "Add", "GPU:0"),
        ("add/y", "Const", "GPU:0"),
    ]  # generators last
    assert logged["again"] == []
    assert ("MatMul", "MatMul", "GPU:0") in logged["retraced"]


def test_nothing_is_logged_when_it_is_off(situ):
    logged = run(situ, FUNCTION.replace("(True)", "(False)"))
    assert logged == {"first": [], "again": [], "retraced": []}


def test_devices_that_a_function_asks_for(situ):
    logged = run(
        situ,
        """
        import tensorflow as tf
        @tf.function
        def f(a):
            with tf.device("/cpu:0"):
                b = a * 2.0
            with tf.device("/gpu:1"):
                return tf.sin(b)
        print("== call"); f(tf.ones([2]))
        """,
        "--log-placement",
        gpus="2",
    )
    assert ("mul", "Mul", "CPU:0") in logged["call"]
    assert ("Sin", "Sin", "GPU:1") in logged["call"]


def test_fit_evaluate_and_predict(situ):
    logged = run(
        situ,
        """
        import numpy as np
        import tensorflow as tf
        m = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(3,), name="hidden")])
        m.compile("sgd", "mse")
        x, y = np.ones((8, 3), "float32"), np.ones((8, 4), "float32")
        print("== fit"); m.fit(x, y, epochs=3, batch_size=4, verbose=0)
        print("== evaluate"); m.evaluate(x, y, batch_size=4, verbose=0)
        print("== predict"); m.predict(x, batch_size=4, verbose=0)
        print("== later")
        m.fit(x, y, epochs=1, batch_size=4, verbose=0)
        m.evaluate(x, y, batch_size=4, verbose=0)
        m.predict(x, batch_size=4, verbose=0)
        """,
        "--log-placement",
    )
    for part in ("fit", "evaluate", "predict"):
        products = [n for n in logged[part] if n[1] == "MatMul" and "grad" not in n[0]]
        assert len(products) == 1 and products[0][2] == "GPU:0", part
        assert products[0][0].endswith("hidden/MatMul")
    assert any("grad" in name for name, _, _ in logged["fit"])
    assert logged["later"] == []


def test_control_flow_and_its_gradients(situ):
    logged = run(
        situ,
        """
        import tensorflow as tf
        @tf.function
        def f(x, n):
            if tf.reduce_sum(x) > 0.0:
                x = tf.sin(x)
            for i in tf.range(n):
                x = tf.tanh(x)
            return x
        print("== call"); f(tf.ones([2]), tf.constant(2)); f(tf.ones([2]), tf.constant(3))
        print("== tape")
        v = tf.Variable([1.0, 2.0])
        for _ in range(2):
            with tf.GradientTape() as tape:
                y = f(v, tf.constant(2))
            tape.gradient(y, v)
        """,
        "--log-placement",
    )
    for op in ("Sin", "Tanh"):
        assert [n[2] for n in logged["call"] if n[1] == op] == ["GPU:0"]
    assert [n[1] for n in logged["tape"]].count("TanhGrad") == 1


def test_functions_of_datasets(situ):
    logged = run(
        situ,
        """
        import tensorflow as tf
        data = tf.data.Dataset.range(6).map(lambda v: v * 3, num_parallel_calls=2).filter(
            lambda v: v > 3).prefetch(1)
        print("== first"); list(data)
        print("== again"); list(data)
        print("== seeded")
        noise = tf.data.Dataset.range(2).map(lambda v: tf.random.uniform([], seed=3))
        list(noise); list(noise)
        print("== reduce")
        data.reduce(tf.constant(0, tf.int64), lambda a, b: a - b)
        """,
        "--log-placement",
    )
    assert [n[2] for n in logged["first"] if n[1] == "Mul"] == ["CPU:0"]
    assert [n[1] for n in logged["first"]].count("Greater") == 1
    assert logged["again"] == []
    assert [n[1] for n in logged["seeded"]].count("RandomUniform") == 1
    assert [n[1] for n in logged["reduce"]].count("Sub") == 1


def test_replicas_of_a_strategy(situ):
    logged = run(
        situ,
        """
        import tensorflow as tf
        strategy = tf.distribute.MirroredStrategy()
        @tf.function
        def step():
            return strategy.run(lambda: tf.exp(tf.ones([2])))
        print("== first"); step()
        print("== again"); step()
        """,
        "--log-placement",
        gpus="2",
    )
    assert sorted(n[2] for n in logged["first"] if n[1] == "Exp") == ["GPU:0", "GPU:1"]
    assert logged["again"] == []


def test_eager_gradients_are_eager_calls(situ):
    result = situ(
        "run",
        "--gpus",
        "1",
        "--log-placement",
        "a.py",
        files={
            "a.py": """
        import tensorflow as tf
        x = tf.constant([1.0, 2.0])
        for _ in range(2):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.tanh(x)
            tape.gradient(y, x)
        """
        },
    )
    assert result.out.count(f"Executing op Tanh in device {PREFIX}GPU:0\n") == 1
    assert result.out.count(f"Executing op TanhGrad in device {PREFIX}GPU:0\n") == 1


SESSION = """
import tensorflow as tf
tf1 = tf.compat.v1
with tf.Graph().as_default():
    data = tf1.data.make_one_shot_iterator(tf1.data.Dataset.range(3).map(lambda v: v * 3))
    x = data.get_next()
    y = tf1.placeholder_with_default(2.0, [], name="y") + 1.0
    with tf1.Session(CONFIG) as session:
        print("== run"); session.run([x, y]); session.run([x, y])
"""


@pytest.mark.parametrize(
    "config, words",
    [
        ("config=tf1.ConfigProto(log_device_placement=True)", ()),
        ("", ("--log-placement",)),
        ("config=tf1.ConfigProto()", ("--log-placement",)),
    ],
)
def test_sessions_of_eager_programs(situ, config, words):
    result = situ(
        "run", "--gpus", "1", *words, "a.py", files={"a.py": SESSION.replace("CONFIG", config)}
    )
    assert result.code == 0, result.err
    assert result.out.count("Device mapping:\n") == 1
    assert result.out.count(f"\ny: {PREFIX}GPU:0\n") == 1
    assert result.out.count(f"mul: (Mul): {PREFIX}CPU:0\n") == 1  # of the dataset


def test_a_session_without_config_follows_the_setting(situ):
    program = SESSION.replace("CONFIG", "").replace(
        "tf1 =", "tf.debugging.set_log_device_placement(True)\ntf1 ="
    )
    result = situ("run", "--gpus", "1", "a.py", files={"a.py": program})
    assert f"\ny: {PREFIX}GPU:0\n" in result.out


def test_enable_eager_execution_with_a_config(situ):
    program = """
        import tensorflow.compat.v1 as tf
        tf.enable_eager_execution(config=tf.ConfigProto(log_device_placement=True))
        tf.sin(tf.constant([1.0]))
        print("== call")
        tf.function(lambda x: tf.cos(x))(tf.constant([1.0]))
        """
    result = situ("run", "--gpus", "1", "a.py", files={"a.py": program})
    assert f"Executing op Sin in device {PREFIX}GPU:0\n" in result.out
    assert ("Cos", "Cos", "GPU:0") in sections(result.out)["call"]
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """
        import tensorflow.compat.v1 as tf
        try:
            tf.enable_eager_execution(config={"log_device_placement": True})
        except TypeError as error:
            print(error)
        """
        },
    )
    assert "config must be a tf.ConfigProto" in result.out


def test_types_without_gpu_kernels_stay_on_the_cpu(situ):
    """TensorFlow has no GPU kernels of Mean and ArgMax for integers."""
    result = situ(
        "run",
        "--gpus",
        "1",
        "a.py",
        files={
            "a.py": """
    import tensorflow as tf
    with tf.device("/gpu:0"):
        a = tf.constant([1, 2])
        tf.reduce_mean(a, name="mean")
        tf.reduce_sum(a, name="sum")
        tf.reduce_mean(tf.cast(a, tf.float32), name="float_mean")
        tf.argmax(a, name="argmax")
    sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    for name, _, _, assigned, _ in sess.placement():
        if name in ("mean", "sum", "float_mean", "argmax"):
            print(name, assigned[-5:])
    """
        },
    )
    assert result.out.splitlines() == [
        "mean CPU:0",
        "sum GPU:0",
        "float_mean GPU:0",
        "argmax CPU:0",
    ]
