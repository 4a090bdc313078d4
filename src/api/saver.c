/* SPDX-License-Identifier: Apache-2.0
 * saver.c: saves the variables of a session to a checkpoint and restores them. */
#include <stdlib.h>

#include "base/base.h"
#include "graph/variable.h"
#include "ops/state/variable_ops.h"
#include "situ/checkpoint.h"
#include "tensor/shape.h"

/* A variable with the nodes that read and restore it. */
struct saved_variable {
  const char *name; /* borrowed from the graph */
  situ_value read, feed, assign;
};

struct situ_saver {
  situ_graph *graph;
  int count;
  struct saved_variable saved_variable[];
};

/* Returns the node of the variable that a value refers to, or NULL. */
static const struct node *find_variable(situ_value value) {
  if (!situ_value_valid(value) || value.output < 0) return NULL;
  const struct node *node = graph_node(value.graph, value.node);
  if (situ_value_type(value) == SITU_RESOURCE)
    return variable_of(value.graph, (struct edge){value.node, value.output});
  return node->schema->op->flags & OP_VARIABLE ? node : NULL;
}

static situ_status add(situ_graph *graph, situ_value value, struct saved_variable *out) {
  const struct node *node = value.graph == graph ? find_variable(value) : NULL;
  if (!node)
    return INVALID(
        "situ_saver_create: every value must be a variable of the graph (a reference or a "
        "handle).");
  const situ_type type = variable_type(node);
  out->name = variable_name(node);
  situ_colocate_push(graph, value);
  out->feed = situ_placeholder(graph, "save/value", type, *variable_shape(node));
  out->read = variable_read(graph, value, type, "save/read");
  out->assign = variable_assign(graph, value, out->feed, "save/assign");
  situ_colocate_pop(graph);
  return situ_graph_status(graph);
}

situ_status situ_saver_create(situ_graph *graph, const situ_value *variables, int count,
                              situ_saver **out) {
  if (!out) return INVALID("situ_saver_create: `out` is NULL.");
  *out = NULL;
  if (!graph || count < 1 || !variables)
    return INVALID("situ_saver_create: no graph or no variables.");
  situ_saver *saver = calloc(1, sizeof *saver + sizeof *saver->saved_variable * (size_t)count);
  if (!saver) return NO_MEMORY();
  saver->graph = situ_graph_retain(graph);
  situ_status s = NULL;
  for (; saver->count < count && !s; saver->count++)
    s = add(graph, variables[saver->count], &saver->saved_variable[saver->count]);
  if (s)
    situ_saver_release(saver);
  else
    *out = saver;
  return s;
}

void situ_saver_release(situ_saver *saver) {
  if (!saver) return;
  situ_graph_release(saver->graph);
  free(saver);
}

/* Per-variable arrays of a call. */
struct saver_arrays {
  situ_value *values;
  situ_tensor **tensors;
  situ_named *named;
  const char **names;
  situ_feed *feeds;
};

static situ_status make_room(int count, struct saver_arrays *out) {
  const size_t n = (size_t)count;
  *out = (struct saver_arrays){calloc(n, sizeof *out->values), calloc(n, sizeof *out->tensors),
                               calloc(n, sizeof *out->named), calloc(n, sizeof *out->names),
                               calloc(n, sizeof *out->feeds)};
  return out->values && out->tensors && out->named && out->names && out->feeds ? NULL : NO_MEMORY();
}

static void free_room(struct saver_arrays *saver_arrays, int count) {
  for (int i = 0; i < count && saver_arrays->tensors; i++)
    situ_tensor_release(saver_arrays->tensors[i]);
  free(saver_arrays->values);
  free(saver_arrays->tensors);
  free(saver_arrays->named);
  free(saver_arrays->names);
  free(saver_arrays->feeds);
}

situ_status situ_saver_save(const situ_saver *saver, situ_session *session, const char *prefix) {
  if (!saver || !session || !prefix) return INVALID("situ_saver_save: an argument is NULL.");
  struct saver_arrays saver_arrays;
  const int n = saver->count;
  situ_status s = make_room(n, &saver_arrays);
  for (int i = 0; i < n && !s; i++) saver_arrays.values[i] = saver->saved_variable[i].read;
  if (!s) s = situ_session_run(session, NULL, 0, saver_arrays.values, n, saver_arrays.tensors);
  for (int i = 0; i < n && !s; i++)
    saver_arrays.named[i] = (situ_named){saver->saved_variable[i].name, saver_arrays.tensors[i]};
  if (!s) s = situ_checkpoint_write(prefix, saver_arrays.named, n);
  free_room(&saver_arrays, n);
  return s;
}

/* Checks that the tensor of a checkpoint has the type and shape of its variable. */
static situ_status check(const struct saved_variable *saved_variable, const situ_tensor *tensor,
                         const char *prefix) {
  const situ_shape have = situ_tensor_shape(tensor), want = situ_value_shape(saved_variable->feed);
  const situ_type type = situ_value_type(saved_variable->feed);
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (situ_tensor_type(tensor) == type && shape_compatible(&want, &have)) return NULL;
  return INVALID("Variable '%s' is %s of shape %s, but %s of shape %s in checkpoint %s",
                 saved_variable->name, situ_type_name(type), shape_print(&want, a),
                 situ_type_name(situ_tensor_type(tensor)), shape_print(&have, b), prefix);
}

situ_status situ_saver_restore(const situ_saver *saver, situ_session *session, const char *prefix) {
  if (!saver || !session || !prefix) return INVALID("situ_saver_restore: an argument is NULL.");
  struct saver_arrays saver_arrays;
  const int n = saver->count;
  situ_status s = make_room(n, &saver_arrays);
  for (int i = 0; i < n && !s; i++) saver_arrays.names[i] = saver->saved_variable[i].name;
  if (!s) s = situ_checkpoint_read(prefix, saver_arrays.names, n, saver_arrays.tensors);
  for (int i = 0; i < n && !s; i++) {
    s = check(&saver->saved_variable[i], saver_arrays.tensors[i], prefix);
    saver_arrays.feeds[i] = (situ_feed){saver->saved_variable[i].feed, saver_arrays.tensors[i]};
    saver_arrays.values[i] = saver->saved_variable[i].assign;
    saver_arrays.values[i].output = SITU_ANY;
  }
  situ_tensor **none = s ? NULL : calloc((size_t)n, sizeof *none);
  if (!s && !none) s = NO_MEMORY();
  if (!s) s = situ_session_run(session, saver_arrays.feeds, n, saver_arrays.values, n, none);
  free(none);
  free_room(&saver_arrays, n);
  return s;
}
