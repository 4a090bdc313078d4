/* SPDX-License-Identifier: Apache-2.0
 * foreach.h: FOR_EACH(m, a, b, c) expands to m(a) m(b) m(c), for 1 to 20 arguments. */
#ifndef SITU_KERNEL_FOREACH_H
#define SITU_KERNEL_FOREACH_H

#define FOR_1(m, a) m(a)
#define FOR_2(m, a, ...) m(a) FOR_1(m, __VA_ARGS__)
#define FOR_3(m, a, ...) m(a) FOR_2(m, __VA_ARGS__)
#define FOR_4(m, a, ...) m(a) FOR_3(m, __VA_ARGS__)
#define FOR_5(m, a, ...) m(a) FOR_4(m, __VA_ARGS__)
#define FOR_6(m, a, ...) m(a) FOR_5(m, __VA_ARGS__)
#define FOR_7(m, a, ...) m(a) FOR_6(m, __VA_ARGS__)
#define FOR_8(m, a, ...) m(a) FOR_7(m, __VA_ARGS__)
#define FOR_9(m, a, ...) m(a) FOR_8(m, __VA_ARGS__)
#define FOR_10(m, a, ...) m(a) FOR_9(m, __VA_ARGS__)
#define FOR_11(m, a, ...) m(a) FOR_10(m, __VA_ARGS__)
#define FOR_12(m, a, ...) m(a) FOR_11(m, __VA_ARGS__)
#define FOR_13(m, a, ...) m(a) FOR_12(m, __VA_ARGS__)
#define FOR_14(m, a, ...) m(a) FOR_13(m, __VA_ARGS__)
#define FOR_15(m, a, ...) m(a) FOR_14(m, __VA_ARGS__)
#define FOR_16(m, a, ...) m(a) FOR_15(m, __VA_ARGS__)
#define FOR_17(m, a, ...) m(a) FOR_16(m, __VA_ARGS__)
#define FOR_18(m, a, ...) m(a) FOR_17(m, __VA_ARGS__)
#define FOR_19(m, a, ...) m(a) FOR_18(m, __VA_ARGS__)
#define FOR_20(m, a, ...) m(a) FOR_19(m, __VA_ARGS__)

#define FOR_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, chosen, ...) chosen
#define FOR_EACH(m, ...)                                                                        \
  FOR_PICK(__VA_ARGS__, FOR_20, FOR_19, FOR_18, FOR_17, FOR_16, FOR_15, FOR_14, FOR_13, FOR_12, \
           FOR_11, FOR_10, FOR_9, FOR_8, FOR_7, FOR_6, FOR_5, FOR_4, FOR_3, FOR_2, FOR_1, none) \
  (m, __VA_ARGS__)

#endif
