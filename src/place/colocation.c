/* SPDX-License-Identifier: Apache-2.0
 * colocation.c: union-find over the nodes that have reference edges or colocation constraints. */
#include "place/colocation.h"

#include "place/placement_error.h"

static struct set *root(struct sets *sets, int32_t number) {
  struct set *all = sets->sets;
  while (all[number].parent != number) {
    all[number].parent = all[all[number].parent].parent;
    number = all[number].parent;
  }
  return &all[number];
}

struct set *colocation_find(struct placer *placer, int32_t node) {
  struct sets *sets = &placer->sets;
  return sets->of && sets->of[node] ? root(sets, sets->of[node] - 1) : NULL;
}

/* The set of a node, a new one where it was alone. */
static struct set *touch(struct placer *placer, int32_t node) {
  struct sets *sets = &placer->sets;
  if (sets->of[node]) return root(sets, sets->of[node] - 1);
  struct set *set = &sets->sets[sets->count];
  *set = (struct set){.claim = placer_claim(placer, node),
                      .parent = sets->count,
                      .node = node,
                      .device = -1,
                      .link = {.other = -1}};
  sets->of[node] = ++sets->count;
  return set;
}

/* Merges the claims of two sets; says which part does not go together, and what did by then. */
static enum colocation_part merge(struct placer *placer, struct claim *into,
                                  const struct claim *from) {
  struct specs *specs = &placer->specs;
  struct claim claim = *into;
  if (!specs_merge(specs, &claim.assigned, from->assigned, MERGE_HARD)) return PART_ASSIGNED;
  if (!specs_merge(specs, &claim.resource, from->resource, MERGE_HARD)) return PART_RESOURCE;
  const enum name_merge how = placer->problem->soft ? MERGE_SOFT : MERGE_HARD;
  if (!specs_merge(specs, &claim.requested, from->requested, how)) return PART_REQUESTED;
  specs_ensure(specs, &claim.requested, claim.assigned);
  specs_ensure(specs, &claim.requested, claim.resource);
  const int32_t row = supports_meet(&placer->supports, claim.row, from->row);
  if (row) claim.row = row;
  /* TensorFlow's slip: a set keeps the requests of one that it then refuses for want of a kernel.
   */
  if (row || placer->problem->reference) *into = claim;
  return row ? PART_NONE : PART_KINDS;
}

static void link_nodes(struct placer *placer, int32_t node, int32_t other, enum place_cause cause) {
  struct place_reason *link = &placer->sets.sets[placer->sets.of[node] - 1].link;
  if (link->other < 0) *link = (struct place_reason){.cause = (uint8_t)cause, .other = other};
}

/* Joins the sets of two nodes. A part that refuses says which. */
static enum colocation_part join(struct placer *placer, int32_t x, int32_t y,
                                 enum place_cause cause) {
  struct set *a = touch(placer, x), *b = touch(placer, y);
  if (a != b) {
    struct set *keep = a->rank < b->rank ? b : a, *drop = keep == a ? b : a;
    const enum colocation_part refused = merge(placer, &keep->claim, &drop->claim);
    if (refused) return refused;
    if (a->rank == b->rank) a->rank++;
    drop->parent = keep->parent;
  }
  link_nodes(placer, x, y, cause);
  link_nodes(placer, y, x, cause);
  return PART_NONE;
}

/* The producer wins where only the requests on both ends of a reference edge differ. */
static situ_status join_edge(struct placer *placer, struct place_reference edge) {
  struct specs *specs = &placer->specs;
  struct claim *from = &touch(placer, edge.producer)->claim;
  struct claim *to = &touch(placer, edge.consumer)->claim;
  if (!specs_compatible(specs, from->assigned, to->assigned))
    return placement_error_edge(placer, edge, "assigned", from->assigned, to->assigned);
  if (!specs_compatible(specs, from->resource, to->resource))
    return placement_error_edge(placer, edge, "resource", from->resource, to->resource);
  if (!specs_compatible(specs, from->requested, to->requested)) {
    to->requested = from->requested;
    specs_ensure(specs, &to->requested, to->assigned);
    specs_ensure(specs, &to->requested, to->resource);
    if (to->requested < 0) return NO_MEMORY();
  }
  const enum colocation_part refused = join(placer, edge.producer, edge.consumer, CAUSE_REFERENCE);
  if (!refused) return NULL;
  return placement_error_join(placer, edge.producer, edge.consumer, refused, true);
}

static situ_status join_groups(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  int32_t *first = ARENA_ARRAY(placer->arena, int32_t, problem->n_groups); /* node + 1 */
  if (!first) return NO_MEMORY();
  for (int32_t i = 0; i < problem->n_members; i++) {
    const struct place_member member = problem->members[i];
    if (!first[member.group]) {
      first[member.group] = member.node + 1;
      continue;
    }
    const int32_t head = first[member.group] - 1;
    const enum colocation_part refused = join(placer, member.node, head, CAUSE_COLOCATED);
    if (refused && !problem->soft)
      return placement_error_join(placer, member.node, head, refused, false);
    if (refused && !placer->sets.refused++)
      placer->sets.first = (struct place_reference){head, member.node};
  }
  return NULL;
}

situ_status colocation_join(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  const int64_t touched = 2 * (int64_t)problem->n_references + 2 * (int64_t)problem->n_members;
  if (!touched) return NULL;
  struct sets *sets = &placer->sets;
  sets->of = ARENA_ARRAY(placer->arena, int32_t, problem->n_nodes);
  sets->sets =
      arena_alloc(placer->arena, sizeof(struct set) * (size_t)min_i64(touched, problem->n_nodes));
  if (!sets->of || !sets->sets) return NO_MEMORY();
  for (int32_t i = 0; i < problem->n_references; i++)
    TRY(join_edge(placer, problem->references[i]));
  TRY(join_groups(placer));
  return placer->arena->failed ? NO_MEMORY() : NULL;
}

/* A device's name is complete: a claim that it fits becomes that name in all three parts. */
static bool fits(const struct placer *placer, const struct claim *claim, int32_t address) {
  const struct spec_value *values = placer->specs.values;
  const struct device_name *name = &values[address].name;
  return specs_compatible(&placer->specs, claim->assigned, address) &&
         !name_different_address_space(&values[claim->resource].name, name) &&
         !name_different_address_space(&values[claim->requested].name, name);
}

situ_status colocation_narrow(struct placer *placer, struct set *set, int32_t device) {
  if (set->device == device) return NULL;
  const int32_t address = placer->addresses[device];
  if (!fits(placer, &set->claim, address)) return placement_error_narrow(placer, set, device);
  set->claim.assigned = set->claim.resource = set->claim.requested = address;
  set->device = device;
  return NULL;
}
