/* SPDX-License-Identifier: Apache-2.0
 * graphdef.h: converts between GraphDef messages and graphs. */
#ifndef SITU_GRAPH_GRAPHDEF_H
#define SITU_GRAPH_GRAPHDEF_H

#include "graph/build.h"
#include "proto/message.h"

/* Limits what a small GraphDef can expand to: a TensorProto may repeat its last element any number
 * of times, and a function body is read once per caller. */
struct graphdef_budget {
  uint64_t bytes; /* remaining bytes of repeated elements and of nodes of functions */
  int bodies;     /* function bodies read so far */
};

/* Creates the tensor of a TensorProto. */
situ_status graphdef_read_tensor(const struct proto_source *source, const struct proto_value *from,
                                 struct graphdef_budget *budget, situ_tensor **out) SITU_MUST_USE;

/* Checks that a DataType is one of situ's. */
situ_status graphdef_check_type(const struct proto_source *source,
                                const struct proto_value *type) SITU_MUST_USE;

/* An error if a field is set that situ does not support. */
situ_status graphdef_reject(const struct proto_source *source, const situ_message *message,
                            const char *field) SITU_MUST_USE;

/* Reads a TensorShapeProto. */
situ_status graphdef_read_shape(const struct proto_source *source, const struct proto_value *from,
                                situ_shape *out) SITU_MUST_USE;

/* Fill a TensorProto or a TensorShapeProto. False when memory runs out. */
bool graphdef_write_tensor(const situ_tensor *tensor, situ_message *out);
bool graphdef_write_shape(const situ_shape *shape, situ_message *out);

/* Sets an attribute of a new node from an AttrValue. */
situ_status graphdef_read_attr(const struct proto_source *source, const char *name,
                               const struct proto_value *from, struct graphdef_budget *budget,
                               struct situ_graph *graph, struct draft *draft) SITU_MUST_USE;

/* Append a message, bytes or a number to a field; NULL or false when memory runs out. */
situ_message *graphdef_add_message(situ_message *to, const char *field);
bool graphdef_add_bytes(situ_message *to, const char *field, const char *data, size_t length);
bool graphdef_add_integer(situ_message *to, const char *field, int64_t value);
bool graphdef_add_real(situ_message *to, const char *field, double value);

#endif
