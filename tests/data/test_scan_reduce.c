/* SPDX-License-Identifier: Apache-2.0
 * test_scan_reduce.c: Scan, Reduce, Group and Distinct. */
#include <string.h>

#include "api/helpers.h"
#include "situ/data.h"

static situ_dataset *range(int64_t n) {
  situ_dataset *out = NULL;
  OK(situ_dataset_range(0, n, 1, &out));
  return out;
}

/* (s, x, k) -> s + x * k, and for Scan s, too. */
static situ_transform *sum(bool scans) {
  situ_graph *graph = situ_graph_create();
  situ_value in[3];
  for (int i = 0; i < 3; i++) in[i] = situ_placeholder(graph, NULL, SITU_INT64, SITU_SCALAR);
  const situ_value out[] = {emit2(graph, "Add", in[0], emit2(graph, "Mul", in[1], in[2])), in[0]};
  situ_transform *made = NULL;
  OK(situ_transform_create(graph, in, 3, out, scans ? 2 : 1, &made));
  situ_graph_release(graph);
  return made;
}

/* The first state is `first`, k is 3. */
static situ_dataset *fold(const char *kind, situ_dataset *input, int64_t first) {
  const bool scans = !strcmp(kind, "Scan");
  situ_transform *transform = sum(scans);
  situ_param params[2] = {{0}};
  OK(situ_tensor_create(SITU_INT64, SITU_SCALAR, &first, &params[0].tensor));
  OK(situ_tensor_create(SITU_INT64, SITU_SCALAR, &(int64_t){3}, &params[1].tensor));
  situ_dataset *out = NULL;
  const situ_dataset_spec spec = {.inputs = &input,
                                  .n_inputs = 1,
                                  .params = params,
                                  .n_params = 2,
                                  .transform = transform,
                                  .n_components = scans};
  OK(situ_dataset_create(kind, &spec, &out));
  for (int i = 0; i < 2; i++) situ_tensor_release(params[i].tensor);
  situ_transform_release(transform);
  situ_dataset_release(input);
  return out;
}

static void expect(situ_dataset *dataset, const int64_t *want, int n) {
  situ_iterator *iterator = NULL;
  OK(situ_iterator_create(dataset, NULL, 0, &iterator));
  for (int i = 0; i <= n; i++) {
    situ_tensor *part = NULL;
    bool end = false;
    OK(situ_iterator_next(iterator, &part, &end));
    assert_int_equal(end, i == n);
    if (!end) assert_int_equal(*(const int64_t *)situ_tensor_data(part), want[i]);
    situ_tensor_release(part);
  }
  situ_iterator_release(iterator);
  situ_dataset_release(dataset);
}

static void test_states(void **state) {
  (void)state;
  fleet("");
  expect(fold("Scan", range(4), 5), (const int64_t[]){5, 5, 8, 14}, 4);
  expect(fold("Reduce", range(4), 5), (const int64_t[]){23}, 1);
  expect(fold("Reduce", range(0), 5), (const int64_t[]){5}, 1);
  expect(fold("Scan", range(0), 5), NULL, 0);
}

static situ_status fail_at_two(void *state, situ_tensor **components, int n_components, bool *end) {
  int64_t *at = state;
  (void)n_components;
  *end = *at == 4;
  if (*at == 2) {
    ++*at;
    return situ_status_create(SITU_INVALID_ARGUMENT, "two is bad");
  }
  return *end ? NULL : situ_tensor_create(SITU_INT64, SITU_SCALAR, &(int64_t){(*at)++}, components);
}

static situ_status begin(void *context, void **state) {
  *(int64_t *)context = 0;
  *state = context;
  return NULL;
}

/* A failure leaves the state unchanged; the next call continues. */
static void test_a_state_outlives_a_failure(void **state) {
  (void)state;
  int64_t at = 0;
  const situ_generator generator = {.open = begin, .next = fail_at_two, .context = &at};
  situ_dataset *made = NULL;
  OK(situ_dataset_create("Generator",
                         &(situ_dataset_spec){.generator = &generator, .n_components = 1}, &made));
  situ_dataset *reduced = fold("Reduce", made, 1);
  situ_iterator *iterator = NULL;
  situ_tensor *part = NULL;
  bool end = false;
  OK(situ_iterator_create(reduced, NULL, 0, &iterator));
  FAILS(situ_iterator_next(iterator, &part, &end), SITU_INVALID_ARGUMENT, "two is bad");
  OK(situ_iterator_next(iterator, &part, &end));
  assert_int_equal(*(const int64_t *)situ_tensor_data(part), 1 + 3 * (0 + 1 + 3));
  situ_tensor_release(part);
  situ_iterator_release(iterator);
  situ_dataset_release(reduced);
}

static void test_wrong_states(void **state) {
  (void)state;
  situ_dataset *out = NULL, *input = range(1);
  situ_transform *transform = sum(false);
  const situ_dataset_spec spec = {.inputs = &input, .n_inputs = 1, .transform = transform};
  FAILS(situ_dataset_create("Scan", &spec, &out), SITU_INVALID_ARGUMENT, "has 3 inputs");
  situ_transform_release(transform);
  situ_dataset_release(input);
}

/* Elements (key, size, value, name) */
static situ_dataset *keyed(int n, const int64_t *keys, const int64_t *sizes) {
  static const int64_t values[] = {10, 11, 12, 13, 14, 15};
  static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
  situ_tensor *components[4] = {NULL};
  situ_dataset *out = NULL;
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(n), keys, &components[0]));
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(n), sizes, &components[1]));
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(n), values, &components[2]));
  OK(situ_tensor_create(SITU_STRING, SITU_SHAPE(n), names, &components[3]));
  OK(situ_dataset_from_tensor_slices(components, 4, &out));
  for (int i = 0; i < 4; i++) situ_tensor_release(components[i]);
  return out;
}

static situ_dataset *then(const char *kind, situ_dataset *input) {
  situ_dataset *out = NULL;
  OK(situ_dataset_create(kind, &(situ_dataset_spec){.inputs = &input, .n_inputs = 1}, &out));
  situ_dataset_release(input);
  return out;
}

/* Checks the elements of a dataset given by a handle. */
static void expect_window(situ_tensor *handle, const int64_t *want, int n) {
  situ_dataset *window = NULL;
  const situ_param param = {.tensor = handle};
  OK(situ_dataset_create(
      "Handle", &(situ_dataset_spec){.params = &param, .n_params = 1, .n_components = 2}, &window));
  situ_iterator *iterator = NULL;
  OK(situ_iterator_create(window, NULL, 0, &iterator));
  for (int i = 0; i <= n; i++) {
    situ_tensor *components[2] = {NULL};
    bool end = false;
    OK(situ_iterator_next(iterator, components, &end));
    assert_int_equal(end, i == n);
    if (!end) {
      assert_int_equal(*(const int64_t *)situ_tensor_data(components[0]), want[i]);
      assert_int_equal(situ_tensor_string(components[1], 0).data[0], 'a' + want[i] - 10);
    }
    for (int j = 0; j < 2; j++) situ_tensor_release(components[j]);
  }
  situ_iterator_release(iterator);
  situ_dataset_release(window);
}

static void test_groups(void **state) {
  (void)state;
  situ_dataset *groups = then("Group", keyed(6, (const int64_t[]){7, -1, 7, 3, 7, -1},
                                             (const int64_t[]){2, 3, 9, 1, 4, 9}));
  const int64_t keys[] = {7, 3, -1, 7};
  const int64_t rows[][3] = {{10, 12}, {13}, {11, 15}, {14}};
  const int sizes[] = {2, 1, 2, 1};
  situ_iterator *iterator = NULL;
  OK(situ_iterator_create(groups, NULL, 0, &iterator));
  for (int i = 0; i <= 4; i++) {
    situ_tensor *components[2] = {NULL};
    bool end = false;
    OK(situ_iterator_next(iterator, components, &end));
    assert_int_equal(end, i == 4);
    if (end) break;
    assert_int_equal(*(const int64_t *)situ_tensor_data(components[0]), keys[i]);
    expect_window(components[1], rows[i], sizes[i]);
    for (int j = 0; j < 2; j++) situ_tensor_release(components[j]);
  }
  situ_iterator_release(iterator);
  OK(situ_iterator_create(groups, NULL, 0, &iterator)); /* destroyed with incomplete groups */
  situ_tensor *components[2] = {NULL};
  bool end = false;
  OK(situ_iterator_next(iterator, components, &end));
  for (int j = 0; j < 2; j++) situ_tensor_release(components[j]);
  situ_iterator_release(iterator);
  situ_dataset_release(groups);
}

static void test_groups_have_a_size(void **state) {
  (void)state;
  situ_dataset *groups = then("Group", keyed(1, (const int64_t[]){7}, (const int64_t[]){0}));
  situ_iterator *iterator = NULL;
  situ_tensor *components[2] = {NULL};
  bool end = false;
  OK(situ_iterator_create(groups, NULL, 0, &iterator));
  FAILS(situ_iterator_next(iterator, components, &end), SITU_INVALID_ARGUMENT, "greater than zero");
  situ_iterator_release(iterator);
  situ_dataset_release(groups);
}

static void test_each_element_once(void **state) {
  (void)state;
  const int64_t many[] = {5, 3, 5, 0, 3, 3, 8};
  situ_tensor *rows = NULL;
  situ_dataset *slices = NULL;
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(7), many, &rows));
  OK(situ_dataset_from_tensor_slices(&rows, 1, &slices));
  situ_tensor_release(rows);
  expect(then("Distinct", slices), (const int64_t[]){5, 3, 0, 8}, 4);
  int64_t all[300];
  for (int i = 0; i < 300; i++) all[i] = i;
  expect(then("Distinct", range(300)), all, 300);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_a_state_outlives_a_failure),
      cmocka_unit_test(test_wrong_states),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_groups_have_a_size),
      cmocka_unit_test(test_each_element_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
