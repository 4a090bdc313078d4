# SPDX-License-Identifier: Apache-2.0
"""inputs.py: input functions of estimators, from NumPy arrays, pandas data frames and datasets."""

from __future__ import annotations

import inspect
from typing import Any

import numpy

from situ._src.data.dataset import Dataset
from situ._src.data.iterators import make_initializable_iterator, make_one_shot_iterator
from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.training.session_run_hook import SessionRunHook


class _Begin(SessionRunHook):
    """Initializes an iterator after the session is created."""

    def __init__(self, iterator):
        self._initializer = iterator.initializer

    def after_create_session(self, session, coord):
        session.run(self._initializer)


def arguments_of(function):
    """Returns the names of the parameters of a function, partial function or callable object."""
    names = inspect.signature(function).parameters
    return [n for n, p in names.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def call(input_fn, mode, params, config, count=1):
    """Calls an input_fn; returns ([(features, labels) for each replica], hooks)."""
    names = arguments_of(input_fn)
    known = {"mode": mode, "params": params, "config": config}
    given = input_fn(**{k: v for k, v in known.items() if k in names})
    if not isinstance(given, Dataset):
        if count > 1:
            raise ValueError(
                "dataset_fn() must return a tf.data.Dataset when using a "
                f"tf.distribute.Strategy: input_fn gave {type(given).__name__}, of "
                "which several replicas cannot get different batches."
            )
        return [_pair(given)], []
    iterator = make_initializable_iterator(given)
    get_default_graph().get_collection_ref(GraphKeys.TABLE_INITIALIZERS).remove(
        iterator.initializer
    )  # the hook does it, when other tables are filled
    return [_pair(iterator.get_next()) for _ in range(count)], [_Begin(iterator)]


def _pair(given):
    if not isinstance(given, (list, tuple)):
        return given, None
    if len(given) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    return tuple(given)


def _order(size, batch_size, epochs, shuffle):
    """Yields the row indices of each batch; a batch may continue into the next epoch."""
    waiting, epoch = numpy.empty(0, numpy.int64), 0
    while epochs is None or epoch < epochs:
        rows = numpy.random.permutation(size) if shuffle else numpy.arange(size)
        waiting, epoch = numpy.concatenate([waiting, rows]), epoch + 1
        while len(waiting) >= batch_size:
            yield waiting[:batch_size]
            waiting = waiting[batch_size:]
    if len(waiting):
        yield waiting


def _tensors(parts, batch_size, num_epochs, shuffle):
    """Returns the tensors of the next batch of a dictionary of arrays."""
    sizes = {len(a) for a in parts.values()}
    if len(sizes) != 1:
        shapes = ", ".join(f"{k}: {len(a)}" for k, a in parts.items())
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must "
            f"have the same length. Shapes: {shapes}"
        )
    size = sizes.pop()

    def rows():
        for order in _order(size, batch_size, num_epochs, shuffle):
            yield {k: a[order] for k, a in parts.items()}

    def kind(array):
        return "string" if array.dtype.kind in "OSU" else array.dtype

    data = Dataset.from_generator(
        rows,
        {k: kind(a) for k, a in parts.items()},
        {k: [None, *a.shape[1:]] for k, a in parts.items()},
    )
    return make_one_shot_iterator(data.prefetch(2)).get_next()


def _check_shuffle(shuffle):
    if shuffle not in (True, False):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is "
            "recommended to set it as True for training); got "
            f"{shuffle}"
        )


def _unused(name, taken):
    while name in taken:
        name += "_n"
    return name


@export("estimator.inputs.numpy_input_fn", v1="contrib.learn.io.numpy_input_fn")
def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int | None = 128,
    num_epochs: int | None = 1,
    shuffle: Any = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Any:
    """Returns an input_fn that yields batches of NumPy arrays.

    Args:
      x: Array, or dictionary of arrays.
      y: Labels: array, or dictionary of arrays.
      batch_size: Batch size.
      num_epochs: Number of epochs; None: endless.
      shuffle: Whether to shuffle each epoch; must be set.
      queue_capacity: Has no effect: there is no queue; elements are shuffled over a whole epoch.
      num_threads: Has no effect: one thread reads.

    Returns:
      The input_fn.

    Raises:
      TypeError: If x is neither an array nor a dictionary.
      ValueError: If shuffle is not set or x is empty; from the input_fn also if lengths differ, y
        is an empty dictionary, or keys of x and y clash.
    """
    del queue_capacity, num_threads  # there is no queue
    _check_shuffle(shuffle)
    if not isinstance(x, (dict, numpy.ndarray)):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
    if isinstance(x, dict) and not x:
        raise ValueError("x cannot be an empty dict")

    def input_fn():
        parts = {k: numpy.asarray(x[k]) for k in x} if isinstance(x, dict) else {"features": x}
        names, target = list(parts), None
        if isinstance(y, dict):
            if not y:
                raise ValueError("y cannot be empty dict, use None instead.")
            clash = set(y) & set(parts)
            if clash:
                raise ValueError(
                    f"{len(clash)} duplicate keys are found in both x and y. "
                    f"Conflicting keys: {sorted(clash)}"
                )
            parts.update({k: numpy.asarray(v) for k, v in y.items()})
        elif y is not None:
            target = _unused("target", parts)
            parts[target] = numpy.asarray(y)
        result = _tensors(parts, batch_size, num_epochs, shuffle)
        features = {k: result[k] for k in names} if isinstance(x, dict) else result["features"]
        if y is None:
            return features
        return features, {k: result[k] for k in y} if target is None else result[target]

    return input_fn


@export("estimator.inputs.pandas_input_fn", v1="contrib.learn.io.pandas_input_fn")
def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int | None = 128,
    num_epochs: int | None = 1,
    shuffle: Any = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Any:
    """Returns an input_fn that yields batches of a pandas data frame, with one tensor per column.

    Args:
      x: Data frame.
      y: Series of labels with the same index, or data frame, whose labels are a dictionary.
      batch_size: Batch size.
      num_epochs: Number of epochs; None: endless.
      shuffle: Whether to shuffle each epoch; must be set.
      queue_capacity: Has no effect: there is no queue; elements are shuffled over a whole epoch.
      num_threads: Has no effect: one thread reads.
      target_column: Name of the labels, which no column of x may have.

    Returns:
      The input_fn.

    Raises:
      TypeError: If target_column is not a string.
      ValueError: If shuffle is not set, the indices differ, or x has a column target_column.
    """
    del queue_capacity, num_threads  # there is no queue
    _check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError(f"target_column must be a string type; got {target_column!r}")
    if y is not None and target_column in x.columns:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column "
            f"with that name: {x.columns}"
        )
    if y is not None and not numpy.array_equal(x.index, y.index):
        raise ValueError(
            f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}"
        )
    features = {k: x[k].to_numpy() for k in x.columns}
    if not hasattr(y, "columns"):
        labels = None if y is None else y.to_numpy()
        return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle)
    keys = {_unused(k, features): k for k in y.columns}
    arrays = {key: y[k].to_numpy() for key, k in keys.items()}
    batches = numpy_input_fn(features, arrays, batch_size, num_epochs, shuffle)

    def input_fn():
        batch, labels = batches()
        return batch, {keys[key]: value for key, value in labels.items()}

    return input_fn


for _name in ("numpy_input_fn", "pandas_input_fn"):
    V1["compat.v1.estimator.inputs." + _name] = BOTH["estimator.inputs." + _name]
