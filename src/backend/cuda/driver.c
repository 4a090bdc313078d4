/* SPDX-License-Identifier: Apache-2.0
 * driver.c: loads CUDA's driver; names its errors. */
#include "backend/cuda/driver.h"

#include <pthread.h>

struct cuda_functions cuda;

static const char *const libraries[] = {"libcuda.so.1", NULL};
#define CUDA_NEED(result, name, args) DL_SYMBOL(struct cuda_functions, name)
#define CUDA_MAY(result, name, args) DL_OPTION(struct cuda_functions, name)
static const struct dl_symbol symbols[] = {CUDA_FUNCTIONS(CUDA_NEED) CUDA_OPTIONS(CUDA_MAY)};

static bool is_loaded;
static char why_not[DL_WHY];

static void load(void) {
  char text[192];
  if (!dl_load(libraries, symbols, (int)COUNT_OF(symbols), &cuda, why_not)) return;
  const cuda_result result = cuda.cuInit(0);
  is_loaded = result == CUDA_OK;
  if (!is_loaded) snprintf(why_not, sizeof why_not, "cuInit: %s", cuda_error(result, text));
}

bool cuda_load(const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (!is_loaded) *why = why_not;
  return is_loaded;
}

const char *cuda_error(cuda_result result, char out[192]) {
  const char *name = NULL, *text = NULL;
  if (cuda.cuGetErrorName(result, &name) != CUDA_OK || !name) name = "CUDA error";
  if (cuda.cuGetErrorString(result, &text) != CUDA_OK || !text) text = "unknown";
  snprintf(out, 192, "%s (%u): %s", name, result, text);
  return out;
}

situ_status cuda_status(cuda_result result, const char *label, const char *doing) {
  if (result == CUDA_OK) return NULL;
  const bool memory = result == CUDA_OUT_OF_MEMORY;
  char text[192];
  return situ_status_create(memory ? SITU_RESOURCE_EXHAUSTED : SITU_UNAVAILABLE,
                            "%s failed %s: %s.", label, doing, cuda_error(result, text));
}
