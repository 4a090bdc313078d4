# SPDX-License-Identifier: Apache-2.0
"""test_odd_inputs.py: empty tensors, sizes that overflow, indices out of range, ranks unknown
while a graph is built: the result or error of TensorFlow."""

import numpy as np
import pytest

import situ as tf


def gradients(function, *arrays):
    xs = [tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        y = function(*xs)
    return [
        None if g is None else np.asarray(tf.convert_to_tensor(g)) for g in tape.gradient(y, xs)
    ]


def test_integers_of_numpy_in_lists_are_plain_ones():
    types = [
        tf.constant(v).dtype.name
        for v in (
            [np.int64(1), np.int64(2)],
            (np.int64(1), 2),
            [[np.int64(1)], [np.int64(2)]],
            [np.array([1, 2])],
            [np.int64(1 << 40)],
            np.int64(1),
            np.array([1]),
            [tf.constant(1, tf.int64)],
        )
    ]
    assert types == ["int32"] * 4 + ["int64"] * 4


def test_every_part_of_a_concatenation_has_its_gradient():
    weights = np.arange(1, 8, dtype="f")
    found = gradients(
        lambda x, y, z: tf.reduce_sum(tf.concat([x, y, z], 0) * weights),
        np.ones(2, "f"),
        np.ones(3, "f"),
        np.ones(2, "f"),
    )
    assert [g.tolist() for g in found] == [[1, 2], [3, 4, 5], [6, 7]]
    found = gradients(lambda x, y: tf.concat([x, y], 1), np.ones((2, 1), "f"), np.ones((2, 0), "f"))
    assert [g.shape for g in found] == [(2, 1), (2, 0)]


def test_gradients_of_products_of_segments():
    data, ids = np.array([2, 3, 0, 5, 0, 0, 7], "f"), np.array([0, 0, 1, 1, 2, 2, -1])
    (found,) = gradients(lambda x: tf.math.unsorted_segment_prod(x, ids, 4), data)
    np.testing.assert_allclose(found, [3, 2, 5, 0, 0, 0, 0])


def test_rows_of_negative_numbers_get_no_gradient_of_an_extreme():
    (found,) = gradients(
        lambda x: tf.math.unsorted_segment_max(x, [-1, 0, 1], 2), np.array([3, 3, 4], "f")
    )
    np.testing.assert_allclose(found, [0, 1, 1])


def test_gradient_of_cholesky():
    x = np.array([[4, 2], [2, 3]], "float64")
    (found,) = gradients(tf.linalg.cholesky, x)
    step, by_steps = 1e-6, np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            d = np.zeros((2, 2))
            d[i, j] += step / 2
            d[j, i] += step / 2
            by_steps[i, j] = (np.linalg.cholesky(x + d).sum() - np.linalg.cholesky(x - d).sum()) / (
                2 * step
            )
    np.testing.assert_allclose(found, by_steps, rtol=1e-5)


@pytest.mark.parametrize(
    "name, own, given", [("max", [0, 0.5, 1], [1, 0.5]), ("min", [1, 0.5, 1], [0, 0.5])]
)
def test_gradients_of_scattered_extremes(name, own, given):
    function = getattr(tf, "tensor_scatter_nd_" + name)
    found = gradients(
        lambda x, u: function(x, [[0], [1]], u), np.array([1, 2, 3], "f"), np.array([5, 2], "f")
    )
    np.testing.assert_allclose(found[0], own)
    np.testing.assert_allclose(found[1], given)


def test_gradient_of_a_mask_along_a_later_axis():
    (found,) = gradients(
        lambda x: tf.boolean_mask(x, [[True], [False]], axis=1), np.ones((3, 2, 1), "f")
    )
    assert found.ravel().tolist() == [1, 0] * 3


def test_gradient_of_a_mask_of_rows_is_dense():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.boolean_mask(x, [True, False, True])
    assert tape.gradient(y, x).numpy().tolist() == [[1, 1], [0, 0], [1, 1]]
    assert tf.boolean_mask(tf.ones([3, 2, 0]), [[True, False]] * 3).shape == [3, 0]
    assert tf.boolean_mask(["a", "b"], [False, True]).numpy().tolist() == [b"b"]


def test_gradient_of_gather_where_nothing_is_known():
    @tf.function(
        input_signature=[
            tf.TensorSpec(None, "float32"),
            tf.TensorSpec(None, "int32"),
            tf.TensorSpec([], "int32"),
        ]
    )
    def slope(x, picks, axis):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.gather(x, picks, axis=axis)
        return tape.gradient(y, x)

    x, picks = np.zeros((2, 3, 2), "f"), [[2, 0], [2, 2]]
    assert slope(x, picks, -2).numpy()[0].tolist() == [[1, 1], [0, 0], [3, 3]]
    assert slope(x, [1], 0).numpy()[:, 0, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: tf.argmin(tf.zeros([0], "int16"), 0), "empty in shape"),
        (lambda: tf.argmax(tf.zeros([0])), "empty in shape"),
        (lambda: tf.math.invert_permutation([0, 0, 1]), "0 is duplicated"),
        (lambda: tf.tile(tf.zeros([4]), tf.constant([2**62], "int64")), "too many to repeat"),
        (lambda: tf.pad([1.0], tf.constant([[2**62, 2**62]], "int64")), "too large"),
        (lambda: tf.math.bincount([1, -1]), "must be non-negative"),
        (lambda: tf.math.segment_sum([1.0, 2.0], [1, 0]), "segment ids are not increasing"),
        (lambda: tf.math.segment_max([1.0, 2.0], [-1, 0]), "Segment id -1 out of range"),
        (lambda: tf.gather(tf.zeros([2, 3]), [[0], [3]], batch_dims=1), r"is not in \[0"),
        (lambda: tf.gather(tf.zeros([2, 3]), [[0], [-1]], batch_dims=1), r"is not in \[0"),
        (lambda: tf.sort([1.0, 2.0], axis=1), "out of range for rank 1"),
        (lambda: tf.sort(1.0), "scalar"),
        (lambda: tf.pad([1, 2], [[2, 0]], "REFLECT"), "must be less than the dimension size: 2, 0"),
        (lambda: tf.pad([1, 2], [[3, 0]], "SYMMETRIC"), "must be no greater than"),
        (lambda: tf.pad([1, 2], [[-1, 0]], "SYMMETRIC"), "non-negative"),
        (lambda: tf.random.normal(tf.constant([2**40, 2**40], "int64")), "2^63"),
        (
            lambda: tf.raw_ops.UnsortedSegmentJoin(
                inputs=[["a", "b", "c", "d"]],
                segment_ids=[1],
                num_segments=tf.constant(2**62, "int64"),
            ),
            "2^63",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words.replace("^", r"\^")):
        call()


def test_a_cross_of_few_features_in_a_huge_batch():
    batch = 2**62
    result = tf.raw_ops.SparseCross(
        indices=[tf.constant([[0, 0], [batch - 2, 0], [batch - 1, 0]], "int64")] * 2,
        values=[tf.constant([1, 2, 3], "int64")] * 2,
        shapes=[tf.constant([batch, 1], "int64")] * 2,
        dense_inputs=[],
        hashed_output=True,
        num_buckets=100,
        hash_key=1,
        out_type="int64",
        internal_type="int64",
    )
    assert result.output_indices.numpy().tolist() == [[0, 0], [batch - 2, 0], [batch - 1, 0]]
    assert result.output_shape.numpy().tolist() == [batch, 1]


def test_sizes_that_overflow_are_refused_while_building():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="too many to repeat"):
            tf.tile(tf.zeros([1 << 30]), tf.constant([1 << 34], "int64"))


def test_empty_tensors():
    assert tf.unstack(tf.zeros([2, 0, 4]), axis=1) == []
    assert tf.stack([]).shape == [0]
    assert tf.map_fn(lambda x: x * 2, tf.zeros([0, 3])).shape[0] == 0
    with pytest.raises(ValueError, match="not in range"):
        tf.unstack(tf.constant(1.0))


def test_segments_without_rows_are_zero():
    assert tf.math.segment_max([-1.0, -2.0], [1, 3]).numpy().tolist() == [0, -1, 0, -2]
    assert tf.math.segment_min([1.0, 2.0], [1, 1]).numpy().tolist() == [0, 1]
    np.testing.assert_allclose(
        tf.math.unsorted_segment_sqrt_n([1.0, 3.0], [1, 1], 3), [0, 4 / 2**0.5, 0]
    )


def test_shapes_of_random_numbers_may_be_long_integers():
    assert tf.random.normal(tf.constant([2, 3], "int64")).shape == [2, 3]
    assert tf.random.uniform(np.array([2])).shape == [2]


def test_masks_as_indices():
    x = tf.constant([[1, 2], [3, 4]])
    assert x[tf.constant([False, True])].numpy().tolist() == [[3, 4]]
    assert x[np.array([[True, False], [True, True]])].numpy().tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    "equation, forms",
    [
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("iij->ji", [(2, 2, 3)]),
        ("...ij,jk->...ik", [(4, 2, 3), (3, 2)]),
        ("...ij,...jk", [(2, 1, 2, 3), (4, 3, 2)]),
        ("...,...->...", [(1, 3), (2, 1)]),
        ("i...->...", [(3, 2)]),
    ],
)
def test_letters_twice_and_dots(equation, forms):
    arrays = [np.random.RandomState(i).rand(*f) for i, f in enumerate(forms)]
    np.testing.assert_allclose(tf.einsum(equation, *arrays), np.einsum(equation, *arrays))


def test_letters_that_are_wrong():
    with pytest.raises(tf.errors.InvalidArgumentError, match="letter 'l', which no input has"):
        tf.einsum("ij,jk->il", np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="to have rank 2 but got rank 1"):
        tf.einsum("ij->i", np.ones(2))


ANY = [
    (lambda x: tf.nn.log_softmax(x, axis=-2), (2, 3, 2)),
    (lambda x: tf.nn.softmax(x, axis=0), (2, 3)),
    (lambda x: tf.nn.softmax_cross_entropy_with_logits(labels=x, logits=x), (2, 3)),
    (lambda x: tf.nn.softmax_cross_entropy_with_logits(labels=x, logits=x), (2, 1, 3)),
    (tf.transpose, (2, 3, 4)),
    (lambda x: tf.sort(x, axis=0), (3, 2)),
    (lambda x: tf.nn.moments(x, [0])[1], (3, 2)),
    (lambda x: tf.einsum("ij,jk->ik", x, x), (3, 3)),
]


@pytest.mark.parametrize("function, form", ANY)
def test_ranks_that_only_a_run_knows(function, form):
    x = np.random.RandomState(1).rand(*form).astype("f")
    late = tf.function(function, input_signature=[tf.TensorSpec(None, "float32")], autograph=False)
    np.testing.assert_allclose(late(x), function(tf.constant(x)), rtol=1e-6)


SIZES = [
    (lambda x: tf.pad(x, [[0, 0], [2, 1], [1, 0], [0, 0]], "REFLECT"), (1, 3, 2, 4)),
    (lambda x: tf.pad(x, [[1, 1], [2, 1], [0, 2], [0, 0]], "SYMMETRIC"), (1, 3, 2, 4)),
    (lambda x: tf.nn.depth_to_space(x, 2), (1, 3, 2, 4)),
    (lambda x: tf.nn.space_to_depth(x, 2), (1, 4, 2, 3)),
    (lambda x: tf.nn.depth_to_space(x, 2, data_format="NCHW"), (1, 4, 2, 3)),
    (lambda x: tf.space_to_batch(x, [2, 2], [[1, 1], [0, 0]]), (1, 4, 2, 3)),
    (lambda x: tf.batch_to_space(x, [2, 2], [[1, 0], [0, 0]]), (4, 4, 2, 3)),
]


@pytest.mark.parametrize("function, form", SIZES)
def test_sizes_that_only_a_run_knows(function, form):
    x = np.random.RandomState(1).rand(*form).astype("f")
    late = tf.function(
        function, input_signature=[tf.TensorSpec([None] * 4, "float32")], autograph=False
    )
    np.testing.assert_allclose(late(x), function(tf.constant(x)), rtol=1e-6)


def test_mirrored_margins():
    x, margins = np.arange(12).reshape(3, 4), [[2, 1], [1, 3]]
    for mode in ("reflect", "symmetric"):
        np.testing.assert_array_equal(tf.pad(x, margins, mode), np.pad(x, margins, mode))
    late = tf.function(
        lambda x, m: tf.pad(x, m, "REFLECT"),
        autograph=False,
        input_signature=[tf.TensorSpec([None, None], "int64"), tf.TensorSpec([2, 2], "int32")],
    )
    np.testing.assert_array_equal(late(x, margins), np.pad(x, margins, "reflect"))
    with pytest.raises(tf.errors.InvalidArgumentError):
        late(x, [[3, 0], [0, 0]])


def _nested(values):
    if isinstance(values, (list, tuple)):
        return [y for x in values for y in _nested(x)]
    return [values]


def test_functions_that_call_themselves_are_traced():
    @tf.function
    def total(x):
        return tf.add_n(_nested([x, [x + 1, (x + 2,)]]))

    assert float(total(tf.constant(1.0))) == 6


def test_given_gradients_fit_their_tensors():
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        with pytest.raises(ValueError, match=r"shape \[3\], but 'mul.*' has shape \[2\]"):
            tf.compat.v1.gradients(x * 2, x, grad_ys=[tf.constant([1.0, 2.0, 3.0])])


def test_conditions_of_graphs_are_one_truth():
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="float32 that does not match expected type of bool"):
            tf.compat.v1.cond(tf.constant(1.0), lambda: 1.0, lambda: 2.0)
        many = tf.compat.v1.placeholder(tf.bool, [None])
        with pytest.raises(ValueError, match="rank 0 but is rank 1"):
            tf.compat.v1.cond(many, lambda: 1.0, lambda: 2.0)


def test_gradient_of_running_products_with_zeros():
    (found,) = gradients(lambda x: tf.math.cumprod(x, exclusive=True), np.array([2, 0, 3], "f"))
    np.testing.assert_allclose(found, [1, 0, 0])


def test_seldom_mathematics():
    x = np.array([-100, 0, 2], "f")
    np.testing.assert_allclose(
        tf.math.log_sigmoid(x), [-100, np.log(0.5), -np.log1p(np.exp(-2))], rtol=1e-6
    )
    np.testing.assert_allclose(tf.math.reciprocal_no_nan(x), [-0.01, 0, 0.5])
    np.testing.assert_allclose(
        tf.math.multiply_no_nan([np.nan, 2.0, np.inf], [0.0, 3.0, 0.0]), [0, 6, 0]
    )
    np.testing.assert_allclose(tf.math.polyval([1.0, 2.0, 3.0], x), x * x + 2 * x + 3)
    np.testing.assert_allclose(tf.linalg.cross([1.0, 2, 3], [4.0, 5, 6]), [-3, 6, -3])
    sign, log = tf.linalg.slogdet([[0.0, 2.0], [1.0, 0.0]])
    assert float(sign) == -1 and float(log) == pytest.approx(np.log(2))
    y = np.array([[1, 2], [3, 1000]], "f")
    np.testing.assert_allclose(
        tf.math.cumulative_logsumexp(y, axis=1)[:, 1], np.logaddexp(y[:, 0], y[:, 1])
    )
    with pytest.raises(TypeError, match="integer type"):
        tf.math.reduce_std([1, 2])
    assert tf.math.segment_sum(tf.zeros([0, 2]), tf.zeros([0], "int32")).shape == [0, 2]
    (found,) = gradients(tf.grad_pass_through(tf.floor), np.array([1.5], "f"))
    assert found.tolist() == [1]


IMAGES = [
    lambda x: tf.image.central_crop(x, 0.6),
    lambda x: tf.image.resize(x, [5, 9], preserve_aspect_ratio=True),
    lambda x: tf.image.resize_with_pad(x, 9, 5),
    lambda x: tf.image.resize_with_crop_or_pad(x, 3, 9),
    lambda x: tf.image.total_variation(x),
    lambda x: tf.roll(x, [1, -3], [0, 1]),
]


@pytest.mark.parametrize("function", IMAGES)
def test_images_whose_size_only_a_run_knows(function):
    x = np.random.RandomState(1).rand(7, 6, 3).astype("f")
    late = tf.function(
        function, autograph=False, input_signature=[tf.TensorSpec([None, None, 3], "float32")]
    )
    np.testing.assert_allclose(late(x), function(tf.constant(x)), rtol=1e-6)


def test_shifts_may_be_tensors():
    assert tf.roll([1, 2, 3], tf.constant(-1), 0).numpy().tolist() == [2, 3, 1]


def test_cases_that_exclude_each_other():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.int32, [])
        chosen = tf.compat.v1.case([(x < 5, lambda: 1), (x < 9, lambda: 2)], lambda: 3, True)
        with tf.compat.v1.Session() as session:
            assert session.run(chosen, {x: 7}) == 2
            with pytest.raises(tf.errors.InvalidArgumentError, match="More than one condition"):
                session.run(chosen, {x: 1})


def test_savers_make_folders_and_take_a_variable_once(tmp_path):
    with tf.Graph().as_default():
        v = tf.compat.v1.get_variable("v", [], initializer=tf.compat.v1.ones_initializer())
        with pytest.raises(ValueError, match="with two names: y"):
            tf.compat.v1.train.Saver({"x": v, "y": v})
        with tf.compat.v1.Session() as session:
            session.run(v.initializer)
            path = tf.compat.v1.train.Saver().save(session, str(tmp_path / "a" / "m"))
        assert tf.train.latest_checkpoint(tmp_path / "a") == path


def test_rows_of_variables():
    v = tf.Variable([1.0, 2.0, 3.0])
    v.scatter_sub(tf.IndexedSlices([1.0, 1.0], [0, 0]))
    v.scatter_update(tf.IndexedSlices([9.0], [2]))
    v.scatter_nd_add([[1]], [5.0])
    assert v.numpy().tolist() == [-1, 7, 9]
    v.scatter_mul(tf.IndexedSlices([2.0, 3.0], [1, 1]))
    v.scatter_div(tf.IndexedSlices(2.0, [0]))
    v.scatter_max(tf.IndexedSlices([50.0], [1]))
    v.scatter_nd_update([[2]], [4.0])
    assert v.numpy().tolist() == [-0.5, 50, 4]
    assert v.sparse_read([2, 0]).numpy().tolist() == [4, -0.5]
    assert v.gather_nd([[1]]).numpy().tolist() == [50]
    assert bool(v.is_initialized()) and {v.ref(): 1}[v.ref()] == 1
    with pytest.raises(tf.errors.InvalidArgumentError):
        v.scatter_nd_update([[5]], [1.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v.sparse_read([0, 0]) ** 2)
    assert np.asarray(tf.convert_to_tensor(tape.gradient(y, v))).tolist() == [-2, 0, 0]


def test_gradients_through_python():
    x = tf.constant([3.0, 4.0])

    def call(x):
        a, b = tf.py_function(
            lambda v, w: (v * v * w, tf.reduce_sum(v)), [x, 2.0], [tf.float32, tf.float32]
        )
        return tf.reduce_sum(a) * b

    for function in (call, tf.function(call)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert float(y) == 350
        assert tape.gradient(y, x).numpy().tolist() == [134, 162]
    made = tf.numpy_function(lambda v: v.astype("float64") * 2, [x], tf.float32)
    assert made.numpy().tolist() == [6, 8]


AREAS = [4.0, 7.0, 12.000001, 15.000001, 20.000002, 23.000002]  # TensorFlow's


def test_areas_between_corners():
    x = np.arange(24, dtype="f").reshape(1, 4, 6, 1)
    found = tf.compat.v1.image.resize_images(x, [3, 2], method=3, align_corners=True)
    np.testing.assert_allclose(found.numpy().ravel(), AREAS, rtol=1e-6)


def test_one_element_repeated():
    assert tf.repeat(5, 2, axis=-1).numpy().tolist() == [5, 5]
    with pytest.raises(ValueError, match="tf.repeat: axis 3 is out of range"):
        tf.repeat([1], 2, axis=3)


def test_roots_of_zero_that_do_not_count():
    (found,) = gradients(lambda x: tf.sqrt(x) * 0.0 + tf.math.rsqrt(x) * 0.0, np.zeros(1, "f"))
    assert found.tolist() == [0]


def test_types_of_one_hot_and_linspace():
    assert tf.one_hot([0, 1], 2, True, False).dtype == tf.bool
    assert tf.one_hot([0], 2, 5).numpy().tolist() == [[5, 0]]
    assert tf.linspace(0, 10, 5).dtype == tf.float64
    assert tf.linspace(0.0, 10.0, 5).dtype == tf.float32


def test_half_precision_has_infinities():
    x = tf.constant([1e5, -1e5, 65519.0, float("nan")], tf.float16).numpy()
    np.testing.assert_array_equal(x, np.array([np.inf, -np.inf, 65504, np.nan], "float16"))


def test_a_stitch_beyond_the_memory_is_an_error():
    """The output has as many rows as the greatest index says; no memory is touched for it."""
    import os

    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    width = pages // 4 // 2**31 + 1
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when allocating tensor"):
        tf.dynamic_stitch([[2**31 - 1]], [tf.ones([1, width])])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int8", "uint64"])
def test_extremes_of_empty_segments(dtype):
    data = tf.constant([1, 2], dtype)
    most = tf.math.unsorted_segment_max(data, [0, 0], 2)[1]
    least = tf.math.unsorted_segment_min(data, [0, 0], 2)[1]
    kind = tf.as_dtype(dtype)
    assert most.numpy() == kind.min and least.numpy() == kind.max


@pytest.mark.parametrize(
    "dtype, limit, delta, count",
    [
        ("float32", 0.3, 0.1, 3),
        ("float32", 1.2, 0.4, 3),
        ("float64", 0.3, 0.1, 3),
        ("float16", 1.0, 0.1, 10),
        ("bfloat16", 0.6, 0.2, 3),
    ],
)
def test_ranges_are_counted_in_the_arithmetic_of_their_type(dtype, limit, delta, count):
    zero, limit, delta = (tf.constant(v, dtype) for v in (0, limit, delta))
    assert tf.raw_ops.Range(start=zero, limit=limit, delta=delta).shape == [count]


@pytest.mark.parametrize(
    "limit, delta, message",
    [
        (float("nan"), 1, "start <= limit"),
        (1, float("nan"), "start >= limit"),
        (float("inf"), 1, "<= 9223372036854775807"),
    ],
)
def test_ranges_without_an_end(limit, delta, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.range(0.0, limit, delta)
    if delta == 1:
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.ragged.range([0.0], [limit], [1.0])


def test_k_of_top_k_is_not_negative():
    top = tf.function(
        lambda k: tf.math.top_k([1.0, 2.0], k), input_signature=[tf.TensorSpec([], "int32")]
    )
    for function in (top, lambda k: tf.math.top_k([1.0, 2.0], k)):
        for k in (-1, -2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"Need k >= 0, got {k}"):
                function(k)
    assert not tf.math.in_top_k([0], [[1.0, 2.0]], -1)[0]


def test_flat_indices_outside_of_a_shape():
    assert tf.unravel_index([5, 0], [2, 3]).numpy().tolist() == [[1, 0], [2, 0]]
    assert tf.unravel_index(4, [2, 3]).numpy().tolist() == [1, 1]
    for index, dims in ((6, [2, 3]), (0, [0]), (0, [-1, -1])):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.unravel_index(index, dims)
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.function(tf.unravel_index)(tf.constant(index), tf.constant(dims))


def test_histograms_of_nan():
    nan = float("nan")
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not contain NaN"):
        tf.histogram_fixed_width([nan, 1.0], [0.0, 5.0])


def test_signs_of_zeros():
    for dtype in ("float16", "float32", "float64"):
        assert np.signbit(tf.tanh(tf.constant([-0.0, 0.0], dtype)).numpy()).tolist() == [
            True,
            False,
        ]


def test_elements_of_lists_have_the_type_that_is_read():
    raw = tf.raw_ops
    for value, dtype in (
        (tf.ones([4, 3]), "float64"),
        (tf.ones([4, 3]), "string"),
        (tf.fill([4, 3], "abc"), "int64"),
        (tf.fill([4, 3], "abc"), "float32"),
    ):
        items = raw.TensorListFromTensor(tensor=value, element_shape=[3])
        shape = {"input_handle": items, "element_shape": [3], "element_dtype": dtype}
        leading = tf.constant([], "int64")
        for read in (
            lambda: raw.TensorListStack(**shape),
            lambda: raw.TensorListGetItem(index=0, **shape),
            lambda: raw.TensorListGather(indices=[0, 1], **shape),
            lambda: raw.TensorListConcatV2(leading_dims=leading, **shape),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid data types"):
                read()


def test_lists_of_different_types_are_not_added():
    raw = tf.raw_ops
    lists = [
        raw.TensorListFromTensor(tensor=value, element_shape=[3])
        for value in (tf.ones([4, 3], "float64"), tf.ones([4, 3]), tf.fill([4, 3], "abc"))
    ]
    for pair in ((0, 1), (1, 2), (2, 0), (2, 2)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.add_n([lists[i] for i in pair])


def test_lengths_of_list_elements_do_not_overflow():
    raw = tf.raw_ops
    for lengths in ([1, 2**63 - 1], [2**62, 2**62, 2**62, 2**62], [5, -1]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            raw.TensorListSplit(
                tensor=tf.ones([4, 3]), element_shape=[3], lengths=tf.constant(lengths, "int64")
            )
    unset = raw.TensorListReserve(element_shape=[-1, 3], num_elements=4, element_dtype="float32")
    for sizes in ([2**62] * 4, [2**63 - 1, 2, 0, 0]):
        with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError)):
            raw.TensorListConcatV2(
                input_handle=unset,
                element_shape=[-1, 3],
                leading_dims=tf.constant(sizes, "int64"),
                element_dtype="float32",
            )


@pytest.mark.parametrize("rows", [2**31, 2**32 - 1, 2**32 - 4])
def test_lists_have_at_most_int32_elements(rows):
    with pytest.raises(tf.errors.InvalidArgumentError, match="too many"):
        tf.raw_ops.TensorListFromTensor(tensor=tf.zeros([rows, 0]), element_shape=[0])
