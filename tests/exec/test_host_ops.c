/* SPDX-License-Identifier: Apache-2.0
 * test_host_ops.c: host ops: strings, shapes that depend on data, steps that are split into several
 * programs, errors, eager calls. */
#include <string.h>
#include <unistd.h>

#include "api/helpers.h"
#include "situ/catalog.h"
#include "situ/eager.h"

static char path[] = "/tmp/situ_hosted_XXXXXX";

static situ_value text(situ_graph *graph, const char *word) {
  return situ_constant(graph, NULL, SITU_STRING, SITU_SCALAR, &word);
}

static void write_bytes(const void *data, size_t bytes) {
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(data, 1, bytes, stream), bytes);
  assert_int_equal(fclose(stream), 0);
}

static situ_value decode(situ_graph *graph, situ_value bytes) {
  const situ_attr type = situ_attr_type("out_type", SITU_FLOAT);
  return situ_emit(graph, "DecodeRaw", NULL, &bytes, 1, &type, 1);
}

/* A file -> bytes (with zeros) -> numbers whose shape depends on data -> kernels. */
static void shapes_come_from_files(void **state) {
  (void)state;
  const char *fleets[] = {"", "2"};
  for (size_t f = 0; f < 2; f++) {
    fleet(fleets[f]);
    situ_graph *graph = situ_graph_create();
    const situ_value name = situ_placeholder(graph, "name", SITU_STRING, SITU_SCALAR);
    const situ_value numbers = decode(graph, emit1(graph, "ReadFile", name));
    const situ_value twice = emit2(graph, "Add", numbers, numbers);
    const situ_value before = emit2(graph, "Mul", scalar(graph, 3), scalar(graph, 5));
    const situ_value sum = emit2(graph, "Add", twice, before);
    situ_session *session = NULL;
    OK(situ_session_create(graph, NULL, &session));
    situ_tensor *fed = NULL;
    const char *words[] = {path};
    OK(situ_tensor_create(SITU_STRING, SITU_SCALAR, words, &fed));
    const float data[] = {0, 1, 2, 3, 4, 5};
    const int lengths[] = {3, 6, 3, 0, 6};
    for (size_t i = 0; i < 5; i++) {
      write_bytes(data, sizeof(float) * (size_t)lengths[i]);
      const situ_value fetches[] = {sum, numbers, before};
      situ_tensor *results[3];
      OK(situ_session_run(session, &(situ_feed){name, fed}, 1, fetches, 3, results));
      float want[6];
      for (int k = 0; k < 6; k++) want[k] = 2 * data[k] + 15;
      expect_floats(results[0], want, lengths[i]);
      expect_floats(results[1], data, lengths[i]);
      expect_floats(results[2], &(float){15}, 1);
      for (int k = 0; k < 3; k++) situ_tensor_release(results[k]);
    }
    situ_tensor_release(fed);
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

/* A chain of host ops does not split the step; unused ops do not run. */
static void only_what_is_asked_for_runs(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  const situ_value contents = text(graph, "new contents");
  const situ_value write = emit2(graph, "WriteFile", text(graph, path), contents);
  situ_control_push(graph, &write, 1);
  const situ_value read = emit1(graph, "ReadFile", text(graph, path));
  situ_control_pop(graph);
  const situ_value other = emit1(graph, "ReadFile", text(graph, path));
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  write_bytes("old", 3);
  situ_tensor *result = NULL;
  OK(situ_session_eval(session, other, &result));
  assert_string_equal(situ_tensor_string(result, 0).data, "old");
  situ_tensor_release(result);
  OK(situ_session_eval(session, read, &result));
  assert_string_equal(situ_tensor_string(result, 0).data, "new contents");
  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void failures_name_the_node(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  const situ_value name = text(graph, "/nowhere/at all");
  const situ_value read = situ_emit(graph, "ReadFile", "reader", &name, 1, NULL, 0);
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  situ_tensor *result = NULL;
  situ_status status = situ_session_eval(session, read, &result);
  assert_int_equal(situ_status_code(status), SITU_NOT_FOUND);
  assert_string_equal(situ_status_node(status), "reader");
  assert_non_null(strstr(situ_status_message(status), "/nowhere/at all; No such file"));
  situ_status_release(status);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Strings with zeros survive kernels that move elements. */
static void texts_are_moved_whole(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_string texts[] = {{"a\0b", 3}, {"", 0}, {"third", 5}};
  situ_tensor *tensor = NULL, *result = NULL;
  OK(situ_tensor_create_strings(SITU_SHAPE(3), texts, &tensor));
  const situ_value x = situ_constant_tensor(graph, NULL, tensor);
  situ_tensor_release(tensor);
  const int32_t axis = 0;
  const situ_value zero = situ_constant(graph, NULL, SITU_INT32, SITU_SCALAR, &axis);
  const situ_value lists[] = {x, x};
  const situ_value both =
      situ_emit_lists(graph, "ConcatV2", NULL, (situ_values[]){{lists, 2}, {&zero, 1}}, 2, NULL, 0);
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_eval(session, both, &result));
  situ_session_release(session);
  situ_graph_release(graph);
  assert_int_equal(situ_shape_count(situ_tensor_shape(result)), 6);
  for (int i = 0; i < 6; i++) {
    const situ_string have = situ_tensor_string(result, i);
    assert_int_equal(have.length, texts[i % 3].length);
    assert_memory_equal(have.data, texts[i % 3].data, have.length);
  }
  situ_tensor_release(result);
}

static int number_of(const char *name) {
  situ_op op;
  for (int i = 0; i < situ_ops_count(); i++) {
    OK(situ_ops_get(i, &op));
    if (!strcmp(op.name, name)) return i;
  }
  return -1;
}

static void eager_calls_run_them(void **state) {
  (void)state;
  fleet("1");
  situ_eager *eager = NULL;
  OK(situ_eager_create(NULL, &eager));
  write_bytes("abcd", 4);
  const char *words[] = {path};
  situ_tensor *name = NULL, *contents = NULL, *numbers = NULL;
  OK(situ_tensor_create(SITU_STRING, SITU_SCALAR, words, &name));
  int count = 0;
  OK(situ_eager_run(eager,
                    &(situ_call){.op = number_of("ReadFile"), .inputs = &name, .n_inputs = 1},
                    &contents, 1, &count));
  const situ_attr type = situ_attr_type("out_type", SITU_UINT8);
  OK(situ_eager_run(eager,
                    &(situ_call){.op = number_of("DecodeRaw"),
                                 .inputs = &contents,
                                 .n_inputs = 1,
                                 .attrs = &type,
                                 .n_attrs = 1},
                    &numbers, 1, &count));
  assert_int_equal(situ_shape_count(situ_tensor_shape(numbers)), 4);
  assert_memory_equal(situ_tensor_data(numbers), "abcd", 4);
  situ_tensor_release(name);
  situ_tensor_release(contents);
  situ_tensor_release(numbers);
  situ_eager_release(eager);
}

int main(void) {
  const int file = mkstemp(path);
  if (file >= 0) close(file);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_come_from_files), cmocka_unit_test(only_what_is_asked_for_runs),
      cmocka_unit_test(failures_name_the_node), cmocka_unit_test(texts_are_moved_whole),
      cmocka_unit_test(eager_calls_run_them),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
