/* SPDX-License-Identifier: Apache-2.0
 * inflate.c: see inflate.h. */
#include "ops/io/inflate.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dl.h"
#include "base/file.h"

/* z_stream, as every zlib 1.x has it. */
struct stream {
  const unsigned char *in;
  unsigned in_left;
  unsigned long in_total;
  unsigned char *out;
  unsigned out_left;
  unsigned long out_total;
  const char *message;
  void *state, *alloc, *free, *context;
  int kind;
  unsigned long sum, reserved;
};

enum { STREAM_OK = 0, STREAM_END = 1, NEEDS_MORE = -5, WINDOW = 15, GZIP_HEAD = 16 };
#define FUNCTIONS(X)                                               \
  X(int, inflateInit2_, (struct stream *, int, const char *, int)) \
  X(int, inflate, (struct stream *, int))                          \
  X(int, inflateReset, (struct stream *))                          \
  X(int, inflateEnd, (struct stream *))
FUNCTIONS(DL_DECLARE)
static struct functions { FUNCTIONS(DL_FIELD) } zlib;
#define NEED(result, name, args) DL_BUNDLED(struct functions, name)
static const struct dl_symbol symbols[] = {FUNCTIONS(NEED)};
static const char *const libraries[] = {"libz.so.1", "libz.so", NULL};

static bool is_loaded;
static char why_not[DL_REASON_SIZE];

static void load(void) {
  is_loaded = dl_load(libraries, symbols, (int)COUNT_OF(symbols), &zlib, why_not);
}

enum { BUFFER_SIZE = 1 << 16 };

struct inflater {
  FILE *file;
  char *path;
  struct stream zlib;
  size_t bytes_read; /* of the file */
  bool has_begun;    /* a member: several may follow each other */
  situ_status status;
  unsigned char buffer[BUFFER_SIZE];
};

static situ_status damaged(const struct inflater *self, const char *what) {
  return situ_status_create(SITU_DATA_LOSS, "%s: damaged near byte %zu: %s", self->path,
                            self->bytes_read - self->zlib.in_left, what);
}

/* Reads compressed data if there is none left; false at the end of the file. */
static bool fill_buffer(struct inflater *self) {
  if (self->zlib.in_left) return true;
  const size_t count = fread(self->buffer, 1, BUFFER_SIZE, self->file);
  if (!count && ferror(self->file)) self->status = file_failure(self->path, errno);
  self->bytes_read += count;
  self->zlib.in = self->buffer;
  self->zlib.in_left = (unsigned)count;
  return count > 0;
}

/* Decompresses once; false at the end of the last member, or on failure. */
static bool step(struct inflater *self) {
  const bool has_data = fill_buffer(self);
  if (!has_data && !self->status && self->has_begun)
    self->status = damaged(self, "the data end too early");
  if (!has_data) return false;
  if (!self->has_begun && zlib.inflateReset(&self->zlib)) {
    self->status = NO_MEMORY();
    return false;
  }
  const int result = zlib.inflate(&self->zlib, 0);
  self->has_begun = result != STREAM_END;
  if (result != STREAM_OK && result != STREAM_END && result != NEEDS_MORE)
    self->status = damaged(self, self->zlib.message ? self->zlib.message : "wrong data");
  return !self->status;
}

/* The read function of the stream. */
static ssize_t read_stream(void *cookie, char *to, size_t count) {
  struct inflater *self = cookie;
  const unsigned capacity = (unsigned)(count < INT32_MAX ? count : INT32_MAX);
  self->zlib.out = (unsigned char *)to;
  self->zlib.out_left = capacity;
  while (self->zlib.out_left == capacity && !self->status && step(self)) continue;
  const ssize_t made = (ssize_t)(capacity - self->zlib.out_left);
  if (made || !self->status) return made;
  errno = EIO;
  return -1;
}

static void destroy(struct inflater *self) {
  if (self->file) fclose(self->file);
  if (self->zlib.state) zlib.inflateEnd(&self->zlib);
  situ_status_release(self->status);
  free(self->path);
  free(self);
}

static int close_stream(void *cookie) {
  destroy(cookie);
  return 0;
}

static situ_status open_file(struct inflater *self, const char *path, int window, int64_t *size) {
  struct stat about;
  self->path = strdup(path);
  self->file = fopen(path, "rb");
  if (!self->path) return NO_MEMORY();
  if (!self->file || fstat(fileno(self->file), &about)) return file_failure(path, errno);
  if (S_ISDIR(about.st_mode)) return file_failure(path, EISDIR);
  *size = about.st_size;
  return zlib.inflateInit2_(&self->zlib, window, "1.2.3", (int)sizeof self->zlib)
             ? INTERNAL("inflateInit failed.")
             : NULL;
}

situ_status inflate_open(const char *path, const char *how, struct inflated_file *out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const bool gzip = !strcmp(how, "GZIP");
  if (!gzip && strcmp(how, "ZLIB") != 0) return INVALID("Unsupported compression_type.");
  pthread_once(&once, load);
  if (!is_loaded) return dl_missing(gzip ? "GZIP" : "ZLIB", "libz.so.1", "zlib1g", why_not);
  struct inflater *self = calloc(1, sizeof *self);
  if (!self) return NO_MEMORY();
  situ_status status = open_file(self, path, WINDOW + (gzip ? GZIP_HEAD : 0), &out->packed_bytes);
  out->stream =
      status ? NULL
             : fopencookie(self, "rb",
                           (cookie_io_functions_t){.read = read_stream, .close = close_stream});
  if (!status && !out->stream) status = NO_MEMORY();
  out->inflater = status ? NULL : self;
  if (status) destroy(self);
  return status;
}

situ_status inflate_take_error(struct inflater *inflater) {
  const situ_status status = inflater->status;
  inflater->status = NULL;
  return status;
}
