# SPDX-License-Identifier: Apache-2.0
"""test_slim_nets.py: tf.contrib.slim.nets: shapes, names of variables, end points."""

import pytest

import situ.compat.v1 as tf

slim = tf.contrib.slim


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def names(scope):
    return {v.op.name for v in slim.get_variables(scope)}


@pytest.mark.parametrize(
    "version, unit", [("resnet_v1", "bottleneck_v1"), ("resnet_v2", "bottleneck_v2")]
)
def test_resnets(version, unit):
    module = getattr(slim.nets, version)
    image = tf.zeros([2, 64, 64, 3])
    with slim.arg_scope(module.resnet_arg_scope()):
        net, points = getattr(module, version + "_50")(image, 10, is_training=False)
    assert net.shape.as_list() == [2, 1, 1, 10] and "predictions" in points
    assert not tf.get_collection("update_ops")
    result = names(version + "_50")
    for name in (
        "conv1/weights",
        f"block4/unit_3/{unit}/conv3/weights",
        "logits/biases",
        f"block1/unit_1/{unit}/shortcut/weights",
    ):
        assert f"{version}_50/{name}" in result
    with slim.arg_scope(module.resnet_arg_scope()):
        net, _ = getattr(module, version + "_50")(
            image, None, global_pool=False, output_stride=16, reuse=True
        )
    assert net.shape.as_list() == [2, 4, 4, 2048] and tf.get_collection("update_ops")
    assert names(version + "_50") == result


def test_nets_of_convolutions():
    with slim.arg_scope(slim.nets.vgg.vgg_arg_scope()):
        net, points = slim.nets.vgg.vgg_16(tf.zeros([1, 224, 224, 3]), 7)
    assert net.shape.as_list() == [1, 7] and points["vgg_16/fc8"] is net
    assert "vgg_16/conv5/conv5_3/weights" in names("vgg_16") and len(names("vgg_16")) == 32
    assert len(tf.losses.get_regularization_losses()) == 16
    with slim.arg_scope(slim.nets.alexnet.alexnet_v2_arg_scope()):
        net, _ = slim.nets.alexnet.alexnet_v2(tf.zeros([1, 224, 224, 3]), 7)
    assert net.shape.as_list() == [1, 7]
    with slim.arg_scope(slim.nets.overfeat.overfeat_arg_scope()):
        net, _ = slim.nets.overfeat.overfeat(tf.zeros([1, 231, 231, 3]), 7)
    assert net.shape.as_list() == [1, 7]


def _parameters(base, **kwargs):
    """How many numbers the model variables of a net hold."""
    tf.reset_default_graph()
    module = slim.nets.inception
    with slim.arg_scope(getattr(module, base.replace("base", "arg_scope"))()):
        getattr(module, base)(tf.zeros([1, 299, 299, 3]), **kwargs)
    return sum(v.shape.num_elements() for v in slim.get_model_variables())


def test_inceptions_have_their_number_of_parameters():
    assert _parameters("inception_v1_base") == 5607184
    assert _parameters("inception_v3_base") == 21802784
    few = _parameters("inception_v3_base", depth_multiplier=0.5, final_endpoint="Mixed_5b")
    assert few < _parameters("inception_v3_base", final_endpoint="Mixed_5b") / 3


def test_inception_v3():
    from situ.compat.v1.contrib.slim.python.slim.nets import inception_v3 as module

    assert module.inception_v3 is slim.nets.inception.inception_v3
    image = tf.zeros([2, 299, 299, 3])
    with slim.arg_scope(module.inception_v3_arg_scope()):
        net, points = module.inception_v3(image, 7, is_training=False)
    sizes = {
        "Conv2d_1a_3x3": [149, 149, 32],
        "Conv2d_2a_3x3": [147, 147, 32],
        "Conv2d_2b_3x3": [147, 147, 64],
        "MaxPool_3a_3x3": [73, 73, 64],
        "Conv2d_3b_1x1": [73, 73, 80],
        "Conv2d_4a_3x3": [71, 71, 192],
        "MaxPool_5a_3x3": [35, 35, 192],
        "Mixed_5b": [35, 35, 256],
        "Mixed_5c": [35, 35, 288],
        "Mixed_5d": [35, 35, 288],
        "Mixed_6a": [17, 17, 768],
        "Mixed_6b": [17, 17, 768],
        "Mixed_6c": [17, 17, 768],
        "Mixed_6d": [17, 17, 768],
        "Mixed_6e": [17, 17, 768],
        "Mixed_7a": [8, 8, 1280],
        "Mixed_7b": [8, 8, 2048],
        "Mixed_7c": [8, 8, 2048],
        "AuxLogits": [7],
        "PreLogits": [1, 1, 2048],
        "Logits": [7],
        "Predictions": [7],
    }
    assert {k: v.shape.as_list()[1:] for k, v in points.items()} == sizes
    assert points["Logits"] is net and not tf.get_collection("update_ops")
    result = names("InceptionV3")
    assert len(result) == 388
    for name in (
        "Conv2d_1a_3x3/weights",
        "Mixed_5b/Branch_0/Conv2d_0a_1x1/weights",
        "Mixed_5c/Branch_1/Conv_1_0c_5x5/BatchNorm/moving_mean",
        "Mixed_6a/Branch_0/Conv2d_1a_1x1/BatchNorm/beta",
        "Mixed_7b/Branch_1/Conv2d_0b_3x1/weights",
        "Mixed_7c/Branch_1/Conv2d_0c_3x1/weights",
        "AuxLogits/Conv2d_2a_5x5/weights",
        "AuxLogits/Conv2d_2b_1x1/biases",
        "Logits/Conv2d_1c_1x1/weights",
    ):
        assert f"InceptionV3/{name}" in result
    assert len(tf.get_collection("moving_vars")) == 192
    with slim.arg_scope(module.inception_v3_arg_scope()):
        module.inception_v3(image, 7, reuse=True)
    assert names("InceptionV3") == result and len(tf.get_collection("update_ops")) == 192
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9"):
        module.inception_v3_base(image, "Mixed_9", scope="other")


def test_inceptions_of_small_images_run():
    for version, size in (("v1", 224), ("v3", 96)):
        tf.reset_default_graph()
        module = slim.nets.inception
        with slim.arg_scope(getattr(module, f"inception_{version}_arg_scope")()):
            net, points = getattr(module, "inception_" + version)(
                tf.random_uniform([1, size, size, 3]),
                5,
                **({"create_aux_logits": False} if version == "v3" else {}),
            )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            share = session.run(points["Predictions"])
        assert share.shape == (1, 5) and abs(share.sum() - 1) < 1e-5
    assert "InceptionV3/AuxLogits/Conv2d_2b_1x1/weights" not in names("InceptionV3")
