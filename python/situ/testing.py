# SPDX-License-Identifier: Apache-2.0
"""testing.py: devices for tests of your own code: simulated GPUs for a block or for a test.

    from situ.testing import simulated_gpus

    def test_towers():
        with simulated_gpus(4, memory="1GiB"):
            assert my_program.train_on(4) < 0.1

pytest has a fixture and a mark of the same name: see pytest_situ.py.
"""

from __future__ import annotations

import contextlib
import gc
import os

import _situ
from situ._src.framework import concrete_function, config, errors, function, session

_depth: list = []  # arguments of the enclosing blocks
_VARIABLES = (
    "SITU_SIM_GPUS",
    "SITU_GPU_MEMORY",
    "SITU_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "SITU_REQUIRE",
)
_HINT = (
    "Close it (`with tf.Session() as sess:` does), or run this test in a process of its "
    "own: SITU_SIM_GPUS=4 python -m pytest test_file.py::test_name"
)


def _environment(gpus, memory):
    """Returns the environment variables for the GPUs, which child processes inherit."""
    if memory is None:
        return {"SITU_SIM_GPUS": str(gpus)}
    if isinstance(gpus, str):
        raise ValueError(
            "where each GPU is described, its memory is part of the description: "
            f"{gpus!r} and memory={memory!r}"
        )
    size = f"{memory}B" if isinstance(memory, int) else memory
    return {
        "SITU_SIM_GPUS": ",".join([f"Simulated GPU={size}"] * gpus) or "0",
        "SITU_GPU_MEMORY": f"limit={size}",
    }


def _set_environment(values):
    """Replaces the variables in _VARIABLES. Returns their previous values."""
    before = {name: os.environ.pop(name) for name in _VARIABLES if name in os.environ}
    os.environ.update(values)
    return before


def _sessions():
    """Returns the open sessions of the program."""
    return [o for o in gc.get_objects() if isinstance(o, session.Session) and not o._closed]


def _leave_devices():
    """Releases the devices of this process; tensors on them move to host memory."""
    for sess in _sessions():
        sess.close()
    for thing in gc.get_objects():
        if isinstance(thing, function.Function):
            thing._forget()
        elif isinstance(thing, concrete_function.ConcreteFunction):
            thing._trace = None  # compiled again by the next call
    gc.collect()
    _situ.reset()
    try:
        _situ.evacuate()
        _situ.devices_reset()
    except errors.FailedPreconditionError as e:
        raise RuntimeError(
            f"The devices of this process are in use: {e.message}\n"
            "Wait for threads that run something before simulated_gpus begins "
            "or ends."
        ) from None


def _names():
    """Returns the names of the GPUs without initializing them."""
    names = [f"/device:GPU:{d['index']}" for d in _situ.devices() if d["kind"] == "GPU"]
    _situ.devices_reset()
    return names


@contextlib.contextmanager
def simulated_gpus(gpus=1, memory=None):
    """Replaces the GPUs of this process by simulated ones for a block.

    Devices may have been used before: tensors on GPUs move to host memory, compiled programs are
    discarded and tf.config is reset. Sessions that are opened in the block are closed at its end,
    when the previous devices return.

    Args:
      gpus: the number of GPUs, or a description as in SITU_SIM_GPUS: "Tesla
        K40c=12GiB;lost_after=100".
      memory: the memory limit of each GPU: "64MiB", or a number of bytes.

    Yields:
      The names of the GPUs.

    Raises:
      RuntimeError: a session is open, or the devices are in use.
      ValueError: `memory` is given with a description of GPUs.
    """
    values = _environment(gpus, memory)
    open_sessions = [] if _depth else _sessions()
    if open_sessions:
        raise RuntimeError(
            f"simulated_gpus: {len(open_sessions)} session(s) of this process are open, "
            f"and would lose their devices. {_HINT}"
        )
    _leave_devices()
    state, environment = config.forget(), _set_environment(values)
    _depth.append(gpus)
    failed = True
    try:
        yield _names()
        failed = False
    finally:
        _depth.pop()
        _set_environment(environment)
        config.forget(state)
        try:
            _leave_devices()
        except RuntimeError:
            if not failed:  # keep the error of the block
                raise
