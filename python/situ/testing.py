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

_depth: list = []  # what the blocks around us asked for
_VARIABLES = (
    "SITU_SIM_GPUS",
    "SITU_GPU_MEMORY",
    "SITU_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "SITU_REQUIRE",
)
_WAY_OUT = (
    "Close it (`with tf.Session() as sess:` does), or run this test in a process of its "
    "own: SITU_SIM_GPUS=4 python -m pytest test_file.py::test_name"
)


def _environment(gpus, memory):
    """The variables that give these GPUs, also to processes that the block starts."""
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
    """Sets our variables, and only these; returns what they were."""
    before = {name: os.environ.pop(name) for name in _VARIABLES if name in os.environ}
    os.environ.update(values)
    return before


def _sessions():
    """Sessions of the program that are open."""
    return [o for o in gc.get_objects() if isinstance(o, session.Session) and not o._closed]


def _leave_devices():
    """Lets go of the devices of this process; tensors on them move to host memory."""
    for sess in _sessions():
        sess.close()
    for thing in gc.get_objects():
        if isinstance(thing, function.Function):
            thing._forget()
        elif isinstance(thing, concrete_function.ConcreteFunction):
            thing._trace = None  # is made anew where it is called next
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
    """The GPUs; nothing is settled by looking."""
    names = [f"/device:GPU:{d['index']}" for d in _situ.devices() if d["kind"] == "GPU"]
    _situ.devices_reset()
    return names


@contextlib.contextmanager
def simulated_gpus(gpus=1, memory=None):
    """Simulated GPUs, and no others, for the block; gives their names.

    gpus: how many, or a text as in SITU_SIM_GPUS: "Tesla K40c=12GiB;lost_after=100".
    memory: what a program may take of each: "64MiB", or a number of bytes.

    Devices may have been used before: tensors that live on a GPU move to host memory, compiled
    calls are forgotten, tf.config begins anew. Sessions must be closed before the block; those
    opened inside are closed at its end. Then the devices of the process are back.
    """
    values = _environment(gpus, memory)
    open_ones = [] if _depth else _sessions()
    if open_ones:
        raise RuntimeError(
            f"simulated_gpus: {len(open_ones)} session(s) of this process are open, "
            f"and would lose their devices. {_WAY_OUT}"
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
            if not failed:  # what failed in the block says more
                raise
