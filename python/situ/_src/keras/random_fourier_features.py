# SPDX-License-Identifier: Apache-2.0
"""random_fourier_features.py: tf.keras.layers.experimental.RandomFourierFeatures."""

from __future__ import annotations

import math
from typing import Any

import numpy

from situ._src.framework import tensor_shape
from situ._src.keras import initializers
from situ._src.keras.layer import Layer
from situ._src.keras.registry import keras_export
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import ShapeLike, TensorLike


@keras_export("layers.experimental.RandomFourierFeatures")
class RandomFourierFeatures(Layer):
    """Random features whose inner products approximate a kernel."""

    def __init__(
        self,
        output_dim: int,
        kernel_initializer: Any = "gaussian",
        scale: float | None = None,
        trainable: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.output_dim, self.kernel_initializer, self.scale = output_dim, kernel_initializer, scale

    def build(self, input_shape: ShapeLike) -> None:
        width = tensor_shape.as_shape(input_shape).as_list()[-1]
        kind = self.kernel_initializer
        if kind == "gaussian":
            start: Any = initializers.get({"class_name": "RandomNormal", "config": {"stddev": 1.0}})
        elif kind == "laplacian":
            start = lambda shape, dtype=None: constant(
                numpy.float32(numpy.random.standard_cauchy(shape))
            )
        else:
            start = initializers.get(kind)
        self.kernel = self.add_weight(
            "unscaled_kernel", [width, self.output_dim], initializer=start, trainable=False
        )
        self.bias = self.add_weight(
            "bias",
            [self.output_dim],
            trainable=False,
            initializer={
                "class_name": "RandomUniform",
                "config": {"minval": 0.0, "maxval": 2 * math.pi},
            },
        )
        first = (
            self.scale
            if self.scale is not None
            else (math.sqrt(width / 2.0) if kind == "gaussian" else 1.0)
        )
        self.kernel_scale = self.add_weight(
            "kernel_scale",
            [1],
            trainable=self.trainable,
            initializer={"class_name": "Constant", "config": {"value": first}},
        )
        self.built = True

    def call(self, inputs: TensorLike) -> Any:
        inputs = cast(convert_to_tensor(inputs), "float32")
        result = op("MatMul", inputs, self.kernel.value() / self.kernel_scale.value())
        return op("Cos", result + self.bias)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "output_dim": self.output_dim,
            "scale": self.scale,
            "kernel_initializer": self.kernel_initializer,
        }
