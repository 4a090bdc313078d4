# SPDX-License-Identifier: Apache-2.0
"""pytest_situ.py: pytest finds this by itself: the fixture simulated_gpus."""
