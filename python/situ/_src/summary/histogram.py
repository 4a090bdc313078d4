# SPDX-License-Identifier: Apache-2.0
"""histogram.py: histograms in TensorFlow's buckets, whose limits grow by a factor of 1.1."""

from __future__ import annotations

import sys

import numpy

from situ._src.summary.protos import HistogramProto

_LIMITS: list[float] = []


def limits() -> list[float]:
    """Returns the upper limits of all buckets."""
    if not _LIMITS:
        positive, value = [], 1e-12
        while value < 1e20:
            positive.append(value)
            value *= 1.1
        positive.append(sys.float_info.max)
        _LIMITS.extend([-v for v in reversed(positive)] + [0.0] + positive)
    return _LIMITS


def histogram(values) -> HistogramProto:
    """Returns the HistogramProto of an array."""
    values = numpy.asarray(values, numpy.float64).ravel()
    proto = HistogramProto(
        num=float(values.size),
        sum=float(values.sum()),
        sum_squares=float(numpy.square(values).sum()),
    )
    bounds = limits()
    proto.min = float(values.min()) if values.size else bounds[-1]
    proto.max = float(values.max()) if values.size else -bounds[-1]
    counts = (
        numpy.bincount(numpy.searchsorted(bounds, values, side="right"), minlength=len(bounds))
        if values.size
        else numpy.zeros(len(bounds))
    )
    _fill(proto, bounds, counts)
    return proto


def _fill(proto, bounds, counts):
    """Sets the buckets; runs of empty buckets are merged into one."""
    at = 0
    while at < len(bounds):
        end, count = bounds[at], float(counts[at])
        at += 1
        if count <= 0:
            while at < len(bounds) and counts[at] <= 0:
                end = bounds[at]
                at += 1
        proto.bucket_limit.append(end)
        proto.bucket.append(count)
    if not proto.bucket_limit:
        proto.bucket_limit.append(sys.float_info.max)
        proto.bucket.append(0.0)
