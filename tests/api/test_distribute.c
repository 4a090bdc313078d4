/* SPDX-License-Identifier: Apache-2.0
 * test_distribute.c: all-reduce over simulated devices. */
#include "situ/distribute.h"

#include "api/helpers.h"

enum { N = 3, MANY = 20000 };

static const char *const gpus[N] = {"/gpu:0", "/gpu:1", "/gpu:2"};

/* Each algorithm gives bit-identical sums on each device, in the order of the values. */
static void sum_of(situ_all_reduce_algorithm how, int n_values, int n_devices, int64_t rows,
                   int64_t columns) {
  fleet("3");
  situ_graph *graph = situ_graph_create();
  static float data[N][MANY], want[MANY];
  situ_value values[N], sums[N];
  const int count = (int)(rows * columns);
  for (int v = 0; v < n_values; v++) {
    for (int i = 0; i < count; i++) data[v][i] = 1.0f / (float)(i + v + 1);
    situ_device_push(graph, gpus[v]);
    values[v] = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(rows, columns), data[v]);
    situ_device_pop(graph);
  }
  for (int i = 0; i < count; i++) {
    want[i] = data[0][i];
    for (int v = 1; v < n_values; v++) want[i] += data[v][i];
  }
  OK(situ_all_reduce(graph, values, n_values, gpus, n_devices, how, sums));
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  situ_tensor *there[N] = {NULL}, *home[N] = {NULL};
  OK(situ_session_run_on_device(session, NULL, 0, sums, n_devices, there));
  OK(situ_session_run(session, NULL, 0, sums, n_devices, home));
  for (int i = 0; i < n_devices; i++) {
    const char *device = situ_tensor_device(there[i]);
    assert_string_equal(device + strlen(device) - 1, gpus[i] + strlen(gpus[i]) - 1);
    assert_memory_equal(situ_tensor_data(home[i]), want, sizeof(float) * (size_t)count);
    situ_tensor_release(there[i]);
    situ_tensor_release(home[i]);
  }
  situ_session_release(session);
  situ_graph_release(graph);
}

static void every_way_gives_the_same(void **state) {
  (void)state;
  for (int how = SITU_ALL_REDUCE_AUTO; how <= SITU_ALL_REDUCE_BY_LIBRARY; how++)
    for (int devices = 1; devices <= N; devices++)
      sum_of((situ_all_reduce_algorithm)how, devices, devices, 7, 11);
}

static void large_values_are_cut(void **state) {
  (void)state;
  sum_of(SITU_ALL_REDUCE_AUTO, 3, 3, 100, 200);
  sum_of(SITU_ALL_REDUCE_SCATTER_GATHER, 2, 3, 100, 199);
}

static void invalid_arguments(void **state) {
  (void)state;
  fleet("2");
  situ_graph *graph = situ_graph_create();
  situ_value sums[2];
  const situ_value open = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 2));
  const situ_value both[2] = {open, open};
  FAILS(situ_all_reduce(graph, both, 0, gpus, 2, SITU_ALL_REDUCE_AUTO, sums), SITU_INVALID_ARGUMENT,
        "0 values and 2 devices");
  FAILS(situ_all_reduce(graph, both, 2, gpus, 2, SITU_ALL_REDUCE_SCATTER_GATHER, sums),
        SITU_INVALID_ARGUMENT, "needs a fully known shape");
  FAILS(situ_all_reduce(graph, both, 2, gpus, 2, (situ_all_reduce_algorithm)9, sums),
        SITU_INVALID_ARGUMENT, "unknown algorithm 9");
  FAILS(situ_all_reduce(graph, NULL, 1, gpus, 2, SITU_ALL_REDUCE_AUTO, sums), SITU_INVALID_ARGUMENT,
        "value 0 does not belong to the graph");
  FAILS(situ_all_reduce(graph, both, 2, (const char *[]){gpus[0], NULL}, 2, SITU_ALL_REDUCE_AUTO,
                        sums),
        SITU_INVALID_ARGUMENT, "device 1 is NULL");
  FAILS(situ_all_reduce(graph, both, 2, gpus, 2, SITU_ALL_REDUCE_AUTO, NULL), SITU_INVALID_ARGUMENT,
        "NULL");
  situ_graph_release(graph);
}

static void eager_all_reduce(void **state) {
  (void)state;
  fleet("3");
  situ_eager *eager = NULL;
  OK(situ_eager_create(NULL, &eager));
  for (int how = SITU_ALL_REDUCE_AUTO; how <= SITU_ALL_REDUCE_ON_EACH; how++) {
    situ_tensor *tensors[N], *sums[N];
    for (int i = 0; i < N; i++) {
      situ_tensor *host = floats(SITU_SHAPE(2), (float[]){(float)i, 1});
      OK(situ_eager_copy(eager, host, gpus[i], &tensors[i]));
      situ_tensor_release(host);
    }
    OK(situ_eager_all_reduce(eager, tensors, N, (situ_all_reduce_algorithm)how, sums));
    for (int i = 0; i < N; i++) {
      float have[2];
      assert_string_equal(situ_tensor_device(sums[i]), situ_tensor_device(tensors[i]));
      OK(situ_tensor_read(sums[i], have, sizeof have));
      assert_float_equal(have[0], 3, 0);
      assert_float_equal(have[1], 3, 0);
      situ_tensor_release(sums[i]);
    }
    FAILS(situ_eager_all_reduce(eager, tensors, N, SITU_ALL_REDUCE_SCATTER_GATHER, sums),
          SITU_INVALID_ARGUMENT, "SCATTER_GATHER is not supported");
    for (int i = 0; i < N; i++) situ_tensor_release(tensors[i]);
  }
  situ_eager_release(eager);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_way_gives_the_same),
      cmocka_unit_test(large_values_are_cut),
      cmocka_unit_test(invalid_arguments),
      cmocka_unit_test(eager_all_reduce),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
