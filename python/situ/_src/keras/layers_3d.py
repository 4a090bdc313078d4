# SPDX-License-Identifier: Apache-2.0
"""layers_3d.py: 3-D convolution and pooling layers."""

from __future__ import annotations

from typing import Any

from situ._src.framework.keywords import unsupported
from situ._src.keras import layers_conv, layers_pool
from situ._src.keras.layers_core import named
from situ._src.ops.array_ops import convert_to_tensor, op, shape
from situ._src.ops.nn import conv3d, pool


@named("Conv3D", "Convolution3D")
class Conv3D(layers_conv._Conv):
    """3-D convolution of volumes: `activation(conv3d(inputs, kernel) + bias)`.

    Args:
      filters: Number of output channels.
      kernel_size: Depth, height and width of the kernel; one int for all.
      strides: Strides along the three dimensions; one int for all.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements; one int for all dimensions.
      groups: Number of groups that the channels are split into.
      activation: Activation function, or its name.
      use_bias: Whether the layer adds a bias.
      **kwargs: Initializers, regularizers and constraints as in `Conv2D`, and arguments of `Layer`.

    Call arguments:
      inputs: Tensor of shape `(batch, depth, height, width, channels)`.

    Returns:
      Tensor of rank 5 with `filters` channels.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1, 1),
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(
            3,
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            groups,
            activation=activation,
            use_bias=use_bias,
            **kwargs,
        )

    def convolve(self, inputs, kernel):
        return conv3d.conv3d(
            inputs,
            kernel,
            self.strides,
            self.padding,
            "NCDHW" if self.is_channels_first() else "NDHWC",
            self.dilation_rate,
        )

    def bias_and_activation(self, made):
        if self.use_bias:
            made = made + (
                op("Reshape", self.bias, [1, -1, 1, 1, 1])
                if self.is_channels_first()
                else convert_to_tensor(self.bias)
            )
        return self.activation(made)


@named("Conv3DTranspose", "Convolution3DTranspose")
class Conv3DTranspose(layers_conv._Transposed):
    """Transposed 3-D convolution, which maps from the output shape of a convolution to its input
    shape.

    Args:
      filters: Number of output channels.
      kernel_size: Depth, height and width of the kernel; one int for all.
      strides: Strides along the three dimensions: the upsampling factors.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      output_padding: Extra size of the output along each dimension; None infers the output shape.
      dilation_rate: Only 1 is supported.
      activation: Activation function, or its name.
      use_bias: Whether the layer adds a bias.
      **kwargs: Initializers, regularizers and constraints as in `Conv2D`, and arguments of `Layer`.

    Call arguments:
      inputs: Tensor of shape `(batch, depth, height, width, channels)` with static sizes.

    Returns:
      Tensor of rank 5 with `filters` channels.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = "valid",
        data_format: str | None = None,
        output_padding: Any = None,
        dilation_rate: Any = (1, 1, 1),
        activation: Any = None,
        use_bias: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(
            3,
            filters,
            kernel_size,
            strides,
            padding,
            output_padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            **kwargs,
        )
        unsupported("Conv3DTranspose", dilation_rate=(self.dilation_rate, (1, 1, 1)))

    def call(self, inputs):
        first = self.is_channels_first()
        known, at = inputs.shape.as_list(), (2, 3, 4) if first else (1, 2, 3)
        if None in [known[a] for a in at]:
            raise ValueError(
                f"Conv3DTranspose needs static sizes, but the input is {inputs.shape}."
            )
        lengths = self.lengths(known, None, at)
        batch = known[0] if known[0] is not None else shape(inputs)[0]
        sizes = [batch, self.filters, *lengths] if first else [batch, *lengths, self.filters]
        outputs = conv3d.conv3d_transpose_v2(
            inputs,
            self.kernel,
            sizes,
            self.strides,
            self.padding.upper(),
            "NCDHW" if first else "NDHWC",
        )
        outputs = op("Reshape", outputs, [-1 if known[0] is None else batch, *sizes[1:]])
        return Conv3D.bias_and_activation(self, outputs)


class _Pool(layers_pool._Pool):
    RANK = 3

    def call(self, inputs):
        layout = "NCDHW" if self.data_format == "channels_first" else "NDHWC"
        return type(self).FUNCTION(inputs, self.pool_size, self.strides, self.padding, layout)


_SHAPE = "(batch, depth, height, width, channels)"


def _make():
    for kind, function, reduction in (
        ("Max", pool.max_pool3d, "Max"),
        ("Average", pool.avg_pool3d, "Mean"),
    ):
        name, short = f"{kind}Pooling3D", f"{kind.replace('Average', 'Avg')}Pool3D"
        named(name, short)(
            type(
                name,
                (_Pool,),
                {
                    "FUNCTION": staticmethod(function),
                    "__doc__": layers_pool._POOL_DOC.format(kind, 3, _SHAPE),
                },
            )
        )
        named("Global" + name, "Global" + short)(
            type(
                "Global" + name,
                (layers_pool._Global,),
                {
                    "RANK": 3,
                    "OP": reduction,
                    "__doc__": layers_pool._GLOBAL_DOC.format(kind, 3, _SHAPE),
                },
            )
        )


_make()
