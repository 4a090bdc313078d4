# SPDX-License-Identifier: Apache-2.0
"""linear_operator_circulant.py: circulant and Toeplitz linear operators, by Fourier transforms."""

from __future__ import annotations

import math

from situ._src.framework.api import export, named
from situ._src.framework.dtypes import as_dtype
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.linalg.linear_operator import (
    LinearOperator,
    adjoint,
    check,
    conj,
    join_shapes,
    keep,
    no_assertion,
    product,
    real,
    shape_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, TensorLike

_FFT = {1: ("FFT", "IFFT"), 2: ("FFT2D", "IFFT2D"), 3: ("FFT3D", "IFFT3D")}
_COMPLEX = {"float16": "complex64", "float32": "complex64", "float64": "complex128"}


class _Circulant(LinearOperator):
    """A (nested block) circulant operator: diagonal in the basis of Fourier transforms.

    The spectrum has one axis per depth of nesting, after those of the batch.
    """

    _DEPTH = 1

    def __init__(
        self,
        spectrum,
        input_output_dtype,
        is_non_singular,
        is_self_adjoint,
        is_positive_definite,
        is_square,
        name,
    ):
        self._spectrum = keep(spectrum)
        rank = self._spectrum.shape.rank
        if rank is not None and rank < self._DEPTH:
            raise ValueError(
                f"Argument `spectrum` must have at least {self._DEPTH} dimensions. Received: "
                f"{self._spectrum}."
            )
        if is_square is False:
            raise ValueError(
                "A [[nested] block] circulant operator is always square. Expected argument "
                f"`is_square` to be True. Received: {is_square}."
            )
        if not self._spectrum.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    "A real spectrum always corresponds to a self-adjoint operator. Expected "
                    "argument `is_self_adjoint` to be True when `spectrum.dtype.is_complex` = "
                    f"True. Received: {is_self_adjoint}."
                )
            is_self_adjoint = True
        super().__init__(
            input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True,
            name,
        )  # fmt: skip

    @property
    def spectrum(self) -> Any:
        """The eigenvalues, in the order of the Fourier transform."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """The depth of nesting."""
        return self._DEPTH

    @property
    def block_shape(self) -> Any:
        """The static sizes of the nested blocks."""
        return self._spectrum.shape[-self._DEPTH :]

    def block_shape_tensor(self) -> Any:
        """Returns the sizes of the nested blocks as a tensor."""
        return shape_of(self._spectrum)[-self._DEPTH :]

    def _shape(self):
        shape = self._spectrum.shape
        if shape.rank is None:
            return shape
        sizes = shape.as_list()
        block = sizes[-self._DEPTH :]
        size = None if None in block else math.prod(block)
        return type(shape)([*sizes[: -self._DEPTH], size, size])

    def _shape_tensor(self):
        size = op("Prod", self.block_shape_tensor(), [0])
        return join_shapes(shape_of(self._spectrum)[: -self._DEPTH], [size, size])

    def _complex_spectrum(self):
        kind = self._spectrum.dtype
        return self._spectrum if kind.is_complex else cast(self._spectrum, _COMPLEX[kind.name])

    def _vectors(self, x):
        """Returns columns [..., n, k] as blocks [..., k, n1, n2, ...]."""
        turned = named("linalg.matrix_transpose")(x)
        return op("Reshape", turned, join_shapes(shape_of(turned)[:-1], self.block_shape_tensor()))

    def _columns(self, x):
        depth = self._DEPTH
        flat = op("Reshape", x, join_shapes(shape_of(x)[:-depth], [-1]))
        return named("linalg.matrix_transpose")(flat)

    def _fft(self, x):
        return op(_FFT[self._DEPTH][0], x)

    def _ifft(self, x):
        return op(_FFT[self._DEPTH][1], x)

    def _apply(self, x, adjoint_arg, factors):
        x = adjoint(x) if adjoint_arg else x
        spectrum = self._complex_spectrum()
        blocks = self._vectors(cast(x, spectrum.dtype))
        factors = op("ExpandDims", factors, -1 - self._DEPTH)
        result = self._columns(self._ifft(factors * self._fft(blocks)))
        return self._as_output(result)

    def _as_output(self, x):
        if x.dtype.is_complex and not self.dtype.is_complex:
            x = real(x)
        return cast(x, self.dtype)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        spectrum = self._complex_spectrum()
        return self._apply(x, adjoint_arg, conj(spectrum) if adjoint else spectrum)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        spectrum = self._complex_spectrum()
        spectrum = conj(spectrum) if adjoint else spectrum
        return self._apply(rhs, adjoint_arg, op("Reciprocal", spectrum))

    def _like(self, spectrum, other=None):
        hints = self._hints() if other is None else {"is_square": True}
        if not spectrum.dtype.is_complex:
            hints["is_self_adjoint"] = True
        return type(self)(spectrum, input_output_dtype=self.dtype, **hints)

    def _linop_adjoint(self):
        return self._like(conj(self._spectrum))

    def _linop_inverse(self):
        return self._like(op("Reciprocal", self._spectrum))

    def _linop_matmul(self, left, right):
        if type(right) is type(left) and right.spectrum.dtype == left.spectrum.dtype:
            return self._like(left.spectrum * right.spectrum, right)
        return super()._linop_matmul(left, right)

    def _linop_solve(self, left, right):
        if type(right) is type(left) and right.spectrum.dtype == left.spectrum.dtype:
            return self._like(right.spectrum / left.spectrum, right)
        return super()._linop_solve(left, right)

    def _all_axes(self):
        return list(range(-self._DEPTH, 0))

    def _determinant(self):
        return self._as_output(product(self._eigvals()))

    def _log_abs_determinant(self):
        logs = op("Log", named("math.abs")(self._spectrum))
        return cast(op("Sum", logs, self._all_axes()), self.dtype)

    def _eigvals(self):
        flat = join_shapes(shape_of(self._spectrum)[: -self._DEPTH], [-1])
        return op("Reshape", self._spectrum, flat)

    def _trace(self):
        return self._as_output(op("Sum", self._spectrum, self._all_axes()))

    def _diag_part(self):
        size = cast(self.domain_dimension_tensor(), self.dtype)
        value = op("ExpandDims", self._trace() / size, -1)
        ones = op(
            "Fill", op("Reshape", self.domain_dimension_tensor(), [1]), constant(1, self.dtype)
        )
        return value * ones

    def _cond(self):
        size = named("math.abs")(self._eigvals())
        return cast(op("Max", size, [-1]) / op("Min", size, [-1]), self.dtype)

    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """Returns the first column, in the shape of the blocks."""
        with self._scope(name):
            return cast(self._ifft(self._complex_spectrum()), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Returns an operation that asserts that the operator is real."""
        with self._scope(name):
            kernel = self._ifft(self._complex_spectrum())
            imaginary = named("math.abs")(named("math.imag")(kernel))
            wide = imaginary.dtype.name == "float64"
            limit = (2.2e-16 if wide else 1.2e-7) * 1000
            return check(
                "assert_less",
                imaginary,
                constant(limit, imaginary.dtype),
                message="Spectrum was not Hermitian",
            )

    def _assert_non_singular(self):
        return check(
            "assert_positive",
            named("math.abs")(self._spectrum),
            message="Singular operator:  Spectrum contained zero values.",
        )

    def _assert_positive_definite(self):
        return check(
            "assert_positive",
            real(self._spectrum),
            message="Not positive definite:  Real part of spectrum was not all positive.",
        )

    def _assert_self_adjoint(self):
        if not self._spectrum.dtype.is_complex:
            return no_assertion("assert_self_adjoint")
        imaginary = named("math.imag")(self._spectrum)
        return check(
            "assert_equal",
            imaginary,
            op("ZerosLike", imaginary),
            message="Not self-adjoint: The spectrum contained non-zero imaginary part.",
        )


_ARGUMENTS = """

    Args:
      spectrum: The eigenvalues, the Fourier transform of the first column: a tensor of shape
        [..., n] (2D: [..., n0, n1]; 3D: [..., n0, n1, n2]).
      input_output_dtype: The type of arguments and results.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """


@export("linalg.LinearOperatorCirculant")
class LinearOperatorCirculant(_Circulant):
    __doc__ = "Circulant matrices as a linear operator." + _ARGUMENTS

    _parts = {"spectrum": 1}

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = "complex64",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        super().__init__(
            spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip


@export("linalg.LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(_Circulant):
    __doc__ = "Block circulant matrices as a linear operator." + _ARGUMENTS
    _DEPTH = 2

    _parts = {"spectrum": 2}

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = "complex64",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        super().__init__(
            spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip


@export("linalg.LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(_Circulant):
    __doc__ = "Nested block circulant matrices as a linear operator." + _ARGUMENTS
    _DEPTH = 3

    _parts = {"spectrum": 3}

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = "complex64",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        super().__init__(
            spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip


@export("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(LinearOperator):
    """Toeplitz matrices, whose diagonals are constant, as a linear operator.

    Args:
      col: The first columns, a tensor of shape [..., n].
      row: The first rows, a tensor of shape [..., n]; the first element is that of `col`.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"col": 1, "row": 1}

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        self._col, self._row = (
            convert_to_tensor(row if col is None else col),
            convert_to_tensor(row),
        )
        for what, tensor in (("row", self._row), ("col", self._col)):
            if tensor.shape.rank == 0:
                raise ValueError(
                    f"Argument {what} must have at least 1 dimension.  Found: {tensor}"
                )
        sizes = [t.shape.as_list()[-1] for t in (self._row, self._col) if t.shape.rank is not None]
        if len(sizes) == 2 and None not in sizes and sizes[0] != sizes[1]:
            raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        super().__init__(
            self._row.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True,
            name,
        )  # fmt: skip

    @property
    def col(self) -> Any:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Any:
        """The first rows."""
        return self._row

    def _shape(self):
        shape = named("broadcast_static_shape")(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self):
        shape = named("broadcast_dynamic_shape")(shape_of(self._row), shape_of(self._col))
        return join_shapes(shape, shape[-1:])

    def _full(self):
        """Returns row and column with the batch of both."""
        shape = named("broadcast_dynamic_shape")(shape_of(self._row), shape_of(self._col))
        return op("BroadcastTo", self._row, shape), op("BroadcastTo", self._col, shape)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        # The matrix is a block of a circulant one of twice the size.
        row, col = self._full()
        if adjoint:
            row, col = conj(col), conj(row)
            col = op("ConcatV2", [row[..., :1], col[..., 1:]], -1)
        x = named("linalg.adjoint")(x) if adjoint_arg else x
        kind = as_dtype(_COMPLEX.get(self.dtype.name, self.dtype.name))
        reverse = op("ReverseV2", row[..., 1:], [-1])
        kernel = op("ConcatV2", [col, op("ZerosLike", col[..., :1]), reverse], -1)
        columns = named("linalg.matrix_transpose")(cast(x, kind))
        padded = op("ConcatV2", [columns, op("ZerosLike", columns)], -1)
        spectrum = op("ExpandDims", op("FFT", cast(kernel, kind)), -2)
        result = op("IFFT", spectrum * op("FFT", padded))
        size = shape_of(columns)[-1]
        result = named("linalg.matrix_transpose")(result[..., :size])
        return cast(result if self.dtype.is_complex else real(result), self.dtype)

    def _diag_part(self):
        row, col = self._full()
        return op("ZerosLike", row) + col[..., :1]

    def _trace(self):
        size = cast(self.domain_dimension_tensor(), self.dtype)
        return self._full()[1][..., 0] * size

    def _to_dense(self):
        row, col = self._full()
        size = self.domain_dimension_tensor()
        everything = op("ConcatV2", [op("ReverseV2", row[..., 1:], [-1]), col], -1)
        places = op("Range", 0, size, 1)
        index = op("ExpandDims", places, 1) - op("ExpandDims", places, 0) + size - 1
        return op("GatherV2", everything, index, -1)
