/* SPDX-License-Identifier: Apache-2.0
 * table.h: rows of text in columns as wide as they need to be. */
#ifndef SITU_CLI_TABLE_H
#define SITU_CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_COLUMNS = 12 };

/* Zero, with heads, is an empty table. A head that begins with '>' makes a column that ends right.
 */
struct table {
  const char *heads[MAX_COLUMNS + 1]; /* ends in NULL */
  char **cells;
  int n_cells, capacity;
  bool failed; /* without memory */
};

/* Adds the next cell; "-" stands for an empty one. */
void table_add(struct table *table, const char *text);
void table_number(struct table *table, int64_t number);
void table_bytes(struct table *table, uint64_t bytes);

/* Prints the heads and all rows, indented, and empties the table; false without memory. */
bool table_print(struct table *table);

/* A number of bytes as people read it: 512B, 1.5KiB, 12.00GiB. */
const char *table_size(uint64_t bytes, char out[32]);

/* The part of a device's full name behind job, replica and task, where these are the local ones. */
const char *table_device(const char *full);

/* Prints a text in lines of at most `width` columns, each behind `indent` blanks but the first. */
void table_wrap(const char *text, int indent, int width);

#endif
