# SPDX-License-Identifier: Apache-2.0
"""test_texts.py: numbers as texts."""

import pytest

import situ as tf


@pytest.mark.parametrize(
    "value, words, want",
    [
        ([1.0, 2.5], {}, [b"1.000000", b"2.500000"]),
        ([True, False], {}, [b"true", b"false"]),
        ([3, -4], {"width": 5, "fill": "0"}, [b"00003", b"-0004"]),
        ([1.5], {"precision": 2}, [b"1.50"]),
        ([1e10], {"scientific": True}, [b"1.000000e+10"]),
        ([0.5], {"shortest": True}, [b"0.5"]),
        ([], {}, []),
    ],
)
def test_as_string(value, words, want):
    result = tf.strings.as_string(value, **words)
    assert result.dtype == tf.string and result.numpy().tolist() == want


def test_wrong_formats():
    for words in ({"scientific": True, "shortest": True}, {"fill": "ab"}, {"width": 1000}):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.strings.as_string([1.0], **words)


def test_in_a_graph_on_a_gpu(situ):
    result = situ(
        "run",
        "--gpus",
        "2",
        "a.py",
        files={
            "a.py": """\
        import tensorflow as tf
        x = tf.constant([1.0], name='x')
        with tf.device('/gpu:1'):
            y = x * 2
            s = tf.as_string(y, name='s')
        config = tf.ConfigProto(allow_soft_placement=True)
        print(tf.Session(config=config).run(s))
        try:
            tf.Session().run(s)
        except tf.errors.InvalidArgumentError as e:
            print('no supported kernel for GPU devices is available' in str(e))
        """
        },
    )
    assert result.out.splitlines() == ["[b'2.000000']", "True"]
