# SPDX-License-Identifier: Apache-2.0
"""missing_names.py: error messages for names that situ does not have: the nearest name, and where
to read what is supported."""

from __future__ import annotations

import functools

from situ._src.framework import style

# Name prefix -> hint; the longest prefix counts.
PLANS = {
    "keras": "docs/how-to/keras.md lists what is supported of Keras.",
    "keras3": "docs/how-to/keras3.md lists what is supported of Keras 3.",
    "layers": "tf.layers has what programs use most; tf.keras.layers has more.",
    "contrib": "tf.contrib is not planned as a whole; what programs use of it most comes first.",
    "distribute": "docs/how-to/distributed-training.md lists what is supported of tf.distribute.",
    "estimator": "docs/how-to/estimators.md lists what is supported of tf.estimator.",
    "data": "docs/how-to/input-pipelines.md lists what is supported of tf.data.",
    "image": "Operations on images come as programs need them.",
    "saved_model": "Of tf.saved_model there are save, load, builder, in a format of situ's own.",
    "lite": "TensorFlow Lite is not planned.",
    "tpu": "TPUs are not planned.",
    "raw_ops": "This op is not in the catalog (`situ ops` lists it).",
}


def hint_for(whole):
    """Returns a sentence about the support of a name."""
    parts = whole.split(".")
    for n in range(len(parts), 0, -1):
        found = PLANS.get(".".join(parts[:n]))
        if found:
            return found
    return "Not supported yet. Please open an issue if you need it."


def nearest(name, have):
    """Returns the most similar name, or None."""
    import difflib

    near = difflib.get_close_matches(name, [k for k in have if not k.startswith("_")], 1, 0.7)
    return near[0] if near else None


class MissingName(AttributeError):
    """The error for a name that situ does not have. Its hint is made when it is printed: hasattr
    and getattr with a default need none.

    Args:
      text: the first line.
      hint: a function that returns further lines.
    """

    __module__, __qualname__ = "builtins", "AttributeError"  # as tracebacks print it

    def __init__(self, text, hint):
        super().__init__(text)
        self._hint = hint

    def __str__(self):
        return f"{self.args[0]}\n{self._hint()}"

    def __reduce__(self):
        return AttributeError, (str(self),)


def missing(path, name, have, others):
    """Returns the AttributeError for an unknown name; `have` returns the names of the module,
    `others` those of the other style."""
    if path.partition(".")[0] == "keras3":
        return _missing_in_keras3(path, name, have)
    root = style.root()
    module = f"{root}.{path}" if path else root
    hint = functools.partial(_hint, path, name, have, others)
    return MissingName(f"module '{module}' has no attribute '{name}'", hint)


def _hint(path, name, have, others):
    """Returns where an unknown name is, or which one is near."""
    whole, known = f"{path}.{name}" if path else name, others()
    if whole in known or any(k.startswith(whole + ".") for k in known):
        return f"tf.{whole} belongs to the other style: " + (
            "situ run --api v2, or import situ"
            if style.is_graph()
            else f"tf.compat.v1.{whole}, or situ run --api v1"
        )
    near = nearest(name, have())
    hint = f" Nearest: tf.{path + '.' if path else ''}{near}." if near else ""
    return f"situ does not have tf.{whole} (yet).{hint}\n{hint_for(whole)}"


def _missing_in_keras3(path, name, have):
    """Returns the AttributeError for an unknown name of Keras 3."""
    module = "keras" + path[6:]

    def hint():
        near = nearest(name, have())
        found = f" Nearest: {module}.{near}." if near else ""
        return f"situ does not have {module}.{name} of Keras 3 (yet).{found}\n{PLANS['keras3']}"

    return MissingName(f"module '{module}' has no attribute '{name}'", hint)
