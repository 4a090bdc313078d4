# SPDX-License-Identifier: Apache-2.0
"""test_bad_shapes.py: invalid shapes and types: the error names the op and its inputs, when a
graph is built and eagerly."""

import textwrap

import pytest

# The call (f: a tensor of a shape), and the op and the shapes that the error names.
CASES = [
    ("tf.matmul(f(2, 3), f(4, 5))", "MatMul", "[2,3], [4,5]"),
    ("tf.matmul(f(3), f(3, 3))", "MatMul", "[3], [3,3]"),
    ("tf.matmul(f(2, 3, 4), f(3, 4, 5))", "BatchMatMulV2", "[2,3,4], [3,4,5]"),
    ("tf.add(f(2, 3), f(4))", "Add", "[2,3], [4]"),
    ("f(2, 3) * f(2, 2)", "Mul", "[2,3], [2,2]"),
    ("tf.concat([f(2, 3), f(3, 2)], 0)", "ConcatV2", "[2,3], [3,2], []"),
    ("tf.concat([f(2, 3), f(2)], 0)", "ConcatV2", "[2,3], [2], []"),
    ("tf.stack([f(2), f(3)])", "Pack", "[2], [3]"),
    ("tf.unstack(f(3, 2), num=4)", "Unpack", "[3,2]"),
    ("tf.split(f(5, 2), 2)", "Split", "[], [5,2]"),
    ("tf.reshape(f(2, 3), [4, 2])", "Reshape", "[2,3], [2]"),
    ("tf.reshape(f(2, 3), [])", "Reshape", "[2,3], [0]"),
    ("tf.transpose(f(2, 3), [0, 1, 2])", "Transpose", "[2,3], [3]"),
    ("tf.squeeze(f(2, 3), [0])", "Squeeze", "[2,3]"),
    ("tf.expand_dims(f(2, 3), 7)", "ExpandDims", "[2,3], []"),
    ("tf.gather_nd(f(2, 3), [[0, 0, 0]])", "GatherNd", "[2,3], [1,3]"),
    ("tf.slice(f(2, 3), [0, 0], [3, 3])", "Slice", "[2,3], [2], [2]"),
    ("f(2, 3)[:, :, 0]", "StridedSlice", "[2,3], [3], [3], [3]"),
    ("tf.tile(f(2, 3), [2])", "Tile", "[2,3], [1]"),
    ("tf.pad(f(2, 3), [[1, 1]])", "Pad", "[2,3], [1,2]"),
    ("tf.reduce_sum(f(2, 3), 3)", "Sum", "[2,3], []"),
    ("tf.argmax(f(2, 3), 4)", "ArgMax", "[2,3], []"),
    (
        "tf.nn.conv2d(f(1, 8, 8, 3), f(3, 3, 4, 8), strides=[1, 1, 1, 1], padding='SAME')",
        "Conv2D",
        "[1,8,8,3], [3,3,4,8]",
    ),
    (
        "tf.nn.conv2d(f(1, 2, 2, 3), f(3, 3, 3, 8), strides=[1, 1, 1, 1], padding='VALID')",
        "Conv2D",
        "[1,2,2,3], [3,3,3,8]",
    ),
    (
        "tf.nn.depthwise_conv2d(f(1, 8, 8, 3), f(3, 3, 4, 1), [1, 1, 1, 1], 'SAME')",
        "DepthwiseConv2dNative",
        "[1,8,8,3], [3,3,4,1]",
    ),
    ("tf.nn.max_pool(f(8, 8, 3), [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')", "MaxPool", "[8,8,3]"),
    ("tf.nn.bias_add(f(2, 3), f(4))", "BiasAdd", "[2,3], [4]"),
    (
        "tf.nn.softmax_cross_entropy_with_logits(labels=f(2, 3), logits=f(2, 4))",
        "SoftmaxCrossEntropyWithLogits",
        "[2,4], [2,3]",
    ),
    ("tf.nn.local_response_normalization(f(2, 3))", "LRN", "[2,3]"),
    ("tf.nn.top_k(f(3), 5)", "TopKV2", "[3], []"),
    ("tf.cumsum(f(3), axis=2)", "Cumsum", "[3], []"),
    ("tf.linalg.inv(f(2, 3))", "MatrixInverse", "[2,3]"),
    ("tf.linalg.set_diag(f(2, 3), f(3))", "MatrixSetDiag", "[2,3], [3]"),
    ("tf.math.unsorted_segment_sum(f(3, 2), [0, 1], 2)", "UnsortedSegmentSum", "[3,2], [2], []"),
    ("tf.broadcast_to(f(3), [2, 4])", "BroadcastTo", "[3], [2]"),
    ("tf.reverse(f(3), [2])", "ReverseV2", "[3], [1]"),
    ("tf.clip_by_value(f(3), f(2), f(3))", "ClipByValue", "[3], [2], [3]"),
    ("tf.add_n([f(2), f(3)])", "AddN", "[2], [3]"),
    ("tf.nn.space_to_depth(f(1, 3, 3, 1), 2)", "SpaceToDepth", "[1,3,3,1]"),
    ("tf.einsum('ij,jk->ik', f(2, 3), f(2, 3))", "Einsum", "(2, 3)"),
    (
        "tf.dynamic_stitch([[0, 1], [2]], [f(2, 2), f(1, 3)])",
        "DynamicStitch",
        "[2], [1], [2,2], [1,3]",
    ),
    (
        "tf.dynamic_stitch([[0, 1], [2]], [f(3, 2), f(1, 2)])",
        "DynamicStitch",
        "[2], [1], [3,2], [1,2]",
    ),
    ("tf.raw_ops.LeakyReluGrad(gradients=f(2), features=f(3))", "LeakyReluGrad", "[2], [3]"),
    (
        "tf.raw_ops.ResizeBilinearGrad(grads=f(2, 4, 4, 1), original_image=f(1, 2, 2, 1))",
        "ResizeBilinearGrad",
        "[2,4,4,1], [1,2,2,1]",
    ),
    (
        "tf.raw_ops.ResizeBilinearGrad(grads=f(1, 4, 4, 3), original_image=f(1, 2, 2, 1))",
        "ResizeBilinearGrad",
        "[1,4,4,3], [1,2,2,1]",
    ),
    (
        "tf.raw_ops.StatelessMultinomial(logits=f(2, 3), num_samples=4, seed=[1])",
        "StatelessMultinomial",
        "[2,3], [], [1]",
    ),
    (
        "tf.nn.conv2d(f(1, 4, 4, 0), f(3, 3, 2, 8), strides=[1, 1, 1, 1], padding='SAME')",
        "Conv2D",
        "[1,4,4,0], [3,3,2,8]",
    ),
]
PROGRAM = """
    import re
    import numpy
    import {module} as tf
    def f(*shape):
        return tf.constant(numpy.ones(shape, "float32"))
    for text, op, shapes in {cases!r}:
        try:
            eval(text)
            print("nothing wrong with", text)
        except {error} as error:
            said = re.sub("(float|int32|int64)(?=[[])", "", str(error))
            if op not in said or shapes not in said:
                print("FAILED", text, "said", error)
            else:
                print("good")
    """


@pytest.mark.parametrize(
    "module, error", [("situ", "tf.errors.InvalidArgumentError"), ("situ.compat.v1", "ValueError")]
)
def test_shapes(python, module, error):
    done = python(textwrap.dedent(PROGRAM).format(module=module, error=error, cases=CASES))
    assert done.code == 0, done.err
    assert [line for line in done.out.splitlines() if line != "good"] == []


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            "tf.boolean_mask([1, 2, 3], [True, False])",
            "ValueError",
            "Shapes (3,) and (2,) are incompatible",
        ),
        (
            "tf.image.random_crop(tf.ones([4, 4, 3]), [5, 5, 3])",
            "tf.errors.InvalidArgumentError",
            "Need value.shape >= size, got (4, 4, 3) and [5, 5, 3]",
        ),
        (
            "tf.function(lambda x: tf.cond(x > 0, lambda: 1, lambda: 2))(tf.ones([2]))",
            "ValueError",
            "Shape must be rank 0 but is rank 1 for",
        ),
        (
            "tf.matmul(tf.ones([2, 3]), tf.ones([3, 2], tf.float64))",
            "tf.errors.InvalidArgumentError",
            "cannot compute MatMul as input #1(zero-based) was expected to be a float tensor",
        ),
    ],
)
def test_others(python, call, error, text):
    done = python(f"""
        import situ as tf
        try:
            {call}
        except {error} as error:
            print(error)
        """)
    assert text in done.out, done.err


def test_shapes_that_a_run_tells(python):
    done = python("""
        import situ.compat.v1 as tf
        x = tf.placeholder(tf.float32, [None, None], name="x")
        y = tf.matmul(x, tf.ones([3, 2]), name="tower/product")
        with tf.Session() as session:
            try:
                session.run(y, {x: [[1, 2, 3, 4]]})
            except tf.errors.InvalidArgumentError as error:
                print(error.op.name, error)
        """)
    assert done.out.startswith("tower/product Matrix size-incompatible: In[0]: [1,4], In[1]: [3,2]")
    assert "Inputs of tower/product = MatMul: float[1,4], float[3,2]" in done.out
