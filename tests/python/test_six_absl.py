# SPDX-License-Identifier: Apache-2.0
"""test_six_absl.py: packages that programs import with TensorFlow: six, absl."""

import subprocess
import sys
import textwrap

from conftest import PATIENCE, Result

BARE = """
    import importlib.machinery
    import sys


    finder = importlib.machinery.PathFinder
    real = finder.find_spec
    finder.find_spec = classmethod(lambda cls, name, path=None, target=None:
                                   None if name.split(".")[0] in ("six", "absl", "keras")
                                   else real(name, path, target))
    """


def bare(tmp_path, text, *words):
    """Runs a program where neither six nor absl is installed."""
    (tmp_path / "a.py").write_text(textwrap.dedent(text))
    start = (
        textwrap.dedent(BARE) + "from situ._src.runner import run\n"
        f"sys.argv = ['run', '--', 'a.py', *{list(words)!r}]\nrun.main()\n"
    )
    return Result(
        subprocess.run(
            [sys.executable, "-c", start],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    )


def test_six(tmp_path):
    result = bare(
        tmp_path,
        """
        from six.moves import xrange, urllib, zip, cPickle as pickle
        from six.moves import input
        from six.moves.urllib.request import urlretrieve
        import six.moves.queue
        import six
        import tensorflow as tf
        print(list(xrange(3)), urllib.request.urlretrieve is urlretrieve, pickle.loads.__name__)
        print(list(six.iteritems({1: 2})), isinstance("a", six.string_types), six.PY3, six.b("x"))
        print(six.moves.queue.Queue().empty(), six.moves.range(2))
        @six.add_metaclass(type)
        class A(object):
            b = 1
        print(A.b, six.ensure_str(b"q"), tf.__version__)
        """,
    )
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "[0, 1, 2] True loads\n[(1, 2)] True True b'x'\nTrue range(0, 2)\n1 q 2.15.0\n"
    )


def test_absl(tmp_path):
    result = bare(
        tmp_path,
        """
        from absl import app, flags, logging
        import tensorflow as tf
        FLAGS = flags.FLAGS
        flags.DEFINE_integer("n", 1, "how many")
        def main(argv):
            logging.info("not shown")
            print(FLAGS.n, argv[1:], tf.add(1, 2).numpy())
        app.run(main)
        """,
        "--n=5",
        "word",
    )
    assert (result.code, result.out) == (0, "5 ['word'] 3\n")


def test_keras(tmp_path):
    result = bare(
        tmp_path,
        """
        import keras
        import tensorflow as tf
        from keras.layers import Dense
        from keras import backend
        print(keras.layers.Dense is Dense is tf.keras.layers.Dense)
        try:
            import keras.nothing
        except ImportError:
            print("without")
        """,
    )
    assert (result.code, result.out) == (0, "True\nwithout\n"), result.err


def test_flags_of_an_installed_absl_are_read(situ):
    result = situ(
        "run",
        "a.py",
        "--n=7",
        files={
            "a.py": """
            import tensorflow as tf
            from absl import flags
            flags.DEFINE_integer("n", 1, "how many")
            tf.app.flags.DEFINE_integer("m", 2, "more")
            def main(_):
                print(flags.FLAGS.n, tf.app.flags.FLAGS.m)
            tf.app.run()
            """,
            "absl/__init__.py": "",
            "absl/flags.py": """
            class Values:
                n = 1
                def __call__(self, argv, known_only=False):
                    self.n = int([w for w in argv if w.startswith("--n=")][0][4:])
                    return argv[:1]
            FLAGS = Values()
            def DEFINE_integer(*unused):
                pass
            """,
        },
    )
    assert (result.code, result.out) == (0, "7 2\n")


def test_names_that_numpy_had(situ):
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """\
        import numpy as np
        import tensorflow as tf
        sess = tf.Session()
        x = np.zeros([2, 3], dtype=np.float)
        print(x.dtype, np.reshape(x, newshape=[3, 2]).shape, len(x.tostring()), np.product([2, 3]))
        """
        },
    )
    assert result.out == "float64 (3, 2) 48 6\n", result.err


def test_rows_of_different_lengths_make_arrays_of_objects(situ):
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """\
                import numpy as np
                import tensorflow as tf

                pairs = np.array(list(zip(np.zeros([4, 3]), np.ones([4, 2]))))
                rows = [[1], [2, 3]]
                print(pairs.shape, pairs.dtype, np.array(rows).dtype, np.array([[1, 2]]).dtype)
                for make in (lambda: np.array(rows, float), lambda: tf.constant(rows)):
                    try:
                        make()
                    except ValueError as error:
                        print(type(error).__name__)
                """
        },
    )
    assert result.out == "(4, 2) object object int64\nValueError\nValueError\n", result.err
