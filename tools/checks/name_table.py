# SPDX-License-Identifier: Apache-2.0
"""name_table.py: the table of public names is what tools/name_table.py would write."""

import subprocess
from pathlib import Path

TABLE = Path("python/situ/_src/framework/name_table.txt")
PYTHON = Path(".venv/bin/python")


def current(files):
    """One problem if the table is stale; nothing where the package is not built."""
    if not PYTHON.exists() or not TABLE.exists():
        return
    done = subprocess.run(
        [PYTHON, "tools/name_table.py", "--check"], text=True, capture_output=True, check=False
    )
    if done.returncode:
        yield TABLE, 1, (done.stdout + done.stderr).strip().replace("\n", "; ")
