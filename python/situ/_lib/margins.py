# SPDX-License-Identifier: Apache-2.0
"""margins.py: tf.pad: margins of a value, and such that mirror a tensor."""
from situ._lib.api import export
from situ._lib.array_ops import op


@export("pad")
def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """The tensor with margins: of a value, or that mirror it (REFLECT, SYMMETRIC)."""
    if mode.upper() in ("REFLECT", "SYMMETRIC"):
        return op("MirrorPad", tensor, paddings, mode=mode.upper(), name=name)
    if mode.upper() != "CONSTANT":
        raise ValueError(f"Unknown padding mode: {mode}")
    if isinstance(constant_values, (int, float)) and constant_values == 0:
        return op("Pad", tensor, paddings, name=name)
    return op("PadV2", tensor, paddings, constant_values, name=name)


@export(v1="pad")
def pad_v1(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    return pad(tensor, paddings, mode, constant_values, name)
