/* SPDX-License-Identifier: Apache-2.0
 * test_transpose.c: every order of dimensions against plain index arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "host/thread_pool.h"
#include "support/apply.h"
#include "tensor/shape.h"

static const situ_type types[] = {SITU_FLOAT, SITU_DOUBLE, SITU_HALF, SITU_UINT8};

/* Fills a tensor of any type so that neighbors differ. */
static situ_tensor *counting(situ_type type, situ_shape shape) {
  situ_tensor *tensor = NULL;
  assert_null(situ_tensor_create(type, shape, NULL, &tensor));
  unsigned char *bytes = (void *)(uintptr_t)situ_tensor_data(tensor);
  for (size_t i = 0; i < situ_tensor_bytes(tensor); i++)
    bytes[i] = (unsigned char)(i * 2654435761u >> 11);
  return tensor;
}

static void check(situ_type type, situ_shape shape, const int32_t *perm) {
  const size_t size = situ_type_size(type);
  situ_tensor *in = counting(type, shape), *order = apply_ints(perm, shape.rank);
  situ_tensor *out = apply2("Transpose", NULL, in, order);
  const situ_shape got = situ_tensor_shape(out);
  int64_t stride[SITU_MAX_RANK], count = 1;
  for (int d = shape.rank - 1; d >= 0; count *= shape.dim[d--]) stride[d] = count;
  for (int d = 0; d < shape.rank; d++) assert_int_equal(got.dim[d], shape.dim[perm[d]]);
  const char *from = situ_tensor_data(in), *to = situ_tensor_data(out);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = 0, rest = i;
    for (int d = shape.rank - 1; d >= 0; d--) {
      at += rest % got.dim[d] * stride[perm[d]];
      rest /= got.dim[d];
    }
    if (memcmp(to + (size_t)i * size, from + (size_t)at * size, size))
      fail_msg("type %d, rank %d: element %d", type, shape.rank, (int)i);
  }
  situ_tensor_release(in);
  situ_tensor_release(order);
  situ_tensor_release(out);
}

/* All orders of `n` dimensions, by exchanging. */
static void all_orders(situ_type type, situ_shape shape, int32_t *perm, int fixed) {
  if (fixed == shape.rank) {
    check(type, shape, perm);
    return;
  }
  for (int i = fixed; i < shape.rank; i++) {
    const int32_t a = perm[fixed], b = perm[i];
    perm[fixed] = b, perm[i] = a;
    all_orders(type, shape, perm, fixed + 1);
    perm[fixed] = a, perm[i] = b;
  }
}

static void every_order(void **state) {
  (void)state;
  static const situ_shape shapes[] = {{0, {0}},
                                      {1, {9}},
                                      {2, {5, 7}},
                                      {2, {130, 67}},
                                      {3, {6, 35, 20}},
                                      {3, {1, 40, 3}},
                                      {4, {3, 17, 5, 9}},
                                      {4, {2, 33, 1, 18}},
                                      {5, {2, 3, 4, 5, 6}},
                                      {2, {4, 0}}};
  thread_pool_set_threads(2);
  for (size_t s = 0; s < COUNT_OF(shapes); s++)
    for (size_t t = 0; t < COUNT_OF(types); t++) {
      int32_t perm[] = {0, 1, 2, 3, 4};
      all_orders(types[t], shapes[s], perm, 0);
    }
}

static void large_ones(void **state) {
  (void)state;
  thread_pool_set_threads(3);
  for (size_t t = 0; t < COUNT_OF(types); t++) {
    const int64_t side = 5000 / (int64_t)situ_type_size(types[t]);
    check(types[t], SITU_SHAPE(side, 1040), (int32_t[]){1, 0});
  }
  /* Past the cache, with rows that are aligned and rows that are not. */
  check(SITU_FLOAT, SITU_SHAPE(2064, 2080), (int32_t[]){1, 0});
  check(SITU_FLOAT, SITU_SHAPE(2049, 2051), (int32_t[]){1, 0});
  check(SITU_FLOAT, SITU_SHAPE(3, 1200, 1210), (int32_t[]){2, 0, 1});
  check(SITU_FLOAT, SITU_SHAPE(2100, 2100), (int32_t[]){0, 1});
  check(SITU_FLOAT, SITU_SHAPE(8, 32, 32, 64), (int32_t[]){0, 3, 1, 2});
}

static void refuses(const int32_t *perm, int count, const char *text) {
  situ_tensor *out[4],
      *in[] = {apply_numbers(SITU_FLOAT, SITU_SHAPE(2, 3), 3), apply_ints(perm, count)};
  situ_status s = apply_op("Transpose", NULL, in, 2, out);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  assert_non_null(strstr(situ_status_message(s), text));
  situ_status_release(s);
  situ_tensor_release(in[0]);
  situ_tensor_release(in[1]);
}

static void wrong_orders(void **state) {
  (void)state;
  refuses((int32_t[]){0, 1, 2}, 3, "transpose expects a vector of size 2");
  refuses((int32_t[]){0, 2}, 2, "2 is out of range [0 .. 2)");
  refuses((int32_t[]){1, 1}, 2, "missing from {permutation}");
  refuses((int32_t[]){1}, -1, "Shape must be rank 1 but is rank 0 (perm)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_order),
      cmocka_unit_test(large_ones),
      cmocka_unit_test(wrong_orders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
