# SPDX-License-Identifier: Apache-2.0
"""ops_rows.py: ops that name rows by numbers, in NumPy, for ops.py."""
import numpy as np


def tuples(indices):
    """The tuples of the last dimension, however long."""
    return [indices[at] for at in np.ndindex(indices.shape[:-1])]


def inside(row, shape):
    """Whether an index tuple is within bounds. Samples have others only where they are ignored."""
    return all(0 <= i < size for i, size in zip(row, shape))


def gather_nd(_, params, indices):
    depth = indices.shape[-1]
    zeros = np.zeros(params.shape[depth:], params.dtype)
    made = [params[tuple(r)] if inside(r, params.shape) else zeros for r in tuples(indices)]
    return np.array(made, params.dtype).reshape(indices.shape[:-1] + params.shape[depth:])


def put(function):
    """A function of the old part and the update, applied one after the other."""
    def apply(start, indices, updates):
        made, depth = start.copy(), indices.shape[-1]
        parts = updates.reshape((-1,) + start.shape[depth:])
        for row, part in zip(tuples(indices), parts):
            if inside(row, start.shape):
                made[tuple(row)] = function(made[tuple(row)], part)
        return made
    return apply


def scatter_nd(_, indices, updates, shape):
    return put(np.add)(np.zeros([int(d) for d in shape], updates.dtype), indices, updates)


def segments(function, empty=None):
    """Rows of one number reduced; what no row has is `empty`, or the identity."""
    def reduce(attrs, data, ids, count):
        n = int(count)
        rows = data.reshape((-1,) + data.shape[ids.ndim:])
        made = []
        for i in range(n):
            hit = rows[ids.ravel() == i]
            none = np.full(rows.shape[1:], empty if empty is not None else 0, data.dtype)
            made.append(function(hit, 0) if len(hit) else none)
        return np.array(made, data.dtype).reshape((n,) + rows.shape[1:])
    return reduce


def extreme(function, sign):
    """The identity of an extreme depends on the type."""
    def reduce(attrs, data, ids, count):
        limits = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308,
                  "float16": 65504.0}
        kind = attrs["T"]
        if kind in limits:
            empty = sign * limits[kind]
        else:
            empty = np.iinfo(kind).min if sign < 0 else np.iinfo(kind).max
        return segments(function, empty)(attrs, data, ids, count)
    return reduce


ROWS = {"GatherNd": gather_nd, "ScatterNd": scatter_nd,
        "TensorScatterUpdate": lambda a, x, i, u: put(lambda old, new: new)(x, i, u),
        "TensorScatterAdd": lambda a, x, i, u: put(np.add)(x, i, u),
        "TensorScatterSub": lambda a, x, i, u: put(np.subtract)(x, i, u),
        "TensorScatterMax": lambda a, x, i, u: put(np.maximum)(x, i, u),
        "TensorScatterMin": lambda a, x, i, u: put(np.minimum)(x, i, u),
        "UnsortedSegmentSum": segments(np.sum), "UnsortedSegmentProd": segments(np.prod, 1),
        "UnsortedSegmentMax": extreme(np.max, -1), "UnsortedSegmentMin": extreme(np.min, 1)}
