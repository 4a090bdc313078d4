# SPDX-License-Identifier: Apache-2.0
"""test_import.py: the modules that `import situ` imports, and names that are imported on first
use."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import _situ

TOOL = str(Path(__file__).resolve().parents[2] / "tools/name_table.py")

COST = """
import time
begin = time.process_time()
import situ
seconds = time.process_time() - begin
peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
begin, table = time.process_time(), {}
for i in range(100000):
    table[i % 1000] = str(i)
print(seconds, int(peak[0]) / 1024, time.process_time() - begin)
"""
LOOP = 0.012  # seconds that the loop may take where the limit is meant: others may share the core

USE = COST.replace("import situ\n", "import situ\nx = situ.constant([[1.0]])\nx @ x\n")


@pytest.mark.parametrize("program", [COST, USE], ids=["import", "import_and_use"])
def test_at_most_a_twentieth_of_a_second_and_20_mb(python, tmp_path, program):
    # A copy, as an installation has it: of a file that the linker just wrote, some kernels map more
    # pages than are accessed.
    shutil.copy(_situ.__file__, tmp_path)

    def run():
        done = python(
            program,
            PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]),
            PYTHONPYCACHEPREFIX=str(tmp_path / "cache"),
            PYTHONDONTWRITEBYTECODE="",
        )
        assert done.code == 0, done.err
        return map(float, done.out.split())

    run()  # compiles
    times, peaks = [2], [99]
    while len(times) < 40 and (min(times) > 1 or min(peaks) > 20):  # a slow moment passes
        seconds, megabytes, loop = run()
        times.append(seconds / (0.05 * max(1, loop / LOOP)))
        peaks.append(megabytes)
    assert min(times) <= 1 and min(peaks) <= 20, (times, peaks)


@pytest.mark.parametrize(
    "program",
    [
        "import situ",
        "import situ as tf; tf.constant([1.0]) + 2.0",
        "import situ as tf; tf.function(lambda x: x + 1.0)(tf.constant(1.0))",
        "import situ.compat.v1 as tf; tf.add(tf.placeholder(tf.float32), 1.0)",
        "import situ.compat.v1 as tf; tf.Session().run(tf.no_op())",
    ],
)
def test_numpy_is_not_imported_before_it_is_needed(python, program):
    result = python(program + "\nimport sys\nassert 'numpy' not in sys.modules")
    assert result.code == 0, result.err


def test_names_come_when_they_are_asked_for(python):
    result = python("""
        import sys
        import situ
        assert "situ._src.ops.array_ops" not in sys.modules
        assert situ.constant and "situ._src.ops.array_ops" in sys.modules
        assert "situ._src.training.optimizers" not in sys.modules
        assert situ.optimizers.Adam and "situ._src.keras.optimizers" in sys.modules
        assert "TestCase" in dir(situ.test) and "add" in dir(situ)
        """)
    assert result.code == 0, result.err


def test_parts_are_modules(python):
    result = python("""
        import situ.nn as nn
        from situ.python.client import device_lib
        from situ.compat.v1 import train
        import situ.compat.v1.train as again
        assert train is again and nn.relu and device_lib.list_local_devices
        try:
            import situ.there_is_no_such_part
        except ModuleNotFoundError:
            print("good")
        """)
    assert result.out == "good\n", result.err


def test_a_name_imports_only_what_it_needs(python):
    result = python("""
        import sys
        import situ as tf

        def count():
            return len([m for m in sys.modules if m.startswith("situ")])
        try:
            tf.imaeg
        except AttributeError as e:
            assert "tf.image" in str(e)
        before = count()
        assert tf.image.resize and count() <= 40, count()
        try:
            tf.image.resise
        except AttributeError as e:
            assert "tf.image.resize" in str(e)
        assert count() <= before + 5
        """)
    assert result.code == 0, result.err


def test_the_name_table_is_current():
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_module_exports_its_names_when_it_is_imported_alone(python):
    """Else the order of imports would decide whether a name is there."""
    result = python("""
        import importlib
        import os
        import sys
        from situ._src.framework import api

        def lost(module, names):
            importlib.import_module("situ._src." + module)
            tables = {"both": api.BOTH, "v1": api.V1, "v2": api.V2}
            return [n for n, which in names if n not in tables[which]]
        modules = {}
        for name, which, module in api.lines(""):
            modules.setdefault(module, []).append((name, which))
        failed = []
        for module, names in modules.items():
            child = os.fork()
            if not child:
                os._exit(1 if lost(module, names) else 0)
            if os.waitpid(child, 0)[1]:
                failed.append(module)
        sys.exit(f"{failed}" if failed else 0)
        """)
    assert result.code == 0, result.err


def test_old_modules_of_keras_have_the_names_of_today():
    import situ as tf

    assert tf.keras.layers.core.Dense is tf.keras.layers.Dense
    assert tf.keras.utils.np_utils.to_categorical is tf.keras.utils.to_categorical
    assert tf.keras.engine.topology.Container is tf.keras.Model
    assert "Dense" in dir(tf.keras.layers.core) and "core" in dir(tf.keras.layers)


def test_names_by_a_star(python):
    result = python("from situ.keras.losses import *\nassert mean_squared_error and Huber")
    assert result.code == 0, result.err
