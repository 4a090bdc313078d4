# SPDX-License-Identifier: Apache-2.0
"""test_special_functions.py: tf.math.special, incomplete gamma and beta functions, zeta: values of
mpmath, special values of TensorFlow 2.21 and gradients."""

import math

import pytest

import situ as tf

POINTS = [0.03, 0.7, 1.0, 1.9, 2.1, 5.5, 7.9, 8.1, 30.0]
VALUES = {
    "dawsn": [
        0.029982006478334048,
        0.5105040575592318,
        0.5380795069127684,
        0.32297431932281784,
        0.2818849389255278,
        0.09249323231075476,
        0.0638109032198449,
        0.06221000236682679,
        0.016675941401059175,
    ],
    "expint": [
        -2.8991157239402794,
        1.0649071946242905,
        1.8951178163559368,
        4.593713686953585,
        5.333235359655903,
        58.46551424982395,
        404.7006958537439,
        479.32172207958024,
        368973209407.2742,
    ],
    "fresnel_cos": [
        0.02999999400421588,
        0.6596523519045103,
        0.7798934003768229,
        0.3944705348915229,
        0.5815641350608339,
        0.4784214149253145,
        0.47597379384841176,
        0.5227506125578564,
        0.4999962473706099,
    ],
    "fresnel_sin": [
        1.4137164922977795e-05,
        0.17213645786347742,
        0.43825914739035476,
        0.3733473178169812,
        0.37427335937810374,
        0.5536840627790217,
        0.5323420347477718,
        0.5320393956415611,
        0.4893896744421938,
    ],
    "spence": [
        1.507899040678907,
        0.32612951007547614,
        0.0,
        -0.7521631792172615,
        -0.8908380902622827,
        -2.565096222076555,
        -3.3703320297344748,
        -3.4297462422652027,
        -7.280084707384271,
    ],
    "bessel_i0": [
        1.0002250126565664,
        1.1263030183068092,
        1.2660658777520084,
        2.127740194053888,
        2.4462831294361824,
        42.69464515184779,
        389.406283282158,
        469.5006067101215,
        781672297823.9775,
    ],
    "bessel_i1": [
        0.015001687563282436,
        0.37187967777700864,
        0.565159103992485,
        1.4482443730548888,
        1.7454998088361062,
        38.58816461632739,
        363.8539440845084,
        439.48430891035844,
        768532038938.957,
    ],
    "bessel_i0e": [
        0.970663896076065,
        0.5593055265070683,
        0.46575960759364043,
        0.31824316288914156,
        0.2995630945262819,
        0.17448325638192988,
        0.14436986414104191,
        0.14251180948829528,
        0.0731459464822373,
    ],
    "bessel_i1e": [
        0.014558320691477644,
        0.18466998276274732,
        0.20791041534970844,
        0.21661191117477052,
        0.21374767210633228,
        0.15770100901675652,
        0.13489649943989376,
        0.13340068832583662,
        0.07191633059864755,
    ],
    "bessel_k0": [
        3.623529537929547,
        0.6605198599151016,
        0.42102443824070834,
        0.1288459792760475,
        0.10078374088996693,
        0.0021387085659502875,
        0.0001628676676876532,
        0.00013173427864935836,
        2.1324774964630563e-14,
    ],
    "bessel_k1": [
        33.271487769478064,
        1.050283535312918,
        0.6019072301972346,
        0.15966015303266762,
        0.12274641153350789,
        0.0023255690088490053,
        0.00017288430649238984,
        0.00013964122894503082,
        2.1677320018915495e-14,
    ],
    "bessel_k0e": [
        3.7338824412739937,
        1.3301236562420558,
        1.144463079806895,
        0.8614506167517558,
        0.8230171525316621,
        0.5233247315524157,
        0.4393000819002152,
        0.4339943754308567,
        0.22788666561625373,
    ],
    "bessel_k1e": [
        34.28475542343765,
        2.1150113128480523,
        1.6361534862632583,
        1.0674709298145701,
        1.0023680527405792,
        0.5690479743890509,
        0.4663177847368799,
        0.4600435707528057,
        0.2316541293777118,
    ],
    "bessel_j0": [
        0.9997750126559336,
        0.8812008886074053,
        0.7651976865579666,
        0.28181855937438555,
        0.16660698033199028,
        -0.006843869417819197,
        0.19436184484127825,
        0.14751745404437766,
        -0.08636798358104021,
    ],
    "bessel_j1": [
        0.014998312563280063,
        0.32899574154005895,
        0.4400505857449335,
        0.5811570727134341,
        0.5682921357570386,
        -0.34143821542904335,
        0.2191793999217512,
        0.24760776698159287,
        -0.11875106261662294,
    ],
    "bessel_y0": [
        -2.30548630393068,
        -0.19066492933739512,
        0.08825696421567696,
        0.4968199712838202,
        0.5182937375137607,
        -0.339480592881911,
        0.20652094814437577,
        0.23809132870223482,
        -0.11729573168666403,
    ],
    "bessel_y1": [
        -21.260020718712394,
        -1.1032498719076334,
        -0.7812128213002887,
        -0.1644057723315953,
        -0.05167861213042353,
        -0.023758238956389618,
        -0.18172107728057313,
        -0.13314879595249593,
        0.08442557066174723,
    ],
}
NDTRI = [
    (1e-300, -37.0470962993612),
    (1e-20, -9.262340089798407),
    (0.001, -3.0902323061678136),
    (0.2, -0.8416212335729142),
    (0.3, -0.5244005127080408),
    (0.5, 0.0),
    (0.7, 0.5244005127080407),
    (0.999, 3.090232306167813),
]
ERFINV = [
    (1e-12, 8.86226925452758e-13),
    (-0.3, -0.2724627147267543),
    (0.5, 0.4769362762044699),
    (0.9, 1.1630871536766743),
    (-0.99999, -3.123413274341571),
]
IGAMMA = [
    (0.1, 0.01, 0.6626212599544798, 0.3373787400455202),
    (0.5, 3.0, 0.9856941215645704, 0.01430587843542964),
    (2.0, 1.0, 0.26424111765711533, 0.7357588823428847),
    (20.0, 25.0, 0.8664251659143496, 0.1335748340856504),
    (100.0, 90.0, 0.15822098918643016, 0.8417790108135699),
    (1000.0, 1000.0, 0.5042052441802155, 0.4957947558197845),
]
IGAMMA_SLOPE = [
    (0.1, 0.01, -2.7761608124254225),
    (0.5, 3.0, -0.04724032644797375),
    (2.0, 1.0, -0.2761960457028348),
    (20.0, 25.0, -0.046727804534347564),
    (100.0, 90.0, -0.02461191684397991),
]
BETAINC = [
    (0.5, 0.5, 0.3, 0.36901011956554536),
    (2.0, 3.0, 0.9, 0.9963),
    (10.0, 0.1, 0.99, 0.17551032909330117),
    (100.0, 50.0, 0.6, 0.044424097290243734),
]
ZETA = [
    (1.5, 0.1, 34.0529755150756),
    (2.0, 1.0, 1.6449340668482264),
    (3.0, 20.0, 0.0013140612011573274),
    (30.0, 2.0, 9.313274324196682e-10),
    (2.0, -0.5, 8.934802200544679),
]
POLYGAMMA = [
    (0, 0.3, -3.502524222200133),
    (1, 2.5, 0.49035775610023485),
    (3, -0.5, 193.40909103400244),
    (2, -12.25, 124.01896466745859),
]

INFINITY, NAN = math.inf, math.nan


def numbers(*values):
    return [tf.constant(v, tf.float64) for v in values]


def agrees(result, values, tolerance=1e-13):
    """Whether the elements agree, relative to their size or, near zeros, to 1e-2."""
    pairs = list(zip(result.numpy().tolist(), values, strict=True))
    return all(abs(a - b) <= tolerance * max(abs(b), 1e-2) for a, b in pairs)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_functions_of_one_argument(name):
    function = getattr(tf.math.special, name)
    assert agrees(function(tf.constant(POINTS, tf.float64)), VALUES[name])
    assert agrees(function(tf.constant(POINTS)), VALUES[name], 2e-6)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_gradients_are_differences(name):
    function = getattr(tf.math.special, name)
    x = tf.constant([0.3, 1.2, 2.4, 6.5, 9.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    step = 1e-5
    rise = (function(x + step) - function(x - step)) / (2 * step)
    assert agrees(tape.gradient(y, x), rise.numpy().tolist(), 1e-6)


def test_gradients_at_zero():
    x = tf.constant([0.0], tf.float64)
    for name, slope in (("bessel_i1", 0.5), ("bessel_i1e", 0.5), ("bessel_j1", 0.5)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(tf.math.special, name)(x)
        assert tape.gradient(y, x).numpy().tolist() == [slope]


def test_parity():
    x = tf.constant([0.5, 3.0, 7.0, 12.0], tf.float64)
    for name in ("bessel_i0", "bessel_i0e", "bessel_j0"):
        function = getattr(tf.math.special, name)
        assert function(-x).numpy().tolist() == function(x).numpy().tolist()
    for name in ("bessel_i1", "bessel_i1e", "bessel_j1", "dawsn", "fresnel_cos", "fresnel_sin"):
        function = getattr(tf.math.special, name)
        assert function(-x).numpy().tolist() == (-function(x)).numpy().tolist()


def test_special_values():
    special = tf.math.special

    def at(function, x):
        return float(function(tf.constant(x, tf.float64)))

    for name in ("bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e"):
        assert at(getattr(special, name), 0.0) == at(getattr(special, name), -1.0) == INFINITY
    for name in ("bessel_y0", "bessel_y1"):
        assert at(getattr(special, name), 0.0) == at(getattr(special, name), -1.0) == -INFINITY
    assert at(special.expint, 0.0) == -INFINITY
    assert math.isnan(at(special.expint, -1.0))
    assert math.isnan(at(special.spence, -1.0))
    assert at(special.spence, 0.0) == pytest.approx(math.pi**2 / 6, 1e-15)
    assert at(special.fresnel_cos, INFINITY) == 0.5
    assert at(special.fresnel_sin, -INFINITY) == -0.5
    for name in VALUES:
        assert math.isnan(at(getattr(special, name), NAN)), name
    assert tf.math.bessel_i0(1.0).numpy() == special.bessel_i0(1.0).numpy()


def test_inverses():
    for p, x in NDTRI:
        assert agrees(tf.math.ndtri(tf.constant([p], tf.float64)), [x], 1e-14)
    for y, x in ERFINV:
        assert float(tf.math.erfinv(tf.constant(y, tf.float64))) == pytest.approx(x, 1e-14)
    assert tf.math.erfinv([-1.0, 0.0, 1.0]).numpy().tolist() == [-INFINITY, 0, INFINITY]
    assert tf.math.ndtri([0.0, 1.0]).numpy().tolist() == [-INFINITY, INFINITY]
    for function in (tf.math.erfinv, tf.math.ndtri):
        assert all(math.isnan(v) for v in function([-1.5, 1.5, NAN]).numpy())
    inverse = tf.math.erfcinv([0.0, 0.2, 1.5, 2.0]).numpy().tolist()
    assert inverse == pytest.approx([INFINITY, 0.9061938, -0.4769363, -INFINITY], 1e-6)


def test_incomplete_gamma():
    for a, x, lower, upper in IGAMMA:
        assert float(tf.math.igamma(*numbers(a, x))) == pytest.approx(lower, 1e-13)
        assert float(tf.math.igammac(*numbers(a, x))) == pytest.approx(upper, 1e-13)
    for a, x, slope in IGAMMA_SLOPE:
        a, x = numbers(a, x)
        with tf.GradientTape() as tape:
            tape.watch([a, x])
            y = tf.math.igamma(a, x)
        da, dx = tape.gradient(y, [a, x])
        assert float(da) == pytest.approx(slope, 1e-10)
        sample = tf.raw_ops.RandomGammaGrad(alpha=a, sample=x)
        assert float(sample) == pytest.approx(-slope / float(dx), 1e-9)
    assert tf.math.igamma([0.0, 1.0, 2.0], [0.0, 0.0, INFINITY]).numpy().tolist() == [0, 0, 1]
    assert all(math.isnan(v) for v in tf.math.igamma([-1.0, 1.0, 0.0], [1.0, -1.0, 1.0]).numpy())
    assert tf.math.igammac([1.0, 2.0], [0.0, INFINITY]).numpy().tolist() == [1, 0]


@pytest.mark.parametrize(
    "a, deviations, lower",  # x = a + deviations * sqrt(a)
    [
        (1e7, 0, 0.5000420522087253),
        (2e6, -7, 1.1801719e-12),
        (1e10, -5, 2.86532654e-07),
        (1e10, 1, 0.8413447460738509),
        (1e30, 0, 0.5),
        (1e30, 5e15, 1.0),
        (1e300, 0, 0.5),
    ],
)
def test_incomplete_gamma_of_large_numbers(a, deviations, lower):
    x = a + deviations * math.sqrt(a)
    found = [float(f(*numbers(a, x))) for f in (tf.math.igamma, tf.math.igammac)]
    assert found == pytest.approx([lower, 1 - lower], 1e-7, 0)


def test_incomplete_beta():
    for a, b, x, value in BETAINC:
        assert float(tf.math.betainc(*numbers(a, b, x))) == pytest.approx(value, 1e-12)
    assert tf.math.betainc(1.0, 2.0, [0.0, 1.0]).numpy().tolist() == [0, 1]
    assert all(math.isnan(v) for v in tf.math.betainc(1.0, 2.0, [-1.0, 2.0, NAN]).numpy())
    assert math.isnan(tf.math.betainc(0.0, 2.0, 0.5).numpy())
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shapes of a and b are inconsistent"):
        tf.math.betainc([1.0, 2.0], [1.0, 2.0, 3.0], 0.5)


def test_zeta_and_polygamma():
    for x, q, value in ZETA:
        assert float(tf.math.zeta(*numbers(x, q))) == pytest.approx(value, 1e-13)
    assert tf.math.zeta([1.0, 2.0], [3.0, -2.0]).numpy().tolist() == [INFINITY, INFINITY]
    assert all(math.isnan(v) for v in tf.math.zeta([0.5, 3.0, 2.5], [1.0, -2.0, -0.5]).numpy())
    for n, x, value in POLYGAMMA:
        assert float(tf.math.polygamma(*numbers(n, x))) == pytest.approx(value, 1e-12)


@pytest.mark.parametrize("name, parameters", [("betainc", (1.5, 2.5)), ("zeta", (2.5,))])
def test_gradients_of_the_last_argument(name, parameters):
    function, parameters = getattr(tf.math, name), numbers(*parameters)
    x = tf.constant(0.3, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([x, *parameters])
        y = function(*parameters, x)
    dx, *others = tape.gradient(y, [x, *parameters])
    step = 1e-6
    rise = (function(*parameters, x + step) - function(*parameters, x - step)) / (2 * step)
    assert float(dx) == pytest.approx(float(rise), 1e-7)
    assert others == [None] * len(parameters)


def test_nextafter():
    after = tf.math.nextafter(tf.constant([1.0, 1.0, 0.0]), tf.constant([2.0, 0.0, 1.0]))
    assert after.numpy().tolist() == [1 + 2.0**-23, 1 - 2.0**-24, 2.0**-149]
    assert float(tf.math.nextafter(*numbers(1, 2))) == math.nextafter(1, 2)
