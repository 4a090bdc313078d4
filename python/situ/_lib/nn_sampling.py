# SPDX-License-Identifier: Apache-2.0
"""nn_sampling.py: losses over a sample of the classes: tf.nn.nce_loss, tf.nn.sampled_softmax_loss.

Unique candidates are drawn one after the other without putting any back; how often a class is to be
expected is then 1 - (1 - p)^num_sampled.
"""
import collections
import math

from situ._lib import gathering, nn_loss, random_ops
from situ._lib.api import OPS, export
from situ._lib.array_ops import cast, constant, convert_to_tensor, op
from situ._lib.graph import scope

Sampled = collections.namedtuple("CandidateSampler", [
    "sampled_candidates", "true_expected_count", "sampled_expected_count"])


def _log_uniform(classes, range_max):
    """The probability of a class, which falls as 1 / class does."""
    x = cast(classes, "float32")
    return (op("Log", x + 2.0) - op("Log", x + 1.0)) / math.log(range_max + 1)


def _uniform(classes, range_max):
    return op("OnesLike", cast(classes, "float32")) / float(range_max)


def _draw(probability, count, range_max, seed):
    """Different classes: the largest of log(p) and noise, which is a draw without putting back."""
    noise = random_ops.random_uniform([range_max], 1e-20, 1.0, seed=seed)
    keys = op("Log", probability(constant(list(range(range_max)), "int32"), range_max)) - \
        op("Log", op("Neg", op("Log", noise)))
    return cast(OPS["TopKV2"](keys, count)[1], "int64")


def _draw_again(probability, count, range_max, seed):
    """Classes that may come more than once."""
    noise = random_ops.random_uniform([count], seed=seed)
    if probability is _uniform:
        return cast(noise * float(range_max), "int64")
    return cast(op("Exp", noise * math.log(range_max + 1)), "int64") - constant(1, "int64")


def _sampler(name, probability):
    def sample(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
        if unique and num_sampled > range_max:
            raise ValueError(f"Cannot draw {num_sampled} different classes of {range_max}.")
        with scope(name, word):
            draw = _draw if unique else _draw_again
            found = draw(probability, num_sampled, range_max, seed)

            def expected(classes):
                p = probability(classes, range_max)
                if not unique:
                    return p * float(num_sampled)
                return op("Neg", op("Expm1", op("Log1p", op("Neg", p)) * float(num_sampled)))
            return Sampled(found, expected(convert_to_tensor(true_classes)), expected(found))
    word = sample.__name__ = name
    export("random." + name, v1="nn." + name)(sample)
    return sample


log_uniform_candidate_sampler = _sampler("log_uniform_candidate_sampler", _log_uniform)
uniform_candidate_sampler = _sampler("uniform_candidate_sampler", _uniform)


def _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            subtract_log_q, remove_accidental_hits, partition_strategy, seed):
    """Logits of the true classes and of the sample, and what they should be."""
    labels = cast(convert_to_tensor(labels), "int64")
    inputs = convert_to_tensor(inputs)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True,
                                                       num_classes, seed)
    sampled, true_count, sampled_count = (op("StopGradient", convert_to_tensor(s))
                                          for s in sampled_values)
    sampled = cast(sampled, "int64")
    flat = op("Reshape", labels, [-1])

    def rows(table, ids):
        return gathering.embedding_lookup(table, ids, partition_strategy)
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
def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
             sampled_values=None, remove_accidental_hits=False, partition_strategy="mod",
             name="nce_loss"):
    """Noise-contrastive estimation: tell the true classes from a sample of others."""
    with scope(name, "nce_loss"):
        logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes,
                                 num_true, sampled_values, True, remove_accidental_hits,
                                 partition_strategy, None)
        losses = nn_loss.sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits)
        return OPS["Sum"](losses, 1)


@export(v2="nn.nce_loss")
def nce_loss_v2(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
                sampled_values=None, remove_accidental_hits=False, name="nce_loss"):
    return nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                    sampled_values, remove_accidental_hits, "div", name)


@export(v1="nn.sampled_softmax_loss")
def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
                         sampled_values=None, remove_accidental_hits=True,
                         partition_strategy="mod", name="sampled_softmax_loss", seed=None):
    """The cross-entropy of softmax over the true classes and a sample of others."""
    with scope(name, "sampled_softmax_loss"):
        logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes,
                                 num_true, sampled_values, True, remove_accidental_hits,
                                 partition_strategy, seed)
        return nn_loss.softmax_cross_entropy_with_logits(
            labels=op("StopGradient", wanted), logits=logits)


@export(v2="nn.sampled_softmax_loss")
def sampled_softmax_loss_v2(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
                            sampled_values=None, remove_accidental_hits=True, seed=None,
                            name="sampled_softmax_loss"):
    return sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes,
                                num_true, sampled_values, remove_accidental_hits, "div", name,
                                seed)
