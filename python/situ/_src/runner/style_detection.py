# SPDX-License-Identifier: Apache-2.0
"""style_detection.py: static analysis of a program's source: which names of tf it uses, its style
(v1 or v2), and which names situ lacks."""

from __future__ import annotations

import ast
import importlib
import os
import types

from situ._src.framework import api as names
from situ._src.framework import style
from situ._src.runner import import_hook, missing_names, packages

_OWN = os.path.abspath(__file__)

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


def _search_folders(path, is_module):
    """Returns the folders in which absolute imports of a program find local modules. A folder of
    installed packages is none, as in $PYTHONPATH after `pip install --target`: packages choose
    their style themselves, and there may be thousands of modules."""
    folders = [os.path.dirname(os.path.abspath(path))]
    folders += [os.getcwd()] if is_module else []
    folders += [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    return [
        f
        for f in dict.fromkeys(folders)
        if not _OWN.startswith(f + os.sep) and not _has_installed_packages(f)
    ]


def _has_installed_packages(folder):
    """Returns whether pip or setuptools installed packages in a folder."""
    try:
        return any(name.endswith((".dist-info", ".egg-info")) for name in os.listdir(folder))
    except OSError:
        return False


def _imports(tree):
    """Yields (level of a relative import, dotted name) of everything that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                yield 0, a.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            for name in [base] + [f"{base}.{a.name}".lstrip(".") for a in node.names]:
                if name:
                    yield node.level, name


def _files_of(folder, name):
    """Returns the files of a module in a folder, with its packages: a/__init__.py and a/b.py."""
    found, stem = [], folder
    for part in name.split("."):
        stem = os.path.join(stem, part)
        files = [f for f in (stem + ".py", os.path.join(stem, "__init__.py")) if os.path.isfile(f)]
        if not files and not os.path.isdir(stem):
            break
        found += files
    return found


def local_modules(tree, path, folders):
    """Yields the paths of local modules that a file imports."""
    own = os.path.dirname(os.path.abspath(path))
    for level, name in _imports(tree):
        at = own
        for _ in range(level - 1):
            at = os.path.dirname(at)
        for folder in [at] if level else dict.fromkeys([*folders, own]):
            files = _files_of(folder, name)
            yield from files
            if files:
                break


def _walk(program):
    """Yields (path, source, tree) of a program and of the local modules that it imports."""
    waiting = [(program.path, program.source), *program.others]
    seen = {os.path.abspath(path) for path, _ in waiting}
    folders = _search_folders(program.path, bool(program.name))
    while waiting:
        path, source = waiting.pop()
        tree = parse(source, path)
        yield path, source, tree
        for file in local_modules(tree, path, folders):
            if os.path.abspath(file) not in seen:
                seen.add(os.path.abspath(file))
                with open(file, "rb") as opened:
                    waiting.append((file, opened.read()))


def sources(program):
    """Yields the source of a program and of the local modules that it imports."""
    for _, source, _ in _walk(program):
        yield source.decode("utf-8", "replace") if isinstance(source, bytes) else source


def _below_tensorflow(name):
    """Returns the dotted name below tf of a module, or None: keras is tf.keras where it is not
    installed. Names of horovod, which situ.mpi replaces, keep their first word."""
    top, _, below = name.partition(".")
    if top == "tensorflow":
        return below
    return name if top in packages.REPLACED and not packages.is_installed(top) else None


def aliases(tree):
    """Returns {name in the program: dotted name below tensorflow}."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                below = _below_tensorflow(a.name)
                if below is not None:
                    top = a.name.partition(".")[0]
                    found[a.asname or top] = below if a.asname else _below_tensorflow(top)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            below = _below_tensorflow(node.module)
            if below is not None:
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
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.startswith("tensorflow."):
                    continue  # importing it reports what is missing
                below = _below_tensorflow(a.name)
                if below:
                    yield below, node.lineno
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            below = _below_tensorflow(node.module)
            if below is not None:
                for a in node.names:
                    if a.name != "*":
                        yield f"{below}.{a.name}".lstrip("."), node.lineno


def assigned(tree):
    """Returns the names that a program adds to tf: `tf.model = ...`."""
    known = aliases(tree)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            name, parts = dotted(node)
            if known.get(name) == "" and len(parts) == 1:
                found.add(parts[0])
    return found


def all_uses(program):
    """Yields (path, name, line) for the program and the local modules that it imports."""
    for path, _, tree in _walk(program):
        for name, line in used(tree):
            yield path, name, line


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


def style_of(program):
    """Returns 'v1' if the program uses names of graph style, else 'v2'."""
    if program.notebook and program.notebook.asks_for_graph_style():
        return "v1"
    if _chooses_v1(parse(program.source, program.path)):
        return "v1"
    needs_graph = fills_graph = has_graph = has_keras = False
    for _, name, _ in all_uses(program):
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
    if parts[0] in packages.REPLACED and parts[0] != "keras":
        return packages.lacking(name)
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


def _missing_names(program, root):
    """Returns {name: places}: names of tf, and packages that need TensorFlow itself."""
    missing: dict = {}
    for path, _, tree in _walk(program):
        own = assigned(tree)
        for name, line in used(tree):
            if name.partition(".")[0] in own:
                continue
            lacks = lacking(root, name)
            if lacks:
                is_package = lacks.partition(".")[0] in packages.REPLACED - {"keras"}
                shown = lacks if is_package else f"tf.{lacks}"
                missing.setdefault(shown, []).append(program.where(path, line))
        for name, line in packages.unsupported(tree):
            missing.setdefault(name, []).append(program.where(path, line))
    return missing


def report(program, api):
    """Prints the names that situ lacks. Returns the exit code."""
    style.choose(api)
    root = importlib.import_module("situ.compat.v1" if api == "v1" else "situ")
    missing = _missing_names(program, root)
    everything = [*names.all_names("both", api), *names.op_functions()]
    for name in sorted(missing):
        places = ", ".join(dict.fromkeys(missing[name]))
        top, _, below = name.partition(".")
        if top != "tf":
            print(f"{name}  {places}  {packages.hint_for(name)}")
            continue
        near = missing_names.nearest(below, everything)
        hint = f"  nearest: tf.{near}" if near else ""
        print(f"{name}  {places}{hint}  {missing_names.hint_for(below)}")
    print(
        f"{len(missing)} name{'s are' if len(missing) != 1 else ' is'} missing "
        f"({'graph' if api == 'v1' else 'eager'} style)"
    )
    return 1 if missing else 0
