# SPDX-License-Identifier: Apache-2.0
"""messages.py: tensors between processes: eager, in traced functions and in graphs."""

import pickle

import _situ
from situ._src.cluster import processes
from situ._src.cluster.channel import gather_trusted
from situ._src.cluster.reductions import Compression, word_of
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.indexed_slices import is_slices
from situ._src.framework.keywords import unsupported
from situ._src.framework.scopes import control_dependencies, device
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import convert_to_tensor, op

_CPU = "/device:CPU:0"


# Ops that produce a value without inputs.
_VALUES = ("Const", "VarHandleOp", "VariableV2", "Variable", "NoOp")


def _sources(tensors):
    """The names of the ops without inputs that tensors depend on: placeholders, iterators, ..."""
    found, seen = set(), set()
    waiting = [t.op for t in tensors if hasattr(t, "op")]
    while waiting:
        one = waiting.pop()
        if one.name in seen:
            continue
        seen.add(one.name)
        before = [t.op for t in one.inputs] + list(one.control_inputs)
        if not before and one.type not in _VALUES:
            found.add(one.name)
        waiting += before
    return found


def _before(graph, tensors):
    """The order of messages: the previous message, and the control inputs of the next one.

    In a function that is every message: all of them run. A session runs parts of its graph: there
    it is the last one that needs nothing else to run, so that a broadcast of variables neither
    needs the feeds of a training step nor takes a batch from its input.
    """
    listed = graph.__dict__.setdefault("_messages", [])
    if graph.building_function:
        return [one for one, _ in listed[-1:]], set()
    needed = _sources(tensors)
    for one, sources in reversed(listed):
        if sources <= needed:
            return [one], needed
    return [], needed


def _message(kind, tensors, **kwargs):
    """An op for all ranks. In a graph they are chained: so they have the same order on every rank,
    also where graphs of ranks differ elsewhere."""
    graph = _situ.current_graph()
    flat = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    before, sources = ([], set()) if graph is None else _before(graph, flat)
    with device(_CPU), control_dependencies(before):
        result = op(kind, tensors, **kwargs)
    if graph is not None:
        first = result[0] if isinstance(result, (list, tuple)) else result
        graph.__dict__["_messages"].append((getattr(first, "op", first), sources))
    return result


def reduced(tensors, reduction="sum", name=None):
    """Tensors of all ranks, reduced: one message for all of them."""
    if not tensors or processes.size() == 1:
        return _named(tensors, name)
    found = _message("RanksAllReduce", list(tensors), reduction=reduction, name=name)
    return _listed(found, len(tensors))


def spread(tensors, root=0, name=None):
    """Tensors of one rank, for all."""
    if not tensors or processes.size() == 1:
        return _named(tensors, name)
    found = _message("RanksBroadcast", list(tensors), root=root, name=name)
    return _listed(found, len(tensors))


def _named(tensors, name):
    """The tensors of a single rank; in a graph an op of that name has them."""
    if not tensors or name is None or _situ.current_graph() is None:
        return list(tensors)
    return _listed(op("IdentityN", list(tensors), name=name), len(tensors))


def _listed(found, count):
    return [found] if count == 1 and isinstance(found, _situ.Tensor) else list(found)


def gathered(tensor, name=None):
    """Tensors of all ranks, joined along their first dimension."""
    return _message("RanksGather", convert_to_tensor(tensor), name=name)


def _all_ranks(function, process_set):
    """Raises an error for a subset of the ranks."""
    unsupported("hvd." + function, process_set=(process_set, None))


def allreduce(
    tensor,
    average=None,
    device_dense="",
    device_sparse="",
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    name=None,
    process_set=None,
):
    """Reduces a tensor over all ranks; every rank gets the same.

    Args:
      tensor: A tensor or IndexedSlices.
      average: Whether to compute the mean, where op is None.
      device_dense: Has no effect: tensors travel through the memory of the CPU.
      device_sparse: Has no effect.
      compression: The compression of dense tensors.
      op: The reduction; by default the mean. IndexedSlices have sum and mean only.
      prescale_factor: A factor of dense tensors before the reduction.
      postscale_factor: A factor of dense tensors after the reduction.
      name: The name of the op of a dense tensor, in a graph.
      process_set: Must be None: all ranks take part.

    Raises:
      NotImplementedError: there is a process_set.
    """
    return grouped_allreduce(
        [tensor],
        average,
        device_dense,
        device_sparse,
        compression,
        op,
        prescale_factor,
        postscale_factor,
        name,
        process_set,
    )[0]


def grouped_allreduce(
    tensors,
    average=None,
    device_dense="",
    device_sparse="",
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    name=None,
    process_set=None,
):
    """As allreduce, for a list of tensors, which travel together."""
    _all_ranks("allreduce", process_set)
    del device_dense, device_sparse  # tensors travel through the memory of the CPU
    word, sent, found = word_of(op, average), [], {}
    for index, tensor in enumerate(tensors):
        if is_slices(tensor):
            found[index] = reduced_slices(tensor, word)
            continue
        tensor = convert_to_tensor(tensor)
        if prescale_factor != 1.0:
            tensor = tensor * prescale_factor
        sent.append((index, *compression.compress(tensor)))
    for (index, _, dtype), total in zip(sent, reduced([t for _, t, _ in sent], word, name)):
        total = compression.decompress(total, dtype)
        found[index] = total * postscale_factor if postscale_factor != 1.0 else total
    return [found[i] for i in range(len(tensors))]


def reduced_slices(slices, word):
    """Gathers the rows of all ranks; the sum or mean is computed where they are applied."""
    if word not in ("sum", "mean"):
        raise NotImplementedError(f"The op {word} of IndexedSlices")
    values = slices.values / float(processes.size()) if word == "mean" else slices.values
    return type(slices)(gathered(values), gathered(slices.indices), slices.dense_shape)


def allgather(tensor, name=None, process_set=None):
    """Tensors of all ranks, joined along their first dimension; process_set must be None."""
    _all_ranks("allgather", process_set)
    return gathered(tensor, name)


def broadcast(tensor, root_rank=0, name=None, process_set=None):
    """The tensor of one rank, for all; process_set must be None."""
    _all_ranks("broadcast", process_set)
    return spread([convert_to_tensor(tensor)], root_rank, name)[0]


def broadcast_object(obj=None, root_rank=0, session=None, name=None, process_set=None):
    """A Python object of one rank, for all; process_set must be None."""
    _all_ranks("broadcast_object", process_set)
    del session, name  # Python sends it, without an op
    own = pickle.dumps(obj) if processes.rank() == root_rank else b""
    return pickle.loads(gather_trusted(own)[root_rank])


def allgather_object(obj, session=None, name=None, process_set=None):
    """Python objects of all ranks, as a list; process_set must be None."""
    _all_ranks("allgather_object", process_set)
    del session, name  # Python sends them, without an op
    return [pickle.loads(data) for data in gather_trusted(pickle.dumps(obj))]


def send(tensor, to, name):
    """Sends a tensor to a rank, which receives it under that name."""
    with device(_CPU):
        return op("RanksSend", convert_to_tensor(tensor), tensor_name=name, to_rank=to)


def receive(from_rank, name, dtype="float32", shape=None):
    """Waits for a tensor of that name from a rank."""

    with device(_CPU):
        return op(
            "RanksReceive",
            dtype=as_dtype(dtype),
            shape=TensorShape(shape),
            tensor_name=name,
            from_rank=from_rank,
        )


def barrier(process_set=None):
    """Returns when all ranks have called it; process_set must be None."""
    _all_ranks("barrier", process_set)
    _situ.cluster_barrier()
