# SPDX-License-Identifier: Apache-2.0
"""__init__.py: the API of Keras 3 (`import situ.keras3 as keras`), on the layers of tf.keras."""
