/* SPDX-License-Identifier: Apache-2.0
 * test_saved_results.c: the argmax that MaxPool saves for MaxPoolGrad: used if both are in
 * one program, on one device, with the same windows; otherwise the gradient recomputes it, with the
 * same result. */
#include "api/helpers.h"
#include "situ/trace.h"

enum { IMAGES = 2, ROWS = 7, COLS = 9, CHANNELS = 19, MOST = IMAGES * ROWS * COLS * CHANNELS };

/* A configuration of the gradient. */
struct trial {
  const char *device, *grad_device;
  int64_t k, stride;
  const char *padding, *grad_padding;
  bool planes; /* NCHW */
  bool fed;    /* the output of pooling is fed */
  int kernels; /* expected launches of the gradient */
};

static situ_value input(situ_graph *graph, const char *name, situ_shape shape) {
  return situ_placeholder(graph, name, SITU_FLOAT, shape);
}

static situ_shape images(const struct trial *t, int64_t rows, int64_t cols) {
  return t->planes ? SITU_SHAPE(IMAGES, CHANNELS, rows, cols)
                   : SITU_SHAPE(IMAGES, rows, cols, CHANNELS);
}

static situ_value pool(situ_graph *graph, const struct trial *t, const char *op,
                       const char *padding, const char *device, const situ_value *in, int n) {
  const int64_t k[] = {1, t->planes ? 1 : t->k, t->k, t->planes ? t->k : 1};
  const int64_t strides[] = {1, t->planes ? 1 : t->stride, t->stride, t->planes ? t->stride : 1};
  const situ_attr attrs[] = {situ_attr_ints("ksize", k, 4), situ_attr_ints("strides", strides, 4),
                             situ_attr_string("padding", padding),
                             situ_attr_string("data_format", t->planes ? "NCHW" : "NHWC")};
  situ_device_push(graph, device);
  const situ_value made = situ_emit(graph, op, NULL, in, n, attrs, 4);
  situ_device_pop(graph);
  return made;
}

/* Small integers, so that windows have ties. */
static situ_tensor *numbers(situ_shape shape, int range) {
  static float data[MOST];
  const int64_t n = situ_shape_count(shape);
  for (int64_t i = 0; i < n; i++) data[i] = (float)(i * 7919 % 1009 % range);
  return floats(shape, data);
}

static int count_kernels(situ_trace *trace, const char *op) {
  int count = 0, found = 0;
  const situ_trace_record *records = situ_trace_records(trace, &count);
  for (int i = 0; i < count; i++) found += !records[i].from && !strcmp(records[i].op, op);
  return found;
}

/* The reference gradient: that of each window is added to its first maximum. */
static void expect_gradient(const struct trial *t, const situ_tensor *x, const situ_tensor *dy,
                            int64_t rows, int64_t cols, const situ_tensor *dx) {
  static float want[MOST];
  const float *from = situ_tensor_data(x), *got = situ_tensor_data(dy);
  const int64_t high = (rows - 1) * t->stride + t->k - ROWS;
  const int64_t wide = (cols - 1) * t->stride + t->k - COLS;
  const int64_t top = high > 0 ? high / 2 : 0, left = wide > 0 ? wide / 2 : 0;
  const int64_t next = t->planes ? 1 : CHANNELS;
  memset(want, 0, sizeof want);
  for (int64_t i = 0; i < IMAGES * CHANNELS; i++)
    for (int64_t o = 0; o < rows; o++)
      for (int64_t p = 0; p < cols; p++) {
        const int64_t n = i / CHANNELS, c = i % CHANNELS;
        const int64_t x0 = n * ROWS * COLS * CHANNELS + (t->planes ? c * ROWS * COLS : c);
        const int64_t y0 = n * rows * cols * CHANNELS + (t->planes ? c * rows * cols : c);
        int64_t best = -1;
        for (int64_t r = o * t->stride - top; r < o * t->stride - top + t->k; r++)
          for (int64_t s = p * t->stride - left; s < p * t->stride - left + t->k; s++) {
            if (r < 0 || s < 0 || r >= ROWS || s >= COLS) continue;
            const int64_t at = x0 + (r * COLS + s) * next;
            if (best < 0 || from[at] > from[best]) best = at;
          }
        want[best] += got[y0 + (o * cols + p) * next];
      }
  expect_floats(dx, want, MOST);
}

static void check(const struct trial *t) {
  const bool same = !strcmp(t->padding, "SAME");
  const int64_t rows = same ? (ROWS + t->stride - 1) / t->stride : (ROWS - t->k) / t->stride + 1;
  const int64_t cols = same ? (COLS + t->stride - 1) / t->stride : (COLS - t->k) / t->stride + 1;
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_trace *trace = NULL;
  situ_tensor *dx = NULL, *y = NULL;
  situ_value in[3] = {input(graph, "x", images(t, ROWS, COLS))};
  in[1] = pool(graph, t, "MaxPool", t->padding, t->device, in, 1);
  in[2] = input(graph, "dy", images(t, rows, cols));
  const situ_value grad = pool(graph, t, "MaxPoolGrad", t->grad_padding, t->grad_device, in, 3);
  OK(situ_session_create(graph, NULL, &session));
  situ_feed feeds[] = {{in[0], numbers(images(t, ROWS, COLS), 5)},
                       {in[2], numbers(images(t, rows, cols), 100)},
                       {in[1], NULL}};
  OK(situ_session_run(session, feeds, 1, &in[1], 1, &y));
  feeds[2].tensor = y;
  OK(situ_trace_create(&trace));
  situ_trace_set_global(trace);
  OK(situ_session_run(session, feeds, t->fed ? 3 : 2, &grad, 1, &dx));
  situ_trace_set_global(NULL);
  expect_gradient(t, feeds[0].tensor, feeds[1].tensor, rows, cols, dx);
  assert_int_equal(count_kernels(trace, "MaxPoolGrad"), t->kernels);
  situ_trace_release(trace);
  situ_tensor_release(dx);
  for (int i = 0; i < 3; i++) situ_tensor_release(feeds[i].tensor);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void gradients_read_saved_results(void **state) {
  (void)state;
  fleet("2");
  for (int planes = 0; planes < 2; planes++) {
    check(&(struct trial){"/cpu:0", "/cpu:0", 3, 2, "SAME", "SAME", planes, false, 1});
    check(&(struct trial){"/gpu:1", "/gpu:1", 3, 2, "VALID", "VALID", planes, false, 1});
    check(&(struct trial){"/gpu:1", "/gpu:1", 2, 3, "SAME", "SAME", planes, false, 1});
    check(&(struct trial){"/cpu:0", "/cpu:0", 4, 1, "SAME", "SAME", planes, false, 1});
    check(&(struct trial){"/cpu:0", "/cpu:0", 300, 1, "SAME", "SAME", planes, false, 1});
  }
}

static void gradients_recompute_without_saved_results(void **state) {
  (void)state;
  fleet("2");
  for (int planes = 0; planes < 2; planes++) {
    check(&(struct trial){"/cpu:0", "/cpu:0", 3, 2, "SAME", "SAME", planes, true, 2});
    check(&(struct trial){"/cpu:0", "/gpu:0", 3, 2, "SAME", "SAME", planes, false, 2});
    check(&(struct trial){"/gpu:0", "/gpu:1", 3, 2, "VALID", "VALID", planes, false, 2});
    check(&(struct trial){"/cpu:0", "/cpu:0", 300, 1, "SAME", "SAME", planes, true, 2});
    /* Windows that are no others, but padding of another name. */
    check(&(struct trial){"/cpu:0", "/cpu:0", 1, 1, "SAME", "VALID", planes, false, 1});
  }
}

/* Two gradients of one pooling share its saved result; a third, with other windows, does not. */
static void saved_results_may_have_several_readers(void **state) {
  (void)state;
  fleet("");
  const struct trial t = {"/cpu:0", "/cpu:0", 3, 2, "SAME", "SAME", false, false, 0};
  const struct trial other = {"/cpu:0", "/cpu:0", 2, 2, "SAME", "SAME", false, false, 0};
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_trace *trace = NULL;
  situ_tensor *dx[3] = {NULL};
  situ_value in[3] = {input(graph, "x", images(&t, ROWS, COLS))};
  in[1] = pool(graph, &t, "MaxPool", "SAME", "/cpu:0", in, 1);
  in[2] = input(graph, "dy", images(&t, 4, 5));
  const situ_value grads[] = {pool(graph, &t, "MaxPoolGrad", "SAME", "/cpu:0", in, 3),
                              pool(graph, &other, "MaxPoolGrad", "SAME", "/cpu:0", in, 3),
                              pool(graph, &t, "MaxPoolGrad", "SAME", "/cpu:0", in, 3)};
  OK(situ_session_create(graph, NULL, &session));
  const situ_feed feeds[] = {{in[0], numbers(images(&t, ROWS, COLS), 5)},
                             {in[2], numbers(images(&t, 4, 5), 100)}};
  OK(situ_trace_create(&trace));
  situ_trace_set_global(trace);
  OK(situ_session_run(session, feeds, 2, grads, 3, dx));
  situ_trace_set_global(NULL);
  expect_gradient(&t, feeds[0].tensor, feeds[1].tensor, 4, 5, dx[0]);
  expect_gradient(&other, feeds[0].tensor, feeds[1].tensor, 4, 5, dx[1]);
  expect_gradient(&t, feeds[0].tensor, feeds[1].tensor, 4, 5, dx[2]);
  assert_int_equal(count_kernels(trace, "MaxPoolGrad"), 4);
  situ_trace_release(trace);
  for (int i = 0; i < 3; i++) situ_tensor_release(dx[i]);
  for (int i = 0; i < 2; i++) situ_tensor_release(feeds[i].tensor);
  situ_session_release(session);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_read_saved_results),
      cmocka_unit_test(gradients_recompute_without_saved_results),
      cmocka_unit_test(saved_results_may_have_several_readers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
