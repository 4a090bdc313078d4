# SPDX-License-Identifier: Apache-2.0
"""imports.py: writes tools/imports.txt: the imports inside functions of python/, with reasons.

`make check` compares the table with the modules; checks/imports.py says what a reason is.
Usage: python3 tools/imports.py
"""

from checks import imports


def main():
    modules = imports.Modules(sorted(imports.ROOT.rglob("*.py")))
    imports.TABLE.write_text("\n".join(imports.table(modules)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
