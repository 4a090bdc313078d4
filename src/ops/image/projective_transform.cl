/* SPDX-License-Identifier: Apache-2.0
 * projective_transform.cl: projective transforms of images, NHWC. */

#ifndef PROJECTIVE_FILL
#define PROJECTIVE_FILL
enum { FILL_CONSTANT, FILL_REFLECT, FILL_WRAP, FILL_NEAREST };

INLINE float projective_clamp(float at, float last) {
  return at < 0 ? (float)0 : at > last ? last : at;
}

/* The coordinate of the pixel that is read for one outside of the image. */
INLINE float projective_reflect(float at, i64 size) {
  const float twice = (float)(2 * size);
  if (size <= 1) return 0;
  if (at < 0) {
    at = twice * floor(-at / twice) + at;
    at = at < (float)-size ? at + twice : -at - 1;
  } else if (at > (float)(size - 1)) {
    at -= twice * floor(at / twice);
    if (at >= (float)size) at = twice - at - 1;
  }
  return projective_clamp(at, (float)(size - 1));
}

INLINE float projective_wrap(float at, i64 size) {
  const float last = (float)(size - 1);
  if (size <= 1) return 0;
  if (at < 0)
    at += (float)size * (floor(-at / last) + 1);
  else if (at > last)
    at -= (float)size * floor(at / last);
  return projective_clamp(at, last);
}

INLINE float projective_inside(float at, i64 size, i64 mode) {
  if (mode == FILL_REFLECT) return projective_reflect(at, size);
  if (mode == FILL_WRAP) return projective_wrap(at, size);
  return mode == FILL_NEAREST ? projective_clamp(at, (float)(size - 1)) : at;
}

/* Rounds halves away from zero. */
INLINE float projective_round(float v) {
  return v < 0 ? -floor((float)0.5 - v) : floor(v + (float)0.5);
}
#endif

#if !T_IS_BOOL
/* in = {height, width, new height, new width, channels, transforms > 1, mode, 1 if bilinear + 2 if
 * there is a fill value} */
KERNEL(projective_transform, IN(T, x), IN(float, transforms), IN(float, fills), OUT(T, y),
       SIZES(in), SIZE(n)) {
  EACH(i, n);
  UNPACK(in);
  const i64 c = i % in[4], image = i / in[4] / in[3] / in[2];
  const i64 at = in[5] ? 8 * image : 0, first = image * in[0];
  const float u = (float)(i / in[4] % in[3]), v = (float)(i / in[4] / in[3] % in[2]);
  const float fill = in[7] & 2 ? fills[0] : (float)0;
  const float k = transforms[at + 6] * u + transforms[at + 7] * v + 1;
  const float across = transforms[at] * u + transforms[at + 1] * v + transforms[at + 2];
  const float down = transforms[at + 3] * u + transforms[at + 4] * v + transforms[at + 5];
  const float column = projective_inside(across / k, in[1], in[6]);
  const float row = projective_inside(down / k, in[0], in[6]);
  const int bilinear = (int)(in[7] & 1);
  const float top = bilinear ? floor(row) : projective_round(row);
  const float left = bilinear ? floor(column) : projective_round(column);
  float sum = 0;
  for (int corner = 0; corner < (bilinear ? 4 : 1); corner++) {
    const float r = top + (float)(corner / 2), s = left + (float)(corner % 2);
    const float high = corner / 2 ? row - top : top + 1 - row;
    const float wide = corner % 2 ? column - left : left + 1 - column;
    const int is_inside = r >= 0 && r < (float)in[0] && s >= 0 && s < (float)in[1];
    const float pixel =
        is_inside ? (float)x[((first + (i64)r) * in[1] + (i64)s) * in[4] + c] : fill;
    sum += bilinear ? high * wide * pixel : pixel;
  }
  y[i] = k != 0 && fabs(row) < (float)1e9 && fabs(column) < (float)1e9 ? (T)sum : (T)fill;
}
#endif
