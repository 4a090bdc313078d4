# SPDX-License-Identifier: Apache-2.0
"""test_multi_gpu_model.py: Keras models on several GPUs that a program chooses: multi_gpu_model,
and layers that are called under devices in graph style."""

import pytest

PROGRAM = """
    import json
    import numpy as np
    import tensorflow as tf
    {style}
    from tensorflow.keras.utils import multi_gpu_model
    layers = tf.keras.layers
    x = np.random.RandomState(0).randn(21, 4).astype("f")
    y = x.sum(1, keepdims=True)

    def made():
        with tf.device("/cpu:0"):
            return tf.keras.Sequential([
                layers.Dense(3, "tanh", input_shape=(4,), kernel_initializer="ones"),
                layers.Dense(1, kernel_initializer="ones", name="out")])
    plain, base = made(), made()
    several = multi_gpu_model(base, gpus=2)
    for model in (plain, several):
        model.compile("sgd", "mse")
        model.history = model.fit(x, y, batch_size=7, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(plain.history.history["loss"], several.history.history["loss"],
                               rtol=1e-5)
    np.testing.assert_allclose(base.predict(x), several.predict(x), rtol=1e-6)
    print([layer.name.split("_")[0] for layer in several.layers])
    for wrong in (1, 3):
        try:
            multi_gpu_model(base, gpus=wrong)
        except ValueError as e:
            print(e)
"""


def _devices(path, name):
    """The ends of the names of the devices that run an op."""
    import json

    events = json.loads(path.read_text())["traceEvents"]
    names = {e["pid"]: e["args"].get("name") for e in events if e.get("name") == "process_name"}
    return sorted({str(names.get(e["pid"]))[-5:] for e in events if e.get("name") == name})


@pytest.mark.parametrize("style", ["tf.Session", ""])
def test_as_one_model(situ, tmp_path, style):
    done = situ(
        "run",
        "--gpus",
        "2",
        "--trace",
        "trace.json",
        "a.py",
        files={"a.py": PROGRAM.format(style=style)},
    )
    assert not done.code, done.err
    assert done.out.splitlines() == [
        "['dense', 'lambda', 'lambda', 'sequential', 'out']",
        "For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. Received: "
        "`gpus=1`",
        "To call `multi_gpu_model` with `gpus=3`, we expect the following devices to be available: "
        "['/cpu:0', '/gpu:0', '/gpu:1', '/gpu:2']. However this machine only has: ['/cpu:0', "
        "'/gpu:0', '/gpu:1']. Try reducing `gpus`.",
    ]
    assert _devices(tmp_path / "trace.json", "Slice") == ["GPU:0", "GPU:1"]


def test_layers_keep_their_devices_in_graph_style(situ, tmp_path):
    done = situ(
        "run",
        "--gpus",
        "2",
        "--trace",
        "trace.json",
        "a.py",
        files={
            "a.py": """
        import numpy as np
        import tensorflow as tf
        layers = tf.keras.layers
        with tf.device("/gpu:0"):
            x = tf.keras.Input((4,))
            hidden = layers.Dense(3, "tanh")(x)
        with tf.device("/gpu:1"):
            out = layers.Dense(1, "softplus")(hidden)
        model = tf.keras.Model(x, out)
        model.compile(tf.train.AdamOptimizer(), "mse")
        model.fit(np.ones((4, 4)), np.ones((4, 1)), verbose=0)
        """
        },
    )
    assert not done.code, done.err
    assert _devices(tmp_path / "trace.json", "Tanh") == ["GPU:0"]
    assert _devices(tmp_path / "trace.json", "Softplus") == ["GPU:1"]
