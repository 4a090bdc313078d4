# SPDX-License-Identifier: Apache-2.0
"""test_util.py: tf.test: TestCase, temporary directories and numerical gradient checks. Simulated
devices for tests are in situ.testing."""

from __future__ import annotations

import atexit
import contextlib
import random
import re
import shutil
import tempfile
import unittest
from unittest import mock

import numpy

import _situ
from situ._src.framework import errors, nest, style
from situ._src.framework.api import BOTH, OPS, export
from situ._src.framework.config import gpu_device_name
from situ._src.framework.gradients import gradients
from situ._src.framework.graph import Graph, reset_default_graph
from situ._src.framework.scopes import device
from situ._src.framework.session import Session, get_default_session
from situ._src.ops import random_ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike

_SEED = 87654321
_folders: list[str] = []  # of the process: get_temp_dir
BOTH["test.mock"] = mock


@export("test.get_temp_dir")
def get_temp_dir() -> str:
    """Returns a temporary directory that is removed at exit."""
    if not _folders:
        _folders.append(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, _folders[0], ignore_errors=True)
    return _folders[0]


def _reset_state():
    """Resets the graph and the random seeds before a test."""
    random.seed(_SEED)
    numpy.random.seed(_SEED)
    if style.is_graph():
        reset_default_graph()
    random_ops.set_seed(_SEED)


def _array(value):
    if not _situ.executing_eagerly() and hasattr(value, "eval"):
        value = value.eval()
    return numpy.asarray(value.numpy() if hasattr(value, "numpy") else value)


class _Arrays:
    """Assertions on arrays and tensors."""

    def assertAllEqual(self, a, b, msg=None):
        numpy.testing.assert_array_equal(_array(a), _array(b), msg or "")

    def assertNotAllEqual(self, a, b, msg=None):
        a, b = _array(a), _array(b)
        self.assertFalse(a.shape == b.shape and (a == b).all(), msg)

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
            return
        if (
            isinstance(a, (list, tuple))
            and len(a) == len(b)
            and len({numpy.shape(_array(x)) for x in a}) > 1
        ):
            for x, y in zip(a, b):
                self.assertAllClose(x, y, rtol, atol, msg)
            return
        numpy.testing.assert_allclose(_array(a), _array(b), rtol, atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(
        self,
        a,
        b,
        rtol=1e-6,
        atol=1e-6,
        half_rtol=1e-3,
        half_atol=1e-3,
        msg=None,
        float_rtol=1e-6,
        float_atol=1e-6,
        bfloat16_rtol=1e-2,
        bfloat16_atol=1e-2,
    ):
        kinds = (_array(a).dtype.name, _array(b).dtype.name)
        if "float32" in kinds:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if "bfloat16" in kinds:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        self.assertFalse(numpy.allclose(_array(a), _array(b), rtol, atol), msg)

    def assertAllGreater(self, a, bound):
        self.assertTrue((_array(a) > bound).all())

    def assertAllLess(self, a, bound):
        self.assertTrue((_array(a) < bound).all())

    def assertAllGreaterEqual(self, a, bound):
        self.assertTrue((_array(a) >= bound).all())

    def assertAllLessEqual(self, a, bound):
        self.assertTrue((_array(a) <= bound).all())

    def assertAllInRange(self, a, lower, upper, open_lower_bound=False, open_upper_bound=False):
        a = _array(a)
        self.assertTrue((a > lower if open_lower_bound else a >= lower).all())
        self.assertTrue((a < upper if open_upper_bound else a <= upper).all())

    def assertAllInSet(self, a, expected):
        self.assertTrue(set(_array(a).ravel().tolist()) <= set(expected))

    def assertNear(self, a, b, err, msg=None):
        self.assertLessEqual(abs(a - b), err, msg)

    def assertArrayNear(self, a, b, err, msg=None):
        self.assertEqual(len(a), len(b), msg)
        for x, y in zip(a, b):
            self.assertNear(x, y, err, msg)

    def assertNDArrayNear(self, a, b, err, msg=None):
        self.assertTrue((abs(_array(a) - _array(b)) < err).all(), msg)

    def assertShapeEqual(self, array, tensor, msg=None):
        self.assertEqual(list(array.shape), tensor.shape.as_list(), msg)

    def assertDTypeEqual(self, target, expected):
        self.assertEqual(_array(target).dtype, expected)


def _on_device(use_gpu, force_gpu):
    """Returns the device scope of a test's session."""
    if force_gpu:
        return device(gpu_device_name() or "/device:GPU:0")
    return contextlib.nullcontext() if use_gpu else device("/device:CPU:0")


@export("test.TestCase")
class TestCase(_Arrays, unittest.TestCase):
    """unittest's, with comparisons of arrays; each test begins with a graph of its own."""

    def setUp(self) -> None:
        super().setUp()
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")  # unittest collects it for its name, as in TensorFlow
        _reset_state()

    def get_temp_dir(self) -> Any:
        return tempfile.mkdtemp(prefix=self._testMethodName, dir=get_temp_dir())

    create_tempdir = get_temp_dir

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in both styles."""
        if not _situ.executing_eagerly():
            session: Any = get_default_session()
            return session.run(tensors)
        return nest.map_structure(lambda t: t.numpy() if hasattr(t, "numpy") else t, tensors)

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Any:
        """Returns a context manager for a session of a graph.

        Args:
          graph: the graph; by default the current graph or, in eager mode, a new one.
          config: a tf.compat.v1.ConfigProto.
          use_gpu: False places all operations on the CPU.
          force_gpu: whether to place all operations on the first GPU.
        """
        if graph is None and not style.is_graph():
            graph = Graph()
        with Session(graph=graph, config=config) as sess, _on_device(use_gpu, force_gpu):
            yield sess

    test_session = contextlib.contextmanager(session.__wrapped__)  # type: ignore[attr-defined]
    test_session.__test__ = False  # type: ignore[attr-defined]  # pytest does not collect it

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Any:
        """Returns a context manager for a session that is the same in all calls of a test. The
        arguments are those of `session`.

        Raises:
          ValueError: the graph or the config differs from that of the first call.
        """
        if "_cached" not in self.__dict__:
            self._cached, self._cached_for = Session(graph=graph, config=config), (graph, config)
            self.addCleanup(self._cached.close)
        for what, given, first in zip(("graph", "config"), (graph, config), self._cached_for):
            if given is not first:
                raise ValueError(
                    f"The {what} used to get the cached session is different than the one that was "
                    "used to create the session. Maybe create a new session with self.session()"
                )
        with self._cached.graph.as_default(), self._cached.as_default():
            with _on_device(use_gpu, force_gpu):
                yield self._cached

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Any:
        with self.assertRaises(exception_type) as caught:
            yield
        check = expected_err_re_or_predicate
        good = (
            check(caught.exception)
            if callable(check)
            else check is None or re.search(check, str(caught.exception))
        )
        self.assertTrue(good, f"{caught.exception} does not match {check}")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertStartsWith(self, actual: Any, expected_start: Any, msg: str | None = None) -> None:
        self.assertTrue(actual.startswith(expected_start), msg)

    def assertLen(self, container: str, expected_len: Any, msg: str | None = None) -> None:
        self.assertEqual(len(container), expected_len, msg)

    def assertEmpty(self, container: str, msg: str | None = None) -> None:
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container: str, msg: str | None = None) -> None:
        self.assertGreater(len(container), 0, msg)


def _perturbed(values, i, delta):
    moved = values.copy().reshape(-1)
    moved[i] += delta
    return moved.reshape(values.shape)


@export(v1="test.compute_gradient")
def compute_gradient(
    x: TensorLike,
    x_shape: Any,
    y: TensorLike,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Computes the theoretical and the numerical Jacobian of `y`, in the default session.

    Args:
      x: a tensor, or a list of tensors.
      x_shape: the shape of `x`, or a list of shapes.
      y: a tensor.
      y_shape: the shape of `y`.
      x_init_value: the value of `x`; random if it is None.
      delta: the step of the central differences.
      init_targets: operations to run first.
      extra_feed_dict: feeds of other tensors.

    Returns:
      Two arrays of shape [size of x, size of y]: by tf.gradients and by differences; or a list of
      them.
    """
    if isinstance(x, (list, tuple)):
        starts = x_init_value or [None] * len(x)
        return [
            compute_gradient(a, s, y, y_shape, v, delta, init_targets, extra_feed_dict)
            for a, s, v in zip(x, x_shape, starts)
        ]
    sess: Any = get_default_session()
    kind = x.dtype.base_dtype.as_numpy_dtype
    for target in init_targets or []:
        sess.run(target)
    start = (
        numpy.random.random_sample(x_shape).astype(kind)
        if x_init_value is None
        else numpy.asarray(x_init_value, kind)
    )
    feeds, weights = dict(extra_feed_dict or {}), numpy.zeros(y_shape, kind)
    gradient, grad_y = _gradient_of(y, x, y_shape)
    theoretical = numpy.zeros((start.size, weights.size), kind)
    for j in range(weights.size):
        column = sess.run(gradient, {**feeds, x: start, grad_y: _perturbed(weights, j, 1)})
        theoretical[:, j] = numpy.asarray(column).reshape(-1)
    numerical = numpy.zeros_like(theoretical)
    for i in range(start.size):
        above, below = (sess.run(y, {**feeds, x: _perturbed(start, i, d)}) for d in (delta, -delta))
        numerical[i] = ((above - below) / (2 * delta)).reshape(-1)
    return theoretical, numerical


def _gradient_of(y, x, y_shape):
    """Returns the gradient of y with respect to x, and the placeholder of the gradient of y."""
    weights = OPS["Placeholder"](dtype=y.dtype.base_dtype, shape=y_shape)
    return gradients(y, x, weights)[0], weights


@export(v1="test.compute_gradient_error")
def compute_gradient_error(
    x: TensorLike,
    x_shape: Any,
    y: TensorLike,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Returns the largest absolute difference between the Jacobians of compute_gradient.

    Args:
      x: a tensor, or a list of them.
      x_shape: its shape, or a list of shapes.
      y: a tensor that depends on x.
      y_shape: its shape.
      x_init_value: the value of x; random by default.
      delta: the step of the numerical differences.
      init_targets: operations to run first.
      extra_feed_dict: further feeds.
    """
    tables = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    tables = [tables] if isinstance(tables, tuple) else tables
    return max([0.0] + [float(abs(a - b).max()) for a, b in tables if a.size])


@export("test.main")
def main(argv: Any = None) -> None:
    """Runs the tests of a program.

    Args:
      argv: The command line; by default that of the program.
    """
    unittest.main(argv=argv)
