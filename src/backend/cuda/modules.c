/* SPDX-License-Identifier: Apache-2.0
 * modules.c: see modules.h. A module is one kernel in one type. Machine code is tried first: the
 * driver then has nothing to compile, and takes it also from an NVRTC that is newer than itself.
 * PTX is for GPUs that are newer than NVRTC, and for drivers that take nothing else. */
#include "backend/cuda/modules.h"

#include <stdlib.h>
#include <string.h>

#include "host/kernel_cache.h"
#include "host/kernel_source.h"

void modules_begin(struct modules *modules, const struct card *card) {
  *modules = (struct modules){.card = card};
  pthread_mutex_init(&modules->lock, NULL);
}

void modules_end(struct modules *modules) {
  while (modules->list) {
    struct loaded *first = modules->list;
    modules->list = first->next;
    cuda.cuModuleUnload(first->module);
    free(first);
  }
  pthread_mutex_destroy(&modules->lock);
}

static int arch_of(const struct card *card) {
  return card->info.capability_major * 10 + card->info.capability_minor;
}

static situ_status find_compiler(struct modules *modules) {
  int driver = 0;
  if (modules->compiler) return NULL;
  if (cuda.cuDriverGetVersion(&driver) != CUDA_OK) driver = 0;
  return compiler_find(arch_of(modules->card), driver, &modules->compiler);
}

/* ---- Compiling ---- */

/* What the compiler said, at most its first thousand characters. */
static situ_status compile_error(const struct modules *modules, const struct kernel *kernel,
                                 nvrtc_result result, char *log) {
  const situ_status status = situ_status_create(
      SITU_INTERNAL, "Kernel '%s' does not compile for %s: %s\n%.1000s", kernel->name,
      modules->card->label, modules->compiler->nvrtc.nvrtcGetErrorString(result), log ? log : "");
  free(log);
  return status;
}

static struct kernel_cache_key key_of(const struct modules *modules, const char *text,
                                      bool binary) {
  char options[128], version[64];
  compiler_options(modules->compiler, arch_of(modules->card), binary, options);
  snprintf(version, sizeof version, "NVRTC %d.%d", modules->compiler->major,
           modules->compiler->minor);
  return kernel_cache_make_key((const char *const[]){version, options, text, NULL});
}

/* The image of a text, from the cache or from the compiler; `kept` where it came from the cache. */
static situ_status make_image(const struct modules *modules, const struct kernel *kernel,
                              const char *text, bool binary, unsigned char **out) {
  size_t size = 0;
  char *log = NULL;
  const struct kernel_cache_key key = key_of(modules, text, binary);
  *out = kernel_cache_read(&key, &size);
  if (*out) return NULL;
  const nvrtc_result result =
      compiler_run(modules->compiler, text, arch_of(modules->card), binary, out, &size, &log);
  if (result) {
    free(*out);
    *out = NULL;
    return compile_error(modules, kernel, result, log);
  }
  kernel_cache_write(&key, *out, size + 1); /* with the zero that ends a text */
  return NULL;
}

static bool wants_other_image(cuda_result result) {
  return result == CUDA_NO_BINARY || result == CUDA_INVALID_IMAGE || result == CUDA_INVALID_PTX ||
         result == CUDA_UNSUPPORTED_PTX || result == CUDA_NOT_SUPPORTED;
}

/* What the driver said of an image, and what it may have said while it compiled. */
struct verdict {
  cuda_result result;
  char log[1024];
};

static cuda_result give(cuda_module *out, const void *image, struct verdict *verdict) {
  unsigned options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_SIZE};
  void *values[] = {verdict->log, (void *)(sizeof verdict->log - 1)};
  memset(verdict->log, 0, sizeof verdict->log);
  return cuda.cuModuleLoadDataEx(out, image, COUNT_OF(options), options, values);
}

/* Makes an image and gives it to the driver. */
static situ_status load_as(const struct modules *modules, const struct kernel *kernel,
                           const char *text, bool binary, cuda_module *out,
                           struct verdict *verdict) {
  unsigned char *image = NULL;
  TRY(make_image(modules, kernel, text, binary, &image));
  verdict->result = give(out, image, verdict);
  free(image);
  return NULL;
}

/* A driver takes what NVRTC of its own major version makes, not that of a newer one. */
static situ_status load_error(const struct modules *modules, const struct kernel *kernel,
                              const struct verdict *verdict) {
  const struct compiler *compiler = modules->compiler;
  int driver = 0;
  char doing[160];
  snprintf(doing, sizeof doing, "loading kernel '%s'", kernel->name);
  situ_status status = cuda_status(verdict->result, modules->card->label, doing);
  if (*verdict->log) status = status_note(status, "%s", verdict->log);
  if (!wants_other_image(verdict->result) || cuda.cuDriverGetVersion(&driver) != CUDA_OK ||
      driver / 1000 >= compiler->major)
    return status;
  return status_note(status,
                     "NVRTC %d.%d is newer than the driver, which is for CUDA %d.%d: a newer "
                     "driver is needed, or NVRTC %d (pip install nvidia-cuda-nvrtc-cu%d).",
                     compiler->major, compiler->minor, driver / 1000, driver % 1000 / 10,
                     driver / 1000, driver / 1000);
}

static situ_status load(struct modules *modules, const struct kernel *kernel, const char *text,
                        cuda_module *out) {
  const bool binary =
      !modules->refuses_binaries && compiler_knows(modules->compiler, arch_of(modules->card));
  struct verdict verdict;
  TRY(load_as(modules, kernel, text, binary, out, &verdict));
  if (binary && wants_other_image(verdict.result)) {
    modules->refuses_binaries = true;
    TRY(load_as(modules, kernel, text, false, out, &verdict));
  }
  return verdict.result == CUDA_OK ? NULL : load_error(modules, kernel, &verdict);
}

static situ_status compile(struct modules *modules, const struct kernel *kernel, situ_type type,
                           struct loaded *out) {
  static const struct kernel_source_target target = {
      .head = "", .prelude = "kernel/cuda.h", .has_half = true, .has_double = true};
  struct strbuf text = {0};
  char name[128];
  TRY(find_compiler(modules));
  situ_status status = kernel_source_write(kernel, type, &target, &text);
  if (!status) status = load(modules, kernel, strbuf_get(&text), &out->module);
  strbuf_free(&text);
  if (status) return status;
  snprintf(name, sizeof name, "situ_%s", kernel->name);
  return cuda_status(cuda.cuModuleGetFunction(&out->function, out->module, name),
                     modules->card->label, "finding a kernel");
}

/* ---- Kernels ---- */

/* Called with the lock. */
static situ_status find(struct modules *modules, const struct kernel *kernel, situ_type type,
                        cuda_function *out) {
  const char *word = kernel_source_type_name(kernel, type);
  const struct loaded *at = modules->list;
  while (at && (at->kernel != kernel || at->word != word)) at = at->next;
  if (at) {
    *out = at->function;
    return NULL;
  }
  struct loaded *new = calloc(1, sizeof *new);
  if (!new) return NO_MEMORY();
  *new = (struct loaded){.next = modules->list, .kernel = kernel, .word = word};
  const situ_status status = compile(modules, kernel, type, new);
  if (status) {
    if (new->module) cuda.cuModuleUnload(new->module);
    free(new);
    return status;
  }
  modules->list = new;
  *out = new->function;
  return NULL;
}

situ_status modules_kernel(struct modules *modules, const struct kernel *kernel, situ_type type,
                           cuda_function *out) {
  if (!kernel_source_supports(kernel, type, true, true))
    return situ_status_create(SITU_UNIMPLEMENTED, "Kernel '%s' has no form for type %s on %s.",
                              kernel->name, situ_type_name(type), modules->card->label);
  pthread_mutex_lock(&modules->lock);
  const situ_status status = find(modules, kernel, type, out);
  pthread_mutex_unlock(&modules->lock);
  return status;
}
