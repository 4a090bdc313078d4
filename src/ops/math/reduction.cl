/* SPDX-License-Identifier: Apache-2.0
 * reduction.cl: the kernel of one reduction. reduce.cl includes it with
 *   REDUCER    its name
 *   A          the type of the result, and to compute in
 *   IDENTITY   the result of no elements
 *   TWO(a, b)  the result of two
 *   VECTOR_TWO(a, b)  the same of vectors
 *   LOAD(v)    what an element counts for
 *   WIDTH      bytes of a vector on the host
 *   VERSIONS   CLONES where wider ones gain much there, else nothing
 *
 * x has [outer][length][inner] elements, y [outer][pieces][inner]: each element of y is the result
 * of a piece of the middle dimension, `piece` elements long (the last one may be shorter), divided
 * by `divisor` unless that is negative. Item i makes element i of y; on a GPU it has lanes. */
#define REDUCE_NAME(suffix) JOIN(JOIN(REDUCER, suffix), T_NAME)
#define REDUCE_PLAIN(name, type) JOIN(name, type)

#ifndef SITU_HOST

#if IS_PICKED(REDUCER)
#define REDUCE_KERNEL(name)                                                                     \
  GROUP_KERNEL(name, IN(T, x), OUT(A, y), SIZE(length), SIZE(inner), SIZE(pieces), SIZE(piece), \
               SIZE(divisor), SIZE(n), SIZE(lanes))
REDUCE_KERNEL(REDUCER) {
  __local A part[256];
  LANES_BEGIN(lanes, inner == 1);
  const i64 unit = item_ / inner, first = unit % pieces * piece;
  const i64 rows = item_ >= n ? 0 : length - first < piece ? length - first : piece;
  const i64 start = (unit / pieces * length + first) * inner + item_ % inner;
  A result = IDENTITY;
  /* In parts, whose results are joined: that loses less to rounding. */
  for (i64 r = lane_; r < rows;) {
    A some = IDENTITY;
    for (const i64 end = rows - r < 64 * lanes ? rows : r + 64 * lanes; r < end; r += lanes)
      some = TWO(some, LOAD((A)x[start + r * inner]));
    result = TWO(result, some);
  }
  LANES_REDUCE(part, result, TWO);
  if (lane_ == 0 && item_ < n) y[item_] = divisor < 0 ? result : REDUCE_SHARE(result, divisor);
}
#undef REDUCE_KERNEL
#endif

#else

/* Vectors; types smaller than their results do without. */
#define LANES (WIDTH / (int)sizeof(A))
#define VECTORS (!JOIN(REDUCE_SMALL, T_NAME))
#define VEC REDUCE_NAME(vector)
#define AT(p) (*(VEC *)(void *)(uintptr_t)(p))
typedef A VEC __attribute__((vector_size(WIDTH), aligned(sizeof(A)), may_alias));

#if VECTORS
/* The results of eight rows, `step` apart, joined in pairs, which loses less to rounding. */
INLINE void REDUCE_NAME(eight)(const T *x, i64 step, i64 width, A *result) {
  const T *a = x, *b = a + step, *c = b + step, *d = c + step;
  const T *e = d + step, *f = e + step, *g = f + step, *h = g + step;
  for (i64 w = 0; w < width; w += LANES) {
    const VEC a_ = LOAD(AT(a + w)), b_ = LOAD(AT(b + w)), ab = VECTOR_TWO(a_, b_);
    const VEC c_ = LOAD(AT(c + w)), d_ = LOAD(AT(d + w)), cd = VECTOR_TWO(c_, d_);
    const VEC e_ = LOAD(AT(e + w)), f_ = LOAD(AT(f + w)), ef = VECTOR_TWO(e_, f_);
    const VEC g_ = LOAD(AT(g + w)), h_ = LOAD(AT(h + w)), gh = VECTOR_TWO(g_, h_);
    const VEC ad = VECTOR_TWO(ab, cd), eh = VECTOR_TWO(ef, gh), ah = VECTOR_TWO(ad, eh);
    AT(result + w) = VECTOR_TWO(AT(result + w), ah);
  }
}
#endif

/* The results of `rows` rows, column by column. */
VERSIONS static void REDUCE_NAME(columns)(const T *x, i64 step, i64 rows, i64 width, A *result) {
  i64 whole = 0, eights = 0;
  for (i64 w = 0; w < width; w++) result[w] = IDENTITY;
#if VECTORS
  whole = width / LANES * LANES;
  for (; eights + 8 <= rows; eights += 8)
    REDUCE_NAME(eight)(x + eights * step, step, whole, result);
#endif
  for (i64 r = 0; r < rows; r++)
    for (i64 w = r < eights ? whole : 0; w < width; w++)
      result[w] = TWO(result[w], LOAD((A)x[r * step + w]));
}

/* Folds `groups` groups of `inner` results into one, halves onto halves. */
VERSIONS static void REDUCE_NAME(fold)(A *result, i64 groups, i64 inner) {
  while (groups > 1) {
    const i64 kept = (groups + 1) / 2, width = (groups - kept) * inner;
    const A *rest = result + kept * inner;
    i64 w = 0;
#if VECTORS
    for (; w + LANES <= width; w += LANES)
      AT(result + w) = VECTOR_TWO(AT(result + w), AT(rest + w));
#endif
    for (; w < width; w++) result[w] = TWO(result[w], rest[w]);
    groups = kept;
  }
}

/* Reduces `rows` contiguous rows of `inner` elements. Reads several positions concurrently, for
 * memory bandwidth. */
static void REDUCE_NAME(run)(const T *x, i64 rows, i64 inner, A *result) {
  const i64 places = rows < 8 ? rows : rows < 16 * 8 ? 8 : 16;
  const i64 groups = places ? rows / places : 1, width = groups * inner;
  REDUCE_NAME(columns)(x, width, places, width, result);
  for (i64 k = places * width; k < rows * inner; k += inner)
    for (i64 w = 0; w < inner; w++) result[w] = TWO(result[w], LOAD((A)x[k + w]));
  REDUCE_NAME(fold)(result, groups, inner);
}

/* Reduces `n` contiguous rows (a constant) concurrently, with few accumulators each. */
INLINE void REDUCE_NAME(few)(const T *x, i64 length, const int n, A *result) {
  A one[4][LANES];
  i64 k = 0;
  for (int i = 0; i < n; i++)
    for (int w = 0; w < LANES; w++) one[i][w] = IDENTITY;
#if VECTORS
  while (k + LANES <= length) {
    const i64 stop = length - k < 32 * LANES ? length - LANES + 1 : k + 32 * LANES;
    VEC some[4];
    for (int i = 0; i < n; i++) some[i] = LOAD(AT(x + i * length + k));
    for (k += LANES; k < stop; k += LANES)
      for (int i = 0; i < n; i++) {
        const VEC next = LOAD(AT(x + i * length + k));
        some[i] = VECTOR_TWO(some[i], next);
      }
    for (int i = 0; i < n; i++) AT(one[i]) = VECTOR_TWO(AT(one[i]), some[i]);
  }
#endif
  for (int i = 0; i < n; i++) {
    for (int h = LANES / 2; h > 0; h /= 2)
      for (int w = 0; w < h; w++) one[i][w] = TWO(one[i][w], one[i][w + h]);
    for (i64 j = k; j < length; j++) one[i][0] = TWO(one[i][0], LOAD((A)x[i * length + j]));
    result[i] = one[i][0];
  }
}

/* Reduces contiguous rows. */
VERSIONS static void REDUCE_NAME(rows)(const T *x, i64 length, i64 rows, A *result) {
  i64 r = 0;
  for (; r + 4 <= rows; r += 4) REDUCE_NAME(few)(x + r * length, length, 4, result + r);
  for (; r < rows; r++) REDUCE_NAME(few)(x + r * length, length, 1, result + r);
}

/* The results of columns column <= w < column + width of rows of `inner` elements. */
static void REDUCE_NAME(unit)(const T *x, i64 rows, i64 inner, i64 column, i64 width, A *result) {
  if (inner > REDUCE_PERIOD) {
    REDUCE_NAME(columns)(x + column, inner, rows, width, result);
  } else {
    REDUCE_NAME(run)(x, rows, inner, result);
    for (i64 w = 0; w < width && column > 0; w++) result[w] = result[column + w];
  }
}

static situ_status REDUCE_PLAIN(REDUCER, T_NAME)(const union arg *args, int64_t begin,
                                                 int64_t end) {
  const T *x = args[0].pointer;
  A *y = args[1].pointer, result[REDUCE_STRIP];
  const i64 length = args[2].integer, inner = args[3].integer, pieces = args[4].integer;
  const i64 piece = args[5].integer, divisor = args[6].integer;
  i64 column = begin % inner, part = begin / inner % pieces, outer = begin / inner / pieces;
  const bool tiny = inner == 1 && pieces == 1 && length < REDUCE_SHORT;
  if (tiny) REDUCE_NAME(rows)(x + begin * length, length, end - begin, y + begin);
  for (i64 at = begin, width; at < end && !tiny; at += width) {
    const i64 first = part * piece, rows = length - first < piece ? length - first : piece;
    width = inner - column < end - at ? inner - column : end - at;
    width = width < REDUCE_STRIP ? width : REDUCE_STRIP;
    REDUCE_NAME(unit)(x + (outer * length + first) * inner, rows, inner, column, width, result);
    for (i64 w = 0; w < width; w++) y[at + w] = result[w];
    column += width;
    if (column == inner) column = 0, part++;
    if (part == pieces) part = 0, outer++;
  }
  for (i64 at = begin; at < end && divisor >= 0; at++) y[at] = REDUCE_SHARE(y[at], divisor);
  return NULL;
}

#endif
#undef REDUCE_NAME
#undef REDUCE_PLAIN
#undef REDUCER
#undef A
#undef IDENTITY
#undef TWO
#undef LOAD
#undef VECTOR_TWO
#undef WIDTH
#undef VERSIONS
#undef LANES
#undef VECTORS
#undef VEC
#undef AT
