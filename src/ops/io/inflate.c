/* SPDX-License-Identifier: Apache-2.0
 * inflate.c: see inflate.h. */
#include "ops/io/inflate.h"

#include <pthread.h>
#include <string.h>

#include "base/dl.h"
#include "base/strbuf.h"
#include "ops/io/file_ops.h"

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
enum { PIECE = 1 << 16, MOST_AT_ONCE = 1 << 30 };

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

/* One step; `*end`: all has been unpacked. Several parts may follow each other. */
static situ_status step(struct stream *stream, const struct strbuf *packed, const char *path,
                        struct strbuf *out, bool *end) {
  unsigned char piece[PIECE];
  const size_t used = (size_t)(stream->in - (const unsigned char *)packed->data);
  const size_t left = packed->length - used;
  stream->in_left = (unsigned)(left < MOST_AT_ONCE ? left : MOST_AT_ONCE);
  stream->out = piece;
  stream->out_left = PIECE;
  const int result = zlib.inflate(stream, 0);
  strbuf_append_n(out, (const char *)piece, PIECE - stream->out_left);
  const bool over = stream->in == (const unsigned char *)packed->data + packed->length;
  *end = result == STREAM_END && over;
  if (result == STREAM_END && !over) return zlib.inflateReset(stream) ? NO_MEMORY() : NULL;
  if (*end || result == STREAM_OK) return NULL;
  if (result == NEEDS_MORE && over)
    return situ_status_create(SITU_DATA_LOSS, "%s: damaged at byte %zu: the data end too early",
                              path, packed->length);
  return situ_status_create(SITU_DATA_LOSS,
                            "%s: damaged near byte %zu: inflate() failed with "
                            "error %d: %s",
                            path, used, result, stream->message ? stream->message : "wrong data");
}

static situ_status unpack(const struct strbuf *packed, int window, const char *path,
                          struct strbuf *out) {
  struct stream stream = {.in = (const unsigned char *)packed->data};
  if (zlib.inflateInit2_(&stream, window, "1.2.3", (int)sizeof stream))
    return INTERNAL("inflateInit failed.");
  situ_status status = NULL;
  for (bool end = false; !end && !status;) status = step(&stream, packed, path, out, &end);
  zlib.inflateEnd(&stream);
  return !status && out->failed ? NO_MEMORY() : status;
}

situ_status inflate_file(const char *path, const char *how, struct strbuf *out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const bool gzip = !strcmp(how, "GZIP");
  if (!gzip && strcmp(how, "ZLIB") != 0) return INVALID("Unsupported compression_type.");
  pthread_once(&once, load);
  if (!is_loaded) return dl_missing(gzip ? "GZIP" : "ZLIB", "libz.so.1", "zlib1g", why_not);
  struct strbuf packed = {0};
  situ_status status = file_read(path, &packed);
  if (!status && packed.length)
    status = unpack(&packed, WINDOW + (gzip ? GZIP_HEAD : 0), path, out);
  strbuf_free(&packed);
  return status;
}
