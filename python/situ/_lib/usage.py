# SPDX-License-Identifier: Apache-2.0
"""usage.py: the names of tf a program uses, told from its text: its style, what situ lacks."""
import ast
import os
import types

from situ._lib import importer

# Names that TensorFlow 2 no longer has: a program that uses one is in graph style.
GRAPH_NAMES = set("""
    AUTO_REUSE ConfigProto FixedLengthRecordReader GPUOptions GraphKeys InteractiveSession
    RandomShuffleQueue ReaderBase Session TFRecordReader TextLineReader WholeFileReader
    add_to_collection all_variables app assign assign_add assign_sub contrib decode_raw
    enable_eager_execution flags get_collection get_default_graph get_default_session
    get_variable get_variable_scope gfile global_variables global_variables_initializer
    initialize_all_variables initialize_variables layers local_variables
    local_variables_initializer log logging parse_single_example placeholder
    placeholder_with_default py_func python_io random_normal random_uniform
    reset_default_graph set_random_seed to_double to_float to_int32 to_int64
    trainable_variables truncated_normal variable_scope variables_initializer
    losses.get_total_loss nn.bidirectional_dynamic_rnn nn.dynamic_rnn nn.rnn_cell nn.static_rnn
    summary.FileWriter summary.merge summary.merge_all train.AdagradOptimizer
    train.AdamOptimizer train.GradientDescentOptimizer train.MomentumOptimizer
    train.MonitoredSession train.MonitoredTrainingSession train.QueueRunner
    train.RMSPropOptimizer train.Saver train.Supervisor train.batch train.create_global_step
    train.exponential_decay train.get_global_step train.get_or_create_global_step
    train.shuffle_batch train.start_queue_runners train.string_input_producer""".split())


def parse(source, path):
    try:
        return ast.parse(source, path)
    except (SyntaxError, ValueError):
        return ast.Module([], [])  # running it will say what is wrong


def local_modules(tree, path, seen):
    """Paths of modules beside the script that it imports."""
    folder = os.path.dirname(os.path.abspath(path))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base] + [f"{base}.{a.name}".lstrip(".") for a in node.names]
        for name in filter(None, names):
            stem = os.path.join(folder, *name.split("."))
            for file in (stem + ".py", os.path.join(stem, "__init__.py")):
                if os.path.isfile(file) and file not in seen:
                    yield file


def aliases(tree):
    """name in the program -> dotted name below tensorflow."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] == "tensorflow":
                    below = a.name.partition(".")[2]
                    found[a.asname or "tensorflow"] = below if a.asname else ""
        elif isinstance(node, ast.ImportFrom) and not node.level and \
                (node.module or "").split(".")[0] == "tensorflow":
            below = node.module.partition(".")[2]
            for a in node.names:
                found[a.asname or a.name] = f"{below}.{a.name}".lstrip(".")
    return found


def dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, parts[::-1]) if isinstance(node, ast.Name) else (None, [])


def used(tree):
    """(dotted name below tensorflow, line) of every use."""
    known = aliases(tree)
    inner = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node not in inner:
            at = node.value
            while isinstance(at, ast.Attribute):
                inner.add(at)
                at = at.value
            name, parts = dotted(node)
            if name in known:
                yield ".".join(filter(None, [known[name], *parts])), node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tensorflow":
            for a in node.names:
                yield known[a.asname or a.name], node.lineno


def all_uses(path, source):
    """(path, name, line) over the script and the local modules it imports."""
    waiting, seen = [(path, source)], {os.path.abspath(path)}
    while waiting:
        path, source = waiting.pop()
        tree = parse(source, path)
        for name, line in used(tree):
            yield path, name, line
        for file in local_modules(tree, path, seen):
            seen.add(file)
            with open(file, "rb") as f:
                waiting.append((file, f.read()))


def style_of(path, source):
    """'v1' if the program uses a name of graph style, else 'v2'."""
    for _, name, _ in all_uses(path, source):
        parts = name.split(".")
        if parts[:2] == ["compat", "v1"]:
            parts = parts[2:]
            if parts[:1] in (["disable_v2_behavior"], ["disable_eager_execution"]):
                return "v1"
            continue
        if parts[0] in GRAPH_NAMES or ".".join(parts[:2]) in GRAPH_NAMES:
            return "v1"
    return "v2"


def lacking(root, name):
    """The shortest part of a dotted name that situ does not have, or None."""
    at, parts = root, name.split(".")
    if parts[0] in importer.INNER:  # modules of tensorflow's own sources
        if parts[1:] and parts[1] not in importer.INNER[parts[0]]:
            return ".".join(parts[:2])
        at, parts = importer.Inner.find(root, parts[:3]), parts[3:]
    for i, part in enumerate(parts):
        if part == "compat":
            return None
        if isinstance(at, type) or not hasattr(at, "__dict__") or not \
                isinstance(at, types.ModuleType):
            return None  # an attribute of a class or a value
        try:
            at = getattr(at, part)
        except AttributeError:
            return ".".join(parts[:i + 1])
    return None


def report(path, source, api):
    """Lists what situ lacks; returns the exit code."""
    import importlib
    from situ._lib import plan
    root = importlib.import_module("situ.compat.v1" if api == "v1" else "situ")
    missing = {}
    for file, name, line in all_uses(path, source):
        lacks = lacking(root, name)
        if lacks:
            missing.setdefault(lacks, []).append(f"{os.path.relpath(file)}:{line}")
    from situ._lib import api as names
    names.load_all()
    everything = [*names.BOTH, *(names.V1 if api == "v1" else names.V2), *names.read_rows()]
    for name in sorted(missing):
        near = plan.nearest(name, everything)
        hint = f"  nearest: tf.{near}" if near else ""
        print(f"tf.{name}  {', '.join(missing[name])}{hint}  {plan.word(name)}")
    print(f"{len(missing)} name{'s are' if len(missing) != 1 else ' is'} missing "
          f"({'graph' if api == 'v1' else 'eager'} style)")
    return 1 if missing else 0
