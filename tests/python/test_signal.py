# SPDX-License-Identifier: Apache-2.0
"""test_signal.py: tf.signal against NumPy."""

import numpy as np
import pytest

import situ as tf

RNG = np.random.default_rng(3)
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 30, 64, 67, 105, 128, 202, 256]


def real(*shape, dtype="float64"):
    return RNG.standard_normal(shape).astype(dtype)


def cplx(*shape, dtype="complex128"):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def close(a, b, tolerance=1e-11):
    a = np.asarray(a)
    assert a.shape == b.shape
    scale = max(1.0, float(np.abs(b).max())) if b.size else 1.0
    np.testing.assert_allclose(a / scale, b / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 9)])
def test_fft_is_numpys(n, batch):
    for dtype, tolerance in [("complex128", 1e-13), ("complex64", 2e-6)]:
        x = cplx(*batch, n, dtype=dtype)
        assert tf.signal.fft(tf.constant(x)).dtype.name == dtype
        close(tf.signal.fft(tf.constant(x)), np.fft.fft(x), tolerance)
        close(tf.signal.ifft(tf.constant(x)), np.fft.ifft(x), tolerance)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 9)])
def test_rfft_is_numpys(n, batch):
    for dtype, tolerance in [("float64", 1e-13), ("float32", 2e-6)]:
        x = real(*batch, n, dtype=dtype)
        close(tf.signal.rfft(tf.constant(x)), np.fft.rfft(x), tolerance)
        y = cplx(*batch, n // 2 + 1, dtype="complex128" if dtype == "float64" else "complex64")
        close(tf.signal.irfft(tf.constant(y), [n]), np.fft.irfft(y, n), tolerance)


def test_arrays_become_single_precision():
    """As in TensorFlow: only tensors keep their type."""
    assert tf.signal.fft(cplx(4)).dtype == tf.complex64
    assert tf.signal.fft([1.0, 2.0]).dtype == tf.complex64
    assert tf.signal.rfft(real(4)).dtype == tf.complex64


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 5, 7), (3, 4, 2, 9), (1, 1, 1)])
def test_several_dimensions_are_numpys(shape):
    x, y = cplx(*shape), real(*shape)
    close(tf.signal.fft2d(tf.constant(x)), np.fft.fft2(x))
    close(tf.signal.ifft2d(tf.constant(x)), np.fft.ifft2(x))
    close(tf.signal.rfft2d(tf.constant(y)), np.fft.rfft2(y))
    none = np.zeros((*shape[:-1], 0))
    close(tf.signal.irfft2d(tf.constant(x)), np.fft.irfft2(x) if shape[-1] > 1 else none)
    if len(shape) > 2:
        axes = (-3, -2, -1)
        close(tf.signal.fft3d(tf.constant(x)), np.fft.fftn(x, axes=axes))
        close(tf.signal.ifft3d(tf.constant(x)), np.fft.ifftn(x, axes=axes))
        close(tf.signal.rfft3d(tf.constant(y)), np.fft.rfftn(y, axes=axes))


def test_lengths_crop_and_pad():
    x = real(2, 5, 6)
    for lengths in ([3, 4], [8, 9], [5, 9], [3, 11]):
        close(tf.signal.rfft2d(tf.constant(x), lengths), np.fft.rfft2(x, lengths))
        spectrum = cplx(2, 5, 6)
        close(tf.signal.irfft2d(tf.constant(spectrum), lengths), np.fft.irfft2(spectrum, lengths))
    y = cplx(4, 5, 3)
    close(tf.signal.irfft3d(tf.constant(y), [3, 6, 5]), np.fft.irfftn(y, [3, 6, 5], (0, 1, 2)))


def test_empty_tensors():
    assert tf.signal.fft(tf.constant(cplx(0, 4))).shape.as_list() == [0, 4]
    assert tf.signal.fft(tf.constant(cplx(3, 0))).shape.as_list() == [3, 0]
    assert tf.signal.rfft(tf.constant(real(0, 8))).shape.as_list() == [0, 5]
    assert tf.signal.rfft(tf.constant(real(2, 0))).shape.as_list() == [2, 0]


def test_any_axes():
    x, y = cplx(3, 4, 5), real(3, 4, 5)
    close(tf.signal.fftnd(tf.constant(x), [4, 3], [0, 2]), np.fft.fftn(x, [4, 3], [0, 2]))
    close(tf.signal.ifftnd(tf.constant(x), axes=[1]), np.fft.ifftn(x, axes=[1]))
    close(tf.signal.rfftnd(tf.constant(y), axes=[0, 1]), np.fft.rfftn(y, axes=[0, 1]))
    close(tf.signal.irfftnd(tf.constant(x), [3, 6], [2, 1]), np.fft.irfftn(x, [3, 6], [2, 1]))
    for norm in ("forward", "ortho"):
        close(tf.signal.fftnd(tf.constant(x), norm=norm), np.fft.fftn(x, norm=norm))


def test_errors():
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="rank"):
        tf.signal.fft2d(tf.constant(cplx(3)))
    with pytest.raises(ValueError, match="RFFT requires tf.float32 or tf.float64 inputs"):
        tf.signal.rfft(tf.constant(cplx(3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="of at least 8 but got: 6"):
        tf.raw_ops.RFFT(input=real(6, dtype="float32"), fft_length=[8])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="fft_length|Dimension"):
        tf.raw_ops.RFFT(input=real(6, dtype="float32"), fft_length=[6, 6])


def numeric_gradient(f, x, dy):
    """The gradient of sum(Re(conj(dy) f(x))) by differences, in TensorFlow's convention."""
    grad = np.zeros_like(x)
    parts = [1.0, 1j] if np.iscomplexobj(x) else [1.0]
    for i in np.ndindex(*x.shape):
        for part in parts:
            step = np.zeros_like(x)
            step[i] = 1e-4 * part
            above, below = (np.asarray(f(tf.constant(y))) for y in (x + step, x - step))
            diff = (above - below) / 2e-4
            grad[i] += np.sum(np.real(np.conj(dy) * diff)) * part
    return grad


@pytest.mark.parametrize(
    "f, x",
    [
        (tf.signal.fft, cplx(2, 5)),
        (tf.signal.ifft, cplx(2, 6)),
        (tf.signal.fft2d, cplx(3, 4)),
        (tf.signal.ifft3d, cplx(2, 3, 2)),
        (tf.signal.rfft, real(2, 6)),
        (tf.signal.rfft, real(2, 7)),
        (lambda x: tf.signal.rfft(tf.constant(x), [4]), real(2, 7)),
        (lambda x: tf.signal.rfft(tf.constant(x), [9]), real(2, 7)),
        (tf.signal.rfft2d, real(3, 4)),
        (tf.signal.rfft3d, real(2, 3, 4)),
        (tf.signal.irfft, cplx(2, 4)),
        (lambda x: tf.signal.irfft(tf.constant(x), [5]), cplx(2, 4)),
        (tf.signal.irfft2d, cplx(3, 3)),
        (lambda x: tf.signal.irfft3d(tf.constant(x), [2, 3, 5]), cplx(2, 3, 3)),
    ],
)
def test_gradients_are_differences(f, x):
    y = np.asarray(f(tf.constant(x)))
    dy = cplx(*y.shape) if np.iscomplexobj(y) else real(*y.shape)
    value = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(value)
        result = f(value)
    close(tape.gradient(result, value, dy), numeric_gradient(f, x, dy), 1e-7)


def test_shift():
    for shape in [(6,), (7,), (3, 4)]:
        x = real(*shape)
        close(tf.signal.fftshift(x), np.fft.fftshift(x))
        close(tf.signal.ifftshift(x), np.fft.ifftshift(x))
    x = real(3, 4, 5)
    close(tf.signal.fftshift(x, axes=1), np.fft.fftshift(x, axes=1))
    close(tf.signal.ifftshift(x, axes=(0, -1)), np.fft.ifftshift(x, axes=(0, -1)))


def direct_dct(x, kind):
    n = x.shape[-1]
    k, m = np.arange(n)[:, None], np.arange(n)[None]
    if kind == 1:
        basis = 2 * np.cos(np.pi * k * m / (n - 1))
        basis[:, 0] /= 2
        basis[:, -1] /= 2
    elif kind == 2:
        basis = 2 * np.cos(np.pi * k * (2 * m + 1) / (2 * n))
    elif kind == 3:
        basis = 2 * np.cos(np.pi * (2 * k + 1) * m / (2 * n))
        basis[:, 0] /= 2
    else:
        basis = 2 * np.cos(np.pi * (2 * k + 1) * (2 * m + 1) / (4 * n))
    return x @ basis.T


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [2, 3, 8, 15])
def test_dct(kind, n):
    x = real(3, n)
    close(tf.signal.dct(x, type=kind), direct_dct(x, kind))
    close(tf.signal.dct(x, type=kind, n=n + 3), direct_dct(np.pad(x, [[0, 0], [0, 3]]), kind))
    scale = 2 * (n - 1) if kind == 1 else 2 * n
    close(np.asarray(tf.signal.idct(tf.signal.dct(x, type=kind), type=kind)) / scale, x)
    if kind > 1:
        forward = tf.signal.dct(x, type=kind, norm="ortho")
        close(np.linalg.norm(np.asarray(forward), axis=-1), np.linalg.norm(x, axis=-1))
        close(tf.signal.idct(forward, type=kind, norm="ortho"), x)


def test_windows():
    close(tf.signal.hann_window(9, periodic=False, dtype="float64"), np.hanning(9))
    close(tf.signal.hann_window(8, dtype="float64"), np.hanning(9)[:-1])
    close(tf.signal.hamming_window(10, periodic=False, dtype="float64"), np.hamming(10))
    close(tf.signal.hann_window(1), np.ones(1, "float32"))
    for n in (1, 2, 7, 40):
        close(tf.signal.kaiser_window(n, 8.6, dtype="float64"), np.kaiser(n, 8.6))
    for window in (tf.signal.vorbis_window, tf.signal.kaiser_bessel_derived_window):
        w = np.asarray(window(16, dtype="float64"))
        close(w[:8] ** 2 + w[8:] ** 2, np.ones(8))
    with pytest.raises(ValueError, match="floating point"):
        tf.signal.hann_window(8, dtype="int32")


@pytest.mark.parametrize("length, step", [(4, 2), (5, 3), (3, 5), (6, 4)])
def test_frames(length, step):
    x = real(2, 17)
    frames = np.stack([x[:, s : s + length] for s in range(0, 17 - length + 1, step)], 1)
    close(tf.signal.frame(x, length, step), frames)
    padded = np.pad(x, [[0, 0], [0, length]], constant_values=7)
    expected = np.stack([padded[:, s : s + length] for s in range(0, 17, step)], 1)
    close(tf.signal.frame(x, length, step, pad_end=True, pad_value=7), expected)
    close(tf.signal.frame(x.T, length, step, axis=0), np.moveaxis(frames, 0, -1))
    if step <= length:
        sums = np.zeros((2, (frames.shape[1] - 1) * step + length))
        for i in range(frames.shape[1]):
            sums[:, i * step : i * step + length] += frames[:, i]
        close(tf.signal.overlap_and_add(frames, step), sums)


def test_stft_inverts():
    x = real(2, 400, dtype="float32")
    spectrum = tf.signal.stft(x, 64, 16)
    assert spectrum.shape.as_list() == [2, 22, 33]
    frame = x[:, 16:80] * np.hanning(65)[:-1].astype("float32")
    close(np.asarray(spectrum)[:, 1], np.fft.rfft(frame), 1e-5)
    window = tf.signal.inverse_stft_window_fn(16)
    back = tf.signal.inverse_stft(spectrum, 64, 16, window_fn=window)
    close(np.asarray(back)[:, 64:-64], x[:, 64:336], 1e-5)


def test_mdct_inverts():
    x = np.pad(real(200), [[16, 16]])
    for norm in (None, "ortho"):
        spectrum = tf.signal.mdct(x, 32, norm=norm, pad_end=True)
        back = np.asarray(tf.signal.inverse_mdct(spectrum, norm=norm))
        close(back[16:216], x[16:216])


def test_unknown_shapes_in_functions():
    @tf.function(input_signature=[tf.TensorSpec([None, None], "float32")])
    def f(x):
        spectrum = tf.signal.stft(x, 8, 4, pad_end=True)
        return tf.signal.inverse_stft(spectrum, 8, 4), tf.signal.dct(x), tf.signal.rfft(x)

    x = real(2, 20, dtype="float32")
    _, cosines, spectrum = f(x)
    close(cosines, direct_dct(x, 2), 1e-5)
    close(spectrum, np.fft.rfft(x), 1e-5)


def test_mel():
    matrix = np.asarray(tf.signal.linear_to_mel_weight_matrix(10, 65, 8000, 100.0, 3900.0))
    assert matrix.shape == (65, 10)
    assert not matrix[0].any() and matrix.max() <= 1 and (matrix.sum(0) > 0).all()
    x = real(3, 10)
    close(tf.signal.mfccs_from_log_mel_spectrograms(x), direct_dct(x, 2) / np.sqrt(20))
    with pytest.raises(ValueError, match="Nyquist"):
        tf.signal.linear_to_mel_weight_matrix(sample_rate=100)


def test_graph_style_names():
    v1 = tf.compat.v1
    assert v1.spectral.rfft is v1.signal.rfft
    assert v1.fft is v1.spectral.fft
