/* SPDX-License-Identifier: Apache-2.0
 * reduction.cl: the kernel of one reduction. reduce.cl includes it with
 *   REDUCER    its name
 *   A          the type of the result, and to compute in
 *   IDENTITY   the result of no elements
 *   TWO(a, b)  the result of two
 *   LOAD(v)    what an element counts for
 *
 * x has [outer][length][inner] elements, y [outer][pieces][inner]: each element of y is the result
 * of a piece of the middle dimension, `piece` elements long (the last one may be shorter), divided
 * by `divisor` unless that is negative. Item i makes element i of y. */
#define REDUCE_NAME(word) JOIN(JOIN(REDUCER, word), T_NAME)
#define REDUCE_PLAIN(name, type) JOIN(name, type)

#ifndef SITU_HOST

#define REDUCE_KERNEL(name)                                                                   \
  KERNEL(name, IN(T, x), OUT(A, y), SIZE(length), SIZE(inner), SIZE(pieces), SIZE(piece),     \
         SIZE(divisor), SIZE(n))
REDUCE_KERNEL(REDUCER) {
  EACH(i, n);
  const i64 unit = i / inner, first = unit % pieces * piece;
  const i64 rows = length - first < piece ? length - first : piece;
  const i64 start = (unit / pieces * length + first) * inner + i % inner;
  A result = IDENTITY;
  for (i64 r = 0; r < rows; r++) result = TWO(result, LOAD(x[start + r * inner]));
  y[i] = divisor < 0 ? result : REDUCE_SHARE(result, divisor);
}
#undef REDUCE_KERNEL

#else

/* The results of `rows` rows, `step` apart, column by column: eight rows at a time, which is faster
 * and loses less to rounding. */
CLONES static void REDUCE_NAME(columns)(const T *x, i64 step, i64 rows, i64 width, A *result) {
  i64 r = 0;
  for (i64 w = 0; w < width; w++) result[w] = IDENTITY;
  for (; r + 8 <= rows; r += 8) {
    const T *a = x + r * step, *b = a + step, *c = b + step, *d = c + step;
    const T *e = d + step, *f = e + step, *g = f + step, *h = g + step;
    INDEPENDENT for (i64 w = 0; w < width; w++) {
      const A ab = TWO(LOAD(a[w]), LOAD(b[w])), cd = TWO(LOAD(c[w]), LOAD(d[w])), ad = TWO(ab, cd);
      const A ef = TWO(LOAD(e[w]), LOAD(f[w])), gh = TWO(LOAD(g[w]), LOAD(h[w])), eh = TWO(ef, gh);
      const A ah = TWO(ad, eh);
      result[w] = TWO(result[w], ah);
    }
  }
  for (; r < rows; r++)
    INDEPENDENT for (i64 w = 0; w < width; w++) result[w] = TWO(result[w], LOAD(x[r * step + w]));
}

/* The results of `count` elements that lie in one piece, for `inner` columns: as many rows as make
 * a wide one are treated as one, and folded at the end. */
static void REDUCE_NAME(run)(const T *x, i64 count, i64 inner, A *result) {
  i64 fold = 1;
  while (fold * inner < REDUCE_FOLD && 2 * fold * inner <= count) fold *= 2;
  const i64 width = inner * fold, rows = count / width;
  REDUCE_NAME(columns)(x, width, rows, width, result);
  for (i64 w = 0; w < count - rows * width; w++)
    result[w] = TWO(result[w], LOAD(x[rows * width + w]));
  for (i64 s = fold / 2; s > 0; s /= 2)
    for (i64 w = 0; w < s * inner; w++) result[w] = TWO(result[w], result[w + s * inner]);
}

/* The result of elements that lie side by side: 64 results in registers; every 16 rounds they go to
 * the whole, so that sums of many lose little to rounding. */
CLONES static A REDUCE_NAME(line)(const T *x, i64 count) {
  A all[REDUCE_FOLD], result = IDENTITY;
  i64 k = 0;
  for (int s = 0; s < REDUCE_FOLD; s++) all[s] = IDENTITY;
  while (k + REDUCE_FOLD <= count) {
    const i64 most = k + 16 * REDUCE_FOLD, end = most < count ? most : count;
    A side[REDUCE_FOLD];
    for (int s = 0; s < REDUCE_FOLD; s++) side[s] = IDENTITY;
    for (; k + REDUCE_FOLD <= end; k += REDUCE_FOLD)
      for (int s = 0; s < REDUCE_FOLD; s++) side[s] = TWO(side[s], LOAD(x[k + s]));
    for (int s = 0; s < REDUCE_FOLD; s++) all[s] = TWO(all[s], side[s]);
  }
  for (; k < count; k++) result = TWO(result, LOAD(x[k]));
  for (int part = REDUCE_FOLD / 2; part > 0; part /= 2)
    for (int s = 0; s < part; s++) all[s] = TWO(all[s], all[s + part]);
  return TWO(result, all[0]);
}

/* The results of columns column <= w < column + width of rows of `inner` elements. */
static void REDUCE_NAME(unit)(const T *x, i64 rows, i64 inner, i64 column, i64 width, A *result) {
  if (inner > REDUCE_PERIOD) {
    REDUCE_NAME(columns)(x + column, inner, rows, width, result);
  } else if (inner == 1) {
    result[0] = REDUCE_NAME(line)(x, rows);
  } else {
    REDUCE_NAME(run)(x, rows * inner, inner, result);
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
  for (i64 at = begin, width; at < end; at += width) {
    const i64 first = part * piece, rows = length - first < piece ? length - first : piece;
    width = inner - column < end - at ? inner - column : end - at;
    width = width < REDUCE_STRIP ? width : REDUCE_STRIP;
    REDUCE_NAME(unit)(x + (outer * length + first) * inner, rows, inner, column, width, result);
    for (i64 w = 0; w < width; w++)
      y[at + w] = (A)(divisor < 0 ? result[w] : REDUCE_SHARE(result[w], divisor));
    column += width;
    if (column == inner) column = 0, part++;
    if (part == pieces) part = 0, outer++;
  }
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
