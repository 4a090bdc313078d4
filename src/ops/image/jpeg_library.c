/* SPDX-License-Identifier: Apache-2.0
 * jpeg_library.c: see jpeg_library.h. */
#ifdef SITU_JPEG
#include "ops/image/jpeg_library.h"

#include <pthread.h>
#include <string.h>

#define NEEDED(result, name, args) DL_BUNDLED(struct jpeg_functions, name)
#ifdef SITU_BUNDLED
#define OPTIONAL(result, name, args) DL_BUNDLED(struct jpeg_functions, name)
#else
#define OPTIONAL(result, name, args) DL_OPTIONAL(struct jpeg_functions, name)
#endif

static struct jpeg_functions functions;
static char why_not[DL_REASON_SIZE];
static bool is_loaded;

static void fail(j_common_ptr codec) {
  struct jpeg_failure *failure = (struct jpeg_failure *)codec->err;
  codec->err->format_message(codec, failure->message);
  longjmp(failure->jump, 1);
}

static void ignore(j_common_ptr codec) { (void)codec; }

struct jpeg_error_mgr *jpeg_library_errors(const struct jpeg_functions *jpeg,
                                           struct jpeg_failure *failure) {
  jpeg->jpeg_std_error(&failure->base);
  failure->base.error_exit = fail;
  failure->base.output_message = ignore; /* warnings; the default prints them */
  return &failure->base;
}

bool jpeg_library_guard(struct jpeg_failure *failure, void (*step)(void *context), void *context) {
  if (setjmp(failure->jump)) return false;
  step(context);
  return true;
}

static void create(void *context) {
  functions.jpeg_CreateDecompress(context, JPEG_LIB_VERSION, sizeof(struct jpeg_decompress_struct));
}

/* Whether the structs of the library match the header: libjpeg compares version and size. */
static bool has_same_abi(void) {
  struct jpeg_failure failure = {0};
  struct jpeg_decompress_struct decoder = {.err = jpeg_library_errors(&functions, &failure)};
  const bool same = jpeg_library_guard(&failure, create, &decoder);
  if (same)
    functions.jpeg_destroy_decompress(&decoder);
  else
    snprintf(why_not, sizeof why_not, "%s", failure.message);
  return same;
}

#if JPEG_LIB_VERSION >= 80
#define LIBRARY "libjpeg.so.8"
#define PACKAGE "libjpeg-turbo8"
#else
#define LIBRARY "libjpeg.so.62"
#define PACKAGE "libjpeg62-turbo"
#endif

static void load(void) {
  static const char *const libraries[] = {LIBRARY, "libjpeg.so", NULL};
  static const struct dl_symbol symbols[] = {JPEG_FUNCTIONS(NEEDED) JPEG_TURBO_FUNCTIONS(OPTIONAL)};
  is_loaded =
      dl_load(libraries, symbols, (int)COUNT_OF(symbols), &functions, why_not) && has_same_abi();
}

situ_status jpeg_library_load(const struct jpeg_functions **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (!is_loaded) return dl_missing("JPEG", LIBRARY, PACKAGE, why_not);
  *out = &functions;
  return NULL;
}
#endif
