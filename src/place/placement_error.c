/* SPDX-License-Identifier: Apache-2.0
 * placement_error.c: formats the errors of the placer: a first line as in TensorFlow's guides, or
 * as in TensorFlow 2.21 under the reference policy, then the hints of placement_hints.c. */
#include "place/placement_error.h"

#include "base/strbuf.h"
#include "place/placement_hints.h"

static const struct place_spec *spec_of(const struct placer *placer, int32_t node) {
  return &placer->problem->specs[placer->problem->nodes[node].spec];
}

/* Creates the error of a node from message and hints, and frees both. */
static situ_status fail(const struct placer *placer, int32_t node, situ_code code,
                        struct strbuf *message, struct strbuf *hints) {
  const struct place_callbacks *callbacks = &placer->problem->callbacks;
  if (placer->problem->reference) {
    strbuf_appendf(message, "\n\t [[{{node %s}}]]", placer_name(placer, node));
  } else if (callbacks->describe) {
    strbuf_append(message, "\n\t [[Node: ");
    callbacks->describe(callbacks->context, node, message);
    strbuf_append(message, "]]");
  }
  if (hints->length) strbuf_append(message, strbuf_get(hints));
  situ_status s = message->failed || hints->failed
                      ? NO_MEMORY()
                      : situ_status_create(code, "%s", strbuf_get(message));
  strbuf_free(message);
  strbuf_free(hints);
  return status_at_node(s, placer_name(placer, node));
}

static situ_status assigned_error(const struct placer *placer, int32_t node) {
  struct strbuf message = {0}, hints = {0};
  const int32_t device = placer->problem->nodes[node].assigned;
  if (device < 0)
    strbuf_appendf(&message, "Assigned device of node '%s' does not match any device.",
                   placer_name(placer, node));
  else
    strbuf_appendf(&message,
                   "Assigned device '%s' does not have registered OpKernel support for %s",
                   placer->problem->devices[device].text, placer_op(placer, node));
  return fail(placer, node, SITU_INTERNAL, &message, &hints);
}

static situ_status no_kernel_error(const struct placer *placer, int32_t node) {
  struct strbuf message = {0}, hints = {0};
  strbuf_appendf(
      &message,
      placer->problem->reference
          ? "No OpKernel was registered to support Op '%s' used by {{node %s}} with these "
            "attrs: []\nRegistered devices: ["
          : "No OpKernel was registered to support Op '%s' used by node '%s'\nRegistered "
            "devices: [",
      placer_op(placer, node), placer_name(placer, node));
  placement_hints_kinds(placer, &message);
  strbuf_append(&message, "]\nRegistered kernels:\n  ");
  placement_hints_kernels(placer, node, &message);
  return fail(placer, node, SITU_INVALID_ARGUMENT, &message, &hints);
}

static situ_status malformed_error(const struct placer *placer, int32_t node) {
  struct strbuf message = {0}, hints = {0};
  strbuf_appendf(&message, "Malformed device specification '%s' in node: %s",
                 spec_of(placer, node)->text, placer_name(placer, node));
  return fail(placer, node, SITU_INVALID_ARGUMENT, &message, &hints);
}

/* The error of a node by itself, or NULL. */
static situ_status check_node(struct placer *placer, int32_t number) {
  const struct place_node *node = &placer->problem->nodes[number];
  const int32_t kernel_set = placer->kernel_sets[node->support]
                                 ? placer->kernel_sets[node->support]
                                 : placer_constraints(placer, number).kernel_set;
  if (kernel_set < 0) return NO_MEMORY();
  if (node->assigned == PLACE_INVALID) return assigned_error(placer, number);
  if (node->assigned >= 0) {
    const char *kind = placer->problem->devices[node->assigned].name.kind;
    return supports_kind(&placer->supports, kernel_set, kind) ? NULL
                                                              : assigned_error(placer, number);
  }
  if (!kernel_set) return no_kernel_error(placer, number);
  return spec_of(placer, number)->malformed ? malformed_error(placer, number) : NULL;
}

/* The order in which nodes are checked for errors; *order is NULL for graph order. */
static situ_status get_error_order(struct placer *placer, int32_t **order) {
  const struct place_problem *problem = placer->problem;
  *order = NULL;
  if (problem->reference || !problem->callbacks.order) return NULL;
  *order = ARENA_ARRAY(placer->arena, int32_t, problem->n_nodes);
  return *order ? problem->callbacks.order(problem->callbacks.context, *order) : NO_MEMORY();
}

/* The first error in that order; node `found` is known to have one. */
static situ_status first_error(struct placer *placer, int32_t found,
                               situ_status (*check)(struct placer *, int32_t)) {
  int32_t *order = NULL;
  situ_status s = get_error_order(placer, &order);
  for (int32_t i = 0; !s && order && i < placer->problem->n_nodes; i++) s = check(placer, order[i]);
  return s ? s : check(placer, found);
}

situ_status placement_error_check_nodes(struct placer *placer) {
  const struct place_problem *problem = placer->problem;
  for (int32_t i = 0; i < problem->n_nodes; i++) {
    const struct place_node *node = &problem->nodes[i];
    if (node->assigned == PLACE_FREE && placer->kernel_sets[node->support] &&
        !problem->specs[node->spec].malformed)
      continue;
    const situ_status s = check_node(placer, i);
    if (!s) continue;
    if (problem->reference) return s;
    situ_status_release(s);
    return first_error(placer, i, check_node);
  }
  return NULL;
}

/* No device satisfies the node's own request. */
static void append_no_device(const struct placer *placer, int32_t node, struct strbuf *message,
                             struct strbuf *hints) {
  const char *requested = spec_of(placer, node)->text;
  if (placer->problem->reference) {
    strbuf_appendf(message,
                   "{{node %s}} was explicitly assigned to %s but available devices are [ ",
                   placer_name(placer, node), requested);
    placement_hints_devices(placer, message);
    strbuf_append(message, " ]. Make sure the device specification refers to a valid device.");
    return;
  }
  strbuf_appendf(message, "Could not satisfy explicit device specification '%s'", requested);
  placement_hints_no_device(placer, node, hints);
}

/* A device satisfies the node's own request but has no kernel. */
static void append_no_kernel(struct placer *placer, int32_t node,
                             const struct constraints *constraints, struct strbuf *message,
                             struct strbuf *hints) {
  const struct place_spec *spec = spec_of(placer, node);
  strbuf_appendf(message, "Could not satisfy explicit device specification '%s", spec->text);
  if (spec->name.has_kind)
    strbuf_appendf(message, "' because no supported kernel for %s devices is available.",
                   spec->name.kind);
  else if (!placer->problem->reference)
    strbuf_append(message, "' because no device that meets it has a supported kernel.");
  placement_hints_group(placer, node, constraints, hints);
  placement_hints_no_kernel(placer, node, hints);
}

static void append_group(struct placer *placer, int32_t node, const struct constraints *constraints,
                         struct strbuf *message, struct strbuf *hints) {
  char printed[NAME_SIZE];
  const struct device_name *requested = &placer->specs.values[constraints->requested].name;
  strbuf_appendf(
      message,
      "Could not satisfy explicit device specification '%s' because the node "
      "{{colocation_node %s}} was colocated with a group of nodes that required incompatible "
      "device '%s'. All available devices [",
      spec_of(placer, node)->text, placer_name(placer, node),
      name_print(requested, printed, sizeof printed));
  placement_hints_devices(placer, message);
  strbuf_append(message, "]. ");
  placement_hints_group(placer, node, constraints, hints);
}

static situ_status check_candidates(struct placer *placer, int32_t node) {
  if (placer->problem->nodes[node].assigned >= 0) return NULL;
  const struct constraints constraints = placer_set_constraints(placer, node);
  if (placer_candidates(placer, &constraints).first >= 0) return NULL;
  struct strbuf message = {0}, hints = {0};
  strbuf_appendf(&message,
                 placer->problem->reference ? "Cannot assign a device for operation %s: "
                                            : "Cannot assign a device to node '%s': ",
                 placer_name(placer, node));
  const uint64_t *mask = placer->specs.values[constraints.requested].mask;
  const bool is_own = placer->values[placer->problem->nodes[node].spec] == constraints.requested;
  if (!constraints.requested)
    strbuf_appendf(&message,
                   "Node had no OpKernel registered to support this operation: Operation was %s",
                   placer_op(placer, node));
  else if (!is_own)
    append_group(placer, node, &constraints, &message, &hints);
  else if (ranks_first(&placer->ranks, mask, mask) < 0)
    append_no_device(placer, node, &message, &hints);
  else
    append_no_kernel(placer, node, &constraints, &message, &hints);
  return fail(placer, node, SITU_INVALID_ARGUMENT, &message, &hints);
}

situ_status placement_error_node(struct placer *placer, int32_t node) {
  return first_error(placer, node, check_candidates);
}

situ_status placement_error_edge(struct placer *placer, struct place_reference edge,
                                 const char *what, int32_t from, int32_t to) {
  char a[NAME_SIZE], b[NAME_SIZE];
  struct strbuf message = {0}, hints = {0};
  strbuf_appendf(
      &message,
      "Cannot place the graph because a reference or resource edge connects colocation "
      "groups with incompatible %s devices: %s vs %s. The edge src node is %s , and the dst "
      "node is %s",
      what, name_print(&placer->specs.values[from].name, a, sizeof a),
      name_print(&placer->specs.values[to].name, b, sizeof b), placer_name(placer, edge.producer),
      placer_name(placer, edge.consumer));
  return fail(placer, edge.consumer, SITU_INVALID_ARGUMENT, &message, &hints);
}

/* Appends the message of name_merge for the conflicting part. */
static void append_conflict(struct placer *placer, const struct constraints *into,
                            const struct constraints *from, enum colocation_part part,
                            struct strbuf *message) {
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
  strbuf_appendf(message, ": %s", situ_status_message(s));
  situ_status_release(s);
}

situ_status placement_error_join(struct placer *placer, int32_t x, int32_t y,
                                 enum colocation_part part, bool by_reference) {
  const struct set *a = colocation_find(placer, x), *b = colocation_find(placer, y);
  const struct set *keep = a->rank < b->rank ? b : a, *drop = keep == a ? b : a;
  struct strbuf message = {0}, hints = {0};
  if (by_reference)
    strbuf_append(
        &message,
        "Nodes were connected by a reference or resource connection (requiring them to be on "
        "the same device), but the two nodes were assigned two different devices: ");
  strbuf_appendf(&message,
                 "Cannot colocate nodes {{colocation_node %s}} and {{colocation_node %s}}",
                 placer_name(placer, x), placer_name(placer, y));
  if (part != PART_KINDS) {
    append_conflict(placer, &keep->constraints, &drop->constraints, part, &message);
  } else {
    strbuf_append(&message,
                  " because no device type supports both of those nodes and the other nodes "
                  "colocated with them.");
  }
  placement_hints_group(placer, x, &a->constraints, &hints);
  placement_hints_group(placer, y, &b->constraints, &hints);
  return fail(placer, by_reference ? y : x, SITU_INVALID_ARGUMENT, &message, &hints);
}

situ_status placement_error_assign(struct placer *placer, const struct set *set, int32_t device) {
  char assigned[NAME_SIZE];
  struct strbuf message = {0}, hints = {0};
  strbuf_appendf(
      &message,
      "Constraining by assigned device should not cause an error. Original root's assigned "
      "device name: %s node's assigned device name \"%s\"",
      name_print(&placer->specs.values[set->constraints.assigned].name, assigned, sizeof assigned),
      placer->problem->devices[device].text);
  return fail(placer, set->node, SITU_INTERNAL, &message, &hints);
}
