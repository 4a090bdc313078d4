# SPDX-License-Identifier: Apache-2.0
"""run.py: `situ run`: runs a script or module as __main__, with situ as tensorflow.

python -m situ._src.runner.run [--api=v1|v2] [--log-placement] [--trace=FILE] [--check]
    [--behind=OPTIONS] -- SCRIPT|-m MODULE [ARG]...
"""

from __future__ import annotations

import os
import sys
import traceback

from situ._src.framework import style
from situ._src.runner import arguments, import_hook, notebook, stand_ins, style_detection

_OWN = os.path.abspath(__file__ + "/../../..")


def parse(args):
    """Returns the options of the runner, and the program with its arguments."""
    cut = args.index("--")
    options = {w.lstrip("-").partition("=")[0]: w.partition("=")[2] or True for w in args[:cut]}
    return options, args[cut + 1 :]


def find(program):
    """Returns the path, the module name or None, and the arguments of the program."""
    if program[0] != "-m":
        return program[0], None, program[1:]
    if len(program) < 2:
        fail("-m needs the name of a module")
    import importlib.util

    name = program[1]
    sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except ImportError as e:
        fail(str(e))
    if spec is None or not spec.origin:
        fail(f"there is no module {program[1]}")
    return spec.origin, name, program[2:]


def fail(text):
    print(f"situ run: {text}", file=sys.stderr)
    sys.exit(1)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as e:
        fail(f"cannot read {path}: {e.strerror}")


def show(error):
    """Prints the traceback without the frames of situ."""

    def mine(frame):
        return frame.filename.startswith(_OWN) or frame.filename.startswith("<frozen ")

    shown = traceback.TracebackException.from_exception(error)
    seen = shown
    while seen is not None:
        seen.stack = traceback.StackSummary.from_list([f for f in seen.stack if not mine(f)])
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    print("".join(shown.format()), end="", file=sys.stderr)


def record(path):
    """Records a trace of everything that runs; it is written at exit."""
    import atexit

    from situ._src.profiler import trace_recorder

    trace = trace_recorder.Recording()

    def write():
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(trace_recorder.chrome_trace(trace.end()))
        except OSError as e:
            print(f"situ run: cannot write {path}: {e.strerror}", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)  # the last handler at exit: nothing else can set the exit code

    atexit.register(write)


def check_output(path):
    """Exits with an error if a file cannot be written."""
    from situ._src.profiler import trace_recorder

    try:
        trace_recorder.check_writable(path)
    except OSError as e:
        fail(f"cannot write {path}: {e.strerror}")


def execute(path, name, source):
    """Runs the program as __main__. Returns the exit code."""
    import types

    main = types.ModuleType("__main__")
    main.__file__, main.__builtins__ = path, __builtins__
    if name:
        main.__package__ = name.rpartition(".")[0]
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.modules["__main__"] = main
    source = notebook.provide(source, main.__dict__)
    try:
        exec(compile(source, path, "exec"), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        sys.stdout.flush()
        show(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def main():
    options, program = parse(sys.argv[1:])
    path, name, args = find(program)
    source = read(path)
    api = options.get("api") or style_detection.style_of(path, source)
    if "check" in options:
        sys.exit(style_detection.report(path, source, api))
    if sys.path[:1] in ([""], [os.getcwd()]) and not name:
        del sys.path[0]  # added by python -m; a script does not have it
    sys.argv = [path, *args]
    style.set_root("tensorflow")
    import_hook.install(api)
    stand_ins.install()
    if api == "v1" or b"numpy" in source:  # other programs start without NumPy
        from situ._src.runner import numpy_aliases

        numpy_aliases.install()
    if "behind" in options:
        label = f"-m {program[1]}" if name else path
        arguments.Watch(
            options["behind"], label, list(style_detection.sources(path, source))
        ).start()
    if "log-placement" in options:
        import_hook.log_placement()
    if "trace" in options:
        if options["trace"] is True:
            fail("--trace needs the name of a file")
        check_output(options["trace"])
        record(os.path.abspath(options["trace"]))
    if os.environ.get("SITU_COSTS"):
        check_output(os.environ["SITU_COSTS"])
        from situ._src.runner import training_costs

        training_costs.install(os.environ["SITU_COSTS"])
    code = execute(path, name, source)
    sys.stdout.flush()
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
