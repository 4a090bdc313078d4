# SPDX-License-Identifier: Apache-2.0
"""run.py: `situ run`: runs a script, notebook or module as __main__, with situ as tensorflow.

python -m situ._src.runner.run [--api=v1|v2] [--log-placement] [--trace=FILE] [--check]
    [--behind=OPTIONS] -- SCRIPT|NOTEBOOK|-m MODULE|-c CODE|- [ARG]...
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import traceback
import types

import _situ
from situ._src.framework import style
from situ._src.runner import (
    arguments,
    import_hook,
    ipython_shell,
    notebook,
    stand_ins,
    style_detection,
)
from situ._src.runner.program import fail, find

_OWN = os.path.abspath(__file__ + "/../../..")


def parse(args):
    """Returns the options of the runner, and the program with its arguments."""
    cut = args.index("--")
    options = {w.lstrip("-").partition("=")[0]: w.partition("=")[2] or True for w in args[:cut]}
    return options, args[cut + 1 :]


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
    from situ._src.framework import errors
    from situ._src.profiler import trace_recorder

    trace = trace_recorder.Recording()

    def write():
        try:
            _situ.replace_file(path, trace_recorder.chrome_trace(trace.end()).encode())
        except errors.OpError as e:
            print(f"situ run: cannot write {e.message.replace('; ', ': ')}", file=sys.stderr)
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


def execute(program):
    """Runs the program as __main__. Returns the exit code."""
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    if program.is_file:
        main.__file__ = program.path
    if program.name:
        main.__package__ = program.name.rpartition(".")[0]
    else:
        sys.path.insert(0, program.folder())
    sys.modules["__main__"] = main
    if program.notebook:
        return notebook.run(program.notebook, main.__dict__, show)
    source = ipython_shell.provide(program.source, main.__dict__)
    try:
        if program.name and main.__package__:
            importlib.import_module(main.__package__)
        exec(compile(source, program.path, "exec", dont_inherit=True), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        sys.stdout.flush()
        show(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def main():
    options, words = parse(sys.argv[1:])
    program = find(words)
    api = options.get("api") or style_detection.style_of(program)
    if "check" in options:
        sys.exit(style_detection.report(program, api))
    sys.argv = program.argv
    style.set_root("tensorflow")
    import_hook.install(api)
    stand_ins.install()
    # Other programs start without NumPy.
    if api == "v1" or program.others or b"numpy" in program.source:
        from situ._src.runner import numpy_aliases

        numpy_aliases.install()
    if "behind" in options:
        texts = list(style_detection.sources(program))
        arguments.Watch(options["behind"], program.label, texts).start()
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
    code = execute(program)
    sys.stdout.flush()
    if code:
        sys.exit(code)


if __name__ == "__main__":
    if sys.path[:1] in ([""], [os.getcwd()]):
        del sys.path[0]  # added by python -m; a script does not have it
    main()
