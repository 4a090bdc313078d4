# SPDX-License-Identifier: Apache-2.0
"""test_run_notebook.py: situ run NOTEBOOK.ipynb: cells, magics, errors, --check."""

import json

import pytest

from situ._src.runner import notebook


def write(*cells, raises=()):
    """The text of a notebook with these code cells, after one of Markdown."""
    code = [
        {
            "cell_type": "code",
            "metadata": {"tags": ["raises-exception"]} if i in raises else {},
            "source": text.splitlines(True) if i % 2 else text,
            "outputs": [],
            "execution_count": None,
        }
        for i, text in enumerate(cells, 1)
    ]
    head = {"cell_type": "markdown", "metadata": {}, "source": ["# A title"]}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [head, *code]})


@pytest.fixture
def run(situ):
    def start(*cells, words=(), raises=(), options=(), **files):
        more = {name.replace("_py", ".py"): text for name, text in files.items()}
        texts = {"a.ipynb": write(*cells, raises=raises), **more}
        return situ("run", *options, "a.ipynb", *words, files=texts)

    return start


def test_cells_share_a_namespace_and_display(run):
    result = run(
        "import sys\nimport tensorflow as tf\nimport beside\nx = tf.constant([1., 2.])",
        "x * beside.two",
        "x;",
        "x; # quiet, too",
        "sys.argv, __name__",
        "None",
        "_[1]",
        words=["--steps", "3"],
        beside_py="two = 2\n",
    )
    assert result.err == ""
    assert result.out == (
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 4.], dtype=float32)>\n"
        "(['a.ipynb', '--steps', '3'], '__main__')\n'__main__'\n"
    )


def test_style_is_told_from_all_cells(run):
    result = run("import tensorflow as tf", "print(tf.Session().run(tf.constant(1)))")
    assert (result.out, result.err) == ("1\n", "")
    result = run("%tensorflow_version 1.x\nimport tensorflow as tf", "print(tf.__version__)")
    assert (result.out, result.err) == ("1.15.5\n", "")


def test_functions_are_compiled(run):
    result = run(
        "import tensorflow as tf",
        "@tf.function\ndef f(x):\n    if x > 1:\n        return x * 2\n    return x",
        "print(int(f(tf.constant(3))), int(f(tf.constant(1))))",
    )
    assert (result.out, result.err) == ("6 1\n", "")


def test_errors_name_the_cell_and_its_line(run):
    cells = ["x = 1", "def f():\n    raise ValueError('bad')\n", "\nf()", "print(1)", "print(2)"]
    result = run(*cells)
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "Traceback (most recent call last):\n"
        '  File "a.ipynb, code cell 3", line 2, in <module>\n    f()\n'
        "  File \"a.ipynb, code cell 2\", line 2, in f\n    raise ValueError('bad')\n"
        "ValueError: bad\n"
        "situ run: a.ipynb, code cell 3 failed; 2 more not run\n"
    )
    result = run("print(1)", "x = (1,\n\ny +* 2")
    assert result.out == "1\n" and 'File "a.ipynb, code cell 2", line ' in result.err
    result = run("%%time\nx = 1\n1 / 0")
    assert 'File "a.ipynb, code cell 1", line 3' in result.err


def test_cells_that_may_raise(run):
    result = run("1 / 0", "print(2)", raises=[1])
    assert (result.code, result.out) == (0, "2\n") and "ZeroDivisionError" in result.err


def test_exit_code(run):
    assert run("import sys; sys.exit(3)", "print(1)").code == 3


def test_magics_of_the_notebook_are_reported_once(run):
    result = run(
        "%load_ext situ\n%matplotlib inline\nprint(1)",
        "%matplotlib inline\n!pip install nothing\n%pip install nothing",
        "%%html\n<b>bold</b>",
        "print?\n?print",
    )
    assert result.out == "1\n"
    assert result.err == (
        "situ run: a.ipynb, code cell 1: %matplotlib inline has no effect here\n"
        "situ run: a.ipynb, code cell 2: !pip install nothing is not run; install packages before\n"
        "situ run: a.ipynb, code cell 2: %pip install nothing is not run; install packages before\n"
        "situ run: a.ipynb, code cell 3: %%html is not supported; the cell is not run\n"
    )


def test_shell_commands(run):
    result = run(
        "name = 'x'\n!echo {name} $name $HOME_OF_NOBODY.\nlines = !echo a; echo b",
        "lines",
        "%%bash\necho {name}",
        "if True:\n    !echo in a block",
        "!echo a \\\n  b",
    )
    assert result.err == ""
    assert result.out == "x x .\n['a', 'b']\n{name}\nin a block\na b\n"


def test_magics_that_run(run, tmp_path):
    result = run(
        "%%capture out\nprint('hidden')\n1 + 1",
        "out.stdout",
        "%%writefile made.txt\nline\n",
        "open('made.txt').read()",
        "%env SOME_NAME=5\nimport os\nos.environ['SOME_NAME']",
        "%%timeit\ny = 4",
        "y",
        "%cd /\n%pwd",
        "t = %time 1 + 2\nt",
    )
    out = result.out.splitlines()
    assert out[:5] == ["'hidden\\n2\\n'", "'line\\n'", "'5'", "4", "'/'"], result.out + result.err
    assert out[5].startswith("Wall time: ") and out[6] == "3"


def test_top_level_await(run):
    result = run(
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5",
        "x = await f()\nx",
        "await f()",
    )
    assert (result.out, result.err) == ("5\n5\n", "")


def test_display(run):
    result = run(
        "from IPython.display import HTML, clear_output, display",
        "clear_output(wait=True)\ndisplay(3)\nhtml = HTML('<b>')",
        "print(get_ipython() is not None)",
    )
    assert result.out.endswith("3\nTrue\n") and result.code == 0, result.err


def test_check(run):
    result = run(
        "%matplotlib inline\nimport tensorflow as tf",
        "%%html\ntf.no_code\n",
        "tf.constant(1)\ntf.nothing_a\n",
        "x = !ls\nthis is no Python",
        "%%time\ntf.nothing_b",
        options=["--check"],
    )
    lines = [line.split("  ")[:2] for line in result.out.splitlines()]
    assert lines == [
        ["tf.nothing_a", "a.ipynb, code cell 3:2"],
        ["tf.nothing_b", "a.ipynb, code cell 5:2"],
        ["2 names are missing (eager style)"],
    ]


def test_options_behind_a_notebook_are_noted(run):
    result = run("print(1)", words=["--gpus", "2"])
    assert result.out == "1\n"
    assert result.err.endswith("For situ: situ run --gpus 2 a.ipynb\n")


@pytest.mark.parametrize("text", ["", "[]", "{}", "print(1)"])
def test_files_that_are_no_notebooks(situ, text):
    result = situ("run", "a.ipynb", files={"a.ipynb": text})
    assert result.code == 1 and result.err.startswith("situ run: a.ipynb is not a notebook: ")


def test_old_format(situ):
    cells = [{"cell_type": "code", "input": ["print(1)\n", "print(2)"]}]
    text = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]})
    assert situ("run", "a.ipynb", files={"a.ipynb": text}).out == "1\n2\n"


@pytest.mark.parametrize(
    "text",
    [
        "x = ('%d'\n     % 3)\n%time",
        "s = '''\n%matplotlib\n!ls\n'''\n!ls",
        "y = [1,\n     2\n     % 3]\n!ls",
    ],
)
def test_percent_signs_of_python_stay(text):
    before, _, last = text.rpartition("\n")
    assert notebook.transform(text).startswith(before + "\nget_ipython().")
    assert last[0] in "%!"


def test_cells_that_begin_with_indentation(run):
    result = run(" @staticmethod\n def f():\n   return 3", "\n  x = f.__func__() + 1\n  x")
    assert (result.out, result.err) == ("4\n", "")
    assert run("  if True:\n    pass\n x = 1").code == 1
