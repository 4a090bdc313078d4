# SPDX-License-Identifier: Apache-2.0
"""backend_further.py: more of tf.keras.backend: shapes, convolutions, phases, changes of
variables."""
from situ._lib import nn_conv
from situ._lib.array_ops import cast, convert_to_tensor, op, shape as shape_op
from situ._lib.keras import context
from situ._lib.keras.context import function, setting
from situ._lib.keras.names import forget_names, shown


def _shown(thing):
    return shown("backend." + thing.__name__.rstrip("_"))(thing)


@_shown
def arange(start, stop=None, step=1, dtype="int32"):
    first, last = (0, start) if stop is None else (start, stop)
    return cast(function("range")(first, last, step), dtype)


@_shown
def cast_to_floatx(x):
    if hasattr(x, "numpy") or hasattr(x, "graph"):
        return cast(x, setting("float"))
    import numpy
    return numpy.asarray(x, dtype=setting("float"))


@_shown
def repeat(x, n):
    """A matrix as n steps of a sequence."""
    return function("tile")(op("ExpandDims", x, 1), [1, n, 1])


@_shown
def repeat_elements(x, rep, axis):
    return function("repeat")(x, rep, axis=axis)


@_shown
def batch_dot(x, y, axes=None):
    """Products of examples: over one dimension of each."""
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = x.shape.rank, y.shape.rank
    if axes is None:
        axes = (ranks[0] - 1, ranks[1] - 1 if ranks[1] == 2 else ranks[1] - 2)
    axes = (axes, axes) if isinstance(axes, int) else tuple(axes)
    first, second = (a % r for a, r in zip(axes, ranks))
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[:ranks[0]])
    right = ["a", *letters[ranks[0]:ranks[0] + ranks[1] - 1]]
    right[second] = left[first]
    out = [c for i, c in enumerate(left) if i != first] + \
        [c for i, c in enumerate(right) if i not in (0, second)]
    made = function("einsum")(f"{''.join(left)},{''.join(right)}->{''.join(out)}", x, y)
    return op("ExpandDims", made, 1) if len(out) == 1 else made


@_shown
def bias_add(x, bias, data_format=None):
    first = (data_format or setting("format")) == "channels_first"
    if first and x.shape.rank > 2:
        return x + op("Reshape", bias, [1, -1] + [1] * (x.shape.rank - 2))
    return x + bias


def _layout(data_format):
    return "NCHW" if (data_format or setting("format")) == "channels_first" else "NHWC"


@_shown
def conv2d(x, kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)):
    return nn_conv.conv2d(x, kernel, strides, padding.upper(), data_format=_layout(data_format),
                          dilations=dilation_rate)


@_shown
def conv1d(x, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    first = _layout(data_format) == "NCHW"
    x = op("Transpose", x, [0, 2, 1]) if first else x
    if padding == "causal":
        left = dilation_rate * (kernel.shape.as_list()[0] - 1)
        x, padding = op("Pad", x, [[0, 0], [left, 0], [0, 0]]), "valid"
    made = function("nn.conv1d")(x, kernel, strides, padding.upper(), dilations=dilation_rate)
    return op("Transpose", made, [0, 2, 1]) if first else made


@_shown
def pool2d(x, pool_size, strides=(1, 1), padding="valid", data_format=None, pool_mode="max"):
    pool = nn_conv.max_pool if pool_mode == "max" else nn_conv.avg_pool
    return pool(x, pool_size, strides, padding.upper(), _layout(data_format))


@_shown
def temporal_padding(x, padding=(1, 1)):
    return op("Pad", x, [[0, 0], list(padding), [0, 0]])


@_shown
def spatial_2d_padding(x, padding=((1, 1), (1, 1)), data_format=None):
    pads = [list(p) for p in padding]
    return op("Pad", x, [[0, 0], [0, 0], *pads] if _layout(data_format) == "NCHW" else
              [[0, 0], *pads, [0, 0]])


@_shown
def resize_images(x, height_factor, width_factor, data_format, interpolation="nearest"):
    first = data_format == "channels_first"
    x = op("Transpose", x, [0, 2, 3, 1]) if first else x
    sizes = [n if n is not None else shape_op(x)[1 + i]
             for i, n in enumerate(x.shape.as_list()[1:3])]
    made = function("image.resize")(x, [sizes[0] * height_factor, sizes[1] * width_factor],
                                    interpolation)
    return op("Transpose", made, [0, 3, 1, 2]) if first else made


@_shown
def in_train_phase(x, alt, training=None):
    """x while training, else alt."""
    training = context.call.training if training is None else training
    chosen = x if training else alt
    return chosen() if callable(chosen) else chosen


@_shown
def in_test_phase(x, alt, training=None):
    return in_train_phase(alt, x, training)


@_shown
def in_top_k(predictions, targets, k):
    return function("math.in_top_k")(targets, predictions, k)


@_shown
def update(x, new_x):
    return x.assign(new_x)


@_shown
def update_add(x, increment):
    return x.assign_add(increment)


@_shown
def update_sub(x, decrement):
    return x.assign_sub(decrement)


@_shown
def moving_average_update(x, value, momentum):
    return x.assign(x * momentum + cast(value, x.dtype.base_dtype) * (1 - momentum))


@_shown
def print_tensor(x, message="", summarize=3):
    """Prints a tensor when it is computed, and gives it back."""
    function("print")(message, x, summarize=summarize)
    return x


@_shown
def map_fn(fn, elems, name=None, dtype=None):
    return function("map_fn")(fn, elems, dtype=dtype)


@_shown
def foldl(fn, elems, initializer=None, name=None):
    return function("foldl")(fn, elems, initializer=initializer)


@_shown
def foldr(fn, elems, initializer=None, name=None):
    return function("foldr")(fn, elems, initializer=initializer)


@_shown
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return function("random.truncated_normal")(shape, mean, stddev, dtype or setting("float"),
                                               seed)


@_shown
def random_bernoulli(shape, p=0.0, dtype=None, seed=None):
    drawn = function("random.uniform")(shape, seed=seed)
    return cast(op("LessEqual", drawn, convert_to_tensor(float(p))), dtype or setting("float"))


shown("backend.random_binomial")(random_bernoulli)


@_shown
def is_sparse(tensor):
    from situ._lib.word_ops import SparseTensor
    return isinstance(tensor, SparseTensor)


@_shown
def to_dense(tensor):
    return function("sparse.to_dense")(tensor) if is_sparse(tensor) else tensor


@_shown
def reset_uids():
    forget_names()


@_shown
def cumprod(x, axis=0):
    return function("math.cumprod")(x, axis)
