# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.estimator: models as functions, and the loops that train and evaluate them."""
