/* SPDX-License-Identifier: Apache-2.0
 * test_collectives.c: collective operations between processes of this machine; ranks that die. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cluster/membership.h"
#include "support/ranks.h"

#define NEED(condition)                                            \
  do {                                                             \
    if (!(condition)) {                                            \
      fprintf(stderr, "rank %d: %s is false\n", rank, #condition); \
      return false;                                                \
    }                                                              \
  } while (0)

static bool works(situ_status status) {
  if (status) fprintf(stderr, "%s\n", situ_status_message(status));
  situ_status_release(status);
  return !status;
}

/* Sums of `count` floats, where rank r has i % 100 + r at i. */
static bool sum_is_right(int rank, int64_t count, bool in_place) {
  const int size = situ_cluster_size();
  float *in = malloc(sizeof *in * (size_t)count + 4), *out = in;
  if (!in_place) out = malloc(sizeof *out * (size_t)count + 4);
  for (int64_t i = 0; i < count; i++) in[i] = (float)(i % 100 + rank);
  bool ok = works(situ_cluster_all_reduce(in, out, count, SITU_FLOAT, SITU_REDUCE_SUM));
  for (int64_t i = 0; i < count && ok; i++)
    ok = out[i] == (float)((i % 100) * size + size * (size - 1) / 2);
  if (!in_place) free(out);
  free(in);
  return ok;
}

static bool reduce_sizes(int rank) {
  static const int64_t counts[] = {0,     1,      7,      1000,    4096,   4097,
                                   65535, 262144, 300001, 1000003, 3000000};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    NEED(sum_is_right(rank, counts[i], false));
    NEED(sum_is_right(rank, counts[i], true));
  }
  return true;
}

static bool reduce_types(int rank) {
  const int size = situ_cluster_size();
  int64_t whole = rank + 1;
  NEED(works(situ_cluster_all_reduce(&whole, &whole, 1, SITU_INT64, SITU_REDUCE_PRODUCT)));
  NEED(whole == (size == 2 ? 2 : size == 3 ? 6 : 24));
  double real = rank;
  NEED(works(situ_cluster_all_reduce(&real, &real, 1, SITU_DOUBLE, SITU_REDUCE_MEAN)));
  NEED(real == (size - 1) / 2.0);
  uint8_t bytes[3] = {(uint8_t)rank, 7, (uint8_t)(9 - rank)};
  NEED(works(situ_cluster_all_reduce(bytes, bytes, 3, SITU_UINT8, SITU_REDUCE_MAX)));
  NEED(bytes[0] == size - 1 && bytes[1] == 7 && bytes[2] == 9);
  int32_t least = -rank;
  NEED(works(situ_cluster_all_reduce(&least, &least, 1, SITU_INT32, SITU_REDUCE_MIN)));
  NEED(least == 1 - size);
  uint16_t half = 0x3c00; /* one */
  NEED(works(situ_cluster_all_reduce(&half, &half, 1, SITU_HALF, SITU_REDUCE_SUM)));
  NEED(half == (size == 2 ? 0x4000 : size == 3 ? 0x4200 : 0x4400));
  return true;
}

/* Sums that depend on their order: all ranks must have the same bits, and those of rank order. */
static bool reduce_in_order(int rank) {
  enum { N = 200000 };
  float *values = malloc(sizeof *values * N);
  bool ok = true;
  for (int round = 0; round < 3 && ok; round++) {
    for (int i = 0; i < N; i++) values[i] = rank == 1 ? 1e8f : rank == 2 ? -1e8f : 1.25f;
    if (round == rank) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    ok = works(situ_cluster_all_reduce(values, values, N, SITU_FLOAT, SITU_REDUCE_SUM));
    volatile float want = 1.25f;
    want = want + 1e8f;
    want = want - 1e8f;
    if (situ_cluster_size() > 3) want = want + 1.25f;
    for (int i = 0; i < N && ok; i++) ok = values[i] == want;
  }
  free(values);
  return ok;
}

static bool mixed(int rank) {
  const int size = situ_cluster_size();
  NEED(situ_cluster_rank() == rank && situ_cluster_local_size() == size);
  for (int round = 0; round < 20; round++) {
    const size_t bytes = (size_t)(round * round * 5000 + round);
    char *data = malloc(bytes + 1);
    memset(data, rank == round % size ? 40 + round : 0, bytes + 1);
    NEED(works(situ_cluster_broadcast(data, bytes, round % size)));
    for (size_t i = 0; i < bytes; i++) NEED(data[i] == 40 + round);
    NEED(sum_is_right(rank, round * 30000, true));
    NEED(works(situ_cluster_barrier()));
    free(data);
  }
  char text[16], *all = NULL;
  size_t sizes[RANKS_MOST];
  memset(text, 'a' + rank, sizeof text);
  NEED(works(situ_cluster_all_gather(text, (size_t)rank + 1, (void **)&all, sizes)));
  const char *want = size == 2 ? "abb" : size == 3 ? "abbccc" : "abbcccdddd";
  NEED(!memcmp(all, want, strlen(want)) && sizes[1] == 2);
  free(all);
  situ_member member;
  NEED(works(situ_cluster_member(rank, &member)) && member.pid == (int)getpid());
  return true;
}

/* Rank 1 dies; the others hear of it, by name, long before any time-out. */
static bool one_dies(int rank) {
  if (rank == 1) raise(SIGKILL);
  const time_t begin = time(NULL);
  static float data[500000];
  const situ_status status =
      situ_cluster_all_reduce(data, data, 500000, SITU_FLOAT, SITU_REDUCE_SUM);
  NEED(situ_status_code(status) == SITU_UNAVAILABLE);
  NEED(strstr(situ_status_message(status), "AllReduce: rank 1 is lost"));
  situ_status_release(status);
  const situ_status again = situ_cluster_barrier();
  NEED(situ_status_code(again) == SITU_UNAVAILABLE);
  situ_status_release(again);
  NEED(time(NULL) - begin < 100);
  return true;
}

static bool one_leaves(int rank) {
  if (rank == 1) return true;
  const situ_status status = situ_cluster_barrier();
  const bool ok = situ_status_code(status) == SITU_UNAVAILABLE;
  situ_status_release(status);
  return ok;
}

static int gate[2]; /* a pipe: who reads waits until somebody writes */

/* Rank 0 times out, and rank 1 arrives later. Both have time to join. */
static bool one_sleeps(int rank) {
  char byte = 0;
  if (rank == 1) return read(gate[0], &byte, 1) == 1;
  NEED(membership_current.timeout == 250);
  membership_current.timeout = 0.5;
  const situ_status status = situ_cluster_barrier();
  const bool ok = situ_status_code(status) == SITU_DEADLINE_EXCEEDED &&
                  strstr(situ_status_message(status), "rank 1 has not arrived after 0.5 seconds");
  situ_status_release(status);
  return write(gate[1], &byte, 1) == 1 && ok;
}

static bool posts(int rank) {
  const int size = situ_cluster_size(), next = (rank + 1) % size;
  situ_tensor *tensor = NULL, *other = NULL, *got = NULL;
  static float data[100000];
  data[99999] = (float)rank;
  NEED(works(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(100, 10), data, &tensor)));
  NEED(works(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(100000), data, &other)));
  const int before = (rank + size - 1) % size;
  /* Received in another order than sent; the large one is larger than a ring. */
  if (rank % 2 == 0) NEED(works(situ_cluster_send(tensor, next, "small")));
  if (rank % 2 == 0) NEED(works(situ_cluster_send(other, next, "large")));
  NEED(works(situ_cluster_receive(before, rank % 2 ? "large" : "small", &got)));
  NEED(rank % 2 == 0 || ((const float *)situ_tensor_data(got))[99999] == (float)before);
  situ_tensor_release(got);
  if (rank % 2) NEED(works(situ_cluster_send(tensor, next, "small")));
  if (rank % 2) NEED(works(situ_cluster_receive(before, "small", &got)));
  if (rank % 2) NEED(situ_tensor_shape(got).rank == 2 && situ_tensor_shape(got).dim[0] == 100);
  if (rank % 2) situ_tensor_release(got);
  situ_tensor_release(tensor);
  situ_tensor_release(other);
  return works(situ_cluster_barrier());
}

static void test_sizes(void **state) {
  (void)state;
  assert_int_equal(ranks_run(2, reduce_sizes), 2);
  assert_int_equal(ranks_run(3, reduce_sizes), 3);
}

static void test_types(void **state) {
  (void)state;
  for (int n = 2; n <= 4; n++) assert_int_equal(ranks_run(n, reduce_types), n);
}

static void test_order(void **state) {
  (void)state;
  for (int n = 3; n <= 4; n++) assert_int_equal(ranks_run(n, reduce_in_order), n);
}

static void test_mixed(void **state) {
  (void)state;
  for (int n = 2; n <= 4; n++) assert_int_equal(ranks_run(n, mixed), n);
}

static void test_posts(void **state) {
  (void)state;
  assert_int_equal(ranks_run(2, posts), 2);
  assert_int_equal(ranks_run(4, posts), 4);
}

static void test_death(void **state) {
  (void)state;
  assert_int_equal(ranks_run(2, one_dies), 1);
  assert_int_equal(ranks_run(4, one_dies), 3);
  assert_int_equal(ranks_run(3, one_leaves), 3);
}

static void test_timeout(void **state) {
  (void)state;
  assert_int_equal(pipe(gate), 0);
  setenv("SITU_CLUSTER_TIMEOUT", "250", 1);
  assert_int_equal(ranks_run(2, one_sleeps), 2);
  unsetenv("SITU_CLUSTER_TIMEOUT");
  for (int i = 0; i < 2; i++) close(gate[i]);
}

/* Without a cluster everything works, and nothing is exchanged. */
static void test_alone(void **state) {
  (void)state;
  float value = 3;
  assert_int_equal(situ_cluster_size(), 1);
  assert_true(works(situ_cluster_all_reduce(&value, &value, 1, SITU_FLOAT, SITU_REDUCE_SUM)));
  assert_true(value == 3);
  assert_true(works(situ_cluster_barrier()));
  const situ_status status = situ_cluster_broadcast(&value, 4, 1);
  assert_string_equal(situ_status_message(status), "Broadcast: there is no rank 1: there are 1.");
  situ_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone), cmocka_unit_test(test_sizes),
                                     cmocka_unit_test(test_types), cmocka_unit_test(test_order),
                                     cmocka_unit_test(test_mixed), cmocka_unit_test(test_posts),
                                     cmocka_unit_test(test_death), cmocka_unit_test(test_timeout)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
