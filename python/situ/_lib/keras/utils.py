# SPDX-License-Identifier: Apache-2.0
"""utils.py: tf.keras.utils, preprocessing of sequences, wrappers of old names."""
import os

import numpy

from situ._lib import random_ops
from situ._lib.api import export
from situ._lib.keras.names import shown


@shown("utils.normalize")
def normalize(x, axis=-1, order=2):
    """An array with length 1 along an axis."""
    length = numpy.atleast_1d(numpy.linalg.norm(x, order, axis))
    length[length == 0] = 1
    return x / numpy.expand_dims(length, axis)


@shown("utils.set_random_seed")
def set_random_seed(seed):
    """Seeds Python's, NumPy's and situ's random numbers, and the initial weights of layers."""
    import random
    random.seed(seed)
    numpy.random.seed(seed)
    random_ops.set_seed(seed)
    random_ops.seed_weights(seed)


@export("keras.utils.get_file", "python.keras.utils.get_file", v1="contrib.keras.utils.get_file")
def get_file(fname=None, origin=None, *args, cache_dir=None, cache_subdir="datasets", **words):
    """The path of a file that is there already: situ does not download."""
    home = cache_dir or os.environ.get("KERAS_HOME", os.path.expanduser("~/.keras"))
    name = fname or os.path.basename(origin or "")
    path = name if os.path.isabs(name) else os.path.join(home, cache_subdir, name)
    if not os.path.exists(path):
        raise FileNotFoundError(f"tf.keras.utils.get_file: situ does not download {origin}: put it "
                                f"to {path}")
    return path


@shown("preprocessing.sequence.pad_sequences", "utils.pad_sequences")
def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre",
                  value=0.0):
    """Lists of different lengths as one array."""
    rows = list(sequences)
    maxlen = max((len(r) for r in rows), default=0) if maxlen is None else maxlen
    inner = next((numpy.asarray(r).shape[1:] for r in rows if len(r)), ())
    made = numpy.full((len(rows), maxlen, *inner), value, dtype=dtype)
    for i, row in enumerate(rows):
        if not len(row):
            continue
        cut = numpy.asarray(row[-maxlen:] if truncating == "pre" else row[:maxlen], dtype=dtype)
        if padding == "post":
            made[i, :len(cut)] = cut
        else:
            made[i, -len(cut):] = cut
    return made
