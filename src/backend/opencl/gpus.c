/* SPDX-License-Identifier: Apache-2.0
 * gpus.c: enumerates the OpenCL devices that count as GPUs and queries their properties. */
#include "backend/opencl/gpus.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

static struct gpu gpus[MAX_DEVICES];
static int n_gpus;

struct gpu *gpus_get(int index) {
  return index >= 0 && index < n_gpus ? &gpus[index] : NULL;
}

/* Returns whether PoCL, whose devices are not GPUs, is the only driver installed. It is then not
 * loaded, which would dominate the start-up time. */
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

/* Queries a string; "" on failure. */
static void query_string(cl_device id, uint32_t what, char *out, size_t size) {
  char text[4096] = "";
  if (cl.clGetDeviceInfo(id, what, sizeof text - 1, text, NULL) != CL_SUCCESS) text[0] = 0;
  const char *start = text + strspn(text, " ");
  snprintf(out, size, "%s", start);
}

/* Returns whether the device has an extension. */
static bool has_extension(cl_device id, const char *name) {
  size_t size = 0;
  cl.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size);
  char *text = calloc(1, size + 1);
  const bool has =
      text && !cl.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, text, NULL) && strstr(text, name);
  free(text);
  return has;
}

static uint64_t query_number(cl_device id, uint32_t what, size_t size) {
  uint64_t value = 0; /* 4 or 8 bytes, little-endian */
  if (cl.clGetDeviceInfo(id, what, size, &value, NULL) != CL_SUCCESS) return 0;
  return value;
}

/* Queries the PCI bus id ("0000:05:00.0") through the extensions of KHR, AMD and NVIDIA. */
static void query_bus_id(cl_device id, char out[32]) {
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

static void query_uuid(cl_device id, char out[64]) {
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
  query_string(id, CL_DEVICE_BOARD_NAME_AMD, out->info.model, sizeof out->info.model);
  if (!out->info.model[0])
    query_string(id, CL_DEVICE_NAME, out->info.model, sizeof out->info.model);
  if (!out->info.model[0]) snprintf(out->info.model, sizeof out->info.model, "OpenCL device");
  query_bus_id(id, out->info.bus_id);
  query_uuid(id, out->info.uuid);
  out->info.has_half = has_extension(id, "cl_khr_fp16");
  out->info.has_double = has_extension(id, "cl_khr_fp64");
  out->info.memory = query_number(id, CL_DEVICE_GLOBAL_MEM_SIZE, 8);
  out->largest = (size_t)query_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8);
  const size_t align = (size_t)query_number(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4) / 8;
  out->info.align = align > 256 ? align : 0;
  query_string(id, CL_DRIVER_VERSION, out->driver, sizeof out->driver / 2);
  query_string(id, CL_DEVICE_VERSION, version, sizeof version);
  strncat(out->driver, version, sizeof out->driver - strlen(out->driver) - 1);
  char model[sizeof out->info.model];
  memcpy(model, out->info.model, sizeof model);
  snprintf(out->label, sizeof out->label, "OpenCL device %d (%s)", index, model);
}

/* Returns why the device cannot be used; NULL if it can. */
static const char *find_fault(cl_device id) {
  char version[64];
  int major = 0, minor = 0;
  query_string(id, CL_DEVICE_VERSION, version, sizeof version);
  if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
    return "the device has a version of OpenCL before 1.2";
  if (!query_number(id, CL_DEVICE_AVAILABLE, 4)) return "the device is not available";
  if (!query_number(id, CL_DEVICE_COMPILER_AVAILABLE, 4)) return "the driver has no compiler";
  if (query_number(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, 8) < GROUP_ITEMS)
    return "the device has work-groups of fewer than 256 items";
  return NULL;
}

/* Returns whether a comma list contains the number. */
static bool contains_number(const char *text, int number) {
  while (*text) {
    char *end = NULL;
    if (strtol(text, &end, 10) == number && end != text) return true;
    text = end + strspn(end, ", ");
  }
  return false;
}

/* Returns whether the device, number `number` of all, is selected. */
static bool is_selected(const char *which, cl_device id, const char *platform, int number) {
  char name[256];
  if (!which || !*which) return query_number(id, CL_DEVICE_TYPE, 8) & CL_DEVICE_TYPE_GPU;
  if (!strcasecmp(which, "all")) return true;
  if (strspn(which, "0123456789, ") == strlen(which)) return contains_number(which, number);
  query_string(id, CL_DEVICE_NAME, name, sizeof name);
  return strcasestr(name, which) || strcasestr(platform, which);
}

/* Adds the selected devices; sets `fault` if one of them cannot be used. */
static void add_platform(cl_platform platform, const char *which, int *number, const char **fault) {
  cl_device devices[MAX_DEVICES];
  uint32_t count = 0;
  char name[256] = "";
  cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
  if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &count) != CL_SUCCESS)
    return;
  for (uint32_t i = 0; i < count && i < MAX_DEVICES && n_gpus < MAX_DEVICES; i++, (*number)++) {
    if (!is_selected(which, devices[i], name, *number)) continue;
    const char *reason = find_fault(devices[i]);
    if (reason) {
      *fault = reason;
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
        "the only driver is PoCL, whose devices are not GPUs (SITU_OPENCL_DEVICES=all uses them)";
    return NULL;
  }
  if (which && !strcasecmp(which, "none")) {
    *why = "disabled by SITU_OPENCL_DEVICES=none";
    return NULL;
  }
  if (!cl_load(why)) return NULL;
  cl_platform platforms[MAX_PLATFORMS];
  uint32_t n_platforms = 0;
  int number = 0;
  const char *fault = NULL;
  if (cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS) n_platforms = 0;
  for (uint32_t i = 0; i < n_platforms && i < MAX_PLATFORMS; i++)
    add_platform(platforms[i], which, &number, &fault);
  *count = n_gpus;
  if (!n_platforms) *why = "OpenCL has no driver";
  if (n_platforms && !n_gpus)
    *why = fault        ? fault
           : by_default ? "no OpenCL device is a GPU (SITU_OPENCL_DEVICES=all uses others)"
                        : "SITU_OPENCL_DEVICES matches no OpenCL device";
  return NULL;
}
