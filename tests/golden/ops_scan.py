# SPDX-License-Identifier: Apache-2.0
"""ops_scan.py: running sums, products and logsumexp, in NumPy, for ops.py."""
import numpy as np


def scan(function, identity):
    def run(attrs, x, axis):
        axis = int(axis)
        x = np.flip(x, axis) if attrs["reverse"] else x
        made = function(x, axis=axis, dtype=x.dtype)
        if attrs["exclusive"]:
            first = np.full_like(np.take(x, [0], axis) if x.shape[axis] else x, identity)
            made = np.concatenate([first, np.take(made, range(x.shape[axis] - 1), axis)], axis) \
                if x.shape[axis] else made
        return np.flip(made, axis) if attrs["reverse"] else made
    return run


def cumlogsumexp(x, axis, dtype):
    return np.logaddexp.accumulate(x, axis=axis, dtype=dtype) if x.size else x


SCAN = {"Cumsum": scan(np.cumsum, 0), "Cumprod": scan(np.cumprod, 1),
        "CumulativeLogsumexp": scan(cumlogsumexp, -np.inf)}
