# SPDX-License-Identifier: Apache-2.0
"""__init__.py: functions of tf that are made of ops."""
