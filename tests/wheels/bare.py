# SPDX-License-Identifier: Apache-2.0
"""bare.py: what a wheel promises, on a machine with nothing but Python and NumPy: PNG, JPEG, GZIP,
linear algebra, training, the command. Prints a line per part; tools/wheels/test.sh runs it."""

import gzip
import os
import subprocess
import sys
import tempfile

import numpy as np

import situ as tf


def check_png():
    pixels = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    again = tf.io.decode_png(tf.io.encode_png(pixels))
    np.testing.assert_array_equal(again.numpy(), pixels)
    deep = pixels.astype(np.uint16) * 257
    again = tf.io.decode_png(tf.io.encode_png(deep), dtype=tf.uint16)
    np.testing.assert_array_equal(again.numpy(), deep)


def check_jpeg():
    x, y = np.meshgrid(np.arange(64), np.arange(48))
    pixels = np.stack([2 * x, 3 * y, x + y], -1).astype(np.uint8)
    data = tf.io.encode_jpeg(pixels, quality=95)
    again = tf.io.decode_jpeg(data).numpy()
    assert again.shape == (48, 64, 3)
    assert np.abs(again.astype(int) - pixels).mean() < 2
    part = tf.image.decode_and_crop_jpeg(data, [8, 8, 16, 24]).numpy()
    assert part.shape == (16, 24, 3)


def check_gzip(folder):
    path = os.path.join(folder, "lines.gz")
    with gzip.open(path, "wb") as file:
        file.write(b"one\ntwo\n")
    lines = [x.numpy() for x in tf.data.TextLineDataset(path, compression_type="GZIP")]
    assert lines == [b"one", b"two"]


def check_linear_algebra():
    a = np.random.RandomState(1).randn(6, 4)
    s, u, v = tf.linalg.svd(a)
    np.testing.assert_allclose(u.numpy() * s.numpy() @ v.numpy().T, a, atol=1e-10)
    q, r = tf.linalg.qr(a)
    np.testing.assert_allclose(q.numpy() @ r.numpy(), a, atol=1e-10)
    b = a.T @ a + np.eye(4)
    values, _ = tf.linalg.eigh(b)
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(b), rtol=1e-8)
    np.testing.assert_allclose(tf.linalg.inv(b).numpy() @ b, np.eye(4), atol=1e-8)
    lower = tf.linalg.cholesky(b).numpy()
    np.testing.assert_allclose(lower @ lower.T, b, atol=1e-10)


def check_fit(folder):
    tf.random.set_seed(1)
    x = np.random.RandomState(2).randn(256, 8).astype(np.float32)
    y = (x.sum(1) > 0).astype(np.float32)
    layers = [tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    history = model.fit(x, y, epochs=20, verbose=0).history
    assert history["loss"][-1] < 0.5 * history["loss"][0], history["loss"]
    path = os.path.join(folder, "weights")
    model.save_weights(path)
    model.load_weights(path)


def check_command(folder):
    path = os.path.join(folder, "script.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write("import tensorflow as tf\nprint(int(tf.constant(1) + 1))\n")
    done = subprocess.run(
        [sys.executable, "-m", "situ", "run", path], stdout=subprocess.PIPE, check=True
    )
    assert done.stdout == b"2\n", done.stdout


def check_libraries():
    """No library of the system may have helped."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        loaded = file.read()
    found = [name for name in ("libpng", "libjpeg", "libdnnl") if name in loaded]
    assert not found, found


def check_licenses():
    folder = os.path.join(os.path.dirname(tf.__file__), "licenses")
    names = " ".join(sorted(os.listdir(folder)))
    assert all(name in names for name in ("libjpeg-turbo", "libpng", "zlib")), names


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_png()
        check_jpeg()
        check_gzip(folder)
        check_linear_algebra()
        check_fit(folder)
        check_command(folder)
    check_libraries()
    check_licenses()
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"Python {version}, NumPy {np.__version__}: PNG, JPEG, GZIP, SVD, fit, situ run: passed")


if __name__ == "__main__":
    main()
