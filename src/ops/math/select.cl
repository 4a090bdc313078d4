/* SPDX-License-Identifier: Apache-2.0
 * select.cl: Select: takes each element from one of two operands. */
#include "kernel/strided_index.h"

#ifdef SITU_HOST
RANGE(choose, IN(uchar, c), IN(T, x), IN(T, y), OUT(T, z), SIZE(sc), SIZE(sx), SIZE(sy)) {
  if (sc && sx && sy) {
    INDEPENDENT for (i64 i = begin; i < end; i++) {
      const T a = x[i], b = y[i];
      z[i] = c[i] ? a : b;
    }
  } else {
    INDEPENDENT for (i64 i = begin; i < end; i++) z[i] = c[i * sc] ? x[i * sx] : y[i * sy];
  }
}

static situ_status JOIN(choose_wide, T_NAME)(const union arg *args, int64_t begin, int64_t end) {
  return strided_for_rows(args, begin, end, JOIN(choose, T_NAME), 3,
                   (const size_t[]){1, sizeof(T), sizeof(T), sizeof(T)});
}
#else
KERNEL(choose, IN(uchar, c), IN(T, x), IN(T, y), OUT(T, z), SIZE(sc), SIZE(sx), SIZE(sy), SIZE(n)) {
  EACH(i, n);
  z[i] = c[i * sc] ? x[i * sx] : y[i * sy];
}

KERNEL(choose_wide, IN(uchar, c), IN(T, x), IN(T, y), OUT(T, z), SIZES(dim), SIZES(sc), SIZES(sx),
       SIZES(sy), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(sc);
  UNPACK(sx);
  UNPACK(sy);
  z[i] = c[strided_offset(i, dim, sc)]
             ? x[strided_offset(i, dim, sx)] : y[strided_offset(i, dim, sy)];
}
#endif
