/* SPDX-License-Identifier: Apache-2.0
 * placement_error.c: the first line of a failure is the guides' or TensorFlow's; placement_hints.c
 * knows better. */
#include "place/placement_error.h"

#include "base/strbuf.h"
#include "place/placement_hints.h"

static const struct place_spec *spec_of(const struct placer *placer, int32_t node) {
  return &placer->problem->specs[placer->problem->nodes[node].spec];
}

/* Makes the failure of a node: what is said, the node, the hints. Frees both texts. */
static situ_status fail(const struct placer *placer, int32_t node, situ_code code,
                        struct strbuf *said, struct strbuf *hints) {
  const struct place_words *words = &placer->problem->words;
  if (placer->problem->reference) {
    strbuf_appendf(said, "\n\t [[{{node %s}}]]", placer_name(placer, node));
  } else if (words->describe) {
    strbuf_append(said, "\n\t [[Node: ");
    words->describe(words->context, node, said);
    strbuf_append(said, "]]");
  }
  if (hints->length) strbuf_append(said, strbuf_get(hints));
  situ_status s = said->failed || hints->failed ? NO_MEMORY()
                                                : situ_status_create(code, "%s", strbuf_get(said));
  strbuf_free(said);
  strbuf_free(hints);
  return status_at_node(s, placer_name(placer, node));
}

static situ_status placement_error_assigned(const struct placer *placer, int32_t node) {
  struct strbuf said = {0}, hints = {0};
  const int32_t device = placer->problem->nodes[node].assigned;
  if (device < 0)
    strbuf_appendf(&said, "Assigned device of node '%s' does not match any device.",
                   placer_name(placer, node));
  else
    strbuf_appendf(&said, "Assigned device '%s' does not have registered OpKernel support for %s",
                   placer->problem->devices[device].text, placer_op(placer, node));
  return fail(placer, node, SITU_INTERNAL, &said, &hints);
}

static situ_status placement_error_kernels(const struct placer *placer, int32_t node) {
  struct strbuf said = {0}, hints = {0};
  strbuf_appendf(
      &said,
      placer->problem->reference
          ? "No OpKernel was registered to support Op '%s' used by {{node %s}} with these "
            "attrs: []\nRegistered devices: ["
          : "No OpKernel was registered to support Op '%s' used by node '%s'\nRegistered "
            "devices: [",
      placer_op(placer, node), placer_name(placer, node));
  placement_hints_kinds(placer, &said);
  strbuf_append(&said, "]\nRegistered kernels:\n  ");
  placement_hints_kernels(placer, node, &said);
  return fail(placer, node, SITU_INVALID_ARGUMENT, &said, &hints);
}

static situ_status placement_error_malformed(const struct placer *placer, int32_t node) {
  struct strbuf said = {0}, hints = {0};
  strbuf_appendf(&said, "Malformed device specification '%s' in node: %s",
                 spec_of(placer, node)->text, placer_name(placer, node));
  return fail(placer, node, SITU_INVALID_ARGUMENT, &said, &hints);
}

/* What is wrong with a node by itself; NULL where nothing is. */
static situ_status placement_error_member(struct placer *placer, int32_t number) {
  const struct place_node *node = &placer->problem->nodes[number];
  const int32_t row =
      placer->rows[node->support] ? placer->rows[node->support] : placer_claim(placer, number).row;
  if (row < 0) return NO_MEMORY();
  if (node->assigned == PLACE_LOST) return placement_error_assigned(placer, number);
  if (node->assigned >= 0) {
    const char *kind = placer->problem->devices[node->assigned].name.kind;
    return supports_kind(&placer->supports, row, kind) ? NULL
                                                       : placement_error_assigned(placer, number);
  }
  if (!row) return placement_error_kernels(placer, number);
  return spec_of(placer, number)->malformed ? placement_error_malformed(placer, number) : NULL;
}

/* The nodes in the order in which they are named; *order is NULL for 0, 1, 2. */
static situ_status naming_order(struct placer *placer, int32_t **order) {
  const struct place_problem *problem = placer->problem;
  *order = NULL;
  if (problem->reference || !problem->words.order) return NULL;
  *order = ARENA_ARRAY(placer->arena, int32_t, problem->n_nodes);
  return *order ? problem->words.order(problem->words.context, *order) : NO_MEMORY();
}

/* The first complaint, in the order of naming, where node `found` is known to have one. */
static situ_status first_complaint(struct placer *placer, int32_t found,
                                   situ_status (*complain)(struct placer *, int32_t)) {
  int32_t *order = NULL;
  situ_status s = naming_order(placer, &order);
  for (int32_t i = 0; !s && order && i < placer->problem->n_nodes; i++)
    s = complain(placer, order[i]);
  return s ? s : complain(placer, found);
}

situ_status placement_error_members(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  for (int32_t i = 0; i < problem->n_nodes; i++) {
    const struct place_node *node = &problem->nodes[i];
    if (node->assigned == PLACE_FREE && placer->rows[node->support] &&
        !problem->specs[node->spec].malformed)
      continue;
    const situ_status s = placement_error_member(placer, i);
    if (!s) continue;
    if (problem->reference) return s;
    situ_status_release(s);
    return first_complaint(placer, i, placement_error_member);
  }
  return NULL;
}

/* The request is the node's own and no device meets it. */
static void say_no_device(const struct placer *placer, int32_t node, struct strbuf *said,
                          struct strbuf *hints) {
  const char *asked = spec_of(placer, node)->text;
  if (placer->problem->reference) {
    strbuf_appendf(said, "{{node %s}} was explicitly assigned to %s but available devices are [ ",
                   placer_name(placer, node), asked);
    placement_hints_devices(placer, said);
    strbuf_append(said, " ]. Make sure the device specification refers to a valid device.");
    return;
  }
  strbuf_appendf(said, "Could not satisfy explicit device specification '%s'", asked);
  placement_hints_no_device(placer, node, hints);
}

/* The request is the node's own, a device meets it, and has no kernel. */
static void say_no_kernel(struct placer *placer, int32_t node, const struct claim *claim,
                          struct strbuf *said, struct strbuf *hints) {
  const struct place_spec *spec = spec_of(placer, node);
  strbuf_appendf(said, "Could not satisfy explicit device specification '%s", spec->text);
  if (spec->name.has_kind)
    strbuf_appendf(said, "' because no supported kernel for %s devices is available.",
                   spec->name.kind);
  else if (!placer->problem->reference)
    strbuf_append(said, "' because no device that meets it has a supported kernel.");
  placement_hints_group(placer, node, claim, hints);
  placement_hints_no_kernel(placer, node, hints);
}

static void say_group(struct placer *placer, int32_t node, const struct claim *claim,
                      struct strbuf *said, struct strbuf *hints) {
  char printed[NAME_SIZE];
  const struct device_name *asked = &placer->specs.values[claim->requested].name;
  strbuf_appendf(
      said,
      "Could not satisfy explicit device specification '%s' because the node "
      "{{colocation_node %s}} was colocated with a group of nodes that required incompatible "
      "device '%s'. All available devices [",
      spec_of(placer, node)->text, placer_name(placer, node),
      name_print(asked, printed, sizeof printed));
  placement_hints_devices(placer, said);
  strbuf_append(said, "]. ");
  placement_hints_group(placer, node, claim, hints);
}

static situ_status complain(struct placer *placer, int32_t node) {
  if (placer->problem->nodes[node].assigned >= 0) return NULL;
  const struct claim claim = placer_whole_claim(placer, node);
  if (placer_candidates(placer, &claim).first >= 0) return NULL;
  struct strbuf said = {0}, hints = {0};
  strbuf_appendf(&said,
                 placer->problem->reference ? "Cannot assign a device for operation %s: "
                                            : "Cannot assign a device to node '%s': ",
                 placer_name(placer, node));
  const uint64_t *mask = placer->specs.values[claim.requested].mask;
  const bool own = placer->values[placer->problem->nodes[node].spec] == claim.requested;
  if (!claim.requested)
    strbuf_appendf(&said,
                   "Node had no OpKernel registered to support this operation: Operation was %s",
                   placer_op(placer, node));
  else if (!own)
    say_group(placer, node, &claim, &said, &hints);
  else if (ranks_first(&placer->ranks, mask, mask) < 0)
    say_no_device(placer, node, &said, &hints);
  else
    say_no_kernel(placer, node, &claim, &said, &hints);
  return fail(placer, node, SITU_INVALID_ARGUMENT, &said, &hints);
}

situ_status placement_error_node(struct placer *placer, int32_t node) {
  return first_complaint(placer, node, complain);
}

situ_status placement_error_edge(struct placer *placer, struct place_reference edge,
                                 const char *what, int32_t from, int32_t to) {
  char a[NAME_SIZE], b[NAME_SIZE];
  struct strbuf said = {0}, hints = {0};
  strbuf_appendf(
      &said,
      "Cannot place the graph because a reference or resource edge connects colocation "
      "groups with incompatible %s devices: %s vs %s. The edge src node is %s , and the dst "
      "node is %s",
      what, name_print(&placer->specs.values[from].name, a, sizeof a),
      name_print(&placer->specs.values[to].name, b, sizeof b), placer_name(placer, edge.producer),
      placer_name(placer, edge.consumer));
  return fail(placer, edge.consumer, SITU_INVALID_ARGUMENT, &said, &hints);
}

/* The words of name_merge for the part that does not go together. */
static void say_conflict(struct placer *placer, const struct claim *into, const struct claim *from,
                         enum colocation_part part, struct strbuf *said) {
  const bool soft = part == PART_REQUESTED && placer->problem->soft;
  const int32_t a = part == PART_ASSIGNED   ? into->assigned
                    : part == PART_RESOURCE ? into->resource
                                            : into->requested;
  const int32_t b = part == PART_ASSIGNED   ? from->assigned
                    : part == PART_RESOURCE ? from->resource
                                            : from->requested;
  struct device_name target = placer->specs.values[a].name;
  const situ_status s =
      name_merge(&target, &placer->specs.values[b].name, soft ? MERGE_SOFT : MERGE_HARD);
  strbuf_appendf(said, ": %s", situ_status_message(s));
  situ_status_release(s);
}

situ_status placement_error_join(struct placer *placer, int32_t x, int32_t y,
                                 enum colocation_part part, bool by_reference) {
  const struct set *a = colocation_find(placer, x), *b = colocation_find(placer, y);
  const struct set *keep = a->rank < b->rank ? b : a, *drop = keep == a ? b : a;
  struct strbuf said = {0}, hints = {0};
  if (by_reference)
    strbuf_append(
        &said,
        "Nodes were connected by a reference or resource connection (requiring them to be on "
        "the same device), but the two nodes were assigned two different devices: ");
  strbuf_appendf(&said, "Cannot colocate nodes {{colocation_node %s}} and {{colocation_node %s}}",
                 placer_name(placer, x), placer_name(placer, y));
  if (part != PART_KINDS) {
    say_conflict(placer, &keep->claim, &drop->claim, part, &said);
  } else {
    strbuf_append(&said,
                  " because no device type supports both of those nodes and the other nodes "
                  "colocated with them.");
  }
  placement_hints_group(placer, x, &a->claim, &hints);
  placement_hints_group(placer, y, &b->claim, &hints);
  return fail(placer, by_reference ? y : x, SITU_INVALID_ARGUMENT, &said, &hints);
}

situ_status placement_error_narrow(struct placer *placer, const struct set *set, int32_t device) {
  char assigned[NAME_SIZE];
  struct strbuf said = {0}, hints = {0};
  strbuf_appendf(
      &said,
      "Constraining by assigned device should not cause an error. Original root's assigned "
      "device name: %s node's assigned device name \"%s\"",
      name_print(&placer->specs.values[set->claim.assigned].name, assigned, sizeof assigned),
      placer->problem->devices[device].text);
  return fail(placer, set->node, SITU_INTERNAL, &said, &hints);
}
