# SPDX-License-Identifier: Apache-2.0
"""__init__.py: several processes: who is there, messages, variables, strategies."""
