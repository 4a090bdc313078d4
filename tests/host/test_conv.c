/* SPDX-License-Identifier: Apache-2.0
 * test_conv.c: convolutions by every set of kernels against plain loops; equal bits for every
 * number of threads. */
#include "host/conv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/conv_kernels.h"
#include "host/thread_pool.h"

/* n h w c oh ow o kh kw sh sw dh dw top left */
static const int64_t cases[][15] = {
    {2, 12, 12, 64, 12, 12, 64, 5, 5, 1, 1, 1, 1, 2, 2},
    {3, 24, 24, 3, 24, 24, 64, 5, 5, 1, 1, 1, 1, 2, 2},
    {1, 28, 28, 1, 28, 28, 32, 5, 5, 1, 1, 1, 1, 2, 2},
    {2, 9, 7, 17, 5, 4, 40, 3, 3, 2, 2, 1, 1, 1, 1},
    {2, 9, 7, 3, 3, 3, 5, 3, 3, 3, 2, 1, 1, 0, 0},
    {1, 8, 9, 20, 4, 3, 33, 3, 3, 1, 1, 2, 3, 0, 0},
    {1, 3, 2, 18, 3, 2, 7, 5, 5, 1, 1, 1, 1, 2, 2},
    {1, 5, 8, 2, 2, 3, 3, 1, 2, 3, 3, 1, 1, 0, 0},
    {4, 6, 6, 8, 6, 6, 16, 1, 1, 1, 1, 1, 1, 0, 0},
    {1, 4, 4, 20, 9, 9, 6, 3, 3, 1, 1, 1, 1, 4, 4},
    {2, 6, 30, 160, 6, 30, 48, 3, 3, 1, 1, 1, 1, 1, 1},
    {40, 4, 4, 16, 2, 2, 24, 3, 3, 2, 2, 1, 1, 0, 0},
    {1, 7, 7, 4, 7, 7, 4, 3, 3, 1, 1, 2, 2, 2, 2},
    {0, 12, 12, 64, 12, 12, 64, 5, 5, 1, 1, 1, 1, 2, 2}, /* no images, no pixels */
    {2, 0, 12, 8, 0, 12, 8, 3, 3, 1, 1, 1, 1, 1, 1},
    {2, 12, 0, 3, 12, 0, 64, 3, 3, 1, 1, 1, 1, 1, 1},
    {5, 15, 17, 3, 8, 9, 128, 7, 7, 2, 2, 1, 1, 3, 3}, /* wide tiles */
    {2, 9, 5, 4, 9, 5, 192, 3, 3, 1, 1, 1, 1, 1, 1},
    {37, 11, 13, 3, 11, 13, 70, 5, 5, 1, 1, 1, 1, 2,
     2}, /* few channels: partial results and blocks */
    {3, 1, 70, 90, 1, 70, 83, 3, 3, 1, 1, 1, 1, 1, 1}, /* large filters: images are interleaved */
    {2, 3, 40, 90, 2, 40, 83, 3, 3, 2, 1, 1, 1, 1, 1},
};

static struct conv make_conv(situ_type type, const int64_t *c) {
  return (struct conv){.type = type,
                       .n = c[0],
                       .h = c[1],
                       .w = c[2],
                       .c = c[3],
                       .oh = c[4],
                       .ow = c[5],
                       .o = c[6],
                       .kh = c[7],
                       .kw = c[8],
                       .sh = c[9],
                       .sw = c[10],
                       .dh = c[11],
                       .dw = c[12],
                       .top = c[13],
                       .left = c[14]};
}

static int64_t x_count(const struct conv *c) { return c->n * c->h * c->w * c->c; }
static int64_t y_count(const struct conv *c) { return c->n * c->oh * c->ow * c->o; }
static int64_t f_count(const struct conv *c) { return c->kh * c->kw * c->c * c->o; }

static void put(situ_type type, void *data, int64_t i, double value) {
  if (type == SITU_FLOAT)
    ((float *)data)[i] = (float)value;
  else
    ((double *)data)[i] = value;
}

static double get(situ_type type, const void *data, int64_t i) {
  return type == SITU_FLOAT ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void *make(situ_type type, int64_t count, uint32_t seed) {
  void *data = malloc((size_t)(count + 1) * situ_type_size(type));
  assert_non_null(data);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    put(type, data, i, (double)(seed >> 20) / 2048 - 1);
  }
  return data;
}

/* Reference implementation: computes one of the three from the other two with plain loops. */
static double *expect(const struct conv *c, enum conv_pass pass) {
  const int64_t counts[] = {y_count(c), x_count(c), f_count(c)};
  double *sums = calloc((size_t)counts[pass] + 1, sizeof *sums);
  assert_non_null(sums);
  for (int64_t pixel = 0; pixel < c->n * c->oh * c->ow; pixel++)
    for (int64_t tap = 0; tap < c->kh * c->kw; tap++) {
      const int64_t row = pixel / c->ow % c->oh, image = pixel / c->ow / c->oh;
      const int64_t h = row * c->sh - c->top + tap / c->kw * c->dh;
      const int64_t w = pixel % c->ow * c->sw - c->left + tap % c->kw * c->dw;
      if (h < 0 || h >= c->h || w < 0 || w >= c->w) continue;
      for (int64_t in = 0; in < c->c; in++) {
        const int64_t x = ((image * c->h + h) * c->w + w) * c->c + in;
        const double vx = get(c->type, c->x, x);
        for (int64_t o = 0; o < c->o; o++) {
          const int64_t f = (tap * c->c + in) * c->o + o, y = pixel * c->o + o;
          if (pass == CONV_FORWARD) sums[y] += vx * get(c->type, c->filter, f);
          if (pass == CONV_BACKWARD_DATA)
            sums[x] += get(c->type, c->y, y) * get(c->type, c->filter, f);
          if (pass == CONV_BACKWARD_FILTER) sums[f] += vx * get(c->type, c->y, y);
        }
      }
    }
  return sums;
}

/* Compares the result of a set of kernels with the reference; NULL is the default set. */
static void compare(const struct conv_kernels *kernels, const struct conv *c, enum conv_pass pass,
                    const double *wanted, int64_t count) {
  void *to = pass == CONV_FORWARD ? c->y : pass == CONV_BACKWARD_DATA ? c->x : c->filter;
  memset(to, 0xff, (size_t)count * situ_type_size(c->type));
  assert_null(kernels ? conv_run_with(kernels, c, pass) : conv_run(c, pass));
  for (int64_t i = 0; i < count; i++) {
    const double have = get(c->type, to, i), most = c->type == SITU_FLOAT ? 1e-4 : 1e-11;
    if (!(fabs(have - wanted[i]) <= most * fmax(1, fabs(wanted[i]))))
      fail_msg("%s, %dx%d pixels, want %d: element %lld is %g, not %g",
               kernels ? kernels->kind : "best", (int)c->h, (int)c->w, (int)pass, (long long)i,
               have, wanted[i]);
  }
}

static void check(const int64_t *sizes, enum conv_pass pass, situ_type type) {
  struct conv c = make_conv(type, sizes);
  if (!conv_supported(&c, pass)) return;
  const int64_t counts[] = {y_count(&c), x_count(&c), f_count(&c)};
  c.y = make(type, counts[0], 1);
  c.x = make(type, counts[1], 2);
  c.filter = make(type, counts[2], 3);
  /* Some sets need more workspace than the default one, which conv_workspace_size reports. */
  const size_t bytes = (conv_workspace_size(&c, pass) * 2 + (1u << 16)) / 64 * 64;
  c.workspace = aligned_alloc(64, bytes);
  assert_non_null(c.workspace);
  double *wanted = expect(&c, pass);
  const struct conv_kernels *kernels[8] = {NULL};
  const int n = conv_all_kernels(type, kernels + 1, 7);
  assert_true(n > 0);
  for (int k = 0; k <= n; k++) {
    memset(c.workspace, 0xff, bytes);
    compare(kernels[k], &c, pass, wanted, counts[pass]);
  }
  free(wanted);
  free(c.workspace);
  free(c.x);
  free(c.y);
  free(c.filter);
}

static void all_kernels_agree_with_plain_loops(void **state) {
  (void)state;
  const situ_type types[] = {SITU_FLOAT, SITU_DOUBLE};
  for (size_t t = 0; t < COUNT_OF(types); t++)
    for (size_t i = 0; i < COUNT_OF(cases); i++)
      for (int pass = CONV_FORWARD; pass <= CONV_BACKWARD_FILTER; pass++)
        check(cases[i], (enum conv_pass)pass, types[t]);
}

/* Runs one case with a number of threads. */
static void *run_with_threads(int threads, const struct conv *conv, enum conv_pass pass,
                              int64_t count) {
  struct conv c = *conv;
  void *to = calloc((size_t)count, sizeof(float));
  assert_non_null(to);
  *(pass == CONV_FORWARD ? &c.y : pass == CONV_BACKWARD_DATA ? &c.x : &c.filter) = to;
  thread_pool_set_threads(threads);
  assert_null(conv_run(&c, pass));
  thread_pool_set_threads(0);
  return to;
}

static void results_do_not_depend_on_threads(void **state) {
  (void)state;
  for (int pass = CONV_FORWARD; pass <= CONV_BACKWARD_FILTER; pass++) {
    struct conv c = make_conv(SITU_FLOAT, cases[pass == CONV_BACKWARD_FILTER ? 1 : 0]);
    const int64_t counts[] = {y_count(&c), x_count(&c), f_count(&c)};
    c.x = make(SITU_FLOAT, counts[1], 2);
    c.y = make(SITU_FLOAT, counts[0], 1);
    c.filter = make(SITU_FLOAT, counts[2], 3);
    c.workspace =
        aligned_alloc(64, round_up(conv_workspace_size(&c, (enum conv_pass)pass), 64) + 64);
    void *one = run_with_threads(1, &c, (enum conv_pass)pass, counts[pass]);
    void *four = run_with_threads(4, &c, (enum conv_pass)pass, counts[pass]);
    assert_memory_equal(one, four, (size_t)counts[pass] * sizeof(float));
    free(one);
    free(four);
    free(c.workspace);
    free(c.x);
    free(c.y);
    free(c.filter);
  }
}

/* Transposes [n][c][pixels] to [n][pixels][c], or back. */
static void *transpose(const float *from, int64_t n, int64_t rows, int64_t cols) {
  float *to = malloc((size_t)(n * rows * cols) * sizeof *to);
  assert_non_null(to);
  for (int64_t i = 0; i < n * rows * cols; i++) {
    const int64_t image = i / (rows * cols), row = i / cols % rows, col = i % cols;
    to[(image * cols + col) * rows + row] = from[i];
  }
  return to;
}

static void nchw_equals_nhwc(void **state) {
  (void)state;
  for (int pass = CONV_FORWARD; pass <= CONV_BACKWARD_FILTER; pass++) {
    struct conv c = make_conv(SITU_FLOAT, cases[3]), p = c;
    const int64_t counts[] = {y_count(&c), x_count(&c), f_count(&c)};
    c.x = make(SITU_FLOAT, counts[1], 2);
    c.y = make(SITU_FLOAT, counts[0], 1);
    c.filter = p.filter = make(SITU_FLOAT, counts[2], 3);
    p.is_nchw = true;
    p.x = transpose(c.x, c.n, c.h * c.w, c.c);
    p.y = transpose(c.y, c.n, c.oh * c.ow, c.o);
    c.workspace = p.workspace =
        aligned_alloc(64, round_up(conv_workspace_size(&p, (enum conv_pass)pass), 64));
    assert_null(conv_run(&p, (enum conv_pass)pass));
    float *got = pass == CONV_FORWARD         ? transpose(p.y, c.n, c.o, c.oh * c.ow)
                 : pass == CONV_BACKWARD_DATA ? transpose(p.x, c.n, c.c, c.h * c.w)
                                              : transpose(p.filter, 1, 1, counts[2]);
    assert_null(conv_run(&c, (enum conv_pass)pass));
    assert_memory_equal(got,
                        pass == CONV_FORWARD         ? c.y
                        : pass == CONV_BACKWARD_DATA ? c.x
                                                     : c.filter,
                        (size_t)counts[pass] * sizeof *got);
    free(got);
    free(p.x);
    free(p.y);
    free(c.workspace);
    free(c.x);
    free(c.y);
    free(c.filter);
  }
}

static void strides_with_dilations_are_not_supported(void **state) {
  (void)state;
  const struct conv c =
      make_conv(SITU_FLOAT, (const int64_t[]){1, 9, 9, 4, 3, 3, 4, 3, 3, 2, 2, 2, 2, 0, 0});
  assert_false(conv_supported(&c, CONV_BACKWARD_DATA));
  assert_true(conv_supported(&c, CONV_FORWARD));
  situ_status s = conv_run(&c, CONV_BACKWARD_DATA);
  assert_non_null(s);
  situ_status_release(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_kernels_agree_with_plain_loops),
      cmocka_unit_test(results_do_not_depend_on_threads),
      cmocka_unit_test(nchw_equals_nhwc),
      cmocka_unit_test(strides_with_dilations_are_not_supported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
