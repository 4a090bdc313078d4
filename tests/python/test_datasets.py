# SPDX-License-Identifier: Apache-2.0
"""test_datasets.py: datasets from local files: MNIST's helper, tf.keras.datasets."""

import gzip
import os
import pickle

import numpy as np
import pytest

import situ.compat.v1 as tf


def _write_mnist(folder, packed=True):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.RandomState(0)
    for name, count in (("train", 50), ("t10k", 10)):
        images = rng.randint(0, 256, (count, 28, 28)).astype(np.uint8)
        labels = rng.randint(0, 10, count).astype(np.uint8)
        for kind, magic, array in (("images-idx3", 2051, images), ("labels-idx1", 2049, labels)):
            head = b"".join(int(n).to_bytes(4, "big") for n in (magic, *array.shape))
            path = os.path.join(folder, f"{name}-{kind}-ubyte" + (".gz" if packed else ""))
            with (gzip.open if packed else open)(path, "wb") as file:
                file.write(head + array.tobytes())
    return labels


@pytest.mark.parametrize("packed", [True, False])
def test_mnist(tmp_path, packed):
    from situ._src.legacy.mnist import read_data_sets

    last = _write_mnist(str(tmp_path), packed)
    data = read_data_sets(str(tmp_path), one_hot=True, validation_size=5, seed=1)
    assert data.train.num_examples == 45 and data.validation.images.shape == (5, 784)
    assert data.test.labels.argmax(1).tolist() == last.tolist()
    assert data.train.images.dtype == np.float32 and data.train.images.max() <= 1
    seen = [data.train.next_batch(20) for _ in range(3)]
    assert [len(x) for x, _ in seen] == [20, 20, 20] and seen[2][1].shape == (20, 10)
    assert data.train.epochs_completed == 1
    assert tf.examples.tutorials.mnist.input_data.read_data_sets is read_data_sets


def test_mnist_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte.gz.*four files"):
        tf.examples.tutorials.mnist.input_data.read_data_sets(str(tmp_path))


def test_damaged(tmp_path):
    _write_mnist(str(tmp_path), False)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(b"\0\0\0\1" + path.read_bytes()[4:])
    with pytest.raises(ValueError, match="Invalid magic number 1 in MNIST file"):
        tf.examples.tutorials.mnist.input_data.read_data_sets(str(tmp_path))


def test_keras_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="mnist.npz or .*mnist/train-images"):
        tf.keras.datasets.mnist.load_data()
    _write_mnist(str(tmp_path / "datasets" / "fashion-mnist"))
    (x, y), (test_x, _) = tf.keras.datasets.fashion_mnist.load_data()
    assert x.shape == (50, 28, 28) and y.shape == (50,) and test_x.shape == (10, 28, 28)
    folder = tmp_path / "datasets" / "cifar-10-batches-py"
    with pytest.raises(FileNotFoundError, match="cifar-10-batches-py"):
        tf.keras.datasets.cifar10.load_data()
    folder.mkdir()
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        data = {
            b"data": np.arange(2 * 3072, dtype=np.uint64).astype(np.uint8).reshape(2, 3072),
            b"labels": [1, 9],
        }
        (folder / name).write_bytes(pickle.dumps(data, protocol=2))
    (x, y), _ = tf.keras.datasets.cifar10.load_data()
    assert x.shape == (10, 32, 32, 3) and y.shape == (10, 1)
    assert x[0, 0, :3, 0].tolist() == [0, 1, 2] and y[1] == 9


def test_names_of_copies_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    folder = tmp_path / "datasets"
    folder.mkdir()
    x, y = np.zeros((3, 28, 28), np.uint8), np.arange(3, dtype=np.uint8)
    np.savez(folder / "mnist.npz", x_train=x, y_train=y, x_test=x[:1], y_test=y[:1])
    assert tf.keras.datasets.mnist.load_data("mnist-0.npz")[0][1].tolist() == [0, 1, 2]
    np.savez(folder / "mnist-1.npz", x_train=x, y_train=y + 1, x_test=x, y_test=y)
    assert tf.keras.datasets.mnist.load_data("mnist-1.npz")[0][1].tolist() == [1, 2, 3]
    np.savez(folder / "boston_housing.npz", x=np.ones((4, 13)), y=np.ones(4))
    assert len(tf.keras.datasets.boston_housing.load_data("mine.npz", test_split=0.5)[0][0]) == 2
    with pytest.raises(FileNotFoundError, match="imdb: .*words.npz"):
        tf.keras.datasets.imdb.load_data("words.npz")


def test_pickles_that_run_code_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    folder = tmp_path / "datasets" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    (folder / "data_batch_1").write_bytes(pickle.dumps(os.system))
    with pytest.raises(pickle.UnpicklingError, match="no place in a dataset"):
        tf.keras.datasets.cifar10.load_data()


def test_import_of_the_helper(situ, tmp_path):
    _write_mnist(str(tmp_path / "MNIST_data"))
    done = situ(
        "run",
        "a.py",
        files={
            "a.py": """
        import tensorflow as tf
        from tensorflow.examples.tutorials.mnist import input_data
        mnist = input_data.read_data_sets("MNIST_data/", one_hot=True, validation_size=0)
        x = tf.placeholder(tf.float32, [None, 784])
        with tf.Session() as sess:
            images, labels = mnist.train.next_batch(10)
            print(sess.run(tf.shape(x), {x: images}), labels.shape)
        """
        },
    )
    assert done.out.strip() == "[ 10 784] (10, 10)", done.err


def test_files_that_programs_would_download(tmp_path):
    base = tf.contrib.learn.datasets.base
    with pytest.raises(FileNotFoundError, match="situ does not download http://x/a.gz"):
        base.maybe_download("a.gz", str(tmp_path), "http://x/a.gz")
    (tmp_path / "a.gz").write_bytes(b"")
    assert base.maybe_download("a.gz", str(tmp_path), "") == str(tmp_path / "a.gz")
    assert callable(tf.contrib.learn.datasets.mnist.read_data_sets)
