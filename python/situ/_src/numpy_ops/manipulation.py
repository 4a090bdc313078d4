# SPDX-License-Identifier: Apache-2.0
"""manipulation.py: functions of tf.experimental.numpy that rearrange, join and split tensors."""

from __future__ import annotations

import builtins

import numpy

from situ._src.framework.keywords import bind
from situ._src.numpy_ops.arrays import (
    asarray,
    broadcast,
    choose,
    is_tensor,
    positive_axis,
    promoted,
    rank,
    size_of,
    static,
    with_rank_at_least,
)
from situ._src.numpy_ops.exports import numpy_export, tf

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        Axis,
        Sequence,
        ShapeLike,
        Tensor,
        TensorLike,
        TensorShape,
    )


# Shapes


@numpy_export("shape")
def shape(a: TensorLike) -> TensorShape:
    """Returns the static shape of a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.

    Returns:
      A `tf.TensorShape`.
    """
    return asarray(a).shape


@numpy_export("ndim")
def ndim(a: TensorLike) -> int | None:
    """Returns the rank of a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.

    Returns:
      The number of dimensions; None if it is unknown.
    """
    return asarray(a).shape.rank


@numpy_export("isscalar")
def isscalar(num: TensorLike) -> bool:
    """Returns whether a value has no dimensions.

    Args:
      num: A tensor, an array, a number or nested lists of these.

    Returns:
      Whether the rank is 0.
    """
    return ndim(num) == 0


@numpy_export("size")
def size(x: TensorLike, axis: None = None) -> Any:
    """Returns the number of elements.

    Args:
      x: A tensor, an array, a number or nested lists of these.
      axis: Must be None.

    Returns:
      An integer, or a tensor if the shape is unknown.

    Raises:
      NotImplementedError: `axis` is given.
    """
    if axis is not None:
        raise NotImplementedError("axis argument is not supported in the current `size`")
    x = asarray(x)
    known = x.shape.num_elements()
    return tf.size(x) if known is None else numpy.int64(known)


@numpy_export("reshape")
def reshape(a: TensorLike, newshape: ShapeLike, order: str = "C") -> Tensor:
    """Returns the elements of a tensor in another shape.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      newshape: A list of dimensions, one of which may be -1, or the size of a vector.
      order: "C": the last dimension changes fastest; "F": the first one.

    Returns:
      A tensor.

    Raises:
      ValueError: `order` is neither.
    """
    if order not in ("C", "F"):
        raise ValueError(f"Unsupported order argument {order}")
    a = asarray(a)
    if isinstance(newshape, int):
        newshape = [newshape]
    if order == "C":
        return tf.reshape(a, newshape)
    return tf.transpose(tf.reshape(tf.transpose(a), newshape[::-1]))


@numpy_export("ravel")
def ravel(a: TensorLike) -> Tensor:
    """Returns the elements of a tensor as a vector.

    Args:
      a: A tensor, an array, a number or nested lists of these.

    Returns:
      A vector.
    """
    return tf.reshape(asarray(a), [-1])


@numpy_export("flatten")
def flatten(a: TensorLike, order: str = "C") -> Tensor:
    """Returns the elements of a tensor as a vector.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      order: "C", "A" or "K": the last dimension changes fastest; "F": the first one.

    Returns:
      A vector.

    Raises:
      ValueError: There is no such order.
    """
    if order not in ("C", "A", "K", "F"):
        raise ValueError("order can only be C, A, K (all row major) or F (column major).")
    a = asarray(a)
    return tf.reshape(tf.transpose(a) if order == "F" else a, [-1])


@numpy_export("expand_dims")
def expand_dims(a: TensorLike, axis: int) -> Tensor:
    """Inserts a dimension of size 1.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The new dimension.

    Returns:
      A tensor.
    """
    return tf.expand_dims(asarray(a), axis)


@numpy_export("squeeze")
def squeeze(a: TensorLike, axis: Axis = None) -> Tensor:
    """Removes dimensions of size 1.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions; all of size 1 by default.

    Returns:
      A tensor.
    """
    return tf.squeeze(asarray(a), axis)


def _each(convert, arys):
    """Converts each argument; one argument is not wrapped in a list."""
    results = [convert(asarray(a)) for a in arys]
    return results[0] if len(results) == 1 else results


@numpy_export("atleast_1d")
def atleast_1d(*arys: TensorLike) -> Any:
    """Converts numbers to vectors of one element.

    Args:
      *arys: Tensors, arrays, numbers or nested lists of these.

    Returns:
      A tensor; a list of tensors for several arguments.
    """
    return _each(lambda a: with_rank_at_least(a, 1), arys)


@numpy_export("atleast_2d")
def atleast_2d(*arys: TensorLike) -> Any:
    """Prepends dimensions of size 1 up to rank 2.

    Args:
      *arys: Tensors, arrays, numbers or nested lists of these.

    Returns:
      A tensor; a list of tensors for several arguments.
    """
    return _each(lambda a: with_rank_at_least(a, 2), arys)


@numpy_export("atleast_3d")
def atleast_3d(*arys: TensorLike) -> Any:
    """Adds dimensions of size 1 up to rank 3: before and after a vector, after a matrix.

    Args:
      *arys: Tensors, arrays, numbers or nested lists of these.

    Returns:
      A tensor; a list of tensors for several arguments.
    """

    def convert(a):
        a = with_rank_at_least(a, 1)
        have = rank(a)
        if isinstance(have, int):
            return a[None, :, None] if have == 1 else a[..., None] if have == 2 else a
        before = tf.cast(tf.equal(have, 1), "int32")
        after = tf.cast(have < 3, "int32")
        sizes = tf.pad(tf.shape(a), [[before, after]], constant_values=1)
        return tf.reshape(a, sizes)

    return _each(convert, arys)


@numpy_export("broadcast_arrays")
def broadcast_arrays(*args: TensorLike, **kwargs: Any) -> Sequence[Tensor]:
    """Broadcasts tensors to their common shape.

    Args:
      *args: Tensors, arrays, numbers or nested lists of these.
      **kwargs: `subok`: must be False.

    Returns:
      A list of tensors.

    Raises:
      ValueError: `subok` is True.
    """
    if bind("broadcast_arrays", {"subok": False}, (), kwargs)["subok"]:
        raise ValueError("subok=True is not supported.")
    return broadcast(*[asarray(a) for a in args])


# Order of dimensions


@numpy_export("transpose")
def transpose(a: TensorLike, axes: Axis = None) -> Tensor:
    """Permutes the dimensions of a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axes: The dimensions of `a` in the order of the result; reversed by default.

    Returns:
      A tensor.
    """
    return tf.transpose(asarray(a), axes if axes is None or is_tensor(axes) else list(axes))


def _axes(axes, ndims):
    """Returns one or several axes as a list, counted from the front."""
    some = axes if isinstance(axes, (list, tuple)) else [axes]
    return [positive_axis(static(axis), ndims) for axis in some]


@numpy_export("moveaxis")
def moveaxis(a: TensorLike, source: Axis, destination: Axis) -> Tensor:
    """Moves dimensions; the others keep their order.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      source: A dimension or a list of dimensions.
      destination: Their places in the result.

    Returns:
      A tensor.

    Raises:
      ValueError: There are more dimensions than places, or the reverse.
    """
    a = asarray(a)
    ndims = rank(a)
    source, destination = _axes(source, ndims), _axes(destination, ndims)
    if len(source) != len(destination):
        raise ValueError("The lengths of source and destination must equal")
    if builtins.any(is_tensor(v) for v in (ndims, *source, *destination)):
        return tf.transpose(a, _permutation(source, destination, ndims))
    order = [i for i in range(ndims) if i not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return a if order == list(range(ndims)) else tf.transpose(a, order)


def _permutation(source, destination, ndims):
    """Returns the order of dimensions that moveaxis makes, as a tensor."""
    every = tf.range(ndims)

    def rest(axes):
        used = tf.reduce_any(tf.equal(every[:, None], axes), axis=1)
        return tf.boolean_mask(every, tf.logical_not(used))

    source, destination = (tf.cast(tf.stack(v), "int32") for v in (source, destination))
    places = tf.concat([destination, rest(destination)], 0)
    return tf.scatter_nd(places[:, None], tf.concat([source, rest(source)], 0), [ndims])


@numpy_export("swapaxes")
def swapaxes(a: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Exchanges two dimensions.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis1: A dimension.
      axis2: A dimension.

    Returns:
      A tensor.
    """
    return moveaxis(a, (axis1, axis2), (axis2, axis1)) if axis1 is not axis2 else asarray(a)


@numpy_export("flip")
def flip(m: TensorLike, axis: int | None = None) -> Tensor:
    """Reverses the order of elements.

    Args:
      m: A tensor, an array, a number or nested lists of these.
      axis: The dimension; all by default.

    Returns:
      A tensor.
    """
    m = asarray(m)
    axes = tf.range(tf.rank(m)) if axis is None else _axes(axis, rank(m))
    return tf.reverse(m, axes)


@numpy_export("flipud")
def flipud(m: TensorLike) -> Tensor:
    """Reverses the first dimension.

    Args:
      m: A tensor of rank 1 or more.

    Returns:
      A tensor.
    """
    return flip(m, 0)


@numpy_export("fliplr")
def fliplr(m: TensorLike) -> Tensor:
    """Reverses the second dimension.

    Args:
      m: A tensor of rank 2 or more.

    Returns:
      A tensor.
    """
    return flip(m, 1)


@numpy_export("rot90")
def rot90(m: TensorLike, k: int = 1, axes: Axis = (0, 1)) -> Tensor:
    """Rotates a tensor by 90 degrees in a plane.

    Args:
      m: A tensor of rank 2 or more.
      k: How many times; from the first towards the second axis.
      axes: The two dimensions of the plane.

    Returns:
      A tensor.
    """
    m = asarray(m)
    first, second = _axes(axes, rank(m))
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return flip(flip(m, first), second)
    if k % 4 == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


@numpy_export("roll")
def roll(a: TensorLike, shift: Axis, axis: Axis = None) -> Tensor:
    """Moves elements along dimensions; the last ones come first.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      shift: By how many places; a list for several dimensions.
      axis: The dimensions; by default the flattened elements are moved.

    Returns:
      A tensor of the shape of `a`.
    """
    a = asarray(a)
    if axis is not None:
        return tf.roll(a, shift, axis)
    return tf.reshape(tf.roll(tf.reshape(a, [-1]), shift, 0), tf.shape(a))


# Joining and splitting


@numpy_export("concatenate")
def concatenate(arys: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Joins tensors along a dimension.

    Args:
      arys: Tensors, which are converted to their common type.
      axis: The dimension.

    Returns:
      A tensor.

    Raises:
      ValueError: There are no tensors.
    """
    arys = list(arys) if isinstance(arys, (list, tuple)) else [arys]
    if not arys:
        raise ValueError(
            f"Need at least one array to concatenate. Received empty input: arys={arys}"
        )
    return tf.concat(promoted(*arys), axis)


@numpy_export("append")
def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> Tensor:
    """Appends values to a tensor.

    Args:
      arr: A tensor, an array, a number or nested lists of these.
      values: What to append.
      axis: The dimension; by default both are flattened.

    Returns:
      A tensor.
    """
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


@numpy_export("stack")
def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Joins tensors along a new dimension.

    Args:
      arrays: Tensors of one shape, or one tensor whose first dimension becomes `axis`.
      axis: The new dimension.

    Returns:
      A tensor.
    """
    if is_tensor(arrays):
        return swapaxes(arrays, 0, axis) if axis else arrays
    return tf.stack(promoted(*arrays), axis)


@numpy_export("hstack")
def hstack(tup: Sequence[TensorLike]) -> Tensor:
    """Joins tensors along the second dimension; vectors along the first.

    Args:
      tup: Tensors.

    Returns:
      A tensor.
    """
    arrays = promoted(*[atleast_1d(a) for a in tup])
    return choose(
        tf.equal(tf.rank(arrays[0]), 1), lambda: tf.concat(arrays, 0), lambda: tf.concat(arrays, 1)
    )


@numpy_export("vstack")
def vstack(tup: Sequence[TensorLike]) -> Tensor:
    """Joins tensors along the first dimension; vectors are rows.

    Args:
      tup: Tensors.

    Returns:
      A tensor.
    """
    return tf.concat(promoted(*[atleast_2d(a) for a in tup]), 0)


@numpy_export("dstack")
def dstack(tup: Sequence[TensorLike]) -> Tensor:
    """Joins tensors along the third dimension.

    Args:
      tup: Tensors.

    Returns:
      A tensor.
    """
    return tf.concat(promoted(*[atleast_3d(a) for a in tup]), 2)


def _sizes_of_parts(ary, boundaries, axis):
    """Returns the sizes of the parts between boundaries."""
    if axis >= len(ary.shape):
        raise ValueError(f"axis {axis} is out of bound for shape {ary.shape}")
    total, sizes, previous = ary.shape.as_list()[axis], [], 0
    for i, boundary in enumerate(boundaries):
        if boundary < previous:
            raise ValueError(
                f"The {i}-th boundary {boundary} is smaller than the previous boundary {previous}"
            )
        left = builtins.max(0, total - builtins.sum(sizes))
        sizes.append(builtins.min(boundary - previous, left))
        previous = boundary
    return [*sizes, builtins.max(0, total - builtins.sum(sizes))]


@numpy_export("split")
def split(ary: TensorLike, indices_or_sections: Any, axis: int = 0) -> Sequence[Tensor]:
    """Splits a tensor into parts.

    Args:
      ary: A tensor, an array or nested lists of numbers.
      indices_or_sections: The number of equal parts, or a list of the indices where parts end.
      axis: The dimension.

    Returns:
      A list of tensors.

    Raises:
      ValueError: The parts are not equal, indices decrease, or there is no such dimension.
    """
    ary = asarray(ary)
    if not isinstance(indices_or_sections, int):
        indices_or_sections = _sizes_of_parts(ary, indices_or_sections, axis)
    return tf.split(ary, indices_or_sections, axis)


def _split_equally(ary, indices_or_sections, axis):
    ary = asarray(ary)
    total = ary.shape.as_list()[axis]
    if isinstance(indices_or_sections, int) and total and total % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return split(ary, indices_or_sections, axis)


@numpy_export("vsplit")
def vsplit(ary: TensorLike, indices_or_sections: Any) -> Sequence[Tensor]:
    """Splits a tensor along the first dimension.

    Args:
      ary: A tensor, an array or nested lists of numbers.
      indices_or_sections: The number of equal parts, or a list of the indices where parts end.

    Returns:
      A list of tensors.

    Raises:
      ValueError: The parts are not equal.
    """
    return _split_equally(ary, indices_or_sections, 0)


@numpy_export("hsplit")
def hsplit(ary: TensorLike, indices_or_sections: Any) -> Sequence[Tensor]:
    """Splits a tensor along the second dimension, a vector along the first.

    Args:
      ary: A tensor, an array or nested lists of numbers.
      indices_or_sections: The number of equal parts, or a list of the indices where parts end.

    Returns:
      A list of tensors.

    Raises:
      ValueError: The parts are not equal.
    """
    return _split_equally(ary, indices_or_sections, 0 if ndim(ary) == 1 else 1)


@numpy_export("dsplit")
def dsplit(ary: TensorLike, indices_or_sections: Any) -> Sequence[Tensor]:
    """Splits a tensor along the third dimension.

    Args:
      ary: A tensor, an array or nested lists of numbers.
      indices_or_sections: The number of equal parts, or a list of the indices where parts end.

    Returns:
      A list of tensors.

    Raises:
      ValueError: The parts are not equal.
    """
    return _split_equally(ary, indices_or_sections, 2)


# Repetition and padding


@numpy_export("tile")
def tile(a: TensorLike, reps: Any) -> Tensor:
    """Repeats a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      reps: How many times in each dimension, the last ones if there are fewer of these.

    Returns:
      A tensor.
    """
    a = asarray(a)
    reps = tf.reshape(asarray(reps, "int32"), [-1])
    count = size_of(reps, 0)
    missing = rank(a) - count
    missing = tf.maximum(missing, 0) if is_tensor(missing) else builtins.max(missing, 0)
    reps = tf.pad(reps, [[missing, 0]], constant_values=1)
    return tf.tile(with_rank_at_least(a, count), reps)


def _repeated_size(total, repeats):
    """Returns the static size of a repeated dimension."""
    known = tf.get_static_value(repeats)
    if known is None or total is None:
        return None
    return int(known.sum()) if known.size > 1 else total * int(known.ravel()[0])


@numpy_export("repeat")
def repeat(a: TensorLike, repeats: Any, axis: int | None = None) -> Tensor:
    """Repeats each element of a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      repeats: How many times: a number, or a list with a number for each index.
      axis: The dimension; by default the flattened elements are repeated.

    Returns:
      A tensor.
    """
    a, repeats = asarray(a), asarray(repeats)
    result = tf.repeat(a, repeats, axis)
    if a.shape.rank is not None:
        sizes = a.shape.as_list() if axis is not None else [a.shape.num_elements()]
        at = 0 if axis is None else axis
        if sizes:
            sizes[at] = _repeated_size(sizes[at], repeats)
            result.set_shape(sizes)
    return result


@numpy_export("pad")
def pad(array: TensorLike, pad_width: Any, mode: str, **kwargs: Any) -> Tensor:
    """Adds elements before and after those of each dimension.

    Args:
      array: A tensor, an array, a number or nested lists of these.
      pad_width: How many elements: a list of a pair per dimension.
      mode: "constant", "reflect" or "symmetric".
      **kwargs: `constant_values`: the value of new elements in mode "constant".

    Returns:
      A tensor.

    Raises:
      ValueError: There is no such mode.
    """
    if mode not in ("constant", "reflect", "symmetric"):
        raise ValueError("Unsupported padding mode: " + mode)
    value = bind("pad", {"constant_values": 0}, (), kwargs)["constant_values"]
    tensor = asarray(array)
    return tf.pad(tensor, asarray(pad_width, "int32"), mode.upper(), asarray(value, tensor.dtype))
