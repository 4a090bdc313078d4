/* SPDX-License-Identifier: Apache-2.0
 * test_dataset.c: elements, order, cardinality and errors of datasets. */
#include <math.h>
#include <string.h>

#include "api/helpers.h"
#include "situ/data.h"

/* Releases the input of a new dataset. */
static situ_dataset *pass(situ_dataset *input, situ_status status, situ_dataset *made) {
  OK(status);
  situ_dataset_release(input);
  return made;
}

static situ_dataset *range(int64_t n) {
  situ_dataset *out = NULL;
  OK(situ_dataset_range(0, n, 1, &out));
  return out;
}

/* The numbers of a dataset of scalars or vectors of int64, at most n. */
static int numbers(situ_dataset *dataset, int64_t *out, int n) {
  situ_iterator *iterator = NULL;
  OK(situ_iterator_create(dataset, NULL, 0, &iterator));
  int count = 0;
  for (bool end = false; count < n;) {
    situ_tensor *part = NULL;
    OK(situ_iterator_next(iterator, &part, &end));
    if (end) break;
    const int64_t elements = situ_shape_count(situ_tensor_shape(part));
    for (int64_t i = 0; i < elements && count < n; i++)
      out[count++] = ((const int64_t *)situ_tensor_data(part))[i];
    situ_tensor_release(part);
  }
  situ_iterator_release(iterator);
  return count;
}

static void expect(situ_dataset *dataset, const int64_t *want, int n) {
  int64_t have[64];
  assert_int_equal(numbers(dataset, have, 64), n);
  assert_memory_equal(have, want, sizeof *want * (size_t)n);
  situ_dataset_release(dataset);
}
#define EXPECT(dataset, ...)                      \
  expect(dataset, (const int64_t[]){__VA_ARGS__}, \
         (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* A dataset of one input, whose params are numbers. */
static situ_dataset *then(situ_dataset *input, const char *kind, unsigned flags, int n,
                          const int64_t *numbers_) {
  situ_param params[4] = {{0}};
  for (int i = 0; i < n; i++)
    OK(situ_tensor_create(SITU_INT64, SITU_SCALAR, &numbers_[i], &params[i].tensor));
  situ_dataset *out = NULL;
  const situ_dataset_spec spec = {
      .inputs = &input, .n_inputs = 1, .params = params, .n_params = n, .flags = flags};
  OK(situ_dataset_create(kind, &spec, &out));
  for (int i = 0; i < n; i++) situ_tensor_release(params[i].tensor);
  situ_dataset_release(input);
  return out;
}
#define THEN(input, kind, flags, ...)                                                       \
  then(input, kind, flags, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
       (const int64_t[]){__VA_ARGS__})

/* x -> 2 x, or x -> x % 2 == 0 */
static situ_transform *function(bool predicate) {
  situ_graph *graph = situ_graph_create();
  const int64_t two = 2, zero = 0;
  const situ_value x = situ_placeholder(graph, "x", SITU_INT64, SITU_ANY_SHAPE);
  const situ_value k = situ_constant(graph, "k", SITU_INT64, SITU_SCALAR, &two);
  situ_value y =
      situ_emit(graph, predicate ? "FloorMod" : "Mul", "y", (situ_value[]){x, k}, 2, NULL, 0);
  if (predicate) {
    const situ_value none = situ_constant(graph, "none", SITU_INT64, SITU_SCALAR, &zero);
    y = situ_emit(graph, "Equal", "even", (situ_value[]){y, none}, 2, NULL, 0);
  }
  situ_transform *out = NULL;
  OK(situ_transform_create(graph, &x, 1, &y, 1, &out));
  situ_graph_release(graph);
  return out;
}

static situ_dataset *with_function(situ_dataset *input, const char *kind, int parallel) {
  situ_transform *transform = function(!strcmp(kind, "Filter") || !strcmp(kind, "TakeWhile"));
  situ_dataset *out = NULL;
  const situ_dataset_spec spec = {
      .inputs = &input, .n_inputs = 1, .transform = transform, .parallel = parallel};
  const situ_status status = situ_dataset_create(kind, &spec, &out);
  situ_transform_release(transform);
  return pass(input, status, out);
}

static void test_choosing(void **state) {
  (void)state;
  fleet("");
  EXPECT(range(4), 0, 1, 2, 3);
  EXPECT(THEN(range(5), "Take", 0, 3), 0, 1, 2);
  EXPECT(THEN(range(5), "Skip", 0, 3), 3, 4);
  EXPECT(THEN(range(6), "Shard", 0, 3, 1), 1, 4);
  EXPECT(THEN(range(2), "Repeat", 0, 3), 0, 1, 0, 1, 0, 1);
  EXPECT(THEN(THEN(range(2), "Repeat", 0, -1), "Take", 0, 5), 0, 1, 0, 1, 0);
  EXPECT(THEN(THEN(range(3), "Cache", 0, 0), "Repeat", 0, 2), 0, 1, 2, 0, 1, 2);
  situ_dataset *none = THEN(range(0), "Repeat", 0, -1);
  int64_t number;
  assert_int_equal(numbers(none, &number, 1), 0);
  situ_dataset_release(none);
}

static void test_batches(void **state) {
  (void)state;
  situ_dataset *batches = THEN(range(5), "Batch", 0, 2);
  assert_int_equal(situ_dataset_cardinality(batches), 3);
  situ_iterator *iterator = NULL;
  OK(situ_iterator_create(batches, NULL, 0, &iterator));
  const int64_t rows[] = {2, 2, 1};
  for (int i = 0; i < 3; i++) {
    situ_tensor *batch = NULL;
    bool end = false;
    OK(situ_iterator_next(iterator, &batch, &end));
    assert_int_equal(situ_tensor_shape(batch).dim[0], rows[i]);
    assert_int_equal(((const int64_t *)situ_tensor_data(batch))[0], 2 * i);
    situ_tensor_release(batch);
  }
  situ_iterator_release(iterator);
  situ_dataset_release(batches);
  EXPECT(THEN(range(5), "Batch", SITU_DROP_REMAINDER, 2), 0, 1, 2, 3);
  EXPECT(THEN(THEN(range(5), "Batch", 0, 2), "Unbatch", 0, 0), 0, 1, 2, 3, 4);
}

static void test_functions(void **state) {
  (void)state;
  EXPECT(with_function(range(4), "Map", 0), 0, 2, 4, 6);
  EXPECT(with_function(range(4), "Map", 3), 0, 2, 4, 6);
  EXPECT(with_function(range(6), "Filter", 0), 0, 2, 4);
  EXPECT(with_function(range(6), "TakeWhile", 0), 0);
  EXPECT(THEN(with_function(THEN(range(4), "Prefetch", 0, 2), "Map", 2), "Prefetch", 0, 1), 0, 2, 4,
         6);
}

/* The order is that of TensorFlow 2 for these seeds. */
static void test_shuffling(void **state) {
  (void)state;
  EXPECT(THEN(range(10), "Shuffle", 0, 5, 87654321, 1), 2, 5, 1, 0, 6, 9, 8, 3, 7, 4);
  EXPECT(THEN(THEN(range(10), "Shuffle", SITU_RESHUFFLE, 5, 87654321, 1), "Repeat", 0, 2), 0, 5, 3,
         6, 7, 4, 9, 8, 2, 1, 3, 0, 4, 6, 8, 1, 7, 9, 2, 5);
}

/* A second iterator of a dataset that reshuffles continues its seeds. */
static void test_iterators_share_what_is_kept(void **state) {
  (void)state;
  situ_dataset *shuffled = THEN(range(10), "Shuffle", SITU_RESHUFFLE, 5, 87654321, 1);
  int64_t first[10], second[10];
  assert_int_equal(numbers(shuffled, first, 10), 10);
  assert_int_equal(numbers(shuffled, second, 10), 10);
  assert_int_equal(first[0], 0);
  assert_int_equal(second[0], 3);
  situ_dataset_release(shuffled);
}

static void test_nothing_is_left_when_an_iterator_goes_early(void **state) {
  (void)state;
  situ_dataset *dataset =
      THEN(with_function(THEN(range(1), "Repeat", 0, -1), "Map", 4), "Prefetch", 0, 3);
  int64_t number;
  for (int i = 0; i < 20; i++) assert_int_equal(numbers(dataset, &number, 1), 1);
  situ_dataset_release(dataset);
}

static situ_status count_three(void *state, situ_tensor **components, int n_components, bool *end) {
  int64_t *at = state;
  assert_int_equal(n_components, 1);
  *end = *at == 3;
  if (*at == 1) {
    ++*at;
    return situ_status_create(SITU_INVALID_ARGUMENT, "one is bad");
  }
  return *end ? NULL : situ_tensor_create(SITU_INT64, SITU_SCALAR, &(int64_t){(*at)++}, components);
}

static situ_status begin(void *context, void **state) {
  *(int64_t *)context = 0;
  *state = context;
  return NULL;
}

/* An error is reported once, in order, through all threads; iteration then continues. */
static void test_errors_come_once(void **state) {
  (void)state;
  int64_t at = 0;
  const situ_generator generator = {.open = begin, .next = count_three, .context = &at};
  situ_dataset *made = NULL;
  OK(situ_dataset_create("Generator",
                         &(situ_dataset_spec){.generator = &generator, .n_components = 1}, &made));
  situ_dataset *dataset = THEN(with_function(made, "Map", 2), "Prefetch", 0, 2);
  situ_iterator *iterator = NULL;
  situ_tensor *part = NULL;
  bool end = false;
  OK(situ_iterator_create(dataset, NULL, 0, &iterator));
  OK(situ_iterator_next(iterator, &part, &end));
  situ_tensor_release(part);
  FAILS(situ_iterator_next(iterator, &part, &end), SITU_INVALID_ARGUMENT, "one is bad");
  OK(situ_iterator_next(iterator, &part, &end));
  assert_int_equal(*(const int64_t *)situ_tensor_data(part), 4);
  situ_tensor_release(part);
  OK(situ_iterator_next(iterator, &part, &end));
  assert_true(end);
  situ_iterator_release(iterator);
  situ_dataset_release(dataset);
}

static void test_wrong_specs(void **state) {
  (void)state;
  situ_dataset *out = NULL, *numbers_ = range(3);
  FAILS(situ_dataset_create("Maps", NULL, &out), SITU_INVALID_ARGUMENT, "Unknown kind");
  FAILS(situ_dataset_create("Map", NULL, &out), SITU_INVALID_ARGUMENT, "needs 1 inputs");
  FAILS(situ_dataset_map(numbers_, NULL, 0, &out), SITU_INVALID_ARGUMENT, "needs a function");
  situ_dataset *batch = THEN(numbers_, "Batch", 0, 0);
  situ_iterator *iterator = NULL;
  FAILS(situ_iterator_create(batch, NULL, 0, &iterator), SITU_INVALID_ARGUMENT,
        "Batch size must be greater than zero.");
  situ_dataset_release(batch);
}

/* Arguments are bound when an iterator is created. */
static void test_arguments(void **state) {
  (void)state;
  situ_dataset *dataset = NULL;
  const situ_param param = {.argument = 0};
  OK(situ_dataset_create("TensorSlice", &(situ_dataset_spec){.params = &param, .n_params = 1},
                         &dataset));
  assert_int_equal(situ_dataset_cardinality(dataset), -2);
  situ_iterator *iterator = NULL;
  FAILS(situ_iterator_create(dataset, NULL, 0, &iterator), SITU_INVALID_ARGUMENT, "argument 0");
  FAILS(situ_iterator_create(dataset, NULL, 1, &iterator), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_iterator_create(dataset, (situ_tensor *[]){NULL}, 1, &iterator), SITU_INVALID_ARGUMENT,
        "argument 0 is NULL");
  situ_tensor *rows = NULL, *part = NULL;
  bool end = false;
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(2), (const int64_t[]){7, 8}, &rows));
  OK(situ_iterator_create(dataset, &rows, 1, &iterator));
  OK(situ_iterator_next(iterator, &part, &end));
  assert_int_equal(*(const int64_t *)situ_tensor_data(part), 7);
  situ_tensor_release(part);
  situ_tensor_release(rows);
  situ_iterator_release(iterator);
  situ_dataset_release(dataset);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choosing),
      cmocka_unit_test(test_batches),
      cmocka_unit_test(test_functions),
      cmocka_unit_test(test_shuffling),
      cmocka_unit_test(test_iterators_share_what_is_kept),
      cmocka_unit_test(test_nothing_is_left_when_an_iterator_goes_early),
      cmocka_unit_test(test_errors_come_once),
      cmocka_unit_test(test_wrong_specs),
      cmocka_unit_test(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
