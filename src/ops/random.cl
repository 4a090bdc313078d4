/* SPDX-License-Identifier: Apache-2.0
 * random.cl: Philox 4x32-10 (Salmon and others, 2011), laid out as in TensorFlow: a work item makes
 * the group of outputs that one block of four words gives. Only additions, multiplications and
 * correctly rounded divisions and roots: the bits are the same on every device. */

/* The state of a generator is six words: a counter of four and a key of two. */
#ifndef RANDOM_PHILOX
#define RANDOM_PHILOX
struct philox {
  u32 counter[4], key[2];
};

struct words {
  u32 at[4];
};

/* Goes on by `blocks`. */
INLINE struct philox philox_skip(struct philox p, u64 blocks) {
  const u64 low = (u64)p.counter[1] << 32 | p.counter[0], sum = low + blocks;
  const u64 high = ((u64)p.counter[3] << 32 | p.counter[2]) + (sum < low);
  p.counter[0] = (u32)sum;
  p.counter[1] = (u32)(sum >> 32);
  p.counter[2] = (u32)high;
  p.counter[3] = (u32)(high >> 32);
  return p;
}

/* The block at the counter. */
INLINE struct words philox_words(struct philox p) {
  u32 a = p.counter[0], b = p.counter[1], c = p.counter[2], d = p.counter[3];
  u32 key0 = p.key[0], key1 = p.key[1];
  for (int round = 0; round < 10; round++) {
    const u64 left = (u64)a * 0xD2511F53u, right = (u64)c * 0xCD9E8D57u;
    a = (u32)(right >> 32) ^ b ^ key0;
    b = (u32)right;
    c = (u32)(left >> 32) ^ d ^ key1;
    d = (u32)left;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  const struct words words = {{a, b, c, d}};
  return words;
}
#endif

#define STATE(s) {{s[0], s[1], s[2], s[3]}, {s[4], s[5]}}

#if T_IS_INTEGER && T_BYTES == 4
KERNEL(random_skip, OUT(u32, s), SIZE(blocks)) {
  EACH(i, 1);
  const struct philox old = STATE(s), next = philox_skip(old, (u64)blocks);
  for (int k = 0; k < 4; k++) s[i + k] = next.counter[k];
}
#endif

/* Outputs of a block. */
#if T_BYTES == 8
#define GROUP 2
#else
#define GROUP 4
#endif

#if T_IS_INTEGER && T_BYTES >= 4
/* Integers from low to before low + range. */
KERNEL(random_integers, IN(u32, s), OUT(T, y), SIZE(low), SIZE(range), SIZE(n)) {
  EACH(i, (n + GROUP - 1) / GROUP);
  const struct philox p = STATE(s);
  const struct words x = philox_words(philox_skip(p, (u64)i));
  for (int k = 0; k < GROUP && i * GROUP + k < n; k++) {
#if T_BYTES == 8
    const u64 word = (u64)x.at[2 * k + 1] << 32 | x.at[2 * k];
#else
    const u64 word = x.at[k];
#endif
    y[i * GROUP + k] = (T)((u64)low + word % (u64)range);
  }
}
#endif

#if T_IS_REAL
/* Number k of a block, from 0 to before 1: the words are the digits behind the point. */
INLINE C JOIN(unit, T_NAME)(struct words x, int k) {
#if T_BYTES == 8
  return as_double((u64)1023 << 52 | (u64)(x.at[2 * k] & 0xfffffu) << 32 | x.at[2 * k + 1]) - 1;
#else
  return as_float(127u << 23 | (x.at[k] & 0x7fffffu)) - 1;
#endif
}

/* The natural logarithm of a normal number up to 1. */
INLINE C JOIN(log_of, T_NAME)(C x) {
#if T_BYTES == 8
  const u64 shifted = as_ulong(x) - 0x3fe6a09e667f3bcdul;
  const C e = (C)((i64)shifted >> 52);
  const C f = as_double((shifted & 0xffffffffffffful) + 0x3fe6a09e667f3bcdul) - 1;
  const C half_square = (C)0.5 * f * f, q = f / (2 + f), z = q * q;
  C p = (C)1.479819860511658591e-01;
  p = p * z + (C)1.531383769920937332e-01;
  p = p * z + (C)1.818357216161805012e-01;
  p = p * z + (C)2.222219843214978396e-01;
  p = p * z + (C)2.857142874366239149e-01;
  p = p * z + (C)3.999999999940941908e-01;
  p = p * z + (C)6.666666666666735130e-01;
  const C tail = q * (half_square + p * z) + e * (C)1.90821492927058770002e-10;
  return e * (C)6.93147180369123816490e-01 - ((half_square - tail) - f);
#else
  const u32 shifted = as_uint(x) - 0x3f3504f3u;
  const C e = (C)((i32)shifted >> 23);
  const C f = as_float((shifted & 0x7fffffu) + 0x3f3504f3u) - 1;
  const C z = f * f;
  C p = (C)7.0376836292e-2;
  p = p * f - (C)1.1514610310e-1;
  p = p * f + (C)1.1676998740e-1;
  p = p * f - (C)1.2420140846e-1;
  p = p * f + (C)1.4249322787e-1;
  p = p * f - (C)1.6668057665e-1;
  p = p * f + (C)2.0000714765e-1;
  p = p * f - (C)2.4999993993e-1;
  p = p * f + (C)3.3333331174e-1;
  return f + (p * f * z - e * (C)2.12194440e-4 - (C)0.5 * z) + e * (C)0.693359375;
#endif
}

/* The sine of a part of a turn, at most an eighth. */
INLINE C JOIN(sine, T_NAME)(C turn) {
  const C z = turn * turn;
#if T_BYTES == 8
  C p = (C)1.04229162208139841173e-1;
  p = p * z - (C)7.18122301778500512232e-1;
  p = p * z + (C)3.81995258484828212773;
  p = p * z - (C)1.50946425768229903918e+1;
  p = p * z + (C)4.20586939448976531450e+1;
#else
  C p = (C)4.20586939448976531450e+1;
#endif
  p = p * z - (C)7.67058597530613858416e+1;
  p = p * z + (C)8.16052492760750542034e+1;
  p = p * z - (C)4.13417022403997602340e+1;
  p = p * z + (C)6.28318530717958647693;
  return p * turn;
}

INLINE C JOIN(cosine, T_NAME)(C turn) {
  const C z = turn * turn;
#if T_BYTES == 8
  C p = -(C)3.63828411425456707718e-2;
  p = p * z + (C)2.82005968455791215070e-1;
  p = p * z - (C)1.71439071108867206542;
  p = p * z + (C)7.90353637131846880421;
  p = p * z - (C)2.64262567833743974529e+1;
#else
  C p = -(C)2.64262567833743974529e+1;
#endif
  p = p * z + (C)6.02446413718766603627e+1;
  p = p * z - (C)8.54568172066937277360e+1;
  p = p * z + (C)6.49393940226682914910e+1;
  p = p * z - (C)1.97392088021787172377e+1;
  return p * z + 1;
}

/* Two numbers of the normal distribution from two uniform ones (Box and Muller). */
struct JOIN(pair, T_NAME) {
  C a, b;
};
INLINE struct JOIN(pair, T_NAME) JOIN(normals, T_NAME)(C u, C v) {
  const C radius = sqrt(-2 * JOIN(log_of, T_NAME)(u < (C)1e-7 ? (C)1e-7 : u));
  const int quarter = (int)(4 * v + (C)0.5);
  const C rest = v - (C)0.25 * (C)quarter;
  const C s = JOIN(sine, T_NAME)(rest), c = JOIN(cosine, T_NAME)(rest);
  const C across = quarter & 1 ? c : s, along = quarter & 1 ? s : c;
  const struct JOIN(pair, T_NAME) pair = {
      radius * (quarter & 2 ? -across : across),
      radius * ((quarter + 1) & 2 ? -along : along),
  };
  return pair;
}

KERNEL(random_uniform, IN(u32, s), OUT(T, y), SIZE(n)) {
  EACH(i, (n + GROUP - 1) / GROUP);
  const struct philox p = STATE(s);
  struct words x = philox_words(philox_skip(p, (u64)i));
#if T_BYTES == 2
  for (int k = 0; k < 4; k++) x.at[k] = (x.at[k] & 0x3ffu) << 13; /* ten digits */
#endif
  for (int k = 0; k < GROUP && i * GROUP + k < n; k++)
    y[i * GROUP + k] = (T)JOIN(unit, T_NAME)(x, k);
}

KERNEL(random_normal, IN(u32, s), OUT(T, y), SIZE(n)) {
  EACH(i, (n + GROUP - 1) / GROUP);
  const struct philox p = STATE(s);
  const struct words x = philox_words(philox_skip(p, (u64)i));
  for (int k = 0; k < GROUP && i * GROUP + k < n; k += 2) {
    const struct JOIN(pair, T_NAME) pair =
        JOIN(normals, T_NAME)(JOIN(unit, T_NAME)(x, k), JOIN(unit, T_NAME)(x, k + 1));
    y[i * GROUP + k] = (T)pair.a;
    if (i * GROUP + k + 1 < n) y[i * GROUP + k + 1] = (T)pair.b;
  }
}

/* Numbers of the normal distribution between -2 and 2: others are thrown away. A group of outputs
 * has 256 words for each output, of which it needs few. */
KERNEL(random_truncated, IN(u32, s), OUT(T, y), SIZE(n)) {
  EACH(i, (n + GROUP - 1) / GROUP);
  const struct philox start = STATE(s);
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
#undef STATE
