# SPDX-License-Identifier: Apache-2.0
"""fractional_pool.py: tf.nn pooling with windows of random sizes."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.array_ops import op
from situ._src.ops.random_ops import are_seeds_required, get_seed

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike

_DOC = """Computes the {} of windows of random sizes.

    Args:
      value: Images of shape [batch, height, width, channels].
      pooling_ratio: How many times smaller each dimension becomes, at least 1; 1 for batch and
        channels.
      pseudo_random: Whether the borders of the windows follow from one random number; else the
        order of their sizes is random.
      overlapping: Whether the last row and column of a window are in the next one, too.
      seed: A number; equal seeds yield equal windows. 0: random windows.
      name: A name for the operation (optional).

    Returns:
      A tuple: the results, the first row of each window, and the first column of each window;
      the last two end with the height and width.

    Raises:
      ValueError: If a ratio is less than 1 or larger than the dimension.
    """


def _four_ratios(ratio: Any) -> list:
    """Returns the ratios of four dimensions; one or two are those of height and width."""
    ratios = list(ratio) if hasattr(ratio, "__len__") else [ratio]
    if any(r < 1 for r in ratios):
        raise ValueError(
            f"Both pooling_ratio elements must be >= 1. Received: pooling_ratio={ratio}"
        )
    if len(ratios) == 4:
        return ratios
    if len(ratios) == 1:
        ratios *= 2
    if len(ratios) != 2:
        raise ValueError(
            "pooling_ratio should be of length 1, 2 or 4. "
            f"Received: pooling_ratio={ratio} of length {len(ratios)}"
        )
    return [1.0, *ratios, 1.0]


def _pooling(kind: str, row: str) -> None:
    """Defines and exports the functions of max or average pooling."""

    @export(v1=f"nn.fractional_{kind}_pool")
    def pool(
        value: TensorLike,
        pooling_ratio: Any,
        pseudo_random: bool = False,
        overlapping: bool = False,
        deterministic: bool = False,
        seed: int = 0,
        seed2: int = 0,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        if are_seeds_required() and not (deterministic and seed and seed2):
            raise ValueError(
                f'{row} requires "seed" and "seed2" to be non-zero and "deterministic" to be true '
                f'when determinism is enabled, but got "seed"={seed}, "seed2"={seed2} and '
                f'"deterministic"={deterministic}.'
            )
        return op(
            row,
            value,
            pooling_ratio=list(pooling_ratio),
            pseudo_random=pseudo_random,
            overlapping=overlapping,
            deterministic=deterministic,
            seed=seed,
            seed2=seed2,
            name=name,
        )

    @export(v2=f"nn.fractional_{kind}_pool")
    def pool_v2(
        value: TensorLike,
        pooling_ratio: Any,
        pseudo_random: bool = False,
        overlapping: bool = False,
        seed: int = 0,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        if are_seeds_required() and not seed:
            raise ValueError(
                f"{row} requires a non-zero seed to be passed in when determinism is enabled, but "
                f'got seed={seed}. Please pass in a non-zero seed, e.g. by passing "seed=1".'
            )
        seeds = (0, 0) if seed == 0 else get_seed(seed)
        return pool(
            value,
            _four_ratios(pooling_ratio),
            pseudo_random,
            overlapping,
            seed != 0,
            seeds[0] or 0,
            seeds[1] or 0,
            name,
        )

    pool.__doc__ = pool_v2.__doc__ = _DOC.format("maximum" if kind == "max" else "average")
    pool.__name__ = pool_v2.__name__ = f"fractional_{kind}_pool"


_pooling("max", "FractionalMaxPool")
_pooling("avg", "FractionalAvgPool")
