/* SPDX-License-Identifier: Apache-2.0
 * batch_norm.cl: batch normalization and its gradient.
 *
 * Images are viewed as [outer, channels, inner]; inner is 1 for NHWC. The elements of a channel are
 * divided into pieces of `part` elements; there is a partial sum per piece and channel, pieces
 * first. They are added in order, so that a result does not depend on the number of threads. */
#if T_IS_REAL

/* The offset of element e of channel c. */
#define NORM_AT(e) (((e) / inner * channels + c) * inner + (e) % inner)

#ifndef SITU_HOST

/* Mean and sum of squares of the distances from it, of each piece. */
KERNEL(norm_moments, IN(T, x), OUT(float, mean), OUT(float, square), SIZE(channels), SIZE(inner),
       SIZE(part), SIZE(count), SIZE(n)) {
  EACH(i, n);
  const i64 c = i % channels, from = i / channels * part;
  const i64 to = from + part < count ? from + part : count;
  float sum = 0, squares = 0;
  for (i64 e = from; e < to; e++) sum += (float)x[NORM_AT(e)];
  const float middle = to > from ? sum / (float)(to - from) : 0;
  for (i64 e = from; e < to; e++) {
    const float d = (float)x[NORM_AT(e)] - middle;
    squares += d * d;
  }
  mean[i] = middle;
  square[i] = squares;
}

/* Sums of dy and of dy times the distance from the mean, of each piece. */
KERNEL(norm_slopes, IN(T, dy), IN(T, x), IN(float, mean), OUT(float, sum), OUT(float, product),
       SIZE(channels), SIZE(inner), SIZE(part), SIZE(count), SIZE(n)) {
  EACH(i, n);
  const i64 c = i % channels, from = i / channels * part;
  const i64 to = from + part < count ? from + part : count;
  const float middle = mean[c];
  float total = 0, products = 0;
  for (i64 e = from; e < to; e++) {
    const i64 at = NORM_AT(e);
    total += (float)dy[at];
    products += (float)dy[at] * ((float)x[at] - middle);
  }
  sum[i] = total;
  product[i] = products;
}

/* y = (x - mean) * factor + offset */
KERNEL(norm_apply, IN(T, x), IN(float, mean), IN(float, factor), IN(float, offset), OUT(T, y),
       SIZE(channels), SIZE(inner), SIZE(n)) {
  EACH(i, n);
  const i64 c = i / inner % channels;
  y[i] = (T)(((float)x[i] - mean[c]) * factor[c] + offset[c]);
}

/* dx = dy * factor + (x - mean) * slope + shift */
KERNEL(norm_back, IN(T, dy), IN(T, x), IN(float, mean), IN(float, factor), IN(float, slope),
       IN(float, shift), OUT(T, dx), SIZE(channels), SIZE(inner), SIZE(n)) {
  EACH(i, n);
  const i64 c = i / inner % channels;
  dx[i] = (T)((float)dy[i] * factor[c] + ((float)x[i] - mean[c]) * slope[c] + shift[c]);
}

#else

/* The pieces that begin in the range. For NHWC, all channels of a piece are computed together. */
#define FIRST_PIECE ((begin + channels - 1) / channels * channels)
#define PIECE_END (from + part < count ? from + part : count)

/* The number of contiguous elements of a channel: up to the end of a plane. */
#define RUN_LENGTH(e, to) ((to) - (e) < inner - (e) % inner ? (to) - (e) : inner - (e) % inner)

/* Partial sums in lanes, for vectorization. */
#define LANES 16

INLINE float JOIN(norm_sum, T_NAME)(const T *x, i64 n) {
  float lanes[LANES] = {0}, sum = 0;
  i64 i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] += (float)x[i + k];
  for (; i < n; i++) sum += (float)x[i];
  for (int k = 0; k < LANES; k++) sum += lanes[k];
  return sum;
}

INLINE float JOIN(norm_squares, T_NAME)(const T *x, float middle, i64 n) {
  float lanes[LANES] = {0}, sum = 0;
  i64 i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) {
      const float d = (float)x[i + k] - middle;
      lanes[k] += d * d;
    }
  for (; i < n; i++) sum += ((float)x[i] - middle) * ((float)x[i] - middle);
  for (int k = 0; k < LANES; k++) sum += lanes[k];
  return sum;
}

INLINE float JOIN(norm_products, T_NAME)(const T *dy, const T *x, float middle, i64 n) {
  float lanes[LANES] = {0}, sum = 0;
  i64 i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] += (float)dy[i + k] * ((float)x[i + k] - middle);
  for (; i < n; i++) sum += (float)dy[i] * ((float)x[i] - middle);
  for (int k = 0; k < LANES; k++) sum += lanes[k];
  return sum;
}

/* A piece of NHWC images. */
INLINE void JOIN(norm_rows_moments, T_NAME)(const T *x, float *mean, float *square, i64 channels,
                                            i64 rows) {
  for (i64 c = 0; c < channels; c++) mean[c] = square[c] = 0;
  for (i64 r = 0; r < rows; r++)
    INDEPENDENT for (i64 c = 0; c < channels; c++) mean[c] += (float)x[r * channels + c];
  const float inverse = rows ? 1 / (float)rows : 0;
  for (i64 c = 0; c < channels; c++) mean[c] *= inverse;
  for (i64 r = 0; r < rows; r++)
    INDEPENDENT for (i64 c = 0; c < channels; c++) {
      const float d = (float)x[r * channels + c] - mean[c];
      square[c] += d * d;
    }
}

INLINE void JOIN(norm_rows_slopes, T_NAME)(const T *dy, const T *x, const float *mean, float *sum,
                                           float *product, i64 channels, i64 rows) {
  for (i64 c = 0; c < channels; c++) sum[c] = product[c] = 0;
  for (i64 r = 0; r < rows; r++)
    INDEPENDENT for (i64 c = 0; c < channels; c++) {
      const i64 at = r * channels + c;
      sum[c] += (float)dy[at];
      product[c] += (float)dy[at] * ((float)x[at] - mean[c]);
    }
}

RANGE(norm_moments, IN(T, x), OUT(float, mean), OUT(float, square), SIZE(channels), SIZE(inner),
      SIZE(part), SIZE(count), SIZE(n)) {
  (void)n;
  if (inner == 1) {
    for (i64 i = FIRST_PIECE; i < end; i += channels) {
      const i64 from = i / channels * part;
      JOIN(norm_rows_moments, T_NAME)
      (x + from * channels, mean + i, square + i, channels, PIECE_END - from);
    }
    return;
  }
  for (i64 i = begin; i < end; i++) {
    const i64 c = i % channels, from = i / channels * part, to = PIECE_END;
    float sum = 0, squares = 0;
    for (i64 e = from, k = 0; e < to; e += k) {
      k = RUN_LENGTH(e, to);
      sum += JOIN(norm_sum, T_NAME)(x + NORM_AT(e), k);
    }
    mean[i] = to > from ? sum / (float)(to - from) : 0;
    for (i64 e = from, k = 0; e < to; e += k) {
      k = RUN_LENGTH(e, to);
      squares += JOIN(norm_squares, T_NAME)(x + NORM_AT(e),
                                            mean[i], k);
    }
    square[i] = squares;
  }
}

RANGE(norm_slopes, IN(T, dy), IN(T, x), IN(float, mean), OUT(float, sum), OUT(float, product),
      SIZE(channels), SIZE(inner), SIZE(part), SIZE(count), SIZE(n)) {
  (void)n;
  if (inner == 1) {
    for (i64 i = FIRST_PIECE; i < end; i += channels) {
      const i64 from = i / channels * part, at = from * channels;
      JOIN(norm_rows_slopes, T_NAME)
      (dy + at, x + at, mean, sum + i, product + i, channels, PIECE_END - from);
    }
    return;
  }
  for (i64 i = begin; i < end; i++) {
    const i64 c = i % channels, from = i / channels * part, to = PIECE_END;
    float total = 0, products = 0;
    for (i64 e = from, k = 0; e < to; e += k) {
      k = RUN_LENGTH(e, to);
      const i64 at = NORM_AT(e);
      total += JOIN(norm_sum, T_NAME)(dy + at, k);
      products += JOIN(norm_products, T_NAME)(dy + at, x + at, mean[c], k);
    }
    sum[i] = total;
    product[i] = products;
  }
}

/* The part of a contiguous run that is in the range: of one channel, or for NHWC of all. */
RANGE(norm_apply, IN(T, x), IN(float, mean), IN(float, factor), IN(float, offset), OUT(T, y),
      SIZE(channels), SIZE(inner), SIZE(n)) {
  (void)n;
  for (i64 i = begin, k = 0; i < end; i += k) {
    const i64 length = inner == 1 ? channels : inner, first = i % length;
    const i64 c = inner == 1 ? first : i / inner % channels;
    k = length - first < end - i ? length - first : end - i;
    if (inner == 1) {
      INDEPENDENT for (i64 j = 0; j < k; j++) y[i + j] =
          (T)(((float)x[i + j] - mean[c + j]) * factor[c + j] + offset[c + j]);
    } else {
      const float middle = mean[c], times = factor[c], plus = offset[c];
      INDEPENDENT for (i64 j = 0; j < k; j++) y[i + j] =
          (T)(((float)x[i + j] - middle) * times + plus);
    }
  }
}

RANGE(norm_back, IN(T, dy), IN(T, x), IN(float, mean), IN(float, factor), IN(float, slope),
      IN(float, shift), OUT(T, dx), SIZE(channels), SIZE(inner), SIZE(n)) {
  (void)n;
  for (i64 i = begin, k = 0; i < end; i += k) {
    const i64 length = inner == 1 ? channels : inner, first = i % length;
    const i64 c = inner == 1 ? first : i / inner % channels;
    k = length - first < end - i ? length - first : end - i;
    if (inner == 1) {
      INDEPENDENT for (i64 j = 0; j < k; j++) dx[i + j] =
          (T)((float)dy[i + j] * factor[c + j] +
              ((float)x[i + j] - mean[c + j]) * slope[c + j] + shift[c + j]);
    } else {
      const float middle = mean[c], times = factor[c], by = slope[c], plus = shift[c];
      INDEPENDENT for (i64 j = 0; j < k; j++) dx[i + j] =
          (T)((float)dy[i + j] * times + ((float)x[i + j] - middle) * by + plus);
    }
  }
}

#undef FIRST_PIECE
#undef PIECE_END
#undef RUN_LENGTH
#undef LANES
#endif

/* Combines the moments of the pieces: mean, variance and scale factor of each channel. */
KERNEL(norm_join, IN(float, means), IN(float, squares), IN(float, scale), OUT(float, mean),
       OUT(float, variance), OUT(float, factor), SIZE(channels), SIZE(part), SIZE(count),
       REAL(epsilon), SIZE(n)) {
  EACH(c, n);
  float sum = 0, square = 0;
  for (i64 p = 0; p * part < count; p++) {
    const i64 size = (p + 1) * part < count ? part : count - p * part;
    sum += means[p * channels + c] * (float)size;
  }
  const float middle = count ? sum / (float)count : 0;
  for (i64 p = 0; p * part < count; p++) {
    const i64 size = (p + 1) * part < count ? part : count - p * part;
    const float d = means[p * channels + c] - middle;
    square += squares[p * channels + c] + d * d * (float)size;
  }
  mean[c] = middle;
  variance[c] = count ? square / (float)count : 0;
  factor[c] = scale[c] / sqrt(variance[c] + (float)epsilon);
}

/* Updates the moving averages, with the unbiased variance: (1 - share) * old + share * new. */
KERNEL(norm_average, IN(float, mean), IN(float, variance), IN(float, old_mean),
       IN(float, old_variance), OUT(float, new_mean), OUT(float, new_variance), SIZE(count),
       REAL(share), SIZE(n)) {
  EACH(c, n);
  const float wide = count > 1 ? variance[c] * ((float)count / (float)(count - 1)) : variance[c];
  const float part = (float)share;
  new_mean[c] = part == 1 ? mean[c] : (1 - part) * old_mean[c] + part * mean[c];
  new_variance[c] = part == 1 ? wide : (1 - part) * old_variance[c] + part * wide;
}

/* The scale factor of each channel for a given mean and variance, which are copied. */
KERNEL(norm_given, IN(float, mean), IN(float, variance), IN(float, scale), OUT(float, same_mean),
       OUT(float, same_variance), OUT(float, factor), REAL(epsilon), SIZE(n)) {
  EACH(c, n);
  same_mean[c] = mean[c];
  same_variance[c] = variance[c];
  factor[c] = scale[c] / sqrt(variance[c] + (float)epsilon);
}

/* Combines the partial sums of a gradient: those of scale and offset, and the coefficients of dx.
 * */
KERNEL(norm_join_slopes, IN(float, sums), IN(float, products), IN(float, scale),
       IN(float, variance), OUT(float, scale_slope), OUT(float, offset_slope), OUT(float, factor),
       OUT(float, slope), OUT(float, shift), SIZE(channels), SIZE(part), SIZE(count),
       SIZE(training), REAL(epsilon), SIZE(n)) {
  EACH(c, n);
  float sum = 0, product = 0;
  for (i64 p = 0; p * part < count; p++) {
    sum += sums[p * channels + c];
    product += products[p * channels + c];
  }
  const float inverse = 1 / sqrt(variance[c] + (float)epsilon);
  const float all = training && count ? 1 / (float)count : 0;
  scale_slope[c] = product * inverse;
  offset_slope[c] = sum;
  factor[c] = scale[c] * inverse;
  slope[c] = -factor[c] * inverse * inverse * product * all;
  shift[c] = -factor[c] * sum * all;
}
#undef NORM_AT
#endif
