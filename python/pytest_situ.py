# SPDX-License-Identifier: Apache-2.0
"""pytest_situ.py: for pytest, which finds it by itself: simulated GPUs for a test.

def test_towers(simulated_gpus):
    names = simulated_gpus(4, memory="1GiB")

@pytest.mark.simulated_gpus(2)
def test_two(): ...
"""

import contextlib

import pytest


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "simulated_gpus(gpus=1, memory=None): the test has these simulated GPUs"
    )


@pytest.fixture
def simulated_gpus():
    """A function that gives the rest of the test simulated GPUs, and returns their names."""
    from situ import testing

    with contextlib.ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(testing.simulated_gpus(*args, **kwargs))


@pytest.fixture(autouse=True)
def _marked_gpus(request):
    mark = request.node.get_closest_marker("simulated_gpus")
    if mark is None:
        yield
        return
    from situ import testing

    with testing.simulated_gpus(*mark.args, **mark.kwargs):
        yield
