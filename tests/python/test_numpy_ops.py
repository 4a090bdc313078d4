# SPDX-License-Identifier: Apache-2.0
"""test_numpy_ops.py: tf.experimental.numpy: values and types of NumPy, in functions with known and
unknown shapes, too."""

import numpy
import pytest

import situ as tf

tnp = tf.experimental.numpy
F = numpy.array([[1.5, -2.0, 0.25], [0.0, 4.0, -0.75]], "float32")
G = numpy.array([[0.5, 0.25, 0.125], [0.75, 0.9, 0.1]], "float32")
D = numpy.array([0.5, 0.25, 0.75])
I = numpy.array([[3, 1, 2], [6, 5, 4]], "int32")  # noqa: E741
J = numpy.array([2, 3, 4], "int8")
U = numpy.array([1, 2, 255], "uint8")
B = numpy.array([True, False, True])
C = numpy.array([1 + 2j, -3j, 0.5], "complex64")
X = numpy.arange(24, dtype="int64").reshape(2, 3, 4)
N = numpy.array([[numpy.nan, 1, 2], [numpy.inf, -numpy.inf, 0]])


def value(result):
    if isinstance(result, (list, tuple)):
        return [value(r) for r in result]
    return numpy.asarray(result.numpy() if hasattr(result, "numpy") else result)


def compare(found, wanted, types=True):
    if isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            compare(one, other, types)
        return
    found, wanted = value(found), numpy.asarray(wanted)
    assert found.shape == wanted.shape
    if types:
        assert found.dtype == wanted.dtype
    numpy.testing.assert_allclose(found, wanted, 2e-5, 2e-6)


def check(name, *args, types=True, traced=True, ranked=False, **kwargs):
    """Compares a function with its namesake: eagerly, with static shapes, sizes and ranks that
    are unknown; `ranked`: the function needs known ranks."""
    path = name.split(".")
    function, reference = tnp, numpy
    for part in path:
        function, reference = getattr(function, part), getattr(reference, part)
    wanted = reference(*args, **kwargs)
    compare(function(*args, **kwargs), wanted, types)
    tensors = [i for i, a in enumerate(args) if isinstance(a, numpy.ndarray)]
    if not traced or not tensors:
        return

    def call(*values):
        given = dict(zip(tensors, values))
        return function(*[given.get(i, a) for i, a in enumerate(args)], **kwargs)

    shapes = [list, lambda s: [None] * len(s), *([] if ranked else [lambda s: None])]
    for shape in shapes:
        signature = [tf.TensorSpec(shape(args[i].shape), args[i].dtype) for i in tensors]
        traced_call = tf.function(call, input_signature=signature)
        compare(traced_call(*[args[i] for i in tensors]), wanted, types)


UNARY = """abs absolute fabs arcsinh arctan cbrt ceil conj conjugate cos cosh deg2rad rad2deg exp
    exp2 expm1 fix floor imag isreal iscomplex isfinite isinf isnan isneginf isposinf logical_not
    negative real sign sin sinc sinh square tan tanh around round angle""".split()
SMALL = "arccos arcsin arctanh log log10 log1p log2 sqrt reciprocal".split()
BINARY = """add subtract multiply true_divide divide maximum minimum arctan2 heaviside hypot
    logaddexp logaddexp2 equal not_equal greater greater_equal less less_equal logical_and
    logical_or logical_xor isclose floor_divide mod remainder""".split()
REDUCTIONS = "sum prod mean amax amin max min ptp all any var std count_nonzero".split()


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_have_the_values_of_numpy(name):
    check(name, F)
    check(name, 2.0)
    if name not in ("ceil", "floor", "fix", "around", "round", "fabs", "isneginf", "isposinf"):
        check(name, I)  # NumPy leaves integers alone when it rounds
    if name in ("exp", "conj", "imag", "real", "sin", "square", "isnan", "isfinite", "angle"):
        check(name, C)


@pytest.mark.parametrize("name", SMALL)
def test_functions_with_small_domains_have_the_values_of_numpy(name):
    check(name, G)
    check(name, D)


def test_tests_of_numbers_know_nan_and_infinities():
    for name in "isnan isinf isfinite isneginf isposinf".split():
        check(name, N)
    assert not value(tnp.isinf(3))  # TensorFlow returns a bool for integers


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_have_the_values_of_numpy(name):
    pairs = [(F, G), (I, J), (G, D), (I, 2)]
    if name not in ("floor_divide", "mod", "remainder"):  # 2.5 // 0.1 is 24 or 25
        pairs.append((2.5, G))
    if name not in ("logaddexp", "logaddexp2", "arctan2", "hypot"):  # NumPy has float16
        pairs.append((J, U))
    for a, b in pairs:
        check(name, a, b, types=numpy.result_type(a, b).kind == "f")


def test_functions_of_integers_and_bits():
    for name in "gcd lcm bitwise_and bitwise_or bitwise_xor".split():
        check(name, I, J)
        check(name, I, 4)
    for name in "bitwise_and bitwise_or bitwise_xor".split():
        check(name, B, ~B)
    check("bitwise_not", I)
    check("bitwise_not", B)
    check("power", I, 2)
    check("power", F, 2)
    check("float_power", D, 2.0)
    check("signbit", F)
    check("nextafter", D, 1.0)
    check("divmod", I, 2)
    check("add", B, B)
    check("multiply", B, B)
    check("around", numpy.array([25, -34]), -1)
    check("around", D, 1)
    check("rad2deg", D)
    check("gcd", numpy.array([0, 0, 12]), numpy.array([0, 5, -18]))
    with pytest.raises(ValueError, match="integers"):
        tnp.gcd(1.5, 2)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_reductions_have_the_values_of_numpy(name, axis):
    for a in (F, I, B[None], J[None], U[None]):
        if a.dtype == bool and name in ("ptp",):
            continue
        check(name, a, axis=axis)
    if name != "count_nonzero":
        check(name, F, axis=axis, keepdims=True)
        check(name, X, axis=(0, 2))


def test_types_of_reductions():
    check("sum", F, dtype=numpy.float64)
    check("sum", I, dtype=numpy.int8)
    check("prod", J, dtype=numpy.float32)
    check("mean", I, dtype=numpy.float32)
    check("var", I, dtype=numpy.float32)
    check("var", F, ddof=1)
    check("var", F, axis=0, ddof=1)
    check("var", X, axis=(0, 2), ddof=1)
    check("var", F, axis=-1, ddof=1, keepdims=True)
    for name in ("nansum", "nanprod", "nanmean"):
        check(name, N)
        check(name, N, axis=1)
        check(name, I)
    with pytest.raises(ValueError, match="out"):
        tnp.mean(F, out=F)


def test_averages():
    check("average", F)
    check("average", I, 0)
    check("average", F, 1, [1.0, 2.0, 3.0])
    check("average", F, weights=numpy.abs(F))
    check("average", I, 1, returned=True)
    with pytest.raises(ValueError, match="integer"):
        tnp.average(F, axis=(0, 1))


def test_sorting_and_cumulative_functions():
    for name in ("sort", "argsort"):
        check(name, F)
        check(name, F, axis=0)
        check(name, F, axis=None)
    check("argsort", J, kind="stable")
    for name in ("argmax", "argmin"):
        check(name, F)
        check(name, F, axis=1)
    for name in ("cumsum", "cumprod"):
        check(name, J)
        check(name, F, axis=1)
        check(name, F, axis=-1)
        check(name, I, axis=0, dtype=numpy.float32)
    check("diff", X, ranked=True)
    check("diff", X, 2, 1, ranked=True)
    check("diff", B, ranked=True)
    for name in ("sort", "argsort"):
        with pytest.raises(ValueError, match="kind"):
            getattr(tnp, name)(F, kind="heapsort")
        with pytest.raises(ValueError, match="order"):
            getattr(tnp, name)(F, order="x")


def test_creation():
    for name in ("zeros", "ones", "empty"):
        assert value(getattr(tnp, name)((2, 3))).shape == (2, 3)
        assert getattr(tnp, name)(3).dtype == "float64"
        assert getattr(tnp, name)([2], dtype=int).dtype == "int64"
    check("zeros_like", I)
    check("ones_like", [1.5, 2])
    check("ones_like", F, dtype=int)
    check("eye", 3)
    check("eye", 2, 4, 1)
    check("eye", 3, 2, -5, dtype="int32")
    check("identity", 2)
    check("tri", 3)
    check("tri", 2, 4, -1, dtype=bool)
    check("full", (2, 3), 2.5)
    check("full", (2, 3), [1, 2, 3])
    check("full_like", I, 2.5)
    check("full_like", I, 2.5, dtype=float)
    check("arange", 5)
    check("arange", 1, 9, 3)
    check("arange", 5, 1, -2)
    check("arange", 5, 1)
    check("arange", 0, 1, 0.1)
    check("arange", 3, dtype=numpy.float16)
    check("vander", J, types=False)
    check("vander", D, 2, increasing=True)
    check("meshgrid", J, D)
    check("meshgrid", J, D, indexing="ij")
    check("broadcast_to", J, (2, 3))
    check("diag_indices", 3, types=False)
    check("diag_indices", 2, 3, types=False)
    for bad in ({"order": "C"}, {"subok": False}, {"shape": [2]}):
        with pytest.raises(ValueError):
            tnp.full_like(F, 1, **bad)
    with pytest.raises(ValueError, match="non-zero"):
        tnp.arange(1, 2, 0)
    with pytest.raises(TypeError, match="spares"):
        tnp.meshgrid(J, spares=True)


def test_ranges_of_numbers():
    check("linspace", 0, 10, 5)
    check("linspace", 0, 10, 5, endpoint=False)
    check("linspace", F, 1.0, 3, axis=-1, ranked=True)
    check("linspace", 0, 1, 3, retstep=True)
    check("linspace", 0, 9, 4, dtype=int)
    check("linspace", -9, 0, 5, dtype=int)
    check("linspace", 0.0, [1.0, 2.0], 0)
    check("linspace", 1, 2, 1)
    check("logspace", 0, 2, 5)
    check("logspace", 0, 2, 5, base=2, endpoint=False)
    check("geomspace", 1, 1000, 4)
    check("geomspace", -2, -16, 4)
    with pytest.raises(ValueError, match="non-negative"):
        tnp.linspace(0, 1, -1)


def test_diagonals():
    for k in (0, 1, -2, 7, -7):
        check("diag", J, k)
        check("diag", F, k)
        check("diagflat", F, k)
        check("diagonal", X, k)
        check("diagonal", X, k, 2, 0)
        check("trace", X, k)
        check("trace", X, k, -1, 1, dtype="float32")
    for k in (0, 1, -1):
        check("tril", F, k)
        check("triu", X, k)
    with pytest.raises(ValueError, match="1- or 2-d"):
        tnp.diag(X)
    with pytest.raises(ValueError, match="rank"):
        tnp.tril(J)


def test_conversion_to_tensors():
    for a in (1, 2.5, 1j, True, [1, 2.5], [1, 2j], [[True]], 2**63, J, [J, F[0]]):
        check("array", a, traced=False)
    assert value(tnp.array(["a", "b"])).tolist() == [b"a", b"b"]
    assert value(tnp.array("ab")).tolist() == b"ab"
    check("array", [1.7, 2.2], dtype=int)
    check("array", 5, ndmin=3)
    check("ascontiguousarray", 3)
    tensor = tf.constant([1, 2])
    assert tnp.asarray(tensor) is tensor and tnp.asanyarray(tensor, "int32") is not None
    assert tnp.array([tensor[0], 2.5]).dtype == "float64"
    with pytest.raises(ValueError, match="32"):
        tnp.array(1, ndmin=33)


def test_types():
    assert tnp.result_type(1, 2.5) == "float64"
    assert tnp.result_type(tf.int32, numpy.float32) == "float64"
    assert tnp.result_type(tf.constant(1.0), 3, 2.5) == "float32"
    assert tnp.result_type() == "float64"
    assert tnp.result_type(list(range(200)), 2.5) == "float64"
    assert tnp.promote_types(numpy.int8, tf.uint8) == numpy.int16
    assert tnp.finfo(tf.float32).max == numpy.finfo("float32").max
    assert tnp.iinfo(numpy.int8).max == 127
    assert tnp.float_ is numpy.float64 and tnp.newaxis is None
    assert tnp.ndarray is tf.Tensor
    assert tnp.iscomplexobj(C) and tnp.isrealobj(F)
    assert tnp.isscalar(3) and not tnp.isscalar(J)
    assert tnp.shape(X) == [2, 3, 4] and tnp.ndim(X) == 3 and tnp.size(X) == 24
    with pytest.raises(NotImplementedError, match="axis"):
        tnp.size(X, 0)


def test_shapes_and_orders_of_dimensions():
    check("reshape", X, (4, 6))
    check("reshape", X, -1)
    check("reshape", X, (4, 6), order="F")
    check("ravel", F)
    check("expand_dims", F, 1)
    check("squeeze", F[None])
    check("squeeze", F[None], axis=0)
    for a in (numpy.array(3), J, F, X):
        for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
            check(name, a)
    check("atleast_2d", J, F)
    check("broadcast_arrays", J, F)
    check("transpose", X)
    check("transpose", X, (1, 0, 2))
    check("moveaxis", X, 0, -1)
    check("moveaxis", X, (0, 1), (-1, 0))
    check("moveaxis", X, (2, 0), (0, 1))
    check("swapaxes", X, 0, 2)
    check("swapaxes", X, -1, 0)
    check("swapaxes", X, 1, 1)
    for axis in (None, 0, -1):
        check("flip", X, axis)
    check("flipud", F)
    check("fliplr", F)
    for k in range(-1, 5):
        check("rot90", F, k)
        check("rot90", X, k, (1, 2))
    check("roll", J, 1)
    check("roll", F, 2)
    check("roll", F, (1, 2), (0, 1))
    assert value(tnp.flatten(F, "F")).tolist() == F.flatten("F").tolist()
    for function, arguments in ((tnp.reshape, (F, 6, "A")), (tnp.flatten, (F, "X"))):
        with pytest.raises(ValueError, match="order"):
            function(*arguments)
    with pytest.raises(ValueError, match="lengths"):
        tnp.moveaxis(X, (0, 1), 0)


def test_joining_and_splitting():
    check("concatenate", [J, D], types=True)
    check("concatenate", [F, I], 1)
    check("append", J, [4, 5])
    check("append", F, F, 0)
    check("stack", [J, D])
    check("stack", [J, D], 1)
    compare(tnp.stack(tf.constant(X), 1), numpy.stack(X, 1))
    for name in ("hstack", "vstack", "dstack"):
        check(name, [J, D])
        check(name, [F, I])
    for sections in (3, [1], [1, 2], [5]):
        check("split", J, sections, traced=False)
    check("split", X, [1, 3], 2, traced=False)
    check("vsplit", F, 2, traced=False)
    check("hsplit", F, 3, traced=False)
    check("hsplit", J, 3, traced=False)
    check("dsplit", X, 2, traced=False)
    for reps in (2, (2, 2), (2, 1, 3)):
        check("tile", J, reps)
        check("tile", F, reps)
    check("repeat", F, 2)
    check("repeat", F, [1, 2], axis=0)
    check("repeat", 3, 4)
    assert tf.function(lambda: tnp.repeat(F, [1, 2], 0))().shape == [3, 3]
    check("pad", F, [[1, 0], [0, 2]], "constant")
    check("pad", F, [[1, 0], [0, 2]], "constant", constant_values=7)
    check("pad", F, [[1, 0], [0, 2]], "reflect")
    check("pad", F, [[1, 0], [0, 2]], "symmetric")
    with pytest.raises(ValueError, match="mode"):
        tnp.pad(F, [[1, 0], [0, 2]], "edge")
    with pytest.raises(ValueError, match="empty"):
        tnp.concatenate([])
    with pytest.raises(ValueError, match="equal division"):
        tnp.hsplit(J, 2)
    with pytest.raises(ValueError, match="smaller"):
        tnp.split(J, [2, 1])


def test_selection():
    check("where", B, J, 2.5)
    check("where", B, F, I)
    check("where", B, traced=False)
    check("select", [B, J > 2], [J, [1, 1, 1]], 9, types=False)
    check("nonzero", F, traced=False)
    check("compress", [True, False], F, 0)
    check("compress", [0, 1, 1], F)
    check("compress", [0, 1], F, -1)
    check("take", F, [0, 2], 1, mode="clip")
    check("take", F, [-1, 9], mode="wrap")
    check("take", F, [0, 9], mode="clip")
    check("take_along_axis", F, numpy.array([[1], [0]]), 1)
    check("take_along_axis", F, numpy.array([[1, 0, -1]]), 0)
    check("take_along_axis", F, numpy.array([0, -1]), None)
    check("ix_", numpy.array([0, 2]), numpy.array([1]))
    check("ix_", B, numpy.array([1]))
    check("clip", F, 0, 1)
    check("clip", I, 1.5, None)
    check("clip", I, None, 2)
    for call in (
        lambda: tnp.where(B, J),
        lambda: tnp.select([], []),
        lambda: tnp.select([B], []),
        lambda: tnp.take(J, 0, mode="raise"),
        lambda: tnp.take(J, 0, mode="other"),
        lambda: tnp.compress(F, F),
        lambda: tnp.ix_([1.5]),
        lambda: tnp.ix_([[1]]),
        lambda: tnp.clip(F, None, None),
    ):
        with pytest.raises(ValueError):
            call()


def test_products():
    M, V = X.astype("float32"), numpy.array([1.0, 2.0, 3.0, 4.0])
    check("dot", F, G.T)
    check("dot", J, F.T)
    check("dot", M, V)
    check("dot", 3, F, types=False)
    check("inner", F, G)
    check("inner", J, 2, types=False)
    check("outer", J, F)
    check("vdot", C, C)
    check("matmul", M, V)
    check("matmul", V, numpy.swapaxes(M, 1, 2))
    check("matmul", J, D)
    check("matmul", F, G.T)
    check("tensordot", F, G.T, 1)
    check("tensordot", M, M, [[1, 2], [1, 2]], traced=False)
    check("kron", F, J)
    check("kron", J, D)
    check("cross", F, G)
    check("cross", F.T.copy(), G.T.copy(), axis=0)
    check("cross", F, G[0], axisc=0)
    compare(tnp.cross([1, 2], [4, 5]), -3)
    compare(tnp.cross([1, 2], [4, 5, 6]), numpy.cross([1, 2, 0], [4, 5, 6]))
    check("polyval", [1, 2, 3], F, types=False)
    check("polyval", [4.0], F, types=False)
    check("einsum", "ij,kj->ik", F, G)
    check("einsum", "ij,j->i", I, D, optimize="optimal")
    check("isclose", F, F + 1e-7)
    check("allclose", N, N, equal_nan=True)
    for a, b in ((J, J), (J, F), (J, U), (J, J[:2])):
        check("array_equal", a, b)
    for call in (lambda: tnp.matmul(1, F), lambda: tnp.einsum("i->i", J, casting="unsafe")):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(ValueError, match="optimize"):
        tnp.einsum("i->i", J, optimize="random")


def test_random_numbers():
    tnp.random.seed(5)
    first = value(tnp.random.randn(2, 3))
    tnp.random.seed(5)
    assert (value(tnp.random.standard_normal((2, 3))) == first).all() and first.dtype == "float64"
    assert tnp.random.rand(2).shape == [2] and tnp.random.random().shape == []
    numbers = value(tnp.random.uniform([0.0, 10.0], [1.0, 11.0], (500, 2)))
    assert ((numbers >= [0, 10]) & (numbers < [1, 11])).all() and numbers[:, 0].std() > 0.2
    integers = value(tnp.random.randint(3, 6, size=500))
    assert set(integers) == {3, 4, 5} and integers.dtype == "int64"
    assert set(value(tnp.random.randint(2, size=(9, 9), dtype=tf.int32)).ravel()) == {0, 1}
    assert tnp.random.poisson(4.0, [3]).dtype == "int64"
    with pytest.raises(ValueError, match="dtype"):
        tnp.random.randint(5, dtype=numpy.float32)
    with pytest.raises(ValueError, match="integers"):
        tnp.random.seed([1])


def test_gradients_pass_through():
    x = tf.constant([0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tnp.sum(tnp.multiply(tnp.exp(x), tnp.array([1, 2])))
    numpy.testing.assert_allclose(
        tape.gradient(y, x).numpy(), numpy.exp([0.5, 2]) * [1, 2], rtol=1e-6
    )
