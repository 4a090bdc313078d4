/* SPDX-License-Identifier: Apache-2.0
 * test_matmul.c: matrix products against plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "support/apply.h"
#include "tensor/shape.h"

static const situ_type types[] = {SITU_FLOAT, SITU_DOUBLE, SITU_HALF, SITU_INT32, SITU_INT64};

/* Where element (i, j) of the matrix at `batch` lies, batches broadcast to `whole`. */
static int64_t place(const situ_shape *shape, const situ_shape *whole, int64_t batch, int64_t i,
                     int64_t j) {
  int64_t at = i * shape->dim[shape->rank - 1] + j;
  int64_t step = shape->dim[shape->rank - 1] * shape->dim[shape->rank - 2];
  for (int d = 1; d <= whole->rank - 2; d++) {
    const int64_t index = batch % whole->dim[whole->rank - 2 - d];
    batch /= whole->dim[whole->rank - 2 - d];
    if (d > shape->rank - 2) continue;
    const int64_t dim = shape->dim[shape->rank - 2 - d];
    if (dim != 1) at += index * step;
    step *= dim;
  }
  return at;
}

static void check(const situ_tensor *a, const situ_tensor *b, const situ_tensor *c, bool turn_a,
                  bool turn_b) {
  const situ_shape as = situ_tensor_shape(a), bs = situ_tensor_shape(b), cs = situ_tensor_shape(c);
  const int64_t m = cs.dim[cs.rank - 2], n = cs.dim[cs.rank - 1];
  const int64_t k = as.dim[as.rank - (turn_a ? 2 : 1)];
  const int64_t count = m * n > 0 ? situ_shape_count(cs) / (m * n) : 0;
  for (int64_t batch = 0; batch < count; batch++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t p = 0; p < k; p++)
          sum += apply_get(a, place(&as, &cs, batch, turn_a ? p : i, turn_a ? i : p)) *
                 apply_get(b, place(&bs, &cs, batch, turn_b ? j : p, turn_b ? p : j));
        assert_true(apply_get(c, (batch * m + i) * n + j) == sum);
      }
}

static void multiply(const char *op, situ_type type, situ_shape a_shape, situ_shape b_shape,
                     situ_shape want, bool turn_a, bool turn_b) {
  const bool plain = !strcmp(op, "MatMul");
  const struct apply_attr attrs[] = {
      {plain ? "transpose_a" : "adj_x", turn_a}, {plain ? "transpose_b" : "adj_y", turn_b}, {0}};
  situ_tensor *a = apply_numbers(type, a_shape, 3), *b = apply_numbers(type, b_shape, 3);
  situ_tensor *c = apply2(op, attrs, a, b);
  const situ_shape got = situ_tensor_shape(c);
  assert_true(shape_equal(&got, &want));
  assert_int_equal(situ_tensor_type(c), type);
  check(a, b, c, turn_a, turn_b);
  situ_tensor_release(a);
  situ_tensor_release(b);
  situ_tensor_release(c);
}

static void matrices(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{2, 2, 2}, {5, 4, 3}, {1, 600, 33}, {97, 101, 103}, {3, 2, 0}};
  for (size_t t = 0; t < COUNT_OF(types); t++)
    for (size_t s = 0; s < COUNT_OF(sizes); s++)
      for (int turn = 0; turn < 4; turn++) {
        const int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        multiply("MatMul", types[t], turn & 1 ? SITU_SHAPE(k, m) : SITU_SHAPE(m, k),
                 turn & 2 ? SITU_SHAPE(n, k) : SITU_SHAPE(k, n), SITU_SHAPE(m, n), turn & 1,
                 turn & 2);
      }
}

static void batches(void **state) {
  (void)state;
  for (size_t t = 0; t < COUNT_OF(types); t++) {
    const situ_type type = types[t];
    multiply("BatchMatMul", type, SITU_SHAPE(3, 4, 5), SITU_SHAPE(3, 5, 6), SITU_SHAPE(3, 4, 6), 0,
             0);
    multiply("BatchMatMul", type, SITU_SHAPE(2, 3, 5, 4), SITU_SHAPE(2, 3, 6, 5),
             SITU_SHAPE(2, 3, 4, 6), 1, 1);
    multiply("BatchMatMulV2", type, SITU_SHAPE(2, 1, 4, 5), SITU_SHAPE(3, 5, 6),
             SITU_SHAPE(2, 3, 4, 6), 0, 0);
    multiply("BatchMatMulV2", type, SITU_SHAPE(5, 4), SITU_SHAPE(3, 5, 6), SITU_SHAPE(3, 4, 6), 1,
             0);
    multiply("BatchMatMulV2", type, SITU_SHAPE(7, 20, 30), SITU_SHAPE(40, 30),
             SITU_SHAPE(7, 20, 40), 0, 1);
    multiply("BatchMatMulV2", type, SITU_SHAPE(3, 20, 30), SITU_SHAPE(1, 1, 20, 9),
             SITU_SHAPE(1, 3, 30, 9), 1, 0);
    multiply("BatchMatMulV2", type, SITU_SHAPE(3, 100, 101), SITU_SHAPE(3, 101, 102),
             SITU_SHAPE(3, 100, 102), 0, 0);
    multiply("BatchMatMul", type, SITU_SHAPE(300, 9, 8), SITU_SHAPE(300, 8, 7),
             SITU_SHAPE(300, 9, 7), 0, 0);
    multiply("BatchMatMulV2", type, SITU_SHAPE(0, 4, 5), SITU_SHAPE(5, 6), SITU_SHAPE(0, 4, 6), 0,
             0);
  }
}

static void refuses(const char *op, situ_shape a_shape, situ_shape b_shape, const char *text) {
  situ_tensor *out[4] = {NULL};
  situ_tensor *in[] = {apply_numbers(SITU_FLOAT, a_shape, 3),
                       apply_numbers(SITU_FLOAT, b_shape, 3)};
  situ_status s = apply_op(op, NULL, in, 2, out);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  assert_non_null(strstr(situ_status_message(s), text));
  situ_status_release(s);
  situ_tensor_release(in[0]);
  situ_tensor_release(in[1]);
}

static void what_does_not_fit(void **state) {
  (void)state;
  refuses("MatMul", SITU_SHAPE(2, 3), SITU_SHAPE(2, 3),
          "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]");
  refuses("MatMul", SITU_SHAPE(2), SITU_SHAPE(2, 3), "Shape must be rank 2 but is rank 1");
  refuses("BatchMatMul", SITU_SHAPE(2, 2, 3), SITU_SHAPE(3, 2), "Incompatible shapes");
  refuses("BatchMatMulV2", SITU_SHAPE(2, 2, 3), SITU_SHAPE(3, 3, 2), "Incompatible shapes");
  refuses("BatchMatMulV2", SITU_SHAPE(3), SITU_SHAPE(3, 2), "at least rank 2 but is rank 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrices),
      cmocka_unit_test(batches),
      cmocka_unit_test(what_does_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
