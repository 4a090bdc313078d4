# SPDX-License-Identifier: Apache-2.0
"""testing.py: tf.test: test cases. Devices for tests are situ.testing's."""
import contextlib
import unittest

from situ._lib.api import export


@export("test.TestCase")
class TestCase(unittest.TestCase):
    """unittest's, with comparisons of arrays."""

    def _array(self, value):
        import numpy
        return numpy.asarray(value.numpy() if hasattr(value, "numpy") else value)

    def assertAllEqual(self, a, b, msg=None):
        import numpy
        numpy.testing.assert_array_equal(self._array(a), self._array(b), msg or "")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        import numpy
        numpy.testing.assert_allclose(self._array(a), self._array(b), rtol, atol,
                                      err_msg=msg or "")

    assertAllCloseAccordingToType = assertAllClose

    def assertNear(self, a, b, err, msg=None):
        self.assertLessEqual(abs(a - b), err, msg)

    @contextlib.contextmanager
    def session(self, graph=None, config=None, **words):
        from situ._lib.graph import Graph
        from situ._lib.session import Session
        graph = graph or Graph()
        with Session(graph=graph, config=config) as sess:
            yield sess

    test_session = cached_session = session


@export("test.main")
def main(argv=None):
    unittest.main(argv=argv)
