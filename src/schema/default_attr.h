/* SPDX-License-Identifier: Apache-2.0
 * default_attr.h: attributes that TensorFlow's ops have and situ's lack, with their defaults.
 *
 * TensorFlow writes all attributes of a node. Those that it added later it drops at their default
 * value when an older program reads the graph, and so does situ with those that it does not have.
 */
#ifndef SITU_SCHEMA_DEFAULT_ATTR_H
#define SITU_SCHEMA_DEFAULT_ATTR_H

struct default_attr {
  const char *op, *name;
  const char *value; /* an AttrValue in the text form; NULL: no value changes what the op does */
};

/* Filled by ops/default_attrs.c; terminated by an entry of zeros. */
extern const struct default_attr default_attrs[];

#endif
