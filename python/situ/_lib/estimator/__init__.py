# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.estimator: models as functions, and the loops that train and evaluate them."""
from situ._lib.estimator import (config, estimator, inputs, spec, train_and_evaluate)

PARTS = (config, estimator, inputs, spec, train_and_evaluate)
