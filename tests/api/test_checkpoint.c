/* SPDX-License-Identifier: Apache-2.0
 * test_checkpoint.c: writes and reads checkpoints; savers; corrupt files. */
#include "situ/checkpoint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/helpers.h"

static char folder[] = "/tmp/situ_checkpoint_XXXXXX";
static char prefix[64], data_path[96], index_path[96];

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  snprintf(prefix, sizeof prefix, "%s/m", folder);
  snprintf(data_path, sizeof data_path, "%s.data-00000-of-00001", prefix);
  snprintf(index_path, sizeof index_path, "%s.index", prefix);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  remove(data_path);
  remove(index_path);
  return rmdir(folder); /* fails if other files were left behind */
}

static situ_tensor *tensor(situ_type type, situ_shape shape, const void *data) {
  situ_tensor *made = NULL;
  OK(situ_tensor_create(type, shape, data, &made));
  return made;
}

static void write_pair(void) {
  const float a[] = {1, 2, 3};
  const int64_t b = -7;
  const situ_named both[] = {{"b \"\xc3\xa4\"", tensor(SITU_INT64, SITU_SCALAR, &b)},
                             {"a", tensor(SITU_FLOAT, SITU_SHAPE(3), a)}};
  OK(situ_checkpoint_write(prefix, both, 2));
  situ_tensor_release(both[0].tensor);
  situ_tensor_release(both[1].tensor);
}

static const char *const pair[] = {"a", "b \"\xc3\xa4\""};

static void what_is_written_is_read(void **state) {
  (void)state;
  situ_tensor *got[2] = {NULL};
  write_pair();
  OK(situ_checkpoint_read(prefix, pair, 2, got));
  expect_floats(got[0], (float[]){1, 2, 3}, 3);
  assert_int_equal(*(const int64_t *)situ_tensor_data(got[1]), -7);
  assert_int_equal(situ_tensor_shape(got[1]).rank, 0);
  situ_tensor_release(got[0]);
  situ_tensor_release(got[1]);
}

static void every_type_is_kept(void **state) {
  (void)state;
  const situ_type types[] = {SITU_DOUBLE, SITU_FLOAT, SITU_HALF,  SITU_INT64,  SITU_INT32,
                             SITU_INT16,  SITU_INT8,  SITU_UINT8, SITU_UINT16, SITU_BOOL};
  const unsigned char bytes[16] = {1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1};
  const char *name = "x";
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const situ_shape shape = i % 2 ? SITU_SHAPE(2, 1) : SITU_SHAPE(0, 3);
    const situ_named one = {name, tensor(types[i], shape, bytes)};
    situ_tensor *got = NULL;
    OK(situ_checkpoint_write(prefix, &one, 1));
    OK(situ_checkpoint_read(prefix, &name, 1, &got));
    assert_int_equal(situ_tensor_type(got), types[i]);
    assert_int_equal(situ_tensor_shape(got).rank, 2);
    assert_int_equal(situ_tensor_bytes(got), situ_tensor_bytes(one.tensor));
    if (situ_tensor_bytes(got))
      assert_memory_equal(situ_tensor_data(got), bytes, situ_tensor_bytes(got));
    situ_tensor_release(got);
    situ_tensor_release(one.tensor);
  }
}

/* Replaces the data file by these bytes: reading must fail. */
static void expect_loss(const char *bytes, size_t length) {
  situ_tensor *got[2] = {NULL};
  FILE *file = fopen(data_path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
  const situ_status s = situ_checkpoint_read(prefix, pair, 2, got);
  assert_non_null(s);
  assert_null(got[0]);
  assert_null(got[1]);
  const situ_code code = situ_status_code(s);
  assert_true(code == SITU_DATA_LOSS || code == SITU_NOT_FOUND); /* or a changed name */
  assert_non_null(strstr(situ_status_message(s), data_path));
  situ_status_release(s);
}

static void damage_is_noticed(void **state) {
  (void)state;
  char bytes[1024];
  write_pair();
  FILE *file = fopen(data_path, "rb");
  assert_non_null(file);
  const size_t length = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_in_range(length, 100, sizeof bytes - 1);
  for (size_t n = 0; n < length; n++) expect_loss(bytes, n);
  for (size_t i = length - 20; i < length; i++) { /* the elements */
    bytes[i] ^= 4;
    expect_loss(bytes, length);
    bytes[i] ^= 4;
  }
}

static void names_that_are_missing(void **state) {
  (void)state;
  const char *names[] = {"a", "c"};
  situ_tensor *got[2] = {NULL};
  write_pair();
  FAILS(situ_checkpoint_read(prefix, names, 2, got), SITU_NOT_FOUND, "Key c not found");
  assert_null(got[0]);
  FAILS(situ_checkpoint_read("/nonexistent/m", names, 2, got), SITU_NOT_FOUND, "/nonexistent/m");
}

/* A failed save leaves the previous checkpoint intact. */
static void failed_save_keeps_the_old_checkpoint(void **state) {
  (void)state;
  const char *text = "x";
  situ_named both[] = {{"a", tensor(SITU_FLOAT, SITU_SCALAR, NULL)},
                       {"a", tensor(SITU_FLOAT, SITU_SCALAR, NULL)}};
  write_pair();
  FAILS(situ_checkpoint_write(prefix, both, 2), SITU_INVALID_ARGUMENT,
        "Duplicate tensor name in a checkpoint: 'a'");
  situ_tensor_release(both[1].tensor);
  both[1] = (situ_named){"t", tensor(SITU_STRING, SITU_SCALAR, &text)};
  FAILS(situ_checkpoint_write(prefix, both, 2), SITU_UNIMPLEMENTED, "Tensor 't' of type");
  FAILS(situ_checkpoint_write("/nonexistent/m", both, 1), SITU_NOT_FOUND, "/nonexistent/m");
  FAILS(situ_checkpoint_write(NULL, both, 1), SITU_INVALID_ARGUMENT, "NULL");
  situ_tensor_release(both[0].tensor);
  situ_tensor_release(both[1].tensor);
  situ_tensor *got[2] = {NULL};
  OK(situ_checkpoint_read(prefix, pair, 2, got));
  situ_tensor_release(got[0]);
  situ_tensor_release(got[1]);
}

/* A variable on a GPU, by reference or by handle. */
static situ_value variable(situ_graph *graph, const char *op, const char *name, situ_shape shape) {
  const situ_attr attrs[] = {situ_attr_shape("shape", shape), situ_attr_type("dtype", SITU_FLOAT),
                             situ_attr_string("shared_name", name)};
  situ_device_push(graph, "/gpu:0");
  const situ_value made = situ_emit(graph, op, name, NULL, 0, attrs, 3);
  situ_device_pop(graph);
  return made;
}

static void perform(situ_session *session, const situ_value *values) {
  for (int i = 0; i < 2; i++) {
    const situ_value node = {values[i].graph, values[i].node, SITU_ANY};
    situ_tensor *nothing = NULL;
    OK(situ_session_run(session, NULL, 0, &node, 1, &nothing));
  }
}

static void variables_are_saved_and_restored(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_value v[] = {variable(graph, "VariableV2", "v", SITU_SHAPE(2)),
                          variable(graph, "VarHandleOp", "w", SITU_SHAPE(2))};
  const situ_value two = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2), (float[]){3, 4});
  const situ_value none = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2), (float[]){0, 0});
  const situ_attr dtype = situ_attr_type("dtype", SITU_FLOAT);
  const situ_value read[] = {v[0], situ_emit(graph, "ReadVariableOp", NULL, &v[1], 1, &dtype, 1)};
  const situ_value set[] = {emit2(graph, "Assign", v[0], two),
                            emit2(graph, "AssignVariableOp", v[1], two)};
  const situ_value clear[] = {emit2(graph, "Assign", v[0], none),
                              emit2(graph, "AssignVariableOp", v[1], none)};
  situ_saver *saver = NULL;
  situ_session *session = NULL;
  situ_tensor *got[2] = {NULL};
  OK(situ_saver_create(graph, v, 2, &saver));
  OK(situ_session_create(graph, NULL, &session));
  FAILS(situ_saver_save(saver, session, prefix), SITU_FAILED_PRECONDITION, "v");
  perform(session, set);
  OK(situ_saver_save(saver, session, prefix));
  perform(session, clear);
  OK(situ_saver_restore(saver, session, prefix));
  OK(situ_session_run(session, NULL, 0, read, 2, got));
  for (int i = 0; i < 2; i++) {
    expect_floats(got[i], (float[]){3, 4}, 2);
    situ_tensor_release(got[i]);
  }
  situ_saver_release(saver);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Variables that do not match the checkpoint, and values that are not variables. */
static void invalid_variables(void **state) {
  (void)state;
  fleet("1");
  write_pair();
  situ_graph *graph = situ_graph_create(), *other = situ_graph_create();
  const situ_value v = variable(graph, "VariableV2", "a", SITU_SHAPE(2));
  const situ_value constant = scalar(graph, 1), stranger = scalar(other, 1);
  situ_saver *saver = NULL;
  situ_session *session = NULL;
  FAILS(situ_saver_create(graph, &constant, 1, &saver), SITU_INVALID_ARGUMENT,
        "must be a variable");
  FAILS(situ_saver_create(graph, &stranger, 1, &saver), SITU_INVALID_ARGUMENT,
        "must be a variable");
  FAILS(situ_saver_create(graph, NULL, 1, &saver), SITU_INVALID_ARGUMENT, "no variables");
  assert_null(saver);
  OK(situ_saver_create(graph, &v, 1, &saver));
  OK(situ_session_create(graph, NULL, &session));
  FAILS(situ_saver_restore(saver, session, prefix), SITU_INVALID_ARGUMENT,
        "Variable 'a' is float of shape [2], but float of shape [3]");
  FAILS(situ_saver_restore(saver, NULL, prefix), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_saver_save(NULL, session, prefix), SITU_INVALID_ARGUMENT, "NULL");
  situ_saver_release(saver);
  situ_saver_release(NULL);
  situ_session_release(session);
  situ_graph_release(graph);
  situ_graph_release(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(every_type_is_kept),
      cmocka_unit_test(damage_is_noticed),
      cmocka_unit_test(names_that_are_missing),
      cmocka_unit_test(failed_save_keeps_the_old_checkpoint),
      cmocka_unit_test(variables_are_saved_and_restored),
      cmocka_unit_test(invalid_variables),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
