# SPDX-License-Identifier: Apache-2.0
"""layers_text.py: StringLookup, IntegerLookup, TextVectorization, Hashing and HashedCrossing.
Lookups run in Python on the host."""

from __future__ import annotations

import collections
import re
from typing import Any, Callable

import numpy

from situ._src.framework import api, tensor_shape
from situ._src.framework.keywords import unsupported
from situ._src.keras import context
from situ._src.keras.layer import Layer
from situ._src.keras.layers_normalize import Adapting, encoded, named
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.script_ops import py_func

_PUNCTUATION = re.compile(r'[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']')


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _by_python(function, tensor, dtype, shape):
    """Applies a function of arrays to a tensor: eagerly, or as a py_func in a graph."""
    if hasattr(tensor, "numpy"):
        return convert_to_tensor(numpy.asarray(function(tensor.numpy())))
    result = py_func(function, [tensor], dtype)
    result = result[0] if isinstance(result, (list, tuple)) else result
    result.set_shape(shape)
    return result


class Lookup(Adapting):
    """Base class of vocabulary lookups.

    Indices: the mask token (output mode "int"), the out-of-vocabulary tokens, then the vocabulary.
    """

    KEY: Callable[[Any], Any] = staticmethod(lambda v: v)
    DTYPE = "int64"

    def __init__(
        self,
        max_tokens=None,
        num_oov_indices=1,
        mask_token=None,
        oov_token=None,
        vocabulary=None,
        idf_weights=None,
        invert=False,
        output_mode="int",
        pad_to_max_tokens=False,
        sparse=False,
        vocabulary_dtype=None,
        **kwargs,
    ):
        unsupported(type(self).__name__, sparse=(sparse, False))
        self.output_dtype = self._as_output_dtype(kwargs.pop("dtype", None), output_mode)
        unsupported(
            type(self).__name__, vocabulary_dtype=(vocabulary_dtype or self.DTYPE, self.DTYPE)
        )
        super().__init__(**kwargs)
        self.max_tokens, self.num_oov_indices, self.mask_token = (
            max_tokens,
            num_oov_indices,
            mask_token,
        )
        self.oov_token, self.invert = oov_token, invert
        self.output_mode = "multi_hot" if output_mode == "binary" else output_mode
        self.pad_to_max_tokens, self._tokens, self._idf = pad_to_max_tokens, [], None
        self._counts, self._documents = collections.Counter(), collections.Counter()
        self._seen, self._index_of_token = 0, {}
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)

    def _as_output_dtype(self, dtype, output_mode):
        """Returns the type of the outputs; the argument may also be the type of the vocabulary."""
        if isinstance(dtype, dict):
            dtype = dtype.get("config", dtype).get("name")
        name = getattr(dtype, "name", dtype)
        if output_mode == "int":
            if name not in (self.DTYPE, "int64"):
                unsupported(type(self).__name__, dtype=(name, None))
            return "int64"
        return context.setting("float") if name in (None, "string") else name

    def _cast(self, inputs):
        return inputs

    def _front(self):
        """Returns the index of the first token of the vocabulary."""
        return int(self.mask_token is not None and self.output_mode == "int") + self.num_oov_indices

    def _specials(self):
        """Returns the mask and out-of-vocabulary tokens that precede the vocabulary."""
        masks = (
            [self.mask_token] if self.mask_token is not None and self.output_mode == "int" else []
        )
        return masks + [self.oov_token] * self.num_oov_indices

    def set_vocabulary(self, vocabulary, idf_weights=None):
        """Sets the vocabulary.

        Args:
          vocabulary: List of tokens, the most frequent first, or the path of a file with one per
            line. It may begin with the mask and out-of-vocabulary tokens.
          idf_weights: Inverse document frequencies for output mode "tf_idf".

        Raises:
          ValueError: If tokens are repeated or more than max_tokens.
        """
        if isinstance(vocabulary, str):
            with open(vocabulary, encoding="utf-8") as file:
                vocabulary = file.read().splitlines()
        result = vocabulary.numpy() if hasattr(vocabulary, "numpy") else vocabulary
        tokens = [self.KEY(v) for v in list(result)]
        specials = self._specials()
        if specials and tokens[: len(specials)] == specials:
            tokens = tokens[len(specials) :]
        if len(set(tokens)) != len(tokens):
            raise ValueError("The passed vocabulary has at least one repeated term.")
        if self.max_tokens is not None and len(tokens) + len(specials) > self.max_tokens:
            raise ValueError(
                f"Attempted to set a vocabulary larger than the maximum vocab size. "
                f"Passed vocab size is {len(tokens) + len(specials)}, max vocab size "
                f"is {self.max_tokens}."
            )
        self._tokens = tokens
        first = self._front()
        self._index_of_token = {w: first + i for i, w in enumerate(tokens)}
        if self.mask_token is not None and self.output_mode == "int":
            self._index_of_token[self.mask_token] = 0
        if idf_weights is not None:
            given = numpy.asarray(idf_weights, "float32")
            self._idf = (
                given
                if len(given) == len(tokens) + first
                else numpy.concatenate(
                    [numpy.full(first, given.mean() if len(given) else 0.0, "float32"), given]
                )
            )

    def get_vocabulary(self, include_special_tokens=True):
        """Returns the vocabulary.

        Args:
          include_special_tokens: Whether to include the mask and out-of-vocabulary tokens.
        """
        return (self._specials() if include_special_tokens else []) + list(self._tokens)

    def vocabulary_size(self):
        """Returns the number of tokens, including the special ones."""
        return len(self.get_vocabulary())

    vocab_size = vocabulary_size

    # Learning

    def reset_state(self):
        self._counts.clear()
        self._documents.clear()
        self._seen = 0

    def tokens(self, array):
        """Returns the tokens of each example."""
        array = numpy.asarray(array)
        return [
            [self.KEY(v) for v in numpy.atleast_1d(row).reshape(-1)]
            for row in numpy.atleast_1d(array)
        ]

    def update_state(self, array):
        for row in self.tokens(array):
            self._counts.update(row)
            self._documents.update(set(row))
            self._seen += 1

    def finalize_state(self):
        special = {self.mask_token, self.oov_token}
        order = sorted(
            (w for w in self._counts if w not in special),
            key=lambda w: (self._counts[w], w),
            reverse=True,
        )
        if self.max_tokens is not None:
            order = order[: self.max_tokens - len(self._specials())]
        weights = None
        if self.output_mode == "tf_idf":
            weights = [numpy.log(1 + self._seen / (1 + self._documents[w])) for w in order]
        self.set_vocabulary(order, weights)

    # Looking up

    def number(self, token):
        """Returns the index of a token; -1 if it is hashed to one of several OOV indices."""
        result = self._index_of_token.get(token)
        if result is not None:
            return result
        first = self._front() - self.num_oov_indices
        if self.num_oov_indices == 0:
            raise ValueError(
                f"{self.name}: '{token}' is not in the vocabulary, and num_oov_indices is 0."
            )
        return first if self.num_oov_indices == 1 else -1  # its hash selects one of several indices

    def _width(self):
        return (
            self.max_tokens
            if self.pad_to_max_tokens and self.max_tokens
            else self.vocabulary_size()
        )

    def _finish(self, indices):
        mode = self.output_mode
        if mode == "int":
            return indices
        kind = "float32" if mode == "tf_idf" else self.output_dtype
        result = encoded(indices, "count" if mode == "tf_idf" else mode, self._width(), kind)
        if mode != "tf_idf":
            return result
        return cast(result * convert_to_tensor(self._idf), self.output_dtype)

    def call(self, inputs):
        tensor = inputs if hasattr(inputs, "dtype") else convert_to_tensor(inputs)
        if self.invert:
            return self._inverted(tensor)
        indices = lambda a: numpy.array(
            [self.number(self.KEY(v)) for v in a.reshape(-1)], "int64"
        ).reshape(a.shape)
        result = _by_python(indices, tensor, "int64", tensor.shape)
        if self.num_oov_indices > 1:
            result = op(
                "SelectV2", op("Less", result, cast(0, "int64")), self._other(tensor), result
            )
        return self._finish(result)

    def _other(self, tensor):
        """Returns the indices of out-of-vocabulary tokens, by hash or remainder."""
        count, first = self.num_oov_indices, self._front() - self.num_oov_indices
        if tensor.dtype.name == "string":
            return op("StringToHashBucketFast", tensor, num_buckets=count) + first
        return op("FloorMod", cast(tensor, "int64"), cast(count, "int64")) + first

    def _inverted(self, tensor):
        names = dict(enumerate(self.get_vocabulary()))
        kind = object if self.DTYPE == "string" else "int64"
        turn = lambda v: v.encode() if isinstance(v, str) else v

        def words(array):
            return numpy.array(
                [turn(names.get(int(i), self.oov_token)) for i in array.reshape(-1)], kind
            ).reshape(array.shape)

        return _by_python(words, tensor, self.DTYPE, tensor.shape)

    def get_config(self):
        config = super().get_config()
        return {
            **config,
            "dtype": self.output_dtype,
            "max_tokens": self.max_tokens,
            "num_oov_indices": self.num_oov_indices,
            "mask_token": self.mask_token,
            "oov_token": self.oov_token,
            "invert": self.invert,
            "output_mode": self.output_mode,
            "pad_to_max_tokens": self.pad_to_max_tokens,
            "vocabulary": list(self._tokens) or None,
            "idf_weights": None if self._idf is None else self._idf.tolist(),
        }


@named("StringLookup")
class StringLookup(Lookup):
    """Maps strings to indices, or indices to strings with invert.

    Args:
      max_tokens: Largest size of the vocabulary.
      num_oov_indices: Number of indices for tokens outside of the vocabulary.
      mask_token: Token with index 0.
      oov_token: Token of unknown strings with invert.
      vocabulary: List of tokens, or the path of a file with one per line; otherwise adapt learns
        it.
      **kwargs: `idf_weights`, `invert`, `output_mode` ("int", "one_hot", "multi_hot", "count",
        "tf_idf"), `pad_to_max_tokens`, `sparse` (only False), and arguments of `Layer`. `dtype` is
        the type of the outputs: int64 with output mode "int". `vocabulary_dtype` must be that of
        the layer's tokens: string, or int64 for `IntegerLookup`.
    """

    KEY, DTYPE = staticmethod(_text), "string"

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices=1,
        mask_token=None,
        oov_token="[UNK]",
        vocabulary: Any = None,
        **kwargs,
    ) -> None:
        super().__init__(max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, **kwargs)


@named("IntegerLookup")
class IntegerLookup(Lookup):
    """Maps integers to contiguous indices, or back with invert.

    Args:
      max_tokens: Largest size of the vocabulary.
      num_oov_indices: Number of indices for integers outside of the vocabulary.
      mask_token: Integer with index 0.
      oov_token: Integer of unknown indices with invert.
      vocabulary: List of integers; otherwise adapt learns it.
      **kwargs: As in `StringLookup`.
    """

    KEY = staticmethod(int)

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices=1,
        mask_token=None,
        oov_token=-1,
        vocabulary: Any = None,
        **kwargs,
    ) -> None:
        super().__init__(max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, **kwargs)


@named("TextVectorization")
class TextVectorization(StringLookup):
    """Splits strings into tokens and maps them to indices.

    Args:
      max_tokens: Largest size of the vocabulary.
      standardize: "lower_and_strip_punctuation", "lower", "strip_punctuation", a function, or None.
      split: "whitespace", "character" or None.
      ngrams: Largest length of n-grams, or a tuple of lengths.
      output_mode: "int", "multi_hot", "count" or "tf_idf".
      output_sequence_length: Length that sequences are padded or truncated to in output mode
        "int"; default: that of the longest one of the batch.
      pad_to_max_tokens: Whether vectors have max_tokens elements.
      vocabulary: List of tokens, or the path of a file with one per line; otherwise adapt learns
        it.
      idf_weights: Inverse document frequencies of the vocabulary.
      sparse: Only False is supported.
      ragged: Only False is supported.

    Call arguments:
      inputs: String tensor of shape `(batch,)` or `(batch, 1)`.

    Raises:
      NotImplementedError: If sparse is set.
      ValueError: If ragged is set, or split is none of these.
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize="lower_and_strip_punctuation",
        split="whitespace",
        ngrams=None,
        output_mode="int",
        output_sequence_length=None,
        pad_to_max_tokens: bool = False,
        vocabulary: Any = None,
        idf_weights=None,
        sparse: bool = False,
        ragged: bool = False,
        **kwargs,
    ) -> None:
        unsupported("TextVectorization", sparse=(sparse, False))
        if ragged:
            raise ValueError(
                "TextVectorization: ragged output is not supported: set output_sequence_length."
            )
        self.standardize, self.split, self.ngrams = standardize, split, ngrams
        if split not in ("whitespace", "character", None):
            raise ValueError(
                f"TextVectorization: split={split} is not supported: use whitespace, character or "
                "None."
            )
        self.output_sequence_length = output_sequence_length
        super().__init__(
            max_tokens,
            1,
            "" if output_mode == "int" else None,
            "[UNK]",
            vocabulary,
            idf_weights=idf_weights,
            output_mode=output_mode,
            pad_to_max_tokens=pad_to_max_tokens,
            **kwargs,
        )

    def _specials(self):
        return ["", "[UNK]"] if self.output_mode == "int" else ["[UNK]"]

    def _parts(self, value):
        text = _text(value)
        how = self.standardize if isinstance(self.standardize, str) else ""
        text = text.lower() if "lower" in how else text
        text = _PUNCTUATION.sub("", text) if "strip_punctuation" in how else text
        result = (
            text.split()
            if self.split == "whitespace"
            else list(text)
            if self.split == "character"
            else [text]
        )
        if not self.ngrams:
            return result
        sizes = range(1, self.ngrams + 1) if isinstance(self.ngrams, int) else self.ngrams
        return [" ".join(result[i : i + n]) for n in sizes for i in range(len(result) - n + 1)]

    def _standard(self, texts):
        return self.standardize(texts) if callable(self.standardize) else texts

    def tokens(self, array):
        array = numpy.asarray(array)
        if callable(self.standardize):
            array = self.standardize(convert_to_tensor(array)).numpy()
        return [self._parts(v) for v in numpy.atleast_1d(array).reshape(-1)]

    def call(self, inputs):
        texts = self._standard(inputs if hasattr(inputs, "dtype") else convert_to_tensor(inputs))
        known = tensor_shape.as_shape(texts.shape).as_list()
        alone = len(known) == 0
        length = self.output_sequence_length

        def indices(array):
            rows = [
                [self.number(t) for t in self._parts(v)] for v in numpy.asarray(array).reshape(-1)
            ]
            if self.output_mode != "int":
                return self._rows(rows)[0 if alone else slice(None)]
            wide = length if length is not None else max(map(len, rows), default=0)
            outputs = numpy.zeros((len(rows), wide), "int64")
            for i, row in enumerate(rows):
                outputs[i, : len(row[:wide])] = row[:wide]
            return outputs[0] if alone else outputs

        last = length if self.output_mode == "int" else self._width()
        result = _by_python(
            indices,
            texts,
            "int64" if self.output_mode == "int" else "float32",
            [last] if alone else [known[0], last],
        )
        return cast(result, self.output_dtype)

    def _rows(self, rows):
        """Encodes lists of indices as rows of a matrix."""
        result = numpy.zeros((len(rows), self._width()), "float32")
        for i, row in enumerate(rows):
            numpy.add.at(result[i], row, 1.0)
        if self.output_mode == "multi_hot":
            return numpy.minimum(result, 1.0)
        return result * self._idf if self.output_mode == "tf_idf" else result

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for key in ("num_oov_indices", "mask_token", "oov_token", "invert"):
            config.pop(key)
        return {
            **config,
            "standardize": self.standardize,
            "split": self.split,
            "ngrams": self.ngrams,
            "output_sequence_length": self.output_sequence_length,
        }


@named("Hashing")
class Hashing(Lookup):
    """Maps values to bins by TensorFlow's fingerprint hash.

    Args:
      num_bins: Number of bins.
      mask_value: Value with bin 0.
      salt: Only None is supported.
      output_mode: "int", "one_hot", "multi_hot" or "count".

    Raises:
      ValueError: If salt is set.
    """

    def __init__(self, num_bins, mask_value=None, salt=None, output_mode="int", **kwargs) -> None:
        if salt is not None:
            raise ValueError("Hashing: situ has no hash with a salt.")
        self.num_bins, self.mask_value = num_bins, mask_value
        super().__init__(output_mode=output_mode, **kwargs)

    def call(self, inputs):
        tensor = inputs if hasattr(inputs, "dtype") else convert_to_tensor(inputs)
        texts = tensor if tensor.dtype.name == "string" else op("AsString", tensor)
        first = int(self.mask_value is not None)
        outputs = op("StringToHashBucketFast", texts, num_buckets=self.num_bins - first) + first
        if first:
            gone = tensor == convert_to_tensor(self.mask_value, tensor.dtype)
            outputs = op("SelectV2", gone, cast(0, "int64"), outputs)
        return self._finish(outputs)

    def _width(self):
        return self.num_bins

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "num_bins": self.num_bins,
            "mask_value": self.mask_value,
            "output_mode": self.output_mode,
            "dtype": self.output_dtype,
        }


_HASH_KEY, _MULTIPLIER = 0xDECAFCAFFE, 0xC6A4A7935BD1E995


def _fingerprint(values):
    """Returns the 64-bit fingerprints of strings; integers are their own."""
    if values.dtype.name != "string":
        return cast(cast(values, "int64"), "uint64")
    size = 1 << 62  # the remainders by two sizes determine all 64 bits
    low, other = (
        op("StringToHashBucketFast", values, num_buckets=count) for count in (size, size - 1)
    )
    high = op("FloorMod", other - low, convert_to_tensor(size - 1, "int64"))
    return cast(low, "uint64") + cast(high, "uint64") * convert_to_tensor(size, "uint64")


def _combined(first, second):
    """Returns the fingerprint of two fingerprints, as TensorFlow's FingerprintCat64."""
    times = convert_to_tensor(_MULTIPLIER, "uint64")
    shift = convert_to_tensor(47, "uint64")
    mixed = lambda x: op("BitwiseXor", x, op("RightShift", x, shift))
    result = op("BitwiseXor", first, times)
    result = op("BitwiseXor", result, mixed(second * times) * times) * times
    return mixed(mixed(result) * times)


@named("HashedCrossing")
class HashedCrossing(Layer):
    """Maps combinations of features to bins by a hash.

    Args:
      num_bins: Number of bins.
      output_mode: "int" or "one_hot".
      sparse: Only False is supported.
      name: Name of the layer.
      dtype: Type of the outputs; default: int64, floatx for "one_hot".

    Call arguments:
      inputs: List of at least two tensors of integers or strings, of shape `()`, `(batch,)` or
        `(batch, 1)`.

    Raises:
      NotImplementedError: If sparse is set.
      ValueError: If output_mode is unknown, or the inputs do not fit.
    """

    def __init__(
        self,
        num_bins: int,
        output_mode: str = "int",
        sparse: bool = False,
        name: str | None = None,
        dtype: Any = None,
        **kwargs,
    ) -> None:
        unsupported("HashedCrossing", sparse=(sparse, False))
        if output_mode not in ("int", "one_hot"):
            raise ValueError(
                f"Unknown value for `output_mode` argument of layer HashedCrossing: {output_mode}. "
                "Allowed values are: ('int', 'one_hot')."
            )
        if dtype is None:
            dtype = "int64" if output_mode == "int" else context.setting("float")
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.num_bins, self.output_mode, self.sparse = num_bins, output_mode, sparse

    def _cast(self, inputs):
        return inputs

    def _checked(self, inputs):
        """Returns the inputs as tensors of equal shape."""
        if not isinstance(inputs, (list, tuple)):
            raise ValueError(
                "`HashedCrossing` should be called on a list or tuple of inputs. Received: "
                f"inputs={inputs}"
            )
        if len(inputs) < 2:
            raise ValueError(
                "`HashedCrossing` should be called on at least two inputs. Received: "
                f"inputs={inputs}"
            )
        inputs = [x if hasattr(x, "_situ_tensors_") else convert_to_tensor(x) for x in inputs]
        wrong = f" Received: inputs={inputs}"
        if any(hasattr(x, "_situ_tensors_") for x in inputs):
            raise ValueError("All `HashedCrossing` inputs should be dense tensors." + wrong)
        sizes = inputs[0].shape.as_list()
        if len(sizes) > 2 or len(sizes) == 2 and sizes[-1] != 1:
            raise ValueError(
                "All `HashedCrossing` inputs should have shape `()`, `(batch_size)` or "
                "`(batch_size, 1)`." + wrong
            )
        if any(x.shape.as_list() != sizes for x in inputs[1:]):
            raise ValueError("All `HashedCrossing` inputs should have equal shape." + wrong)
        if not all(x.dtype.is_integer or x.dtype.name == "string" for x in inputs):
            raise ValueError(
                "All `HashedCrossing` inputs should have an integer or string dtype." + wrong
            )
        return inputs

    def call(self, inputs):
        inputs = self._checked(inputs)
        result = convert_to_tensor(_HASH_KEY, "uint64")
        for values in inputs:
            result = _combined(result, _fingerprint(values))
        bins = op("Mod", result, convert_to_tensor(self.num_bins, "uint64"))
        bins = cast(bins, "int64")
        if self.output_mode == "int":
            return cast(bins, self.dtype)
        if bins.shape.rank == 2:
            bins = op("Squeeze", bins, [1])
        return api.named("one_hot")(bins, self.num_bins, dtype=self.dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "num_bins": self.num_bins,
            "output_mode": self.output_mode,
            "sparse": self.sparse,
            "dtype": self.dtype,
        }
