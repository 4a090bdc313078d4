/* SPDX-License-Identifier: Apache-2.0
 * test_random_ops.c: Philox's test vectors, moments of the distributions, and the state of
 * generators. */
#include "api/helpers.h"

#include <math.h>

#include "host/thread_pool.h"
#include "schema/schema.h"

/* One launch of a kernel over a state and an output, on the host. */
static void launch(const char *op, situ_type type, const uint32_t state[6], void *out, int64_t n) {
  const struct schema *schema = schema_find(op);
  struct arena arena = {0};
  struct recorder recorder = {.arena = &arena, .next_slot = 2};
  struct attr_value attrs[8] = {0};
  int n_out = 0;
  situ_tensor *shape = NULL;
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(1), &n, &shape));
  struct operand in = {.type = SITU_INT64, .slot = 0, .shape = SITU_SHAPE(1), .value = shape};
  struct operand made = {.type = type, .slot = 1, .shape = SITU_SHAPE(n)};
  attrs[schema_attr(schema, "dtype")] = (struct attr_value){.kind = SITU_ATTR_TYPE, .type = type};
  attrs[schema_attr(schema, "seed")] = (struct attr_value){.kind = SITU_ATTR_INT, .integer = 1};
  OK(schema_resolve(schema, "n", (situ_type[]){SITU_INT64}, 1, attrs, &n_out));
  struct call call = {.schema = schema,
                      .attrs = attrs,
                      .node = "n",
                      .n_in = 1,
                      .n_out = 1,
                      .in = &in,
                      .out = &made,
                      .to = &recorder};
  OK(schema->op->record(&call));
  const union arg args[] = {{.pointer = (void *)(uintptr_t)state},
                            {.pointer = out},
                            {.integer = n},
                            {.integer = 23}}; /* digits of a float, of uniform numbers only */
  const struct launch *first = &recorder.launches[0];
  OK(first->kernel->host[type](args, 0, first->items));
  situ_tensor_release(shape);
  arena_free(&arena);
}

/* The published test vectors of Philox 4x32-10; a float shows 23 bits of a word. */
static void known_answers(void **state) {
  (void)state;
  static const uint32_t vectors[][10] = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
       0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
       0x94fdcceb, 0x5001e420, 0x24126ea1}};
  for (int v = 0; v < 3; v++) {
    float out[4];
    launch("RandomUniform", SITU_FLOAT, vectors[v], out, 4);
    for (int i = 0; i < 4; i++)
      assert_true(out[i] == (float)(vectors[v][6 + i] & 0x7fffff) / 8388608);
  }
}

enum { MANY = 100000 };

static void moments(const char *op, double mean, double variance, double most) {
  static float out[MANY];
  double sum = 0, squares = 0;
  launch(op, SITU_FLOAT, (uint32_t[]){0, 0, 5, 6, 7, 8}, out, MANY);
  for (int i = 0; i < MANY; i++) {
    assert_true(fabs((double)out[i]) < most);
    sum += (double)out[i];
    squares += (double)out[i] * (double)out[i];
  }
  const double m = sum / MANY, v = squares / MANY - m * m;
  assert_true(fabs(m - mean) < 0.01 && fabs(v - variance) < 0.02);
}

static void distributions_have_their_moments(void **state) {
  (void)state;
  moments("RandomUniform", 0.5, 1.0 / 12, 1);
  moments("RandomStandardNormal", 0, 1, 6);
  moments("TruncatedNormal", 0, 0.774, 2);
}

/* Two runs of a node with these seeds on a device: four numbers of each. */
static void two_runs(const char *device, int64_t seed, float out[8]) {
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  const situ_attr attrs[] = {situ_attr_type("dtype", SITU_FLOAT), situ_attr_int("seed", seed)};
  const situ_value shape =
      situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(1), (int32_t[]){100000});
  situ_device_push(graph, device);
  const situ_value y = situ_emit(graph, "RandomUniform", NULL, &shape, 1, attrs, 2);
  situ_device_pop(graph);
  OK(situ_session_create(graph, NULL, &session));
  for (int run = 0; run < 2; run++) {
    situ_tensor *result = NULL;
    OK(situ_session_eval(session, y, &result));
    const float *all = situ_tensor_data(result);
    memcpy(out + 4 * run, (float[]){all[0], all[7], all[50001], all[99999]}, 4 * sizeof *out);
    situ_tensor_release(result);
  }
  situ_session_release(session);
  situ_graph_release(graph);
}

static void seeds_decide_everything(void **state) {
  (void)state;
  float a[8], b[8];
  fleet("A=64MiB");
  two_runs("/cpu:0", 11, a);
  assert_true(memcmp(a, a + 4, sizeof(float[4]))); /* the state went on */
  two_runs("/gpu:0", 11, b);
  assert_memory_equal(a, b, sizeof a);
  thread_pool_set_threads(1);
  two_runs("/cpu:0", 11, b);
  thread_pool_set_threads(0);
  assert_memory_equal(a, b, sizeof a);
  two_runs("/cpu:0", 12, b);
  assert_true(memcmp(a, b, sizeof a));
}

static void no_seeds_are_always_others(void **state) {
  (void)state;
  float a[8], b[8];
  two_runs("/cpu:0", 0, a);
  two_runs("/cpu:0", 0, b);
  assert_true(memcmp(a, b, sizeof a));
}

/* The second run begins where TensorFlow's would: 256 blocks for each number of the first. */
static void the_state_goes_on_by_256_blocks_each(void **state) {
  (void)state;
  float a[8], expected[4];
  two_runs("/cpu:0", 11, a);
  const uint32_t low = 100000u * 256u;
  launch("RandomUniform", SITU_FLOAT, (uint32_t[]){low, 0, 0, 0, 11, 0}, expected, 4);
  assert_true(a[4] == expected[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(distributions_have_their_moments),
      cmocka_unit_test(seeds_decide_everything),
      cmocka_unit_test(no_seeds_are_always_others),
      cmocka_unit_test(the_state_goes_on_by_256_blocks_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
