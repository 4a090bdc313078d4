/* SPDX-License-Identifier: Apache-2.0
 * placer.c: the two passes over the nodes. The second one places generators (nodes without inputs),
 * which like to be where their consumers are. */
#include "place/placer.h"

#include <string.h>

#include "place/placement_error.h"
#include "place/soft_placement_log.h"
#include "place/colocation.h"
#include "place/state.h"

/* The device of a generator while it waits: nobody has asked for it, its consumers are on several
 * devices, or (CONSUMER - d) all consumers so far are on device d. */
enum { WAITING = -1, DIVIDED = -2, CONSUMER = -3 };

static bool is_generator(const struct place_node *node) {
  return !node->n_inputs && node->n_outputs == 1 && !(node->flags & PLACE_REF_OUTPUT);
}

/* A variable's request is also where its resource lives. */
static bool is_variable(const struct place_node *node) {
  return !node->n_inputs && node->n_outputs == 1 &&
         node->flags & (PLACE_REF_OUTPUT | PLACE_HANDLE_OUTPUT);
}

/* The row of a node without kernels here: all kinds that it asks for, if it asks for another
 * process, which may well have kernels. */
static int32_t remote_row(struct placer *placer, const struct place_node *node) {
  const struct place_spec *spec = &placer->problem->specs[node->spec];
  if (spec->malformed || !name_different_address_space(&placer->problem->local, &spec->name))
    return 0;
  return supports_any(&placer->supports, spec->name.has_kind ? spec->name.kind : NULL);
}

struct claim placer_claim(struct placer *placer, int32_t number) {
  const struct place_node *node = &placer->problem->nodes[number];
  struct claim claim = {.row = placer->rows[node->support]};
  if (!claim.row) claim.row = remote_row(placer, node);
  if (node->assigned >= 0)
    claim.assigned = claim.requested = placer->addresses[node->assigned];
  else
    claim.requested = placer->values[node->spec];
  if (node->assigned < 0 && is_variable(node)) claim.resource = claim.requested;
  return claim;
}

struct claim placer_whole_claim(struct placer *placer, int32_t node) {
  const struct set *set = colocation_find(placer, node);
  return set ? set->claim : placer_claim(placer, node);
}

/* What soft placement drops from a request: what nothing else fixes. */
static unsigned droppable(const struct placer *placer, int32_t assigned, int32_t resource) {
  const struct device_name *a = &placer->specs.values[assigned].name;
  const struct device_name *r = &placer->specs.values[resource].name;
  return (a->has_kind || r->has_kind ? 0u : DROP_KIND) |
         (a->has_index || r->has_index ? 0u : DROP_INDEX);
}

static struct candidates look(struct placer *placer, int32_t spec, int32_t row) {
  struct candidates found = {.row = row, .first = -1};
  if (spec < 0 || row < 0) return found; /* no memory: the arena knows */
  found.mask = placer->specs.values[spec].mask;
  found.first = supports_first(&placer->supports, row, found.mask);
  return found;
}

struct candidates placer_candidates(struct placer *placer, const struct claim *claim) {
  struct candidates found = look(placer, claim->requested, claim->row);
  if (found.first >= 0 || !placer->problem->soft || !claim->requested) return found;
  const unsigned careful = droppable(placer, claim->assigned, claim->resource);
  found = look(placer, specs_drop(&placer->specs, claim->requested, careful), claim->row);
  if (found.first >= 0) return found;
  /* Better a resource that moves than no place at all. */
  const unsigned bold = droppable(placer, claim->assigned, 0);
  return look(placer, specs_drop(&placer->specs, claim->requested, bold), claim->row);
}

static bool holds(const struct placer *placer, const struct candidates *candidates,
                  int32_t device) {
  const int32_t rank = placer->ranks.rank[device];
  return ranks_hold(candidates->mask, rank) &&
         ranks_hold(placer->supports.rows[candidates->row].all, rank);
}

/* Why a request was not met. */
static enum place_why why_moved(struct placer *placer, int32_t number) {
  const struct claim own = placer_claim(placer, number);
  const uint64_t *mask = placer->specs.values[own.requested].mask;
  if (ranks_first(&placer->ranks, mask, mask) < 0) return WHY_NO_DEVICE;
  return look(placer, own.requested, own.row).first < 0 ? WHY_NO_KERNEL : WHY_NEIGHBOURS;
}

/* The reason of a node that took the first candidate. */
static struct place_reason reason_of(struct placer *placer, int32_t number, const struct set *set,
                                     int32_t device) {
  const int32_t own = placer->values[placer->problem->nodes[number].spec];
  const int32_t rank = placer->ranks.rank[device];
  struct place_reason reason = {.cause = CAUSE_REQUESTED, .other = -1};
  if (own && ranks_hold(placer->specs.values[own].mask, rank)) return reason;
  if (own) {
    reason.why = (uint8_t)why_moved(placer, number);
    reason.cause = CAUSE_SOFT;
    if (reason.why != WHY_NEIGHBOURS || !set) return reason;
  }
  if (set && (own || set->device >= 0 || set->claim.requested)) {
    const struct place_reason link = placer->sets.sets[placer->sets.of[number] - 1].link;
    if (link.other >= 0) reason.cause = link.cause;
    if (link.other >= 0 || own) {
      reason.other = link.other;
      return reason;
    }
  }
  const int32_t row = set ? set->claim.row : placer_claim(placer, number).row;
  reason.cause = placer->supports.rows[row].cause;
  return reason;
}

/* Where a node wants to be for the sake of another one; or a negative number. */
static int32_t preference(const struct placer *placer, int32_t number,
                          struct place_reason *reason) {
  const struct place_problem *problem = placer->problem;
  const struct place_node *node = &problem->nodes[number];
  const int32_t waiting = placer->device[number];
  if (is_generator(node)) {
    *reason =
        (struct place_reason){.cause = CAUSE_CONSUMERS, .other = placer->reasons[number].other};
    return waiting <= CONSUMER ? CONSUMER - waiting : -1;
  }
  if (!(node->flags & PLACE_METADATA) || !node->n_inputs) return -1;
  const int32_t input = problem->edges[node->edges];
  *reason = (struct place_reason){.cause = CAUSE_INPUT, .other = input};
  return placer->device[input];
}

/* Places a node by all the rules. */
static situ_status choose(struct placer *placer, int32_t number) {
  struct set *set = colocation_find(placer, number);
  const struct claim claim = set ? set->claim : placer_claim(placer, number);
  const struct candidates candidates = placer_candidates(placer, &claim);
  if (placer->arena->failed) return NO_MEMORY();
  if (candidates.first < 0) return placement_error_node(placer, number);
  const int32_t first = placer->ranks.order[candidates.first];
  struct place_reason reason;
  int32_t device = preference(placer, number, &reason);
  const bool follows = device >= 0 && holds(placer, &candidates, device);
  if (!follows) device = first;
  if (device == first) {
    const struct place_reason plain = reason_of(placer, number, set, device);
    /* A preference for what a request, a set or the kernels had decided did not decide. */
    if (!follows || (plain.cause != CAUSE_PRIORITY && plain.cause != CAUSE_DEFAULT)) reason = plain;
  }
  placer->moved += reason.cause == CAUSE_SOFT;
  placer->device[number] = device;
  placer->reasons[number] = reason;
  return set ? colocation_narrow(placer, set, device) : NULL;
}

/* Places a node of which nothing is asked; most are such. False: it needs all the rules. */
static bool choose_free(struct placer *placer, int32_t number) {
  const struct place_node *node = &placer->problem->nodes[number];
  const int32_t row_number = placer->rows[node->support], waiting = placer->device[number];
  if (placer->values[node->spec] || !row_number || node->flags & PLACE_METADATA) return false;
  if (placer->sets.of && placer->sets.of[number]) return false;
  const struct support_row *row = &placer->supports.rows[row_number];
  const int32_t first = placer->ranks.order[row->first];
  struct place_reason *reason = &placer->reasons[number];
  int32_t device = waiting <= CONSUMER && is_generator(node) ? CONSUMER - waiting : -1;
  const bool follows = device >= 0 && ranks_hold(row->all, placer->ranks.rank[device]);
  if (!follows) device = first;
  if (follows && (device != first || row->cause != CAUSE_ONLY_KIND))
    *reason = (struct place_reason){.cause = CAUSE_CONSUMERS, .other = reason->other};
  else
    *reason = (struct place_reason){.cause = row->cause, .other = -1};
  placer->device[number] = device;
  return true;
}

static situ_status keep(struct placer *placer, int32_t number) {
  const int32_t device = placer->problem->nodes[number].assigned;
  placer->device[number] = device;
  placer->reasons[number] = (struct place_reason){.cause = CAUSE_ASSIGNED, .other = -1};
  struct set *set = colocation_find(placer, number);
  return set ? colocation_narrow(placer, set, device) : NULL;
}

/* Tells the generators among its producers where a node is; a negative device: not yet known. */
static void tell_producers(struct placer *placer, int32_t number, int32_t device) {
  const struct place_node *node = &placer->problem->nodes[number];
  const int32_t told = device < 0 ? DIVIDED : CONSUMER - device;
  for (int32_t i = node[0].edges; i < node[1].edges; i++) {
    const int32_t producer = placer->problem->edges[i];
    int32_t *at = &placer->device[producer];
    if (*at >= 0 || *at == told) continue;
    if (*at == WAITING) placer->reasons[producer].other = number;
    *at = *at == WAITING ? told : DIVIDED;
  }
}

static situ_status first_pass(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  for (int32_t i = 0; i < problem->n_nodes; i++) {
    const struct place_node *node = &problem->nodes[i];
    const bool waits = node->assigned < 0 && is_generator(node);
    if (node->assigned >= 0)
      TRY(keep(placer, i));
    else if (!waits && !choose_free(placer, i))
      TRY(choose(placer, i));
    tell_producers(placer, i, waits ? -1 : placer->device[i]);
  }
  return NULL;
}

static situ_status second_pass(struct placer *placer) {
  for (int32_t i = 0; i < placer->problem->n_nodes; i++)
    if (placer->device[i] < 0 && !choose_free(placer, i)) TRY(choose(placer, i));
  return NULL;
}

/* Gives numbers to the problem's requests, kernels and devices. */
static situ_status number_all(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  TRY(ranks_create(problem, placer->arena, &placer->ranks));
  TRY(specs_create(problem, &placer->ranks, placer->arena, &placer->specs));
  TRY(supports_create(problem, &placer->ranks, placer->arena, &placer->supports));
  placer->values = ARENA_ARRAY(placer->arena, int32_t, problem->n_specs);
  placer->rows = ARENA_ARRAY(placer->arena, int32_t, problem->n_supports);
  placer->addresses = ARENA_ARRAY(placer->arena, int32_t, problem->n_devices);
  if (!placer->values || !placer->rows || !placer->addresses) return NO_MEMORY();
  for (int32_t i = 0; i < problem->n_specs; i++)
    if (!problem->specs[i].malformed)
      placer->values[i] = specs_intern(&placer->specs, &problem->specs[i].name);
  for (int32_t i = 0; i < problem->n_supports; i++)
    placer->rows[i] = supports_row(&placer->supports, &problem->supports[i]);
  for (int32_t i = 0; i < problem->n_devices; i++)
    placer->addresses[i] = specs_intern(&placer->specs, &problem->devices[i].name);
  return placer->arena->failed ? NO_MEMORY() : NULL;
}

static situ_status run(struct placer *placer) {
  TRY(number_all(placer));
  TRY(placement_error_members(placer));
  TRY(colocation_join(placer));
  memset(placer->device, 0xFF, sizeof(int32_t) * (size_t)placer->problem->n_nodes); /* WAITING */
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
