/* SPDX-License-Identifier: Apache-2.0
 * gather.cl: kernels of Gather and GatherV2. */

/* Rows of `inner` elements: row r of y is row index[r % picks] of its block of `size` rows, with
 * the next `picks` indices after every `span` rows. */
#ifdef SITU_HOST
#define GATHER(I)                                                                                  \
  RANGE(gather_##I, IN(T, x), IN(I, index), OUT(T, y), SIZE(size), SIZE(inner), SIZE(picks),       \
        SIZE(span)) {                                                                              \
    for (i64 i = begin, m; i < end; i += m) {                                                      \
      const i64 r = i / inner, at = i % inner, batch = r < span ? 0 : r / span;                    \
      const i64 k = batch * picks + r % picks, pick = (i64)index[k];                               \
      if (pick < 0 || pick >= size) FAIL(INDEX, k, pick, size);                                    \
      m = inner - at < end - i ? inner - at : end - i;                                             \
      memcpy(y + i, x + (r / picks * size + pick) * inner + at, (size_t)m * sizeof(T));            \
    }                                                                                              \
  }
#else
#define GATHER(I)                                                                                  \
  KERNEL(gather_##I, IN(T, x), IN(I, index), OUT(T, y), SIZE(size), SIZE(inner), SIZE(picks),      \
         SIZE(span), SIZE(n)) {                                                                    \
    EACH(i, n);                                                                                    \
    const i64 r = i / inner, batch = r < span ? 0 : r / span;                                      \
    const i64 pick = (i64)index[batch * picks + r % picks];                                        \
    const bool good = pick >= 0 && pick < size;                                                    \
    y[i] = good ? x[(r / picks * size + pick) * inner + i % inner] : ZERO;                         \
  }
#endif
GATHER(i16)
GATHER(i32)
GATHER(i64)
#undef GATHER
