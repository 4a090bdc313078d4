# SPDX-License-Identifier: Apache-2.0
"""example_protos.py: tf.train.Example and its parts: records of named lists."""

from __future__ import annotations

from situ._src.framework.api import BOTH
from situ._src.framework.protobuf_wire import Proto
from situ._src.framework.protos import Parts


class BytesList(Proto):
    FIELDS: dict = {"value": []}
    WIRE = {"value": (1, "bytes")}


class FloatList(Proto):
    FIELDS: dict = {"value": []}
    WIRE = {"value": (1, "float")}


class Int64List(Proto):
    FIELDS: dict = {"value": []}
    WIRE = {"value": (1, "int")}


class Feature(Proto):
    """A list of bytes, of reals, or of integers."""

    FIELDS = {"bytes_list": BytesList, "float_list": FloatList, "int64_list": Int64List}
    WIRE = {
        "bytes_list": (1, BytesList),
        "float_list": (2, FloatList),
        "int64_list": (3, Int64List),
    }
    ONEOF = {"kind": ("bytes_list", "float_list", "int64_list")}


class _Map(dict):
    """A part is made when it is first asked for."""

    kind: type[Proto] = Feature

    def __missing__(self, key):
        self[key] = made = self.kind()
        return made


class Features(Proto):
    FIELDS, WIRE = {"feature": _Map()}, {"feature": (1, Feature)}


class Example(Proto):
    """Features by name."""

    FIELDS, WIRE = {"features": Features}, {"features": (1, Features)}


class _FeatureParts(Parts):
    kind = Feature


class FeatureList(Proto):
    FIELDS, WIRE = {"feature": _FeatureParts()}, {"feature": (1, Feature)}


class _ListMap(_Map):
    kind = FeatureList


class FeatureLists(Proto):
    FIELDS, WIRE = {"feature_list": _ListMap()}, {"feature_list": (1, FeatureList)}


class SequenceExample(Proto):
    """Features by name, and lists of them."""

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
