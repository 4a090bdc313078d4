# SPDX-License-Identifier: Apache-2.0
"""test_keras3_ops.py: keras.ops and keras.random: values of NumPy, types of Keras 3, symbolic
calls."""

import math

import numpy
import pytest

import situ.keras3 as keras

ops = keras.ops
RNG = numpy.random.RandomState(0)
F = RNG.randn(3, 4).astype("float32")
G = RNG.rand(3, 4).astype("float32") * 0.8 + 0.1
I = RNG.randint(1, 9, (3, 4)).astype("int32")  # noqa: E741
N = F.copy()
N[0, 1] = math.nan

UNARY = """absolute arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad rad2deg exp exp2 expm1
    floor isfinite isinf isnan log log10 log1p log2 logical_not negative reciprocal sign signbit sin
    sinc sinh sqrt square tan tanh trunc sum mean var std prod amax amin ptp median cumsum cumprod
    sort argsort ravel flip fliplr flipud transpose diag trace tril triu rot90 argmax argmin
    nan_to_num count_nonzero zeros_like ones_like nansum nanmean nanmax corrcoef diff i0""".split()
BINARY = """add subtract multiply divide floor_divide mod fmod power maximum minimum fmax fmin
    arctan2 hypot logaddexp logaddexp2 heaviside equal not_equal greater greater_equal less
    less_equal logical_and logical_or logical_xor""".split()
REDUCTIONS = "sum mean var std amax amin prod median all any ptp".split()


def value(result):
    return numpy.asarray(result.numpy() if hasattr(result, "numpy") else result)


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_have_numpys_values(name):
    for x in (F, G) if name not in ("arcsin", "arctanh", "log", "log10", "log2", "sqrt") else (G,):
        if name in ("arcsin", "arctanh"):
            x = x * 0.9
        wanted = getattr(numpy, name)(x)
        numpy.testing.assert_allclose(value(getattr(ops, name)(x)), wanted, 2e-4, 2e-5)


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_have_numpys_values(name):
    for a, b in ((G, F), (I, I + 1), (G, 2)):
        wanted = getattr(numpy, name)(a, b)
        numpy.testing.assert_allclose(value(getattr(ops, name)(a, b)), wanted, 2e-4, 2e-5)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_have_numpys_values(name, axis, keepdims):
    wanted = getattr(numpy, name)(G, axis=axis, keepdims=keepdims)
    found = value(getattr(ops, name)(G, axis=axis, keepdims=keepdims))
    assert found.shape == wanted.shape
    numpy.testing.assert_allclose(found, wanted, 1e-5)


def test_types_are_promoted_as_in_keras_3():
    pairs = {
        ("int32", "float32"): "float32",
        ("int64", "float16"): "float16",
        ("uint8", "int8"): "int16",
        ("bool", "int32"): "int32",
        ("int32", float): "float32",
        ("int8", int): "int8",
        ("float16", float): "float16",
        ("float16", "float32"): "float32",
        ("uint32", "int8"): "int64",
    }
    for (a, b), wanted in pairs.items():
        assert keras.backend.result_type(a, b) == wanted, (a, b)
    assert ops.dtype(ops.add(I, 2.5)) == "float32"
    assert ops.dtype(ops.divide(I, I)) == "float32"
    assert ops.dtype(ops.mean(I)) == "float32"
    assert ops.dtype(ops.sum(I > 3)) == "int32"
    assert ops.dtype(ops.arange(3)) == "int32"
    assert ops.dtype(ops.arange(0.0, 1.0, 0.5)) == "float32"
    assert ops.dtype(ops.argmax(F)) == "int32"


def test_diagonals():
    for k in (-2, -1, 0, 1, 3):
        numpy.testing.assert_array_equal(value(ops.diagonal(F, k)), numpy.diagonal(F, k))
        numpy.testing.assert_array_equal(value(ops.diag(F[0], k)), numpy.diag(F[0], k))


def test_quantiles():
    for axis in (None, 0, 1):
        for q in (0.3, [0.1, 0.9]):
            numpy.testing.assert_allclose(
                value(ops.quantile(F, q, axis=axis)), numpy.quantile(F, q, axis=axis), 1e-5
            )
            numpy.testing.assert_allclose(
                value(ops.nanquantile(N, q, axis=axis)), numpy.nanquantile(N, q, axis=axis), 1e-5
            )


def test_indexing_and_scatter():
    numpy.testing.assert_array_equal(value(ops.take(F, [0, -1], axis=1)), F[:, [0, -1]])
    order = numpy.argsort(F, -1)
    found = ops.take_along_axis(F, order, axis=-1)
    numpy.testing.assert_array_equal(value(found), numpy.sort(F, -1))
    assert value(ops.scatter([[0], [2], [0]], [1.0, 2.0, 3.0], (4,))).tolist() == [4, 0, 2, 0]
    assert value(ops.slice_update(numpy.zeros((2, 3), "float32"), (0, 1), [[7.0]])).sum() == 7
    parts = ops.split(F, [1, 3], axis=1)
    assert [p.shape.as_list() for p in parts] == [[3, 1], [3, 2], [3, 1]]


def test_fourier_transforms():
    seq = RNG.randn(2, 20).astype("float32")
    real, imaginary = ops.rfft(seq)
    wanted = numpy.fft.rfft(seq)
    numpy.testing.assert_allclose(value(real), wanted.real, 1e-4, 1e-4)
    numpy.testing.assert_allclose(value(imaginary), wanted.imag, 1e-4, 1e-4)
    numpy.testing.assert_allclose(value(ops.irfft((real, imaginary))), seq, 1e-4, 1e-4)
    frames = ops.stft(seq, 8, 4, 8)
    numpy.testing.assert_allclose(value(ops.istft(frames, 8, 4, 8)), seq, 1e-3, 1e-3)


def test_control_flow():
    assert int(ops.fori_loop(0, 5, lambda i, v: v + i, 0)) == 10
    assert int(ops.while_loop(lambda i: i < 5, lambda i: (i + 1,), (0,))[0]) == 5
    carry, found = ops.scan(lambda c, x: (c + x, c * x), numpy.float32(0.0), F[0])
    numpy.testing.assert_allclose(float(carry), F[0].sum(), 1e-5)
    assert found.shape.as_list() == [4]


def test_calls_on_symbolic_tensors_are_layers():
    keras.utils.clear_session()
    x = keras.Input((4,))
    assert isinstance(x, keras.KerasTensor) and not isinstance(F, keras.KerasTensor)
    assert ops.shape(x) == (None, 4)
    y = ops.mean(ops.concatenate([ops.relu(x), x], axis=-1), axis=-1, keepdims=True)
    y = ops.where(y > 0, y, ops.exp(y))
    model = keras.Model(x, y)
    wanted = numpy.concatenate([numpy.maximum(F, 0), F], -1).mean(-1, keepdims=True)
    wanted = numpy.where(wanted > 0, wanted, numpy.exp(wanted))
    numpy.testing.assert_allclose(model.predict(F, verbose=0), wanted, 1e-5)
    assert {"relu", "concatenate", "mean", "where"} <= {x.name for x in model.layers}


def test_random_numbers_are_those_of_keras():
    """Values of Keras 3.15 with the TensorFlow backend."""
    normal = [-0.6741727590560913, -0.35869255661964417, -1.8795816898345947]
    numpy.testing.assert_allclose(value(keras.random.normal((3,), seed=7)), normal, 1e-5)
    uniform = [0.7470787763595581, 0.67218017578125, 0.057779550552368164]
    numpy.testing.assert_allclose(value(keras.random.uniform((3,), seed=7)), uniform, 1e-6)
    assert value(keras.random.randint((5,), 0, 10, seed=7)).tolist() == [3, 2, 8, 2, 1]
    stream = keras.random.SeedGenerator(3)
    first, second = (value(keras.random.uniform((4,), seed=stream)) for _ in range(2))
    assert not numpy.allclose(first, second)
    again = keras.random.SeedGenerator(3)
    numpy.testing.assert_array_equal(first, value(keras.random.uniform((4,), seed=again)))
    shuffled = value(keras.random.shuffle(numpy.arange(10), seed=1))
    assert sorted(shuffled.tolist()) == list(range(10))


IMAGES = numpy.random.RandomState(3).rand(2, 7, 9, 3).astype("float32")
FIRST, WHOLE = IMAGES.transpose(0, 3, 1, 2), (IMAGES * 255).astype("uint8")
MAPS = numpy.float32(
    [[1, 0.1, 0.5, -0.2, 0.9, 1, 0.01, -0.02], [1.2, 0, -1, 0.3, 1, 0, 0, 0]],
)
START = numpy.float32([[0, 0], [8, 0], [0, 6], [8, 6]])
END = START + numpy.float32([[0.3, 0.1], [-0.4, 0.2], [0, -0.5], [0.2, -0.1]])
AT = numpy.linspace(-2, 9, 24).reshape(2, 3, 4).astype("float32")
image = ops.image


def scaled(method, antialias=True, axes=(1, -2)):
    scale, translation = numpy.float32([0.6, 1.4]), numpy.float32([0.3, -1.0])
    how = (2, 5, 12, 3), scale, translation, axes, method, antialias
    return image.scale_and_translate(IMAGES, *how)


def coordinates(mode):
    return image.map_coordinates(IMAGES[0, :, :, 0], AT, 1, mode, 0.25)


# The sum of absolute values and that of values times their indices, of Keras 3.15.
IMAGE_CASES = {
    "affine": (lambda: image.affine_transform(IMAGES, MAPS, fill_value=0.5), 186.0543, 35386.8638),
    "affine.first": (
        lambda: image.affine_transform(
            FIRST, MAPS, "nearest", "reflect", data_format="channels_first"
        ),
        *(178.4623, 33539.8967),
    ),
    "affine.single": (
        lambda: image.affine_transform(IMAGES[0], MAPS[0], fill_mode="wrap"),
        *(95.6124, 9036.5348),
    ),
    "affine.int": (lambda: image.affine_transform(WHOLE, MAPS), 35799, 6009549),
    "perspective": (lambda: image.perspective_transform(IMAGES[0], START, END), 85.1289, 8314.6141),
    "perspective.batch": (
        lambda: image.perspective_transform(IMAGES, [START] * 2, [END] * 2, "nearest", 0.3),
        *(184.5593, 34934.1640),
    ),
    "coordinates.constant": (lambda: coordinates("constant"), 3.7028, 20.0541),
    "coordinates.nearest": (lambda: coordinates("nearest"), 5.3661, 25.9985),
    "coordinates.wrap": (lambda: coordinates("wrap"), 5.1812, 27.6187),
    "coordinates.reflect": (lambda: coordinates("reflect"), 4.0704, 24.6375),
    "coordinates.int": (
        lambda: image.map_coordinates(WHOLE[0, :, :, 0], AT, 0, "nearest"),
        *(1254, 5963),
    ),
    "elastic": (lambda: image.elastic_transform(IMAGES, 2.0, 1.3, seed=3), 186.0792, 34872.1944),
    "elastic.first": (
        lambda: image.elastic_transform(
            FIRST, 3.0, 1.0, "nearest", "constant", 0.5, 3, "channels_first"
        ),
        *(181.1683, 34074.5820),
    ),
    "scale.linear": (lambda: scaled("linear"), 174.3041, 31484.7886),
    "scale.cubic": (lambda: scaled("cubic"), 174.1880, 31297.1173),
    "scale.lanczos3": (lambda: scaled("lanczos3"), 174.7845, 31279.3717),
    "scale.lanczos5": (lambda: scaled("lanczos5"), 175.6347, 31350.9568),
    "scale.aliased": (lambda: scaled("cubic", False, (1, 2)), 176.7157, 31560.4857),
    "patches": (
        lambda: image.extract_patches_3d(IMAGES[..., None], (2, 3, 1), 2, 1, "same"),
        *(181.9890, 41028.5390),
    ),
    "patches.single": (
        lambda: image.extract_patches_3d(IMAGES[..., None][0], 2),
        *(45.8389, 2171.8440),
    ),
    "sobel": (lambda: image.sobel_edges(IMAGES), 440.4571, 10628.8414),
    "sobel.first": (lambda: image.sobel_edges(FIRST, "channels_first"), 440.4571, 12673.8265),
    "ssim": (lambda: image.ssim(IMAGES, numpy.sqrt(IMAGES), filter_size=5), 1.8416, 0.9246),
    "slogdet": (lambda: ops.stack(ops.numpy.slogdet(IMAGES[0, :3, :3, 0])), 4.9677, -3.9677),
}


@pytest.mark.parametrize("name", IMAGE_CASES)
def test_images_are_those_of_keras(name):
    make, *want = IMAGE_CASES[name]
    y = value(make()).astype("float64")
    found = numpy.abs(y).sum(), (y.ravel() * numpy.arange(y.size)).sum()
    numpy.testing.assert_allclose(found, want, rtol=2e-4)


def test_images_of_symbolic_tensors():
    x = keras.Input((7, 9, 3))
    y = image.affine_transform(x, MAPS[0], fill_mode="nearest")
    model = keras.Model(x, image.sobel_edges(image.elastic_transform(y, 1.0, 1.0, seed=1)))
    assert model.output_shape == (None, 7, 9, 3, 2)
    direct = image.affine_transform(IMAGES, MAPS[0], fill_mode="nearest")
    direct = image.sobel_edges(image.elastic_transform(direct, 1.0, 1.0, seed=1))
    numpy.testing.assert_allclose(model(IMAGES), direct, rtol=1e-4, atol=1e-4)


def test_arguments_of_image_functions():
    with pytest.raises(ValueError, match="`interpolation`"):
        image.affine_transform(IMAGES, MAPS, "cubic")
    with pytest.raises(ValueError, match="Invalid images rank"):
        image.affine_transform(IMAGES[0, 0], MAPS)
    with pytest.raises(ValueError, match="Invalid start_points shape"):
        image.perspective_transform(IMAGES, START[:3], END)
    with pytest.raises(ValueError, match="First dim of `coordinates`"):
        image.map_coordinates(IMAGES, AT, 1)
    with pytest.raises(NotImplementedError, match="order<=1"):
        image.map_coordinates(IMAGES[0, :, :, 0], AT, 2)
    with pytest.raises(ValueError, match="`method`"):
        scaled("box")


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="must be an integer"):
        keras.random.SeedGenerator("x")
    with pytest.raises(NotImplementedError, match="keras.ops.eig is not supported"):
        ops.eig(F)
    with pytest.raises(NotImplementedError, match="sparse"):
        ops.one_hot([1], 3, sparse=True)
    with pytest.raises(AttributeError, match="situ does not have keras.applications.NASNetLarge"):
        keras.applications.NASNetLarge
    with pytest.raises(NotImplementedError, match="MirroredStrategy"):
        keras.distribution.DataParallel()
    with pytest.raises(TypeError):
        ops.mean(F, axes=1)


def test_depthwise_convolutions_with_different_strides():
    x = numpy.arange(64, dtype="float32").reshape(1, 8, 4, 2)
    kernel = numpy.ones((2, 2, 2, 1), "float32")
    every = ops.convert_to_numpy(ops.depthwise_conv(x, kernel))
    got = ops.convert_to_numpy(ops.depthwise_conv(x, kernel, (1, 2)))
    assert numpy.array_equal(got, every[:, :, ::2])
    separable = ops.separable_conv(x, kernel, numpy.ones((1, 1, 2, 3), "float32"), (2, 1))
    assert tuple(separable.shape) == (1, 4, 3, 3)
