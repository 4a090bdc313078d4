# SPDX-License-Identifier: Apache-2.0
"""__init__.py: variables of both styles, and their scopes."""
