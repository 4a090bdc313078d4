/* SPDX-License-Identifier: Apache-2.0
 * driver.c: loads the CUDA driver library and converts its errors to statuses. */
#include "backend/cuda/driver.h"

#include <pthread.h>

struct cuda_functions cuda;

static const char *const libraries[] = {"libcuda.so.1", NULL};
#define CUDA_REQUIRED(result, name, args) DL_SYMBOL(struct cuda_functions, name)
#define CUDA_OPTIONAL(result, name, args) DL_OPTIONAL(struct cuda_functions, name)
static const struct dl_symbol symbols[] = {CUDA_FUNCTIONS(CUDA_REQUIRED)
                                               CUDA_OPTIONS(CUDA_OPTIONAL)};

static bool is_loaded;
static char load_error[DL_REASON_SIZE];

static void load(void) {
  char message[192];
  if (!dl_load(libraries, symbols, (int)COUNT_OF(symbols), &cuda, load_error)) return;
  const cuda_result result = cuda.cuInit(0);
  is_loaded = result == CUDA_OK;
  if (!is_loaded)
    snprintf(load_error, sizeof load_error, "cuInit: %s", cuda_error(result, message));
}

bool cuda_load(const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (!is_loaded) *why = load_error;
  return is_loaded;
}

const char *cuda_error(cuda_result result, char out[192]) {
  const char *name = NULL, *message = NULL;
  if (cuda.cuGetErrorName(result, &name) != CUDA_OK || !name) name = "CUDA error";
  if (cuda.cuGetErrorString(result, &message) != CUDA_OK || !message) message = "unknown";
  snprintf(out, 192, "%s (%u): %s", name, result, message);
  return out;
}

situ_status cuda_status(cuda_result result, const char *label, const char *doing) {
  if (result == CUDA_OK) return NULL;
  const bool is_out_of_memory = result == CUDA_OUT_OF_MEMORY;
  char message[192];
  return situ_status_create(is_out_of_memory ? SITU_RESOURCE_EXHAUSTED : SITU_UNAVAILABLE,
                            "%s failed %s: %s.", label, doing, cuda_error(result, message));
}
