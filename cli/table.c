/* SPDX-License-Identifier: Apache-2.0
 * table.c: see table.h. */
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table_add(struct table *table, const char *text) {
  if (table->n_cells == table->capacity) {
    const int capacity = table->capacity ? 2 * table->capacity : 64;
    char **cells = realloc(table->cells, sizeof *cells * (size_t)capacity);
    if (!cells) {
      table->failed = true;
      return;
    }
    table->cells = cells;
    table->capacity = capacity;
  }
  char *copy = strdup(*text ? text : "-");
  if (copy)
    table->cells[table->n_cells++] = copy;
  else
    table->failed = true;
}

void table_number(struct table *table, int64_t number) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, number);
  table_add(table, text);
}

void table_bytes(struct table *table, uint64_t bytes) {
  char text[32];
  table_add(table, table_size(bytes, text));
}

/* Returns the number of code points. */
static int width_of(const char *text) {
  int n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
  return n;
}

static void print_cell(const char *text, int width, bool right, bool last) {
  const int blanks = width - width_of(text);
  if (right) printf("%*s", blanks > 0 ? blanks : 0, "");
  fputs(text, stdout);
  if (!right && !last) printf("%*s", blanks > 0 ? blanks : 0, "");
  if (!last) fputs("  ", stdout);
}

static void print_rows(const struct table *table, int columns, const int *widths) {
  for (int i = 0, c = 0; i < table->n_cells; i++, c = c + 1 < columns ? c + 1 : 0) {
    if (!c) fputs("  ", stdout);
    print_cell(table->cells[i], widths[c], table->heads[c][0] == '>', c == columns - 1);
    if (c == columns - 1) putchar('\n');
  }
}

/* Computes the column widths; returns the number of columns. */
static int measure(const struct table *table, int widths[MAX_COLUMNS]) {
  int columns = 0;
  for (; table->heads[columns]; columns++)
    widths[columns] = width_of(table->heads[columns]) - (table->heads[columns][0] == '>');
  for (int i = 0, c = 0; i < table->n_cells; i++, c = c + 1 < columns ? c + 1 : 0) {
    const int width = width_of(table->cells[i]);
    if (width > widths[c]) widths[c] = width;
  }
  return columns;
}

static void print_heads(const struct table *table, int columns, const int *widths) {
  fputs("  ", stdout);
  for (int c = 0; c < columns; c++) {
    const bool right = table->heads[c][0] == '>';
    print_cell(table->heads[c] + right, widths[c], right, c == columns - 1);
  }
  putchar('\n');
}

bool table_print(struct table *table) {
  int widths[MAX_COLUMNS] = {0};
  const int columns = measure(table, widths);
  if (!table->failed) {
    print_heads(table, columns, widths);
    print_rows(table, columns, widths);
  }
  for (int i = 0; i < table->n_cells; i++) free(table->cells[i]);
  free(table->cells);
  table->cells = NULL;
  table->n_cells = table->capacity = 0;
  return !table->failed;
}

const char *table_size(uint64_t bytes, char out[32]) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    snprintf(out, 32, "%" PRIu64 "B", bytes);
    return out;
  }
  double value = (double)bytes / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; unit++) value /= 1024;
  snprintf(out, 32, "%.*f%s", unit ? 2 : 1, value, units[unit]);
  return out;
}

const char *table_device(const char *full) {
  static const char local[] = "/job:localhost/replica:0/task:0/";
  return strncmp(full, local, sizeof local - 1) ? full : full + sizeof local - 2;
}

void table_wrap(const char *text, int indent, int width) {
  int column = indent;
  while (*text) {
    const int length = (int)strcspn(text, " \n");
    if (column > indent && column + 1 + length > width) {
      printf("\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      putchar(' ');
      column++;
    }
    printf("%.*s", length, text);
    column += length;
    text += length;
    text += strspn(text, " \n");
  }
  putchar('\n');
}
