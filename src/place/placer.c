/* SPDX-License-Identifier: Apache-2.0
 * placer.c: places nodes in two passes, as TensorFlow does: the second pass places generators
 * (nodes without inputs and with one output), which follow their consumers. */
#include "place/placer.h"

#include <string.h>

#include "place/placement_error.h"
#include "place/soft_placement_log.h"
#include "place/colocation.h"
#include "place/state.h"

/* placer->device[] of a generator in the first pass: no consumer seen, consumers on several
 * devices, or (CONSUMER - d) all consumers so far on device d. */
enum { NO_CONSUMER = -1, DIVIDED = -2, CONSUMER = -3 };

static bool is_generator(const struct place_node *node) {
  return !node->n_inputs && node->n_outputs == 1 && !(node->flags & PLACE_REF_OUTPUT);
}

/* The requested device of a variable is also the device of its resource. */
static bool is_variable(const struct place_node *node) {
  return !node->n_inputs && node->n_outputs == 1 &&
         node->flags & (PLACE_REF_OUTPUT | PLACE_HANDLE_OUTPUT);
}

/* The kernel set of a node without local kernels: if it requests another process, which may have
 * kernels, all kinds that it requests; else the empty set. */
static int32_t remote_kernel_set(struct placer *placer, const struct place_node *node) {
  const struct place_spec *spec = &placer->problem->specs[node->spec];
  if (spec->malformed || !name_different_address_space(&placer->problem->local, &spec->name))
    return 0;
  return supports_any(&placer->supports, spec->name.has_kind ? spec->name.kind : NULL);
}

struct constraints placer_constraints(struct placer *placer, int32_t number) {
  const struct place_node *node = &placer->problem->nodes[number];
  struct constraints constraints = {.kernel_set = placer->kernel_sets[node->support]};
  if (!constraints.kernel_set) constraints.kernel_set = remote_kernel_set(placer, node);
  if (node->assigned >= 0)
    constraints.assigned = constraints.requested = placer->addresses[node->assigned];
  else
    constraints.requested = placer->values[node->spec];
  if (node->assigned < 0 && is_variable(node)) constraints.resource = constraints.requested;
  return constraints;
}

struct constraints placer_set_constraints(struct placer *placer, int32_t node) {
  const struct set *set = colocation_find(placer, node);
  return set ? set->constraints : placer_constraints(placer, node);
}

/* The parts of a request that soft placement may drop: those that nothing else fixes. */
static unsigned droppable_parts(const struct placer *placer, int32_t assigned, int32_t resource) {
  const struct device_name *a = &placer->specs.values[assigned].name;
  const struct device_name *r = &placer->specs.values[resource].name;
  return (a->has_kind || r->has_kind ? 0u : DROP_KIND) |
         (a->has_index || r->has_index ? 0u : DROP_INDEX);
}

static struct candidates find_candidates(struct placer *placer, int32_t spec, int32_t kernel_set) {
  struct candidates found = {.kernel_set = kernel_set, .first = -1};
  if (spec < 0 || kernel_set < 0) return found; /* out of memory: arena->failed is set */
  found.mask = placer->specs.values[spec].mask;
  found.first = supports_first(&placer->supports, kernel_set, found.mask);
  return found;
}

struct candidates placer_candidates(struct placer *placer, const struct constraints *constraints) {
  struct candidates found =
      find_candidates(placer, constraints->requested, constraints->kernel_set);
  if (found.first >= 0 || !placer->problem->soft || !constraints->requested) return found;
  const unsigned drop_first = droppable_parts(placer, constraints->assigned, constraints->resource);
  found = find_candidates(placer, specs_drop(&placer->specs, constraints->requested, drop_first),
                          constraints->kernel_set);
  if (found.first >= 0) return found;
  /* Move the resource rather than fail. */
  const unsigned drop_more = droppable_parts(placer, constraints->assigned, 0);
  return find_candidates(placer, specs_drop(&placer->specs, constraints->requested, drop_more),
                         constraints->kernel_set);
}

static bool contains(const struct placer *placer, const struct candidates *candidates,
                     int32_t device) {
  const int32_t rank = placer->ranks.rank[device];
  return ranks_hold(candidates->mask, rank) &&
         ranks_hold(placer->supports.kernel_sets[candidates->kernel_set].all, rank);
}

/* Why soft placement dropped the request of a node. */
static enum place_soft_cause find_soft_cause(struct placer *placer, int32_t number) {
  const struct constraints own = placer_constraints(placer, number);
  const uint64_t *mask = placer->specs.values[own.requested].mask;
  if (ranks_first(&placer->ranks, mask, mask) < 0) return SOFT_NO_DEVICE;
  return find_candidates(placer, own.requested, own.kernel_set).first < 0 ? SOFT_NO_KERNEL
                                                                          : SOFT_COLOCATION;
}

/* The reason for placing a node on its first candidate. */
static struct place_reason reason_of(struct placer *placer, int32_t number, const struct set *set,
                                     int32_t device) {
  const int32_t own = placer->values[placer->problem->nodes[number].spec];
  const int32_t rank = placer->ranks.rank[device];
  struct place_reason reason = {.cause = CAUSE_REQUESTED, .other = -1};
  if (own && ranks_hold(placer->specs.values[own].mask, rank)) return reason;
  if (own) {
    reason.soft_cause = (uint8_t)find_soft_cause(placer, number);
    reason.cause = CAUSE_SOFT;
    if (reason.soft_cause != SOFT_COLOCATION || !set) return reason;
  }
  if (set && (own || set->device >= 0 || set->constraints.requested)) {
    const struct place_reason link = placer->sets.sets[placer->sets.of[number] - 1].link;
    if (link.other >= 0) reason.cause = link.cause;
    if (link.other >= 0 || own) {
      reason.other = link.other;
      return reason;
    }
  }
  const int32_t kernel_set =
      set ? set->constraints.kernel_set : placer_constraints(placer, number).kernel_set;
  reason.cause = placer->supports.kernel_sets[kernel_set].cause;
  return reason;
}

/* The device that a node prefers because of its consumers or its input; negative: none. */
static int32_t find_preference(const struct placer *placer, int32_t number,
                               struct place_reason *reason) {
  const struct place_problem *problem = placer->problem;
  const struct place_node *node = &problem->nodes[number];
  const int32_t pending = placer->device[number];
  if (is_generator(node)) {
    *reason =
        (struct place_reason){.cause = CAUSE_CONSUMERS, .other = placer->reasons[number].other};
    return pending <= CONSUMER ? CONSUMER - pending : -1;
  }
  if (!(node->flags & PLACE_METADATA) || !node->n_inputs) return -1;
  const int32_t input = problem->edges[node->edges];
  *reason = (struct place_reason){.cause = CAUSE_INPUT, .other = input};
  return placer->device[input];
}

/* Places a node by all rules. */
static situ_status place_node(struct placer *placer, int32_t number) {
  struct set *set = colocation_find(placer, number);
  const struct constraints constraints =
      set ? set->constraints : placer_constraints(placer, number);
  const struct candidates candidates = placer_candidates(placer, &constraints);
  if (placer->arena->failed) return NO_MEMORY();
  if (candidates.first < 0) return placement_error_node(placer, number);
  const int32_t first = placer->ranks.order[candidates.first];
  struct place_reason reason;
  int32_t device = find_preference(placer, number, &reason);
  const bool follows = device >= 0 && contains(placer, &candidates, device);
  if (!follows) device = first;
  if (device == first) {
    const struct place_reason plain = reason_of(placer, number, set, device);
    /* Ignore a preference for the device that a request, a set or the kernels determine anyway. */
    if (!follows || (plain.cause != CAUSE_PRIORITY && plain.cause != CAUSE_DEFAULT)) reason = plain;
  }
  placer->n_moved += reason.cause == CAUSE_SOFT;
  placer->device[number] = device;
  placer->reasons[number] = reason;
  return set ? colocation_assign(placer, set, device) : NULL;
}

/* Places a node without constraints, as most nodes are. Returns false if it has some. */
static bool place_unconstrained(struct placer *placer, int32_t number) {
  const struct place_node *node = &placer->problem->nodes[number];
  const int32_t set_number = placer->kernel_sets[node->support], pending = placer->device[number];
  if (placer->values[node->spec] || !set_number || node->flags & PLACE_METADATA) return false;
  if (placer->sets.of && placer->sets.of[number]) return false;
  const struct kernel_set *kernel_set = &placer->supports.kernel_sets[set_number];
  const int32_t first = placer->ranks.order[kernel_set->first];
  struct place_reason *reason = &placer->reasons[number];
  int32_t device = pending <= CONSUMER && is_generator(node) ? CONSUMER - pending : -1;
  const bool follows = device >= 0 && ranks_hold(kernel_set->all, placer->ranks.rank[device]);
  if (!follows) device = first;
  if (follows && (device != first || kernel_set->cause != CAUSE_ONLY_KIND))
    *reason = (struct place_reason){.cause = CAUSE_CONSUMERS, .other = reason->other};
  else
    *reason = (struct place_reason){.cause = kernel_set->cause, .other = -1};
  placer->device[number] = device;
  return true;
}

static situ_status keep_assigned(struct placer *placer, int32_t number) {
  const int32_t device = placer->problem->nodes[number].assigned;
  placer->device[number] = device;
  placer->reasons[number] = (struct place_reason){.cause = CAUSE_ASSIGNED, .other = -1};
  struct set *set = colocation_find(placer, number);
  return set ? colocation_assign(placer, set, device) : NULL;
}

/* Updates the generators among a node's producers with its device; negative: not known yet. */
static void notify_producers(struct placer *placer, int32_t number, int32_t device) {
  const struct place_node *node = &placer->problem->nodes[number];
  const int32_t state = device < 0 ? DIVIDED : CONSUMER - device;
  for (int32_t i = node[0].edges; i < node[1].edges; i++) {
    const int32_t producer = placer->problem->edges[i];
    int32_t *current = &placer->device[producer];
    if (*current >= 0 || *current == state) continue;
    if (*current == NO_CONSUMER) placer->reasons[producer].other = number;
    *current = *current == NO_CONSUMER ? state : DIVIDED;
  }
}

static situ_status first_pass(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  for (int32_t i = 0; i < problem->n_nodes; i++) {
    const struct place_node *node = &problem->nodes[i];
    const bool is_deferred = node->assigned < 0 && is_generator(node);
    if (node->assigned >= 0)
      TRY(keep_assigned(placer, i));
    else if (!is_deferred && !place_unconstrained(placer, i))
      TRY(place_node(placer, i));
    notify_producers(placer, i, is_deferred ? -1 : placer->device[i]);
  }
  return NULL;
}

static situ_status second_pass(struct placer *placer) {
  for (int32_t i = 0; i < placer->problem->n_nodes; i++)
    if (placer->device[i] < 0 && !place_unconstrained(placer, i)) TRY(place_node(placer, i));
  return NULL;
}

/* Interns the problem's requests, kernels and devices. */
static situ_status intern_all(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  TRY(ranks_create(problem, placer->arena, &placer->ranks));
  TRY(specs_create(problem, &placer->ranks, placer->arena, &placer->specs));
  TRY(supports_create(problem, &placer->ranks, placer->arena, &placer->supports));
  placer->values = ARENA_ARRAY(placer->arena, int32_t, problem->n_specs);
  placer->kernel_sets = ARENA_ARRAY(placer->arena, int32_t, problem->n_supports);
  placer->addresses = ARENA_ARRAY(placer->arena, int32_t, problem->n_devices);
  if (!placer->values || !placer->kernel_sets || !placer->addresses) return NO_MEMORY();
  for (int32_t i = 0; i < problem->n_specs; i++)
    if (!problem->specs[i].malformed)
      placer->values[i] = specs_intern(&placer->specs, &problem->specs[i].name);
  for (int32_t i = 0; i < problem->n_supports; i++)
    placer->kernel_sets[i] = supports_intern(&placer->supports, &problem->supports[i]);
  for (int32_t i = 0; i < problem->n_devices; i++)
    placer->addresses[i] = specs_intern(&placer->specs, &problem->devices[i].name);
  return placer->arena->failed ? NO_MEMORY() : NULL;
}

static situ_status run(struct placer *placer) {
  TRY(intern_all(placer));
  TRY(placement_error_check_nodes(placer));
  TRY(colocation_join(placer));
  memset(placer->device, 0xFF,
         sizeof(int32_t) * (size_t)placer->problem->n_nodes); /* NO_CONSUMER */
  TRY(first_pass(placer));
  return second_pass(placer);
}

situ_status placer_run(const struct place_problem *problem, struct arena *arena,
                       struct place_result *out) {
  *out = (struct place_result){0};
  if (!problem->n_devices)
    return situ_status_create(SITU_FAILED_PRECONDITION, "No devices are registered");
  const size_t n = (size_t)problem->n_nodes;
  struct arena scratch = {0};
  struct placer placer = {.problem = problem,
                          .arena = &scratch,
                          .device = arena_alloc(arena, sizeof(int32_t) * n),
                          .reasons = arena_alloc(arena, sizeof(struct place_reason) * n)};
  situ_status s = placer.device && placer.reasons ? run(&placer) : NO_MEMORY();
  if (!s) s = soft_placement_log_warn(&placer, arena, &out->warning);
  if (!s) {
    out->device = placer.device;
    out->reasons = placer.reasons;
  }
  arena_free(&scratch);
  return s;
}
