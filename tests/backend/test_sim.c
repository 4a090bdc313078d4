/* SPDX-License-Identifier: Apache-2.0
 * test_sim.c: features of simulated GPUs only: injected faults, a virtual clock. */
#include <pthread.h>
#include <signal.h>

#include "backend/backends.h"
#include "backend/rig.h"
#include "device/memory.h"
#include "host/worker.h"
#include "support/child.h"

static const struct backend *const api = &sim_backend;

/* ---- Faults ---- */

static void injected_allocation_failure(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, api, "Frail=64MiB;fail_alloc=2");
  struct memory *memory = NULL;
  struct memory_setup setup = {
      .backend = api, .device = rig.device[0], .device_name = "/gpu:0", .name = "GPU_0_bfc"};
  OK(api->describe(0, &setup.info));
  OK(memory_create(&setup, &(struct memory_options){0}, &memory));
  struct memory_block blocks[3];
  const struct memory_tag tag = {.op = "victim"};
  OK(memory_alloc(memory, MIB, &tag, &blocks[0]));
  FAILS(memory_alloc(memory, MIB, &tag, &blocks[1]), SITU_RESOURCE_EXHAUSTED,
        "fail_alloc=2 was injected");
  OK(memory_alloc(memory, MIB, &tag, &blocks[1]));
  OK(memory_alloc(memory, MIB, &tag, &blocks[2]));
  struct memory_stats stats;
  memory_stats(memory, &stats);
  assert_int_equal(stats.failures, 1);
  memory_destroy(memory);
  rig_close(&rig);
}

/* Every call reports the loss, and none hangs. */
static void expect_lost(struct rig *rig, struct span x, struct bound_kernel *bound) {
  void *device = rig->device[0], *region;
  int64_t number = 0;
  uint64_t bytes;
  const situ_status all[] = {
      api->write(device, QUEUE_IN, x, &number, 8),
      api->read(device, QUEUE_OUT, &number, x, 8),
      api->copy(device, QUEUE_IN, x, x, 8),
      api->launch(device, QUEUE_COMPUTE, bound),
      api->sync(device, QUEUE_COMPUTE, 0),
      api->alloc(device, KIB, &region),
      api->available(device, &bytes),
  };
  for (size_t i = 0; i < COUNT_OF(all); i++)
    FAILS(all[i], SITU_UNAVAILABLE, "Simulated GPU 0 (Frail, 0000:05:00.0) is lost: lost_after=2");
}

static void injected_device_loss(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, api, "Frail@0000:05:00.0=64MiB;lost_after=2,Robust=64MiB");
  const struct span x = rig_alloc(&rig, 0, KIB), y = rig_alloc(&rig, 1, KIB);
  const struct span gate = rig_alloc(&rig, 1, KIB);
  int64_t after = 77;
  rig_put(&rig, 0, x, &(int64_t){0}, 8);
  rig_put(&rig, 1, y, &(int64_t){0}, 8);
  struct bound_kernel *bound = rig_bind(&rig, 0, rig_launch_of(&rig, &late_kernel, 1, 20), x, x);
  for (int i = 0; i < 2; i++) rig_call(&rig, 0, QUEUE_COMPUTE, bound);
  assert_int_equal((rig_drain(&rig, 0), rig_get_number(&rig, 0, x)), 2);
  rig_run(&rig, 1, &late_kernel, gate, gate, 1, 50); /* all of this is enqueued before the loss */
  rig_wait(&rig, 0, QUEUE_COMPUTE, 1, QUEUE_COMPUTE);
  rig_call(&rig, 0, QUEUE_COMPUTE, bound); /* one too many */
  OK(api->read(rig.device[0], QUEUE_COMPUTE, &after, x, 8));
  rig_wait(&rig, 1, QUEUE_COMPUTE, 0, QUEUE_COMPUTE);
  rig_run(&rig, 1, &add_kernel, y, y, 1, 5);
  FAILS(rig_try_drain(&rig, 0), SITU_UNAVAILABLE, "Frail");
  assert_int_equal(after, 77); /* a lost device copies nothing */
  const situ_status status = atomic_exchange(&rig.error, (situ_status)NULL);
  assert_string_equal(situ_status_node(status), "late");
  FAILS(status, SITU_UNAVAILABLE, "Frail");
  expect_lost(&rig, x, bound);
  for (int i = 0; i < 3; i++) rig_run(&rig, 1, &add_kernel, y, y, 1, 5);
  rig_drain(&rig, 1);
  assert_int_equal(rig_get_number(&rig, 1, y), 20);
  assert_null(rig.error);
  rig_free(&rig, 0, x);
  rig_free(&rig, 1, y);
  rig_free(&rig, 1, gate);
  rig_close(&rig);
}

static void handles_of_a_gpu_share_memory_and_loss(void **state) {
  (void)state;
  struct rig rig;
  void *twin = NULL, *region = NULL;
  uint64_t bytes = 0;
  rig_open(&rig, api, "Frail=64MiB;lost_after=1");
  OK(api->open(0, &twin));
  const struct span x = rig_alloc(&rig, 0, 40 * MIB);
  OK(api->available(twin, &bytes));
  assert_int_equal(bytes, 24 * MIB);
  FAILS(api->alloc(twin, 24 * MIB + 1, &region), SITU_RESOURCE_EXHAUSTED,
        "Simulated GPU 0 (Frail, 0000:01:00.0) has 25165824 bytes free, not 25165825.");
  OK(api->alloc(twin, 24 * MIB, &region)); /* all remaining bytes */
  FAILS(api->write(twin, QUEUE_IN, x, "", 1), SITU_INTERNAL, "does not belong to it");
  for (int i = 0; i < 2; i++) rig_run(&rig, 0, &add_kernel, x, x, 1, 1);
  FAILS(rig_try_drain(&rig, 0), SITU_UNAVAILABLE, "Frail");
  FAILS(api->write(twin, QUEUE_IN, (struct span){region, 0}, "", 1), SITU_UNAVAILABLE, "Frail");
  api->close(twin);
  rig_close(&rig);
  rig_open(&rig, api, "Frail=64MiB;lost_after=1"); /* another one */
  OK(api->available(rig.device[0], &bytes));
  assert_int_equal(bytes, 64 * MIB);
  rig_close(&rig);
}

/* ---- The virtual clock ---- */

static double now(struct rig *rig, int device) { return api->clock(rig->device[device]); }

static void compute(struct rig *rig, int device, double flops, double bytes) {
  const struct span none = {0};
  struct launch *launch = rig_launch_of(rig, &add_kernel, 0, 1);
  launch->flops = flops;
  launch->bytes = bytes;
  rig_call(rig, device, QUEUE_COMPUTE, rig_bind(rig, device, launch, none, none));
}

static void work_advances_the_clock(void **state) {
  (void)state;
  struct rig rig;
  char host[2000] = {0};
  rig_open(&rig, api, "A;flops=1000;bandwidth=100;link=10,B;link=4");
  const struct span x = rig_alloc(&rig, 0, 4096), y = rig_alloc(&rig, 1, 4096);
  assert_float_equal(now(&rig, 0), 0, 0);
  compute(&rig, 0, 2000, 50); /* 2 s of arithmetic hide 0.5 s of memory */
  assert_float_equal(now(&rig, 0), 2, 1e-12);
  compute(&rig, 0, 2000, 400); /* 4 s of memory hide 2 s of arithmetic */
  assert_float_equal(now(&rig, 0), 6, 1e-12);
  OK(api->copy(rig.device[0], QUEUE_COMPUTE, x, x, 50)); /* read and written: 1 s */
  assert_float_equal(now(&rig, 0), 7, 1e-12);
  OK(api->write(rig.device[0], QUEUE_COMPUTE, x, host, 20));
  OK(api->read(rig.device[0], QUEUE_COMPUTE, host, x, 10));
  assert_float_equal(now(&rig, 0), 10, 1e-12);
  OK(api->peer(rig.device[1], QUEUE_IN, y, rig.device[0], x, 8)); /* the slower link: 2 s */
  assert_float_equal(now(&rig, 1), 2, 1e-12);
  OK(api->peer(rig.device[0], QUEUE_COMPUTE, x, rig.device[1], y, 8));
  assert_float_equal(now(&rig, 0), 12, 1e-12);
  compute(&rig, 1, 1e12, 1e12); /* B has no speed set */
  assert_float_equal(now(&rig, 1), 2, 1e-12);
  rig_drain(&rig, 0);
  rig_drain(&rig, 1);
  rig_close(&rig);
}

static void copies_overlap_with_kernels(void **state) {
  (void)state;
  struct rig rig;
  char host[2000] = {0};
  rig_open(&rig, api, "A;flops=1;link=10,B;flops=1;link=10");
  const struct span x = rig_alloc(&rig, 0, 4096), y = rig_alloc(&rig, 1, 4096);
  OK(api->write(rig.device[0], QUEUE_IN, x, host, 100)); /* in: 0 to 10 */
  compute(&rig, 0, 7, 0);                                /* compute: 0 to 7 */
  assert_float_equal(now(&rig, 0), 10, 1e-12);
  rig_wait(&rig, 0, QUEUE_COMPUTE, 0, QUEUE_IN);
  compute(&rig, 0, 5, 0);                               /* compute: 10 to 15 */
  OK(api->write(rig.device[0], QUEUE_IN, x, host, 30)); /* in: 10 to 13 */
  assert_float_equal(now(&rig, 0), 15, 1e-12);
  rig_wait(&rig, 1, QUEUE_IN, 0, QUEUE_COMPUTE);
  OK(api->peer(rig.device[1], QUEUE_IN, y, rig.device[0], x, 10)); /* other device: 15 to 16 */
  compute(&rig, 1, 3, 0);                                          /* immediately: 0 to 3 */
  assert_float_equal(now(&rig, 1), 16, 1e-12);
  rig_wait(&rig, 1, QUEUE_COMPUTE, 1, QUEUE_IN);
  compute(&rig, 1, 3, 0); /* 16 to 19 */
  assert_float_equal(now(&rig, 1), 19, 1e-12);
  rig_drain(&rig, 1);
  /* the host has waited until 19: later work starts no earlier */
  OK(api->write(rig.device[0], QUEUE_IN, x, host, 10));
  assert_float_equal(now(&rig, 0), 20, 1e-12);
  rig_drain(&rig, 0);
  rig_close(&rig);
  rig_open(&rig, api, "A;flops=1");
  compute(&rig, 0, 1, 0);
  assert_float_equal(now(&rig, 0), 1, 1e-12); /* rediscovered devices start at 0 */
  rig_drain(&rig, 0);
  rig_close(&rig);
}

/* Many commands on two devices that wait for each other, with a slow or fast host. */
static double long_run(int delay) {
  struct rig rig;
  char host[64] = {0};
  rig_open(&rig, api, "A;flops=1000;link=1000,B;flops=700;link=300");
  const struct span y = rig_alloc(&rig, 1, 4096);
  const uint64_t early = (compute(&rig, 0, 100, 0), rig_mark(&rig, 0, QUEUE_COMPUTE));
  for (int i = 0; i < 3000; i++) {
    compute(&rig, i % 2, 1 + i % 13, 0);
    if (i % 5 == 0) OK(api->write(rig.device[1], QUEUE_IN, y, host, (size_t)(i % 64)));
    if (i % 7 == 0) rig_wait(&rig, 0, QUEUE_COMPUTE, 1, QUEUE_IN);
    if (i % 11 == 0) rig_wait(&rig, 1, QUEUE_COMPUTE, 0, QUEUE_COMPUTE);
    if (delay && i % 500 == 0) usleep(3000);
  }
  OK(api->wait(rig.device[1], QUEUE_OUT, rig.device[0], QUEUE_COMPUTE, early)); /* long past */
  OK(api->read(rig.device[1], QUEUE_OUT, host, y, 60));
  rig_drain(&rig, 0);
  rig_drain(&rig, 1);
  const double sum = now(&rig, 0) + now(&rig, 1);
  rig_close(&rig);
  return sum;
}

static void the_clock_does_not_depend_on_the_host(void **state) {
  (void)state;
  const double first = long_run(0);
  assert_true(first > 0);
  for (int i = 0; i < 3; i++) assert_true(long_run(i) == first);
}

/* ---- Queues ---- */

/* A blocked queue accepts any amount of work and keeps the order. */
static void queues_grow(void **state) {
  (void)state;
  enum { MANY = 20000 };
  struct rig rig;
  rig_open(&rig, api, "2");
  const struct span x = rig_alloc(&rig, 0, KIB), y = rig_alloc(&rig, 0, KIB);
  const struct span gate = rig_alloc(&rig, 1, KIB);
  int64_t *seen = calloc(MANY, sizeof *seen);
  rig_put(&rig, 0, x, &(int64_t){0}, 8);
  for (int round = 0; round < 2; round++) { /* the second time the ring buffer wraps */
    struct bound_kernel *step = rig_bind(&rig, 0, rig_launch_of(&rig, &add_kernel, 1, 1), x, y);
    rig_run(&rig, 1, &late_kernel, gate, gate, 1, 50);
    rig_wait(&rig, 0, QUEUE_COMPUTE, 1, QUEUE_COMPUTE);
    for (int i = 0; i < MANY; i++) {
      rig_call(&rig, 0, QUEUE_COMPUTE, step);
      OK(api->read(rig.device[0], QUEUE_COMPUTE, &seen[i], y, 8));
      OK(api->copy(rig.device[0], QUEUE_COMPUTE, x, y, 8));
    }
    rig_drain(&rig, 0);
    for (int i = 0; i < MANY; i++) assert_int_equal(seen[i], round * MANY + i + 1);
  }
  free(seen);
  rig_close(&rig);
}

static void *sync_often(void *context) {
  struct rig *rig = context;
  for (int i = 0; i < 2000; i++)
    for (int device = 0; device < 2; device++) {
      uint64_t mark = 0;
      situ_status_release(api->mark(rig->device[device], i % N_QUEUES, &mark));
      situ_status_release(api->sync(rig->device[device], i % N_QUEUES, mark));
    }
  return NULL;
}

static void many_threads_wait(void **state) {
  (void)state;
  enum { ROUNDS = 3000 };
  struct rig rig;
  pthread_t threads[3];
  rig_open(&rig, api, "2");
  const struct span x = rig_alloc(&rig, 0, KIB);
  rig_put(&rig, 0, x, &(int64_t){0}, 8);
  struct bound_kernel *step = rig_bind(&rig, 0, rig_launch_of(&rig, &add_kernel, 1, 1), x, x);
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, sync_often, &rig);
  for (int i = 0; i < ROUNDS; i++) {
    rig_call(&rig, 0, QUEUE_COMPUTE, step);
    rig_wait(&rig, 1, i % N_QUEUES, 0, QUEUE_COMPUTE);
    rig_wait(&rig, 0, QUEUE_OUT, 1, i % N_QUEUES);
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  rig_drain(&rig, 0);
  rig_drain(&rig, 1);
  assert_int_equal(rig_get_number(&rig, 0, x), ROUNDS);
  rig_close(&rig);
}

/* ---- The process ---- */

static volatile sig_atomic_t caught;
static void catch (int number) { caught = number; }

static void workers_leave_signals_alone(void **state) {
  (void)state;
  struct rig rig;
  sigset_t mine, before, pending;
  rig_open(&rig, api, "1");
  signal(SIGUSR1, catch);
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mine, &before);
  kill(getpid(), SIGUSR1);
  usleep(20000);
  sigpending(&pending);
  assert_int_equal(caught, 0);
  assert_true(sigismember(&pending, SIGUSR1));
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  assert_int_equal(caught, SIGUSR1);
  signal(SIGUSR1, SIG_DFL);
  rig_close(&rig);
}

/* A thread that holds the lock during the fork. */
static atomic_bool has_lock, may_unlock;

static void *hold_lock(void *context) {
  pthread_mutex_lock(&worker_lock);
  atomic_store(&has_lock, true);
  while (!atomic_load(&may_unlock)) usleep(1000);
  pthread_mutex_unlock(&worker_lock);
  return context;
}

struct inherited {
  void *device;
  struct span x;
};

static bool old_handles_fail(void *context) {
  const struct inherited *in = context;
  int64_t number = 0;
  const char part[] = "was opened before this process was forked";
  const situ_code code = SITU_FAILED_PRECONDITION;
  return child_expects(api->sync(in->device, QUEUE_IN, 1000), code, part) &&
         child_expects(api->write(in->device, QUEUE_IN, in->x, &number, 8), code, part) &&
         child_expects(api->read(in->device, QUEUE_OUT, &number, in->x, 8), code, part);
}

static bool new_handles_work(void *context) {
  (void)context;
#ifdef __SANITIZE_THREAD__
  return true; /* it ends children that start threads */
#else
  void *device = NULL;
  struct span x = {0};
  int64_t number = 7, back = 0;
  uint64_t mark = 0;
  situ_status s = api->open(1, &device);
  if (!s) s = api->alloc(device, 64, &x.region);
  if (!s) s = api->write(device, QUEUE_IN, x, &number, 8);
  if (!s) s = api->read(device, QUEUE_IN, &back, x, 8);
  if (!s) s = api->mark(device, QUEUE_IN, &mark);
  if (!s) s = api->sync(device, QUEUE_IN, mark);
  if (s) return child_expects(s, SITU_OK, "");
  api->close(device);
  return back == 7;
#endif
}

static void children_do_not_hang(void **state) {
  (void)state;
  struct rig rig;
  pthread_t thread;
  rig_open(&rig, api, "2");
  const struct span x = rig_alloc(&rig, 0, KIB);
  rig_put(&rig, 0, x, &(int64_t){1}, 8);
  atomic_store(&has_lock, false);
  atomic_store(&may_unlock, false);
  pthread_create(&thread, NULL, hold_lock, NULL);
  while (!atomic_load(&has_lock)) usleep(100);
  struct inherited inherited = {rig.device[0], x};
  const bool fail_well = child_succeeds(old_handles_fail, &inherited);
  const bool work_well = child_succeeds(new_handles_work, NULL);
  atomic_store(&may_unlock, true);
  pthread_join(thread, NULL);
  assert_true(fail_well);
  assert_true(work_well);
  assert_int_equal(rig_get_number(&rig, 0, x), 1); /* the parent still works */
  rig_free(&rig, 0, x);
  rig_close(&rig);
}

static void malformed_lists_change_nothing(void **state) {
  (void)state;
  const struct backend_request good = {.sim_gpus = "Good=1GiB"}, bad = {.sim_gpus = "Bad=x,Worse"};
  struct device_info info;
  const char *why = NULL;
  int count = 0;
  OK(api->probe(&good, &count, &why));
  FAILS(api->probe(&bad, &count, &why), SITU_INVALID_ARGUMENT, "expected a size");
  assert_int_equal(count, 0);
  OK(api->probe(&(struct backend_request){0}, &count, &why));
  assert_int_equal(count, 0);
  assert_non_null(strstr(why, "SITU_SIM_GPUS"));
  FAILS(api->describe(0, &info), SITU_INVALID_ARGUMENT, "no simulated GPU 0");
  void *device = NULL;
  FAILS(api->open(-1, &device), SITU_INVALID_ARGUMENT, "no simulated GPU -1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(injected_allocation_failure),
      cmocka_unit_test(injected_device_loss),
      cmocka_unit_test(handles_of_a_gpu_share_memory_and_loss),
      cmocka_unit_test(work_advances_the_clock),
      cmocka_unit_test(copies_overlap_with_kernels),
      cmocka_unit_test(the_clock_does_not_depend_on_the_host),
      cmocka_unit_test(queues_grow),
      cmocka_unit_test(many_threads_wait),
      cmocka_unit_test(workers_leave_signals_alone),
      cmocka_unit_test(children_do_not_hang),
      cmocka_unit_test(malformed_lists_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
