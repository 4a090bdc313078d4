# SPDX-License-Identifier: Apache-2.0
"""test_run_sources.py: situ run with -c, -, -m pytest; $PYTHONPATH; --check through local modules
and packages beside TensorFlow; %load_ext situ in IPython."""

import importlib.util
import os
import subprocess
import sys

import pytest
from conftest import BUILD, PATIENCE, environment

GRAPH_TEST = """
    import tensorflow as tf
    def test_graph():
        assert tf.placeholder(tf.float32).graph is tf.get_default_graph()
    """


def test_code_as_a_string(situ):
    code = "import sys, tensorflow as tf, m; print(int(tf.constant(1)), m.x, sys.argv)"
    result = situ("run", "-c", code, "a", "-b", files={"m.py": "x = 2\n"})
    assert (result.out, result.err) == ("1 2 ['-c', 'a', '-b']\n", "")
    result = situ("run", "-c", "import tensorflow as tf\nprint(tf.Session().run(tf.constant(1)))")
    assert result.out == "1\n"
    result = situ("run", "-c", "1 / 0")
    assert result.code == 1 and '  File "<string>", line 1, in <module>\n    1 / 0\n' in result.err
    result = situ("run", "-c")
    assert (result.code, result.err) == (1, "situ run: -c needs a program as a string\n")
    assert situ("run", "-c", "__file__").err.endswith("name '__file__' is not defined\n")


def test_standard_input(tmp_path):
    done = subprocess.run(
        [os.path.join(BUILD, "situ"), "run", "-", "a"],
        input="import sys\nimport tensorflow as tf\nprint(int(tf.constant(1)), sys.argv)\n1 / 0\n",
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("1 ['-', 'a']\n", 1)
    assert '  File "<stdin>", line 4, in <module>\n    1 / 0\n' in done.stderr


def test_options_behind_code_are_noted(situ):
    result = situ("run", "-c", "print(1)", "--gpus", "2")
    assert result.out == "1\n"
    assert result.err.endswith("For situ: situ run --gpus 2 -c CODE\n")


@pytest.mark.parametrize("words", [["tests"], ["-q", "tests/test_a.py::test_graph"], []])
def test_pytest(situ, words):
    result = situ("run", "-m", "pytest", *words, files={"tests/test_a.py": GRAPH_TEST})
    assert result.code == 0 and "1 passed" in result.out, result.out + result.err


def test_pytest_reports_failures(situ):
    text = "import tensorflow as tf\ndef test_b():\n    assert int(tf.constant(1)) == 2\n"
    result = situ("run", "-m", "pytest", "test_b.py", files={"test_b.py": text})
    assert result.code == 1 and "1 failed" in result.out and "assert 1 == 2" in result.out


def test_unittest(situ):
    text = """
        import tensorflow as tf
        class Test(tf.test.TestCase):
            def test_session(self):
                with self.test_session():
                    self.assertEqual(tf.get_variable("x", []).shape, [])
        """
    files = {"tests/__init__.py": "", "tests/test_u.py": text}
    result = situ("run", "-m", "unittest", "tests.test_u", files=files)
    assert result.code == 0 and "OK" in result.err, result.err


def test_check_of_tests(situ):
    text = "import tensorflow as tf\ndef test_a():\n    tf.nothing\n"
    result = situ("run", "--check", "-m", "pytest", "tests", files={"tests/test_a.py": text})
    assert result.code == 1 and result.out.startswith("tf.nothing  tests/test_a.py:3  ")


def test_pythonpath_is_kept(situ, tmp_path):
    files = {
        "sub/a.py": "import here, there; print(here.x, there.x)\n",
        "here.py": "x = 1\n",
        "lib/there.py": "x = 2\n",
    }
    before = os.environ.get("PYTHONPATH")
    for path in (".", str(tmp_path)):
        whole = os.pathsep.join(filter(None, [path, "lib", before]))
        assert situ("run", "sub/a.py", files=files, PYTHONPATH=whole).out == "1 2\n"
    result = situ("run", "sub/a.py", files=files, PYTHONPATH="lib")
    assert result.err.endswith("No module named 'here'\n")


def test_packages_of_modules_may_import_tensorflow(situ):
    files = {
        "pkg/__init__.py": "import tensorflow as tf\nprint('package', tf.__version__)\n",
        "pkg/train.py": "from . import model\nprint('module', model.x, __package__)\n",
        "pkg/model.py": "x = 1\n",
    }
    assert situ("run", "-m", "pkg.train", files=files).out == "package 2.15.0\nmodule 1 pkg\n"
    result = situ("run", "-m", "pkg.nothing", files=files)
    assert (result.code, result.err) == (1, "situ run: there is no module pkg.nothing\n")


def test_check_follows_imports(situ):
    files = {
        "pkg/__init__.py": "import tensorflow as tf\ntf.nothing_a\n",
        "pkg/train.py": "import pkg.model\nfrom .parts import one\n",
        "pkg/model.py": "import tensorflow as tf\ntf.nothing_b\n",
        "pkg/parts/__init__.py": "",
        "pkg/parts/one.py": "from .. import losses\nimport outside\n",
        "pkg/losses.py": "from tensorflow import nothing_c\n",
        "lib/outside.py": "import tensorflow as tf\ntf.nothing_d\n",
    }
    result = situ("run", "--check", "-m", "pkg.train", files=files, PYTHONPATH="lib")
    found = [line.split()[:2] for line in result.out.splitlines()[:-1]]
    assert found == [
        ["tf.nothing_a", "pkg/__init__.py:2"],
        ["tf.nothing_b", "pkg/model.py:2"],
        ["tf.nothing_c", "pkg/losses.py:1"],
        ["tf.nothing_d", "lib/outside.py:2"],
    ]


def test_installed_packages_are_no_local_modules(situ):
    files = {
        "a.py": "import package, mine\n",
        "lib/package.py": "import tensorflow as tf\ntf.Session; tf.nothing_a\n",
        "lib/package-1.0.dist-info/METADATA": "Name: package\n",
        "more/mine.py": "import tensorflow as tf\ntf.nothing_b\n",
    }
    result = situ("run", "--check", "a.py", files=files, PYTHONPATH="lib:more")
    assert [line.split()[0] for line in result.out.splitlines()[:-1]] == ["tf.nothing_b"]
    assert "eager style" in result.out


def test_check_knows_names_that_the_program_adds(situ):
    text = "import tensorflow as tf\ntf.model = tf.keras.Sequential()\ntf.model.add\ntf.models\n"
    result = situ("run", "--check", "a.py", files={"a.py": text})
    assert [line.split()[0] for line in result.out.splitlines()[:-1]] == ["tf.models"]


@pytest.mark.skipif(bool(importlib.util.find_spec("keras")), reason="keras is installed")
def test_folders_without_init_do_not_hide_packages(situ):
    text = "import keras\nfrom keras import layers\nprint(keras.saving.get_custom_objects())\n"
    files = {"a.py": text, "keras/notes.txt": "", "keras/tool.py": "", "six/notes.txt": ""}
    assert situ("run", "a.py", files=files).out == "{}\n"
    files["keras/__init__.py"] = "saving = layers = None\n"
    assert "NoneType" in situ("run", "a.py", files=files).err


@pytest.mark.skipif(bool(importlib.util.find_spec("keras")), reason="keras is installed")
def test_check_looks_at_packages_beside_tensorflow(situ):
    text = """\
        import keras
        from keras.layers import Dense, Nothing
        import horovod.tensorflow as hvd
        import horovod.keras
        import tensorflow_probability as tfp
        import tensorflow as tf
        hvd.init(), hvd.size(), hvd.nothing()
        print(keras.Sequential([Dense(1)]), keras.nothing, tf.bfloat16)
        """
    result = situ("run", "--check", "a.py", files={"a.py": text})
    found = [line.split()[:2] for line in result.out.splitlines()[:-1]]
    assert found == [
        ["horovod.keras", "a.py:4"],
        ["horovod.tensorflow.nothing", "a.py:7"],
        ["tensorflow_probability", "a.py:5"],
        ["tf.keras.layers.Nothing", "a.py:2"],
        ["tf.keras.nothing", "a.py:8"],
    ]


@pytest.mark.skipif(not importlib.util.find_spec("IPython"), reason="IPython is not installed")
@pytest.mark.parametrize(
    "extension, use, printed",
    [
        ("situ", "print(tf.__version__, int(tf.constant([1, 2])[1]))", "2.15.0 2\n"),
        ("situ.compat.v1", "print(tf.Session().run(tf.placeholder_with_default(3, [])))", "3\n"),
    ],
)
def test_extension_of_ipython(tmp_path, extension, use, printed):
    script = tmp_path / "a.ipy"
    script.write_text(f"%load_ext {extension}\nimport tensorflow as tf\n{use}\n")
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--quick", str(script)],
        cwd=tmp_path,
        env=environment(IPYTHONDIR=str(tmp_path / "ipython")),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout.endswith(printed), done.stdout + done.stderr


def test_the_extension_wants_to_be_first(python):
    result = python(
        """
        import sys, types
        sys.modules["tensorflow"] = types.ModuleType("tensorflow")
        import situ
        try:
            situ.load_ipython_extension(None)
        except RuntimeError as e:
            print(e)
        """
    )
    assert result.out.startswith("TensorFlow was imported before situ. Restart the kernel")


KERAS_3 = """
import tensorflow as tf
import keras
from keras import ops
from tensorflow.keras import random
print(ops.relu(random.normal((2, 3))).shape, tf.keras.ops.add(1, 2).numpy(), keras.ops is ops)
print(tf.keras.utils.PyDataset is keras.utils.PyDataset, "ops" in dir(tf.keras))
print(tf.keras.{name})
"""


def test_tf_keras_has_the_names_of_keras_3(situ):
    result = situ("run", "a.py", files={"a.py": KERAS_3.format(name="ops.nothing")})
    assert result.out == "(2, 3) 3 True\nTrue True\n"
    assert "has no attribute 'nothing'" in result.err
    result = situ(
        "run", "--check", "a.py", files={"a.py": KERAS_3.format(name="saving.load_model")}
    )
    assert result.out == "0 names are missing (eager style)\n"
