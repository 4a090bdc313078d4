# SPDX-License-Identifier: Apache-2.0
"""test_bench.py: bench/run.py makes a table and a file of rows, whatever the programs do."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench/run.py"
ROW = {
    "name": "fake.good",
    "what": "a thing",
    "value": 2.0,
    "unit": "us",
    "against": "limit",
    "yardstick": 4.0,
    "ratio": 0.5,
    "target": 1,
    "at_least": False,
    "holds": True,
    "note": "so",
}


class Bench(unittest.TestCase):
    """Every test puts programs into an empty build folder and runs them."""

    def setUp(self):
        self.build = Path(tempfile.mkdtemp())
        (self.build / "bench").mkdir()

    def tearDown(self):
        shutil.rmtree(self.build)

    def program(self, name, body):
        path = self.build / "bench" / name
        path.write_text("#!/bin/sh\n" + body, encoding="utf-8")
        path.chmod(0o755)

    def rows(self, *options):
        """Exit code, table and rows."""
        done = subprocess.run(
            [sys.executable, str(RUN), "--build", str(self.build), "--only", "fake", *options],
            text=True,
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stdout, json.loads((self.build / "bench.json").read_text())

    def test_rows(self):
        self.program("fake", f"echo '{json.dumps(ROW)}'\necho other words\n")
        code, table, rows = self.rows("--strict")
        self.assertEqual((code, len(rows)), (0, 1))
        for field, value in ROW.items():
            self.assertEqual(rows[0][field], value)
        self.assertRegex(table, r"fake\.good +a thing +2\.00 us +limit 4\.00 +0\.500 +<= 1 holds")
        self.assertIn("1 targets hold, 0 missed", table)

    def test_missed(self):
        self.program("fake", f"echo '{json.dumps({**ROW, 'holds': False})}'\n")
        code, table, _ = self.rows()
        self.assertEqual(code, 0)
        self.assertIn("MISSED", table)
        self.assertIn("1 missed: fake.good", table)
        self.assertEqual(self.rows("--strict")[0], 1)

    def test_failure(self):
        self.program("fake", f"echo '{json.dumps(ROW)}'\necho why >&2\nexit 3\n")
        code, table, rows = self.rows("--strict")
        self.assertEqual((code, len(rows)), (1, 2))
        self.assertEqual(rows[1]["failed"], "why")
        self.assertIn("FAILED: why", table)

    def test_options(self):
        self.program("fake", 'echo "$@" > "$0.args"\n')
        self.rows("--quick")
        self.assertEqual(
            (self.build / "bench/fake.args").read_text().split(), ["--quick", "--only", "fake"]
        )


if __name__ == "__main__":
    unittest.main()
