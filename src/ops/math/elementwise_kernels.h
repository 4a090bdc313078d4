/* SPDX-License-Identifier: Apache-2.0
 * elementwise_kernels.h: the kernels of element-wise ops from expressions of x, or of x and y. No
 * include guard: kernel files undefine the macros at their end. */
#define UNARY_KERNEL(name, R, expression)        \
  KERNEL(name, IN(T, x_), OUT(R, y_), SIZE(n)) { \
    EACH(i, n);                                  \
    const C x = (C)x_[i];                        \
    y_[i] = (R)(expression);                     \
  }

#ifdef SITU_HOST
/* One element; a row of elements, along which an operand steps (1) or stays (0); many rows. */
#define BINARY_KERNELS(name, R, expression, guard)                                                \
  INLINE void JOIN(name##_at, T_NAME)(UNUSED struct fault * fault_, const C x, const C y, R *z) { \
    guard *z = (R)(expression);                                                                   \
  }                                                                                               \
  RANGE(name, IN(T, x), IN(T, y), OUT(R, z), SIZE(sx), SIZE(sy)) {                                \
    if (sx && sy) {                                                                               \
      INDEPENDENT for (i64 i = begin; i < end; i++)                                               \
          JOIN(name##_at, T_NAME)(fault_, (C)x[i], (C)y[i], &z[i]);                               \
    } else if (sx) {                                                                              \
      const C one = (C)y[0];                                                                      \
      INDEPENDENT for (i64 i = begin; i < end; i++)                                               \
          JOIN(name##_at, T_NAME)(fault_, (C)x[i], one, &z[i]);                                   \
    } else {                                                                                      \
      const C one = (C)x[0];                                                                      \
      INDEPENDENT for (i64 i = begin; i < end; i++)                                               \
          JOIN(name##_at, T_NAME)(fault_, one, (C)y[i], &z[i]);                                   \
    }                                                                                             \
  }                                                                                               \
  static situ_status JOIN(name##_wide, T_NAME)(const union arg *args, int64_t begin,              \
                                               int64_t end) {                                     \
    return strided_for_rows(args, begin, end, JOIN(name, T_NAME), 2,                              \
                            (const size_t[]){sizeof(T), sizeof(T), sizeof(R)});                   \
  }
#else
#define BINARY_KERNELS(name, R, expression, guard)                                        \
  KERNEL(name, IN(T, x_), IN(T, y_), OUT(R, z_), SIZE(sx), SIZE(sy), SIZE(n)) {           \
    EACH(i, n);                                                                           \
    const C x = (C)x_[i * sx], y = (C)y_[i * sy];                                         \
    guard z_[i] = (R)(expression);                                                        \
  }                                                                                       \
  KERNEL(name##_wide, IN(T, x_), IN(T, y_), OUT(R, z_), SIZES(dim), SIZES(sx), SIZES(sy), \
         SIZE(n)) {                                                                       \
    EACH(i, n);                                                                           \
    UNPACK(dim);                                                                          \
    UNPACK(sx);                                                                           \
    UNPACK(sy);                                                                           \
    const C x = (C)x_[strided_offset(i, dim, sx)], y = (C)y_[strided_offset(i, dim, sy)]; \
    guard z_[i] = (R)(expression);                                                        \
  }
#endif
