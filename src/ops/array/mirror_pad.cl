/* SPDX-License-Identifier: Apache-2.0
 * mirror_pad.cl: mirror padding of a tensor whose rows have `inner` elements. */
#include "kernel/mirror_pad.h"

#ifdef SITU_HOST
RANGE(mirror, IN(T, x), OUT(T, y), SIZES(dim), SIZES(own), SIZES(before), SIZE(border),
      SIZE(inner)) {
  for (i64 i = begin, m; i < end; i += m) {
    const i64 at = i % inner;
    m = inner - at < end - i ? inner - at : end - i;
    const T *from = x + mirror_pad_row(i / inner, dim, own, before, border) * inner + at;
    if (m * (i64)sizeof(T) < 64) {
      for (i64 k = 0; k < m; k++) y[i + k] = from[k];
    } else {
      memcpy(y + i, from, (size_t)m * sizeof(T));
    }
  }
}
#else
KERNEL(mirror, IN(T, x), OUT(T, y), SIZES(dim), SIZES(own), SIZES(before), SIZE(border),
       SIZE(inner), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(own);
  UNPACK(before);
  y[i] = x[mirror_pad_row(i / inner, dim, own, before, border) * inner + i % inner];
}
#endif
