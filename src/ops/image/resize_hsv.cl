/* SPDX-License-Identifier: Apache-2.0
 * resize_hsv.cl: image resizing and RGB/HSV conversion, NHWC. */

#ifndef IMAGE_PLACE
#define IMAGE_PLACE
/* The scale: input pixels per output pixel. */
INLINE float image_scale(i64 from, i64 to, i64 corners) {
  return corners && to > 1 ? (float)(from - 1) / (float)(to - 1) : (float)from / (float)to;
}
#define IMAGE_SCALES                                  \
  const float tall = image_scale(in[0], in[2], in[6]); \
  const float wide = image_scale(in[1], in[3], in[6])

/* The input coordinate of index i of the output, with TensorFlow's three options. */
INLINE float image_place(i64 i, float scale, i64 centers) {
  return centers ? ((float)i + (float)0.5) * scale - (float)0.5 : (float)i * scale;
}
INLINE i64 image_within(i64 at, i64 size) { return at < 0 ? 0 : at >= size ? size - 1 : at; }

/* The nearest input index. */
INLINE i64 image_nearest(i64 i, float scale, i64 centers, i64 corners, i64 size) {
  const float at = centers ? ((float)i + (float)0.5) * scale : (float)i * scale;
  const float whole = corners ? floor(at + (float)0.5) : floor(at);
  return image_within((i64)whole, size);
}

/* A cubic convolution filter: the weight of a pixel at a distance of at most 2. */
INLINE float image_cubic(float x, float a) {
  return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1
               : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : (float)0;
}

/* Weight k (0 to 3) of the four neighbors of coordinate `at`, and its index. With half-pixel
 * centers, pixels outside have no weight, otherwise the border is repeated. Distances are multiples
 * of 1/1024, as in TensorFlow's table of weights. */
struct image_taps {
  i64 at[4];
  float weight[4];
};
INLINE struct image_taps image_cubic_taps(i64 i, float scale, i64 centers, i64 size) {
  const float place = image_place(i, scale, centers), whole = floor(place);
  const float part = rint((place - whole) * (float)1024) / (float)1024;
  const float a = centers ? (float)-0.5 : (float)-0.75;
  struct image_taps taps;
  float sum = 0;
  for (int k = 0; k < 4; k++) {
    const i64 at = (i64)whole - 1 + k;
    taps.at[k] = image_within(at, size);
    taps.weight[k] =
        centers && at != taps.at[k] ? (float)0 : image_cubic(fabs(part + 1 - (float)k), a);
    sum += taps.weight[k];
  }
  if (centers && fabs(sum) > (float)1e-35)
    for (int k = 0; k < 4; k++) taps.weight[k] /= sum;
  return taps;
}

/* Two adjacent input pixels and the weight of the second. */
struct image_between {
  i64 low, high;
  float part;
};
INLINE struct image_between image_neighbors(i64 i, float scale, i64 centers, i64 size) {
  const float at = image_place(i, scale, centers), whole = floor(at);
  const struct image_between found = {whole < 0 ? 0 : (i64)whole,
                                      image_within((i64)ceil(at), size), at - whole};
  return found;
}
#endif

#if !T_IS_BOOL
/* in = {height, width, new height, new width, channels, centers, corners} */
KERNEL(resize_bilinear, IN(T, x), OUT(float, y), SIZES(in), SIZE(n)) {
  EACH(i, n);
  UNPACK(in);
  IMAGE_SCALES;
  const i64 c = i % in[4], w = i / in[4] % in[3], h = i / in[4] / in[3] % in[2];
  const i64 image = i / in[4] / in[3] / in[2];
  const struct image_between down = image_neighbors(h, tall, in[5], in[0]);
  const struct image_between across = image_neighbors(w, wide, in[5], in[1]);
  const i64 top = (image * in[0] + down.low) * in[1], bottom = (image * in[0] + down.high) * in[1];
  const float a = (float)x[(top + across.low) * in[4] + c];
  const float b = (float)x[(top + across.high) * in[4] + c];
  const float d = (float)x[(bottom + across.low) * in[4] + c];
  const float e = (float)x[(bottom + across.high) * in[4] + c];
  const float upper = a + (b - a) * across.part, lower = d + (e - d) * across.part;
  y[i] = upper + (lower - upper) * down.part;
}

KERNEL(resize_bicubic, IN(T, x), OUT(float, y), SIZES(in), SIZE(n)) {
  EACH(i, n);
  UNPACK(in);
  IMAGE_SCALES;
  const i64 c = i % in[4], w = i / in[4] % in[3], h = i / in[4] / in[3] % in[2];
  const i64 image = i / in[4] / in[3] / in[2];
  const struct image_taps down = image_cubic_taps(h, tall, in[5], in[0]);
  const struct image_taps across = image_cubic_taps(w, wide, in[5], in[1]);
  float total = 0;
  for (int r = 0; r < 4; r++) {
    const i64 row = (image * in[0] + down.at[r]) * in[1];
    float sum = 0;
    for (int k = 0; k < 4; k++)
      sum += across.weight[k] * (float)x[(row + across.at[k]) * in[4] + c];
    total += down.weight[r] * sum;
  }
  y[i] = total;
}

KERNEL(resize_nearest, IN(T, x), OUT(T, y), SIZES(in), SIZE(n)) {
  EACH(i, n);
  UNPACK(in);
  IMAGE_SCALES;
  const i64 c = i % in[4], w = i / in[4] % in[3], h = i / in[4] / in[3] % in[2];
  const i64 image = i / in[4] / in[3] / in[2];
  const i64 from_h = image_nearest(h, tall, in[5], in[6], in[0]);
  const i64 from_w = image_nearest(w, wide, in[5], in[6], in[1]);
  y[i] = x[((image * in[0] + from_h) * in[1] + from_w) * in[4] + c];
}

/* The mean of the input area of an output pixel. */
KERNEL(resize_area, IN(T, x), OUT(float, y), SIZES(in), SIZE(n)) {
  EACH(i, n);
  UNPACK(in);
  IMAGE_SCALES;
  const i64 c = i % in[4], w = i / in[4] % in[3], h = i / in[4] / in[3] % in[2];
  const i64 image = i / in[4] / in[3] / in[2];
  const float top = (float)h * tall, bottom = (float)(h + 1) * tall;
  const float left = (float)w * wide, right = (float)(w + 1) * wide;
  float total = 0;
  for (i64 r = (i64)floor(top); r < (i64)ceil(bottom); r++) {
    const float from = (float)r < top ? top : (float)r;
    const float to = (float)(r + 1) > bottom ? bottom : (float)(r + 1);
    const i64 row = (image * in[0] + image_within(r, in[0])) * in[1];
    float sum = 0;
    for (i64 k = (i64)floor(left); k < (i64)ceil(right); k++) {
      const float begin = (float)k < left ? left : (float)k;
      const float end = (float)(k + 1) > right ? right : (float)(k + 1);
      sum += (float)x[(row + image_within(k, in[1])) * in[4] + c] * (end - begin);
    }
    total += sum * (to - from);
  }
  y[i] = total / (tall * wide);
}
#endif

#if !T_IS_BOOL
/* Gradients. A work item handles one channel of one image, because several outputs of the resizing
 * may read one input. */
KERNEL(resize_nearest_grad, IN(T, dy), OUT(T, dx), SIZES(in), SIZE(n)) {
  EACH(i, n);
  UNPACK(in);
  IMAGE_SCALES;
  const i64 c = i % in[4], image = i / in[4], plane = in[0] * in[1];
  for (i64 k = 0; k < plane; k++) dx[(image * plane + k) * in[4] + c] = (T)0;
  for (i64 h = 0; h < in[2]; h++) {
    const i64 row = image * plane + image_nearest(h, tall, in[5], in[6], in[0]) * in[1];
    for (i64 w = 0; w < in[3]; w++) {
      const i64 to = (row + image_nearest(w, wide, in[5], in[6], in[1])) * in[4] + c;
      dx[to] = (T)((C)dx[to] + (C)dy[((image * in[2] + h) * in[3] + w) * in[4] + c]);
    }
  }
}
#endif

#if T_IS_REAL
KERNEL(resize_bilinear_grad, IN(float, dy), OUT(T, dx), SIZES(in), SIZE(n)) {
  EACH(i, n);
  UNPACK(in);
  IMAGE_SCALES;
  const i64 c = i % in[4], image = i / in[4], plane = in[0] * in[1];
  for (i64 k = 0; k < plane; k++) dx[(image * plane + k) * in[4] + c] = (T)0;
  for (i64 h = 0; h < in[2]; h++) {
    const struct image_between down = image_neighbors(h, tall, in[5], in[0]);
    const i64 top = image * plane + down.low * in[1], bottom = image * plane + down.high * in[1];
    for (i64 w = 0; w < in[3]; w++) {
      const struct image_between across = image_neighbors(w, wide, in[5], in[1]);
      const C g = (C)dy[((image * in[2] + h) * in[3] + w) * in[4] + c];
      const C v = (C)down.part, u = (C)across.part;
      const i64 a = (top + across.low) * in[4] + c, b = (top + across.high) * in[4] + c;
      const i64 d = (bottom + across.low) * in[4] + c, e = (bottom + across.high) * in[4] + c;
      dx[a] = (T)((C)dx[a] + g * (1 - v) * (1 - u));
      dx[b] = (T)((C)dx[b] + g * (1 - v) * u);
      dx[d] = (T)((C)dx[d] + g * v * (1 - u));
      dx[e] = (T)((C)dx[e] + g * v * u);
    }
  }
}

KERNEL(resize_bicubic_grad, IN(float, dy), OUT(T, dx), SIZES(in), SIZE(n)) {
  EACH(i, n);
  UNPACK(in);
  IMAGE_SCALES;
  const i64 c = i % in[4], image = i / in[4], plane = in[0] * in[1];
  for (i64 k = 0; k < plane; k++) dx[(image * plane + k) * in[4] + c] = (T)0;
  for (i64 h = 0; h < in[2]; h++) {
    const struct image_taps down = image_cubic_taps(h, tall, in[5], in[0]);
    for (i64 w = 0; w < in[3]; w++) {
      const struct image_taps across = image_cubic_taps(w, wide, in[5], in[1]);
      const C g = (C)dy[((image * in[2] + h) * in[3] + w) * in[4] + c];
      for (int k = 0; k < 16; k++) {
        const i64 at = (image * plane + down.at[k / 4] * in[1] + across.at[k % 4]) * in[4] + c;
        dx[at] = (T)((C)dx[at] + g * (C)down.weight[k / 4] * (C)across.weight[k % 4]);
      }
    }
  }
}

/* Colors: red, green, blue; hue, saturation, value; all from 0 to 1. */
KERNEL(rgb_to_hsv, IN(T, x), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  const C r = (C)x[3 * i], g = (C)x[3 * i + 1], b = (C)x[3 * i + 2];
  const C most = r > g ? (r > b ? r : b) : (g > b ? g : b);
  const C least = r < g ? (r < b ? r : b) : (g < b ? g : b);
  const C range = most - least, norm = range > 0 ? 1 / (6 * range) : (C)0;
  const C hue = r == most   ? norm * (g - b)
                : g == most ? norm * (b - r) + (C)2 / 6
                            : norm * (r - g) + (C)4 / 6;
  y[3 * i] = (T)(range > 0 ? (hue < 0 ? hue + 1 : hue) : (C)0);
  y[3 * i + 1] = (T)(most > 0 ? range / most : (C)0);
  y[3 * i + 2] = (T)most;
}

INLINE C JOIN(image_unit, T_NAME)(C v) { return v < 0 ? (C)0 : v > 1 ? (C)1 : v; }

KERNEL(hsv_to_rgb, IN(T, x), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  const C h = (C)x[3 * i] * 6, s = (C)x[3 * i + 1], v = (C)x[3 * i + 2];
  const C r = JOIN(image_unit, T_NAME)(fabs(h - 3) - 1);
  const C g = JOIN(image_unit, T_NAME)(2 - fabs(h - 2));
  const C b = JOIN(image_unit, T_NAME)(2 - fabs(h - 4));
  y[3 * i] = (T)(((1 - s) + s * r) * v);
  y[3 * i + 1] = (T)(((1 - s) + s * g) * v);
  y[3 * i + 2] = (T)(((1 - s) + s * b) * v);
}
#endif
