/* SPDX-License-Identifier: Apache-2.0
 * compiler.c: NVRTC, NVIDIA's run-time compiler, loaded in the installed version that suits the GPU
 * and the driver. */
#include "backend/cuda/compiler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NVRTC_NEED(result, name, args) DL_SYMBOL(struct nvrtc_functions, name)
static const struct dl_symbol symbols[] = {NVRTC_FUNCTIONS(NVRTC_NEED)};

/* All versions, newest first. */
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
static char load_errors[N_LIBRARIES][DL_REASON_SIZE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int compare_ints(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Loads a version on the first call. Must hold the lock. */
static struct compiler *load(int i) {
  struct compiler *compiler = &compilers[i];
  const struct nvrtc_functions *nvrtc = &compiler->nvrtc;
  if (is_tried[i]) return compiler->n_archs ? compiler : NULL;
  is_tried[i] = true;
  if (!dl_load(libraries[i].names, symbols, (int)COUNT_OF(symbols), &compiler->nvrtc,
               load_errors[i]))
    return NULL;
  int count = 0;
  if (nvrtc->nvrtcVersion(&compiler->major, &compiler->minor) ||
      nvrtc->nvrtcGetNumSupportedArchs(&count) || count > COMPILER_ARCHS ||
      nvrtc->nvrtcGetSupportedArchs(compiler->archs))
    count = 0;
  compiler->n_archs = count;
  qsort(compiler->archs, (size_t)count, sizeof *compiler->archs, compare_ints);
  return count ? compiler : NULL;
}

static bool supports_arch(const struct compiler *compiler, int arch) {
  return compiler && compiler->archs[0] <= arch;
}

/* Prefers the driver's own version, then the newest. */
static const struct compiler *select_compiler(int arch, int driver) {
  for (int i = 0; i < N_LIBRARIES; i++)
    if (libraries[i].major == driver / 1000 && supports_arch(load(i), arch)) return &compilers[i];
  for (int i = 0; i < N_LIBRARIES; i++)
    if (supports_arch(load(i), arch)) return &compilers[i];
  return NULL;
}

situ_status compiler_find(int arch, int driver, const struct compiler **out) {
  pthread_mutex_lock(&lock);
  *out = select_compiler(arch, driver);
  int oldest = 0;
  for (int i = 0; i < N_LIBRARIES; i++)
    if (compilers[i].n_archs && (!oldest || compilers[i].archs[0] < oldest))
      oldest = compilers[i].archs[0];
  pthread_mutex_unlock(&lock);
  if (*out) return NULL;
  if (oldest)
    return situ_status_create(SITU_FAILED_PRECONDITION,
                              "The installed NVRTC supports GPUs of compute capability "
                              "%d.%d and newer, not %d.%d: install an older NVRTC.",
                              oldest / 10, oldest % 10, arch / 10, arch % 10);
  return situ_status_create(SITU_FAILED_PRECONDITION,
                            "NVRTC, which compiles kernels for NVIDIA GPUs, is not installed (%s); "
                            "it is part of the CUDA toolkit, or pip install nvidia-cuda-nvrtc.",
                            load_errors[0]);
}

bool compiler_supports(const struct compiler *compiler, int arch) {
  for (int i = 0; i < compiler->n_archs; i++)
    if (compiler->archs[i] == arch) return true;
  return false;
}

static int newest_arch(const struct compiler *compiler, int arch) {
  int best = compiler->archs[0];
  for (int i = 0; i < compiler->n_archs; i++)
    if (compiler->archs[i] <= arch) best = compiler->archs[i];
  return best;
}

void compiler_options(const struct compiler *compiler, int arch, bool binary, char out[128]) {
  snprintf(out, 128, "--gpu-architecture=%s_%d --fmad=false -default-device",
           binary ? "sm" : "compute", newest_arch(compiler, arch));
}

static nvrtc_result compile(const struct nvrtc_functions *nvrtc, nvrtc_program program,
                            char *options) {
  const char *args[8];
  int count = 0;
  char *rest = NULL;
  for (char *arg = strtok_r(options, " ", &rest); arg && count < 8;
       arg = strtok_r(NULL, " ", &rest))
    args[count++] = arg;
  return nvrtc->nvrtcCompileProgram(program, count, args);
}

/* Returns the log of a program, or NULL. */
static char *get_log(const struct nvrtc_functions *nvrtc, nvrtc_program program) {
  size_t size = 0;
  if (nvrtc->nvrtcGetProgramLogSize(program, &size)) return NULL;
  char *log = calloc(1, size + 1);
  if (log) nvrtc->nvrtcGetProgramLog(program, log);
  return log;
}

static nvrtc_result get_image(const struct nvrtc_functions *nvrtc, nvrtc_program program,
                              bool binary, unsigned char **out, size_t *size) {
  nvrtc_result result = (binary ? nvrtc->nvrtcGetCUBINSize : nvrtc->nvrtcGetPTXSize)(program, size);
  if (result) return result;
  *out = malloc(*size + 1);
  if (!*out) return 1; /* NVRTC_ERROR_OUT_OF_MEMORY */
  (*out)[*size] = 0;
  return (binary ? nvrtc->nvrtcGetCUBIN : nvrtc->nvrtcGetPTX)(program, (char *)*out);
}

nvrtc_result compiler_run(const struct compiler *compiler, const char *source, int arch,
                          bool binary, unsigned char **out, size_t *size, char **log) {
  const struct nvrtc_functions *nvrtc = &compiler->nvrtc;
  nvrtc_program program = NULL;
  char options[128];
  *out = NULL;
  *log = NULL;
  compiler_options(compiler, arch, binary, options);
  nvrtc_result result = nvrtc->nvrtcCreateProgram(&program, source, "situ", 0, NULL, NULL);
  if (result) return result;
  result = compile(nvrtc, program, options);
  if (result)
    *log = get_log(nvrtc, program);
  else
    result = get_image(nvrtc, program, binary, out, size);
  nvrtc->nvrtcDestroyProgram(&program);
  return result;
}
