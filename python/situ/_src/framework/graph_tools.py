# SPDX-License-Identifier: Apache-2.0
"""graph_tools.py: tensorflow.python.tools: freeze_graph, optimize_for_inference and
inspect_checkpoint."""

from __future__ import annotations

import math
import os
import re

import _situ
from situ._src.checkpoint import reader as checkpoint_reader
from situ._src.framework import graph_util, keywords, meta_graph
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.node_def import GraphDef, NodeDef
from situ._src.saved_model import builder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def _names(text):
    """Returns a list of names from a list or a comma-separated string."""
    names = text.split(",") if isinstance(text, str) else text or ()
    return [n.strip() for n in names if n.strip()]


def _read_graph_def(path, binary):
    graph_def = GraphDef()
    with open(path, "rb") as file:
        data = file.read()
    if binary:
        graph_def.ParseFromString(data)
    else:
        graph_def._merge_text(data)
    return graph_def


@export(v1="python.tools.freeze_graph.freeze_graph_with_def_protos")
def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any = None,
    input_checkpoint: Any = None,
    output_node_names: str = "",
    restore_op_name: str = "",
    filename_tensor_name: str = "",
    output_graph: str = "",
    clear_devices: bool = True,
    initializer_nodes: str = "",
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Any = None,
    checkpoint_version: int = 2,
) -> Any:
    """Replaces the variables of a GraphDef by constants with values from a checkpoint.

    Args:
      input_graph_def: the GraphDef; None for that of `input_meta_graph_def` or of the SavedModel.
      input_saver_def: has no effect: the checkpoint is read without a saver.
      input_checkpoint: the prefix of the checkpoint; with `input_saved_model_dir` unused.
      output_node_names: comma-separated names of the nodes to keep, with all that they depend on.
      output_graph: the .pb file to write, or "".
      clear_devices: whether to remove the devices of nodes.
      initializer_nodes: not supported.
      variable_names_whitelist: comma-separated names of the variables to freeze; "" for all.
      variable_names_blacklist: comma-separated names of variables to leave.
      input_meta_graph_def: a MetaGraphDef.
      input_saved_model_dir: a SavedModel of situ with the values of the variables.
      saved_model_tags: a list of the tags of the graph in the SavedModel; None for the first graph.
      restore_op_name, filename_tensor_name, checkpoint_version: have no effect, as in TensorFlow.

    Returns:
      The GraphDef.

    Raises:
      ValueError: there are no output nodes.
    """
    del input_saver_def, checkpoint_version  # the checkpoint is read without a saver
    del restore_op_name, filename_tensor_name  # TensorFlow ignores them, too
    keywords.unsupported("freeze_graph", initializer_nodes=(initializer_nodes or "", ""))
    if input_saved_model_dir:
        input_checkpoint = os.path.join(input_saved_model_dir, "variables", "variables")
    if input_graph_def is None:
        if input_meta_graph_def is None:
            input_meta_graph_def = _saved_graph(input_saved_model_dir, saved_model_tags)
        input_graph_def = input_meta_graph_def.graph_def
    output_names = [n.partition(":")[0] for n in _names(output_node_names)]
    if not output_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    part = graph_util.extract_sub_graph(input_graph_def, output_names)
    if clear_devices:
        for node in part.node:
            node.device = ""
    reader = checkpoint_reader.load_checkpoint(input_checkpoint)
    only, never = _names(variable_names_whitelist), _names(variable_names_blacklist)
    values = {
        n.name: reader.get_tensor(n.name)
        for n in part.node
        if n.op in graph_util.VARIABLES and (not only or n.name in only) and n.name not in never
    }
    graph_def = graph_util.frozen(part, values)
    if output_graph:
        _situ.replace_file(output_graph, graph_def.SerializeToString())
    return graph_def


def _saved_graph(folder, tags):
    """Returns the graph of a SavedModel that has exactly these tags, or the first one."""
    graphs = builder.read(folder).meta_graphs
    for graph in graphs:
        if tags is None or set(graph.meta_info_def.tags) == set(tags):
            return graph
    found = [sorted(graph.meta_info_def.tags) for graph in graphs]
    raise RuntimeError(f"No graph of {folder} has the tags {sorted(tags)}; there are {found}.")


@export(v1="python.tools.freeze_graph.freeze_graph")
def freeze_graph(
    input_graph: Any,
    input_saver: Any,
    input_binary: Any,
    input_checkpoint: Any,
    output_node_names: Any,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: Any,
    clear_devices: bool,
    initializer_nodes: Any,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """Replaces the variables of a graph in a file by constants with values from a checkpoint.

    Args:
      input_graph: the GraphDef file; unused if input_meta_graph or input_saved_model_dir is given.
      input_saver: has no effect: the checkpoint is read without a saver.
      input_binary: whether `input_graph` is binary; otherwise it is text.
      input_checkpoint: the prefix of the checkpoint.
      output_node_names: comma-separated names of the nodes to keep, with all that they depend on.
      output_graph: the .pb file to write, or "".
      clear_devices: whether to remove the devices of nodes.
      initializer_nodes: not supported.
      variable_names_whitelist: comma-separated names of the variables to freeze; "" for all.
      variable_names_blacklist: comma-separated names of variables to leave.
      input_meta_graph: a meta graph file, instead of `input_graph`.
      input_saved_model_dir: a SavedModel, instead of `input_graph` and `input_checkpoint`.
      saved_model_tags: comma-separated tags of the graph in the SavedModel.
      restore_op_name, filename_tensor_name, checkpoint_version: have no effect, as in TensorFlow.

    Returns:
      The GraphDef.

    Raises:
      OSError: the file does not exist.
      ValueError: there are no output nodes.
    """
    del input_saver  # the checkpoint is read without a saver
    graph_def = input_meta_graph_def = None
    if input_meta_graph:
        input_meta_graph_def = meta_graph.read(input_meta_graph)
    elif not input_saved_model_dir:
        if not os.path.exists(input_graph):
            raise OSError(f"Input graph file '{input_graph}' does not exist!")
        graph_def = _read_graph_def(input_graph, input_binary)
    return freeze_graph_with_def_protos(
        graph_def,
        None,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
        input_meta_graph_def,
        input_saved_model_dir,
        _names(saved_model_tags),
        checkpoint_version,
    )


@export(v1="python.tools.optimize_for_inference_lib.optimize_for_inference")
def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Any,
    output_node_names: Any,
    placeholder_type_enum: Any = None,
    toco_compatible: bool = False,
) -> Any:
    """Removes nodes that only training needs.

    Args:
      input_graph_def: a GraphDef.
      input_node_names: names of nodes that become placeholders.
      output_node_names: the nodes to keep, with all that they depend on.
      placeholder_type_enum: the type of the placeholders, or a list of their types; by default the
        attribute "dtype" of a node, or float32.
      toco_compatible: has no effect: it omits fusions that situ does not do.

    Returns:
      A GraphDef.
    """
    del toco_compatible  # it omits fusions that situ does not do
    types = placeholder_type_enum
    types = list(types) if isinstance(types, (list, tuple)) else [types] * len(input_node_names)
    inputs = dict(zip(input_node_names, types))
    graph_def = GraphDef()
    graph_def.CopyFrom(input_graph_def)
    for node in graph_def.node:
        if node.name in inputs:
            node.CopyFrom(_placeholder(node, inputs[node.name]))
    part = graph_util.extract_sub_graph(graph_def, list(output_node_names))
    return graph_util.remove_training_nodes(part, list(output_node_names))


def _placeholder(node, type_enum):
    """Returns a placeholder for a node."""
    made = NodeDef(name=node.name, op="Placeholder")
    made.attr["dtype"].type = 1
    for name in ("dtype", "shape", "_output_shapes"):
        if name in node.attr:
            made.attr[name].CopyFrom(node.attr[name])
    if type_enum is not None:
        made.attr["dtype"].type = as_dtype(type_enum).as_datatype_enum
    return made


@export(v1="python.tools.inspect_checkpoint.print_tensors_in_checkpoint_file")
def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: Any = None,
    all_tensors: bool = True,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Prints the tensors of a checkpoint.

    Args:
      file_name: the prefix of the checkpoint.
      tensor_name: the tensor to print if neither all tensors nor all names are printed; None for
        a list of all tensors with their types and shapes.
      all_tensors: whether to print the names and values of all tensors.
      all_tensor_names: whether to print the names of all tensors.
      count_exclude_pattern: a regular expression: variables whose names it finds are not counted
        in the number of parameters, which is printed at the end.
    """
    reader = checkpoint_reader.load_checkpoint(file_name)
    if all_tensors or all_tensor_names:
        for key in sorted(reader.get_variable_to_shape_map()):
            print("tensor_name: ", key)
            if all_tensors:
                print(reader.get_tensor(key))
    elif not tensor_name:
        print(reader.debug_string().decode())
    else:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
    is_counted = lambda name: not (count_exclude_pattern and re.search(count_exclude_pattern, name))
    shapes = reader.get_variable_to_shape_map()
    count = sum(math.prod(shape) for name, shape in shapes.items() if is_counted(name))
    print(f"# Total number of params: {count}")
