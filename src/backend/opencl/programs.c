/* SPDX-License-Identifier: Apache-2.0
 * programs.c: see programs.h. A program is one kernel in one type. */
#include "backend/opencl/programs.h"

#include <stdlib.h>
#include <string.h>

#include "host/kernel_cache.h"
#include "host/kernel_source.h"

void programs_begin(struct programs *programs, const struct gpu *gpu, cl_context context) {
  *programs = (struct programs){.gpu = gpu, .context = context};
  pthread_mutex_init(&programs->lock, NULL);
}

void programs_end(struct programs *programs) {
  while (programs->list) {
    struct compiled *first = programs->list;
    programs->list = first->next;
    cl.clReleaseProgram(first->program);
    free(first);
  }
  pthread_mutex_destroy(&programs->lock);
}

/* ---- Compiling ---- */

static situ_status refuse(const struct programs *programs, const struct kernel *kernel,
                          situ_type type) {
  return situ_status_create(SITU_UNIMPLEMENTED, "Kernel '%s' has no form for type %s on %s.",
                            kernel->name, situ_type_name(type), programs->gpu->label);
}

/* What the compiler said, at most its first thousand characters. */
static situ_status compile_error(const struct programs *programs, cl_program program,
                                 const struct kernel *kernel, int32_t error) {
  char text[128], *log = NULL;
  size_t size = 0;
  cl.clGetProgramBuildInfo(program, programs->gpu->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  log = size ? calloc(1, size + 1) : NULL;
  if (log)
    cl.clGetProgramBuildInfo(program, programs->gpu->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  const situ_status status =
      situ_status_create(SITU_INTERNAL, "Kernel '%s' does not compile on %s: %s\n%.1000s",
                         kernel->name, programs->gpu->label, cl_error(error, text), log ? log : "");
  free(log);
  return status;
}

static const char exact[] = " -cl-fp32-correctly-rounded-divide-sqrt";

/* What every compiler takes; constants that are no float are nothing for a device without double.
 */
static const char *options_of(const struct gpu *gpu) {
  return gpu->info.has_double ? "-cl-std=CL1.2" : "-cl-std=CL1.2 -cl-single-precision-constant";
}

/* Not every device can round exactly. */
static int32_t build(const struct programs *programs, cl_program program) {
  const char *options = options_of(programs->gpu);
  const cl_device id = programs->gpu->id;
  char all[128];
  snprintf(all, sizeof all, "%s%s", options, exact);
  if (cl.clBuildProgram(program, 1, &id, all, NULL, NULL) == CL_SUCCESS) return CL_SUCCESS;
  return cl.clBuildProgram(program, 1, &id, options, NULL, NULL);
}

static situ_status from_source(const struct programs *programs, const struct kernel *kernel,
                               const char *text, cl_program *out) {
  int32_t error = CL_SUCCESS;
  const cl_program program =
      cl.clCreateProgramWithSource(programs->context, 1, &text, NULL, &error);
  if (error != CL_SUCCESS) return cl_status(error, programs->gpu->label, "taking a kernel");
  error = build(programs, program);
  if (error != CL_SUCCESS) {
    const situ_status status = compile_error(programs, program, kernel, error);
    cl.clReleaseProgram(program);
    return status;
  }
  *out = program;
  return NULL;
}

/* A program from the file of an earlier process; NULL where there is none that fits. */
static cl_program from_binary(const struct programs *programs, const struct kernel_cache_key *key) {
  size_t size = 0;
  unsigned char *data = kernel_cache_read(key, &size);
  if (!data) return NULL;
  int32_t error = CL_SUCCESS, state = CL_SUCCESS;
  const unsigned char *parts[1] = {data};
  cl_program program = cl.clCreateProgramWithBinary(programs->context, 1, &programs->gpu->id, &size,
                                                    parts, &state, &error);
  free(data);
  if (error == CL_SUCCESS && state == CL_SUCCESS && build(programs, program) == CL_SUCCESS)
    return program;
  if (program) cl.clReleaseProgram(program);
  return NULL;
}

static void keep_binary(cl_program program, const struct kernel_cache_key *key) {
  size_t size = 0;
  if (!kernel_cache_enabled()) return;
  if (cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) || !size)
    return;
  unsigned char *data = malloc(size);
  if (data && !cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, NULL))
    kernel_cache_write(key, data, size);
  free(data);
}

static situ_status compile(const struct programs *programs, const struct kernel *kernel,
                           const char *text, cl_program *out) {
  const struct gpu *gpu = programs->gpu;
  const struct kernel_cache_key key = kernel_cache_make_key(
      (const char *const[]){gpu->info.model, gpu->driver, text, options_of(gpu), exact, NULL});
  *out = from_binary(programs, &key);
  if (*out) return NULL;
  TRY(from_source(programs, kernel, text, out));
  keep_binary(*out, &key);
  return NULL;
}

static situ_status make(const struct programs *programs, const struct kernel *kernel,
                        situ_type type, cl_program *out) {
  const struct device_info *info = &programs->gpu->info;
  struct strbuf text = {0}, head = {0};
  if (info->has_double) strbuf_append(&head, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  if (info->has_half) strbuf_append(&head, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
  const struct kernel_source_target target = {.head = strbuf_get(&head),
                                              .prelude = "kernel/opencl.h",
                                              .has_half = info->has_half,
                                              .has_double = info->has_double};
  situ_status status = kernel_source_write(kernel, type, &target, &text);
  if (!status) status = compile(programs, kernel, strbuf_get(&text), out);
  strbuf_free(&head);
  strbuf_free(&text);
  return status;
}

/* ---- Kernels ---- */

/* Whether it is the compiled form of the kernel: tables of kernels may share a text. */
static bool fits(const struct compiled *compiled, const struct kernel *kernel, const char *word) {
  const struct kernel *other = compiled->kernel;
  if (strcmp(compiled->word, word) != 0 || strcmp(other->name, kernel->name) != 0) return false;
  if (other->text || kernel->text) return other->text == kernel->text;
  return other->file && kernel->file && !strcmp(other->file, kernel->file);
}

/* The compiled form of a kernel; called with the lock. */
static situ_status find(struct programs *programs, const struct kernel *kernel, situ_type type,
                        cl_program *out) {
  const struct device_info *info = &programs->gpu->info;
  if (!kernel_source_supports(kernel, type, info->has_half, info->has_double))
    return refuse(programs, kernel, type);
  const char *word = kernel_source_type_name(kernel, type);
  struct compiled *at = programs->list;
  while (at && !fits(at, kernel, word)) at = at->next;
  if (at) {
    *out = at->program;
    return NULL;
  }
  struct compiled *new = calloc(1, sizeof *new);
  if (!new) return NO_MEMORY();
  const situ_status status = make(programs, kernel, type, out);
  if (status) {
    free(new);
    return status;
  }
  *new = (struct compiled){programs->list, kernel, word, *out};
  programs->list = new;
  return NULL;
}

situ_status programs_kernel(struct programs *programs, const struct kernel *kernel, situ_type type,
                            cl_kernel *out) {
  char name[128];
  cl_program program = NULL;
  pthread_mutex_lock(&programs->lock);
  const situ_status status = find(programs, kernel, type, &program);
  pthread_mutex_unlock(&programs->lock);
  if (status) return status;
  int32_t error = CL_SUCCESS;
  snprintf(name, sizeof name, "situ_%s", kernel->name);
  *out = cl.clCreateKernel(program, name, &error);
  return cl_status(error, programs->gpu->label, "preparing a kernel");
}
