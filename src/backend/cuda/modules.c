/* SPDX-License-Identifier: Apache-2.0
 * modules.c: the compiled kernels of a GPU; a module is one kernel for one element type. Machine
 * code is preferred, which needs no compilation by the driver and works with an NVRTC newer than
 * the driver. PTX is used for GPUs newer than NVRTC and for drivers that reject machine code. */
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
    struct loaded_kernel *first = modules->list;
    modules->list = first->next;
    cuda.cuModuleUnload(first->module);
    free(first);
  }
  pthread_mutex_destroy(&modules->lock);
}

static int get_arch(const struct card *card) {
  return card->info.capability_major * 10 + card->info.capability_minor;
}

static situ_status find_compiler(struct modules *modules) {
  int driver = 0;
  if (modules->compiler) return NULL;
  if (cuda.cuDriverGetVersion(&driver) != CUDA_OK) driver = 0;
  return compiler_find(get_arch(modules->card), driver, &modules->compiler);
}

/* ---- Compiling ---- */

/* Builds the error with the first 1000 characters of the compiler's log. */
static situ_status compile_error(const struct modules *modules, const struct kernel *kernel,
                                 nvrtc_result result, char *log) {
  const situ_status status = situ_status_create(
      SITU_INTERNAL, "Kernel '%s' does not compile for %s: %s\n%.1000s", kernel->name,
      modules->card->label, modules->compiler->nvrtc.nvrtcGetErrorString(result), log ? log : "");
  free(log);
  return status;
}

static struct kernel_cache_key make_key(const struct modules *modules, const char *source,
                                        bool binary) {
  char options[128], version[64];
  compiler_options(modules->compiler, get_arch(modules->card), binary, options);
  snprintf(version, sizeof version, "NVRTC %d.%d", modules->compiler->major,
           modules->compiler->minor);
  return kernel_cache_make_key((const char *const[]){version, options, source, NULL});
}

/* Returns the image of a source, from the cache or from the compiler. */
static situ_status make_image(const struct modules *modules, const struct kernel *kernel,
                              const char *source, bool binary, unsigned char **out) {
  size_t size = 0;
  char *log = NULL;
  const struct kernel_cache_key key = make_key(modules, source, binary);
  *out = kernel_cache_read(&key, &size);
  if (*out) return NULL;
  const nvrtc_result result =
      compiler_run(modules->compiler, source, get_arch(modules->card), binary, out, &size, &log);
  if (result) {
    free(*out);
    *out = NULL;
    return compile_error(modules, kernel, result, log);
  }
  kernel_cache_write(&key, *out, size + 1); /* with the terminator */
  return NULL;
}

static bool is_image_rejected(cuda_result result) {
  return result == CUDA_NO_BINARY || result == CUDA_INVALID_IMAGE || result == CUDA_INVALID_PTX ||
         result == CUDA_UNSUPPORTED_PTX || result == CUDA_NOT_SUPPORTED;
}

/* Result and log of cuModuleLoadDataEx. */
struct load_result {
  cuda_result result;
  char log[1024];
};

static cuda_result load_image(cuda_module *out, const void *image,
                              struct load_result *load_result) {
  unsigned options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_SIZE};
  void *values[] = {load_result->log, (void *)(sizeof load_result->log - 1)};
  memset(load_result->log, 0, sizeof load_result->log);
  return cuda.cuModuleLoadDataEx(out, image, COUNT_OF(options), options, values);
}

/* Compiles an image and loads it. */
static situ_status compile_and_load(const struct modules *modules, const struct kernel *kernel,
                                    const char *source, bool binary, cuda_module *out,
                                    struct load_result *load_result) {
  unsigned char *image = NULL;
  TRY(make_image(modules, kernel, source, binary, &image));
  load_result->result = load_image(out, image, load_result);
  free(image);
  return NULL;
}

/* Adds advice if NVRTC is newer than the driver: a driver accepts the output of its own major
 * version only. */
static situ_status load_error(const struct modules *modules, const struct kernel *kernel,
                              const struct load_result *load_result) {
  const struct compiler *compiler = modules->compiler;
  int driver = 0;
  char doing[160];
  snprintf(doing, sizeof doing, "loading kernel '%s'", kernel->name);
  situ_status status = cuda_status(load_result->result, modules->card->label, doing);
  if (*load_result->log) status = status_note(status, "%s", load_result->log);
  if (!is_image_rejected(load_result->result) || cuda.cuDriverGetVersion(&driver) != CUDA_OK ||
      driver / 1000 >= compiler->major)
    return status;
  return status_note(
      status,
      "NVRTC %d.%d is newer than the driver, which supports CUDA %d.%d: install a newer "
      "driver or NVRTC %d (pip install nvidia-cuda-nvrtc-cu%d).",
      compiler->major, compiler->minor, driver / 1000, driver % 1000 / 10, driver / 1000,
      driver / 1000);
}

static situ_status load_module(struct modules *modules, const struct kernel *kernel,
                               const char *source, cuda_module *out) {
  const bool binary =
      !modules->refuses_binaries && compiler_supports(modules->compiler, get_arch(modules->card));
  struct load_result load_result;
  TRY(compile_and_load(modules, kernel, source, binary, out, &load_result));
  if (binary && is_image_rejected(load_result.result)) {
    modules->refuses_binaries = true;
    TRY(compile_and_load(modules, kernel, source, false, out, &load_result));
  }
  return load_result.result == CUDA_OK ? NULL : load_error(modules, kernel, &load_result);
}

static situ_status compile(struct modules *modules, const struct kernel *kernel, situ_type type,
                           struct loaded_kernel *out) {
  static const struct kernel_source_target target = {
      .head = "", .prelude = "kernel/cuda.h", .has_half = true, .has_double = true};
  struct strbuf source = {0};
  char name[128];
  TRY(find_compiler(modules));
  situ_status status = kernel_source_write(kernel, type, &target, &source);
  if (!status) status = load_module(modules, kernel, strbuf_get(&source), &out->module);
  strbuf_free(&source);
  if (status) return status;
  snprintf(name, sizeof name, "situ_%s", kernel->name);
  return cuda_status(cuda.cuModuleGetFunction(&out->function, out->module, name),
                     modules->card->label, "finding a kernel");
}

/* ---- Kernels ---- */

/* Must hold the lock. */
static situ_status find_kernel(struct modules *modules, const struct kernel *kernel, situ_type type,
                               cuda_function *out) {
  const char *type_name = kernel_source_type_name(kernel, type);
  const struct loaded_kernel *loaded = modules->list;
  while (loaded && (loaded->kernel != kernel || loaded->type_name != type_name))
    loaded = loaded->next;
  if (loaded) {
    *out = loaded->function;
    return NULL;
  }
  struct loaded_kernel *added = calloc(1, sizeof *added);
  if (!added) return NO_MEMORY();
  *added = (struct loaded_kernel){.next = modules->list, .kernel = kernel, .type_name = type_name};
  const situ_status status = compile(modules, kernel, type, added);
  if (status) {
    if (added->module) cuda.cuModuleUnload(added->module);
    free(added);
    return status;
  }
  modules->list = added;
  *out = added->function;
  return NULL;
}

situ_status modules_kernel(struct modules *modules, const struct kernel *kernel, situ_type type,
                           cuda_function *out) {
  if (!kernel_source_supports(kernel, type, true, true))
    return situ_status_create(SITU_UNIMPLEMENTED, "Kernel '%s' does not support type %s on %s.",
                              kernel->name, situ_type_name(type), modules->card->label);
  pthread_mutex_lock(&modules->lock);
  const situ_status status = find_kernel(modules, kernel, type, out);
  pthread_mutex_unlock(&modules->lock);
  return status;
}
