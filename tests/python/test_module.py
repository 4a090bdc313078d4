# SPDX-License-Identifier: Apache-2.0
"""test_module.py: tf.Module; more of tf.nest is in test_nest.py."""

import collections

import pytest

import situ as tf


class Dense(tf.Module):
    def __init__(self, size, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(tf.ones([size]))
        self.steps = tf.Variable(0, trainable=False)


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Dense(1), Dense(2, name="second")]
        self.more = {"b": Dense(3)}


def test_module():
    net = Net()
    assert net.name == "net" and net.layers[1].name == "second"
    assert [v.shape.as_list() for v in net.trainable_variables] == [[1], [2], [3]]
    assert len(net.variables) == 6 and len(net.non_trainable_variables) == 3
    assert net.submodules == (*net.layers, net.more["b"])
    with pytest.raises(ValueError, match="not a valid module name"):
        Dense(1, name="a b")


def test_own_variables_come_before_those_of_modules_inside():
    net = Dense(1)
    net.inner = Dense(2)
    assert [v.shape.as_list() for v in net.trainable_variables] == [[1], [2]]


def test_names_of_scopes():
    class Named(tf.Module):
        @tf.Module.with_name_scope
        def __call__(self):
            return tf.Variable(1.0, name="z"), Dense(1)

    with tf.name_scope("a") as full:
        v = tf.Variable(1.0, name="v")
        with tf.name_scope("b"):
            w = tf.Variable(1.0)
    assert (full, v.name, w.name) == ("a/", "a/v:0", "a/b/Variable:0")
    z, dense = Named("outer")()
    assert (z.name, dense.name, dense.name_scope.name) == ("outer/z:0", "dense", "outer/dense/")


def test_module_is_saved(tmp_path):
    net = Net()
    net.layers[0].w.assign([5.0])
    path = tf.train.Checkpoint(net=net).save(str(tmp_path / "c"))
    again = Net()
    tf.train.Checkpoint(net=again).restore(path).assert_consumed()
    assert again.layers[0].w.numpy() == 5


def test_nest():
    pair = collections.namedtuple("pair", "x y")
    tree = {"b": [1, (2, 3)], "a": pair(4, None)}
    assert tf.nest.flatten(tree) == [4, None, 1, 2, 3]
    assert tf.nest.map_structure(lambda v: v and v * 2, tree) == {
        "b": [2, (4, 6)],
        "a": pair(8, None),
    }
    assert tf.nest.map_structure(lambda a, b: a + b, [1, 2], [3, 4]) == [4, 6]
    assert tf.nest.pack_sequence_as([0, [0]], ["x", "y"]) == ["x", ["y"]]
    with pytest.raises(ValueError, match="same nested structure"):
        tf.nest.assert_same_structure([1], [1, 2])
    with pytest.raises(ValueError, match="Could not pack sequence"):
        tf.nest.pack_sequence_as([1, 2], [1])


def test_small_names():
    assert tf.newaxis is None
    assert tf.keras.utils.to_categorical([0, 2], 3).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert tf.nn.compute_average_loss(tf.constant([2.0, 4.0]), global_batch_size=4).numpy() == 1.5
    assert tf.constant([1.0, 2.0])[:, tf.newaxis].shape == [2, 1]
