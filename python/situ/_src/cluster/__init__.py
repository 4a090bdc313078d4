# SPDX-License-Identifier: Apache-2.0
"""__init__.py: several processes: membership, messages, variables, sessions."""
