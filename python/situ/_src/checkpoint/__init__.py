# SPDX-License-Identifier: Apache-2.0
"""__init__.py: checkpoints: savers, readers, file formats."""
