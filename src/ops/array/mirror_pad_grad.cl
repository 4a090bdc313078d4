/* SPDX-License-Identifier: Apache-2.0
 * mirror_pad_grad.cl: gradient of mirror padding (mirror_pad.cl): y[i] is the sum of all copies
 * of element i. */
#include "kernel/mirror_pad.h"

#if !T_IS_BOOL
KERNEL(mirror_sum, IN(T, x), OUT(T, y), SIZES(dim), SIZES(own), SIZES(before), SIZE(border),
       SIZE(inner), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(own);
  UNPACK(before);
  i64 copies = 1;
  C sum = 0;
  for (i64 copy = 0; copy < copies; copy++) {
    const i64 row = mirror_pad_copy(i / inner, dim, own, before, border, copy, &copies);
    sum += (C)x[row * inner + i % inner];
  }
  y[i] = (T)sum;
}
#endif
