# SPDX-License-Identifier: Apache-2.0
"""test_import.py: what `import situ` costs, and that names come when they are asked for."""
import pytest

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
    def run():
        done = python(program, PYTHONPYCACHEPREFIX=str(tmp_path), PYTHONDONTWRITEBYTECODE="")
        assert done.code == 0, done.err
        return map(float, done.out.split())
    run()  # compiles
    times, peaks = [2], [99]
    while len(times) < 40 and (min(times) > 1 or min(peaks) > 20):  # a slow moment passes
        seconds, megabytes, loop = run()
        times.append(seconds / (0.05 * max(1, loop / LOOP)))
        peaks.append(megabytes)
    assert min(times) <= 1 and min(peaks) <= 20, (times, peaks)


@pytest.mark.parametrize("program", [
    "import situ",
    "import situ as tf; tf.constant([1.0]) + 2.0",
    "import situ as tf; tf.function(lambda x: x + 1.0)(tf.constant(1.0))",
    "import situ.compat.v1 as tf; tf.add(tf.placeholder(tf.float32), 1.0)",
    "import situ.compat.v1 as tf; tf.Session().run(tf.no_op())"])
def test_numpy_is_not_imported_before_it_is_needed(python, program):
    result = python(program + "\nimport sys\nassert 'numpy' not in sys.modules")
    assert result.code == 0, result.err


def test_names_come_when_they_are_asked_for(python):
    result = python("""
        import sys
        import situ
        assert "situ._lib.array_ops" not in sys.modules
        assert situ.constant and "situ._lib.array_ops" in sys.modules
        assert "situ._lib.training" not in sys.modules
        assert situ.train and "situ._lib.training" in sys.modules
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


def test_no_group_takes_a_name_of_another():
    """Else a name would mean another thing once a further group was loaded."""
    from situ._lib import api
    assert api.load()
    before = [{**api.read_rows(), **table} for table in (api.BOTH, api.V1, api.V2)]
    api.load_all()
    for old, table in zip(before, (api.BOTH, api.V1, api.V2)):
        for name, thing in table.items():
            assert old.get(name, thing) is thing, name
