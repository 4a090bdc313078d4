# SPDX-License-Identifier: Apache-2.0
# __init__.py: the parts of situ behind the names of tf.
