# SPDX-License-Identifier: Apache-2.0
"""summary_ops.py: tf.compat.v1.summary: summaries that a session computes as serialized tf.Summary
messages."""

from __future__ import annotations

import json
import re

import numpy

import _situ
from situ._src.framework import default_session, errors, logs
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.scopes import eager_scope
from situ._src.framework.tensor_proto import make_tensor_proto
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.audio_ops import wav_bytes
from situ._src.ops.image import png
from situ._src.summary import histogram as buckets
from situ._src.summary.protos import Summary, SummaryDescription, SummaryMetadata, tensor_proto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike

_STRING = 7


V2_SUMMARIES = "_SUMMARY_V2"  # the collection of the summaries of TensorFlow 2 in a graph


class SummaryTensor:
    """A fetch whose value is a serialized summary: component tensors, and a function of their
    values."""

    def __init__(self, name, parts, make, collections):
        self._situ_parts_, self._make = parts, make
        self.graph, self.name = get_default_graph(), name + ":0"
        self.dtype, self.shape = as_dtype("string"), TensorShape([])
        keys = [GraphKeys.SUMMARIES] if collections is None else collections
        self.graph.add_to_collections(list(keys), self)

    op = property(lambda s: s._situ_parts_[0].op)

    def get_shape(self):
        return self.shape

    def _situ_value_(self, values, session):
        return self._make(values).SerializeToString()

    def eval(self, feed_dict=None, session=None):
        """Returns the serialized summary.

        Args:
          feed_dict: maps tensors to values.
          session: the session; the default session if it is None.
        """
        return default_session.for_eval(session).run(self, feed_dict)

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape=() dtype=string>"


def _summary(name, parts, make, collections):
    """Returns a summary to run in a session; eagerly, a string tensor."""
    if _situ.current_graph() is None:
        return convert_to_tensor(make([part.numpy() for part in parts]).SerializeToString())
    return SummaryTensor(name, parts, make, collections)


def clean_tag(name):
    """Replaces characters that operation names cannot have."""
    if name is None:
        return name
    new = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    if new != name:
        logs.info("Summary name %s is illegal; using %s instead.", name, new)
    return new


def _scope(name, family):
    """Returns the unique name of a summary, based on the name scope, and its tag."""
    name = clean_tag(name)
    base = name if family is None else f"{clean_tag(family)}/{name}"
    if _situ.current_graph() is None:
        whole = eager_scope() + base
        return whole, whole if family is None else f"{clean_tag(family)}/{whole}"
    with get_default_graph().name_scope(base) as full:
        whole = full.rstrip("/")
    return whole, whole if family is None else f"{clean_tag(family)}/{whole}"


def _single_value(tag, **value):
    return Summary(value=[Summary.Value(tag=tag, **value)])


@export(v1="scalar_summary")
def scalar_summary(
    tags: Any, values: TensorLike, collections: list[str] | None = None, name: str | None = None
) -> Any:
    """Creates a summary of numbers (deprecated).

    Args:
      tags: the tags, strings in the shape of `values`.
      values: a real tensor.
      collections: keys of the graph collections; by default SUMMARIES.
      name: a name for the operation.

    Returns:
      A scalar string tensor to run in a session.

    Raises:
      InvalidArgumentError: when run, if the shapes differ.
    """
    with get_default_graph().name_scope(name or "ScalarSummary") as full:
        tensors = [convert_to_tensor(tags, "string"), convert_to_tensor(values)]

    def make(computed):
        names, numbers = (numpy.asarray(value) for value in computed)
        if names.shape != numbers.shape:
            raise errors.InvalidArgumentError(
                None,
                tensors[1].op,
                f"tags and values are not the same shape: {list(names.shape)} != "
                f"{list(numbers.shape)}",
            )
        pairs = zip(names.ravel().tolist(), numbers.ravel().tolist())
        return Summary(value=[Summary.Value(tag=t, simple_value=v) for t, v in pairs])

    return _summary(full.rstrip("/"), tensors, make, collections)


@export(v1="summary.scalar")
def scalar(
    name: str, tensor: TensorLike, collections: list[str] | None = None, family: str | None = None
) -> Any:
    """Creates a summary of a number.

    Args:
      name: the tag.
      tensor: a tensor with one element.
      collections: keys of the graph collections; by default SUMMARIES.
      family: a prefix of the tag.

    Returns:
      A scalar string tensor to run in a session.
    """
    (full, tag), tensor = _scope(name, family), convert_to_tensor(tensor)

    def make(values):
        value = numpy.asarray(values[0])
        if value.size != 1:
            raise errors.InvalidArgumentError(
                None,
                tensor.op,
                f"tags and values are not the same shape: [] != {list(value.shape)} (tag '{tag}')",
            )
        return _single_value(tag, simple_value=float(value.ravel()[0]))

    return _summary(full, [tensor], make, collections)


@export(v1=("summary.histogram", "histogram_summary"))
def histogram(
    name: str, values: TensorLike, collections: list[str] | None = None, family: str | None = None
) -> Any:
    """Creates a summary of the distribution of a tensor's elements.

    Args:
      name: the tag.
      values: a numeric tensor.
      collections: keys of the graph collections; by default SUMMARIES.
      family: a prefix of the tag.

    Returns:
      A scalar string tensor to run in a session.
    """
    (full, tag), tensor = _scope(name, family), convert_to_tensor(values)

    def make(values):
        array = numpy.asarray(values[0], numpy.float64)
        for is_bad, noun in ((numpy.isnan, "Nan"), (numpy.isinf, "Infinity")):
            if is_bad(array).any():
                raise errors.InvalidArgumentError(
                    None, tensor.op, f"{noun} in summary histogram for: {tag}"
                )
        return _single_value(tag, histo=buckets.histogram(array))

    return _summary(full, [tensor], make, collections)


def image_values(tag, images, max_outputs, bad_color=(255, 0, 0, 255)):
    """Returns the summary of a batch of images [batch, height, width, channels]."""
    images = png.bytes_of(numpy.asarray(images)[:max_outputs], bad_color)
    summary = Summary()
    for i, image in enumerate(images):
        height, width, channels = image.shape
        value = summary.value.add(tag=f"{tag}/image" if max_outputs == 1 else f"{tag}/image/{i}")
        value.image.height, value.image.width = height, width
        value.image.colorspace = channels
        value.image.encoded_image_string = png.encode(image)
    return summary


@export(v1=("summary.image", "image_summary"))
def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: list[str] | None = None,
    family: str | None = None,
) -> Any:
    """Creates a summary of images, encoded as PNG.

    Args:
      name: the tag.
      tensor: a tensor of shape [batch, height, width, channels].
      max_outputs: the maximum number of images.
      collections: keys of the graph collections; by default SUMMARIES.
      family: a prefix of the tag.

    Returns:
      A scalar string tensor to run in a session.

    Raises:
      ValueError: the tensor does not have rank 4.
    """
    (full, tag), tensor = _scope(name, family), convert_to_tensor(tensor)
    if tensor.shape.ndims not in (None, 4):
        raise ValueError(
            f"Shape must be rank 4 but is rank {tensor.shape.ndims} for '{tag}' "
            "(op: 'ImageSummary')"
        )
    return _summary(full, [tensor], lambda v: image_values(tag, v[0], max_outputs), collections)


def text_value(tag, value):
    """Returns the summary value of an array of strings."""
    array = numpy.asarray(value, dtype=object)
    items = [v.encode() if isinstance(v, str) else bytes(v) for v in array.ravel()]
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return Summary.Value(
        tag=tag, metadata=metadata, tensor=tensor_proto(items, _STRING, "string_val", array.shape)
    )


@export(v1="summary.text")
def text(name: str, tensor: TensorLike, collections: list[str] | None = None) -> Any:
    """Creates a summary of strings.

    Args:
      name: the tag.
      tensor: a string tensor.
      collections: keys of the graph collections; by default SUMMARIES.

    Returns:
      A scalar string tensor to run in a session.

    Raises:
      ValueError: the tensor has another type.
    """
    (full, tag), tensor = _scope(name, None), convert_to_tensor(tensor)
    if tensor.dtype.name != "string":
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    return _summary(full, [tensor], lambda v: Summary(value=[text_value(tag, v[0])]), collections)


@export(v1="summary.tensor_summary")
def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: Any = None,
    collections: list[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: Any = None,
) -> Any:
    """Creates a summary of a tensor of any type and shape.

    Args:
      name: the tag.
      tensor: a tensor.
      summary_description: a description for TensorBoard.
      collections: keys of the graph collections; by default SUMMARIES.
      summary_metadata: a SummaryMetadata, which says what plugins read the summary.
      family: a prefix of the tag.
      display_name: a name for TensorBoard, instead of the tag.

    Returns:
      A scalar string tensor to run in a session.
    """
    (full, tag), tensor = _scope(name, family), convert_to_tensor(tensor)
    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name

    def make(values):
        proto = make_tensor_proto(values[0], tensor.dtype)
        return _single_value(tag, metadata=metadata, tensor=proto)

    return _summary(full, [tensor], make, collections)


@export(v1="summary.audio")
def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: list[str] | None = None,
    family: str | None = None,
) -> Any:
    """Creates a summary of sounds, encoded as WAV files.

    Args:
      name: the tag.
      tensor: values between -1 and 1, of shape [batch, samples] or [batch, samples, channels].
      sample_rate: samples per second, a scalar.
      max_outputs: the maximum number of sounds.
      collections: keys of the graph collections; by default SUMMARIES.
      family: a prefix of the tag.

    Returns:
      A scalar string tensor to run in a session.

    Raises:
      ValueError: the tensor has another rank, or `max_outputs` is not positive.
      InvalidArgumentError: when run, if the sample rate is not positive.
    """
    if max_outputs < 1:
        raise ValueError(f"max_outputs must be > 0, not {max_outputs}.")
    (full, tag), tensor = _scope(name, family), convert_to_tensor(tensor, "float32")
    if tensor.shape.ndims not in (None, 2, 3):
        raise ValueError(
            f"Shape must be at least rank 2 and at most rank 3 but is rank {tensor.shape.ndims} "
            f"for '{tag}' (op: 'AudioSummaryV2')"
        )

    def make(values):
        sounds, rate = numpy.asarray(values[0])[:max_outputs], float(values[1])
        if rate <= 0:
            raise errors.InvalidArgumentError(None, tensor.op, "sample_rate must be > 0")
        summary = Summary()
        for i, sound in enumerate(sounds):
            sound = sound[:, numpy.newaxis] if sound.ndim == 1 else sound
            value = summary.value.add(tag=f"{tag}/audio" + (f"/{i}" if max_outputs > 1 else ""))
            value.audio.sample_rate = rate
            value.audio.length_frames, value.audio.num_channels = sound.shape
            value.audio.content_type = "audio/wav"
            value.audio.encoded_audio_string = wav_bytes(sound, max(1, round(rate)))
        return summary

    rate = convert_to_tensor(sample_rate, "float32")
    return _summary(full, [tensor, rate], make, collections)


def _check_graph():
    if _situ.current_graph() is None:
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution. "
            "Use tf.contrib.summary instead."
        )


@export(v1=("summary.merge", "merge_summary"))
def merge(inputs: TensorLike, collections: list[str] | None = None, name: str | None = None) -> Any:
    """Merges summaries.

    Args:
      inputs: a list of summaries.
      collections: keys of the graph collections of the result; none by default.
      name: a name for the operation.

    Returns:
      A scalar string tensor to run in a session.

    Raises:
      InvalidArgumentError: when run, if a tag occurs twice.
      RuntimeError: eager execution is enabled.
    """
    _check_graph()
    inputs = list(inputs)
    with get_default_graph().name_scope(name or "Merge") as full:
        whole = full.rstrip("/") + "/MergeSummary"

    def make(values):
        merged, seen = Summary(), set()
        for data in values:
            for value in Summary.FromString(data).value:
                if value.tag in seen:
                    raise errors.InvalidArgumentError(
                        None, None, f"Duplicate tag {value.tag} found in summary inputs"
                    )
                seen.add(value.tag)
                merged.value.append(value)
        return merged

    return _summary(whole, inputs, make, [] if collections is None else collections)


@export(v1=("summary.merge_all", "merge_all_summaries"))
def merge_all(key: Any = GraphKeys.SUMMARIES, scope: Any = None, name: str | None = None) -> Any:
    """Merges all summaries of the default graph.

    Args:
      key: the collection.
      scope: a regular expression that names must match.
      name: a name for the operation.

    Returns:
      A scalar string tensor, or None if there are no summaries.

    Raises:
      RuntimeError: eager execution is enabled.
    """
    _check_graph()
    summaries = get_default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


@export(v1="summary.get_summary_description")
def get_summary_description(node_def: Any) -> Any:
    """Returns the SummaryDescription of a TensorSummary node.

    Args:
      node_def: a NodeDef.

    Raises:
      ValueError: it is another op.
    """
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    described = json.loads(node_def.attr["description"].s)
    return SummaryDescription(type_hint=described.get("typeHint", ""))


@export(v1="summary.all_v2_summary_ops")
def all_v2_summary_ops() -> list | None:
    """Returns the summaries of TensorFlow 2 in the default graph; None eagerly."""
    if _situ.current_graph() is None:
        return None
    return get_default_graph().get_collection(V2_SUMMARIES)
