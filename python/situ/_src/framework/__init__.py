# SPDX-License-Identifier: Apache-2.0
"""__init__.py: graphs, sessions, functions, types, and the table of public names."""
