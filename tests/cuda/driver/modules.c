/* SPDX-License-Identifier: Apache-2.0
 * modules.c: modules of PTX, and launches of their kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver/standin.h"

enum { MOST_THREADS = 1024, MOST_SHARED = 48 * 1024 };

static uint32_t n_launches;

/* Gives a variable of a module memory of the context's device. */
static bool place(void *context, struct variable *variable) {
  struct card *card = context;
  const cuda_result result = memory_take(card, variable->bytes, false, &variable->address);
  if (result != CUDA_OK) return false;
  memcpy(memory_data(card, variable->address, variable->bytes, "module"), variable->data,
         variable->bytes);
  return true;
}

/* The number behind a directive of PTX, ".version 9.0" as 90, ".target sm_75" as 75; 0: none. */
static int number_behind(const char *text, const char *directive) {
  const char *at = strstr(text, directive);
  int first = 0, second = 0;
  if (!at) return 0;
  at += strlen(directive);
  return sscanf(at, "%d.%d", &first, &second) == 2 ? first * 10 + second : first;
}

/* Whether the driver knows the PTX: that of CUDA 13 is version 9, and so on; and whether it is for
 * this device or an older one. */
static cuda_result check_image(const struct card *card, const char *text, char error[512]) {
  const int version = number_behind(text, ".version "), target = number_behind(text, ".target sm_");
  if (version / 10 + 4 > standin_version() / 1000) {
    snprintf(error, 512, "Unsupported .version %d.%d; current version is '%d.0'", version / 10,
             version % 10, standin_version() / 1000 - 4);
    return CUDA_UNSUPPORTED_PTX;
  }
  snprintf(error, 512, "PTX of sm_%d on a device of sm_%d%d", target, card->major, card->minor);
  return target > card->major * 10 + card->minor ? CUDA_NO_BINARY : CUDA_OK;
}

/* Puts the error where the options say. */
static cuda_result log_error(cuda_result result, const char *error, unsigned count,
                             const unsigned *options, void **values) {
  char *log = NULL;
  size_t size = 0;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == CUDA_JIT_ERROR_LOG) log = values[i];
    if (options[i] == CUDA_JIT_ERROR_LOG_SIZE) size = (size_t)values[i];
  }
  standin_say("PTX: %s", error);
  if (log && size) snprintf(log, size, "%s", error);
  return result;
}

EXPORT cuda_result cuModuleLoadDataEx(cuda_module *out, const void *image, unsigned count,
                                      unsigned *options, void **values);
cuda_result cuModuleLoadDataEx(cuda_module *out, const void *image, unsigned count,
                               unsigned *options, void **values) {
  ENTER(true);
  char error[512];
  struct CUctx_st *context = standin_context();
  if (!memcmp(image, "\177ELF", 4)) return standin_leave(CUDA_NO_BINARY); /* machine code */
  const cuda_result known = check_image(context->card, image, error);
  if (known != CUDA_OK) return standin_leave(log_error(known, error, count, options, values));
  struct module *module = ptx_parse(image, place, context->card, error);
  if (!module) return standin_leave(log_error(CUDA_INVALID_PTX, error, count, options, values));
  struct CUmod_st *own = calloc(1, sizeof *own);
  *own = (struct CUmod_st){context, module, NULL};
  *out = own;
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuModuleUnload(cuda_module module);
cuda_result cuModuleUnload(cuda_module module) {
  ENTER(LOST_TOO);
  for (struct variable *at = module->module->variables; at; at = at->next)
    memory_give(module->context->card, at->address);
  while (module->functions) {
    struct CUfunc_st *first = module->functions;
    module->functions = first->next;
    free(first);
  }
  ptx_free(module->module);
  free(module);
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuModuleGetFunction(cuda_function *out, cuda_module module, const char *name);
cuda_result cuModuleGetFunction(cuda_function *out, cuda_module module, const char *name) {
  ENTER(true);
  struct function *function = ptx_function(module->module, name);
  if (!function || !function->is_entry) return standin_leave(CUDA_NOT_FOUND);
  struct CUfunc_st *own = calloc(1, sizeof *own);
  *own = (struct CUfunc_st){module, function, module->functions};
  module->functions = own;
  *out = own;
  return standin_leave(CUDA_OK);
}

/* ---- Launches ---- */

cuda_result modules_run(const struct card *card, const struct work *work) {
  const char *races = getenv("STANDIN_RACES");
  struct launch_context launch = {.module = work->function->module->module,
                                  .entry = work->function->function,
                                  .params = work->params,
                                  .param_bytes = work->bytes,
                                  .device = 1u << card->number,
                                  .find = memory_find,
                                  .races = !races || strcmp(races, "0") != 0,
                                  .number = ++n_launches};
  memcpy(launch.grid, work->grid, sizeof launch.grid);
  memcpy(launch.block, work->block, sizeof launch.block);
  if (launch_run(&launch)) return CUDA_OK;
  standin_say("%s on %s", launch.text, card->name);
  return launch.fault == FAULT_ADDRESS     ? CUDA_ILLEGAL_ADDRESS
         : launch.fault == FAULT_ALIGNMENT ? CUDA_MISALIGNED
                                           : CUDA_LAUNCH_FAILED;
}

static cuda_result check_sizes(const struct function *function, const unsigned *grid,
                               const unsigned *block) {
  uint64_t threads = 1;
  for (int k = 0; k < 3; k++) {
    if (!grid[k] || !block[k] || grid[k] > (k ? 65535u : 0x7fffffffu)) return CUDA_INVALID_VALUE;
    threads *= block[k];
  }
  if (threads > MOST_THREADS) return CUDA_INVALID_VALUE;
  return function->shared_bytes > MOST_SHARED ? CUDA_OUT_OF_RESOURCES : CUDA_OK;
}

/* The arguments, as they lie in the kernel's parameter memory. */
static unsigned char *gather(const struct function *function, void **args, size_t *bytes) {
  *bytes = 0;
  for (int k = 0; k < function->n_params; k++)
    *bytes = (size_t)(function->params[k].offset + function->params[k].bytes);
  unsigned char *out = calloc(1, *bytes + 1);
  for (int k = 0; k < function->n_params; k++)
    memcpy(out + function->params[k].offset, args[k], (size_t)function->params[k].bytes);
  return out;
}

EXPORT cuda_result cuLaunchKernel(cuda_function function, unsigned grid_x, unsigned grid_y,
                                  unsigned grid_z, unsigned block_x, unsigned block_y,
                                  unsigned block_z, unsigned shared, cuda_stream stream,
                                  void **args, void **extra);
cuda_result cuLaunchKernel(cuda_function function, unsigned grid_x, unsigned grid_y,
                           unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared, cuda_stream stream, void **args, void **extra) {
  ENTER(true);
  struct work work = {.kind = WORK_LAUNCH,
                      .function = function,
                      .grid = {grid_x, grid_y, grid_z},
                      .block = {block_x, block_y, block_z}};
  if (!function || function->module->context != standin_context() || shared || extra)
    return standin_leave(CUDA_INVALID_VALUE);
  if (!stream || stream->context != standin_context()) return standin_leave(CUDA_INVALID_HANDLE);
  const cuda_result result = check_sizes(function->function, work.grid, work.block);
  if (result != CUDA_OK) return standin_leave(result);
  work.params = gather(function->function, args, &work.bytes);
  return standin_leave(streams_add(stream, &work));
}
