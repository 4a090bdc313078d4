/* SPDX-License-Identifier: Apache-2.0
 * test_copy_on_write.c: values read from resource variables do not change when the variable
 * is updated, for any order of nodes, on the CPU and between GPUs. */
#include "api/helpers.h"

#include <string.h>

static const situ_attr dtype = {.name = "dtype", .kind = SITU_ATTR_TYPE, .integer = SITU_FLOAT};

/* Where variable, reads and uses are. */
struct places {
  const char *gpus, *variable, *user;
};

static const struct places all[] = {{"", "/cpu:0", "/cpu:0"},
                                    {"2", "/gpu:0", "/gpu:0"},
                                    {"2", "/gpu:0", "/gpu:1"},
                                    {"2", "/cpu:0", "/gpu:1"},
                                    {"2", "/gpu:1", "/cpu:0"}};

static situ_value handle_named(situ_graph *graph, const char *shared, int64_t size) {
  const situ_attr attrs[] = {{.name = "shape", .kind = SITU_ATTR_SHAPE, .shape = SITU_SHAPE(size)},
                             dtype,
                             {.name = "shared_name", .kind = SITU_ATTR_STRING, .text = shared}};
  return situ_emit(graph, "VarHandleOp", NULL, NULL, 0, attrs, 3);
}

static situ_value read(situ_graph *graph, situ_value handle) {
  return situ_emit(graph, "ReadVariableOp", NULL, &handle, 1, &dtype, 1);
}

/* A graph with an initialized variable [1, 2]; `add` adds the nodes of the test. */
struct rig {
  situ_graph *graph;
  situ_session *session;
  situ_value handle, assign;
};

static void begin(struct rig *rig, const struct places *places) {
  fleet(places->gpus);
  rig->graph = situ_graph_create();
  situ_device_push(rig->graph, places->variable);
  rig->handle = handle_named(rig->graph, "v", 2);
  rig->assign =
      emit2(rig->graph, "AssignVariableOp", rig->handle,
            situ_constant(rig->graph, NULL, SITU_FLOAT, SITU_SHAPE(2), (const float[]){1, 2}));
  situ_device_pop(rig->graph);
}

static void open(struct rig *rig) {
  situ_tensor *none = NULL;
  OK(situ_graph_status(rig->graph));
  OK(situ_session_create(rig->graph, NULL, &rig->session));
  OK(situ_session_run(rig->session, NULL, 0, &rig->assign, 1, &none));
}

static void end(struct rig *rig) {
  situ_session_release(rig->session);
  situ_graph_release(rig->graph);
}

static void expect(struct rig *rig, const situ_value *fetches, const float (*want)[2], int n) {
  situ_tensor *results[8] = {0};
  OK(situ_session_run(rig->session, NULL, 0, fetches, n, results));
  for (int i = 0; i < n; i++) {
    if (want[i][0] >= 0) expect_floats(results[i], want[i], 2);
    situ_tensor_release(results[i]);
  }
}

/* A value read before an update is used after it; a read after the update sees it. */
static void reads_are_snapshots(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct rig rig;
    begin(&rig, &all[i]);
    const situ_value before = read(rig.graph, rig.handle);
    situ_device_push(rig.graph, all[i].user);
    const situ_value early = emit2(rig.graph, "Mul", before, scalar(rig.graph, 2));
    situ_device_pop(rig.graph);
    situ_control_push(rig.graph, &early, 1);
    const situ_value change = emit2(rig.graph, "AssignAddVariableOp", rig.handle, before);
    situ_control_pop(rig.graph);
    situ_control_push(rig.graph, &change, 1);
    const situ_value after = read(rig.graph, rig.handle);
    situ_device_push(rig.graph, all[i].user);
    const situ_value late = emit2(rig.graph, "Mul", before, scalar(rig.graph, 10));
    situ_device_pop(rig.graph);
    situ_control_pop(rig.graph);
    open(&rig);
    const situ_value fetches[] = {before, early, after, late};
    expect(&rig, fetches, (const float[][2]){{1, 2}, {2, 4}, {2, 4}, {10, 20}}, 4);
    expect(&rig, fetches, (const float[][2]){{2, 4}, {4, 8}, {4, 8}, {20, 40}}, 4);
    expect(&rig, &late, (const float[][2]){{40, 80}}, 1);
    expect(&rig, &before, (const float[][2]){{8, 16}}, 1);
    end(&rig);
  }
}

/* A reshaped value shares the memory of the read and is copied as well. */
static void aliases_are_snapshots(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct rig rig;
    begin(&rig, &all[i]);
    const situ_value same = emit1(rig.graph, "Identity", read(rig.graph, rig.handle));
    const situ_value change = emit2(rig.graph, "AssignSubVariableOp", rig.handle, same);
    situ_control_push(rig.graph, &change, 1);
    const situ_value late = emit2(rig.graph, "Add", same, scalar(rig.graph, 1));
    situ_control_pop(rig.graph);
    open(&rig);
    const situ_value fetches[] = {same, late, change};
    expect(&rig, fetches, (const float[][2]){{1, 2}, {2, 3}, {-1, -1}}, 3);
    const situ_value now = read(rig.graph, rig.handle);
    expect(&rig, &now, (const float[][2]){{0, 0}}, 1);
    end(&rig);
  }
}

/* Handles with one shared name are one variable; others, and other sizes, are not. */
static void names_are_shared(void **state) {
  (void)state;
  struct rig rig;
  begin(&rig, &all[0]);
  const situ_value twin = read(rig.graph, handle_named(rig.graph, "v", 2));
  const situ_value other = read(rig.graph, handle_named(rig.graph, "w", 2));
  const situ_value wrong = read(rig.graph, handle_named(rig.graph, "v", 3));
  situ_tensor *none = NULL;
  open(&rig);
  expect(&rig, &twin, (const float[][2]){{1, 2}}, 1);
  FAILS(situ_session_run(rig.session, NULL, 0, &other, 1, &none), SITU_FAILED_PRECONDITION,
        "Error while reading resource variable w from Container: localhost.");
  FAILS(situ_session_run(rig.session, NULL, 0, &wrong, 1, &none), SITU_INVALID_ARGUMENT,
        "declare variable 'v' with different types or shapes");
  FAILS(situ_session_run(rig.session, NULL, 0, &rig.handle, 1, &none), SITU_INVALID_ARGUMENT,
        "is the handle of a variable");
  end(&rig);
}

/* Whether a variable has a value: not before the first assignment, and not when it was destroyed.
 */
static void probes_tell(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct rig rig;
    begin(&rig, &all[i]);
    const situ_value first = emit1(rig.graph, "VarIsInitializedOp", rig.handle);
    situ_control_push(rig.graph, &rig.assign, 1);
    const situ_value second = emit1(rig.graph, "VarIsInitializedOp", rig.handle);
    situ_control_pop(rig.graph);
    const situ_value destroy = emit1(rig.graph, "DestroyResourceOp", rig.handle);
    OK(situ_graph_status(rig.graph));
    OK(situ_session_create(rig.graph, NULL, &rig.session));
    const situ_value runs[] = {first, second, first, destroy, first};
    const int want[] = {0, 1, 1, -1, 0};
    for (int k = 0; k < 5; k++) {
      situ_tensor *result = NULL;
      OK(situ_session_run(rig.session, NULL, 0, &runs[k], 1, &result));
      if (want[k] >= 0) assert_int_equal(*(const bool *)situ_tensor_data(result), want[k]);
      situ_tensor_release(result);
    }
    end(&rig);
  }
}

static void other_types_are_refused(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value handle = handle_named(graph, "v", 2);
  const situ_attr wrong = situ_attr_type("dtype", SITU_INT32);
  situ_emit(graph, "ReadVariableOp", NULL, &handle, 1, &wrong, 1);
  FAILS(situ_graph_status(graph), SITU_INVALID_ARGUMENT, "with wrong dtype");
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_are_snapshots), cmocka_unit_test(aliases_are_snapshots),
      cmocka_unit_test(names_are_shared), cmocka_unit_test(probes_tell),
      cmocka_unit_test(other_types_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
