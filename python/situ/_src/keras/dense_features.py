# SPDX-License-Identifier: Apache-2.0
"""dense_features.py: tf.keras.layers.DenseFeatures."""

import math

from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named
from situ._src.legacy import feature_layers
from situ._src.legacy.feature_column import Embedding, combined, rows_of
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.init_ops import TruncatedNormal


@named("DenseFeatures")
class DenseFeatures(Layer):
    """Concatenates dense feature columns in the order of their names.

    Args:
      feature_columns: Dense feature columns.
      trainable: Whether the variables are trained.
      name: Name of the layer.

    Call arguments:
      features: Dictionary from names to tensors.
    """

    def __init__(self, feature_columns, trainable=True, name=None, **kwargs):
        super().__init__(name=name, trainable=trainable, **{"dtype": "float32", **kwargs})
        self._columns = feature_layers.in_order(feature_columns)
        self._tables = {}

    def __call__(self, features, *args, **kwargs):
        if not isinstance(features, dict):
            raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
        features = {
            k: v if hasattr(v, "dtype") or hasattr(v, "indices") else convert_to_tensor(v)
            for k, v in features.items()
        }
        return super().__call__(features, *args, **kwargs)

    def build(self, input_shape):
        for column in self._columns:
            if isinstance(column, Embedding):
                first = column.initializer or TruncatedNormal(
                    0.0, 1.0 / math.sqrt(column.dimension)
                )
                self._tables[column.name] = self.add_weight(
                    column.name + "/embedding_weights",
                    [column.categories.num_buckets, column.dimension],
                    initializer=first,
                    trainable=self.trainable and column.trainable,
                )
        self.built = True

    def call(self, features, cols_to_output_tensors=None, training=None):
        del training  # columns compute the same in training
        parts = []
        for column in self._columns:
            if column.name in self._tables:
                ids = column.categories.ids(features)
                rows = rows_of(self._tables[column.name].value(), ids)
                result = combined(rows, ids, column.combiner)
            else:
                result = column.tensor(features)
            parts.append(op("Reshape", result, [-1, column.width]))
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = parts[-1]
        return parts[0] if len(parts) == 1 else op("ConcatV2", parts, 1)
