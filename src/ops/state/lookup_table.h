/* SPDX-License-Identifier: Apache-2.0
 * lookup_table.h: lookup tables: hash tables from keys to values, resources of a session. */
#ifndef SITU_OPS_STATE_LOOKUP_TABLE_H
#define SITU_OPS_STATE_LOOKUP_TABLE_H

#include "base/fork.h"
#include "schema/compute.h"

enum lookup_kind {
  LOOKUP_STATIC,  /* initialized once, then constant */
  LOOKUP_SCALARS, /* mutable, with scalar values */
  LOOKUP_TENSORS, /* mutable, with values of a fixed shape */
  LOOKUP_DENSE,   /* mutable, with reserved keys for empty and deleted buckets */
};

/* Rows of `width` elements of one type. Strings are owned. */
struct lookup_column {
  situ_type type;
  situ_shape shape; /* of a row */
  int64_t width;
  char *data;
};

/* Entries in the order of insertion, and an index over them with open addressing. */
struct lookup_table {
  struct resource head;
  pthread_mutex_t lock;
  struct fork_handler fork;
  enum lookup_kind kind;
  bool initialized;
  struct lookup_column keys, values;
  bool *live;                           /* by entry: not removed */
  int64_t n_entries, n_live;            /* entries with and without those that were removed */
  int64_t capacity;                     /* allocated entries */
  int64_t *index, index_size;           /* entry + 1, or 0; a power of 2, larger than n_entries */
  situ_tensor *empty_key, *deleted_key; /* of LOOKUP_DENSE */
  int64_t n_buckets, n_deleted;         /* of LOOKUP_DENSE, as export and import show them */
  double max_load_factor;
};

extern const struct resource_kind lookup_table_kind;

/* Creates a table with `references` 1 for resource_find; `context` is the struct compute. */
situ_status lookup_table_create(void *context, struct resource **out) SITU_MUST_USE;

/* The entry of row `row` of a tensor of keys, or -1. The caller holds the lock, here and below. */
int64_t lookup_table_entry(const struct lookup_table *table, const situ_tensor *keys, int64_t row);

/* Inserts row `row` of keys and values, or replaces the value; *added tells which. */
situ_status lookup_table_put(struct lookup_table *table, const situ_tensor *keys,
                             const situ_tensor *values, int64_t row, bool *added) SITU_MUST_USE;

/* Removes an entry. */
void lookup_table_remove(struct lookup_table *table, int64_t entry);

/* Removes all entries. */
void lookup_table_clear(struct lookup_table *table);

/* The strings of a row of a column of strings. */
const situ_string *lookup_column_strings(const struct lookup_column *column, int64_t row);

/* Inserts the rows of a static table at its initialization: the value of a key must not differ. */
situ_status lookup_table_initialize(struct lookup_table *table, const situ_tensor *keys,
                                    const situ_tensor *values, int64_t rows) SITU_MUST_USE;

#endif
