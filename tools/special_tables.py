# SPDX-License-Identifier: Apache-2.0
"""special_tables.py: prints the Chebyshev series of the special functions of src/ops/math (needs
mpmath).

Each function is interpolated at the Chebyshev nodes of an interval with 40 digits; the coefficients
that are below half a unit of double precision are left out.
Usage: special_tables.py bessel > src/ops/math/bessel_tables.h
       special_tables.py integral > src/ops/math/integral_tables.h
"""

import sys

import mpmath as mp

mp.mp.dps = 40
NODES = 80
SMALLEST = mp.mpf("4e-18")


def fresnel_auxiliary(x):
    """f and g, with C = 1/2 + f sin(pi x^2 / 2) - g cos(pi x^2 / 2)."""
    with mp.workdps(60):
        c, s = mp.mpf(1) / 2 - mp.fresnelc(x), mp.mpf(1) / 2 - mp.fresnels(x)
        cosine, sine = mp.cospi(x * x / 2), mp.sinpi(x * x / 2)
        return s * cosine - c * sine, c * cosine + s * sine


def hankel(order, x):
    """P and Q: J = sqrt(2 / (pi x)) (P cos(w) - Q sin(w)), Y the same with sin and cos."""
    with mp.workdps(60):
        w = x - mp.pi * (2 * order + 1) / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        scale = mp.sqrt(mp.pi * x / 2)
        return (
            scale * (j * mp.cos(w) + y * mp.sin(w)),
            scale * (y * mp.cos(w) - j * mp.sin(w)),
        )


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def below(limit, power, function):
    """A function of x in [0, limit] as one of (x / limit)^power."""
    return lambda u: function(limit * mp.root(u, power))


def above(limit, power, function):
    """A function of x >= limit as one of (limit / x)^power."""
    return lambda u: function(limit / mp.root(u, power))


def y0_rest(x):
    return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)


def y1_rest(x):
    return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x


def scaled_i(order):
    return lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)


def scaled_k(order):
    return lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)


def k1_rest(x):
    return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))


FRESNEL = mp.mpf(2)
BESSEL = [
    ("i0e_near", "exp(-x) I0(x), u = x / 8", below(8, 1, lambda x: mp.exp(-x) * mp.besseli(0, x))),
    ("i0e_far", "sqrt(x) exp(-x) I0(x), u = 8 / x", above(8, 1, scaled_i(0))),
    (
        "i1e_near",
        "exp(-x) I1(x) / x, u = x / 8",
        below(8, 1, lambda x: mp.exp(-x) * mp.besseli(1, x) / x),
    ),
    ("i1e_far", "sqrt(x) exp(-x) I1(x), u = 8 / x", above(8, 1, scaled_i(1))),
    (
        "k0_near",
        "K0(x) + log(x / 2) I0(x), u = (x / 2)^2",
        below(2, 2, lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)),
    ),
    ("k0e_far", "sqrt(x) exp(x) K0(x), u = 2 / x", above(2, 1, scaled_k(0))),
    ("k1_near", "x (K1(x) - log(x / 2) I1(x)), u = (x / 2)^2", below(2, 2, k1_rest)),
    ("k1e_far", "sqrt(x) exp(x) K1(x), u = 2 / x", above(2, 1, scaled_k(1))),
    ("j0_near", "J0(x), u = (x / 8)^2", below(8, 2, lambda x: mp.besselj(0, x))),
    ("j1_near", "J1(x) / x, u = (x / 8)^2", below(8, 2, lambda x: mp.besselj(1, x) / x)),
    ("y0_near", "Y0(x) - 2 / pi log(x) J0(x), u = (x / 8)^2", below(8, 2, y0_rest)),
    (
        "y1_near",
        "(Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x, u = (x / 8)^2",
        below(8, 2, y1_rest),
    ),
    ("p0_far", "P of order 0, u = (8 / x)^2", above(8, 2, lambda x: hankel(0, x)[0])),
    ("q0_far", "x Q of order 0, u = (8 / x)^2", above(8, 2, lambda x: x * hankel(0, x)[1])),
    ("p1_far", "P of order 1, u = (8 / x)^2", above(8, 2, lambda x: hankel(1, x)[0])),
    ("q1_far", "x Q of order 1, u = (8 / x)^2", above(8, 2, lambda x: x * hankel(1, x)[1])),
]
INTEGRAL = [
    (
        "dawson_near",
        "F(x) / x, u = (x / 2.5)^2",
        below(mp.mpf("2.5"), 2, lambda x: dawson(x) / x),
    ),
    (
        "dawson_middle",
        "x F(x), u = (x - 2.5) / 3.5",
        lambda u: dawson(mp.mpf("2.5") + mp.mpf("3.5") * u) * (mp.mpf("2.5") + mp.mpf("3.5") * u),
    ),
    ("dawson_far", "2 x F(x), u = (6 / x)^2", above(6, 2, lambda x: 2 * x * dawson(x))),
    (
        "fresnel_c_near",
        "C(x) / x, u = (x / 2)^4",
        below(FRESNEL, 4, lambda x: mp.fresnelc(x) / x),
    ),
    (
        "fresnel_s_near",
        "S(x) / x^3, u = (x / 2)^4",
        below(FRESNEL, 4, lambda x: mp.fresnels(x) / x**3),
    ),
    (
        "fresnel_f",
        "pi x f(x), u = (2 / x)^4",
        above(FRESNEL, 4, lambda x: mp.pi * x * fresnel_auxiliary(x)[0]),
    ),
    (
        "fresnel_g",
        "pi^2 x^3 g(x), u = (2 / x)^4",
        above(FRESNEL, 4, lambda x: mp.pi**2 * x**3 * fresnel_auxiliary(x)[1]),
    ),
]


def series(function):
    """Chebyshev coefficients of a function on [0, 1]; the first one is halved."""
    angles = [mp.pi * (2 * j + 1) / (2 * NODES) for j in range(NODES)]
    values = [function((1 + mp.cos(angle)) / 2) for angle in angles]
    terms = [
        2 * mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True)) / NODES
        for k in range(NODES)
    ]
    terms[0] /= 2
    scale = max(abs(value) for value in values)
    while terms and abs(terms[-1]) < SMALLEST * scale:
        terms.pop()
    if len(terms) > NODES - 8:
        raise ValueError("the series does not converge")
    return terms


def lines_of(terms):
    """The coefficients in lines of at most 100 characters."""
    lines, line = [], "   "
    for term in terms:
        word = f" (W){mp.nstr(term, 19, min_fixed=0, max_fixed=0)},"
        if len(line) + len(word) > 100:
            lines.append(line)
            line = "   "
        line += word
    return [*lines, line]


def main():
    name = sys.argv[1]
    tables, text = {
        "bessel": (BESSEL, "the Bessel functions"),
        "integral": (INTEGRAL, "Dawson's and Fresnel's integrals"),
    }[name]
    guard = f"SITU_OPS_MATH_{name.upper()}_TABLES_H"
    print("/* SPDX-License-Identifier: Apache-2.0")
    print(f" * {name}_tables.h: Chebyshev series of {text} on 0 <= u <= 1.")
    print(" * Generated by tools/special_tables.py. */")
    print(f"#ifndef {guard}\n#define {guard}\n")
    print('#include "ops/math/chebyshev.h"\n')
    print("/* clang-format off */")
    for name, text, function in tables:
        terms = series(function)
        print(f"/* {text} */")
        print(f"SPECIAL W {name}(W u) {{")
        print(f"  SPECIAL_TABLE W terms[{len(terms)}] = {{")
        print("\n".join(lines_of(terms)))
        print("  };")
        print(f"  return chebyshev(u, terms, {len(terms)});")
        print("}\n")
    print("/* clang-format on */\n")
    print("#endif")


if __name__ == "__main__":
    main()
