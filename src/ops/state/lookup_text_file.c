/* SPDX-License-Identifier: Apache-2.0
 * lookup_text_file.c: InitializeTableFromTextFileV2: fills a static lookup table with the lines,
 * the columns or the line numbers of a text file. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "ops/ops.h"
#include "ops/state/lookup_table.h"
#include "tensor/tensor.h"

enum { LINE_NUMBER = -1, WHOLE_LINE = -2 }; /* instead of an index of a column */

/* The lines of a file, null-terminated, without line ends. */
struct lines {
  struct strbuf text;
  situ_string *items;
  int64_t count, capacity;
};

/* One column of the table while it is read. */
struct column {
  situ_type type;
  int64_t index;
  situ_string *strings; /* of type string: parts of the text */
  char *numbers;
};

struct reader {
  const char *path, *delimiter;
  int64_t offset;
  struct lines lines;
  struct column columns[2]; /* keys, values */
};

static situ_status add_line(struct lines *lines, char *text, size_t length) {
  if (lines->count == lines->capacity) {
    const int64_t capacity = max_i64(64, lines->capacity * 2);
    situ_string *items = realloc(lines->items, (size_t)capacity * sizeof *items);
    if (!items) return NO_MEMORY();
    lines->items = items;
    lines->capacity = capacity;
  }
  if (length && text[length - 1] == '\r') length--;
  text[length] = '\0';
  lines->items[lines->count++] = (situ_string){text, length};
  return NULL;
}

/* Splits the text into at most `most` lines (-1: all). */
static situ_status split_lines(struct lines *lines, int64_t most) {
  char *at = lines->text.data, *end = at ? at + lines->text.length : NULL;
  while (at && at < end && lines->count != most) {
    char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    TRY(add_line(lines, at, (size_t)(stop - at)));
    at = stop + 1;
  }
  return NULL;
}

static situ_status read_lines(struct reader *reader, int64_t vocab_size) {
  TRY(file_read(reader->path, &reader->lines.text));
  if (reader->lines.text.failed) return NO_MEMORY();
  TRY(split_lines(&reader->lines, vocab_size));
  if (vocab_size >= 0 && reader->lines.count < vocab_size)
    return INVALID("Invalid vocab_size in %s: expected %lld but got %lld", reader->path,
                   (long long)vocab_size, (long long)reader->lines.count);
  return NULL;
}

/* Column `index` of a line; *count is the number of columns before it and itself. */
static situ_string find_column(situ_string line, char delimiter, int64_t index, int64_t *count) {
  const char *at = line.data, *end = line.data + line.length;
  for (*count = 1;; ++*count) {
    const char *stop = memchr(at, delimiter, (size_t)(end - at));
    if (*count > index || !stop) return (situ_string){at, (size_t)((stop ? stop : end) - at)};
    at = stop + 1;
  }
}

static bool parse_number(const char *text, situ_type type, char *to) {
  char *end = NULL;
  errno = 0;
  if (type == SITU_FLOAT || type == SITU_DOUBLE) {
    const double number = strtod(text, &end);
    if (type == SITU_FLOAT)
      *(float *)(void *)to = (float)number;
    else
      *(double *)(void *)to = number;
  } else {
    const long long number = strtoll(text, &end, 10);
    if (type == SITU_INT32 && (number < INT32_MIN || number > INT32_MAX)) return false;
    if (type == SITU_INT32)
      *(int32_t *)(void *)to = (int32_t)number;
    else
      *(int64_t *)(void *)to = number;
  }
  return *text && end && !*end && errno != ERANGE;
}

static situ_status set_number(const struct reader *reader, const struct column *column, int64_t row,
                              situ_string token) {
  char *to = column->numbers + (size_t)row * situ_type_size(column->type);
  char *text = strndup(token.data, token.length);
  if (!text) return NO_MEMORY();
  const bool valid = parse_number(text, column->type, to);
  const situ_status status =
      valid ? NULL
            : INVALID("Field %s in line %lld of %s is not a valid %s.", text, (long long)row,
                      reader->path, situ_type_name(column->type));
  free(text);
  return status;
}

static void set_line_number(const struct column *column, int64_t row, int64_t number) {
  if (column->type == SITU_INT32)
    ((int32_t *)(void *)column->numbers)[row] = (int32_t)number;
  else
    ((int64_t *)(void *)column->numbers)[row] = number;
}

static situ_status set_cell(const struct reader *reader, const struct column *column, int64_t row) {
  const situ_string line = reader->lines.items[row];
  int64_t count = 1;
  if (column->index == LINE_NUMBER) {
    set_line_number(column, row, row + reader->offset);
    return NULL;
  }
  const situ_string token = column->index == WHOLE_LINE
                                ? line
                                : find_column(line, *reader->delimiter, column->index, &count);
  if (column->index >= count)
    return INVALID("Invalid number of columns in %s line %lld (%s) : expected %lld got %lld",
                   reader->path, (long long)row, line.data, (long long)column->index + 1,
                   (long long)count);
  if (!column->strings) return set_number(reader, column, row, token);
  column->strings[row] = token;
  return NULL;
}

static situ_status read_column(const struct reader *reader, struct column *column,
                               situ_tensor **out) {
  const int64_t rows = reader->lines.count;
  const situ_shape shape = SITU_SHAPE(rows);
  if (column->type == SITU_STRING)
    column->strings = calloc((size_t)rows + 1, sizeof *column->strings);
  else
    column->numbers = calloc((size_t)rows + 1, situ_type_size(column->type));
  situ_status status = column->strings || column->numbers ? NULL : NO_MEMORY();
  for (int64_t i = 0; !status && i < rows; i++) status = set_cell(reader, column, i);
  if (!status)
    status = column->type == SITU_STRING
                 ? situ_tensor_create_strings(shape, column->strings, out)
                 : situ_tensor_create(column->type, shape, column->numbers, out);
  free(column->strings);
  free(column->numbers);
  return status;
}

/* Which types a column may have: the whole line is a string, a line number an integer. */
static situ_status check_column(const struct column *column, const char *what) {
  const situ_type type = column->type;
  const bool integer = type == SITU_INT32 || type == SITU_INT64;
  if (column->index == LINE_NUMBER && !integer)
    return INVALID("%s index for line number requires table %s dtype of int32 or int64, got %s",
                   what, what, situ_type_name(type));
  if (column->index == WHOLE_LINE && type != SITU_STRING && !integer)
    return INVALID("%s index for whole line requires table %s dtype of string, got %s", what, what,
                   situ_type_name(type));
  if (!integer && type != SITU_STRING && type != SITU_FLOAT && type != SITU_DOUBLE)
    return INVALID("Values of type %s cannot be read from a text file", situ_type_name(type));
  return NULL;
}

static situ_status read_table(struct reader *reader, int64_t vocab_size,
                              struct lookup_table *table) {
  situ_tensor *tensors[2] = {0};
  situ_status status = read_lines(reader, vocab_size);
  for (int i = 0; !status && i < 2; i++)
    status = read_column(reader, &reader->columns[i], &tensors[i]);
  if (!status) {
    pthread_mutex_lock(&table->lock);
    status = lookup_table_initialize(table, tensors[0], tensors[1], reader->lines.count);
    pthread_mutex_unlock(&table->lock);
  }
  situ_tensor_release(tensors[0]);
  situ_tensor_release(tensors[1]);
  free(reader->lines.items);
  strbuf_free(&reader->lines.text);
  return status;
}

static situ_status compute_from_text_file(struct compute *compute) {
  const struct call *call = compute->call;
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &lookup_table_kind, &resource));
  struct lookup_table *table = (struct lookup_table *)resource;
  if (situ_shape_count(compute->in[1]->shape) != 1)
    return INVALID("filename should be a single string");
  const situ_string path = situ_tensor_string(compute->in[1], 0);
  if (!path.length) return INVALID("filename cannot be empty.");
  struct reader reader = {
      .path = path.data,
      .delimiter = call_text(call, "delimiter"),
      .offset = call_integer(call, "offset"),
      .columns = {{table->keys.type, call_integer(call, "key_index"), 0, 0},
                  {table->values.type, call_integer(call, "value_index"), 0, 0}}};
  if (strlen(reader.delimiter) != 1) return INVALID("delimiter should be only 1 char");
  TRY(check_column(&reader.columns[0], "Key"));
  TRY(check_column(&reader.columns[1], "Value"));
  return read_table(&reader, call_integer(call, "vocab_size"), table);
}

static situ_status file_shape(struct call *call) { return op_need_rank(call, 1, 0, "filename"); }

static const struct op_def op_defs[] = {
    {.name = "InitializeTableFromTextFileV2",
     .inputs = "table_handle:resource filename:string[]",
     .outputs = "",
     .attrs = "key_index:int value_index:int vocab_size:int=-1 delimiter:string='\t' offset:int=0",
     .python = "",
     .doc = "Fills a static table from a text file: an index selects a column, -1 the line number, "
            "-2 the whole line.",
     .args = "filename: Name of the file, a scalar.\n"
             "key_index: Column of the keys.\n"
             "value_index: Column of the values.\n"
             "vocab_size: Number of lines to read; -1 reads all.\n"
             "delimiter: Character between columns.\n"
             "offset: Number of lines to skip at the beginning.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_NO_GRADIENT,
     .shape = file_shape,
     .compute = compute_from_text_file},
};

OP_FAMILY(lookup_text_file, op_defs);
