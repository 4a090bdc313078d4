/* SPDX-License-Identifier: Apache-2.0
 * programs.c: the compiled kernels of an OpenCL device, cached in memory and on disk; a program is
 * one kernel for one element type. */
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

static situ_status unsupported_type(const struct programs *programs, const struct kernel *kernel,
                                    situ_type type) {
  return situ_status_create(SITU_UNIMPLEMENTED, "Kernel '%s' does not support type %s on %s.",
                            kernel->name, situ_type_name(type), programs->gpu->label);
}

/* Builds the error with the first 1000 characters of the compiler's log. */
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

static const char exact_option[] = " -cl-fp32-correctly-rounded-divide-sqrt";

/* Returns the compiler options; without double support, constants must be single precision. */
static const char *get_options(const struct gpu *gpu) {
  return gpu->info.has_double ? "-cl-std=CL1.2" : "-cl-std=CL1.2 -cl-single-precision-constant";
}

/* Not every device supports exact division. */
static int32_t build(const struct programs *programs, cl_program program) {
  const char *options = get_options(programs->gpu);
  const cl_device id = programs->gpu->id;
  char all_options[128];
  snprintf(all_options, sizeof all_options, "%s%s", options, exact_option);
  if (cl.clBuildProgram(program, 1, &id, all_options, NULL, NULL) == CL_SUCCESS) return CL_SUCCESS;
  return cl.clBuildProgram(program, 1, &id, options, NULL, NULL);
}

static situ_status build_from_source(const struct programs *programs, const struct kernel *kernel,
                                     const char *text, cl_program *out) {
  int32_t error = CL_SUCCESS;
  const cl_program program =
      cl.clCreateProgramWithSource(programs->context, 1, &text, NULL, &error);
  if (error != CL_SUCCESS) return cl_status(error, programs->gpu->label, "creating a program");
  error = build(programs, program);
  if (error != CL_SUCCESS) {
    const situ_status status = compile_error(programs, program, kernel, error);
    cl.clReleaseProgram(program);
    return status;
  }
  *out = program;
  return NULL;
}

/* Creates a program from the on-disk cache; NULL if there is none or it is rejected. */
static cl_program load_binary(const struct programs *programs, const struct kernel_cache_key *key) {
  size_t size = 0;
  unsigned char *data = kernel_cache_read(key, &size);
  if (!data) return NULL;
  int32_t error = CL_SUCCESS, state = CL_SUCCESS;
  const unsigned char *binaries[1] = {data};
  cl_program program = cl.clCreateProgramWithBinary(programs->context, 1, &programs->gpu->id, &size,
                                                    binaries, &state, &error);
  free(data);
  if (error == CL_SUCCESS && state == CL_SUCCESS && build(programs, program) == CL_SUCCESS)
    return program;
  if (program) cl.clReleaseProgram(program);
  return NULL;
}

static void store_binary(cl_program program, const struct kernel_cache_key *key) {
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
  const struct kernel_cache_key key = kernel_cache_make_key((const char *const[]){
      gpu->info.model, gpu->driver, text, get_options(gpu), exact_option, NULL});
  *out = load_binary(programs, &key);
  if (*out) return NULL;
  TRY(build_from_source(programs, kernel, text, out));
  store_binary(*out, &key);
  return NULL;
}

static situ_status compile_kernel(const struct programs *programs, const struct kernel *kernel,
                                  situ_type type, cl_program *out) {
  const struct device_info *info = &programs->gpu->info;
  struct strbuf text = {0}, header = {0};
  if (info->has_double) strbuf_append(&header, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  if (info->has_half) strbuf_append(&header, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
  const struct kernel_source_target target = {.head = strbuf_get(&header),
                                              .prelude = "kernel/opencl.h",
                                              .has_half = info->has_half,
                                              .has_double = info->has_double};
  situ_status status = kernel_source_write(kernel, type, &target, &text);
  if (!status) status = compile(programs, kernel, strbuf_get(&text), out);
  strbuf_free(&header);
  strbuf_free(&text);
  return status;
}

/* ---- Kernels ---- */

/* Returns whether it is the program of the kernel; several kernel tables may share a source. */
static bool matches(const struct compiled *compiled, const struct kernel *kernel,
                    const char *type_name) {
  const struct kernel *other = compiled->kernel;
  if (strcmp(compiled->type_name, type_name) != 0 || strcmp(other->name, kernel->name) != 0)
    return false;
  if (other->text || kernel->text) return other->text == kernel->text;
  return other->file && kernel->file && !strcmp(other->file, kernel->file);
}

/* Returns the program of a kernel. Must hold the lock. */
static situ_status find_program(struct programs *programs, const struct kernel *kernel,
                                situ_type type, cl_program *out) {
  const struct device_info *info = &programs->gpu->info;
  if (!kernel_source_supports(kernel, type, info->has_half, info->has_double))
    return unsupported_type(programs, kernel, type);
  const char *type_name = kernel_source_type_name(kernel, type);
  struct compiled *found = programs->list;
  while (found && !matches(found, kernel, type_name)) found = found->next;
  if (found) {
    *out = found->program;
    return NULL;
  }
  struct compiled *added = calloc(1, sizeof *added);
  if (!added) return NO_MEMORY();
  const situ_status status = compile_kernel(programs, kernel, type, out);
  if (status) {
    free(added);
    return status;
  }
  *added = (struct compiled){programs->list, kernel, type_name, *out};
  programs->list = added;
  return NULL;
}

situ_status programs_kernel(struct programs *programs, const struct kernel *kernel, situ_type type,
                            cl_kernel *out) {
  char name[128];
  cl_program program = NULL;
  pthread_mutex_lock(&programs->lock);
  const situ_status status = find_program(programs, kernel, type, &program);
  pthread_mutex_unlock(&programs->lock);
  if (status) return status;
  int32_t error = CL_SUCCESS;
  snprintf(name, sizeof name, "situ_%s", kernel->name);
  *out = cl.clCreateKernel(program, name, &error);
  return cl_status(error, programs->gpu->label, "preparing a kernel");
}
