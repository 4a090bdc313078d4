# SPDX-License-Identifier: Apache-2.0
"""sampling.py: losses over a sample of the classes: tf.nn.nce_loss and its like."""

import collections

from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.ops import embedding_ops, random_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.nn import losses as nn_loss

Sampled = collections.namedtuple(
    "CandidateSampler", ["sampled_candidates", "true_expected_count", "sampled_expected_count"]
)


def _drawn(row, true_classes, seed, **attrs):
    """A sample that an op draws."""
    one, two = random_ops.get_seed(seed)
    classes = cast(convert_to_tensor(true_classes), "int64")
    return Sampled(*OPS[row](classes, seed=one or 0, seed2=two or 0, **attrs))


def _sampler(word, row):
    @export("random." + word, v1="nn." + word)
    def sample(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
        return _drawn(
            row,
            true_classes,
            seed,
            num_true=num_true,
            num_sampled=num_sampled,
            unique=unique,
            range_max=range_max,
            name=name,
        )

    sample.__name__ = word
    return sample


log_uniform_candidate_sampler = _sampler(
    "log_uniform_candidate_sampler", "LogUniformCandidateSampler"
)
uniform_candidate_sampler = _sampler("uniform_candidate_sampler", "UniformCandidateSampler")


@export("random.fixed_unigram_candidate_sampler", "nn.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes,
    num_true,
    num_sampled,
    unique,
    range_max,
    vocab_file="",
    distortion=1.0,
    num_reserved_ids=0,
    num_shards=1,
    shard=0,
    unigrams=(),
    seed=None,
    name=None,
):
    """Classes as often as their weights say, in a list or at the ends of lines of a file, each to
    the power of distortion. num_reserved_ids classes before them are never drawn; of num_shards
    parts this is one: every num_shards-th class."""
    return _drawn(
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
def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """All classes: what a sample is compared with."""
    with scope(name, "AllCandidateSampler"):
        classes = convert_to_tensor(true_classes)
        every = op("Range", cast(0, "int64"), cast(num_sampled, "int64"), cast(1, "int64"))
        return Sampled(
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
    """Logits of the true classes and of the sample, and what they should be."""
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
    true = OPS["Sum"](op("ExpandDims", inputs, 1) * true_rows, 2)
    true = true + op("Reshape", rows(biases, flat), [-1, num_true])
    others = op("MatMul", inputs, rows(weights, sampled), transpose_b=True) + rows(biases, sampled)
    if remove_accidental_hits:
        hits = OPS["Max"](cast(op("Equal", op("ExpandDims", labels, 2), sampled), "float32"), 1)
        others = others - hits * 1e30
    if subtract_log_q:
        true = true - op("Log", op("Reshape", true_count, [-1, num_true]))
        others = others - op("Log", sampled_count)
    wanted = [op("OnesLike", true) / float(num_true), op("ZerosLike", others)]
    return op("ConcatV2", [true, others], 1), op("ConcatV2", wanted, 1)


@export(v1="nn.nce_loss")
def nce_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=False,
    partition_strategy="mod",
    name="nce_loss",
):
    """Noise-contrastive estimation: tell the true classes from a sample of others."""
    with scope(name, "nce_loss"):
        logits, wanted = _logits(
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
        losses = nn_loss.sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits)
        return OPS["Sum"](losses, 1)


@export(v2="nn.nce_loss")
def nce_loss_v2(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=False,
    name="nce_loss",
):
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
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=True,
    partition_strategy="mod",
    name="sampled_softmax_loss",
    seed=None,
):
    """The cross-entropy of softmax over the true classes and a sample of others."""
    with scope(name, "sampled_softmax_loss"):
        logits, wanted = _logits(
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
            labels=op("StopGradient", wanted), logits=logits
        )


@export(v2="nn.sampled_softmax_loss")
def sampled_softmax_loss_v2(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=True,
    seed=None,
    name="sampled_softmax_loss",
):
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
