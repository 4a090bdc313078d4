/* SPDX-License-Identifier: Apache-2.0
 * random_ops.cl: Philox 4x32-10 (Salmon et al., 2011), bit-compatible with TensorFlow: a work
 * item computes the outputs of one block of four 32-bit words. */
#include "kernel/philox.h"

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES == 4
KERNEL(random_skip, OUT(u32, s), SIZE(blocks)) {
  EACH(i, 1);
  const struct philox old = PHILOX_STATE(s), next = philox_skip(old, (u64)blocks);
  for (int k = 0; k < 4; k++) s[i + k] = next.counter[k];
}
#endif

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES >= 4
/* The initial state for two seeds: hashed, so that similar seeds differ. */
KERNEL(random_mix, IN(T, seed), OUT(u32, s)) {
  EACH(i, 1);
  const u64 a = (u64)(i64)seed[0], b = (u64)(i64)seed[1];
  const struct philox p = {{(u32)a, (u32)(a >> 32), (u32)b, (u32)(b >> 32)},
                           {0x3ec8f720u, 0x02461e29u}};
  const struct words x = philox_words(p);
  s[i] = s[i + 1] = 0;
  s[i + 2] = x.at[2];
  s[i + 3] = x.at[3];
  s[i + 4] = x.at[0];
  s[i + 5] = x.at[1];
}
#endif

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES == 8
/* The state with that key and counter. */
KERNEL(random_load, IN(T, key), IN(T, counter), OUT(u32, s)) {
  EACH(i, 1);
  const u64 a = (u64)counter[0], b = (u64)counter[1], k = (u64)key[0];
  s[i] = (u32)a;
  s[i + 1] = (u32)(a >> 32);
  s[i + 2] = (u32)b;
  s[i + 3] = (u32)(b >> 32);
  s[i + 4] = (u32)k;
  s[i + 5] = (u32)(k >> 32);
}
#endif

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES == 8
/* The key and the counter of a state. */
KERNEL(random_split, IN(u32, s), OUT(T, key), OUT(T, counter)) {
  EACH(i, 1);
  key[i] = (T)((u64)s[i + 5] << 32 | s[i + 4]);
  counter[i] = (T)((u64)s[i + 1] << 32 | s[i]);
  counter[i + 1] = (T)((u64)s[i + 3] << 32 | s[i + 2]);
}
#endif

/* Outputs of a block. */
#if T_BYTES == 8
#define GROUP 2
#else
#define GROUP 4
#endif

#if T_IS_INTEGER && T_BYTES >= 4
/* Integers from low to before low + range; a range of 0 is that of all integers. */
KERNEL(random_integers, IN(u32, s), OUT(T, y), SIZE(low), SIZE(range), SIZE(n)) {
  EACH(i, (n + GROUP - 1) / GROUP);
  const struct philox p = PHILOX_STATE(s);
  const struct words x = philox_words(philox_skip(p, (u64)i));
  for (int k = 0; k < GROUP && i * GROUP + k < n; k++) {
#if T_BYTES == 8
    const u64 word = (u64)x.at[2 * k + 1] << 32 | x.at[2 * k];
#else
    const u64 word = x.at[k];
#endif
    y[i * GROUP + k] = (T)((u64)low + (range ? word % (u64)range : word));
  }
}
#endif

#if T_IS_REAL
/* Number k of a block, in [0, 1): the bits of the words become the mantissa. */
INLINE C JOIN(unit, T_NAME)(struct words x, int k) {
#if T_BYTES == 8
  return philox_wide(x.at[2 * k], x.at[2 * k + 1]);
#else
  return philox_float(x.at[k]);
#endif
}

/* Two numbers of the normal distribution from two uniform ones (Box and Muller). */
struct JOIN(pair, T_NAME) {
  C a, b;
};
INLINE struct JOIN(pair, T_NAME) JOIN(normals, T_NAME)(C u, C v) {
  const C radius = sqrt(-2 * PRECISE_LOG(u < (C)1e-7 ? (C)1e-7 : u));
  const C angle = (C)((W)6.283185307179586 * (W)v);
  const struct JOIN(pair, T_NAME) pair = {radius * sin(angle), radius * cos(angle)};
  return pair;
}

/* Integers of less than 64 bits have that many bits of a word. */
KERNEL(random_uniform, IN(u32, s), OUT(T, y), SIZE(n), SIZE(digits)) {
  EACH(i, (n + GROUP - 1) / GROUP);
  const struct philox p = PHILOX_STATE(s);
  struct words x = philox_words(philox_skip(p, (u64)i));
#if T_BYTES < 8
  for (int k = 0; k < 4; k++) x.at[k] = (x.at[k] & ((1u << digits) - 1)) << (23 - digits);
#else
  (void)digits;
#endif
  for (int k = 0; k < GROUP && i * GROUP + k < n; k++)
    y[i * GROUP + k] = (T)JOIN(unit, T_NAME)(x, k);
}

KERNEL(random_normal, IN(u32, s), OUT(T, y), SIZE(n)) {
  EACH(i, (n + GROUP - 1) / GROUP);
  const struct philox p = PHILOX_STATE(s);
  const struct words x = philox_words(philox_skip(p, (u64)i));
  for (int k = 0; k < GROUP && i * GROUP + k < n; k += 2) {
    const struct JOIN(pair, T_NAME) pair =
        JOIN(normals, T_NAME)(JOIN(unit, T_NAME)(x, k), JOIN(unit, T_NAME)(x, k + 1));
    y[i * GROUP + k] = (T)pair.a;
    if (i * GROUP + k + 1 < n) y[i * GROUP + k + 1] = (T)pair.b;
  }
}

/* The truncated normal distribution: numbers beyond 2 standard deviations are rejected. A group of
 * outputs has 256 words per output, of which it needs few. */
KERNEL(random_truncated, IN(u32, s), OUT(T, y), SIZE(n)) {
  EACH(i, (n + GROUP - 1) / GROUP);
  const struct philox start = PHILOX_STATE(s);
  struct philox p = philox_skip(start, (u64)i * (GROUP * 256 / 4));
  for (int made = 0; made < GROUP; p = philox_skip(p, 1)) {
    const struct words x = philox_words(p);
    for (int k = 0; k < GROUP; k += 2) {
      const struct JOIN(pair, T_NAME) pair =
          JOIN(normals, T_NAME)(JOIN(unit, T_NAME)(x, k), JOIN(unit, T_NAME)(x, k + 1));
      for (int which = 0; which < 2; which++) {
        const C value = which ? pair.b : pair.a;
        if (made == GROUP || !(fabs(value) < 2)) continue;
        if (i * GROUP + made < n) y[i * GROUP + made] = (T)value;
        made++;
      }
    }
  }
}
#endif

#undef GROUP
