/* SPDX-License-Identifier: Apache-2.0
 * table.h: prints tables with aligned columns. */
#ifndef SITU_CLI_TABLE_H
#define SITU_CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_COLUMNS = 12 };

/* Initialize with heads only. A head that begins with '>' right-aligns its column. */
struct table {
  const char *heads[MAX_COLUMNS + 1]; /* NULL-terminated */
  char **cells;
  int n_cells, capacity;
  bool failed; /* out of memory */
};

/* Adds the next cell; an empty string is printed as "-". */
void table_add(struct table *table, const char *text);
void table_number(struct table *table, int64_t number);
void table_bytes(struct table *table, uint64_t bytes);

/* Prints the table and clears it; false if out of memory. */
bool table_print(struct table *table);

/* Formats bytes: 512B, 1.5KiB, 12.00GiB. */
const char *table_size(uint64_t bytes, char out[32]);

/* Returns a device name without job, replica and task if these are the local ones. */
const char *table_device(const char *full);

/* Prints text wrapped at `width` columns, with continuation lines indented. */
void table_wrap(const char *text, int indent, int width);

#endif
