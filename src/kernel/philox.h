/* SPDX-License-Identifier: Apache-2.0
 * philox.h: Philox 4x32-10 (Salmon and others, 2011) for kernels: words from a counter and a key.
 */
#ifndef SITU_KERNEL_PHILOX_H
#define SITU_KERNEL_PHILOX_H

/* The state of a generator is six words: a counter of four and a key of two. */
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

/* A number from 0 to before 1 whose digits are the bits of a word, or of two. */
INLINE float philox_float(u32 word) { return as_float(127u << 23 | (word & 0x7fffffu)) - 1; }
INLINE W philox_wide(u32 high, u32 low) {
#if HAS_DOUBLE
  return as_double((u64)1023 << 52 | (u64)(high & 0xfffffu) << 32 | low) - 1;
#else
  const u32 digits = (high & 0xfffffu) << 4 | low >> 28; /* as many as a float has */
  return (float)digits * as_float(103u << 23);           /* 2 to the power of -24 */
#endif
}

/* The state that words in memory hold. */
#define PHILOX_STATE(s)                      \
  {                                          \
    {s[0], s[1], s[2], s[3]}, { s[4], s[5] } \
  }

#endif
