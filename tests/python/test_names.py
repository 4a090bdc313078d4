# SPDX-License-Identifier: Apache-2.0
"""test_names.py: the nodes of composite functions have TensorFlow's names."""

import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    tf.disable_v2_behavior()
    with tf.Graph().as_default() as g:
        yield g
    tf.enable_v2_behavior()


def made(graph, function):
    """The nodes that a call adds: name, op and inputs."""
    before = len(graph.get_operations())
    function()
    return [
        (o.name, o.type, [i.op.name for i in o.inputs]) for o in graph.get_operations()[before:]
    ]


def rows():
    return tf.placeholder(tf.float32, [None, 2], name="p"), tf.placeholder(tf.int32, [], name="n")


@pytest.mark.parametrize(
    "call, expected",
    [
        (
            lambda p, n: tf.reshape(p, [n, 4]),
            [
                ("Reshape/shape/1", "Const", []),
                ("Reshape/shape", "Pack", ["n", "Reshape/shape/1"]),
                ("Reshape", "Reshape", ["p", "Reshape/shape"]),
            ],
        ),
        (
            lambda p, n: tf.convert_to_tensor([n, 3], name="sizes"),
            [("sizes/1", "Const", []), ("sizes", "Pack", ["n", "sizes/1"])],
        ),
        (
            lambda p, n: tf.zeros([n, 2]),
            [
                ("zeros/packed/1", "Const", []),
                ("zeros/packed", "Pack", ["n", "zeros/packed/1"]),
                ("zeros/Const", "Const", []),
                ("zeros", "Fill", ["zeros/packed", "zeros/Const"]),
            ],
        ),
        (
            lambda p, n: tf.ones([300, 20]),
            [
                ("ones/shape_as_tensor", "Const", []),
                ("ones/Const", "Const", []),
                ("ones", "Fill", ["ones/shape_as_tensor", "ones/Const"]),
            ],
        ),
        (
            lambda p, n: tf.zeros_like([1, 2]),
            [("zeros_like/tensor", "Const", []), ("zeros_like", "Const", [])],
        ),
        (lambda p, n: tf.zeros_like(p), [("zeros_like", "ZerosLike", ["p"])]),
        (lambda p, n: tf.div(p, 2.0), [("div/y", "Const", []), ("div", "RealDiv", ["p", "div/y"])]),
    ],
)
def test_nodes_of_a_call(graph, call, expected):
    p, n = rows()
    assert made(graph, lambda: call(p, n)) == expected


def test_packs_are_told_apart(graph):
    n = rows()[1]
    assert [tf.convert_to_tensor([n, 1]).op.name for _ in range(2)] == ["packed", "packed_1"]
    deep = tf.convert_to_tensor([[n, 1], [2, n]], name="deep")
    assert deep.shape.as_list() == [2, 2]
    assert [t.op.name for t in deep.op.inputs] == ["deep/0", "deep/1"]
    with tf.Session() as session:
        assert session.run(deep, {n: 5}).tolist() == [[5, 1], [2, 5]]


def test_sizes_are_known_in_part():
    p = rows()[0]
    n = tf.shape(p)[0]
    assert tf.reshape(p, [n, 2]).shape.as_list() == [None, 2]
    assert tf.random_normal(tf.stack([n, 5])).shape.as_list() == [None, 5]
    assert tf.reshape(p, tf.concat([[n], [2, 1]], 0)).shape.as_list() == [None, 2, 1]
    assert tf.layers.dense(tf.reshape(p, [-1, p.shape[1] * 1]), 3).shape.as_list() == [None, 3]


def test_products_of_unknown_sizes():
    p = tf.placeholder(tf.float32, [None, 2, 3])
    product = tf.tensordot(p, tf.ones([3, 4]), 1)
    assert product.shape.as_list() == [None, 2, 4]
    summed = tf.einsum("nij,nkj->nik", p, p)
    with tf.Session() as session:
        one, two = session.run([product, summed], {p: [[[1, 2, 3], [4, 5, 6]]] * 2})
    assert one.tolist() == [[[6.0] * 4, [15.0] * 4]] * 2
    assert two[1].tolist() == [[14.0, 32.0], [32.0, 77.0]]
