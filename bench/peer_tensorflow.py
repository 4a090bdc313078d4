# SPDX-License-Identifier: Apache-2.0
"""peer_tensorflow.py: the cost of graphs and runs beside TensorFlow's, in turns in one process.

Usage: peer_tensorflow.py [--quick] [--only PATTERN] LIBRARY. Needs the Python of .venv-bench.
TensorFlow runs in its quickest way: nodes in the caller's thread, optimisers off so that it keeps
every node. situ is called through ctypes, whose cost is counted.
"""

import argparse
import ctypes
import fnmatch
import json
import os
import time
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_void_p

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
FLOAT = 1
ONES = (1.0, 1.0, 1.0, 1.0)


class Shape(ctypes.Structure):
    _fields_ = [("rank", c_int), ("dim", c_int64 * 8)]


class Value(ctypes.Structure):
    _fields_ = [("graph", c_void_p), ("node", c_int32), ("output", c_int32)]


class Feed(ctypes.Structure):
    _fields_ = [("value", Value), ("tensor", c_void_p)]


class Situ:
    """A graph of 2x2 adds behind one fed value, through the C API."""

    def __init__(self, library):
        self.lib = lib = ctypes.CDLL(library)
        lib.situ_graph_create.restype = c_void_p
        lib.situ_placeholder.restype = lib.situ_emit.restype = Value
        lib.situ_placeholder.argtypes = [c_void_p, c_char_p, c_int, Shape]
        lib.situ_emit.argtypes = [
            c_void_p,
            c_char_p,
            c_char_p,
            POINTER(Value),
            c_int,
            c_void_p,
            c_int,
        ]
        lib.situ_tensor_create.argtypes = [c_int, Shape, c_void_p, POINTER(c_void_p)]
        lib.situ_session_create.argtypes = [c_void_p, c_void_p, POINTER(c_void_p)]
        lib.situ_session_run.argtypes = [
            c_void_p,
            POINTER(Feed),
            c_int,
            POINTER(Value),
            c_int,
            POINTER(c_void_p),
        ]
        lib.situ_session_create.restype = lib.situ_session_run.restype = c_void_p
        lib.situ_tensor_create.restype = lib.situ_tensor_data.restype = c_void_p
        lib.situ_tensor_release.argtypes = lib.situ_tensor_data.argtypes = [c_void_p]
        lib.situ_session_release.argtypes = [c_void_p]
        lib.situ_status_message.argtypes = [c_void_p]
        lib.situ_status_message.restype = c_char_p
        self.graph = lib.situ_graph_create()
        shape = Shape(2, (c_int64 * 8)(2, 2))
        tensor = c_void_p()
        self.check(lib.situ_tensor_create(FLOAT, shape, (ctypes.c_float * 4)(*ONES), byref(tensor)))
        self.feed = Feed(lib.situ_placeholder(self.graph, None, FLOAT, shape), tensor)
        self.session = None

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.situ_status_message(status).decode())

    def chain(self, count):
        """The last of `count` adds."""
        value = self.feed.value
        for _ in range(count):
            value = self.lib.situ_emit(
                self.graph, b"Add", None, (Value * 2)(value, self.feed.value), 2, None, 0
            )
        return value

    def no_op(self):
        return self.lib.situ_emit(self.graph, b"NoOp", None, None, 0, None, 0)

    def open(self):
        self.lib.situ_session_release(self.session)
        session = c_void_p()
        self.check(self.lib.situ_session_create(self.graph, None, byref(session)))
        self.session = session

    def runner(self, fetch, feeds=1):
        """A function that runs, and gives the first element of what is fetched, if anything is."""
        lib, result = self.lib, c_void_p()

        def run():
            self.check(
                lib.situ_session_run(
                    self.session, byref(self.feed), feeds, byref(fetch), 1, byref(result)
                )
            )
            data = lib.situ_tensor_data(result) if result else None
            element = ctypes.cast(data, POINTER(ctypes.c_float))[0] if data else None
            lib.situ_tensor_release(result)
            return element

        return run


class TensorFlow:
    """The same with TensorFlow."""

    def __init__(self):
        import tensorflow.compat.v1 as tf  # only where it is there

        self.tf, self.graph, self.session = tf, tf.Graph(), None
        self.version = tf.__version__
        with self.graph.as_default(), tf.device("/cpu:0"):
            self.fed = tf.placeholder(tf.float32, [2, 2])
        self.config = tf.ConfigProto(inter_op_parallelism_threads=-1)
        options = self.config.graph_options
        options.optimizer_options.opt_level = -1
        options.rewrite_options.disable_meta_optimizer = True

    def chain(self, count):
        with self.graph.as_default(), self.tf.device("/cpu:0"):
            value = self.fed
            for _ in range(count):
                value = self.tf.raw_ops.AddV2(x=value, y=self.fed)
        return value

    def no_op(self):
        with self.graph.as_default():
            return self.tf.no_op()

    def open(self):
        if self.session:
            self.session.close()
        self.session = self.tf.Session(graph=self.graph, config=self.config)

    def runner(self, fetch, feeds=1):
        given = [[[1.0, 1.0], [1.0, 1.0]]] * feeds
        call = self.session.make_callable(fetch, feed_list=[self.fed] * feeds)

        def run():
            result = call(*given)
            return None if result is None else result[0][0]

        return run


def alternate(runs, quick):
    """Seconds per call of each, best of bursts of about 5 ms in turns."""
    calls = []
    for run in runs:
        run()
        begin = time.perf_counter()
        run()
        calls.append(max(1, int(0.005 / (time.perf_counter() - begin))))
    best = [float("inf")] * len(runs)
    for _ in range(20 if quick else 100):
        for i, run in enumerate(runs):
            run()
            begin = time.perf_counter()
            for _ in range(calls[i]):
                run()
            best[i] = min(best[i], (time.perf_counter() - begin) / calls[i])
    return best


def timed(function):
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def compare_runs(library, fetch, feeds, expected, quick):
    """Seconds per run of the same fetch in both."""
    sides = (Situ(library), TensorFlow())
    runs = []
    for side in sides:
        value = fetch(side)
        side.open()
        runs.append(side.runner(value, feeds))
        if runs[-1]() != expected:
            raise RuntimeError("wrong result")
    return alternate(runs, quick)


def compare_first(library, count):
    """Seconds of building a chain, of placing it and of its first run, once each: they are long."""
    times = []
    for side in (Situ(library), TensorFlow()):
        build, value = timed(lambda side=side: side.chain(count))
        nothing = side.no_op()
        side.open()  # a run of a no-op places the whole graph, and plans and runs next to nothing
        place, _ = timed(lambda side=side, nothing=nothing: side.runner(nothing, 0)())
        side.open()
        first, element = timed(lambda side=side, value=value: side.runner(value)())
        if element != count + 1:
            raise RuntimeError("wrong result")
        times.append((build, place, first))
    return zip(*times)


def report(name, what, unit, scale, seconds, version):
    value, yardstick = (s * scale for s in seconds)
    print(
        json.dumps(
            {
                "name": name,
                "what": what,
                "value": value,
                "unit": unit,
                "against": f"TensorFlow {version}",
                "yardstick": yardstick,
                "ratio": value / yardstick,
                "target": None,
                "at_least": False,
                "holds": None,
                "note": f"{yardstick / value:,.0f} times less",
            }
        ),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("library")
    options = parser.parse_args()

    def wanted(name):
        return not options.only or options.only in name or fnmatch.fnmatch(name, options.only)

    firsts = ("peer.build", "peer.place", "peer.first")
    if not any(map(wanted, ("peer.no_op", "peer.chain", *firsts))):
        return
    version = TensorFlow().version
    if wanted("peer.no_op"):
        seconds = compare_runs(options.library, lambda side: side.no_op(), 0, None, options.quick)
        report("peer.no_op", "run of one no-op", "us", 1e6, seconds, version)
    if wanted("peer.chain"):
        seconds = compare_runs(
            options.library, lambda side: side.chain(1000), 1, 1001, options.quick
        )
        report("peer.chain", "chain of 1,000 adds of 2x2", "ns/node", 1e6, seconds, version)
    if any(map(wanted, firsts)):
        count = 2000 if options.quick else 20000
        build, place, first = compare_first(options.library, count)
        for name, what, seconds in (
            (firsts[0], f"build of {count:,} nodes", build),
            (firsts[1], f"place {count:,} nodes (first run of a no-op)", place),
            (firsts[2], f"first run of {count:,} nodes", first),
        ):
            report(name, what, "us/node", 1e6 / count, seconds, version)


if __name__ == "__main__":
    main()
