# SPDX-License-Identifier: Apache-2.0
"""regularizers.py: tf.keras.regularizers: penalties on weights and activities."""

from __future__ import annotations

from typing import Any

from situ._src.keras.registry import Registry, keras_export
from situ._src.ops.array_ops import convert_to_tensor, op

KIND = Registry("regularizer", {})


@keras_export("regularizers.Regularizer")
class Regularizer:
    """Base class of regularizers: a function of a tensor that returns a scalar penalty."""

    def __call__(self, x):
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a dictionary."""
        return {}

    @classmethod
    def from_config(cls, config: Any) -> Any:
        """Creates an object from the result of get_config.

        Args:
          config: The dictionary.
        """
        return cls(**config)


@keras_export("regularizers.L1L2")
class L1L2(Regularizer):
    """Penalty `l1 * sum(abs(x)) + l2 * sum(square(x))`.

    Args:
      l1: Factor of the absolute values.
      l2: Factor of the squares.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1 or 0.0), float(l2 or 0.0)

    def __call__(self, x):
        x = convert_to_tensor(x)
        parts = []
        if self.l1:
            parts.append(op("Sum", op("Abs", x)) * self.l1)
        if self.l2:
            parts.append(op("L2Loss", x) * (2.0 * self.l2))
        if not parts:
            return op("Sum", x) * 0.0
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1, "l2": self.l2}


@keras_export("regularizers.L1", "regularizers.l1")
class L1(L1L2):
    """Penalty `l1 * sum(abs(x))`.

    Args:
      l1: Factor.
      l: Former name of l1.
    """

    def __init__(self, l1: float = 0.01, l: Any = None):  # noqa: E741
        super().__init__(l1=l1 if l is None else l)

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1}


@keras_export("regularizers.L2", "regularizers.l2")
class L2(L1L2):
    """Penalty `l2 * sum(square(x))`.

    Args:
      l2: Factor.
      l: Former name of l2.
    """

    def __init__(self, l2: float = 0.01, l: Any = None):  # noqa: E741
        super().__init__(l2=l2 if l is None else l)

    def get_config(self) -> dict[str, Any]:
        return {"l2": self.l2}


@keras_export("regularizers.OrthogonalRegularizer", "regularizers.orthogonal_regularizer")
class OrthogonalRegularizer(Regularizer):
    """Penalty on rows, or columns, of a matrix that are not orthogonal: the mean absolute cosine
    of all pairs.

    Args:
      factor: Factor.
      mode: "rows" or "columns".

    Raises:
      ValueError: If mode is unknown, factor is not a number, or the weights are not a matrix.
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows"):
        if not isinstance(factor, (float, int)) or factor < 0:
            raise ValueError(
                f"Invalid value for argument factor: expected a non-negative float. Received: "
                f"factor={factor}"
            )
        if mode not in ("rows", "columns"):
            raise ValueError(
                'Invalid value for argument `mode`. Expected one of {"rows", "columns"}. '
                f"Received: mode={mode}"
            )
        self.factor, self.mode = float(factor), mode

    def __call__(self, x):
        x = convert_to_tensor(x)
        if x.shape.rank != 2:
            raise ValueError(
                "Inputs to OrthogonalRegularizer must have rank 2. Received: inputs.shape="
                f"{tuple(x.shape.as_list())}"
            )
        axis, size = (1, x.shape.as_list()[0]) if self.mode == "rows" else (0, x.shape.as_list()[1])
        squares = op("Sum", op("Square", x), [axis], keep_dims=True)
        x = x * op("Rsqrt", op("Maximum", squares, convert_to_tensor(1e-12, x.dtype)))
        is_rows = self.mode == "rows"
        product = op("MatMul", x, x, transpose_a=not is_rows, transpose_b=is_rows)
        off = op("MatrixSetDiag", product, op("ZerosLike", op("MatrixDiagPart", product)))
        pairs = size * (size - 1.0) / 2.0
        return op("Sum", op("Abs", off)) * (self.factor * 0.5 / pairs)

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor, "mode": self.mode}


@keras_export("regularizers.l1_l2")
def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Any:
    """Returns the regularizer L1L2(l1, l2).

    Args:
      l1: Factor of the absolute values.
      l2: Factor of the squares.
    """
    return L1L2(l1, l2)


for _name, _thing in (
    ("L1", L1),
    ("l1", L1),
    ("L2", L2),
    ("l2", L2),
    ("L1L2", L1L2),
    ("l1_l2", l1_l2),
    ("OrthogonalRegularizer", OrthogonalRegularizer),
    ("orthogonal_regularizer", OrthogonalRegularizer),
):
    KIND.add(_thing, _name)
KIND.export("regularizers")
get = KIND.get
