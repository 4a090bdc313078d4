/* SPDX-License-Identifier: Apache-2.0
 * saver.c: the variables of a session to a checkpoint and back. */
#include <stdlib.h>

#include "base/base.h"
#include "graph/variable.h"
#include "ops/state/variable_ops.h"
#include "situ/checkpoint.h"
#include "tensor/shape.h"

/* A variable, what reads it, and what gives it a value. */
struct kept {
  const char *name; /* the graph's */
  situ_value read, feed, assign;
};

struct situ_saver {
  situ_graph *graph;
  int count;
  struct kept kept[];
};

/* The node of a variable that a value names, or NULL. */
static const struct node *variable_named(situ_value value) {
  if (!situ_value_valid(value) || value.output < 0) return NULL;
  const struct node *node = graph_node(value.graph, value.node);
  if (situ_value_type(value) == SITU_RESOURCE)
    return variable_of(value.graph, (struct edge){value.node, value.output});
  return node->schema->op->flags & OP_VARIABLE ? node : NULL;
}

static situ_status add(situ_graph *graph, situ_value value, struct kept *out) {
  const struct node *node = value.graph == graph ? variable_named(value) : NULL;
  if (!node) return INVALID("A saver takes variables of its graph: references or handles.");
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
  if (!out) return INVALID("A saver needs a place to be put.");
  *out = NULL;
  if (!graph || count < 1 || !variables) return INVALID("A saver needs a graph and variables.");
  situ_saver *saver = calloc(1, sizeof *saver + sizeof *saver->kept * (size_t)count);
  if (!saver) return NO_MEMORY();
  saver->graph = situ_graph_retain(graph);
  situ_status s = NULL;
  for (; saver->count < count && !s; saver->count++)
    s = add(graph, variables[saver->count], &saver->kept[saver->count]);
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

/* Room for what is said of each variable in one call. */
struct room {
  situ_value *values;
  situ_tensor **tensors;
  situ_named *named;
  const char **names;
  situ_feed *feeds;
};

static situ_status make_room(int count, struct room *out) {
  const size_t n = (size_t)count;
  *out = (struct room){calloc(n, sizeof *out->values), calloc(n, sizeof *out->tensors),
                       calloc(n, sizeof *out->named), calloc(n, sizeof *out->names),
                       calloc(n, sizeof *out->feeds)};
  return out->values && out->tensors && out->named && out->names && out->feeds ? NULL : NO_MEMORY();
}

static void free_room(struct room *room, int count) {
  for (int i = 0; i < count && room->tensors; i++) situ_tensor_release(room->tensors[i]);
  free(room->values);
  free(room->tensors);
  free(room->named);
  free(room->names);
  free(room->feeds);
}

situ_status situ_saver_save(const situ_saver *saver, situ_session *session, const char *prefix) {
  if (!saver || !session || !prefix) return INVALID("Saving needs a saver, a session and a name.");
  struct room room;
  const int n = saver->count;
  situ_status s = make_room(n, &room);
  for (int i = 0; i < n && !s; i++) room.values[i] = saver->kept[i].read;
  if (!s) s = situ_session_run(session, NULL, 0, room.values, n, room.tensors);
  for (int i = 0; i < n && !s; i++)
    room.named[i] = (situ_named){saver->kept[i].name, room.tensors[i]};
  if (!s) s = situ_checkpoint_write(prefix, room.named, n);
  free_room(&room, n);
  return s;
}

/* Whether a tensor of a checkpoint can be the value of its variable. */
static situ_status check(const struct kept *kept, const situ_tensor *tensor, const char *prefix) {
  const situ_shape have = situ_tensor_shape(tensor), want = situ_value_shape(kept->feed);
  const situ_type type = situ_value_type(kept->feed);
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (situ_tensor_type(tensor) == type && shape_compatible(&want, &have)) return NULL;
  return INVALID("Variable '%s' is %s of shape %s, but %s of shape %s in checkpoint %s", kept->name,
                 situ_type_name(type), shape_print(&want, a),
                 situ_type_name(situ_tensor_type(tensor)), shape_print(&have, b), prefix);
}

situ_status situ_saver_restore(const situ_saver *saver, situ_session *session, const char *prefix) {
  if (!saver || !session || !prefix)
    return INVALID("Restoring needs a saver, a session and a name.");
  struct room room;
  const int n = saver->count;
  situ_status s = make_room(n, &room);
  for (int i = 0; i < n && !s; i++) room.names[i] = saver->kept[i].name;
  if (!s) s = situ_checkpoint_read(prefix, room.names, n, room.tensors);
  for (int i = 0; i < n && !s; i++) {
    s = check(&saver->kept[i], room.tensors[i], prefix);
    room.feeds[i] = (situ_feed){saver->kept[i].feed, room.tensors[i]};
    room.values[i] = saver->kept[i].assign;
    room.values[i].output = SITU_ANY;
  }
  situ_tensor **none = s ? NULL : calloc((size_t)n, sizeof *none);
  if (!s && !none) s = NO_MEMORY();
  if (!s) s = situ_session_run(session, room.feeds, n, room.values, n, none);
  free(none);
  free_room(&room, n);
  return s;
}
