# SPDX-License-Identifier: Apache-2.0
"""__main__.py: `python -m situ`, and `situ` of the wheel: the command, with this Python."""

import os
import sys

import _situ


def find():
    """The path of the command: in the package, or beside the folder of the extension."""
    beside = os.path.dirname(os.path.dirname(os.path.abspath(_situ.__file__)))
    for path in (
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "situ"),
        os.path.join(beside, "situ"),
    ):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


def main():
    path = find()
    if path is None:
        sys.exit("situ: the command is not part of this installation")
    os.environ.setdefault("SITU_PYTHON", sys.executable)
    os.execv(path, ["situ", *sys.argv[1:]])


if __name__ == "__main__":
    main()
