# SPDX-License-Identifier: Apache-2.0
"""test_checks.py: each rule of tools/check.py finds what breaks it and no more."""

import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from checks import (  # noqa: E402
    doc_strings,
    imports,
    layers,
    mirror,
    names,
    public,
    source,
    text,
    vocabulary,
)

HEAD = "/* SPDX-License-Identifier: Apache-2.0\n * {}: a purpose. */\n"


class Checks(unittest.TestCase):
    """Every test writes files into an empty folder and asks one check about them."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chdir(self.folder)
        for cached in (text.read, text.code, text.without_comments):
            cached.cache_clear()
        self.files = []

    def tearDown(self):
        os.chdir(ROOT)
        shutil.rmtree(self.folder)

    def write(self, name, body, head=None):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((HEAD.format(path.name) if head is None else head) + body, encoding="utf-8")
        self.files.append(path)

    def found(self, check):
        """What the check says, as "file:line"."""
        return sorted(f"{path}:{line}" for path, line, _ in check(self.files))

    def test_sizes(self):
        self.write("src/base/a.c", "int x;\n" * 598)
        self.write("src/base/b.c", "int x;\n" * 599)
        self.write("src/base/c.h", "int " + "x" * 96 + ";\nint " + "x" * 95 + ";\n")
        self.assertEqual(self.found(source.sizes), ["src/base/b.c:601", "src/base/c.h:3"])

    def test_functions(self):
        body = "static int {}(void) {{\n" + "  ;\n" * 57 + "{}  return 0;\n}}\n"
        self.write("src/base/a.c", body.format("fits", "") + body.format("too_long", "  ;\n"))
        self.assertEqual(self.found(source.functions), ["src/base/a.c:63"])

    def test_doc_strings(self):
        doc = '"""Adds.\n\n    Args:\n      {}: x.\n    """\n'
        good = '@export("f")\ndef f(a: int, b: int) -> int:\n    ' + doc
        self.write("python/situ/a.py", good.format("a, b"), head="")
        self.write("python/situ/b.py", good.format("a"), head="")
        self.write("python/situ/c.py", "@export('f')\ndef f(a): pass\n", head="")
        self.write("python/situ/d.py", "def f(a): pass\n", head="")
        self.write(
            "python/situ/e.py", "@export('C')\nclass C:\n    def f(self) -> None: pass\n", head=""
        )
        found = self.found(doc_strings.explained)
        where = ["b.py:2", "c.py:2", "c.py:2", "e.py:2", "e.py:3"]
        self.assertEqual(found, [f"python/situ/{place}" for place in where])

    def test_first_lines(self):
        self.write("a.c", "")
        self.write("b.c", "int x;\n", head="")
        self.write("c.c", "", head=HEAD.format("d.c"))
        licence = "# SPDX-License-Identifier: Apache-2.0\n"
        self.write("e.sh", "", head=f"#!/bin/sh\n{licence}# e.sh: runs\n")
        self.assertEqual(self.found(source.first_lines), ["b.c:1", "c.c:2"])

    def test_words(self):
        self.write("src/base/a.c", '/* no goto */ char *s = "exit(1)";\nvoid at_exit(void);\n')
        self.write("src/base/b.c", "void f(void) {\n  exit(1);\n  goto end;\n}\n")
        self.write("cli/main.c", "int main(void) { exit(0); }\n")
        self.assertEqual(self.found(source.words), ["src/base/b.c:4", "src/base/b.c:5"])

    def test_decimals(self):
        self.write("src/ops/a.cl", "x = (T)0.5 * (T)-1.5 + 1.0f;\ny = 0.5 * x;\nz = v.x + a1.s0;\n")
        self.assertEqual(self.found(source.decimals), ["src/ops/a.cl:4"])

    def test_op_names(self):
        self.write("src/ops/a.c", '{.name = "MatMul"}, {.name = "Const"}\n')
        self.write("src/ops/b.def", "UNARY(Tanh, tanh(x))\n")
        self.write("src/plan/c.c", 'f("MatMul");\nf("Const");\nf("Tanh");\nf("tanh");\n')
        self.assertEqual(self.found(source.op_names), ["src/plan/c.c:3", "src/plan/c.c:5"])

    def test_flags(self):
        self.write(
            "src/base/a.h", "enum a_flags { A = 1, B = 2, C = 2 };\nenum kind { D = 1, E = 1 };\n"
        )
        self.assertEqual(self.found(source.flags), ["src/base/a.h:3"])

    def test_mirror(self):
        for name in ("plan", "place", "new", "bare"):
            self.write(f"src/plan/{name}.c", "int x;\n")
        self.write("tests/plan/test_plan.c", "int x;\n")
        lines = (
            "# a comment",
            "src/plan/place.c tests/plan/test_plan.c",
            "src/plan/plan.c tests/plan/test_plan.c",
            "src/plan/gone.c tests/plan/test_plan.c",
            "src/plan/bare.c",
            "src/plan/bare.c tests/plan/test_gone.c",
        )
        Path("tests/COVERAGE").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.assertEqual(
            self.found(mirror.mirrored),
            ["src/plan/new.c:1", *(f"tests/COVERAGE:{line}" for line in (3, 4, 5, 6))],
        )

    def test_vocabulary(self):
        self.write("python/math_more.py", "")
        self.write("python/small_math.py", "")
        self.write("python/colder.py", "# chosen randomly\n")
        self.write("src/base/a.c", "int x; /* taken by chance */\n")
        self.assertEqual(
            self.found(vocabulary.file_names), ["python/math_more.py:1", "python/small_math.py:1"]
        )
        self.assertEqual(self.found(vocabulary.phrases), ["src/base/a.c:3"])

    def test_includes(self):
        self.write("src/LAYERS", "0 base\n1 device\n1 host\n", head="")
        self.files.clear()
        self.write("src/base/a.c", '#include "base/a.h"\n#include "device/d.h"\n#include "a.h"\n')
        self.write("src/host/b.c", '#include "base/a.h"\n#include "device/d.h"\n')
        self.write("src/device/c.c", '#include "situ/status.h"\n#include "situ/ops.h"\n')
        self.write("cli/d.c", '#include <situ/situ.h>\n#include "base/a.h"\n')
        self.assertEqual(
            self.found(layers.includes),
            ["cli/d.c:4", "src/base/a.c:4", "src/base/a.c:5", "src/device/c.c:4", "src/host/b.c:4"],
        )

    def module(self, name, *lines):
        self.write(f"python/{name.replace('.', '/')}.py", "\n".join(lines) + "\n", head="")

    def test_imports_inside_functions(self):
        inside = lambda *names: ["def f():", *(f"    import {name}" for name in names)]
        self.module("situ._src.a", "from situ._src import b")
        self.module("situ._src.b", *inside("situ._src.a", "situ._src.c", "re", "scipy"))
        self.module("situ._src.c", "if TYPE_CHECKING:", "    import situ._src.b")
        self.module("situ.__init__", "import situ._src.d")
        self.module("situ._src.d", "import ast", *inside("situ._src.c", "ast", "json"))
        self.module("situ._src.e", "def f():", "    try:", "        import sqlite3")
        with open("python/situ/_src/e.py", "a", encoding="utf-8") as file:
            file.write("    except ImportError:\n        pass\n")
        rows = imports.table(imports.Modules(self.files))
        reasons = ["b a cycle", "b scipy optional library", "d c start-up", "d json start-up"]
        self.assertEqual(rows, [*reasons, "e sqlite3 optional library"])

        Path("tools").mkdir()
        imports.TABLE.write_text("\n".join(rows) + "\n", encoding="utf-8")
        needless = [f"python/situ/_src/{place}" for place in ("b.py:3", "b.py:4", "d.py:4")]
        self.assertEqual(self.found(imports.inside_functions), needless)

    def test_a_table_of_imports_that_is_not_true(self):
        self.module("situ.__init__", "import situ._src.a")
        self.module("situ._src.a", "def f():", "    from situ._src.b import g")
        self.module("situ._src.b", "g = 1")
        Path("tools").mkdir()
        imports.TABLE.write_text("a b cycle\na gone start-up\n", encoding="utf-8")
        self.assertEqual(
            self.found(imports.inside_functions),
            ["python/situ/_src/a.py:2", "tools/imports.txt:1", "tools/imports.txt:2"],
        )
        imports.TABLE.write_text("a b start-up\n", encoding="utf-8")
        self.assertEqual(self.found(imports.inside_functions), [])
        self.module("situ._src.b", "import situ._src.a", "g = 1")
        self.files.pop()
        self.assertEqual(
            self.found(imports.inside_functions), ["python/situ/_src/a.py:2", "tools/imports.txt:1"]
        )

    def test_names(self):
        self.write("include/situ/x.h", "SITU_API void situ_x_do(void);\n")
        self.write(
            "src/device/name.c",
            "void situ_x_do(void) {}\nvoid situ_y(void) {}\n"
            "void name_a(void) {}\nvoid device_b(void) {}\nstatic void c(void) {}\n"
            "void other(void) {}\n",
        )
        self.assertEqual(
            self.found(names.functions), ["src/device/name.c:4", "src/device/name.c:8"]
        )

    def test_comments(self):
        self.write(
            "include/situ/x.h",
            "\n/* Both. */\nSITU_API int situ_a(void);\n"
            "SITU_API int situ_b(int x,\n                    int y);\n\n"
            "SITU_API int situ_c(void);\n",
        )
        self.assertEqual(self.found(public.comments), ["include/situ/x.h:9"])


if __name__ == "__main__":
    unittest.main()
