/* SPDX-License-Identifier: Apache-2.0
 * test_numerics.c: numeric checks: the error names the first op on every kind of device, and
 * persistent state does not change. */
#include <math.h>

#include "api/helpers.h"
#include "situ/catalog.h"
#include "situ/eager.h"

static const situ_config checked = {.check_numerics = true};

struct model {
  situ_graph *graph;
  situ_value x, log, root, sum;
};

/* sum(sqrt(log(x))), the middle on another device. */
static struct model make_model(const char *device, const char *other) {
  struct model m = {.graph = situ_graph_create()};
  situ_device_push(m.graph, device);
  m.x = situ_placeholder(m.graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY));
  situ_graph_set_origin(m.graph, "model.c:7");
  m.log = emit1(m.graph, "Log", m.x);
  situ_graph_set_origin(m.graph, NULL);
  situ_device_push(m.graph, other);
  m.root = emit1(m.graph, "Sqrt", m.log);
  situ_device_pop(m.graph);
  m.sum = emit2(m.graph, "Mul", m.root, scalar(m.graph, 2));
  OK(situ_graph_status(m.graph));
  return m;
}

static situ_status run(situ_session *session, situ_value fed, const float *numbers, int n,
                       situ_value fetch) {
  situ_tensor *in = floats(SITU_SHAPE(n), numbers), *out = NULL;
  const situ_status status = situ_session_run(session, &(situ_feed){fed, in}, 1, &fetch, 1, &out);
  situ_tensor_release(in);
  situ_tensor_release(out);
  return status;
}

static void the_first_op_is_named(void **state) {
  (void)state;
  const char *const fleets[][3] = {{"", "/cpu:0", "/cpu:0"},
                                   {"1", "/gpu:0", "/gpu:0"},
                                   {"2", "/gpu:0", "/gpu:1"},
                                   {"1", "/gpu:0", "/cpu:0"},
                                   {"1", "/cpu:0", "/gpu:0"}};
  for (size_t f = 0; f < sizeof fleets / sizeof *fleets; f++) {
    fleet(fleets[f][0]);
    const struct model m = make_model(fleets[f][1], fleets[f][2]);
    situ_session *session = NULL;
    OK(situ_session_create(m.graph, &checked, &session));
    for (int again = 0; again < 2; again++) {
      OK(run(session, m.x, (float[]){1, 2, 3}, 3, m.sum));
      const situ_status status = run(session, m.x, (float[]){1, 0, -1}, 3, m.sum);
      assert_string_equal(situ_status_node(status), "Log");
      FAILS(status, SITU_INVALID_ARGUMENT,
            "!!! Detected Infinity or NaN in output 0 of graph op \"Log\" (# of outputs: 1) !!!\n"
            "  dtype: <dtype: 'float32'>\n"
            "  shape: (3,)\n"
            "  # of -Inf elements: 1\n"
            "  # of +NaN elements: 1\n"
            "\n"
            "  Input tensor: Tensor(\"x:0\", shape=(3,), dtype=float32)\n"
            "\n"
            "  Op's creation: model.c:7\n"
            " : Tensor had -Inf and NaN values");
      FAILS(run(session, m.x, (float[]){1, 0.5f}, 2, m.sum), SITU_INVALID_ARGUMENT, "\"Sqrt\"");
    }
    FAILS(run(session, m.x, (float[]){INFINITY}, 1, m.sum), SITU_INVALID_ARGUMENT,
          "graph op \"Placeholder\"");
    situ_session_release(session);
    situ_graph_release(m.graph);
  }
}

static void without_checks_nothing_fails(void **state) {
  (void)state;
  fleet("1");
  const struct model m = make_model("/gpu:0", "/cpu:0");
  situ_session *session = NULL;
  OK(situ_session_create(m.graph, NULL, &session));
  OK(run(session, m.x, (float[]){1, 0, -1}, 3, m.sum));
  assert_false(situ_numerics_get_check());
  situ_numerics_set_check(true);
  FAILS(run(session, m.x, (float[]){1, 0, -1}, 3, m.sum), SITU_INVALID_ARGUMENT, "\"Log\"");
  situ_numerics_set_check(false);
  OK(run(session, m.x, (float[]){1, 0, -1}, 3, m.sum));
  situ_session_release(session);
  situ_graph_release(m.graph);
}

/* Every element counts, also of large tensors, whose pieces several threads count. */
static void every_element_is_looked_at(void **state) {
  (void)state;
  enum { N = 2 * 1000 * 1000 + 77 };
  static float numbers[N];
  const int places[] = {0, 1, 511, 512, 1023, 65536, N / 2, N - 2, N - 1};
  const char *const fleets[][2] = {{"", "/cpu:0"}, {"1", "/gpu:0"}};
  for (int f = 0; f < 2; f++) {
    fleet(fleets[f][0]);
    situ_graph *graph = situ_graph_create();
    situ_device_push(graph, fleets[f][1]);
    const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY));
    const situ_value y = emit1(graph, "Reciprocal", x);
    situ_session *session = NULL;
    OK(situ_session_create(graph, &checked, &session));
    for (int i = 0; i < N; i++) numbers[i] = 1;
    OK(run(session, x, numbers, N, y));
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
      numbers[places[p]] = 0;
      FAILS(run(session, x, numbers, N, y), SITU_INVALID_ARGUMENT, "# of +Inf elements: 1\n");
      numbers[places[p]] = 1;
    }
    for (int i = 0; i < N; i++) numbers[i] = i % 2 ? 1 : -0.0f;
    FAILS(run(session, x, numbers, N, y), SITU_INVALID_ARGUMENT, "# of -Inf elements: 1000039\n");
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

static situ_value variable(situ_graph *graph, situ_shape shape) {
  const situ_attr attrs[] = {situ_attr_shape("shape", shape), situ_attr_type("dtype", SITU_FLOAT)};
  return situ_emit(graph, "VariableV2", "v", NULL, 0, attrs, 2);
}

static void variables_are_spared(void **state) {
  (void)state;
  const char *const fleets[][2] = {{"", "/cpu:0"}, {"1", "/gpu:0"}, {"1", "/cpu:0"}};
  for (int f = 0; f < 3; f++) {
    fleet(fleets[f][0]);
    situ_graph *graph = situ_graph_create();
    const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(1));
    situ_device_push(graph, fleets[f][1]);
    const situ_value v = variable(graph, SITU_SHAPE(1));
    const situ_value begin = emit2(
        graph, "Assign", v, situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(1), (float[]){1}));
    situ_device_pop(graph);
    const situ_value update = emit2(graph, "AssignAdd", v, emit1(graph, "Log", x));
    situ_session *session = NULL;
    situ_tensor *now = NULL;
    OK(situ_graph_status(graph));
    OK(situ_session_create(graph, &checked, &session));
    OK(situ_session_run(session, NULL, 0, &begin, 1, &now));
    situ_tensor_release(now);
    OK(run(session, x, (float[]){1}, 1, update));
    FAILS(run(session, x, (float[]){0}, 1, update), SITU_INVALID_ARGUMENT, "\"Log\"");
    OK(situ_session_eval(session, v, &now));
    expect_floats(now, (float[]){1}, 1);
    situ_tensor_release(now);
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

static void constants_and_updates(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_value odd = scalar(graph, NAN), fine = scalar(graph, 3e38f);
  const situ_value v = variable(graph, SITU_SCALAR);
  const situ_value begin = emit2(graph, "Assign", v, fine);
  const situ_value more = emit2(graph, "AssignAdd", v, fine);
  const situ_value never = emit2(graph, "Mul", scalar(graph, 1), odd);
  situ_session *session = NULL;
  situ_tensor *now = NULL;
  OK(situ_session_create(graph, &checked, &session));
  FAILS(situ_session_eval(session, never, &now), SITU_INVALID_ARGUMENT, "graph op \"Const\"");
  OK(situ_session_eval(session, begin, &now));
  situ_tensor_release(now);
  FAILS(situ_session_eval(session, more, &now), SITU_INVALID_ARGUMENT, "graph op \"AssignAdd\"");
  situ_session_release(session);
  situ_graph_release(graph);
}

static void eager_calls(void **state) {
  (void)state;
  const char *const devices[] = {"/cpu:0", "/gpu:0"};
  fleet("1");
  situ_eager *eager = NULL;
  situ_op row;
  int count = 0;
  OK(situ_eager_create(&checked, &eager));
  OK(situ_ops_find("RealDiv", &row));
  for (int d = 0; d < 2; d++) {
    situ_tensor *a = floats(SITU_SHAPE(2), (float[]){0, 1}), *out = NULL;
    situ_tensor *b = floats(SITU_SHAPE(2), (float[]){0, 1});
    const situ_call call = {
        .op = row.number, .device = devices[d], .inputs = (situ_tensor *[]){a, b}, .n_inputs = 2};
    FAILS(situ_eager_run(eager, &call, &out, 1, &count), SITU_INVALID_ARGUMENT,
          "in output 0 of eagerly-executing op \"RealDiv\" (# of outputs: 1) !!!\n"
          "  dtype: <dtype: 'float32'>\n"
          "  shape: (2,)\n"
          "  # of +NaN elements: 1\n"
          "\n"
          "  Input tensors (2):\n"
          "         0: Tensor(shape=(2,), dtype=float32)\n"
          "         1: Tensor(shape=(2,), dtype=float32)\n");
    assert_null(out);
    situ_tensor_release(a);
    situ_tensor_release(b);
  }
  situ_eager_release(eager);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_op_is_named),      cmocka_unit_test(without_checks_nothing_fails),
      cmocka_unit_test(every_element_is_looked_at), cmocka_unit_test(variables_are_spared),
      cmocka_unit_test(constants_and_updates),      cmocka_unit_test(eager_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
