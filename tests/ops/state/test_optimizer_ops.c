/* SPDX-License-Identifier: Apache-2.0
 * test_optimizer_ops.c: every update on variables, by reference and by handle, is the update on
 * values, bit by bit, on every device; what does not fit is refused. */
#include "api/helpers.h"

#include "ops/families.h"
#include "schema/sample.h"

enum { MOST_STATES = 4 };

/* A variable with a first value, what gives it and what reads it. */
static situ_value variable(situ_graph *graph, situ_tensor *first, bool handle, situ_value *assign,
                           situ_value *read) {
  const situ_attr attrs[] = {
      {.name = "shape", .kind = SITU_ATTR_SHAPE, .shape = situ_tensor_shape(first)},
      {.name = "dtype", .kind = SITU_ATTR_TYPE, .integer = situ_tensor_type(first)}};
  const situ_value made =
      situ_emit(graph, handle ? "VarHandleOp" : "VariableV2", NULL, NULL, 0, attrs, 2);
  *assign = emit2(graph, handle ? "AssignVariableOp" : "Assign", made,
                  situ_constant_tensor(graph, NULL, first));
  *read = handle ? situ_emit(graph, "ReadVariableOp", NULL, &made, 1, &attrs[1], 1) : made;
  return made;
}

static void same(const situ_tensor *a, const situ_tensor *b) {
  assert_int_equal(situ_tensor_bytes(a), situ_tensor_bytes(b));
  assert_memory_equal(situ_tensor_data(a), situ_tensor_data(b), situ_tensor_bytes(a));
}

/* Runs the update of a sample on values and on variables. */
static void check(const struct op_def *op, const struct sample *sample, int n_states,
                  const char *device) {
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_value values[SAMPLE_MOST], states[SAMPLE_MOST], assigns[MOST_STATES], steps[MOST_STATES];
  situ_value reads[MOST_STATES];
  const bool handle = !strncmp(op->name, "Resource", strlen("Resource"));
  situ_tensor *want[MOST_STATES], *have[MOST_STATES], *none[MOST_STATES], *result = NULL;
  situ_device_push(graph, device);
  for (int i = 0; i < sample->n_inputs; i++) {
    values[i] = states[i] = situ_constant_tensor(graph, NULL, sample->inputs[i]);
    if (i < n_states)
      states[i] = variable(graph, sample->inputs[i], handle, &assigns[i], &reads[i]);
  }
  steps[0] = situ_emit(graph, sample->schema->op->name, NULL, values, sample->n_inputs,
                       sample->attrs, sample->n_attrs);
  for (int i = 1; i < n_states; i++) steps[i] = situ_value_output(steps[0], i);
  const situ_value update =
      situ_emit(graph, op->name, NULL, states, sample->n_inputs, sample->attrs, sample->n_attrs);
  situ_device_pop(graph);
  OK(situ_graph_status(graph));
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_run(session, NULL, 0, steps, n_states, want));
  OK(situ_session_run(session, NULL, 0, assigns, n_states, none));
  OK(situ_session_run(session, NULL, 0, &update, 1, &result));
  OK(situ_session_run(session, NULL, 0, reads, n_states, have));
  if (!handle) same(result, want[0]);
  for (int i = 0; i < n_states; i++) {
    same(have[i], want[i]);
    situ_tensor_release(have[i]);
    situ_tensor_release(want[i]);
    situ_tensor_release(none[i]);
  }
  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Every sample of the op on values, in every type. */
static int check_op(const struct op_def *op) {
  char name[64];
  snprintf(name, sizeof name, "Step%s%s", strstr(op->name, "Sparse") ? "Sparse" : "",
           strstr(op->name, "Apply") + strlen("Apply"));
  const struct schema *schema = schema_find(name);
  assert_non_null(schema);
  int cases = 0;
  for (int number = 0; number < sample_count(schema); number++)
    for (int type = 0; type < MAX_TYPES; type++) {
      if (!(sample_types(schema, number) >> type & 1)) continue;
      struct arena arena = {0};
      struct sample sample;
      OK(sample_make(schema, number, (situ_type)type, &arena, &sample));
      check(op, &sample, schema->n_outputs, "/cpu:0");
      check(op, &sample, schema->n_outputs, "/gpu:0");
      sample_free(&sample);
      arena_free(&arena);
      cases++;
    }
  return cases;
}

static void variables_get_the_values(void **state) {
  (void)state;
  fleet("1");
  int cases = 0;
  for (int i = 0; i < optimizer_ops_family.count; i++)
    if (strstr(optimizer_ops_family.ops[i].name, "Apply"))
      cases += check_op(&optimizer_ops_family.ops[i]);
  assert_true(cases > 100);
}

/* The message of an update whose learning rate and gradient have these shapes. */
static void refused(situ_shape rate, situ_shape grad, const char *words) {
  situ_graph *graph = situ_graph_create();
  const situ_value inputs[] = {situ_placeholder(graph, NULL, SITU_FLOAT, SITU_SHAPE(2)),
                               situ_placeholder(graph, NULL, SITU_FLOAT, rate),
                               situ_placeholder(graph, NULL, SITU_FLOAT, grad)};
  situ_emit(graph, "StepGradientDescent", NULL, inputs, 3, NULL, 0);
  FAILS(situ_graph_status(graph), SITU_INVALID_ARGUMENT, words);
  situ_graph_release(graph);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  refused(SITU_SHAPE(1), SITU_SHAPE(2), "Shape must be rank 0 but is rank 1");
  refused(SITU_SCALAR, SITU_SHAPE(3),
          "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(variables_get_the_values),
                                     cmocka_unit_test(what_does_not_fit_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
