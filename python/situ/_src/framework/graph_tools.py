# SPDX-License-Identifier: Apache-2.0
"""graph_tools.py: tensorflow.python.tools: graphs and checkpoints as one file; what a checkpoint
holds."""

from __future__ import annotations

import json
import os

from situ._src.checkpoint import reader as checkpoint_reader
from situ._src.framework import graph_util, meta_graph
from situ._src.framework.api import export
from situ._src.framework.node_def import GraphDef


def _names(text):
    """Names with commas between them, or a list of names."""
    words = text.split(",") if isinstance(text, str) else text or ()
    return [w.strip() for w in words if w.strip()]


def _graph_of(path, binary):
    graph_def = GraphDef()
    with open(path, "rb") as file:
        data = file.read()
    if binary:
        graph_def.ParseFromString(data)
        return graph_def
    from situ._src.framework import graph_def_text

    return graph_def_text.parse(data.decode())


@export(v1="python.tools.freeze_graph.freeze_graph_with_def_protos")
def freeze_graph_with_def_protos(
    input_graph_def,
    input_saver_def=None,
    input_checkpoint=None,
    output_node_names="",
    restore_op_name="",
    filename_tensor_name="",
    output_graph="",
    clear_devices=True,
    initializer_nodes="",
    variable_names_whitelist="",
    variable_names_blacklist="",
    input_meta_graph_def=None,
    input_saved_model_dir=None,
    saved_model_tags=None,
    checkpoint_version=2,
):
    """A graph in which the values of a checkpoint stand for the variables."""
    wanted = [n.partition(":")[0] for n in _names(output_node_names)]
    if not wanted:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    part = graph_util.extract_sub_graph(input_graph_def, wanted)
    nodes = json.loads(part._json())["node"]
    if clear_devices:
        nodes = [{k: v for k, v in n.items() if k != "device"} for n in nodes]
    reader = checkpoint_reader.load_checkpoint(input_checkpoint)
    only, never = _names(variable_names_whitelist), _names(variable_names_blacklist)
    values = {
        n["name"]: reader.get_tensor(n["name"])
        for n in nodes
        if n["op"] in graph_util.VARIABLES
        and (not only or n["name"] in only)
        and n["name"] not in never
    }
    made = graph_util.frozen(nodes, values)
    if output_graph:
        with open(output_graph, "wb") as file:
            file.write(made.SerializeToString())
    return made


@export(v1="python.tools.freeze_graph.freeze_graph")
def freeze_graph(
    input_graph,
    input_saver,
    input_binary,
    input_checkpoint,
    output_node_names,
    restore_op_name,
    filename_tensor_name,
    output_graph,
    clear_devices,
    initializer_nodes,
    variable_names_whitelist="",
    variable_names_blacklist="",
    input_meta_graph=None,
    input_saved_model_dir=None,
    saved_model_tags="serve",
    checkpoint_version=2,
):
    """The same of files."""
    if input_meta_graph:
        graph_def = GraphDef._of(meta_graph._read(input_meta_graph)["graph"]["node"])
    elif input_saved_model_dir:
        from situ._src.saved_model import builder

        graph_def = GraphDef._of(builder._read(input_saved_model_dir)[0]["graph"]["node"])
        input_checkpoint = os.path.join(input_saved_model_dir, "variables", "variables")
    else:
        if not os.path.exists(input_graph):
            raise OSError(f"Input graph file '{input_graph}' does not exist!")
        graph_def = _graph_of(input_graph, input_binary)
    return freeze_graph_with_def_protos(
        graph_def,
        None,
        input_checkpoint,
        output_node_names,
        output_graph=output_graph,
        clear_devices=clear_devices,
        variable_names_whitelist=variable_names_whitelist,
        variable_names_blacklist=variable_names_blacklist,
    )


@export(v1="python.tools.optimize_for_inference_lib.optimize_for_inference")
def optimize_for_inference(
    input_graph_def,
    input_node_names,
    output_node_names,
    placeholder_type_enum=None,
    toco_compatible=False,
):
    """What outputs need, without nodes that only training needs."""
    part = graph_util.extract_sub_graph(input_graph_def, list(output_node_names))
    return graph_util.remove_training_nodes(part)


@export(v1="python.tools.inspect_checkpoint.print_tensors_in_checkpoint_file")
def print_tensors_in_checkpoint_file(
    file_name, tensor_name=None, all_tensors=True, all_tensor_names=False, count_exclude_pattern=""
):
    """Prints what a checkpoint holds."""
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
