# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.estimator: models as functions, and the loops that train and evaluate them."""
from situ._lib import feature_column, feature_layers
from situ._lib.estimator import (canned, config, estimator, exporting, inputs, keras_model,
                                 kmeans, spec, train_and_evaluate)

PARTS = (canned, config, estimator, exporting, feature_column, feature_layers, inputs,
         keras_model, kmeans, spec, train_and_evaluate)
