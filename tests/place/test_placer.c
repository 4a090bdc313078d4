/* SPDX-License-Identifier: Apache-2.0
 * test_placer.c: the rules of the placer on small problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/problem.h"

static void first_gpu_takes_all(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t a = problem_node(&p, "a", CONST, "", -1), b = problem_node(&p, "b", CONST, "", -1);
  const int32_t product = problem_node(&p, "MatMul", MATMUL, "", a, b, -1);
  const int32_t text = problem_node(&p, "text", STRING, "", -1);
  problem_place(&p);
  problem_is_at(&p, a, "GPU:0");
  problem_is_at(&p, b, "GPU:0");
  problem_is_at(&p, product, "GPU:0");
  problem_is_at(&p, text, "CPU:0");
  problem_has_cause(&p, product, CAUSE_PRIORITY, -1);
  problem_has_cause(&p, a, CAUSE_CONSUMERS, product);
  problem_has_cause(&p, text, CAUSE_ONLY_KIND, -1);
  assert_null(p.result.warning);
  problem_end(&p);
}

static void without_gpu(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 0);
  const int32_t a = problem_node(&p, "a", CONST, "", -1);
  problem_place(&p);
  problem_is_at(&p, a, "CPU:0");
  problem_end(&p);
}

/* Nodes, and nodes colocated with them, avoid devices that lack a feature they need. */
static void devices_that_lack_a_type(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  p.devices[1].lacks = NEEDS_DOUBLE | NEEDS_HALF;
  const int32_t other = problem_node(&p, "other", MATMUL, "", -1);
  const int32_t free = problem_node(&p, "free", DOUBLE, "", -1);
  const int32_t variable = problem_node(&p, "v", VARIABLE, "", -1);
  const int32_t beside = problem_node(&p, "beside", DOUBLE, "", -1);
  problem_colocate(&p, variable, 0);
  problem_colocate(&p, beside, 0);
  problem_place(&p);
  problem_is_at(&p, other, "GPU:0");
  problem_is_at(&p, free, "GPU:1");
  problem_is_at(&p, variable, "GPU:1");
  problem_end(&p);

  problem_begin(&p, 1);
  p.devices[1].lacks = NEEDS_DOUBLE;
  problem_node(&p, "asked", DOUBLE, "/gpu:0", -1);
  problem_fails(&p, SITU_INVALID_ARGUMENT, "asked", NULL);
  problem_end(&p);
}

static void requests(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 4);
  const int32_t a = problem_node(&p, "a", CONST, "/cpu:0", -1);
  const int32_t b = problem_node(&p, "b", CONST, "/device:GPU:3", -1);
  const int32_t product = problem_node(&p, "MatMul", MATMUL, "/gpu:*", a, b, -1);
  problem_place(&p);
  problem_is_at(&p, a, "CPU:0");
  problem_is_at(&p, b, "GPU:3");
  problem_is_at(&p, product, "GPU:0");
  problem_has_cause(&p, a, CAUSE_REQUESTED, -1);
  problem_has_cause(&p, b, CAUSE_REQUESTED, -1);
  problem_has_cause(&p, product, CAUSE_REQUESTED, -1);
  problem_end(&p);
}

static void devices_sort_by_number(void **state) {
  (void)state;
  struct problem p;
  for (int reference = 0; reference < 2; reference++) {
    problem_begin(&p, 0);
    problem_device(&p, "GPU", 11);
    problem_device(&p, "GPU", 10);
    problem_device(&p, "GPU", 2);
    p.problem.reference = reference;
    const int32_t a = problem_node(&p, "a", CONST, "", -1);
    problem_place(&p);
    problem_is_at(&p, a, reference ? "GPU:10" : "GPU:2");
    problem_end(&p);
  }
}

static void more_devices_than_bits(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 150);
  const int32_t a = problem_node(&p, "a", CONST, "/gpu:149", -1),
                b = problem_node(&p, "b", CPU_ONLY, "", -1);
  const int32_t c = problem_node(&p, "c", MATMUL, "/gpu:64", a, a, -1);
  problem_place(&p);
  problem_is_at(&p, a, "GPU:149");
  problem_is_at(&p, b, "CPU:0"); /* ranked after all GPUs */
  problem_is_at(&p, c, "GPU:64");
  problem_end(&p);
}

static void kernel_priority_beats_kind(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  const int32_t a = problem_node(&p, "a", PREFERS_CPU, "", -1);
  problem_place(&p);
  problem_is_at(&p, a, "CPU:0");
  problem_end(&p);
}

static void default_device_goes_first(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  p.problem.default_device = 0;
  const int32_t a = problem_node(&p, "a", CONST, "", -1),
                b = problem_node(&p, "b", GPU_ONLY, "", -1);
  problem_place(&p);
  problem_is_at(&p, a, "CPU:0");
  problem_has_cause(&p, a, CAUSE_DEFAULT, -1);
  problem_is_at(&p, b, "GPU:0");
  problem_end(&p);
}

static void generators_follow(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t one = problem_node(&p, "one", CONST, "", -1),
                two = problem_node(&p, "two", CONST, "", -1);
  const int32_t user = problem_node(&p, "user", MATMUL, "/gpu:1", one, two, -1);
  const int32_t other = problem_node(&p, "other", MATMUL, "/cpu:0", two, two, -1);
  problem_place(&p);
  problem_is_at(&p, one, "GPU:1");
  problem_has_cause(&p, one, CAUSE_CONSUMERS, user);
  problem_is_at(&p, two, "GPU:0"); /* its consumers are divided */
  problem_has_cause(&p, two, CAUSE_PRIORITY, -1);
  problem_is_at(&p, other, "CPU:0");
  problem_end(&p);
}

static void generators_follow_within_a_kind(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 0);
  problem_device(&p, "CPU", 1);
  const int32_t one = problem_node(&p, "one", CPU_ONLY, "", -1);
  problem_node(&p, "user", MATMUL, "/cpu:1", one, one, -1);
  problem_place(&p);
  problem_is_at(&p, one, "CPU:1");
  problem_end(&p);
}

static void control_edge_divides(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t one = problem_node(&p, "one", CONST, "", -1);
  problem_node(&p, "user", MATMUL, "/gpu:1", one, one, -1);
  const int32_t late = problem_node(&p, "late", CONST, "", -1);
  p.edges[p.nodes[late].edges] = one; /* after the data edges: a control edge */
  p.nodes[late + 1].edges++;
  problem_place(&p);
  problem_is_at(&p, one, "GPU:0");
  problem_end(&p);
}

static void metadata_follows(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t a = problem_node(&p, "a", CONST, "", -1);
  const int32_t product = problem_node(&p, "product", MATMUL, "/gpu:1", a, a, -1);
  const int32_t shape = problem_node(&p, "shape", SHAPE, "", product, -1);
  const int32_t fixed = problem_node(&p, "fixed", SHAPE, "/cpu:0", product, -1);
  problem_place(&p);
  problem_is_at(&p, shape, "GPU:1");
  problem_has_cause(&p, shape, CAUSE_INPUT, product);
  problem_is_at(&p, fixed, "CPU:0");
  problem_has_cause(&p, fixed, CAUSE_REQUESTED, -1);
  problem_end(&p);
}

static void reference_edge_joins(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t v = problem_node(&p, "v", VARIABLE, "/gpu:1", -1),
                x = problem_node(&p, "x", CONST, "", -1);
  const int32_t assign = problem_node(&p, "assign", ASSIGN, "", v, x, -1);
  const int32_t stubborn = problem_node(&p, "stubborn", ASSIGN, "/cpu:0", v, x, -1);
  problem_place(&p);
  problem_is_at(&p, v, "GPU:1");
  problem_has_cause(&p, v, CAUSE_REQUESTED, -1);
  problem_is_at(&p, assign, "GPU:1");
  problem_has_cause(&p, assign, CAUSE_REFERENCE, v);
  problem_is_at(&p, stubborn, "GPU:1"); /* the producer wins */
  problem_has_cause(&p, stubborn, CAUSE_REFERENCE, v);
  assert_int_equal(p.result.reasons[stubborn].soft_cause, SOFT_COLOCATION);
  problem_is_at(&p, x, "GPU:1");
  problem_end(&p);
}

static void reference_edge_meets_kernels(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  const int32_t v = problem_node(&p, "v", VARIABLE, "", -1),
                x = problem_node(&p, "x", CONST, "", -1);
  const int32_t user = problem_node(&p, "user", CPU_ONLY, "", v, x, -1);
  problem_reference(&p, v, user);
  problem_place(&p);
  problem_is_at(&p, v, "CPU:0");
  problem_has_cause(&p, v, CAUSE_ONLY_KIND, -1);
  problem_end(&p);
}

static void colocation(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t a = problem_node(&p, "a", CONST, "/gpu:1", -1),
                b = problem_node(&p, "b", CONST, "", -1);
  problem_colocate(&p, a, 0);
  problem_colocate(&p, b, 0);
  problem_place(&p);
  problem_is_at(&p, b, "GPU:1");
  problem_has_cause(&p, b, CAUSE_COLOCATED, a);
  problem_end(&p);
}

/* Soft placement ignores a colocation without a common kernel. Under the reference policy the
 * request of one node (index 1 of any kind) still applies to the other, as in TensorFlow. */
static void refused_colocation_leaves_nothing(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    struct problem p;
    problem_begin(&p, 2);
    problem_device(&p, "CPU", 1);
    p.problem.soft = true;
    p.problem.reference = reference;
    const int32_t a = problem_node(&p, "a", CPU_ONLY, "/cpu:1", -1);
    const int32_t b = problem_node(&p, "b", GPU_ONLY, "", -1);
    p.specs[p.nodes[a].spec].name.has_kind = false;
    problem_colocate(&p, a, 0);
    problem_colocate(&p, b, 0);
    problem_place(&p);
    problem_is_at(&p, a, "CPU:1");
    problem_is_at(&p, b, reference ? "GPU:1" : "GPU:0");
    assert_non_null(strstr(p.result.warning, "ignored 1 colocation: b is not with a"));
    problem_end(&p);
  }
}

static void soft_placement_moves(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  p.problem.soft = true;
  const int32_t a = problem_node(&p, "a", CONST, "/gpu:2", -1),
                b = problem_node(&p, "b", MATMUL, "/gpu:3", a, a, -1);
  const int32_t text = problem_node(&p, "text", STRING, "/gpu:0", -1);
  problem_place(&p);
  problem_is_at(&p, a, "GPU:0");
  problem_is_at(&p, b, "GPU:0");
  problem_is_at(&p, text, "CPU:0");
  problem_has_cause(&p, a, CAUSE_SOFT, -1);
  assert_int_equal(p.result.reasons[a].soft_cause, SOFT_NO_DEVICE);
  assert_int_equal(p.result.reasons[text].soft_cause, SOFT_NO_KERNEL);
  assert_string_equal(p.result.warning,
                      "Soft placement moved 3 nodes:\n"
                      "  a: requested '/gpu:2', which does not exist; now on "
                      "/job:localhost/replica:0/task:0/device:GPU:0\n"
                      "  b: requested '/gpu:3', which does not exist; now on "
                      "/job:localhost/replica:0/task:0/device:GPU:0\n"
                      "  text: requested '/gpu:0', where there is no kernel; now on "
                      "/job:localhost/replica:0/task:0/device:CPU:0");
  problem_end(&p);
}

static void soft_placement_moves_state_last(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  p.problem.soft = true;
  const int32_t v = problem_node(&p, "v", VARIABLE, "/gpu:1", -1),
                x = problem_node(&p, "x", CONST, "", -1);
  const int32_t assign = problem_node(&p, "assign", ASSIGN, "", v, x, -1);
  problem_place(&p);
  problem_is_at(&p, v, "GPU:0");
  problem_is_at(&p, assign, "GPU:0");
  problem_has_cause(&p, v, CAUSE_SOFT, -1);
  problem_end(&p);
}

/* Another process may have the kernels that this one lacks. */
static void remote_kernels(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 0);
  problem_device(&p, "GPU", 0);
  assert_null(name_parse("/job:worker/replica:0/task:1/device:GPU:0", &p.devices[1].name));
  p.devices[1].text = "/job:worker/replica:0/task:1/device:GPU:0";
  assert_null(name_parse("/job:localhost/replica:0/task:0", &p.problem.local));
  static const struct place_support none[N_OPS] = {{NULL, 0, 0}};
  p.problem.supports = none;
  const int32_t a = problem_node(&p, "a", CONST, "/job:worker", -1);
  problem_place(&p);
  problem_is_at(&p, a, "GPU:0");
  problem_end(&p);
}

static void assigned_beforehand(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t v = problem_node(&p, "v", VARIABLE, "/cpu:0", -1),
                x = problem_node(&p, "x", CONST, "", -1);
  const int32_t assign = problem_node(&p, "assign", ASSIGN, "", v, x, -1);
  p.nodes[v].assigned = 2;
  problem_place(&p);
  problem_is_at(&p, v, "GPU:1");
  problem_has_cause(&p, v, CAUSE_ASSIGNED, -1);
  problem_is_at(&p, assign, "GPU:1");
  problem_has_cause(&p, assign, CAUSE_REFERENCE, v);
  p.nodes[v].assigned = PLACE_INVALID;
  problem_fails(&p, SITU_INTERNAL, "does not match any device", NULL);
  p.nodes[v].assigned = 2;
  p.nodes[v].support = CPU_ONLY;
  problem_fails(&p, SITU_INTERNAL, "does not have registered OpKernel support for Variable", NULL);
  problem_end(&p);
}

static void empty_graph(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  problem_place(&p);
  assert_null(p.result.warning);
  problem_end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_gpu_takes_all),
      cmocka_unit_test(without_gpu),
      cmocka_unit_test(devices_that_lack_a_type),
      cmocka_unit_test(requests),
      cmocka_unit_test(devices_sort_by_number),
      cmocka_unit_test(more_devices_than_bits),
      cmocka_unit_test(kernel_priority_beats_kind),
      cmocka_unit_test(default_device_goes_first),
      cmocka_unit_test(generators_follow),
      cmocka_unit_test(generators_follow_within_a_kind),
      cmocka_unit_test(control_edge_divides),
      cmocka_unit_test(metadata_follows),
      cmocka_unit_test(reference_edge_joins),
      cmocka_unit_test(reference_edge_meets_kernels),
      cmocka_unit_test(colocation),
      cmocka_unit_test(refused_colocation_leaves_nothing),
      cmocka_unit_test(soft_placement_moves),
      cmocka_unit_test(soft_placement_moves_state_last),
      cmocka_unit_test(remote_kernels),
      cmocka_unit_test(assigned_beforehand),
      cmocka_unit_test(empty_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
