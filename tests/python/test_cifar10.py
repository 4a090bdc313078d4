# SPDX-License-Identifier: Apache-2.0
"""test_cifar10.py: the example programs of examples/cifar10, at a small size."""

import os
import re
import subprocess
import sys

import conftest
import numpy
import pytest

import situ as tf

FOLDER = os.path.join(conftest.ROOT, "examples/cifar10")
sys.path.insert(0, FOLDER)
import data  # noqa: E402  pylint: disable=wrong-import-position


@pytest.fixture(scope="module", name="data_dir")
def fixture_data_dir(tmp_path_factory):
    """Data of the whole size, made once."""
    folder = str(tmp_path_factory.mktemp("data"))
    data.files(folder, data.TRAIN + data.TEST)
    return folder


def losses(text):
    return [float(x) for x in re.findall(r"loss = ([\d.]+) ", text)]


def run(program, *words):
    """Runs a program of the build; these take longer than what the fixture allows."""
    done = subprocess.run(
        [os.path.join(conftest.BUILD, program), *words],
        check=False,
        text=True,
        env=conftest.environment(),
        capture_output=True,
        timeout=conftest.PATIENCE,
    )
    return conftest.Result(done)


def train(data_dir, train_dir, gpus, *words, script="train.py"):
    done = run(
        "situ",
        "run",
        "--gpus",
        "4",
        os.path.join(FOLDER, script),
        "--data_dir",
        data_dir,
        "--train_dir",
        str(train_dir),
        "--num_gpus",
        str(gpus),
        *words,
    )
    assert done.code == 0, done.err
    return done.out


def test_records(tmp_path):
    names = data.TRAIN[:1] + data.TEST
    for path in data.files(str(tmp_path), names, per_file=20):
        assert os.path.getsize(path) == 20 * data.RECORD
    images, labels = data.load(str(tmp_path), names)
    assert images.shape == (40, 32, 32, 3) and set(labels) <= set(range(10))
    planes = numpy.frombuffer(data.record(3), numpy.uint8)
    assert labels[3] == planes[0] and (images[3, :, :, 1].ravel() == planes[1025:2049]).all()


def test_loss_is_the_same_on_any_number_of_gpus(data_dir, tmp_path):
    words = ("--max_steps", "6", "--batch_size", "32", "--seed", "7", "--log_frequency", "1")
    one, two, four = (losses(train(data_dir, tmp_path / "t", n, *words)) for n in (1, 2, 4))
    assert len(one) == 6 and one[0] != one[5]
    numpy.testing.assert_allclose(two, one, rtol=2e-5)
    numpy.testing.assert_allclose(four, one, rtol=2e-5)


def test_eager_loss_is_the_same_on_any_number_of_gpus(data_dir, tmp_path):
    words = ("--max_steps", "4", "--batch_size", "32", "--log_frequency", "1")
    one, two = (train(data_dir, tmp_path / "t", n, *words, script="train_eager.py") for n in (1, 2))
    assert len(losses(one)) == 4
    numpy.testing.assert_allclose(losses(two), losses(one), rtol=2e-5)
    assert re.search(r"accuracy = 0\.\d+", one)


def test_learns_saves_and_goes_on(data_dir, tmp_path):
    words = ("--batch_size", "64", "--seed", "1")
    text = train(data_dir, tmp_path / "t", 2, "--max_steps", "200", *words)
    found = losses(text)
    assert found[-1] < found[0] - 1
    assert re.search(r"step 0, loss = [\d.]+ \([\d.]+ examples/sec; [\d.]+ sec/batch\)", text)
    done = run(
        "situ",
        "run",
        os.path.join(FOLDER, "eval.py"),
        "--data_dir",
        data_dir,
        "--train_dir",
        str(tmp_path / "t"),
        "--eval_dir",
        str(tmp_path / "e"),
    )
    accuracy = re.search(r"step 200: accuracy = ([\d.]+) \(\d+ of 1000\)", done.out)
    assert accuracy and float(accuracy.group(1)) > 0.9, done.out + done.err
    assert any("tfevents" in name for name in os.listdir(tmp_path / "e"))
    again = train(
        data_dir,
        tmp_path / "t",
        2,
        "--max_steps",
        "201",
        "--resume",
        "--log_frequency",
        "1",
        *words,
    )
    assert "step 200," in again and "step 199," not in again and losses(again)[0] < found[0] - 1


def test_c_learns(data_dir):
    done = run("examples/cifar10", "--gpus", "2", "--batch", "64", "--data", data_dir)
    accuracy = re.search(r"^accuracy = ([\d.]+)", done.out, re.M)
    assert accuracy and float(accuracy.group(1)) > 0.9, done.out + done.err


def test_c_goes_on_from_a_checkpoint_that_python_reads(data_dir, tmp_path):
    words = ("--batch", "16", "--data", data_dir)
    kept = (*words, "--checkpoint", str(tmp_path / "m"))
    whole = run("examples/cifar10", "--steps", "6", *words)
    assert run("examples/cifar10", "--steps", "3", *kept).code == 0
    reader = tf.train.load_checkpoint(str(tmp_path / "m"))
    assert reader.get_tensor("global_step") == 3
    assert reader.get_tensor("conv1/weights/average").shape == (5, 5, 3, 64)
    rest = run("examples/cifar10", "--steps", "6", *kept)
    assert "going on behind step 2" in rest.out and losses(rest.out) == losses(whole.out)[-1:]
    assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]
    os.truncate(tmp_path / "m.data-00000-of-00001", 1000000)
    cut = run("examples/cifar10", "--steps", "9", *kept)
    assert cut.code == 1 and "DataLossError" in cut.err and "damaged at byte 1000000" in cut.err
    wrong = run("examples/cifar10", *words, "--checkpoint", str(tmp_path / "none" / "m"))
    assert wrong.code == 1 and "No such file" in wrong.err and not losses(wrong.out)


def test_no_checkpoint(tmp_path):
    done = run("situ", "run", os.path.join(FOLDER, "eval.py"), "--train_dir", str(tmp_path))
    assert done.code == 1 and "run train.py first" in done.err


def test_c(data_dir, tmp_path):
    words = ("--steps", "3", "--batch", "16", "--data")
    two = run("examples/cifar10", "--gpus", "2", *words, str(tmp_path))
    assert two.code == 0 and len(losses(two.out)) == 2 and "accuracy = 0." in two.out, two.err
    for name in data.TRAIN + data.TEST:  # the bytes that data.py makes
        mine, theirs = (os.path.join(f, data.FOLDER, name) for f in (str(tmp_path), data_dir))
        with open(mine, "rb") as a, open(theirs, "rb") as b:
            assert a.read() == b.read()
    four = run("examples/cifar10", "--gpus", "4", *words, data_dir)
    numpy.testing.assert_allclose(losses(four.out), losses(two.out), rtol=2e-5)
    assert run("examples/cifar10", "--gpus", "3", "--batch", "16").code == 2
    for size in (5000, 0):
        os.truncate(os.path.join(str(tmp_path), data.FOLDER, data.TRAIN[2]), size)
        cut = run("examples/cifar10", "--data", str(tmp_path))
        assert cut.code == 1 and f"{size} bytes are no whole number of records" in cut.err


@pytest.mark.parametrize("size", [0, 100, 3 * data.RECORD + 1])
def test_a_file_that_was_cut_off_is_named(tmp_path, size):
    (path,) = data.files(str(tmp_path), data.TEST, per_file=5)
    os.truncate(path, size)
    with pytest.raises(SystemExit, match=f"{path}: {size} bytes are no whole number of records"):
        data.files(str(tmp_path), data.TEST)
