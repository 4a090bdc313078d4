# SPDX-License-Identifier: Apache-2.0
"""test_model_visualization.py: tf.keras.utils.plot_model: an image if Graphviz is installed,
else Keras' error; DOT files in both cases."""

import os
import stat

import pytest

import situ as tf

layers = tf.keras.layers


def model():
    inputs = tf.keras.Input((4,), name="start")
    left = layers.Dense(3, activation="relu", name="left")(inputs)
    right = layers.Dense(3, name="right")(inputs)
    return tf.keras.Model(inputs, layers.Add(name="total")([left, right]))


@pytest.fixture
def graphviz(tmp_path, monkeypatch):
    """A program `dot` that writes its option and what it reads."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "dot"
    program.write_text('#!/bin/sh\necho "IMAGE $1"\ncat\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    "name, option", [("m.png", "-Tpng"), ("m.svg", "-Tsvg"), ("m.PDF", "-Tpdf"), ("m", "-Tpng")]
)
def test_images(tmp_path, graphviz, name, option):
    tf.keras.utils.plot_model(model(), str(tmp_path / name))
    path = tmp_path / (name if "." in name else name + ".png")
    assert path.read_text().startswith(f"IMAGE {option}\ndigraph {{")


def test_without_graphviz(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImportError, match="You must install graphviz .* for `plot_model` to work"):
        tf.keras.utils.plot_model(model(), str(tmp_path / "m.png"))
    assert not (tmp_path / "m.png").exists()
    tf.keras.utils.plot_model(model(), tmp_path / "m.dot")  # needs no program
    assert (tmp_path / "m.dot").read_text().startswith("digraph {")
    with pytest.raises(OSError):
        tf.keras.utils.plot_model(model(), str(tmp_path / "nowhere" / "m.dot"))


def test_a_program_that_fails(tmp_path, graphviz):
    (tmp_path / "bin" / "dot").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(RuntimeError, match="dot failed: broken"):
        tf.keras.utils.plot_model(model(), str(tmp_path / "m.png"))


def test_what_is_drawn():
    result = model()
    text = str(tf.keras.utils.model_to_dot(result))
    assert text.count("->") == 4 and "<b>left</b> (Dense)" in text and "rankdir=TB" in text
    text = str(
        tf.keras.utils.model_to_dot(
            result,
            show_shapes=True,
            show_dtype=True,
            show_layer_names=False,
            rankdir="LR",
            show_layer_activations=True,
            show_trainable=True,
            dpi=96,
        )
    )
    for part in (
        "(None, 4)",
        "(None, 3)",
        "float32",
        "Activation: relu",
        "Trainable",
        "dpi=96",
        "rankdir=LR",
        "<b>Dense</b>",
    ):
        assert part in text, part
    assert "left" not in text


def test_nested_and_sequential_models():
    inner = tf.keras.Sequential([layers.Dense(2, input_shape=(4,), name="deep")], name="inner")
    outer = tf.keras.Sequential([tf.keras.Input((4,)), inner, layers.Dense(1, name="last")])
    plain = str(tf.keras.utils.model_to_dot(outer))
    assert "deep" not in plain and "inner" in plain and "->" in plain
    nested = str(tf.keras.utils.model_to_dot(outer, expand_nested=True))
    assert 'subgraph "cluster_inner"' in nested and "deep" in nested and "->" in nested
    assert str(tf.keras.utils.model_to_dot(inner, subgraph=True)).startswith("subgraph")


def test_errors(tmp_path):
    with pytest.raises(ValueError, match="has not yet been built"):
        tf.keras.utils.plot_model(tf.keras.Sequential([layers.Dense(2)]), str(tmp_path / "m.dot"))
    with pytest.raises(ValueError, match="Unrecognized keyword arguments"):
        tf.keras.utils.plot_model(model(), str(tmp_path / "m.dot"), show_everything=True)


def test_a_model_of_its_own_class_is_one_node():
    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, x):
            return self.dense(x)

    own = Own()
    own(tf.ones([1, 3]))
    assert "Own" in str(tf.keras.utils.model_to_dot(own))
