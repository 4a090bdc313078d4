/* SPDX-License-Identifier: Apache-2.0
 * problem.h: small problems for the tests of the placer. */
#ifndef SITU_TESTS_PROBLEM_H
#define SITU_TESTS_PROBLEM_H

#include "place/placer.h"

enum { PROBLEM_MAX = 200 };

/* Ops of these tests; N_OPS is their number. Kernels: on CPU and GPU but where the name says less;
 * STRING has one on the CPU; DOUBLE needs devices with double. */
enum {
  CONST,
  MATMUL,
  VARIABLE,
  ASSIGN,
  SHAPE,
  STRING,
  CPU_ONLY,
  GPU_ONLY,
  PREFERS_CPU,
  DOUBLE,
  N_OPS
};

struct problem {
  struct arena arena;
  struct place_problem problem;
  struct place_result result;
  struct place_device devices[PROBLEM_MAX];
  char device_texts[PROBLEM_MAX][NAME_SIZE];
  struct place_spec specs[PROBLEM_MAX];
  struct place_node nodes[PROBLEM_MAX + 1];
  int32_t edges[PROBLEM_MAX];
  struct place_reference references[PROBLEM_MAX];
  struct place_member members[PROBLEM_MAX];
  const char *names[PROBLEM_MAX];
  int ops[PROBLEM_MAX];
};

/* A problem with CPU:0 and that many GPUs. */
void problem_begin(struct problem *p, int gpus);
void problem_end(struct problem *p);

/* One more device. */
void problem_device(struct problem *p, const char *kind, int index);

/* One more node; inputs end with -1. Input 0 of an ASSIGN is a reference. */
int32_t problem_node(struct problem *p, const char *name, int op, const char *spec, ...);

/* One more reference edge. */
void problem_reference(struct problem *p, int32_t producer, int32_t consumer);

/* Puts a node into a group. */
void problem_colocate(struct problem *p, int32_t node, int32_t group);

/* Places, and fails the test where that fails. */
void problem_place(struct problem *p);

/* The node is on "GPU:1". */
void problem_is_at(const struct problem *p, int32_t node, const char *device);

/* The node's reason. */
void problem_has_cause(const struct problem *p, int32_t node, enum place_cause cause,
                       int32_t other);

/* Placing fails with this code, returns no placement, and the message contains each of the parts up
 * to a NULL. */
void problem_fails(struct problem *p, situ_code code, ...);

#endif
