/* SPDX-License-Identifier: Apache-2.0
 * test_reduce.c: reductions against plain loops. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "host/thread_pool.h"
#include "support/apply.h"
#include "tensor/shape.h"

static const situ_type types[] = {SITU_FLOAT, SITU_DOUBLE, SITU_HALF,  SITU_INT32, SITU_INT64,
                                  SITU_INT8,  SITU_UINT8,  SITU_INT16, SITU_UINT16};

struct reducer {
  const char *op;
  double (*two)(double, double);
  double identity;
  int range; /* of the numbers to test with */
};

static double add(double a, double b) { return a + b; }
static double multiply(double a, double b) { return a * b; }
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

static const struct reducer reducers[] = {{"Sum", add, 0, 3},
                                          {"Mean", add, 0, 3},
                                          {"Prod", multiply, 1, 1},
                                          {"Max", larger, -INFINITY, 100},
                                          {"Min", smaller, INFINITY, 100}};

struct problem {
  situ_shape shape;
  int n_axes;
  int32_t axes[4];
};

static const struct problem problems[] = {
    {{1, {7}}, 1, {0}},
    {{1, {100}}, 1, {0}},
    {{1, {20000}}, 1, {-1}},
    {{2, {5, 9}}, 1, {0}},
    {{2, {5, 9}}, 1, {1}},
    {{2, {5, 9}}, 2, {0, 1}},
    {{2, {5, 9}}, 0, {0}},
    {{2, {300, 3}}, 1, {0}},
    {{2, {9000, 3}}, 1, {0}},
    {{2, {3, 9000}}, 1, {1}},
    {{2, {700, 300}}, 1, {0}},
    {{2, {130, 5000}}, 1, {0}},
    {{3, {4, 150, 70}}, 1, {1}},
    {{3, {4, 5, 6}}, 2, {0, 2}},
    {{3, {4, 300, 5}}, 2, {0, 2}},
    {{4, {3, 4, 5, 6}}, 2, {1, -1}},
    {{4, {2, 1, 3, 1}}, 2, {1, 2}},
    {{5, {2, 3, 2, 3, 2}}, 3, {0, 2, 4}},
    {{2, {3, 0}}, 1, {0}},
    {{0, {0}}, 0, {0}},
};

static bool is_gone(const struct problem *p, int d) {
  for (int i = 0; i < p->n_axes; i++)
    if ((p->axes[i] + p->shape.rank) % p->shape.rank == d) return true;
  return false;
}

/* The number of the result that element i of the input belongs to. */
static int64_t result_of(const struct problem *p, int64_t i) {
  int64_t at = 0, step = 1;
  for (int d = p->shape.rank - 1; d >= 0; d--) {
    if (!is_gone(p, d)) at += i % p->shape.dim[d] * step, step *= p->shape.dim[d];
    i /= p->shape.dim[d];
  }
  return at;
}

static bool is_real(situ_type type) {
  return type == SITU_FLOAT || type == SITU_DOUBLE || type == SITU_HALF;
}

/* A result as its type holds it. */
static double as_type(situ_type type, double x) {
  if (type == SITU_INT8) return (double)(int8_t)(int64_t)x;
  if (type == SITU_UINT8) return (double)(uint8_t)(int64_t)x;
  if (type == SITU_INT16) return (double)(int16_t)(int64_t)x;
  if (type == SITU_UINT16) return (double)(uint16_t)(int64_t)x;
  return is_real(type) ? x : trunc(x);
}

/* What rounding may do. */
static double tolerance(situ_type type, double x) {
  if (type == SITU_HALF) return 1e-3 * fabs(x);
  return type == SITU_FLOAT ? 1e-6 * fabs(x) : type == SITU_DOUBLE ? 1e-15 * fabs(x) : 0;
}

static void check(const struct problem *p, const struct reducer *r, situ_type type, bool keep) {
  situ_tensor *in = apply_numbers(type, p->shape, r->range), *axes = apply_ints(p->axes, p->n_axes);
  situ_tensor *out = apply2(r->op, (struct apply_attr[]){{"keep_dims", keep}, {0}}, in, axes);
  const int64_t n_in = situ_shape_count(p->shape);
  const int64_t n_out = situ_shape_count(situ_tensor_shape(out));
  double *want = malloc(sizeof(double) * (size_t)(n_out + 1));
  for (int64_t i = 0; i < n_out; i++) want[i] = r->identity;
  for (int64_t i = 0; i < n_in; i++) {
    double *w = &want[result_of(p, i)];
    *w = r->two(*w, apply_get(in, i));
  }
  for (int64_t i = 0; i < n_out; i++) {
    const double share = strcmp(r->op, "Mean") ? want[i] : want[i] / (double)(n_in / n_out);
    const double got = apply_get(out, i), expected = as_type(type, share);
    if (got == expected || fabs(got - expected) <= tolerance(type, expected)) continue;
    fail_msg("%s of type %d, rank %d, [%d]: %g, not %g", r->op, type, p->shape.rank, (int)i, got,
             expected);
  }
  assert_int_equal(situ_tensor_shape(out).rank, keep ? p->shape.rank : p->shape.rank - p->n_axes);
  free(want);
  situ_tensor_release(in);
  situ_tensor_release(axes);
  situ_tensor_release(out);
}

static void every_layout_and_type(void **state) {
  (void)state;
  thread_pool_set_threads(2);
  for (size_t p = 0; p < COUNT_OF(problems); p++)
    for (size_t r = 0; r < COUNT_OF(reducers); r++)
      for (size_t t = 0; t < COUNT_OF(types); t++)
        check(&problems[p], &reducers[r], types[t], (p + t) & 1);
}

static void truth(void **state) {
  (void)state;
  const uint8_t data[] = {1, 1, 1, 1, 0, 1, 0, 0, 0};
  const int32_t axis = 1;
  situ_tensor *in, *axes = apply_ints(&axis, 1), *one = apply_ints(&axis, -1);
  assert_null(situ_tensor_create(SITU_BOOL, SITU_SHAPE(3, 3), data, &in));
  situ_tensor *all = apply2("All", NULL, in, axes), *any = apply2("Any", NULL, in, one);
  assert_memory_equal(situ_tensor_data(all), ((uint8_t[]){1, 0, 0}), 3);
  assert_memory_equal(situ_tensor_data(any), ((uint8_t[]){1, 1, 0}), 3);
  situ_tensor_release(in);
  situ_tensor_release(axes);
  situ_tensor_release(one);
  situ_tensor_release(all);
  situ_tensor_release(any);
}

static void of_nothing(void **state) {
  (void)state;
  static const struct {
    const char *op;
    situ_type type;
    double want;
  } cases[] = {
      {"Sum", SITU_FLOAT, 0},         {"Prod", SITU_HALF, 1},   {"Max", SITU_FLOAT, -INFINITY},
      {"Min", SITU_DOUBLE, INFINITY}, {"Max", SITU_INT8, -128}, {"Min", SITU_INT32, INT32_MAX},
      {"Max", SITU_UINT8, 0},         {"Mean", SITU_INT32, 0},  {"Mean", SITU_FLOAT, NAN}};
  const int32_t axis = 0;
  situ_tensor *axes = apply_ints(&axis, 1);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    situ_tensor *in = apply_numbers(cases[i].type, SITU_SHAPE(0, 2), 1);
    situ_tensor *out = apply2(cases[i].op, NULL, in, axes);
    const double got = apply_get(out, 1);
    assert_true(isnan(cases[i].want) ? isnan(got) : got == cases[i].want);
    situ_tensor_release(in);
    situ_tensor_release(out);
  }
  situ_tensor_release(axes);
}

static void half_the_squares(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 100, 9000, 100000};
  for (int i = 0; i < 5; i++)
    for (int t = 0; t < 3; t++) {
      if (types[t] == SITU_HALF && sizes[i] > 9000) continue;
      situ_tensor *in = apply_numbers(types[t], SITU_SHAPE(sizes[i]), 2);
      situ_tensor *out = apply1("L2Loss", NULL, in);
      double want = 0;
      for (int64_t k = 0; k < sizes[i]; k++) want += apply_get(in, k) * apply_get(in, k) / 2;
      assert_int_equal(situ_tensor_shape(out).rank, 0);
      assert_true(fabs(apply_get(out, 0) - want) <= tolerance(types[t], want));
      situ_tensor_release(in);
      situ_tensor_release(out);
    }
}

/* Rounding errors stay below those of summing pairs of pairs of pairs. */
static void sums_are_exact_enough(void **state) {
  (void)state;
  enum { N = 1 << 21 };
  for (int columns = 0; columns < 2; columns++) {
    const situ_shape shape = columns ? SITU_SHAPE(N / 512, 512) : SITU_SHAPE(1, N);
    const int32_t axis[] = {columns ? 0 : 1};
    situ_tensor *in, *axes = apply_ints(axis, 1);
    assert_null(situ_tensor_create(SITU_FLOAT, shape, NULL, &in));
    for (int i = 0; i < N; i++) apply_set(in, i, 0.1);
    situ_tensor *out = apply2("Sum", NULL, in, axes);
    const double want = (double)0.1f * (columns ? N / 512 : N);
    assert_true(fabs(apply_get(out, 0) - want) / want < 4 * 0x1p-24);
    situ_tensor_release(in);
    situ_tensor_release(axes);
    situ_tensor_release(out);
  }
}

static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  static const situ_shape shapes[] = {{1, {3000001}}, {2, {2001, 1003}}, {3, {11, 5003, 37}}};
  for (int s = 0; s < 3; s++)
    for (int32_t axis = 0; axis < shapes[s].rank; axis++) {
      situ_tensor *in, *axes = apply_ints(&axis, 1), *first = NULL;
      assert_null(situ_tensor_create(SITU_FLOAT, shapes[s], NULL, &in));
      for (int64_t i = 0; i < situ_shape_count(shapes[s]); i++) apply_set(in, i, sin((double)i));
      for (int threads = 1; threads < 5; threads++) {
        thread_pool_set_threads(threads);
        situ_tensor *out = apply2("Sum", NULL, in, axes);
        if (first)
          assert_memory_equal(situ_tensor_data(first), situ_tensor_data(out),
                              situ_tensor_bytes(out));
        if (first) situ_tensor_release(out);
        if (!first) first = out;
      }
      situ_tensor_release(in);
      situ_tensor_release(axes);
      situ_tensor_release(first);
    }
}

static void not_a_number_wins(void **state) {
  (void)state;
  static const char *const ops[] = {"Max", "Min"};
  const int32_t axis = 0;
  situ_tensor *axes = apply_ints(&axis, 1);
  for (int at = 0; at < 200; at++) {
    situ_tensor *in = apply_numbers(SITU_FLOAT, SITU_SHAPE(200), 100);
    apply_set(in, at, NAN);
    for (int i = 0; i < 2; i++) {
      situ_tensor *out = apply2(ops[i], NULL, in, axes);
      assert_true(isnan(apply_get(out, 0)));
      situ_tensor_release(out);
    }
    situ_tensor_release(in);
  }
  situ_tensor_release(axes);
}

static void places(void **state) {
  (void)state;
  for (size_t t = 0; t < COUNT_OF(types); t++)
    for (int32_t axis = -1; axis < 3; axis++)
      for (int least = 0; least < 2; least++) {
        situ_tensor *in = apply_numbers(types[t], SITU_SHAPE(7, 11, 13), 5);
        situ_tensor *dimension = apply_ints(&axis, -1);
        const struct apply_attr attrs[] = {{"output_type", t & 1 ? SITU_INT32 : SITU_INT64}, {0}};
        situ_tensor *out = apply2(least ? "ArgMin" : "ArgMax", attrs, in, dimension);
        static const int64_t dims[] = {7, 11, 13}, steps[] = {143, 13, 1};
        const int a = axis < 0 ? 2 : axis;
        const int64_t length = dims[a], step = steps[a];
        for (int64_t i = 0; i < 7 * 11 * 13 / length; i++) {
          const int64_t start = i / step * step * length + i % step;
          int64_t best = 0;
          for (int64_t r = 1; r < length; r++) {
            const double now = apply_get(in, start + r * step);
            const double then = apply_get(in, start + best * step);
            if (least ? now < then : now > then) best = r;
          }
          assert_true(apply_get(out, i) == (double)best);
        }
        situ_tensor_release(in);
        situ_tensor_release(dimension);
        situ_tensor_release(out);
      }
}

static void refuses(const char *op, const int32_t *axes, int count, const char *text) {
  situ_tensor *out[4],
      *in[] = {apply_numbers(SITU_FLOAT, SITU_SHAPE(2, 3), 3), apply_ints(axes, count)};
  situ_status s = apply_op(op, NULL, in, 2, out);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  assert_non_null(strstr(situ_status_message(s), text));
  situ_status_release(s);
  situ_tensor_release(in[0]);
  situ_tensor_release(in[1]);
}

static void wrong_axes(void **state) {
  (void)state;
  refuses("Sum", (int32_t[]){2}, 1, "Invalid reduction dimension 2 for input with 2 dimensions.");
  refuses("Max", (int32_t[]){-3}, 1, "Invalid reduction dimension -3");
  refuses("Mean", (int32_t[]){0, -2}, 2, "Axes contains duplicate dimension: 0");
  refuses("ArgMax", (int32_t[]){2}, -1, "Expected dimension in the range [-2, 2), but got 2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layout_and_type),
      cmocka_unit_test(truth),
      cmocka_unit_test(of_nothing),
      cmocka_unit_test(sums_are_exact_enough),
      cmocka_unit_test(not_a_number_wins),
      cmocka_unit_test(bits_do_not_depend_on_threads),
      cmocka_unit_test(places),
      cmocka_unit_test(wrong_axes),
      cmocka_unit_test(half_the_squares),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
