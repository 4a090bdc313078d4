# SPDX-License-Identifier: Apache-2.0
"""summary_ops.py: tf.summary of graph style: summaries that a session computes as bytes."""

from __future__ import annotations

import re

import numpy

from situ._src.framework import default_session, errors, logs
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.image import png
from situ._src.summary import histogram as buckets
from situ._src.summary.protos import Summary, SummaryMetadata, tensor_proto

_STRING = 7


class SummaryTensor:
    """A summary as a session sees it: tensors, and a function that makes bytes of their values."""

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
        return (session or default_session.current()).run(self, feed_dict)

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape=() dtype=string>"


def clean_tag(name):
    """A name with nothing but what names of operations may have."""
    if name is None:
        return name
    new = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    if new != name:
        logs.info("Summary name %s is illegal; using %s instead.", name, new)
    return new


def _scope(name, family):
    """The tag of a summary, which is a scope of names that is used once."""
    name = clean_tag(name)
    base = name if family is None else f"{clean_tag(family)}/{name}"
    with get_default_graph().name_scope(base) as full:
        whole = full.rstrip("/")
    return whole if family is None else f"{clean_tag(family)}/{whole}"


def _one(tag, **value):
    return Summary(value=[Summary.Value(tag=tag, **value)])


@export(v1=("summary.scalar", "scalar_summary"))
def scalar(name, tensor, collections=None, family=None):
    """One number."""
    tag, tensor = _scope(name, family), convert_to_tensor(tensor)

    def make(values):
        value = numpy.asarray(values[0])
        if value.size != 1:
            raise errors.InvalidArgumentError(
                None,
                tensor.op,
                f"tags and values are not the same shape: [] != {list(value.shape)} (tag '{tag}')",
            )
        return _one(tag, simple_value=float(value.ravel()[0]))

    return SummaryTensor(tag, [tensor], make, collections)


@export(v1=("summary.histogram", "histogram_summary"))
def histogram(name, values, collections=None, family=None):
    """How the elements are distributed."""
    tag, tensor = _scope(name, family), convert_to_tensor(values)

    def make(values):
        array = numpy.asarray(values[0], numpy.float64)
        for bad, word in ((numpy.isnan, "Nan"), (numpy.isinf, "Infinity")):
            if bad(array).any():
                raise errors.InvalidArgumentError(
                    None, tensor.op, f"{word} in summary histogram for: {tag}"
                )
        return _one(tag, histo=buckets.histogram(array))

    return SummaryTensor(tag, [tensor], make, collections)


def image_values(tag, images, most):
    """The values of a summary of images: [batch, height, width, channels]."""
    images = png.bytes_of(numpy.asarray(images)[:most])
    made = Summary()
    for i, image in enumerate(images):
        height, width, channels = image.shape
        value = made.value.add(tag=f"{tag}/image" if most == 1 else f"{tag}/image/{i}")
        value.image.height, value.image.width = height, width
        value.image.colorspace = channels
        value.image.encoded_image_string = png.encode(image)
        value._values["image"] = value.image
    return made


@export(v1=("summary.image", "image_summary"))
def image(name, tensor, max_outputs=3, collections=None, family=None):
    """The first images of a batch, as PNG."""
    tag, tensor = _scope(name, family), convert_to_tensor(tensor)
    if tensor.shape.ndims not in (None, 4):
        raise ValueError(
            f"Shape must be rank 4 but is rank {tensor.shape.ndims} for '{tag}' "
            "(op: 'ImageSummary')"
        )
    return SummaryTensor(tag, [tensor], lambda v: image_values(tag, v[0], max_outputs), collections)


def text_value(tag, value):
    """A value of a summary of strings."""
    array = numpy.asarray(value, dtype=object)
    items = [v.encode() if isinstance(v, str) else bytes(v) for v in array.ravel()]
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return Summary.Value(
        tag=tag, metadata=metadata, tensor=tensor_proto(items, _STRING, "string_val", array.shape)
    )


@export(v1="summary.text")
def text(name, tensor, collections=None):
    """Strings."""
    tag, tensor = _scope(name, None), convert_to_tensor(tensor)
    if tensor.dtype.name != "string":
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    return SummaryTensor(
        tag, [tensor], lambda v: Summary(value=[text_value(tag, v[0])]), collections
    )


@export(v1=("summary.merge", "merge_summary"))
def merge(inputs, collections=None, name=None):
    """All the values of several summaries."""
    inputs = [i for i in inputs]
    with get_default_graph().name_scope(name or "Merge") as full:
        whole = full.rstrip("/") + "/MergeSummary"

    def make(values):
        made, seen = Summary(), set()
        for data in values:
            for value in Summary.FromString(data).value:
                if value.tag in seen:
                    raise errors.InvalidArgumentError(
                        None, None, f"Duplicate tag {value.tag} found in summary inputs"
                    )
                seen.add(value.tag)
                made.value.append(value)
        return made

    return SummaryTensor(whole, inputs, make, [] if collections is None else collections)


@export(v1=("summary.merge_all", "merge_all_summaries"))
def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """The summaries of a collection as one, or None."""
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


@export(v1="summary.get_summary_description")
def get_summary_description(node_def):
    return SummaryMetadata()


@export(v1="summary.all_v2_summary_ops")
def all_v2_summary_ops():
    return []
