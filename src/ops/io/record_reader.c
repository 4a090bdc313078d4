/* SPDX-License-Identifier: Apache-2.0
 * record_reader.c: see record_reader.h. */
#include "ops/io/record_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "ops/io/file_ops.h"
#include "ops/io/inflate.h"

enum { BLOCK = 1 << 16 };

void record_close(struct record_file *file) {
  if (file->stream) fclose(file->stream);
  free(file->path);
  strbuf_free(&file->window);
  file->stream = NULL;
  file->inflater = NULL;
  file->path = NULL;
}

static situ_status open_packed(struct record_file *file, const char *path) {
  struct inflated_file packed = {0};
  TRY(inflate_open(path, file->packing, &packed));
  file->stream = packed.stream;
  file->inflater = packed.inflater;
  file->size = SITU_ANY;
  file->max_record = limits_expansion((uint64_t)packed.packed_bytes);
  return NULL;
}

static situ_status open_plain(struct record_file *file, const char *path) {
  struct stat about;
  file->stream = fopen(path, "rb");
  if (!file->stream || fstat(fileno(file->stream), &about)) return file_failure(path, errno);
  if (S_ISDIR(about.st_mode)) return file_failure(path, EISDIR);
  const bool can_seek = !fseeko(file->stream, 0, SEEK_END);
  file->size = can_seek ? ftello(file->stream) : SITU_ANY;
  file->max_record = can_seek ? (uint64_t)file->size : limits_expansion(0);
  rewind(file->stream);
  return NULL;
}

/* The reason why the stream ends: NULL at the end of the file. */
static situ_status stream_error(struct record_file *file) {
  if (!ferror(file->stream)) return NULL;
  const int error = errno ? errno : EIO;
  const situ_status status = file->inflater ? inflate_take_error(file->inflater) : NULL;
  return status ? status : file_failure(file->path, error);
}

/* Reads and drops bytes. */
static void skip_bytes(struct record_file *file, int64_t count) {
  char block[BLOCK];
  for (size_t n = 1; count > 0 && n; count -= (int64_t)n)
    n = fread(block, 1, (size_t)(count < BLOCK ? count : BLOCK), file->stream);
}

situ_status record_open(struct record_file *file, const char *path) {
  record_close(file);
  file->path = strdup(path);
  file->offset = file->line = 0;
  situ_status status = file->path ? NULL : NO_MEMORY();
  if (!status) status = file->packing ? open_packed(file, path) : open_plain(file, path);
  if (!status && file->format == RECORD_FIXED) {
    skip_bytes(file, file->header_bytes);
    file->offset = file->header_bytes;
  }
  for (int64_t i = 0; !status && file->format == RECORD_LINE && i < file->skip; i++, file->line++)
    for (int c = getc(file->stream); c != EOF && c != '\n';) c = getc(file->stream);
  if (status) record_close(file);
  return status;
}

static situ_status read_whole(struct record_file *file, struct strbuf *key, struct strbuf *value,
                              bool *end) {
  *end = file->line++ > 0;
  if (*end) return NULL;
  strbuf_append(key, file->path);
  return file_read(file->path, value);
}

static situ_status too_long(const struct record_file *file) {
  return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                            "%s: the record at %lld has more than %llu bytes, the limit for a "
                            "file of its size. SITU_EXPANSION_LIMIT raises it.",
                            file->path, (long long)file->offset,
                            (unsigned long long)file->max_record);
}

/* Reads a line of a compressed file, which may expand to any length. */
static situ_status read_packed_line(struct record_file *file, struct strbuf *out, bool *end) {
  char block[BLOCK];
  size_t count = 0, total = 0;
  int c = EOF;
  while ((c = getc_unlocked(file->stream)) != EOF && c != '\n') {
    block[count++] = (char)c;
    if (count < BLOCK) continue;
    total += count;
    if (total > file->max_record) return too_long(file);
    strbuf_append_n(out, block, count);
    count = 0;
  }
  strbuf_append_n(out, block, count);
  *end = c == EOF && !total && !count;
  return c == EOF ? stream_error(file) : NULL;
}

static situ_status read_plain_line(struct record_file *file, struct strbuf *out, bool *end) {
  char *line = NULL;
  size_t capacity = 0;
  errno = 0;
  ssize_t length = getline(&line, &capacity, file->stream);
  *end = length < 0;
  const bool has_memory = !*end || errno != ENOMEM;
  if (length > 0 && line[length - 1] == '\n') length--;
  if (!*end) strbuf_append_n(out, line, (size_t)length);
  free(line);
  if (!has_memory) return NO_MEMORY();
  return *end ? stream_error(file) : NULL;
}

static situ_status read_line(struct record_file *file, struct strbuf *key, struct strbuf *value,
                             bool *end) {
  const size_t begin = value->length;
  TRY(file->inflater ? read_packed_line(file, value, end) : read_plain_line(file, value, end));
  if (*end) return NULL;
  if (value->length > begin && !value->failed && value->data[value->length - 1] == '\r')
    value->data[--value->length] = 0;
  strbuf_appendf(key, "%s:%lld", file->path, (long long)++file->line);
  return NULL;
}

/* Appends at most `bytes` bytes; allocates only what the file has. */
static situ_status append_bytes(struct record_file *file, uint64_t bytes, struct strbuf *out) {
  char block[BLOCK];
  for (size_t n = 1; bytes > 0 && n && !out->failed; bytes -= n) {
    n = fread(block, 1, bytes < BLOCK ? (size_t)bytes : BLOCK, file->stream);
    strbuf_append_n(out, block, n);
  }
  if (out->failed) return NO_MEMORY();
  return bytes ? stream_error(file) : NULL;
}

static situ_status read_bytes(struct record_file *file, uint64_t bytes, struct strbuf *out) {
  const size_t begin = out->length;
  TRY(append_bytes(file, bytes, out));
  if (out->length - begin == bytes) return NULL;
  return situ_status_create(SITU_DATA_LOSS, "truncated record at %lld in %s",
                            (long long)file->offset, file->path);
}

/* Drops the bytes that the next record does not overlap. */
static void advance(struct record_file *file) {
  struct strbuf *window = &file->window;
  const size_t hop = (size_t)file->hop_bytes;
  const size_t used = hop < window->length ? hop : window->length;
  memmove(window->data, window->data + used, window->length - used);
  window->length -= used;
  skip_bytes(file, (int64_t)(hop - used));
  file->offset += file->hop_bytes;
}

/* The window has the bytes of a record and of a footer that may follow it. */
static situ_status read_fixed(struct record_file *file, struct strbuf *key, struct strbuf *value,
                              bool *end) {
  struct strbuf *window = &file->window;
  const uint64_t wanted = (uint64_t)file->record_bytes + (uint64_t)file->footer_bytes;
  if (file->size == SITU_ANY && wanted > file->max_record) return too_long(file);
  TRY(append_bytes(file, wanted - window->length, window));
  *end = window->length < wanted;
  if (*end) {
    file->size = file->offset + (int64_t)window->length;
    return NULL;
  }
  strbuf_appendf(key, "%s:%lld", file->path, (long long)file->line++);
  strbuf_append_n(value, window->data, (size_t)file->record_bytes);
  advance(file);
  return NULL;
}

static situ_status corrupted(const struct record_file *file) {
  return situ_status_create(SITU_DATA_LOSS, "corrupted record at %lld in %s",
                            (long long)file->offset, file->path);
}

/* Reads the length of the next record. */
static situ_status read_length(struct record_file *file, uint64_t *length, bool *end) {
  struct strbuf head = {0};
  situ_status status = append_bytes(file, 12, &head);
  *end = !status && !head.length;
  if (head.length == 12)
    memcpy(length, strbuf_get(&head), sizeof *length);
  else if (!*end && !status)
    status = situ_status_create(SITU_DATA_LOSS, "truncated record at %lld in %s",
                                (long long)file->offset, file->path);
  if (!status && !*end && !file_crc_matches(strbuf_get(&head), 8, strbuf_get(&head) + 8))
    status = corrupted(file);
  strbuf_free(&head);
  return status;
}

static situ_status read_tf_record(struct record_file *file, struct strbuf *key,
                                  struct strbuf *value, bool *end) {
  uint64_t length = 0;
  TRY(read_length(file, &length, end));
  if (*end) return NULL;
  if (length > file->max_record)
    return file->size == SITU_ANY
               ? too_long(file)
               : situ_status_create(SITU_DATA_LOSS, "truncated record at %lld in %s",
                                    (long long)file->offset, file->path);
  struct strbuf crc = {0};
  const size_t begin = value->length;
  strbuf_appendf(key, "%s:%lld", file->path, (long long)file->offset);
  situ_status status = read_bytes(file, length, value);
  if (!status) status = read_bytes(file, 4, &crc);
  if (!status && !file_crc_matches(strbuf_get(value) + begin, (size_t)length, strbuf_get(&crc)))
    status = corrupted(file);
  file->offset += (int64_t)length + 16;
  strbuf_free(&crc);
  return status;
}

situ_status record_next(struct record_file *file, struct strbuf *key, struct strbuf *value,
                        bool *end) {
  static situ_status (*const formats[])(struct record_file *, struct strbuf *, struct strbuf *,
                                        bool *) = {read_whole, read_line, read_fixed,
                                                   read_tf_record};
  return formats[file->format](file, key, value, end);
}
