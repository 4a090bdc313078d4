# SPDX-License-Identifier: Apache-2.0
"""__init__.py: Python control flow over tensors, converted to ops of a graph."""
