# SPDX-License-Identifier: Apache-2.0
"""style_detection.py: static analysis of a program's source: which names of tf it uses, its style
(v1 or v2), and which names situ lacks."""

from __future__ import annotations

import ast
import os
import types

from situ._src.framework import style
from situ._src.runner import import_hook

# Names that TensorFlow 2 does not have: a program that uses one is in graph style.
GRAPH_NAMES = set(
    """
    AUTO_REUSE ConfigProto FIFOQueue FixedLenFeature FixedLenSequenceFeature
    FixedLengthRecordReader GPUOptions GraphDef GraphKeys GraphOptions InteractiveSession NodeDef
    OptimizerOptions Print RandomShuffleQueue ReaderBase RunMetadata RunOptions Session
    SparseTensorValue Summary TFRecordReader TextLineReader VERSION VarLenFeature WholeFileReader
    add_to_collection all_variables app arg_max arg_min assign assign_add assign_sub contrib
    decode_csv decode_raw diag distributions div enable_eager_execution flags floordiv
    get_collection get_collection_ref get_default_graph get_default_session get_variable
    get_variable_scope gfile global_norm global_variables global_variables_initializer
    glorot_normal_initializer glorot_uniform_initializer initialize_all_variables
    initialize_local_variables initialize_variables layers local_variables
    local_variables_initializer log logging make_template matrix_inverse model_variables
    moving_average_variables multinomial op_scope parse_example parse_single_example
    parse_single_sequence_example placeholder placeholder_with_default py_func python_io
    random_crop random_normal random_uniform read_file report_uninitialized_variables
    reset_default_graph set_random_seed sparse_placeholder sparse_tensor_dense_matmul
    sparse_tensor_to_dense sparse_to_dense squared_difference string_split string_to_number
    tables_initializer to_double to_float to_int32 to_int64 trainable_variables truncated_normal
    truncated_normal_initializer uniform_unit_scaling_initializer variable_scope
    variables_initializer image.resize_bilinear image.resize_image_with_crop_or_pad
    image.resize_images image.resize_nearest_neighbor initializers.global_variables
    losses.absolute_difference losses.add_loss losses.get_losses losses.get_regularization_losses
    losses.get_total_loss losses.hinge_loss losses.huber_loss losses.log_loss
    losses.sigmoid_cross_entropy losses.softmax_cross_entropy losses.sparse_softmax_cross_entropy
    metrics.accuracy metrics.mean metrics.precision metrics.recall nn.bidirectional_dynamic_rnn
    nn.dynamic_rnn nn.fused_batch_norm nn.relu_layer nn.rnn_cell
    nn.softmax_cross_entropy_with_logits_v2 nn.static_rnn nn.xw_plus_b python.platform.app
    python.platform.flags random.set_random_seed summary.FileWriter summary.merge
    summary.merge_all train.AdadeltaOptimizer train.AdagradOptimizer train.AdamOptimizer
    train.CheckpointSaverHook train.FtrlOptimizer train.GradientDescentOptimizer
    train.LoggingTensorHook train.MomentumOptimizer train.MonitoredSession
    train.MonitoredTrainingSession train.NewCheckpointReader train.Optimizer train.QueueRunner
    train.RMSPropOptimizer train.Saver train.Scaffold train.Server train.SessionRunArgs
    train.SessionRunHook train.StopAtStepHook train.SummarySaverHook train.Supervisor
    train.SyncReplicasOptimizer train.add_queue_runner train.batch train.batch_join
    train.checkpoint_exists train.cosine_decay train.create_global_step train.exponential_decay
    train.get_global_step train.get_or_create_global_step train.global_step
    train.import_meta_graph train.init_from_checkpoint train.inverse_time_decay
    train.limit_epochs train.match_filenames_once train.natural_exp_decay
    train.piecewise_constant train.polynomial_decay train.queue_runner train.range_input_producer
    train.replica_device_setter train.shuffle_batch train.shuffle_batch_join
    train.slice_input_producer train.start_queue_runners train.string_input_producer
    train.summary_iterator train.write_graph""".split()
)

# Names below tf.compat.v1 that work in a graph alone, and names of eager style that bring one: a
# program that uses some of the former and none of the latter counts on the default graph. Programs
# of eager Keras make a session for its options; those that also fill variables in it run graphs.
GRAPH_NEEDERS = {"placeholder", "Session", "InteractiveSession"}
GRAPH_FILLERS = {"placeholder", "global_variables_initializer"}
GRAPH_MAKERS = {
    "Graph",
    "GradientTape",
    "enable_eager_execution",
    "enable_v2_behavior",
    "executing_eagerly",
    "function",
    "wrap_function",
}


def parse(source, path):
    try:
        return ast.parse(source, path)
    except (SyntaxError, ValueError):
        return ast.Module([], [])  # running it reports the error


def local_modules(tree, path, seen):
    """Yields the paths of local modules that the script imports."""
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


def sources(path, source):
    """Yields the source of a program and of the local modules that it imports."""
    seen, left = {os.path.abspath(path)}, [(path, source)]
    while left:
        path, source = left.pop()
        yield source.decode("utf-8", "replace") if isinstance(source, bytes) else source
        for file in local_modules(parse(source, path), path, seen):
            seen.add(file)
            with open(file, "rb") as opened:
                left.append((file, opened.read()))


def aliases(tree):
    """Returns {name in the program: dotted name below tensorflow}."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] == "tensorflow":
                    below = a.name.partition(".")[2]
                    found[a.asname or "tensorflow"] = below if a.asname else ""
        elif (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and (node.module or "").split(".")[0] == "tensorflow"
        ):
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
    """Yields (dotted name below tensorflow, line) of every use."""
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
    """Yields (path, name, line) for the script and the local modules that it imports."""
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


def _chooses_v1(tree):
    """Returns whether the first import of situ is that of situ.compat.v1."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, a.name) for a in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            below = [a.name for a in node.names] if node.module == "situ.compat" else [""]
            found += [(node.lineno, f"{node.module}.{name}".rstrip(".")) for name in below]
    first = min((x for x in found if (x[1] + ".").startswith("situ.")), default=(0, ""))
    return (first[1] + ".").startswith("situ.compat.v1.")


def style_of(path, source):
    """Returns 'v1' if the program uses names of graph style, else 'v2'."""
    if _chooses_v1(parse(source, path)):
        return "v1"
    needs_graph = fills_graph = has_graph = has_keras = False
    for _, name, _ in all_uses(path, source):
        parts = name.split(".")
        inner = (
            parts[2:]
            if parts[:2] == ["compat", "v1"]
            else parts[3:]
            if parts[:3] == ["python", "framework", "ops"]
            else parts
        )
        has_graph = has_graph or inner[0:1] and inner[0] in GRAPH_MAKERS
        has_keras = has_keras or inner[:1] == ["keras"]
        if inner is not parts:
            if inner[:1] in (["disable_v2_behavior"], ["disable_eager_execution"]):
                return "v1"
            needs_graph = needs_graph or inner[:1] and inner[0] in GRAPH_NEEDERS
            fills_graph = fills_graph or inner[:1] and inner[0] in GRAPH_FILLERS
        elif any(".".join(parts[:n]) in GRAPH_NAMES for n in (1, 2, 3)):
            return "v1"
    counts_on_it = needs_graph and (fills_graph or not has_keras)
    return "v1" if counts_on_it and not has_graph else "v2"


def lacking(root, name):
    """Returns the shortest prefix of a dotted name that situ does not have, or None."""
    at, parts = root, name.split(".")
    if parts[0] in import_hook.INNER:  # modules of tensorflow's own sources
        if parts[1:] and parts[1] not in import_hook.INNER[parts[0]]:
            return ".".join(parts[:2])
        at, parts = import_hook.Inner.find(root, parts[:3]), parts[3:]
    if parts[:1] == ["contrib"] and parts[2:3] == ["python"]:  # modules of its sources
        inner = 3
        while inner < len(parts) and parts[inner] in import_hook.CONTRIB:
            inner += 1
        at, parts = root, parts[:2] + parts[inner:]
    for i, part in enumerate(parts):
        if part == "compat":
            return None
        if (
            isinstance(at, type)
            or not hasattr(at, "__dict__")
            or not isinstance(at, types.ModuleType)
        ):
            return None  # an attribute of a class or a value
        try:
            at = getattr(at, part)
        except AttributeError:
            return ".".join(parts[: i + 1])
    return None


def report(path, source, api):
    """Prints the names that situ lacks. Returns the exit code."""
    import importlib

    from situ._src.runner import missing_names

    style.choose(api)
    root = importlib.import_module("situ.compat.v1" if api == "v1" else "situ")
    missing = {}
    for file, name, line in all_uses(path, source):
        lacks = lacking(root, name)
        if lacks:
            missing.setdefault(lacks, []).append(f"{os.path.relpath(file)}:{line}")
    from situ._src.framework import api as names

    everything = [*names.all_names("both", api), *names.op_functions()]
    for name in sorted(missing):
        near = missing_names.nearest(name, everything)
        hint = f"  nearest: tf.{near}" if near else ""
        print(f"tf.{name}  {', '.join(missing[name])}{hint}  {missing_names.hint_for(name)}")
    print(
        f"{len(missing)} name{'s are' if len(missing) != 1 else ' is'} missing "
        f"({'graph' if api == 'v1' else 'eager'} style)"
    )
    return 1 if missing else 0
