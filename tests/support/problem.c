/* SPDX-License-Identifier: Apache-2.0
 * problem.c: small problems for the tests of the placer, with fake ops, devices and nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "support/problem.h"

static const struct place_kernel both[] = {{"CPU", 0}, {"GPU", 0}};
static const struct place_kernel weighed[] = {{"CPU", 2}, {"GPU", 1}};
static const struct place_support supports[N_OPS] = {
    [CONST] = {both, 2},          [MATMUL] = {both, 2},
    [VARIABLE] = {both, 2},       [ASSIGN] = {both, 2},
    [SHAPE] = {both, 2},          [STRING] = {both, 1},
    [CPU_ONLY] = {both, 1},       [GPU_ONLY] = {both + 1, 1},
    [PREFERS_CPU] = {weighed, 2}, [DOUBLE] = {both, 2, NEEDS_DOUBLE}};
static const char *const op_names[N_OPS] = {"Const",      "MatMul", "Variable", "Assign",
                                            "Shape",      "String", "CpuOnly",  "GpuOnly",
                                            "PrefersCpu", "Double"};

static const char *name_word(const void *context, int32_t node) {
  return ((const struct problem *)context)->names[node];
}

static const char *op_word(const void *context, int32_t node) {
  return op_names[((const struct problem *)context)->ops[node]];
}

static void describe_word(const void *context, int32_t node, struct strbuf *out) {
  strbuf_appendf(out, "%s = %s[]()", name_word(context, node), op_word(context, node));
}

/* Sources first, the last one before the others; then the rest as they are. */
static situ_status order_word(const void *context, int32_t *order) {
  const struct problem *p = context;
  int32_t n = 0;
  for (int32_t i = p->problem.n_nodes - 1; i >= 0; i--)
    if (!p->nodes[i].n_inputs) order[n++] = i;
  for (int32_t i = 0; i < p->problem.n_nodes; i++)
    if (p->nodes[i].n_inputs) order[n++] = i;
  return NULL;
}

void problem_device(struct problem *p, const char *kind, int index) {
  const int32_t n = p->problem.n_devices++;
  snprintf(p->device_texts[n], NAME_SIZE, "/job:localhost/replica:0/task:0/device:%s:%d", kind,
           index);
  assert_null(name_parse(p->device_texts[n], &p->devices[n].name));
  p->devices[n].text = p->device_texts[n];
  p->devices[n].priority = strcmp(kind, "GPU") ? 70 : 210;
}

/* CPU:0 and that many GPUs. */
void problem_begin(struct problem *p, int gpus) {
  *p = (struct problem){
      .problem = {.default_device = -1, .n_supports = N_OPS, .n_specs = 1, .supports = supports}};
  p->problem.devices = p->devices;
  p->problem.specs = p->specs;
  p->problem.nodes = p->nodes;
  p->problem.edges = p->edges;
  p->problem.references = p->references;
  p->problem.members = p->members;
  p->problem.callbacks =
      (struct place_callbacks){p, name_word, op_word, describe_word, NULL, order_word};
  p->specs[0].text = "";
  problem_device(p, "CPU", 0);
  for (int i = 0; i < gpus; i++) problem_device(p, "GPU", i);
}

static int32_t find_spec(struct problem *p, const char *text) {
  for (int32_t i = 0; i < p->problem.n_specs; i++)
    if (!strcmp(p->specs[i].text, text)) return i;
  const int32_t n = p->problem.n_specs++;
  p->specs[n].text = text;
  const situ_status s = name_parse(text, &p->specs[n].name);
  p->specs[n].malformed = s != NULL;
  situ_status_release(s);
  return n;
}

/* Adds a node; inputs end with -1. Input 0 of an Assign is a reference. */
int32_t problem_node(struct problem *p, const char *name, int op, const char *spec, ...) {
  const int32_t n = p->problem.n_nodes++;
  struct place_node *node = &p->nodes[n];
  node->support = op;
  node->spec = find_spec(p, spec);
  node->assigned = PLACE_FREE;
  node->n_outputs = 1;
  node->flags = op == VARIABLE ? PLACE_REF_OUTPUT : op == SHAPE ? PLACE_METADATA : 0;
  p->names[n] = name;
  p->ops[n] = op;
  va_list list;
  va_start(list, spec);
  for (int32_t from = va_arg(list, int); from >= 0; from = va_arg(list, int)) {
    if (op == ASSIGN && !node->n_inputs) problem_reference(p, from, n);
    p->edges[node->edges + node->n_inputs++] = from;
  }
  va_end(list);
  node[1].edges = node->edges + node->n_inputs;
  return n;
}

void problem_colocate(struct problem *p, int32_t node, int32_t group) {
  p->members[p->problem.n_members++] = (struct place_member){node, group};
  if (group >= p->problem.n_groups) p->problem.n_groups = group + 1;
}

void problem_place(struct problem *p) {
  const situ_status s = placer_run(&p->problem, &p->arena, &p->result);
  if (s) fail_msg("%s", situ_status_message(s));
}

/* "GPU:1" */
void problem_is_at(const struct problem *p, int32_t node, const char *device) {
  const char *text = p->devices[p->result.device[node]].text;
  assert_string_equal(strstr(text, "device:") + 7, device);
}

void problem_has_cause(const struct problem *p, int32_t node, enum place_cause cause,
                       int32_t other) {
  assert_int_equal(p->result.reasons[node].cause, cause);
  assert_int_equal(p->result.reasons[node].other, other);
}

/* Placing fails with this code, and the text holds each of the parts up to a NULL. */
void problem_fails(struct problem *p, situ_code code, ...) {
  const situ_status s = placer_run(&p->problem, &p->arena, &p->result);
  assert_non_null(s);
  assert_int_equal(situ_status_code(s), code);
  va_list list;
  va_start(list, code);
  for (const char *part = va_arg(list, const char *); part; part = va_arg(list, const char *))
    if (!strstr(situ_status_message(s), part))
      fail_msg("no \"%s\" in: %s", part, situ_status_message(s));
  va_end(list);
  assert_null(p->result.device);
  situ_status_release(s);
}

void problem_reference(struct problem *p, int32_t producer, int32_t consumer) {
  p->references[p->problem.n_references++] = (struct place_reference){producer, consumer};
}

void problem_end(struct problem *p) { arena_free(&p->arena); }
