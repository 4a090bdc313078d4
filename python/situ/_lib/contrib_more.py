# SPDX-License-Identifier: Apache-2.0
"""contrib_more.py: layers upon layers of tf.contrib.layers: repeat, stack; norms, codes, words; the
cross-entropies of tf.contrib.nn, with logits first."""
from situ._lib import initializers, nn_loss, nn_norm, variable_scope as scopes
from situ._lib.api import BOTH, V1, export
from situ._lib.array_ops import cast, convert_to_tensor, op
from situ._lib.contrib_layers import collect, exported, model_variable
from situ._lib.graph import get_default_graph, scope as name_scope


@exported("repeat")
def repeat(inputs, repetitions, layer, *args, **kwargs):
    """A layer on its own result, some times: scopes conv_1, conv_2, ..."""
    scope = kwargs.pop("scope", None)
    with scopes.variable_scope(scope, "Repeat"):
        made = convert_to_tensor(inputs)
        scope = scope or getattr(layer, "__name__", None) or layer.func.__name__
        for i in range(repetitions):
            made = layer(made, *args, scope=f"{scope}_{i + 1}", **kwargs)
        return made


@exported("stack")
def stack(inputs, layer, stack_args, **kwargs):
    """A layer on its own result, each time with the next arguments."""
    scope = kwargs.pop("scope", None)
    with scopes.variable_scope(scope, "Stack"):
        made = convert_to_tensor(inputs)
        scope = scope or getattr(layer, "__name__", None) or layer.func.__name__
        for i, args in enumerate(stack_args):
            args = args if isinstance(args, (list, tuple)) else [args]
            made = layer(made, *args, scope=f"{scope}_{i + 1}", **kwargs)
        return made


@exported("softmax")
def softmax(logits, scope=None):
    """The softmax of the last dimension, whatever the rank."""
    with scopes.variable_scope(scope, "softmax"):
        return op("Softmax", convert_to_tensor(logits))


@exported("bias_add")
def bias_add(inputs, activation_fn=None, initializer=initializers.Zeros, regularizer=None,
             reuse=None, variables_collections=None, outputs_collections=None, trainable=True,
             data_format="NHWC", scope=None):
    """activation_fn(inputs plus biases)."""
    with scopes.variable_scope(scope, "BiasAdd", reuse=reuse):
        inputs = convert_to_tensor(inputs)
        width = inputs.shape.as_list()[1 if data_format == "NCHW" else -1]
        biases = model_variable("biases", [width], None, initializer, regularizer, trainable,
                                variables_collections)
        made = op("BiasAdd", inputs, biases, data_format=data_format)
        return collect(made if activation_fn is None else activation_fn(made),
                       outputs_collections)


@exported("one_hot_encoding")
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None,
                     scope=None):
    """Numbers of classes as rows with one 1."""
    one_hot = BOTH.get("one_hot") or V1["one_hot"]
    with name_scope(scope, "OneHotEncoding"):
        labels = convert_to_tensor(labels)
        labels = cast(labels, "int64") if labels.dtype == "int32" else labels
        return collect(one_hot(labels, num_classes, on_value, off_value), outputs_collections)


@exported("layer_norm")
def layer_norm(inputs, center=True, scale=True, activation_fn=None, reuse=None,
               variables_collections=None, outputs_collections=None, trainable=True,
               begin_norm_axis=1, begin_params_axis=-1, scope=None):
    """Each example normalised for itself."""
    with scopes.variable_scope(scope, "LayerNorm", reuse=reuse):
        inputs = convert_to_tensor(inputs)
        rank, shape = inputs.shape.ndims, inputs.shape.as_list()
        params = shape[begin_params_axis:]

        def part(name, first):
            return model_variable(name, params, None, first, None, trainable,
                                  variables_collections)
        beta = part("beta", initializers.Zeros) if center else None
        gamma = part("gamma", initializers.Ones) if scale else None
        axes = list(range(begin_norm_axis % rank, rank))
        mean, variance = nn_norm.moments(inputs, axes, keep_dims=True)
        made = nn_norm.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)
        return collect(made if activation_fn is None else activation_fn(made),
                       outputs_collections)


@exported("embed_sequence")
def embed_sequence(ids, vocab_size=None, embed_dim=None, unique=False, initializer=None,
                   regularizer=None, trainable=True, scope=None, reuse=None):
    """The rows of a table that stand for words."""
    with scopes.variable_scope(scope, "EmbedSequence", reuse=reuse):
        table = model_variable("embeddings", [vocab_size, embed_dim], "float32", initializer,
                               regularizer, trainable)
        return (BOTH.get("nn.embedding_lookup") or V1["nn.embedding_lookup"])(table, ids)


@exported("unit_norm")
def unit_norm(inputs, dim, epsilon=1e-7, scope=None):
    """Inputs over their length along a dimension."""
    with scopes.variable_scope(scope, "UnitNorm"):
        inputs = convert_to_tensor(inputs)
        squares = op("Sum", inputs * inputs, [dim], keep_dims=True)
        return inputs / op("Sqrt", squares + epsilon)


for _name in ("summarize_tensor", "summarize_activation"):
    @export(v1="contrib.layers." + _name)
    def _summarize(tensor, tag=None):
        """A summary of a tensor: a number, or how its elements are spread."""
        from situ._lib import summary_ops
        name = tag or tensor.op.name
        return summary_ops.scalar(name, tensor) if tensor.shape.ndims == 0 else \
            summary_ops.histogram(name, tensor)


@export(v1="contrib.layers.summarize_collection")
def summarize_collection(collection, name_filter=None, summarizer=_summarize):
    """Summaries of all that is in a collection."""
    return [summarizer(t) for t in get_default_graph().get_collection(collection, name_filter)]


@export(v1="contrib.layers.summarize_tensors")
def summarize_tensors(tensors, summarizer=_summarize):
    return [summarizer(t) for t in tensors]


@export(v1="contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits")
def flipped_softmax_cross_entropy(logits, labels, dim=-1, name=None):
    """tf.nn.softmax_cross_entropy_with_logits as it was called before TensorFlow 1.0."""
    return nn_loss.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim,
                                                     name=name)


@export(v1="contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits")
def flipped_sparse_softmax_cross_entropy(logits, labels, name=None):
    """tf.nn.sparse_softmax_cross_entropy_with_logits as it was called before TensorFlow 1.0."""
    return nn_loss.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits,
                                                            name=name)


@export(v1="contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits")
def flipped_sigmoid_cross_entropy(logits, targets, name=None):
    """tf.nn.sigmoid_cross_entropy_with_logits as it was called before TensorFlow 1.0."""
    return nn_loss.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)
