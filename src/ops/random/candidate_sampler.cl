/* SPDX-License-Identifier: Apache-2.0
 * candidate_sampler.cl: candidate samplers: draws classes until enough are distinct, and
 * computes expected counts. Uses the random bits in the order of TensorFlow. */
#include "kernel/interrupt.h"
#include "kernel/philox.h"

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES == 8
/* A generator word by word. */
struct candidates {
  struct philox p;
  struct words words;
  int used;
};

INLINE u32 candidate_word(struct candidates *c) {
  if (c->used == 4) {
    c->words = philox_words(c->p);
    c->p = philox_skip(c->p, 1);
    c->used = 0;
  }
  return c->words.at[c->used++];
}

/* A uniform class below `range`: draws again where the remainder would favour small classes. */
INLINE u64 candidate_even(struct candidates *c, u64 range) {
  const u64 rest = ~(u64)0 % range + 1;
  for (;;) {
    const u64 low = candidate_word(c), word = (u64)candidate_word(c) << 32 | low;
    if (!(range & (range - 1))) return word & (range - 1);
    if (word >= rest) return word % range;
  }
}

/* A class that is the rarer the larger it is: as log((class + 2) / (class + 1)). */
INLINE u64 candidate_log(struct candidates *c, u64 range, W width) {
  const u32 high = candidate_word(c), low = candidate_word(c);
  return ((u64)exp(philox_wide(high, low) * width) - 1) % range;
}

/* n classes; tries[0] is how many were drawn for them. One item does it all. */
KERNEL(draw_candidates, IN(u32, s), OUT(T, y), OUT(T, tries), SIZE(n), SIZE(range), SIZE(differ),
       SIZE(even)) {
  EACH(i, 1);
  struct candidates c = {PHILOX_STATE(s), {{0, 0, 0, 0}}, 4};
  const W width = log1p((W)range);
  i64 have = i, drawn = 0;
  while (have < n) {
    if (INTERRUPTED) return;
    const T value =
        (T)(even ? candidate_even(&c, (u64)range) : candidate_log(&c, (u64)range, width));
    bool fresh = true;
    drawn++;
    for (i64 k = 0; differ && k < have && fresh; k++) fresh = y[k] != value;
    if (fresh) y[have++] = value;
  }
  tries[i] = drawn;
}

/* The same with a table of unigram_sampler.h: an entry returns its own class, or another one. */
KERNEL(draw_weighted, IN(u32, s), IN(u32, table), OUT(T, y), OUT(T, tries), SIZE(n), SIZE(range),
       SIZE(differ)) {
  EACH(i, 1);
  struct candidates c = {PHILOX_STATE(s), {{0, 0, 0, 0}}, 4};
  i64 have = i, drawn = 0;
  while (have < n) {
    if (INTERRUPTED) return;
    const float keep = philox_float(candidate_word(&c));
    const u32 entry = candidate_word(&c) % (u32)range;
    const T value = (T)(keep < as_float(table[3 * (i64)entry]) ? entry : table[3 * (i64)entry + 1]);
    bool fresh = true;
    drawn++;
    for (i64 k = 0; differ && k < have && fresh; k++) fresh = y[k] != value;
    if (fresh) y[have++] = value;
  }
  tries[i] = drawn;
}
#endif

#if T_IS_REAL && T_BYTES == 4
/* The expected count of each class among n that were drawn in tries[0] tries. */
KERNEL(expect_candidates, IN(i64, classes), IN(i64, tries), OUT(T, y), SIZE(range), SIZE(even),
       SIZE(n), SIZE(count)) {
  EACH(i, count);
  if (classes[i] < 0 || classes[i] >= range) FAIL(INDEX, i, classes[i], range);
  const W value = (W)classes[i];
  const C p = even ? (C)(1 / (W)range)
                   : (C)(log((value + (W)2) / (value + (W)1)) / log1p((W)range));
  y[i] = (T)(tries[0] == n ? p * (C)n : -expm1((C)tries[0] * log1p(-p)));
}

KERNEL(expect_weighted, IN(i64, classes), IN(i64, tries), IN(u32, table), OUT(T, y), SIZE(range),
       SIZE(n), SIZE(count)) {
  EACH(i, count);
  if (classes[i] < 0 || classes[i] >= range) FAIL(INDEX, i, classes[i], range);
  const C p = as_float(table[3 * classes[i] + 2]);
  y[i] = (T)(tries[0] == n ? p * (C)n : -expm1((C)tries[0] * log1p(-p)));
}
#endif
