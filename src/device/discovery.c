/* SPDX-License-Identifier: Apache-2.0
 * discovery.c: device discovery: enumerates the devices of all back ends, applies the visibility
 * masks, and creates whole or virtual devices. */
#include "device/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "device/visible.h"

enum { MAX_GPUS = 64 };

static const char cuda_variable[] = "CUDA_VISIBLE_DEVICES";

/* A GPU that has no device name yet. */
struct candidate {
  const struct backend *backend;
  int index; /* within the back end */
  struct device_info info;
  int visible; /* index after CUDA_VISIBLE_DEVICES, as in descriptions */
};

struct discovery {
  const struct device_options *request;
  struct device_list *list;
  struct strbuf *why;
  struct candidate gpus[MAX_GPUS]; /* all GPUs */
  int n_gpus;
  struct candidate *selected[MAX_GPUS]; /* those to use, in order of device names */
  int n_selected;
};

void discovery_free_list(struct device_list *list) {
  for (int i = 0; i < list->count; i++) device_destroy(list->devices[i]);
  free(list->devices);
  *list = (struct device_list){0};
}

/* Takes ownership of the device, also on failure. */
static situ_status append(struct device_list *list, struct device *device) {
  struct device **devices = realloc(list->devices, sizeof *devices * ((size_t)list->count + 1));
  if (!devices) {
    device_destroy(device);
    return NO_MEMORY();
  }
  list->devices = devices;
  device->number = list->count;
  devices[list->count++] = device;
  return NULL;
}

static situ_status add_cpus(struct discovery *discovery, const struct backend_request *request) {
  for (int b = 0; backends[b]; b++) {
    if (!backends[b]->is_host) continue;
    int n = 0;
    const char *why = NULL;
    TRY(backends[b]->probe(request, &n, &why));
    for (int i = 0; i < n; i++) {
      struct device *device = NULL;
      TRY(device_create(backends[b], i, i, i, &device));
      TRY(append(discovery->list, device));
    }
  }
  return NULL;
}

situ_status discovery_add_cpu(struct device_list *list, int index, int number) {
  int b = 0;
  while (!backends[b]->is_host) b++;
  struct device *device = NULL;
  TRY(device_create(backends[b], index, index, index, &device));
  TRY(append(list, device));
  device->number = number;
  return NULL;
}

/* Returns whether another back end already lists the same GPU (a driver may support both CUDA and
 * OpenCL). Simulated GPUs, which have a virtual clock, may share the bus id of a real one. */
static bool is_duplicate(const struct discovery *discovery, const struct candidate *gpu) {
  if (!gpu->info.bus_id[0] || gpu->backend->clock) return false;
  for (int i = 0; i < discovery->n_gpus; i++) {
    const struct candidate *other = &discovery->gpus[i];
    if (other->backend != gpu->backend && !other->backend->clock &&
        !strcmp(other->info.bus_id, gpu->info.bus_id))
      return true;
  }
  return false;
}

/* Collects the GPUs of all back ends, in order. */
static situ_status collect_gpus(struct discovery *discovery,
                                const struct backend_request *request) {
  for (int b = 0; backends[b]; b++) {
    const struct backend *backend = backends[b];
    if (backend->is_host) continue;
    int n = 0;
    const char *why = NULL;
    TRY(backend->probe(request, &n, &why));
    if (!n && why) strbuf_appendf(discovery->why, "\n  %s: %s", backend->name, why);
    for (int i = 0; i < n; i++) {
      if (discovery->n_gpus == MAX_GPUS)
        return INVALID("There are more than %d GPUs: hide some of them, or simulate fewer.",
                       MAX_GPUS);
      struct candidate gpu = {.backend = backend, .index = i};
      TRY(backend->describe(i, &gpu.info));
      if (!is_duplicate(discovery, &gpu)) discovery->gpus[discovery->n_gpus++] = gpu;
    }
  }
  return NULL;
}

static void explain_hidden(struct discovery *discovery, const char *what, const char *value,
                           int n_visible, int total) {
  if (n_visible < total)
    strbuf_appendf(discovery->why, "\n  %s=%s shows %d of %d GPU%s", what, value, n_visible, total,
                   total == 1 ? "" : "s");
}

/* Returns the visibility mask to apply; NULL if the driver has applied CUDA_VISIBLE_DEVICES itself.
 */
static const char *get_mask(const struct discovery *discovery) {
  const struct device_options *request = discovery->request;
  bool is_applied = false;
  for (int i = 0; i < discovery->n_gpus; i++)
    is_applied = is_applied || discovery->gpus[i].backend->applies_visible_devices;
  if (is_applied && request->mask_variable && !strcmp(request->mask_variable, cuda_variable))
    return NULL;
  return request->config.visible_devices;
}

/* Applies the mask, then visible_device_list, then gpu_devices. As in TensorFlow, the list is not
 * read where no GPU is visible or wanted: programs pin "0" also on machines without GPUs. */
static situ_status select_gpus(struct discovery *discovery) {
  const struct device_options *request = discovery->request;
  const situ_device_config *config = &request->config;
  struct visible_device gpu_ids[MAX_GPUS];
  for (int i = 0; i < discovery->n_gpus; i++)
    gpu_ids[i] =
        (struct visible_device){discovery->gpus[i].info.bus_id, discovery->gpus[i].info.uuid};
  int mask[MAX_GPUS], selected[MAX_GPUS] = {0};
  char note[VISIBLE_NOTE_SIZE], count[16];
  const char *mask_value = get_mask(discovery);
  const int n_masked =
      visible_mask(request->mask_variable, mask_value, gpu_ids, discovery->n_gpus, mask, note);
  if (*note) log_warn_once("%s", note);
  int n_listed = n_masked;
  if (n_masked && config->gpu_devices != SITU_NO_GPUS)
    TRY(visible_list(config->visible_device_list, n_masked, selected, &n_listed));
  const int n_required = config->gpu_devices == SITU_NO_GPUS ? 0 : config->gpu_devices;
  discovery->n_selected = visible_keep(n_listed, config->gpu_devices ? n_required : -1);
  for (int i = 0; i < discovery->n_selected; i++) {
    discovery->selected[i] = &discovery->gpus[mask[selected[i]]];
    discovery->selected[i]->visible = selected[i];
  }
  snprintf(count, sizeof count, "%d", n_required);
  explain_hidden(discovery, request->mask_variable, mask_value, n_masked, discovery->n_gpus);
  explain_hidden(discovery, "visible_device_list", config->visible_device_list, n_listed, n_masked);
  explain_hidden(discovery, "gpu_devices", count, discovery->n_selected, n_listed);
  return NULL;
}

static situ_status check_virtual_devices(const struct discovery *discovery) {
  const situ_device_config *config = &discovery->request->config;
  if (config->n_virtual_devices && config->memory.fraction > 0)
    return INVALID(
        "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  for (int i = 0; i < config->n_virtual_devices; i++) {
    const situ_virtual_device *virtual_device = &config->virtual_devices[i];
    if (virtual_device->gpu < 0 || virtual_device->gpu >= discovery->n_selected)
      return situ_status_create(SITU_UNKNOWN,
                                "Not enough GPUs to create virtual devices.\nvirtual_devices[%d] "
                                "is on GPU %d, but %d GPU%s visible.",
                                i, virtual_device->gpu, discovery->n_selected,
                                discovery->n_selected == 1 ? " is" : "s are");
    if (!virtual_device->limit_bytes)
      return INVALID("virtual_devices[%d] on GPU %d needs a memory limit.", i, virtual_device->gpu);
  }
  return NULL;
}

/* Sets the fixed limit of a virtual device. */
static situ_status set_virtual_limit(const situ_device_config *config, struct device *device,
                                     uint64_t limit) {
  const situ_device_config own = {.device_memory = config->device_memory,
                                  .n_device_memory = config->n_device_memory};
  struct memory_options request = {0};
  device_options_overlay(&own, &device->name, &request);
  if (request.limit_bytes || request.reserve_bytes || request.fraction > 0)
    return INVALID(
        "%s is a virtual device, whose limit is set by virtual_devices: device_memory cannot set "
        "one.",
        device->full);
  device->virtual_limit = device->options.limit_bytes = limit;
  device->options.reserve_bytes = 0;
  device->options.fraction = 0;
  return NULL;
}

/* Creates a device of selected GPU `which`. */
static situ_status add_gpu(struct discovery *discovery, int which, int index, uint64_t limit) {
  struct device *device = NULL;
  if (which < 0 || which >= discovery->n_selected) return INVALID("There is no GPU %d.", which);
  const struct candidate *gpu = discovery->selected[which];
  TRY(device_create(gpu->backend, gpu->index, gpu->visible, index, &device));
  situ_status status = device_options_memory(discovery->request, &device->name, &device->options);
  if (!status && limit) status = set_virtual_limit(&discovery->request->config, device, limit);
  if (status) {
    device_destroy(device);
    return status;
  }
  return append(discovery->list, device);
}

static bool is_divided(const situ_device_config *config, int gpu) {
  for (int v = 0; v < config->n_virtual_devices; v++)
    if (config->virtual_devices[v].gpu == gpu) return true;
  return false;
}

/* Creates whole GPUs from *next up to `end`. */
static situ_status add_whole_gpus(struct discovery *discovery, int *next, int end, int *index) {
  for (; *next < end; ++*next)
    if (!is_divided(&discovery->request->config, *next))
      TRY(add_gpu(discovery, *next, (*index)++, 0));
  return NULL;
}

/* Creates virtual devices in the order of their list, and before each the whole GPUs with lower
 * numbers, with consecutive indices. */
static situ_status add_gpus(struct discovery *discovery) {
  const situ_device_config *config = &discovery->request->config;
  TRY(check_virtual_devices(discovery));
  int index = 0, next = 0;
  for (int v = 0; v < config->n_virtual_devices; v++) {
    const situ_virtual_device *device = &config->virtual_devices[v];
    TRY(add_whole_gpus(discovery, &next, device->gpu, &index));
    TRY(add_gpu(discovery, device->gpu, index++, device->limit_bytes));
  }
  return add_whole_gpus(discovery, &next, discovery->n_selected, &index);
}

situ_status discovery_devices(const struct device_options *request, struct device_list *out,
                              struct strbuf *why) {
  const situ_device_config *config = &request->config;
  const struct backend_request probe_request = {.sim_gpus = config->sim_gpus,
                                                .opencl_devices = getenv("SITU_OPENCL_DEVICES"),
                                                .cpu_devices = config->cpu_devices};
  struct device_list list = {0};
  struct discovery discovery = {.request = request, .list = &list, .why = why};
  situ_status status = add_cpus(&discovery, &probe_request);
  if (!status) status = collect_gpus(&discovery, &probe_request);
  if (!status) status = select_gpus(&discovery);
  if (!status) status = add_gpus(&discovery);
  if (!status) device_options_warn_memory(getenv("SITU_GPU_MEMORY"), discovery_count_gpus(&list));
  if (!status) status = discovery_check_names(config, &list);
  if (!status) status = discovery_check_required(config->require, &list, strbuf_get(why));
  if (status)
    discovery_free_list(&list);
  else
    *out = list;
  return status;
}

int discovery_count_gpus(const struct device_list *list) {
  int count = 0;
  for (int i = 0; i < list->count; i++) count += !list->devices[i]->backend->is_host;
  return count;
}

situ_status discovery_check_required(const char *require, const struct device_list *list,
                                     const char *why) {
  const char *mask_value = NULL;
  int n_required = 0;
  TRY(device_options_required(require, &mask_value, &n_required));
  const int count = discovery_count_gpus(list);
  if (count >= n_required) return NULL;
  return situ_status_create(
      SITU_FAILED_PRECONDITION,
      "%s is required, but %d GPU%s visible.%s\n  SITU_SIM_GPUS=%d simulates as many.", mask_value,
      count, count == 1 ? " is" : "s are", why, n_required);
}

situ_status discovery_check_names(const situ_device_config *config,
                                  const struct device_list *list) {
  for (int i = 0; i < config->n_device_memory; i++) {
    struct device_name pattern;
    TRY(name_parse_any(config->device_memory[i].device, &pattern));
    bool exists = false;
    for (int d = 0; d < list->count; d++)
      exists = exists || name_is_spec(&pattern, &list->devices[d]->name);
    if (!exists)
      return INVALID("device_memory names '%s', but the device does not exist: %d GPU%s visible.",
                     config->device_memory[i].device, discovery_count_gpus(list),
                     discovery_count_gpus(list) == 1 ? " is" : "s are");
  }
  return NULL;
}
