/* SPDX-License-Identifier: Apache-2.0
 * gpus.c: see gpus.h. */
#include "backend/opencl/gpus.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_PLATFORMS = 16, MAX_FOUND = 64 };

static struct gpu gpus[MAX_FOUND];
static int n_gpus;

struct gpu *gpus_get(int index) {
  return index >= 0 && index < n_gpus ? &gpus[index] : NULL;
}

/* Whether every driver that is installed is PoCL, whose devices are no GPUs: then it need not be
 * loaded, which takes longer than everything else together. */
static bool only_pocl(void) {
  if (getenv("OCL_ICD_VENDORS") || getenv("OCL_ICD_FILENAMES")) return false;
  DIR *vendors = opendir("/etc/OpenCL/vendors");
  if (!vendors) return false;
  int others = 0;
  for (const struct dirent *entry = readdir(vendors); entry; entry = readdir(vendors))
    others += entry->d_name[0] != '.' && strcmp(entry->d_name, "pocl.icd") != 0;
  closedir(vendors);
  return !others;
}

/* A text about a device; "" where it has none. */
static void text_of(cl_device id, uint32_t what, char *out, size_t size) {
  char text[4096] = "";
  if (cl.clGetDeviceInfo(id, what, sizeof text - 1, text, NULL) != CL_SUCCESS) text[0] = 0;
  const char *start = text + strspn(text, " ");
  snprintf(out, size, "%s", start);
}

/* Whether the device lists the extension; the list may be of any length. */
static bool has_extension(cl_device id, const char *name) {
  size_t size = 0;
  cl.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size);
  char *text = calloc(1, size + 1);
  const bool has =
      text && !cl.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, text, NULL) && strstr(text, name);
  free(text);
  return has;
}

static uint64_t number_of(cl_device id, uint32_t what, size_t size) {
  uint64_t value = 0; /* numbers of 4 and of 8 bytes: little-endian */
  if (cl.clGetDeviceInfo(id, what, size, &value, NULL) != CL_SUCCESS) return 0;
  return value;
}

/* "0000:05:00.0", as far as the driver tells. */
static void find_bus(cl_device id, char out[32]) {
  uint32_t pci[4] = {0};
  unsigned char amd[24] = {0};
  out[0] = 0;
  if (cl.clGetDeviceInfo(id, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci, pci, NULL) == CL_SUCCESS)
    snprintf(out, 32, "%04x:%02x:%02x.%x", pci[0], pci[1], pci[2], pci[3]);
  else if (cl.clGetDeviceInfo(id, CL_DEVICE_TOPOLOGY_AMD, sizeof amd, amd, NULL) == CL_SUCCESS)
    snprintf(out, 32, "0000:%02x:%02x.%x", amd[21], amd[22], amd[23]);
  else if (cl.clGetDeviceInfo(id, CL_DEVICE_PCI_BUS_ID_NV, 4, &pci[1], NULL) == CL_SUCCESS &&
           cl.clGetDeviceInfo(id, CL_DEVICE_PCI_SLOT_ID_NV, 4, &pci[2], NULL) == CL_SUCCESS)
    snprintf(out, 32, "0000:%02x:%02x.0", pci[1], pci[2] >> 3);
}

static void find_unit(cl_device id, char out[64]) {
  unsigned char uuid[16];
  out[0] = 0;
  if (cl.clGetDeviceInfo(id, CL_DEVICE_UUID_KHR, sizeof uuid, uuid, NULL) != CL_SUCCESS) return;
  int at = snprintf(out, 64, "GPU-");
  for (int i = 0; i < 16; i++)
    at += snprintf(out + at, 64 - (size_t)at,
                   i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static void describe(cl_device id, int index, struct gpu *out) {
  char version[64];
  *out = (struct gpu){.id = id};
  text_of(id, CL_DEVICE_BOARD_NAME_AMD, out->info.model, sizeof out->info.model);
  if (!out->info.model[0]) text_of(id, CL_DEVICE_NAME, out->info.model, sizeof out->info.model);
  if (!out->info.model[0]) snprintf(out->info.model, sizeof out->info.model, "OpenCL device");
  find_bus(id, out->info.bus_id);
  find_unit(id, out->info.uuid);
  out->info.has_half = has_extension(id, "cl_khr_fp16");
  out->info.has_double = has_extension(id, "cl_khr_fp64");
  out->info.memory = number_of(id, CL_DEVICE_GLOBAL_MEM_SIZE, 8);
  out->largest = (size_t)number_of(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8);
  const size_t align = (size_t)number_of(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4) / 8;
  out->info.align = align > 256 ? align : 0;
  text_of(id, CL_DRIVER_VERSION, out->driver, sizeof out->driver / 2);
  text_of(id, CL_DEVICE_VERSION, version, sizeof version);
  strncat(out->driver, version, sizeof out->driver - strlen(out->driver) - 1);
  char model[sizeof out->info.model];
  memcpy(model, out->info.model, sizeof model);
  snprintf(out->label, sizeof out->label, "OpenCL device %d (%s)", index, model);
}

/* Why kernels cannot be compiled or run on it at all; NULL where they can. */
static const char *find_fault(cl_device id) {
  char version[64];
  int major = 0, minor = 0;
  text_of(id, CL_DEVICE_VERSION, version, sizeof version);
  if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
    return "the device has a version of OpenCL before 1.2";
  if (!number_of(id, CL_DEVICE_AVAILABLE, 4)) return "the device is not available";
  if (!number_of(id, CL_DEVICE_COMPILER_AVAILABLE, 4)) return "the driver has no compiler";
  if (number_of(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, 8) < GROUP_ITEMS)
    return "the device has work-groups of fewer than 256 items";
  return NULL;
}

/* Whether a comma list has the number. */
static bool lists(const char *text, int number) {
  while (*text) {
    char *end = NULL;
    if (strtol(text, &end, 10) == number && end != text) return true;
    text = end + strspn(end, ", ");
  }
  return false;
}

/* Whether the device, number `number` of all, is one of those that were asked for. */
static bool is_wanted(const char *which, cl_device id, const char *platform, int number) {
  char name[256];
  if (!which || !*which) return number_of(id, CL_DEVICE_TYPE, 8) & CL_DEVICE_TYPE_GPU;
  if (!strcasecmp(which, "all")) return true;
  if (strspn(which, "0123456789, ") == strlen(which)) return lists(which, number);
  text_of(id, CL_DEVICE_NAME, name, sizeof name);
  return strcasestr(name, which) || strcasestr(platform, which);
}

/* Adds the devices that are wanted; `fault` is set where one of them cannot be used. */
static void add_platform(cl_platform platform, const char *which, int *number, const char **fault) {
  cl_device devices[MAX_FOUND];
  uint32_t count = 0;
  char name[256] = "";
  cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
  if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_FOUND, devices, &count) != CL_SUCCESS)
    return;
  for (uint32_t i = 0; i < count && i < MAX_FOUND && n_gpus < MAX_FOUND; i++, (*number)++) {
    if (!is_wanted(which, devices[i], name, *number)) continue;
    const char *wrong = find_fault(devices[i]);
    if (wrong) {
      *fault = wrong;
      continue;
    }
    describe(devices[i], n_gpus, &gpus[n_gpus]);
    n_gpus++;
  }
}

situ_status gpus_find(const char *which, int *count, const char **why) {
  const bool by_default = !which || !*which;
  *count = n_gpus = 0;
  *why = NULL;
  if (by_default && only_pocl()) {
    *why =
        "the only driver is PoCL, whose devices are no GPUs (SITU_OPENCL_DEVICES=all takes them)";
    return NULL;
  }
  if (which && !strcasecmp(which, "none")) return NULL;
  if (!cl_load(why)) return NULL;
  cl_platform platforms[MAX_PLATFORMS];
  uint32_t found = 0;
  int number = 0;
  const char *fault = NULL;
  if (cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &found) != CL_SUCCESS) found = 0;
  for (uint32_t i = 0; i < found && i < MAX_PLATFORMS; i++)
    add_platform(platforms[i], which, &number, &fault);
  *count = n_gpus;
  if (!found) *why = "OpenCL has no driver";
  if (found && !n_gpus)
    *why = fault        ? fault
           : by_default ? "no OpenCL device is a GPU (SITU_OPENCL_DEVICES=all takes others)"
                        : "SITU_OPENCL_DEVICES fits no OpenCL device";
  return NULL;
}
