# SPDX-License-Identifier: Apache-2.0
"""feature_layers.py: tf.feature_column.input_layer, linear_model and make_parse_example_spec."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.keywords import unsupported
from situ._src.legacy.feature_column import Column, Dense, combined, rows_of, whole
from situ._src.ops import init_ops
from situ._src.ops.array_ops import op
from situ._src.variables.variable_scope import get_variable, get_variable_scope, variable_scope


def _sorted(columns):
    if isinstance(columns, Column):
        columns = [columns]
    columns = list(columns)
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    names = set()
    for column in columns:
        if not isinstance(column, Column):
            raise ValueError(
                "Items of feature_columns must be a _FeatureColumn. Given "
                f"(type {type(column)}): {column}."
            )
        if column.name in names:
            raise ValueError(f"Duplicate feature column name found for columns: {column.name}.")
        names.add(column.name)
    return sorted(columns, key=lambda c: c.name)


def in_order(columns):
    """Returns dense columns sorted by name; raises an error for others."""
    columns = _sorted(columns)
    for column in columns:
        if not isinstance(column, Dense):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a "
                "categorical column with an embedding_column or "
                f"indicator_column. Given: {column}"
            )
    return columns


@export("feature_column.input_layer", v1="contrib.layers.input_from_feature_columns")
def input_layer(
    features: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: Any = None,
    cols_to_output_tensors: Any = None,
) -> Any:
    """Returns the concatenated columns, in the order of their names: [examples, width].

    Args:
      features: Dictionary from names to tensors.
      feature_columns: Dense columns.
      weight_collections: Must be None.
      trainable: Must be True; embedding_column has an argument of its own.
      cols_to_vars: Dictionary that receives the variables of each column.
      cols_to_output_tensors: Dictionary that receives the tensor of each column.

    Raises:
      NotImplementedError: If weight_collections or trainable has another value.
    """
    unsupported(
        "input_layer",
        trainable=(trainable, True),
        weight_collections=(weight_collections, None),
    )
    parts = []
    with variable_scope(None, "input_layer"):
        for column in in_order(feature_columns):
            with variable_scope(column.name.replace(" ", "_")):
                parts.append(op("Reshape", column.tensor(features), [-1, column.width]))
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = parts[-1]
                if cols_to_vars is not None:
                    cols_to_vars[column] = get_default_graph().get_collection(
                        GraphKeys.GLOBAL_VARIABLES, get_variable_scope().name + "/"
                    )
        return parts[0] if len(parts) == 1 else op("ConcatV2", parts, 1)


def _weights(name, shape, trainable, collections):
    """Creates a variable of zeros in GLOBAL_VARIABLES and further collections."""
    keys = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES]
    return get_variable(
        name,
        shape,
        initializer=init_ops.Zeros(),
        trainable=trainable,
        collections=list(dict.fromkeys(keys)),
    )


def _parts(weights):
    return list(weights) if hasattr(weights, "as_tensor") else [weights]


@export("feature_column.linear_model")
def linear_model(
    features: Any,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: Any = None,
) -> Any:
    """Returns a weighted sum of all columns plus a bias: [examples, units].

    Args:
      features: Dictionary from names to tensors.
      feature_columns: Columns.
      units: Number of outputs.
      sparse_combiner: How several values of a categorical column are combined.
      weight_collections: Further collections of the variables.
      trainable: Whether the variables are trained.
      cols_to_vars: Dictionary that receives the variables of each column.
    """
    parts = []
    with variable_scope(None, "linear_model"):
        for column in _sorted(feature_columns):
            with variable_scope(column.name.replace(" ", "_")):
                if hasattr(column, "ids"):
                    shape = [column.num_buckets, units]
                    weights = _weights("weights", shape, trainable, weight_collections)
                    ids = column.ids(features)
                    parts.append(combined(rows_of(whole(weights), ids), ids, sparse_combiner))
                else:
                    shape = [column.width, units]
                    weights = _weights("weights", shape, trainable, weight_collections)
                    parts.append(op("MatMul", column.tensor(features), whole(weights)))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _parts(weights)
        bias = _weights("bias_weights", [units], trainable, weight_collections)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = _parts(bias)
        return op("BiasAdd", op("AddN", parts), whole(bias), name="weighted_sum")


@export(
    "feature_column.make_parse_example_spec", v1="contrib.layers.create_feature_spec_for_parsing"
)
def make_parse_example_spec(feature_columns: Any) -> Any:
    """Returns the feature specification of columns for tf.io.parse_example.

    Args:
      feature_columns: List of feature columns.
    """
    result: dict = {}
    for column in feature_columns:
        if not isinstance(column, Column):
            raise ValueError(
                f"All feature_columns must be _FeatureColumn instances. Given: {column}"
            )
        for key, feature in column.spec().items():
            if key in result and result[key] != feature:
                raise ValueError(f"feature_columns contain different parse_spec for key {key}.")
            result[key] = feature
    return result
