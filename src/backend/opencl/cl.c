/* SPDX-License-Identifier: Apache-2.0
 * cl.c: loads the OpenCL ICD loader and converts its errors to statuses. */
#include "backend/opencl/cl.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct cl_functions cl;

static const char *const libraries[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
#define CL_REQUIRED(result, name, args) DL_SYMBOL(struct cl_functions, name)
static const struct dl_symbol symbols[] = {CL_FUNCTIONS(CL_REQUIRED)};

static bool is_loaded;
static char load_error[DL_REASON_SIZE];

static void load(void) {
  if (access("/sys/devices/system/cpu", F_OK)) {
    snprintf(load_error, sizeof load_error,
             "sysfs is not mounted on /sys, and OpenCL drivers such as PoCL abort without it");
    return;
  }
  is_loaded = dl_load(libraries, symbols, (int)COUNT_OF(symbols), &cl, load_error);
}

bool cl_load(const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (!is_loaded) *why = load_error;
  return is_loaded;
}

static const struct {
  int32_t number;
  const char *name, *message;
} errors[] = {
#define CL_ERROR_ENTRY(number, name, message) {number, "CL_" #name, message},
    CL_ERRORS(CL_ERROR_ENTRY)
#undef CL_ERROR_ENTRY
};

const char *cl_error(int32_t error, char out[128]) {
  snprintf(out, 128, "OpenCL error %d", error);
  for (size_t i = 0; i < COUNT_OF(errors); i++)
    if (errors[i].number == error)
      snprintf(out, 128, "%s (%d): %s", errors[i].name, error, errors[i].message);
  return out;
}

situ_status cl_status(int32_t error, const char *label, const char *doing) {
  if (error == CL_SUCCESS) return NULL;
  const bool is_out_of_memory =
      error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_INVALID_BUFFER_SIZE;
  char message[128];
  return situ_status_create(is_out_of_memory ? SITU_RESOURCE_EXHAUSTED : SITU_UNAVAILABLE,
                            "%s failed %s: %s.", label, doing, cl_error(error, message));
}
