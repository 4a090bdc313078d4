# SPDX-License-Identifier: Apache-2.0
"""contrib_summary.py: tf.contrib.summary: summaries of TensorFlow 1 that are written to the default
writer of tf.summary."""

from __future__ import annotations

import functools

import numpy

from situ._src.framework.api import export
from situ._src.summary import histogram as buckets
from situ._src.summary import summary_ops, summary_ops_v2
from situ._src.summary.protos import Summary
from situ._src.training.global_step import get_or_create_global_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike


def _step_of(step):
    """Returns the step of a summary; by default that of the writer, else the global step."""
    if step is None:
        step = summary_ops_v2.get_step()
    return get_or_create_global_step() if step is None else step


def _write(name, family, data, step, make):
    """Writes a value with the tag of TensorFlow 1, by default for the global step."""
    step = functools.partial(_step_of, step)
    name = summary_ops.clean_tag(name)
    if family is None:
        return summary_ops_v2.write_value_of(name, data, step, make)
    family = summary_ops.clean_tag(family)
    return summary_ops_v2.write_value_of(
        f"{family}/{name}", data, step, lambda tag, value: make(f"{family}/{tag}", value)
    )


@export(v1="contrib.summary.scalar")
def scalar(name: str, tensor: TensorLike, family: str | None = None, step: Any = None) -> Any:
    """Writes a number.

    Args:
      name: the tag.
      tensor: a scalar.
      family: a prefix of the tag.
      step: the step; by default that of the writer, else the global step.

    Returns:
      Whether the value was written.
    """

    def make(tag, value):
        return Summary.Value(tag=tag, simple_value=float(numpy.asarray(value).reshape(())))

    return _write(name, family, tensor, step, make)


@export(v1="contrib.summary.histogram")
def histogram(name: str, tensor: TensorLike, family: str | None = None, step: Any = None) -> Any:
    """Writes the distribution of a tensor's elements; see scalar for the arguments.

    Args:
      name: the tag.
      tensor: a tensor.
      family: a prefix of the tag.
      step: the step; by default that of the writer, else the global step.
    """

    def make(tag, value):
        return Summary.Value(tag=tag, histo=buckets.histogram(numpy.asarray(value, numpy.float64)))

    return _write(name, family, tensor, step, make)


@export(v1="contrib.summary.image")
def image(
    name: str,
    tensor: TensorLike,
    bad_color: Any = None,
    max_images: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Writes images, encoded as PNG.

    Args:
      name: the tag.
      tensor: a tensor of shape [batch, height, width, channels].
      bad_color: the color of pixels that are not finite; red by default.
      max_images: the maximum number of images.
      family: a prefix of the tag.
      step: the step; by default that of the writer, else the global step.

    Returns:
      Whether the images were written.
    """
    color = [255, 0, 0, 255] if bad_color is None else numpy.asarray(bad_color).tolist()

    def make(tag, value):
        return summary_ops.image_values(tag, value, max_images, color)

    return _write(name, family, tensor, step, make)


@export(v1="contrib.summary.always_record_summaries")
def always_record_summaries() -> Any:
    """Returns a context manager that writes all summaries."""
    return summary_ops_v2.record_if(True)


@export(v1="contrib.summary.never_record_summaries")
def never_record_summaries() -> Any:
    """Returns a context manager that writes no summaries."""
    return summary_ops_v2.record_if(False)


@export(v1="contrib.summary.record_summaries_every_n_global_steps")
def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> Any:
    """Returns a context manager that writes summaries if the global step is a multiple of n.

    Args:
      n: The period.
      global_step: The step; default: the global step.
    """

    def record():
        step = _step_of(global_step)
        return int(step.numpy() if hasattr(step, "numpy") else step) % n == 0

    return summary_ops_v2.record_if(record)
