/* SPDX-License-Identifier: Apache-2.0
 * test_placement_error.c: error messages of the placer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/problem.h"

static void colocation_conflict(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t a = problem_node(&p, "a", CONST, "/gpu:1", -1),
                b = problem_node(&p, "b", CONST, "/gpu:0", -1);
  problem_colocate(&p, a, 0);
  problem_colocate(&p, b, 0);
  problem_fails(&p, SITU_INVALID_ARGUMENT,
                "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot "
                "merge devices with incompatible ids: '/device:GPU:0' and '/device:GPU:1'",
                "[[Node: b = Const[]()]]", NULL);
  p.problem.soft = true;
  problem_place(&p);
  problem_is_at(&p, a, "GPU:0"); /* they stay together, the index is dropped */
  problem_is_at(&p, b, "GPU:0");
  problem_end(&p);
}

static void soft_placement_stays_in_its_job(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  p.problem.soft = true;
  problem_node(&p, "a", CONST, "/job:worker", -1);
  problem_fails(&p, SITU_INVALID_ARGUMENT, "explicit device specification '/job:worker'",
                "not another job", NULL);
  problem_end(&p);
}

static void missing_device(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  const int32_t a = problem_node(&p, "a", CONST, "/gpu:2", -1),
                b = problem_node(&p, "b", CONST, "/gpu:2", -1);
  problem_node(&p, "MatMul", MATMUL, "/gpu:2", a, b, -1);
  problem_fails(&p, SITU_INVALID_ARGUMENT,
                "Cannot assign a device to node 'b': Could not satisfy explicit device "
                "specification '/gpu:2'\n\t [[Node: b = Const[]()]]\n",
                "Devices: /job:localhost/replica:0/task:0/device:CPU:0, "
                "/job:localhost/replica:0/task:0/device:GPU:0\n",
                "The nearest one is /device:GPU:0\n",
                "2 other nodes request the same device: a, MatMul\n", "allow_soft_placement", NULL);
  p.problem.reference = true; /* names the preferred node: generators have the lowest rank */
  problem_fails(&p, SITU_INVALID_ARGUMENT,
                "Cannot assign a device for operation MatMul: {{node MatMul}} was explicitly "
                "assigned to /gpu:2 but available devices are [ ",
                NULL);
  problem_end(&p);
}

static void missing_kernel(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  problem_node(&p, "s", STRING, "/gpu:0", -1);
  problem_fails(&p, SITU_INVALID_ARGUMENT,
                "Cannot assign a device to node 's': Could not satisfy explicit device "
                "specification '/gpu:0' because no supported kernel for GPU devices is available.",
                "Kernels of String: CPU", NULL);
  problem_end(&p);
}

static void no_kernel_anywhere(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 0);
  problem_node(&p, "g", GPU_ONLY, "", -1);
  problem_fails(&p, SITU_INVALID_ARGUMENT,
                "No OpKernel was registered to support Op 'GpuOnly' used by node 'g'",
                "Registered devices: [CPU]", NULL);
  problem_end(&p);
}

static void malformed_request(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 0);
  problem_node(&p, "a", CONST, "/foo:bar", -1);
  problem_fails(&p, SITU_INVALID_ARGUMENT, "Malformed device specification '/foo:bar' in node: a",
                NULL);
  problem_end(&p);
}

static void incompatible_reference(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 2);
  const int32_t v = problem_node(&p, "v", VARIABLE, "/gpu:0", -1),
                w = problem_node(&p, "w", VARIABLE, "/gpu:1", -1);
  const int32_t x = problem_node(&p, "x", ASSIGN, "", v, -1);
  problem_reference(&p, w, x);
  problem_fails(&p, SITU_INVALID_ARGUMENT,
                "with incompatible resource devices: /device:GPU:1 vs "
                "/device:GPU:0. The edge src node is w , and the dst node is x",
                NULL);
  problem_end(&p);
}

static void reference_without_common_kernel(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 1);
  const int32_t a = problem_node(&p, "a", CPU_ONLY, "", -1),
                b = problem_node(&p, "b", GPU_ONLY, "", a, -1);
  problem_reference(&p, a, b);
  problem_fails(&p, SITU_INVALID_ARGUMENT, "Nodes were connected by a reference or resource",
                "Cannot colocate nodes {{colocation_node a}} and {{colocation_node b}} because no "
                "device type supports both",
                "\nCpuOnly: CPU ", "\nGpuOnly: GPU ", NULL);
  problem_end(&p);
}

static void no_devices(void **state) {
  (void)state;
  struct problem p;
  problem_begin(&p, 0);
  p.problem.n_devices = 0;
  problem_node(&p, "a", CONST, "", -1);
  problem_fails(&p, SITU_FAILED_PRECONDITION, "No devices are registered", NULL);
  problem_end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(colocation_conflict),
      cmocka_unit_test(soft_placement_stays_in_its_job),
      cmocka_unit_test(missing_device),
      cmocka_unit_test(missing_kernel),
      cmocka_unit_test(no_kernel_anywhere),
      cmocka_unit_test(malformed_request),
      cmocka_unit_test(incompatible_reference),
      cmocka_unit_test(reference_without_common_kernel),
      cmocka_unit_test(no_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
