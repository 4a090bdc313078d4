# SPDX-License-Identifier: Apache-2.0
"""example_protos.py: tf.train.Example, SequenceExample and their parts."""

from __future__ import annotations

from situ._src.framework.api import BOTH
from situ._src.framework.message_classes import message_class

SequenceExample = message_class("tensorflow.SequenceExample")
_NAMES = (
    "BytesList FloatList Int64List Feature Features Example FeatureList FeatureLists "
    "SequenceExample"
).split()
BOTH.update({"train." + name: message_class("tensorflow." + name) for name in _NAMES})
