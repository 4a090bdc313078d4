/* SPDX-License-Identifier: Apache-2.0
 * record_reader.c: see record_reader.h. */
#include "ops/io/record_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "ops/io/file_ops.h"
#include "ops/io/inflate.h"

void record_close(struct record_file *file) {
  if (file->stream) fclose(file->stream);
  free(file->path);
  strbuf_free(&file->unpacked);
  file->stream = NULL;
  file->path = NULL;
}

/* The stream of a file, or of what a packed one holds. */
static situ_status open_stream(struct record_file *file, const char *path) {
  struct strbuf *all = &file->unpacked;
  if (file->packing) TRY(inflate_file(path, file->packing, all));
  if (file->packing && all->length)
    file->stream = fmemopen(all->data, all->length, "rb");
  else
    file->stream = fopen(file->packing ? "/dev/null" : path, "rb");
  return NULL;
}

situ_status record_open(struct record_file *file, const char *path) {
  record_close(file);
  file->path = strdup(path);
  const situ_status status = open_stream(file, path);
  if (status) {
    record_close(file);
    return status;
  }
  struct stat about;
  const bool is_folder =
      file->stream && !fstat(fileno(file->stream), &about) && S_ISDIR(about.st_mode);
  if (!file->path || !file->stream || is_folder) {
    const int error = is_folder ? EISDIR : errno;
    record_close(file);
    return file_failure(path, error);
  }
  fseeko(file->stream, 0, SEEK_END);
  file->size = ftello(file->stream);
  file->offset = file->header_bytes;
  file->line = 0;
  fseeko(file->stream, file->offset, SEEK_SET);
  for (int64_t i = 0; file->format == RECORD_LINE && i < file->skip; i++, file->line++)
    for (int c = getc(file->stream); c != EOF && c != '\n';) c = getc(file->stream);
  return NULL;
}

static situ_status read_whole(struct record_file *file, struct strbuf *key, struct strbuf *value,
                              bool *end) {
  *end = file->line++ > 0;
  if (*end) return NULL;
  strbuf_append(key, file->path);
  return file_read(file->path, value);
}

static situ_status read_line(struct record_file *file, struct strbuf *key, struct strbuf *value,
                             bool *end) {
  char *line = NULL;
  size_t room = 0;
  ssize_t length = getline(&line, &room, file->stream);
  *end = length < 0;
  if (length > 0 && line[length - 1] == '\n') length--;
  if (length > 0 && line[length - 1] == '\r') length--;
  if (!*end) {
    strbuf_appendf(key, "%s:%lld", file->path, (long long)++file->line);
    strbuf_append_n(value, line, (size_t)length);
  }
  free(line);
  return NULL;
}

static situ_status read_bytes(struct record_file *file, size_t bytes, struct strbuf *out) {
  char *data = malloc(bytes + 1);
  if (!data) return NO_MEMORY();
  const size_t got = fread(data, 1, bytes, file->stream);
  strbuf_append_n(out, data, got);
  free(data);
  if (got == bytes) return NULL;
  return situ_status_create(SITU_DATA_LOSS, "truncated record at %lld in %s",
                            (long long)file->offset, file->path);
}

static situ_status read_fixed(struct record_file *file, struct strbuf *key, struct strbuf *value,
                              bool *end) {
  *end = file->offset + file->record_bytes > file->size - file->footer_bytes;
  if (*end) return NULL;
  fseeko(file->stream, file->offset, SEEK_SET);
  strbuf_appendf(key, "%s:%lld", file->path, (long long)file->line++);
  TRY(read_bytes(file, (size_t)file->record_bytes, value));
  file->offset += file->hop_bytes;
  return NULL;
}

static situ_status read_tf_record(struct record_file *file, struct strbuf *key,
                                  struct strbuf *value, bool *end) {
  *end = file->offset >= file->size;
  if (*end) return NULL;
  struct strbuf head = {0}, crc = {0};
  uint64_t length = 0;
  situ_status status = read_bytes(file, 12, &head);
  if (!status) memcpy(&length, strbuf_get(&head), sizeof length);
  if (!status && !file_crc_matches(strbuf_get(&head), 8, strbuf_get(&head) + 8))
    status = situ_status_create(SITU_DATA_LOSS, "corrupted record at %lld in %s",
                                (long long)file->offset, file->path);
  if (!status && length > (uint64_t)file->size)
    status = situ_status_create(SITU_DATA_LOSS, "truncated record at %lld in %s",
                                (long long)file->offset, file->path);
  strbuf_appendf(key, "%s:%lld", file->path, (long long)file->offset);
  if (!status) status = read_bytes(file, (size_t)length, value);
  if (!status) status = read_bytes(file, 4, &crc);
  if (!status && !file_crc_matches(strbuf_get(value), (size_t)length, strbuf_get(&crc)))
    status = situ_status_create(SITU_DATA_LOSS, "corrupted record at %lld in %s",
                                (long long)file->offset, file->path);
  file->offset += (int64_t)length + 16;
  strbuf_free(&head);
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
