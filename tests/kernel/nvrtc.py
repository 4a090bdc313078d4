# SPDX-License-Identifier: Apache-2.0
"""nvrtc.py: every kernel file in every type is CUDA for NVRTC.

That is: for the oldest and the newest architecture that NVRTC knows.

Usage: nvrtc.py SOURCE_DIR [--out FOLDER] [--ptxas PTXAS] [--types float,half] [FILE...]
--out keeps the PTX; --ptxas assembles it, float for every architecture of the toolkit, other types
for the oldest, and reports registers and spills.
Where there is no NVRTC it ends with 77: skipped.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

Type = collections.namedtuple("Type", "t c name size real integer truth signed")
TYPES = [
    Type("float", "float", "float", 4, 1, 0, 0, 1),
    Type("double", "double", "double", 8, 1, 0, 0, 1),
    Type("half", "float", "half", 2, 1, 0, 0, 1),
    Type("i32", "i32", "int32", 4, 0, 1, 0, 1),
    Type("i64", "i64", "int64", 8, 0, 1, 0, 1),
    Type("i8", "i32", "int8", 1, 0, 1, 0, 1),
    Type("u8", "i32", "uint8", 1, 0, 1, 0, 0),
    Type("i16", "i32", "int16", 2, 0, 1, 0, 1),
    Type("u16", "i32", "uint16", 2, 0, 1, 0, 0),
    Type("u32", "u32", "uint32", 4, 0, 1, 0, 0),
    Type("u64", "u64", "uint64", 8, 0, 1, 0, 0),
    Type("u8", "i32", "truth", 1, 0, 0, 1, 0),
]
COMPLEX = {
    "float": Type("complex64", "complex64", "complex64", 8, 0, 0, 0, 1),
    "double": Type("complex128", "complex128", "complex128", 16, 0, 0, 0, 1),
}
ASSEMBLED = re.compile(
    r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores.*?"
    r"Used (\d+) reg",
    re.S,
)
LIBRARIES = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"]


class Nvrtc:
    """The library, by ctypes."""

    def __init__(self):
        self.lib = next(filter(None, map(self.load, LIBRARIES)), None)

    @staticmethod
    def load(name):
        """A library, or None."""
        try:
            return ctypes.CDLL(name)
        except OSError:
            return None

    def architectures(self):
        """The numbers of all architectures, oldest first."""
        count = ctypes.c_int()
        self.lib.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.lib.nvrtcGetSupportedArchs(numbers)
        return sorted(numbers)

    def text(self, program, what):
        """The PTX or the log of a program."""
        size = ctypes.c_size_t()
        getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value + 1)
        getattr(self.lib, f"nvrtcGet{what}")(program, text)
        return text.value.decode()

    def compile(self, text, arch):
        """The PTX (or None) and the log."""
        program = ctypes.c_void_p()
        self.lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel", 0, None, None)
        words = [f"--gpu-architecture=compute_{arch}", "--fmad=false", "-default-device"]
        options = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
        failed = self.lib.nvrtcCompileProgram(program, len(words), options)
        log = self.text(program, "ProgramLog")
        ptx = None if failed else self.text(program, "PTX")
        self.lib.nvrtcDestroyProgram(ctypes.byref(program))
        return ptx, log


def read(root, name):
    """The text of a file with all that it includes from the sources."""
    text = (root / name).read_text()
    return re.sub(r'^#include "([^"]+)"$', lambda match: read(root, match[1]), text, flags=re.M)


def source(root, file, type_):
    """The whole text of a kernel file in a type, as host/kernel_source.c puts it together. The
    type of complex.cl is that of the parts."""
    part = type_.name if file.endswith("/complex.cl") and type_.name in COMPLEX else None
    if file.endswith("/complex.cl") and not part:
        return ""
    type_ = COMPLEX[part] if part else type_
    words = {
        "T_NAME": type_.name,
        "T_BYTES": type_.size,
        "T_IS_REAL": type_.real,
        "T_IS_INTEGER": type_.integer,
        "T_IS_BOOL": type_.truth,
        "T_IS_SIGNED": type_.signed,
        "HAS_HALF": 1,
        "HAS_DOUBLE": 1,
        "ALL_KERNELS": "",
    }
    lines = [f"#define {name} {value}" for name, value in words.items()]
    lines += [read(root, "kernel/cuda.h"), f"typedef {type_.t} T;", f"typedef {type_.c} C;"]
    if part:
        lines.append(f"typedef {part} R;")
    return "\n".join(lines + [read(root, file), ""])


def assemble(ptxas, path, archs):
    """Runs ptxas; returns the failures and, per kernel, registers and bytes spilled at most."""
    failed, report = 0, collections.defaultdict(lambda: [0, 0])

    def start(arch):
        return subprocess.run(
            [ptxas, f"-arch=sm_{arch}", "-v", "-o", "/dev/null", path],
            text=True,
            capture_output=True,
            check=False,
        )

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(start, archs))
    for arch, done in zip(archs, results):
        if done.returncode:
            print(f"{path.name} is refused for sm_{arch}:\n{done.stderr}")
            failed += 1
        for name, spilled, registers in ASSEMBLED.findall(done.stderr):
            row = report[name]
            row[:] = max(row[0], int(registers)), max(row[1], int(spilled))
    return failed, report


def show(report):
    """The kernels with most registers, and all that spill."""
    rows = sorted(report.items(), key=lambda item: (-item[1][1], -item[1][0]))
    print("kernel                                   registers  spilled bytes")
    for number, (name, (registers, spilled)) in enumerate(rows):
        if number < 10 or spilled:
            print(f"{name:40} {registers:9}  {spilled:13}")


def kernel_files(root):
    """All kernel files but those that are parts of others."""
    every = "".join(path.read_text() for path in (root / "ops").rglob("*.cl"))
    names = sorted(str(path.relative_to(root)) for path in (root / "ops").rglob("*.cl"))
    return [name for name in names if f'#include "{name}"' not in every]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--ptxas")
    parser.add_argument("--types")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    nvrtc = Nvrtc()
    if not nvrtc.lib:
        print("There is no NVRTC here.")
        sys.exit(77)
    root, archs = args.source / "src", nvrtc.architectures()
    out = args.out or pathlib.Path(tempfile.mkdtemp())
    out.mkdir(parents=True, exist_ok=True)
    types = [type_ for type_ in TYPES if not args.types or type_.name in args.types.split(",")]
    failed, done, report = 0, 0, {}
    for name, type_, arch in itertools.product(
        args.files or kernel_files(root), types, sorted({archs[0], archs[-1]})
    ):
        ptx, log = nvrtc.compile(source(root, name, type_), arch)
        done += 1
        if not ptx:
            print(f"{name} is no CUDA for {type_.name}, compute_{arch}:\n{log}")
            failed += 1
            continue
        path = out / f"{pathlib.Path(name).stem}.{type_.name}.{arch}.ptx"
        path.write_text(ptx)
        if args.ptxas and arch == archs[0]:
            bad, rows = assemble(args.ptxas, path, archs if type_.name == "float" else archs[:1])
            failed += bad
            report.update({f"{type_.name} {kernel}": row for kernel, row in rows.items()})
    if report:
        show(report)
    print(f"{done} programs by NVRTC for compute_{archs[0]} and {archs[-1]}, {failed} failures")
    sys.exit(failed != 0)


main()
