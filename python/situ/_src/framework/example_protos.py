# SPDX-License-Identifier: Apache-2.0
"""example_protos.py: tf.train.Example, SequenceExample and their parts."""

from __future__ import annotations

from situ._src.framework.api import BOTH
from situ._src.framework.protobuf_wire import Proto
from situ._src.framework.protos import Parts


class BytesList(Proto):
    """A list of byte strings."""

    FIELDS: dict = {"value": []}
    WIRE = {"value": (1, "bytes")}


class FloatList(Proto):
    """A list of floats."""

    FIELDS: dict = {"value": []}
    WIRE = {"value": (1, "float")}


class Int64List(Proto):
    """A list of 64-bit integers."""

    FIELDS: dict = {"value": []}
    WIRE = {"value": (1, "int")}


class Feature(Proto):
    """One of bytes_list, float_list and int64_list."""

    FIELDS = {"bytes_list": BytesList, "float_list": FloatList, "int64_list": Int64List}
    WIRE = {
        "bytes_list": (1, BytesList),
        "float_list": (2, FloatList),
        "int64_list": (3, Int64List),
    }
    ONEOF = {"kind": ("bytes_list", "float_list", "int64_list")}


class _Map(dict):
    """A map field that creates missing submessages on access."""

    kind: type[Proto] = Feature

    def __missing__(self, key):
        self[key] = message = self.kind()
        return message


class Features(Proto):
    """A map from names to features."""

    FIELDS, WIRE = {"feature": _Map()}, {"feature": (1, Feature)}


class Example(Proto):
    """A record of named features."""

    FIELDS, WIRE = {"features": Features}, {"features": (1, Features)}


class _FeatureParts(Parts):
    kind = Feature


class FeatureList(Proto):
    """A list of features, such as the steps of a sequence."""

    FIELDS, WIRE = {"feature": _FeatureParts()}, {"feature": (1, Feature)}


class _ListMap(_Map):
    kind = FeatureList


class FeatureLists(Proto):
    """A map from names to feature lists."""

    FIELDS, WIRE = {"feature_list": _ListMap()}, {"feature_list": (1, FeatureList)}


class SequenceExample(Proto):
    """A record of named features (context) and named feature lists."""

    FIELDS = {"context": Features, "feature_lists": FeatureLists}
    WIRE = {"context": (1, Features), "feature_lists": (2, FeatureLists)}


BOTH.update(
    {
        "train." + c.__name__: c
        for c in (
            BytesList,
            FloatList,
            Int64List,
            Feature,
            Features,
            Example,
            FeatureList,
            FeatureLists,
            SequenceExample,
        )
    }
)
