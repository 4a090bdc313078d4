# SPDX-License-Identifier: Apache-2.0
"""ipython_extension.py: `%load_ext situ` (or situ.compat.v1) in IPython and Jupyter: from then on
`import tensorflow` imports situ."""

from __future__ import annotations

import sys

from situ._src.framework import style
from situ._src.runner import import_hook, numpy_aliases, stand_ins


def load(version: str, shell: object) -> None:
    """Installs situ as tensorflow in an interactive shell.

    Args:
        version: 'v1' for graph style, 'v2' for eager style.
        shell: the shell of IPython.

    Raises:
        RuntimeError: if TensorFlow itself was imported before.
    """
    del shell  # every namespace of the process sees the import hook
    loaded = sys.modules.get("tensorflow")
    if loaded is not None and not getattr(loaded, "__name__", "").startswith("situ"):
        raise RuntimeError(
            "TensorFlow was imported before situ. Restart the kernel and run %load_ext situ first."
        )
    if loaded is not None:
        return
    style.set_root("tensorflow")
    import_hook.install(version)
    stand_ins.install()
    if version == "v1":
        numpy_aliases.install()
