# SPDX-License-Identifier: Apache-2.0
"""grouping.py: Dataset.group_by_window, bucket_by_sequence_length and unique."""

from __future__ import annotations

from situ._src.autograph.conversion import convert
from situ._src.data.dataset import Dataset
from situ._src.data.structure import DatasetSpec
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import get_default_graph
from situ._src.framework.nest import DATA, PARTS
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable


def _scalar(value, name):
    """Converts the result of a user function to an int64 scalar."""
    value = convert_to_tensor(value)
    if value.dtype.name not in ("int32", "int64") or value.shape.rank not in (0, None):
        raise ValueError(
            f"Invalid `{name}`. Expected `{name}` to return a scalar tf.int64 tensor, "
            f"but it returned {value}."
        )
    return OPS["Cast"](value, DstT="int64")


def group_by_window(
    self, key_func, reduce_func, window_size=None, window_size_func=None, name=None
):
    """Groups windows of elements by key and reduces them.

    Args:
      key_func: A function of an element that returns an int64 key.
      reduce_func: A function (key, dataset of a window) that returns a dataset.
      window_size: The number of elements of a window.
      window_size_func: A function of the key that returns the window size.
      name: Ignored.

    Returns:
      A dataset.

    Raises:
      ValueError: If both or none of `window_size` and `window_size_func` are given.
    """
    del name  # a name for debugging only
    if (window_size is None) == (window_size_func is None):
        raise ValueError(
            "Either the `window_size` argument or the `window_size_func` argument "
            "must be specified."
        )
    if window_size is not None and not hasattr(window_size, "dtype"):
        window_size = convert_to_tensor(window_size, "int64")
    key_of = convert(key_func)
    size_of = convert(window_size_func) if window_size_func else lambda key: window_size

    def keyed(*element):
        key = _scalar(key_of(*element), "key_func")
        return (key, _scalar(size_of(key), "window_size_func"), *PARTS.flatten(element))

    spec = (TensorSpec([], "int64"), DatasetSpec(self.element_spec))
    reduce_of = convert(reduce_func)

    def reduce(key, window):
        result = reduce_of(key, window)
        if not isinstance(result, Dataset):
            raise TypeError(
                "Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` "
                f"object but its return type is {type(result)}."
            )
        return result

    name = getattr(reduce_func, "__name__", "reduce_func").replace("<lambda>", "lambda")
    return (
        self.map(keyed)
        ._then("Group", spec=spec)
        ._nested("FlatMap", reduce, function=f"__inference_Dataset_group_by_window_{name}")
    )


def bucket_by_sequence_length(
    self,
    element_length_func,
    bucket_boundaries,
    bucket_batch_sizes,
    padded_shapes=None,
    padding_values=None,
    pad_to_bucket_boundary=False,
    no_padding=False,
    drop_remainder=False,
    name=None,
):
    """Batches elements of similar length together.

    Args:
      element_length_func: A function of an element that returns its length.
      bucket_boundaries: The upper bounds of the lengths of the buckets.
      bucket_batch_sizes: The batch size of each bucket, one more than boundaries.
      padded_shapes: The shapes to pad to; by default the longest element of a batch.
      padding_values: The values to pad with.
      pad_to_bucket_boundary: Whether unknown dimensions are padded to the bucket boundary.
      no_padding: Whether batches are not padded.
      drop_remainder: Whether incomplete batches are dropped.
      name: Ignored.

    Returns:
      A dataset of batches.
    """
    del name  # a name for debugging only
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(
            "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
            f"`len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and "
            f"`len(bucket_boundaries)={len(bucket_boundaries)}`."
        )
    length_of = convert(element_length_func)

    def at(numbers, key):
        return OPS["GatherV2"](convert_to_tensor(list(numbers), "int64"), key, 0)

    def bucket(*element):
        length = OPS["Cast"](convert_to_tensor(length_of(*element)), DstT="int64")
        reached = OPS["GreaterEqual"](length, convert_to_tensor(list(bucket_boundaries), "int64"))
        return OPS["Sum"](OPS["Cast"](reached, DstT="int64"), [0])

    def batch(key, window):
        size = at(bucket_batch_sizes, key)
        if no_padding:
            return window.batch(size, drop_remainder)
        shapes = padded_shapes
        if pad_to_bucket_boundary:
            shapes = _limit_shapes(
                padded_shapes, window.element_spec, _bucket_limit(bucket_boundaries, key, at)
            )
        return window.padded_batch(size, shapes, padding_values, drop_remainder)

    return group_by_window(
        self, bucket, batch, window_size_func=lambda key: at(bucket_batch_sizes, key)
    )


def _bucket_limit(boundaries, key, at):
    """Returns the length that elements of a bucket are padded to."""
    inside = OPS["Less"](key, convert_to_tensor(len(boundaries), "int64"))
    check = OPS["Assert"](
        inside,
        [
            convert_to_tensor(
                "When pad_to_bucket_boundary=True, elements must have length < "
                "max(bucket_boundaries)."
            )
        ],
    )
    with get_default_graph().control_dependencies([check]):
        return at(boundaries, OPS["Identity"](key)) - 1


def _limit_shapes(padded_shapes, spec, limit):
    """Replaces unknown dimensions by a limit."""
    shapes = DATA.map(lambda s: s.shape, spec) if padded_shapes is None else padded_shapes
    sizes = lambda shape: [
        limit if n is None or isinstance(n, int) and n < 0 else n
        for n in getattr(shape, "as_list", lambda: shape)()
    ]
    return DATA.map(lambda _, shape: sizes(shape), spec, shapes)


@export("data.experimental.Reducer")
class Reducer:
    """How group_by_reducer reduces the elements of a key.

    Args:
      init_func: A function of the key that returns the initial state.
      reduce_func: A function (state, element) that returns the new state.
      finalize_func: A function of the last state that returns the result.
    """

    def __init__(self, init_func: Callable, reduce_func: Callable, finalize_func: Callable):
        self._functions = init_func, reduce_func, finalize_func

    init_func = property(lambda s: s._functions[0])
    reduce_func = property(lambda s: s._functions[1])
    finalize_func = property(lambda s: s._functions[2])


@export("data.experimental.group_by_reducer", "contrib.data.group_by_reducer")
def group_by_reducer(key_func: Callable, reducer: Any) -> Any:
    """Returns a transformation that reduces the elements of each key to one.

    Args:
      key_func: A function of an element that returns an int64 key.
      reducer: A Reducer.
    """

    def reduce(key, window):
        state = window.reduce(convert(reducer.init_func)(key), reducer.reduce_func)
        finalize = convert(reducer.finalize_func)
        return Dataset.from_tensors(finalize(*state) if type(state) is tuple else finalize(state))

    return lambda dataset: group_by_window(dataset, key_func, reduce, 2**63 - 1)


def unique(self, name=None):
    """Removes duplicate elements."""
    del name  # a name for debugging only
    return self._then("Distinct")


def _transformation(function):
    """Exports tf.data.experimental.NAME, which returns a function for Dataset.apply."""

    @export("data.experimental." + function.__name__, "contrib.data." + function.__name__)
    def make(*args: Any, **kwargs: Any):
        return lambda dataset: function(dataset, *args, **kwargs)

    make.__name__, make.__doc__ = function.__name__, function.__doc__


for _function in (group_by_window, bucket_by_sequence_length, unique):
    setattr(Dataset, _function.__name__, _function)
    _transformation(_function)
