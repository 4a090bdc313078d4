/* SPDX-License-Identifier: Apache-2.0
 * test_fork.c: forked children of a process whose other threads were in eager calls. */
#include <pthread.h>
#include <stdatomic.h>

#include "api/helpers.h"
#include "situ/catalog.h"
#include "situ/eager.h"
#include "support/child.h"
#include "support/skip.h"

enum { CHILDREN = 100 };

struct job {
  situ_eager *eager;
  int add;
  _Atomic bool stop;
};

/* Adds vectors of n ones and checks the result. */
static bool adds(struct job *job, int n) {
  float ones[64];
  for (int i = 0; i < n; i++) ones[i] = 1;
  situ_tensor *in = NULL, *out = NULL;
  int count = 0;
  situ_status status = situ_tensor_create(SITU_FLOAT, SITU_SHAPE(n), ones, &in);
  const situ_call call = {.op = job->add, .inputs = (situ_tensor *[]){in, in}, .n_inputs = 2};
  if (!status) status = situ_eager_run(job->eager, &call, &out, 1, &count);
  const bool good = !status && ((const float *)situ_tensor_data(out))[n - 1] == 2;
  situ_status_release(status);
  situ_tensor_release(in);
  situ_tensor_release(out);
  return good;
}

/* Compiles calls and makes them again. */
static void *add_again_and_again(void *context) {
  struct job *job = context;
  bool good = true;
  for (int i = 0; good && !job->stop; i++) {
    good = adds(job, 1 + i % 60);
    if (i % 120 == 0) situ_eager_clear_cache(job->eager);
  }
  return good ? job : NULL;
}

static bool adds_in_child(void *context) {
  bool good = true;
  for (int n = 1; good && n < 64; n += 7) good = adds(context, n);
  return good;
}

static void children_make_eager_calls(void **state) {
  (void)state;
  if (!CHILD_MAY_ALLOCATE) SKIP("the sanitizer does not support malloc after fork");
  fleet("");
  struct job job = {0};
  situ_op row;
  OK(situ_ops_find("Add", &row));
  job.add = row.number;
  OK(situ_eager_create(NULL, &job.eager));
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, add_again_and_again, &job), 0);
  for (int i = 0; i < CHILDREN; i++) assert_true(child_succeeds(adds_in_child, &job));
  job.stop = true;
  void *good = NULL;
  pthread_join(thread, &good);
  assert_non_null(good);
  situ_eager_release(job.eager);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(children_make_eager_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
