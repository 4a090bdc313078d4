/* SPDX-License-Identifier: Apache-2.0
 * test_thread_pool.c: the thread pool. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/thread_pool.h"

#include <cmocka.h>

enum { ITEMS = 100000, CALLERS = 4 };

static atomic_int running, most_running;

static void begin_work(void) {
  const int now = atomic_fetch_add(&running, 1) + 1;
  int most = atomic_load(&most_running);
  while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now)) {
  }
}

static void waste_time(void) {
  for (volatile int i = 0; i < 20000; i++) {
  }
}

/* Adds 1 to every item and records where a chunk begins. */
static situ_status count_kernel(const union arg *args, int64_t begin, int64_t end) {
  begin_work();
  int *items = args[0].pointer;
  char *borders = args[1].pointer;
  if (borders) borders[begin] = 1;
  for (int64_t i = begin; i < end; i++) items[i]++;
  if (args[2].integer) waste_time();
  atomic_fetch_sub(&running, 1);
  return NULL;
}

static situ_status nested_kernel(const union arg *args, int64_t begin, int64_t end) {
  int *items = args[0].pointer;
  for (int64_t i = begin; i < end; i++) {
    const union arg inner[] = {{.pointer = items + i * 1000}, {.pointer = NULL}, {.integer = 0}};
    TRY(thread_pool_run(count_kernel, inner, 1000, 10));
  }
  return NULL;
}

static situ_status fail_kernel(const union arg *args, int64_t begin, int64_t end) {
  (void)args;
  for (int64_t i = begin; i < end; i++)
    if (i % 1000 == 500) return INVALID("item %ld", (long)i);
  return NULL;
}

static void check_counts(const int *items, int64_t count, int expected) {
  for (int64_t i = 0; i < count; i++) assert_int_equal(items[i], expected);
}

static void every_item_runs_once_in_fixed_chunks(void **state) {
  (void)state;
  int *items = calloc(ITEMS, sizeof *items);
  char *borders[3] = {calloc(ITEMS, 1), calloc(ITEMS, 1), calloc(ITEMS, 1)};
  static const int threads[] = {1, 2, 7};
  for (int t = 0; t < 3; t++) {
    thread_pool_set_threads(threads[t]);
    const union arg args[] = {{.pointer = items}, {.pointer = borders[t]}, {.integer = 0}};
    assert_null(thread_pool_run(count_kernel, args, ITEMS, 100));
    check_counts(items, ITEMS, t + 1);
    assert_memory_equal(borders[0], borders[t], ITEMS);
  }
  for (int t = 0; t < 3; t++) free(borders[t]);
  free(items);
}

static void small_calls_are_not_split(void **state) {
  (void)state;
  int items[100] = {0};
  char borders[100] = {0};
  thread_pool_set_threads(4);
  const union arg args[] = {{.pointer = items}, {.pointer = borders}, {.integer = 0}};
  assert_null(thread_pool_run(count_kernel, args, 100, 51));
  assert_null(thread_pool_run(count_kernel, args, 100, 0));
  assert_null(thread_pool_run(count_kernel, args, 0, 10));
  check_counts(items, 100, 2);
  int begun = 0;
  for (int i = 0; i < 100; i++) begun += borders[i];
  assert_int_equal(begun, 1);
}

static void chunks_have_similar_sizes(void **state) {
  (void)state;
  for (int64_t items = 1; items < 5000; items += 37) {
    for (int64_t grain = 0; grain < 300; grain += 13) {
      const struct thread_pool_chunks cut = thread_pool_chunks(items, grain);
      assert_true(cut.count >= 1 && cut.count <= 256);
      assert_true((cut.count - 1) * cut.size < items && cut.count * cut.size >= items);
      if (cut.count > 1) assert_true(cut.size >= grain && grain > 0);
    }
  }
  assert_int_equal(thread_pool_chunks(INT64_MAX, INT64_MAX).count, 1);
  assert_true(thread_pool_chunks(INT64_MAX, 1).size > 0);
}

static void first_failure_wins(void **state) {
  (void)state;
  thread_pool_set_threads(3);
  for (int i = 0; i < 200; i++) {
    situ_status s = thread_pool_run(fail_kernel, NULL, ITEMS, 100);
    assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
    situ_status_release(s);
  }
}

static void nested_calls_work(void **state) {
  (void)state;
  int *items = calloc(ITEMS, sizeof *items);
  thread_pool_set_threads(4);
  const union arg args[] = {{.pointer = items}};
  for (int i = 0; i < 20; i++) assert_null(thread_pool_run(nested_kernel, args, ITEMS / 1000, 1));
  check_counts(items, ITEMS, 20);
  free(items);
}

static void *caller_main(void *items) {
  const union arg args[] = {{.pointer = items}, {.pointer = NULL}, {.integer = 1}};
  for (int i = 0; i < 20; i++)
    if (thread_pool_run(count_kernel, args, ITEMS / CALLERS, 100)) return items;
  return NULL;
}

static void callers_share_the_cores(void **state) {
  (void)state;
  thread_pool_set_threads(CALLERS);
  atomic_store(&most_running, 0);
  int *items = calloc(ITEMS, sizeof *items);
  pthread_t threads[CALLERS];
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, caller_main, items + i * (ITEMS / CALLERS)),
                     0);
  for (int i = 0; i < CALLERS; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  check_counts(items, ITEMS, 20);
  /* A helper yields between two chunks: one per caller may be late. */
  assert_in_range(atomic_load(&most_running), 1, 2 * CALLERS - 1);
  free(items);
}

static void no_helper_joins_while_all_cores_work(void **state) {
  (void)state;
  thread_pool_set_threads(1);
  atomic_store(&most_running, 0);
  int *items = calloc(ITEMS, sizeof *items);
  const union arg args[] = {{.pointer = items}, {.pointer = NULL}, {.integer = 1}};
  thread_pool_enter();
  thread_pool_enter();
  assert_null(thread_pool_run(count_kernel, args, ITEMS, 100));
  thread_pool_leave();
  thread_pool_leave();
  assert_int_equal(atomic_load(&most_running), 1);
  free(items);
}

static void forked_child_runs_alone(void **state) {
  (void)state;
  thread_pool_set_threads(4);
  int *items = calloc(ITEMS, sizeof *items);
  const union arg args[] = {{.pointer = items}, {.pointer = NULL}, {.integer = 0}};
  assert_null(thread_pool_run(count_kernel, args, ITEMS, 100));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    alarm(600);
    const situ_status s = thread_pool_run(count_kernel, args, ITEMS, 100);
    for (int i = 0; i < ITEMS; i++)
      if (items[i] != 2) _exit(2);
    _exit(s ? 1 : 0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_null(thread_pool_run(count_kernel, args, ITEMS, 100));
  check_counts(items, ITEMS, 2);
  free(items);
}

static void number_of_threads(void **state) {
  (void)state;
  thread_pool_set_threads(5);
  assert_int_equal(thread_pool_threads(), 5);
  setenv("SITU_THREADS", "3", 1);
  thread_pool_set_threads(0);
  assert_int_equal(thread_pool_threads(), 3);
  setenv("SITU_THREADS", "nonsense", 1);
  thread_pool_set_threads(0);
  assert_true(thread_pool_threads() >= 1);
  unsetenv("SITU_THREADS");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_item_runs_once_in_fixed_chunks),
      cmocka_unit_test(small_calls_are_not_split),
      cmocka_unit_test(chunks_have_similar_sizes),
      cmocka_unit_test(first_failure_wins),
      cmocka_unit_test(nested_calls_work),
      cmocka_unit_test(callers_share_the_cores),
      cmocka_unit_test(no_helper_joins_while_all_cores_work),
      cmocka_unit_test(forked_child_runs_alone),
      cmocka_unit_test(number_of_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
