# SPDX-License-Identifier: Apache-2.0
"""histogram.py: a histogram of values in TensorFlow's buckets, which grow by a tenth."""

from __future__ import annotations

import sys

import numpy

from situ._src.summary.protos import HistogramProto

_LIMITS: list[float] = []


def limits():
    """The upper limits of all buckets."""
    if not _LIMITS:
        positive, value = [], 1e-12
        while value < 1e20:
            positive.append(value)
            value *= 1.1
        positive.append(sys.float_info.max)
        _LIMITS.extend([-v for v in reversed(positive)] + [0.0] + positive)
    return _LIMITS


def histogram(values):
    """The HistogramProto of an array."""
    values = numpy.asarray(values, numpy.float64).ravel()
    made = HistogramProto(
        num=float(values.size),
        sum=float(values.sum()),
        sum_squares=float(numpy.square(values).sum()),
    )
    bounds = limits()
    made.min = float(values.min()) if values.size else bounds[-1]
    made.max = float(values.max()) if values.size else -bounds[-1]
    counts = (
        numpy.bincount(numpy.searchsorted(bounds, values, side="right"), minlength=len(bounds))
        if values.size
        else numpy.zeros(len(bounds))
    )
    _fill(made, bounds, counts)
    return made


def _fill(made, bounds, counts):
    """Runs of empty buckets become one."""
    at = 0
    while at < len(bounds):
        end, count = bounds[at], float(counts[at])
        at += 1
        if count <= 0:
            while at < len(bounds) and counts[at] <= 0:
                end = bounds[at]
                at += 1
        made.bucket_limit.append(end)
        made.bucket.append(count)
    if not made.bucket_limit:
        made.bucket_limit.append(sys.float_info.max)
        made.bucket.append(0.0)
