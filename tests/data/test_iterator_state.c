/* SPDX-License-Identifier: Apache-2.0
 * test_iterator_state.c: saving and restoring iterators. */
#include "api/helpers.h"
#include "situ/data.h"

/* Numbers in random order, repeated, in batches that are prefetched. */
static situ_dataset *batches(void) {
  situ_dataset *steps[5] = {NULL};
  OK(situ_dataset_range(0, 10, 1, &steps[0]));
  OK(situ_dataset_shuffle(steps[0], 10, 0, &steps[1]));
  OK(situ_dataset_repeat(steps[1], -1, &steps[2]));
  OK(situ_dataset_batch(steps[2], 3, false, &steps[3]));
  OK(situ_dataset_prefetch(steps[3], 2, &steps[4]));
  for (int i = 0; i < 4; i++) situ_dataset_release(steps[i]);
  return steps[4];
}

static void take(situ_iterator *iterator, int n, int64_t *out) {
  for (int i = 0; i < n; i++) {
    situ_tensor *batch = NULL;
    bool end = false;
    OK(situ_iterator_next(iterator, &batch, &end));
    assert_false(end);
    for (int j = 0; j < 3; j++) out[i * 3 + j] = ((const int64_t *)situ_tensor_data(batch))[j];
    situ_tensor_release(batch);
  }
}

static void test_the_same_elements_follow(void **state) {
  (void)state;
  int64_t before[30], want[30], have[30];
  fleet("");
  for (int taken = 0; taken < 10; taken += 3) {
    situ_dataset *one = batches(), *two = batches();
    situ_iterator *first = NULL, *second = NULL;
    situ_tensor *saved = NULL;
    OK(situ_iterator_create(one, NULL, 0, &first));
    OK(situ_iterator_create(two, NULL, 0, &second));
    take(first, taken, before);
    OK(situ_iterator_save(first, &saved));
    take(first, 10, want);
    take(second, 2, before);
    OK(situ_iterator_restore(second, saved));
    take(second, 10, have);
    assert_memory_equal(have, want, sizeof want);
    situ_tensor_release(saved);
    situ_iterator_release(first);
    situ_iterator_release(second);
    situ_dataset_release(one);
    situ_dataset_release(two);
  }
}

static void test_wrong_states(void **state) {
  (void)state;
  situ_dataset *dataset = batches();
  situ_iterator *iterator = NULL;
  situ_tensor *saved = NULL;
  int64_t numbers[3];
  OK(situ_iterator_create(dataset, NULL, 0, &iterator));
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(8), (const int64_t[]){1, 2, 0, 1, 99, 1, 1, 0},
                        &saved));
  FAILS(situ_iterator_restore(iterator, saved), SITU_INVALID_ARGUMENT, "a different dataset");
  situ_tensor_release(saved);
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(6), (const int64_t[]){1, 2, 0, 1, 0, 0}, &saved));
  FAILS(situ_iterator_restore(iterator, saved), SITU_INVALID_ARGUMENT,
        "Not a saved iterator state");
  situ_tensor_release(saved);
  take(iterator, 1, numbers); /* it has begun anew */
  situ_iterator_release(iterator);
  situ_dataset_release(dataset);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_same_elements_follow),
      cmocka_unit_test(test_wrong_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
