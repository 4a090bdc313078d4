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

/* The set of a node, created if necessary. */
static struct set *find_or_create(struct placer *placer, int32_t node) {
  struct sets *sets = &placer->sets;
  if (sets->of[node]) return root(sets, sets->of[node] - 1);
  struct set *set = &sets->sets[sets->count];
  *set = (struct set){.constraints = placer_constraints(placer, node),
                      .parent = sets->count,
                      .node = node,
                      .device = -1,
                      .link = {.other = -1}};
  sets->of[node] = ++sets->count;
  return set;
}

/* Merges the constraints of two sets. Returns the conflicting part, if any. */
static enum colocation_part merge(struct placer *placer, struct constraints *into,
                                  const struct constraints *from) {
  struct specs *specs = &placer->specs;
  struct constraints constraints = *into;
  if (!specs_merge(specs, &constraints.assigned, from->assigned, MERGE_HARD)) return PART_ASSIGNED;
  if (!specs_merge(specs, &constraints.resource, from->resource, MERGE_HARD)) return PART_RESOURCE;
  const enum name_merge how = placer->problem->soft ? MERGE_SOFT : MERGE_HARD;
  if (!specs_merge(specs, &constraints.requested, from->requested, how)) return PART_REQUESTED;
  specs_ensure(specs, &constraints.requested, constraints.assigned);
  specs_ensure(specs, &constraints.requested, constraints.resource);
  const int32_t kernel_set =
      supports_intersect(&placer->supports, constraints.kernel_set, from->kernel_set);
  if (kernel_set) constraints.kernel_set = kernel_set;
  /* A bug of TensorFlow: the requests stay merged even if the sets have no kernel in common. */
  if (kernel_set || placer->problem->reference) *into = constraints;
  return kernel_set ? PART_NONE : PART_KINDS;
}

static void link_nodes(struct placer *placer, int32_t node, int32_t other, enum place_cause cause) {
  struct place_reason *link = &placer->sets.sets[placer->sets.of[node] - 1].link;
  if (link->other < 0) *link = (struct place_reason){.cause = (uint8_t)cause, .other = other};
}

/* Joins the sets of two nodes. Returns the conflicting part, if any. */
static enum colocation_part join(struct placer *placer, int32_t x, int32_t y,
                                 enum place_cause cause) {
  struct set *a = find_or_create(placer, x), *b = find_or_create(placer, y);
  if (a != b) {
    struct set *keep = a->rank < b->rank ? b : a, *drop = keep == a ? b : a;
    const enum colocation_part conflict = merge(placer, &keep->constraints, &drop->constraints);
    if (conflict) return conflict;
    if (a->rank == b->rank) a->rank++;
    drop->parent = keep->parent;
  }
  link_nodes(placer, x, y, cause);
  link_nodes(placer, y, x, cause);
  return PART_NONE;
}

/* If only the requests of a reference edge's ends differ, the producer's is used. */
static situ_status join_edge(struct placer *placer, struct place_reference edge) {
  struct specs *specs = &placer->specs;
  struct constraints *from = &find_or_create(placer, edge.producer)->constraints;
  struct constraints *to = &find_or_create(placer, edge.consumer)->constraints;
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
  const enum colocation_part conflict = join(placer, edge.producer, edge.consumer, CAUSE_REFERENCE);
  if (!conflict) return NULL;
  return placement_error_join(placer, edge.producer, edge.consumer, conflict, true);
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
    const enum colocation_part conflict = join(placer, member.node, head, CAUSE_COLOCATED);
    if (conflict && !problem->soft)
      return placement_error_join(placer, member.node, head, conflict, false);
    if (conflict && !placer->sets.n_rejected++)
      placer->sets.first = (struct place_reference){head, member.node};
  }
  return NULL;
}

situ_status colocation_join(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  const int64_t n_elements = 2 * (int64_t)problem->n_references + 2 * (int64_t)problem->n_members;
  if (!n_elements) return NULL;
  struct sets *sets = &placer->sets;
  sets->of = ARENA_ARRAY(placer->arena, int32_t, problem->n_nodes);
  sets->sets = arena_alloc(placer->arena,
                           sizeof(struct set) * (size_t)min_i64(n_elements, problem->n_nodes));
  if (!sets->of || !sets->sets) return NO_MEMORY();
  for (int32_t i = 0; i < problem->n_references; i++)
    TRY(join_edge(placer, problem->references[i]));
  TRY(join_groups(placer));
  return placer->arena->failed ? NO_MEMORY() : NULL;
}

/* Whether a complete device name satisfies constraints. */
static bool is_compatible(const struct placer *placer, const struct constraints *constraints,
                          int32_t address) {
  const struct spec_value *values = placer->specs.values;
  const struct device_name *name = &values[address].name;
  return specs_compatible(&placer->specs, constraints->assigned, address) &&
         !name_different_address_space(&values[constraints->resource].name, name) &&
         !name_different_address_space(&values[constraints->requested].name, name);
}

situ_status colocation_assign(struct placer *placer, struct set *set, int32_t device) {
  if (set->device == device) return NULL;
  const int32_t address = placer->addresses[device];
  if (!is_compatible(placer, &set->constraints, address))
    return placement_error_assign(placer, set, device);
  set->constraints.assigned = set->constraints.resource = set->constraints.requested = address;
  set->device = device;
  return NULL;
}
