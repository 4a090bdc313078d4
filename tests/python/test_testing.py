# SPDX-License-Identifier: Apache-2.0
"""test_testing.py: simulated GPUs for tests of other people's code, used as a stranger would."""

import os
import subprocess
import sys
import threading

import pytest

import situ as tf
from situ.testing import simulated_gpus

MIB = 1 << 20


def gpus():
    return len(tf.config.list_logical_devices("GPU"))


def towers(devices):
    """Code under test: a product on every device, their sum on the CPU."""
    parts = []
    for device in devices:
        with tf.device(device):
            parts.append(tf.constant([[1.0, 2.0]]) @ tf.constant([[3.0], [4.0]]))
    with tf.device("/cpu:0"):
        return tf.add_n(parts)


def test_devices_used_before_come_back():
    before = tf.constant(1.0) + 1.0
    names = [d.name for d in tf.config.list_logical_devices()]
    with simulated_gpus(4) as four:
        assert four == [f"/device:GPU:{i}" for i in range(4)]
        assert gpus() == 4 and tf.test.is_gpu_available()
        total = towers(four)
        assert (before + 1.0).device.endswith("GPU:0")
    assert total.numpy() == 44.0
    assert [d.name for d in tf.config.list_logical_devices()] == names


def test_tensors_outlive_their_gpu():
    with simulated_gpus(2):
        with tf.device("/gpu:1"):
            inside = tf.constant([1.0, 2.0]) * 3.0
        assert inside.device.endswith("GPU:1")
    assert inside.device.endswith("CPU:0")
    assert inside.numpy().tolist() == [3.0, 6.0]
    assert (inside + inside).numpy().tolist() == [6.0, 12.0]


def test_memory_is_a_limit():
    with simulated_gpus(2, memory="8MiB"):
        for i in range(2):
            with tf.device(f"/gpu:{i}"):
                small = tf.zeros([MIB // 2]) + 1.0
                with pytest.raises(tf.errors.ResourceExhaustedError, match="limit: 8.00MiB"):
                    tf.zeros([4 * MIB])
            assert tf.config.experimental.get_memory_info(f"GPU:{i}")["limit"] == 8 * MIB
        del small
    with simulated_gpus(1, memory=3 * MIB):
        tf.constant(1.0) + 1.0
        assert tf.config.experimental.get_memory_info("GPU:0")["limit"] == 3 * MIB


def test_a_text_describes_gpus_and_faults():
    with simulated_gpus("Tesla K40c@0000:05:00.0=12GiB;lost_after=1") as names:
        assert names == ["/device:GPU:0"]
        x = tf.constant([1.0]) + 1.0
        with pytest.raises(tf.errors.UnavailableError, match="lost_after=1"):
            (x + 1.0).numpy()
    assert (tf.constant(1.0) + 1.0).numpy() == 2.0


def test_wrong_texts_show_the_place():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\^"):
        with simulated_gpus("A=5 apples"):
            pass
    with pytest.raises(ValueError, match="part of the description"):
        with simulated_gpus("A=5GiB", memory="1GiB"):
            pass
    with simulated_gpus(1):
        assert gpus() == 1


def test_config_begins_anew():
    tf.constant(1.0) + 1.0  # settles the devices
    with simulated_gpus(2):
        first, second = tf.config.list_physical_devices("GPU")
        tf.config.set_visible_devices([second], "GPU")
        tf.config.experimental.set_memory_growth(second, True)
        assert gpus() == 1
        x = tf.constant([1.0]) * 2.0
        assert tf.config.experimental.get_memory_info("GPU:0")["reserved"] < 64 * MIB
        del x
    with simulated_gpus(2):
        assert gpus() == 2
        assert tf.config.get_visible_devices("GPU") == tf.config.list_physical_devices("GPU")


def test_blocks_nest():
    with simulated_gpus(3):
        x = tf.constant(1.0) + 1.0
        with simulated_gpus(1):
            assert gpus() == 1
            y = x + 1.0
        assert gpus() == 3
        assert (x + y).numpy() == 5.0


def test_functions_run_on_what_there_is():
    @tf.function
    def double(x):
        return x * 2.0

    assert double(tf.constant(2.0)).numpy() == 4.0
    with simulated_gpus(2):
        with tf.device("/gpu:1"):
            assert double(tf.constant(3.0)).numpy() == 6.0
        assert double(tf.constant(2.5)).numpy() == 5.0
    assert double(tf.constant(4.0)).numpy() == 8.0


def test_sessions_of_the_block_are_closed():
    v1 = tf.compat.v1
    with simulated_gpus(2):
        with tf.Graph().as_default():
            with tf.device("/gpu:1"):
                x = tf.constant(20.0) + 1.0
            sess = v1.Session()
            assert sess.run(x) == 21.0
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(x)


def test_an_open_session_outside_is_named():
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with v1.Session() as sess:
            with pytest.raises(RuntimeError, match="1 session.* are open.*SITU_SIM_GPUS=4"):
                with simulated_gpus(2):
                    pass
            assert sess.run(x) == 1.0
    with simulated_gpus(2):
        assert gpus() == 2


def test_what_fails_inside_comes_out_and_leaves_nothing():
    with pytest.raises(ZeroDivisionError):
        with simulated_gpus(2):
            x = tf.constant(1.0) + 1.0
            1 // 0
    assert x.numpy() == 2.0
    with simulated_gpus(1):
        assert gpus() == 1


def test_masks_of_the_machine_do_not_count(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with simulated_gpus(2):
        assert gpus() == 2
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
    with simulated_gpus(4):  # those of the code under test do
        os.environ["CUDA_VISIBLE_DEVICES"] = "3,0"
        assert gpus() == 2
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def test_child_processes_have_them_too():
    program = "import situ as tf; print(len(tf.config.list_physical_devices('GPU')))"
    with simulated_gpus(3):
        done = subprocess.run(
            [sys.executable, "-c", program], text=True, capture_output=True, check=True
        )
    assert done.stdout == "3\n"


def test_other_threads_see_them():
    seen = []
    with simulated_gpus(2):
        thread = threading.Thread(target=lambda: seen.append((tf.constant(1.0) + 1.0).device))
        thread.start()
        thread.join()
    assert seen[0].endswith("GPU:0")


PLUGIN = """
import pytest
import situ as tf

def count():
    return len(tf.config.list_logical_devices("GPU"))

def test_fixture(simulated_gpus):
    assert simulated_gpus(4, memory="1GiB")[3] == "/device:GPU:3"
    assert count() == 4

@pytest.mark.simulated_gpus(2, memory="64MiB")
def test_mark():
    assert count() == 2
    assert tf.config.experimental.get_memory_info("GPU:1")["limit"] == 64 << 20

def test_none():
    assert count() == 0

@pytest.mark.simulated_gpus(3)
class TestAll:
    def test_one(self):
        assert count() == 3

    def test_that_fails_and_holds_on(self):
        x = tf.constant(1.0) + 1.0
        assert not x.device.endswith("GPU:0")

    def test_another(self, simulated_gpus):
        simulated_gpus(1)
        assert count() == 1

def test_none_again():
    assert count() == 0
"""


def test_plug_in(tmp_path):
    (tmp_path / "test_code.py").write_text(PLUGIN, encoding="utf-8")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SITU_", "PYTEST", "CUDA_"))}
    done = subprocess.run(
        [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-p",
            "pytest_situ",
            "-q",
            "--strict-markers",
            "-p",
            "no:cacheprovider",
            tmp_path,
        ],
        text=True,
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=env,
    )
    assert "1 failed, 6 passed" in done.stdout, done.stdout + done.stderr
    assert "test_that_fails_and_holds_on" in done.stdout


def test_which_gpus_are_available():
    with simulated_gpus(1):
        assert tf.test.is_gpu_available(cuda_only=True)
        assert tf.test.is_gpu_available(min_cuda_compute_capability=(0, 0))
        assert not tf.test.is_gpu_available(True, (3, 5))  # as a GPU whose capability is not known
    assert not tf.test.is_gpu_available(cuda_only=True) or gpus()


def test_the_devices_of_a_test_session():
    v1 = tf.compat.v1

    class Case(v1.test.TestCase):
        def runTest(self):
            with self.session(use_gpu=False) as session:
                x = v1.placeholder(tf.float32, [])
                assert x.device == "/device:CPU:0" and session.run(x, {x: 1.0}) == 1
            with self.session(force_gpu=True):
                assert v1.placeholder(tf.float32, []).device == "/device:GPU:0"
            graph = tf.Graph()
            with self.cached_session(graph):
                assert v1.placeholder(tf.float32, []).device == ""
            with self.assertRaisesRegex(ValueError, "The graph used to get the cached session"):
                with self.cached_session():
                    pass

    with simulated_gpus(1):
        Case().debug()
