# SPDX-License-Identifier: Apache-2.0
"""report.py: formats the views of a profile as text, with an explanation of each column."""

from __future__ import annotations

import collections

from situ._src.profiler.views import NEVER_KNOWN

Column = collections.namedtuple("Column", "selected field title form about")


def _scaled(value, units):
    for size, unit in units:
        if value >= size:
            return f"{value / size:.2f}{unit}"
    return f"{value}"


def number(value):
    return _scaled(value, ((10**9, "b"), (10**6, "m"), (1000, "k")))


def memory(value):
    return (
        f"{value}B"
        if value < 1000
        else _scaled(value, ((10**9, "GB"), (10**6, "MB"), (1000, "KB")))
    )


def duration(value):
    return f"{value}us" if value < 1000 else _scaled(value, ((10**6, "sec"), (1000, "ms")))


COLUMNS = (
    Column(
        ("params",),
        "parameters",
        "# parameters",
        number,
        "How many numbers a variable or a placeholder holds.",
    ),
    Column(
        ("float_ops",),
        "float_ops",
        "# float_ops",
        number,
        "Operations on numbers, counted by op and shapes; ops that only move them have none.",
    ),
    Column(
        ("bytes",),
        "requested_bytes",
        "requested bytes",
        memory,
        "What its outputs take, where the graph knows their shapes. Memory is planned for a "
        "whole step, so no operation asks for its own.",
    ),
    Column(
        ("peak_bytes",),
        "peak_bytes",
        "peak bytes",
        memory,
        "Not known of single operations: `situ plan` tells it of a step.",
    ),
    Column(
        ("residual_bytes",),
        "residual_bytes",
        "residual bytes",
        memory,
        "Not known of single operations: the memory of a step stays for the next one.",
    ),
    Column(
        ("output_bytes",),
        "output_bytes",
        "output bytes",
        memory,
        "What its outputs take, where the graph knows their shapes.",
    ),
    Column(
        ("micros",),
        "exec_micros",
        "total execution time",
        duration,
        "The time on CPUs and GPUs together.",
    ),
    Column(
        ("micros", "accelerator_micros"),
        "accelerator_exec_micros",
        "accelerator execution time",
        duration,
        "The time on GPUs.",
    ),
    Column(
        ("micros", "cpu_micros"),
        "cpu_exec_micros",
        "cpu execution time",
        duration,
        "The time on CPUs.",
    ),
)
WORDS = {  # further things that may be selected -> (title, what it means)
    "device": ("assigned devices", "Where it ran."),
    "op_types": ("op types", "The op, devices, and what else types are matched with."),
    "occurrence": ("op count (run|defined)", "How often it ran, and stands in the graph."),
    "input_shapes": ("input shapes", "Shapes of what it reads."),
    "tensor_value": (
        None,
        "Not shown: values are in checkpoints, tf.train.load_checkpoint reads them.",
    ),
}
VIEWS = {
    "scope": "Operations by their names, which are like paths of files.",
    "graph": "Operations under one of those that read them.",
    "op": "Kinds of operations, each with all that are of the kind.",
}


def chosen(options):
    """Returns the selected columns."""
    return [c for c in COLUMNS if set(c.selected) & set(options["select"])]


def _titles(columns, options):
    return " | ".join(
        [
            "node name",
            *(c.title for c in columns),
            *(WORDS[w][0] for w in WORDS if w in options["select"] and WORDS[w][0]),
        ]
    )


def about(view, options):
    """Returns the explanation of a view and its columns."""
    lines = [f"{view}: {VIEWS[view]}"]
    lines += [f"{c.title.lstrip('# ')}: {c.about}" for c in chosen(options)]
    lines += [f"{WORDS[w][0] or w}: {WORDS[w][1]}" for w in WORDS if w in options["select"]]
    return "\nDoc:\n" + "\n".join(lines) + "\n\nProfile:\n"


def _inputs(node):
    def sizes(tensor):
        dims = getattr(tensor.shape, "dims", None)
        return (
            "x".join(
                str(int(d)) if d is not None and getattr(d, "value", d) is not None else "-1"
                for d in dims
            )
            if dims
            else "unknown"
        )

    return "|".join(f"{i}:{sizes(t)}" for i, t in enumerate(node.inputs))


def _words(node, options, count):
    words = {
        "device": "|".join(sorted(node.devices)),
        "op_types": "|".join(sorted(node.types)),
        "occurrence": count,
        "input_shapes": _inputs(node),
    }
    return [words[w] for w in words if w in options["select"]]


def _row(node, options):
    """Formats a line of a tree: own number/total number."""
    parts = []
    for column in chosen(options):
        if column.field == "parameters" and node.shape:
            parts.append("x".join(map(str, node.shape)))
        own = column.form(node.own[column.field]) if node.account else "--"
        unit = {"parameters": " params", "float_ops": " flops"}.get(column.field, "")
        parts.append(
            "--/--"
            if column.field in NEVER_KNOWN
            else f"{own}/{column.form(node.total[column.field])}{unit}"
        )
    runs = f"{node.own['run_count'] if node.account else '--'}/{node.total['run_count']}"
    count = f"{runs}|{1 if node.account else '--'}/{node.definitions}"
    return f"{node.name} ({', '.join(parts + _words(node, options, count))})"


def tree(root, options):
    """Formats a tree."""
    lines, stack = [_titles(chosen(options), options)], [(root, 0)]
    while stack:
        node, indent = stack.pop()
        lines.append(" " * indent + _row(node, options))
        stack.extend((child, indent + 2) for child in reversed(node.children))
    return "\n".join(lines) + "\n"


def ops(root, shown, options):
    """Formats the view of ops: for each op its totals and its own numbers."""
    columns = sorted(chosen(options), key=lambda c: c.field in ("parameters", "float_ops"))
    options = {**options, "select": [w for w in options["select"] if w != "input_shapes"]}
    lines = [_titles(columns, options).replace("op count", "op occurrence")]
    for node in shown:
        parts = []
        for column in columns:
            own, total = node.own[column.field], node.total[column.field]
            every = root.total[column.field]
            # A node without output bytes has no percentage.
            with_rest = total if own or column.form is not memory else 0
            unit = {"parameters": " params", "float_ops": " float_ops"}.get(column.field, "")
            text = (
                f"{column.form(own)}{unit} ({100 * with_rest / (every or 1):.2f}%, "
                f"{100 * own / (every or 1):.2f}%)"
            )
            parts.append(f"{'--' if column.field in NEVER_KNOWN else text:>30}")
        count = f"{node.own['run_count']}|{len(node.members)}"
        lines.append(f"{node.name:<25}" + ", ".join(parts + _words(node, options, f"{count:>10}")))
    return "\n".join(lines) + "\n"
