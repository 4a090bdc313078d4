# SPDX-License-Identifier: Apache-2.0
"""test_style.py: which import chooses the style of a program, and what changes it at run time.
Functions of tf.compat.v1 behave as in TensorFlow 2.21."""

import pytest

STARTUP = "ValueError: tf.enable_eager_execution must be called at program startup."


@pytest.mark.parametrize(
    "imports, eager",
    [
        ("import situ", True),
        ("import situ, situ.compat.v1", True),
        ("import situ\nimport situ.compat.v1 as tf", True),
        ("import situ as tf\ntf.constant(1)\nimport situ.compat.v1", True),
        ("import situ as tf\nfrom situ.compat import v1", True),
        ("import situ as tf\ntf.compat.v1.placeholder", True),
        ("import importlib\nfor n in 'situ', 'situ.compat.v1': importlib.import_module(n)", True),
        ("import situ.nn\nimport situ.compat.v1", True),
        ("import library", False),
        ("import situ as tf\nimport library", True),
        ("import situ.testing\nimport situ as tf\ntf.constant(1)\nimport library", True),
        ("import situ.testing\nimport situ as tf\ntf.function\nimport library", True),
        ("import situ.compat.v1", False),
        ("import situ.compat.v1 as tf\nimport situ", False),
        ("from situ.compat import v1 as tf", False),
        ("import situ.compat.v1.train", False),
        ("from situ.compat.v1 import train", False),
        ("import importlib\nimportlib.import_module('situ.compat.v1')", False),
        ("import situ.testing\nimport situ.compat.v1", False),
        ("import situ.mpi as hvd\nimport situ.compat.v1 as tf", False),
    ],
)
def test_the_first_import_of_situ_chooses_the_style(python, tmp_path, imports, eager):
    (tmp_path / "library.py").write_text("import situ.compat.v1 as tf\n")
    result = python(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        + imports
        + "\nimport situ.compat.v1 as v1\n"
        "print(v1.executing_eagerly(), v1.__version__[0])"
    )
    assert result.out == ("True 2\n" if eager else "False 1\n"), result.err


def test_an_eager_program_goes_on_after_the_import(python):
    result = python("""
        import situ as tf
        before = tf.Variable(2.0)
        import situ.compat.v1 as v1
        assert tf.compat.v1 is v1
        print((before * 3.0).numpy(), tf.constant([1, 2]).shape[0], v1.assign(before, 5.0).numpy())
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32)
            with v1.Session() as session:
                print(session.run(x + 1.0, {x: 2.0}))
        """)
    assert result.out == "6.0 2 5.0\n3.0\n", result.err


@pytest.mark.parametrize(
    "imports",
    [
        "import tensorflow.compat.v1 as tf",
        "from tensorflow.compat import v1 as tf",
        "import tensorflow as tf2\nimport tensorflow.compat.v1 as tf",
        "import tensorflow as tf2\ntf = tf2.compat.v1",
    ],
)
def test_importing_compat_v1_changes_nothing_under_situ_run(situ, imports):
    result = situ("run", "a.py", files={"a.py": imports + "\nprint(tf.constant(1).numpy())\n"})
    assert result.out == "1\n", result.err
    text = imports + "\ntf.disable_v2_behavior()\nprint(tf.constant(1))\n"
    result = situ("run", "b.py", files={"b.py": text})
    assert result.out == 'Tensor("Const:0", shape=(), dtype=int32)\n', result.err


@pytest.mark.parametrize(
    "imports, eager",
    [
        ("import situ.compat.v1 as tf", False),
        ("import situ as tf", True),
        ("from situ.compat import v1 as tf", False),
        ("import situ as tf\nimport situ.compat.v1", True),
        ("import situ.compat.v1 as tf\nimport situ", False),
    ],
)
def test_a_program_that_imports_situ_has_its_style_under_situ_run(situ, imports, eager):
    result = situ("run", "a.py", files={"a.py": imports + "\nprint(tf.executing_eagerly())\n"})
    assert result.out == f"{eager}\n", result.err


@pytest.mark.parametrize(
    "use",
    [
        "tf.constant(1)",
        "tf.get_default_graph()",
        "tf.Session()",
        "tf.Variable(1)",
        "tf.placeholder(tf.float32)",
    ],
)
@pytest.mark.parametrize("call", ["enable_eager_execution", "enable_v2_behavior"])
def test_eager_execution_is_enabled_before_the_default_graph_is_used(python, use, call):
    result = python(f"import situ.compat.v1 as tf\n{use}\ntf.{call}()")
    assert STARTUP in result.err
    result = python(
        f"import situ.compat.v1 as tf\n{use}\ntf.reset_default_graph()\ntf.{call}()\n"
        "print(tf.constant(1).numpy())"
    )
    assert result.out == "1\n", result.err


@pytest.mark.parametrize(
    "before",
    [
        "dir(tf)",
        "with tf.Graph().as_default():\n    tf.constant(1); tf.get_default_graph()",
        "tf.ConfigProto(); tf.flags.DEFINE_integer('a', 1, '')",
        "tf.enable_eager_execution()",
        "tf.logging.set_verbosity(tf.logging.INFO)",
    ],
)
def test_what_does_not_use_the_default_graph(python, before):
    result = python(
        f"import situ.compat.v1 as tf\n{before}\ntf.enable_eager_execution()\n"
        "print(tf.constant(1).numpy())"
    )
    assert result.out == "1\n", result.err


def test_an_eager_program_may_change_to_graphs_but_not_back(python):
    result = python("""
        import situ as tf
        x = tf.constant(1)
        tf.compat.v1.enable_eager_execution()
        tf.compat.v1.get_default_graph()
        tf.compat.v1.enable_v2_behavior()
        tf.compat.v1.disable_eager_execution()
        print(tf.executing_eagerly(), x.numpy(), tf.constant(2))
        tf.compat.v1.enable_eager_execution()
        """)
    assert result.out == 'False 1 Tensor("Const:0", shape=(), dtype=int32)\n'
    assert STARTUP in result.err


@pytest.mark.parametrize(
    "start",
    [
        "import situ.compat.v1 as tf\ntf.enable_eager_execution()\n",
        "import situ\ntf = situ.compat.v1\n",
    ],
)
def test_the_global_step_of_an_eager_program_is_an_eager_variable(python, start):
    result = python(
        start
        + """
step = tf.train.get_or_create_global_step()
step.assign_add(3)
print(step.name, step.dtype.name, step.trainable, step.numpy())
assert tf.train.get_global_step() is step and tf.train.get_or_create_global_step() is step
w = tf.Variable(2.0)
tf.train.GradientDescentOptimizer(0.5).minimize(lambda: w * w, global_step=step)
print(step.numpy(), w.numpy())
try:
    tf.train.create_global_step()
except ValueError as error:
    print(error)
"""
    )
    assert result.out == 'global_step:0 int64 False 3\n4 0.0\n"global_step" already exists.\n', (
        result.err
    )
