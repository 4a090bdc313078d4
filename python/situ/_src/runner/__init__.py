# SPDX-License-Identifier: Apache-2.0
"""__init__.py: `situ run`: import hook, style detection, stand-ins for packages."""
