# SPDX-License-Identifier: Apache-2.0
"""test_run.py: situ run: unmodified programs, their exit codes, and missing names."""

import os
import signal
import subprocess
import sys

import pytest
from conftest import BUILD, PATIENCE, environment

GRAPH = """
    import tensorflow as tf
    x = tf.placeholder(tf.float32, [2])
    print(tf.Session().run(x * 2, {x: [1, 2]}), tf.__version__)
    """
EAGER = """
    import tensorflow as tf
    print(tf.constant([1, 2]) * 2, tf.__version__)
    """


def test_style_is_told_from_the_program(situ):
    assert situ("run", "a.py", files={"a.py": GRAPH}).out == "[2. 4.] 1.15.5\n"
    assert (
        situ("run", "a.py", files={"a.py": EAGER}).out
        == "tf.Tensor([2 4], shape=(2,), dtype=int32) 2.15.0\n"
    )
    assert (
        situ("run", "--api", "v1", "a.py", files={"a.py": EAGER}).out
        == 'Tensor("mul:0", shape=(2,), dtype=int32) 1.15.5\n'
    )


@pytest.mark.parametrize(
    "use, style",
    [
        ("tf.random_normal([2])", "v1"),
        ("tf.train.AdamOptimizer(0.1)", "v1"),
        ("tf.gfile.Exists('x')", "v1"),
        ("tf.summary.merge_all()", "v1"),
        ("tf.train.Checkpoint()", "v2"),
        ("tf.random.normal([2])", "v2"),
        ("tf.summary.scalar('a', 1, 0)", "v2"),
        ("tf.math.log(1.)", "v2"),
        ("tf.losses.softmax_cross_entropy(a, b)", "v1"),
        ("tf.losses.MeanSquaredError()", "v2"),
        ("tf.compat.v1.Session()", "v1"),
        ("x = tf.compat.v1.placeholder(tf.float32)", "v1"),
        ("with tf.Graph().as_default():\n    tf.compat.v1.placeholder(tf.float32)", "v2"),
        ("tf.compat.v1.train.AdamOptimizer()", "v2"),
        ("from tensorflow.python.framework.ops import disable_eager_execution", "v1"),
        ("from tensorflow.python.framework.ops import EagerTensor", "v2"),
        ("tf.keras.Sequential()\nwith tf.compat.v1.Session() as s:\n    pass", "v2"),
        (
            "tf.keras.Sequential()\nwith tf.compat.v1.Session() as s:\n"
            "    s.run(tf.compat.v1.global_variables_initializer())",
            "v1",
        ),
    ],
)
def test_style_of_names_that_only_one_generation_has(use, style):
    from situ._src.runner import program, style_detection

    source = f"import tensorflow as tf\n{use}\n"
    assert style_detection.style_of(program.Program("a.py", source, [])) == style


def test_modules_that_situ_lacks(situ):
    result = situ("run", "a.py", files={"a.py": "import tensorflow.contrib.nothing as n\n"})
    assert result.code == 1
    assert result.err.endswith(
        "ModuleNotFoundError: No module named 'tensorflow.contrib.nothing'\n"
        "situ does not have tf.contrib.nothing (yet).\ntf.contrib is not "
        "planned as a whole; what programs use of it most comes first.\n"
    )
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """
        try:
            from tensorflow.contrib.nothing import a
        except ImportError:
            print("without")
        """
        },
    )
    assert (result.code, result.out) == (0, "without\n")


def test_style_is_told_from_local_modules(situ):
    result = situ(
        "run",
        "main.py",
        files={
            "main.py": "import model\nmodel.go()\n",
            "model.py": "def go():\n    import tensorflow as tf\n"
            "    print(tf.Session().run(tf.no_op()))\n",
        },
    )
    assert (result.out, result.code) == ("None\n", 0)


def test_arguments_and_names(situ):
    files = {
        "a.py": "import sys\nprint(sys.argv, __name__, __file__)\n",
        "pkg/__init__.py": "",
        "pkg/tool.py": "import sys, os\nprint(sys.argv[1:], __name__, __package__)\n",
    }
    assert (
        situ("run", "a.py", "--gpus", "2", "-x", files=files).out
        == "['a.py', '--gpus', '2', '-x'] __main__ a.py\n"
    )
    assert situ("run", "-m", "pkg.tool", "b", files=files).out == "['b'] __main__ pkg\n"


@pytest.mark.parametrize(
    "text, code, err",
    [
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(7)", 7, ""),
        ("raise SystemExit('bad')", 1, "bad\n"),
        ("import sys; sys.exit(3)", 3, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, ""),
    ],
)
def test_exit_codes(situ, text, code, err):
    result = situ("run", "a.py", files={"a.py": text})
    assert (result.code, result.err) == (code, err)


def test_tracebacks_show_the_users_lines(situ):
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """\
        import tensorflow as tf
        def f():
            return tf.matmul([[1., 2.]], [[1., 2.]])
        f()
        """
        },
    )
    lines = result.err.splitlines()
    assert result.code == 1 and "situ/_src" not in result.err and "run.py" not in result.err
    assert lines[0] == "Traceback (most recent call last):"
    assert [line for line in lines if line.startswith("  File")] == [
        '  File "a.py", line 4, in <module>',
        '  File "a.py", line 3, in f',
    ]
    error = [line for line in lines if not line.startswith(" ")][1:]
    assert error[0].startswith("tensorflow.python.framework.errors_impl.InvalidArgumentError: ")
    assert error[1:] == ["Inputs of MatMul: float[1,2], float[1,2]"]


def test_a_syntax_error(situ):
    result = situ("run", "a.py", files={"a.py": "import tensorflow as tf\nx = = 3\n"})
    assert result.code == 1 and "SyntaxError" in result.err and "line 2" in result.err


@pytest.mark.parametrize(
    "words, text",
    [
        (["nothing.py"], "cannot read nothing.py: No such file or directory"),
        (["-m", "nothing"], "there is no module nothing"),
    ],
)
def test_no_program(situ, words, text):
    result = situ("run", *words)
    assert result.code == 1 and text in result.err


def test_modules_below_tensorflow(situ):
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """\
        import tensorflow.compat.v1 as tf
        import tensorflow as tf2
        from tensorflow.python.client import device_lib, session
        from tensorflow.python.framework import dtypes, errors_impl, ops
        from tensorflow.python.ops import array_ops, math_ops
        from tensorflow.core.protobuf import config_pb2
        import tensorflow.python.ops.nn_ops as nn_ops
        print(device_lib.list_local_devices()[0].name, dtypes.float32.name)
        print(math_ops.add is tf2.add, errors_impl.OpError is tf2.errors.OpError)
        from tensorflow.python.ops.rnn import rnn_cell_impl
        from tensorflow.python.util import tf_contextlib, tf_decorator
        @tf_contextlib.contextmanager
        def twice(x):
            yield 2 * x
        made = tf_decorator.make_decorator(twice, lambda x: twice(x))
        with made(1) as two:
            print(two, made.__name__, rnn_cell_impl.__name__[18:])
        try:
            import tensorflow.nothing
        except ImportError as e:
            print(str(e).splitlines()[0])
        """
        },
    )
    assert result.err == ""
    assert result.out.splitlines() == [
        "/device:CPU:0 float32",
        "True True",
        "2 twice ops.rnn_cell_impl",
        "No module named 'tensorflow.nothing'",
    ]


def test_internal_modules_of_numpy_functions(situ):
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """\
        import tensorflow as tf
        from tensorflow.python.ops.numpy_ops import np_array_ops, np_config, np_random
        np_config.enable_numpy_behavior()
        print(tf.ones((2, 3)).T.shape, np_array_ops.array is tf.experimental.numpy.array)
        print(np_random.randn is tf.experimental.numpy.random.randn)
        """
        },
    )
    assert result.err == "" and result.out.splitlines() == ["(3, 2) True", "True"]


def test_sources_of_contrib(situ):
    result = situ(
        "run",
        "--api",
        "v1",
        "a.py",
        files={
            "a.py": """\
        import tensorflow as tf
        from tensorflow.contrib.layers.python.layers import batch_norm, layers, regularizers
        from tensorflow.contrib.rnn.python.ops import core_rnn_cell
        print(batch_norm is tf.contrib.layers.batch_norm)
        print(layers.fully_connected is tf.contrib.layers.fully_connected)
        print(core_rnn_cell.GRUCell is tf.contrib.rnn.GRUCell)
        try:
            from tensorflow.contrib.layers.python.layers import nothing
        except ImportError as e:
            print(str(e)[:28])
        """
        },
    )
    assert result.err == ""
    assert result.out.splitlines() == ["True"] * 3 + ["cannot import name 'nothing'"[:28]]


def test_names_that_are_missing(situ):
    result = situ("run", "a.py", files={"a.py": "import tensorflow as tf\ntf.matmull\n"})
    assert result.err.splitlines()[-3:-1] == [
        "AttributeError: module 'tensorflow' has no attribute 'matmull'",
        "situ does not have tf.matmull (yet). Nearest: tf.matmul.",
    ]
    result = situ("run", "a.py", files={"a.py": "import tensorflow as tf\ntf.lite.Interpreter()\n"})
    assert result.err.splitlines()[-1] == "TensorFlow Lite is not planned."
    result = situ("run", "--api", "v2", "a.py", files={"a.py": GRAPH})
    assert "tf.placeholder belongs to the other style: tf.compat.v1.placeholder" in result.err


def test_check(situ):
    files = {
        "a.py": "import tensorflow as tf\nimport b\ntf.matmul, tf.lite.Interpreter\n1 / 0\n",
        "b.py": "from tensorflow.lite import Interpreter as I\n",
    }
    result = situ("run", "--check", "a.py", files=files)
    lines = result.out.splitlines()
    assert result.code == 1 and result.err == "" and lines[-1] == "1 name is missing (eager style)"
    assert lines[0].startswith("tf.lite  ") and "a.py:3" in lines[0] and "b.py:1" in lines[0]
    result = situ("run", "--check", "a.py", files={"a.py": GRAPH})
    assert (result.code, result.out) == (0, "0 names are missing (graph style)\n")


def test_exported_notebooks(situ):
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """\
        # In[1]:
        get_ipython().run_line_magic('matplotlib', 'inline')
        # get_ipython().magic('load_ext autoreload')
        import tensorflow as tf
        # %matplotlib inline
        x = tf.constant([1., 2.])
        # In[2]:
        get_ipython().system('echo shell')
        get_ipython().run_cell_magic('time', '', 'y = x * 2')
        display(y)
        """
        },
    )
    assert (result.out, result.err) == (
        "shell\ntf.Tensor([2. 4.], shape=(2,), dtype=float32)\n",
        "",
    )
    lines = """\
        get_ipython().run_cell_magic('capture', 'kept --no-stderr', 'print(1)')
        get_ipython().run_cell_magic('timeit', 'z = 2', 'assert z == 2')
        print(kept.stdout, get_ipython().getoutput('echo a; echo b'))
        print(repr(get_ipython().getoutput('echo a', split=False)))
        display(3, display_id=True).update(4)
        display({'text/plain': 'five'}, raw=True)
        """
    result = situ("run", "a.py", files={"a.py": lines})
    assert result.out == "1\n ['a', 'b']\n'a\\n'\n3\n4\nfive\n"
    result = situ("run", "a.py", files={"a.py": "%matplotlib inline\n!ls\nprint(1)\n"})
    assert result.out == "1\n"


def test_log_placement(situ):
    result = situ("run", "--gpus", "1", "--log-placement", "a.py", files={"a.py": GRAPH})
    assert "Device mapping:" in result.out and "mul: /job:localhost" in result.out
    result = situ("run", "--gpus", "1", "--log-placement", "a.py", files={"a.py": EAGER})
    assert "Executing op Mul in device" in result.out


def test_ctrl_c(tmp_path):
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf, time\nprint('on', flush=True)\ntime.sleep(3600)\n"
    )
    process = subprocess.Popen(
        [os.path.join(BUILD, "situ"), "run", "a.py"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "on\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in err and process.returncode in (130, -signal.SIGINT)


def test_files_named_like_modules_of_python_harm_nobody_who_does_not_import_them(situ):
    bad = "raise RuntimeError('imported')"
    files = {"a.py": GRAPH, **{f"{n}.py": bad for n in ("types", "functools", "contextlib")}}
    assert situ("run", "a.py", files=files).out == "[2. 4.] 1.15.5\n"


def test_a_python_without_the_package(situ, tmp_path):
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    other.chmod(0o755)
    result = situ("run", "a.py", files={"a.py": GRAPH}, SITU_PYTHON=str(other))
    assert result.code == 1 and "has no package situ. Install it there: " in result.err
    assert "Traceback" not in result.err


MISPLACED = "situ run: --gpus 4: after a.py this is an argument of the program"


def test_an_option_after_a_program_without_arguments_is_reported(situ):
    text = "import tensorflow as tf\nprint(len(tf.config.list_physical_devices('GPU')))\n"
    done = situ("run", "a.py", "--gpus", "4", files={"a.py": text})
    assert (done.code, done.out) == (0, "0\n")
    assert done.err.startswith(MISPLACED) and done.err.count("\n") == 1
    assert done.err.endswith("For situ: situ run --gpus 4 a.py\n")
    done = situ("run", "--gpus", "4", "a.py")
    assert (done.code, done.out, done.err) == (0, "4\n", "")
    assert situ("run", "a.py", "--batch_size", "4", "gpus").err == ""
    assert (
        "--trace=t.json --log-placement: after"
        in situ("run", "a.py", "--trace=t.json", "--log-placement").err
    )


@pytest.mark.parametrize(
    "text",
    [
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--gpus', type=int)\n"
        "print(p.parse_args().gpus)\n",
        "import tensorflow as tf\ntf.app.flags.DEFINE_integer('gpus', 1, '')\n"
        "def main(_):\n    print(tf.app.flags.FLAGS.gpus)\ntf.app.run(main)\n",
        "import sys\nprint(sys.argv[2])\n",
        "from sys import argv\nprint(argv[-1])\n",
        "import options\nprint(options.gpus)\n",
    ],
)
def test_programs_have_options_of_the_same_name(situ, text):
    done = situ(
        "run",
        "a.py",
        "--gpus",
        "4",
        files={"a.py": text, "options.py": "import sys\ngpus = sys.argv[2]\n"},
    )
    assert (done.code, done.out, done.err) == (0, "4\n", "")


def test_a_module_that_gets_an_option_of_situ_is_not_noted(situ):
    files = {
        "package/__init__.py": "",
        "package/__main__.py": "import package.tool\n",
        "package/tool.py": "import sys\nprint(sys.argv[1:])\n",
    }
    done = situ("run", "-m", "package", "--gpus", "4", files=files)
    assert (done.code, done.out, done.err) == (0, "['--gpus', '4']\n", "")
