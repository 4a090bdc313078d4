# SPDX-License-Identifier: Apache-2.0
"""sampling.py: candidate samplers and losses over sampled classes: tf.nn.nce_loss,
sampled_softmax_loss."""

from __future__ import annotations

import collections

from situ._src.framework import errors
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.ops import embedding_ops, random_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.nn import losses as nn_loss

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike

CandidateSampler = collections.namedtuple(
    "CandidateSampler", ["sampled_candidates", "true_expected_count", "sampled_expected_count"]
)


def _draw(op_name, true_classes, seed, **attrs):
    """Draws candidates with an op."""
    one, two = random_ops.get_seed(seed)
    classes = cast(convert_to_tensor(true_classes), "int64")
    return CandidateSampler(*OPS[op_name](classes, seed=one or 0, seed2=two or 0, **attrs))


def _sampler(public_name, op_name):
    @export("random." + public_name, v1="nn." + public_name)
    def sample(
        true_classes: TensorLike,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ):
        """Samples a set of classes.

        Args:
          true_classes: An int64 tensor [batch, num_true] of the target classes.
          num_true: The number of target classes per example.
          num_sampled: The number of classes to sample.
          unique: Whether sampled classes are distinct.
          range_max: The number of classes.
          seed: The seed of this op.
          name: A name for the operation (optional).

        Returns:
          A named tuple (sampled_candidates, true_expected_count, sampled_expected_count).
        """
        return _draw(
            op_name,
            true_classes,
            seed,
            num_true=num_true,
            num_sampled=num_sampled,
            unique=unique,
            range_max=range_max,
            name=name,
        )

    sample.__name__ = public_name
    return sample


log_uniform_candidate_sampler = _sampler(
    "log_uniform_candidate_sampler", "LogUniformCandidateSampler"
)
uniform_candidate_sampler = _sampler("uniform_candidate_sampler", "UniformCandidateSampler")


@export("random.fixed_unigram_candidate_sampler", "nn.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: TensorLike,
    num_sampled: TensorLike,
    unique: TensorLike,
    range_max: TensorLike,
    vocab_file: str = "",
    distortion: TensorLike = 1.0,
    num_reserved_ids: TensorLike = 0,
    num_shards: TensorLike = 1,
    shard: TensorLike = 0,
    unigrams: TensorLike = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Samples classes with probabilities proportional to `unigrams`, or to the weights of a
    vocabulary
    file, each raised to the power `distortion`. Ids below `num_reserved_ids` are never drawn; with
    `num_shards` only every num_shards-th class, beginning with `shard`, is.

    Args:
      true_classes: An int64 tensor [batch, num_true] of the target classes.
      num_true: The number of target classes per example.
      num_sampled: The number of negative classes to sample.
      unique: Whether sampled classes are distinct.
      range_max: The number of classes.
      vocab_file: File with a class in each line; the last field is its weight.
      distortion: Exponent of the weights.
      num_reserved_ids: Number of first classes that are not sampled.
      num_shards: Number of shards of the classes.
      shard: Index of the shard to sample from.
      unigrams: Weights of the classes.
      seed: The seed of this op.
      name: A name for the operation (optional).
    """
    return _draw(
        "FixedUnigramCandidateSampler",
        true_classes,
        seed,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=[float(u) for u in unigrams],
        name=name,
    )


@export("random.all_candidate_sampler", v1="nn.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: TensorLike,
    num_sampled: TensorLike,
    unique: TensorLike,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns the classes 0 to `num_sampled` - 1 as candidates; `unique` and `seed` have no effect,
    as every class is drawn exactly once.

    Args:
      true_classes: An int64 tensor [batch, num_true] of the target classes.
      num_true: The number of target classes per example.
      num_sampled: The number of negative classes to sample.
      unique: Whether sampled classes are distinct.
      seed: The seed of this op.
      name: A name for the operation (optional).
    """
    del unique, seed  # every class is drawn exactly once
    with scope(name, "AllCandidateSampler"):
        classes = convert_to_tensor(true_classes)
        columns = classes.shape.as_list()[1] if classes.shape.rank == 2 else None
        if columns not in (None, num_true):
            raise errors.invalid_argument(
                f"true_classes must have num_true columns, expected: {columns} was: {num_true}"
            )
        every = op("Range", cast(0, "int64"), cast(num_sampled, "int64"), cast(1, "int64"))
        return CandidateSampler(
            every, op("OnesLike", cast(classes, "float32")), op("OnesLike", cast(every, "float32"))
        )


def _logits(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true,
    sampled_values,
    subtract_log_q,
    remove_accidental_hits,
    partition_strategy,
    seed,
):
    """Returns (logits of true and sampled classes, their targets)."""
    labels = cast(convert_to_tensor(labels), "int64")
    inputs = convert_to_tensor(inputs)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            labels, num_true, num_sampled, True, num_classes, seed
        )
    sampled, true_count, sampled_count = (
        op("StopGradient", convert_to_tensor(s)) for s in sampled_values
    )
    sampled = cast(sampled, "int64")
    flat = op("Reshape", labels, [-1])

    def rows(table, ids):
        return embedding_ops.embedding_lookup(table, ids, partition_strategy)

    width = inputs.shape.as_list()[-1]
    true_rows = op("Reshape", rows(weights, flat), [-1, num_true, width])
    true_logits = OPS["Sum"](op("ExpandDims", inputs, 1) * true_rows, 2)
    true_logits = true_logits + op("Reshape", rows(biases, flat), [-1, num_true])
    sampled_logits = op("MatMul", inputs, rows(weights, sampled), transpose_b=True) + rows(
        biases, sampled
    )
    if remove_accidental_hits:
        random_ops.get_seed(None)  # like TensorFlow, whose op takes a seed of the graph
        hits = OPS["Max"](cast(op("Equal", op("ExpandDims", labels, 2), sampled), "float32"), 1)
        sampled_logits = sampled_logits - hits * 1e30
    if subtract_log_q:
        true_logits = true_logits - op("Log", op("Reshape", true_count, [-1, num_true]))
        sampled_logits = sampled_logits - op("Log", sampled_count)
    targets = [op("OnesLike", true_logits) / float(num_true), op("ZerosLike", sampled_logits)]
    return op("ConcatV2", [true_logits, sampled_logits], 1), op("ConcatV2", targets, 1)


@export(v1="nn.nce_loss")
def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: TensorLike,
    num_classes: TensorLike,
    num_true: TensorLike = 1,
    sampled_values: TensorLike = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = "nce_loss",
) -> Tensor:
    """Computes the noise-contrastive estimation loss.

    Args:
      weights: A tensor [num_classes, dim], or a list of its partitions.
      biases: A tensor [num_classes].
      labels: An int64 tensor [batch, num_true] of the target classes.
      inputs: A tensor [batch, dim].
      num_sampled: The number of negative classes to sample.
      num_classes: The number of classes.
      num_true: The number of target classes per example.
      sampled_values: The result of a candidate sampler; log-uniform by default.
      remove_accidental_hits: Whether sampled classes that are targets are ignored.
      partition_strategy: "mod" or "div", how rows are distributed over partitions.
      name: A name for the operation (optional).

    Returns:
      A tensor [batch] of losses.
    """
    with scope(name, "nce_loss"):
        logits, targets = _logits(
            weights,
            biases,
            labels,
            inputs,
            num_sampled,
            num_classes,
            num_true,
            sampled_values,
            True,
            remove_accidental_hits,
            partition_strategy,
            None,
        )
        losses = nn_loss.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)
        return OPS["Sum"](losses, 1)


@export(v2="nn.nce_loss")
def nce_loss_v2(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: TensorLike,
    num_classes: TensorLike,
    num_true: TensorLike = 1,
    sampled_values: TensorLike = None,
    remove_accidental_hits: bool = False,
    name: str | None = "nce_loss",
) -> Tensor:
    """Computes the noise-contrastive estimation loss; see `tf.compat.v1.nn.nce_loss`.

    Args:
      weights: A tensor [num_classes, dim], or a list of its partitions.
      biases: A tensor [num_classes].
      labels: An int64 tensor [batch, num_true] of the target classes.
      inputs: A tensor [batch, dim].
      num_sampled: The number of negative classes to sample.
      num_classes: The number of classes.
      num_true: The number of target classes per example.
      sampled_values: The result of a candidate sampler; log-uniform by default.
      remove_accidental_hits: Whether sampled classes that are targets are ignored.
      name: A name for the operation (optional).
    """
    return nce_loss(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        "div",
        name,
    )


@export(v1="nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: TensorLike,
    num_classes: TensorLike,
    num_true: TensorLike = 1,
    sampled_values: TensorLike = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str | None = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Computes the softmax cross-entropy over the target classes and sampled ones; the arguments
    are those
    of `tf.nn.nce_loss`.

    Args:
      weights: A tensor [num_classes, dim], or a list of its partitions.
      biases: A tensor [num_classes].
      labels: An int64 tensor [batch, num_true] of the target classes.
      inputs: A tensor [batch, dim].
      num_sampled: The number of negative classes to sample.
      num_classes: The number of classes.
      num_true: The number of target classes per example.
      sampled_values: The result of a candidate sampler; log-uniform by default.
      remove_accidental_hits: Whether sampled classes that are targets are ignored.
      partition_strategy: "mod" or "div", how rows are distributed over partitions.
      name: A name for the operation (optional).
      seed: The seed of this op.
    """
    with scope(name, "sampled_softmax_loss"):
        logits, targets = _logits(
            weights,
            biases,
            labels,
            inputs,
            num_sampled,
            num_classes,
            num_true,
            sampled_values,
            True,
            remove_accidental_hits,
            partition_strategy,
            seed,
        )
        return nn_loss.softmax_cross_entropy_with_logits(
            labels=op("StopGradient", targets), logits=logits
        )


@export(v2="nn.sampled_softmax_loss")
def sampled_softmax_loss_v2(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: TensorLike,
    num_classes: TensorLike,
    num_true: TensorLike = 1,
    sampled_values: TensorLike = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str | None = "sampled_softmax_loss",
) -> Tensor:
    """Computes the softmax cross-entropy over the target classes and sampled ones; the arguments
    are those
    of `tf.nn.nce_loss`.

    Args:
      weights: A tensor [num_classes, dim], or a list of its partitions.
      biases: A tensor [num_classes].
      labels: An int64 tensor [batch, num_true] of the target classes.
      inputs: A tensor [batch, dim].
      num_sampled: The number of negative classes to sample.
      num_classes: The number of classes.
      num_true: The number of target classes per example.
      sampled_values: The result of a candidate sampler; log-uniform by default.
      remove_accidental_hits: Whether sampled classes that are targets are ignored.
      seed: The seed of this op.
      name: A name for the operation (optional).
    """
    return sampled_softmax_loss(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        "div",
        name,
        seed,
    )
