/* SPDX-License-Identifier: Apache-2.0
 * compiler.c: see compiler.h. */
#include "backend/cuda/compiler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NVRTC_NEED(result, name, args) DL_SYMBOL(struct nvrtc_functions, name)
static const struct dl_symbol symbols[] = {NVRTC_FUNCTIONS(NVRTC_NEED)};

/* All versions, the newest first. */
static const struct {
  int major;
  const char *const names[3];
} libraries[] = {{13, {"libnvrtc.so.13", NULL}},
                 {12, {"libnvrtc.so.12", NULL}},
                 {11, {"libnvrtc.so.11.2", NULL}},
                 {0, {"libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so", NULL}}};
enum { N_LIBRARIES = 4 };

static struct compiler compilers[N_LIBRARIES];
static bool is_tried[N_LIBRARIES];
static char why_not[N_LIBRARIES][DL_WHY];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Loads a version at the first call; called with the lock. */
static struct compiler *load(int i) {
  struct compiler *compiler = &compilers[i];
  const struct nvrtc_functions *nvrtc = &compiler->nvrtc;
  if (is_tried[i]) return compiler->n_archs ? compiler : NULL;
  is_tried[i] = true;
  if (!dl_load(libraries[i].names, symbols, (int)COUNT_OF(symbols), &compiler->nvrtc, why_not[i]))
    return NULL;
  int count = 0;
  if (nvrtc->nvrtcVersion(&compiler->major, &compiler->minor) ||
      nvrtc->nvrtcGetNumSupportedArchs(&count) || count > COMPILER_ARCHS ||
      nvrtc->nvrtcGetSupportedArchs(compiler->archs))
    count = 0;
  compiler->n_archs = count;
  qsort(compiler->archs, (size_t)count, sizeof *compiler->archs, by_number);
  return count ? compiler : NULL;
}

static bool fits(const struct compiler *compiler, int arch) {
  return compiler && compiler->archs[0] <= arch;
}

/* First the driver's own version, then the newest. */
static const struct compiler *choose(int arch, int driver) {
  for (int i = 0; i < N_LIBRARIES; i++)
    if (libraries[i].major == driver / 1000 && fits(load(i), arch)) return &compilers[i];
  for (int i = 0; i < N_LIBRARIES; i++)
    if (fits(load(i), arch)) return &compilers[i];
  return NULL;
}

situ_status compiler_find(int arch, int driver, const struct compiler **out) {
  pthread_mutex_lock(&lock);
  *out = choose(arch, driver);
  int oldest = 0;
  for (int i = 0; i < N_LIBRARIES; i++)
    if (compilers[i].n_archs && (!oldest || compilers[i].archs[0] < oldest))
      oldest = compilers[i].archs[0];
  pthread_mutex_unlock(&lock);
  if (*out) return NULL;
  if (oldest)
    return situ_status_create(SITU_FAILED_PRECONDITION,
                              "The NVRTC that is installed compiles for GPUs of compute capability "
                              "%d.%d and newer, not for %d.%d: an older NVRTC is needed.",
                              oldest / 10, oldest % 10, arch / 10, arch % 10);
  return situ_status_create(SITU_FAILED_PRECONDITION,
                            "NVRTC, which compiles kernels for NVIDIA GPUs, is not installed (%s); "
                            "it is part of the CUDA toolkit, or pip install nvidia-cuda-nvrtc.",
                            why_not[0]);
}

bool compiler_knows(const struct compiler *compiler, int arch) {
  for (int i = 0; i < compiler->n_archs; i++)
    if (compiler->archs[i] == arch) return true;
  return false;
}

static int newest(const struct compiler *compiler, int arch) {
  int best = compiler->archs[0];
  for (int i = 0; i < compiler->n_archs; i++)
    if (compiler->archs[i] <= arch) best = compiler->archs[i];
  return best;
}

void compiler_options(const struct compiler *compiler, int arch, bool binary, char out[128]) {
  snprintf(out, 128, "--gpu-architecture=%s_%d --fmad=false -default-device",
           binary ? "sm" : "compute", newest(compiler, arch));
}

static nvrtc_result compile(const struct nvrtc_functions *nvrtc, nvrtc_program program,
                            char *options) {
  const char *words[8];
  int count = 0;
  char *rest = NULL;
  for (char *word = strtok_r(options, " ", &rest); word && count < 8;
       word = strtok_r(NULL, " ", &rest))
    words[count++] = word;
  return nvrtc->nvrtcCompileProgram(program, count, words);
}

/* The log of a program, or NULL. */
static char *log_of(const struct nvrtc_functions *nvrtc, nvrtc_program program) {
  size_t size = 0;
  if (nvrtc->nvrtcGetProgramLogSize(program, &size)) return NULL;
  char *log = calloc(1, size + 1);
  if (log) nvrtc->nvrtcGetProgramLog(program, log);
  return log;
}

static nvrtc_result take(const struct nvrtc_functions *nvrtc, nvrtc_program program, bool binary,
                         unsigned char **out, size_t *size) {
  nvrtc_result result = (binary ? nvrtc->nvrtcGetCUBINSize : nvrtc->nvrtcGetPTXSize)(program, size);
  if (result) return result;
  *out = malloc(*size + 1);
  if (!*out) return 1; /* NVRTC's own word for no memory */
  (*out)[*size] = 0;
  return (binary ? nvrtc->nvrtcGetCUBIN : nvrtc->nvrtcGetPTX)(program, (char *)*out);
}

nvrtc_result compiler_run(const struct compiler *compiler, const char *text, int arch, bool binary,
                          unsigned char **out, size_t *size, char **log) {
  const struct nvrtc_functions *nvrtc = &compiler->nvrtc;
  nvrtc_program program = NULL;
  char options[128];
  *out = NULL;
  *log = NULL;
  compiler_options(compiler, arch, binary, options);
  nvrtc_result result = nvrtc->nvrtcCreateProgram(&program, text, "situ", 0, NULL, NULL);
  if (result) return result;
  result = compile(nvrtc, program, options);
  if (result)
    *log = log_of(nvrtc, program);
  else
    result = take(nvrtc, program, binary, out, size);
  nvrtc->nvrtcDestroyProgram(&program);
  return result;
}
