/* SPDX-License-Identifier: Apache-2.0
 * discovery.c: see discovery.h. */
#include "device/discovery.h"

#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "base/log.h"
#include "device/visible.h"

enum { MAX_GPUS = 64 };

static const char cuda_variable[] = "CUDA_VISIBLE_DEVICES";

/* A GPU before it gets its name. */
struct candidate {
  const struct backend *backend;
  int index; /* within the back end */
  struct device_info info;
  int visible; /* its number after the mask of the environment, which descriptions use */
};

struct finding {
  const struct device_options *request;
  struct device_list *list;
  struct strbuf *why;
  struct candidate gpus[MAX_GPUS]; /* all there are */
  int n_gpus;
  struct candidate *chosen[MAX_GPUS]; /* those to use, in order */
  int n_chosen;
};

void discovery_free_list(struct device_list *list) {
  for (int i = 0; i < list->count; i++) device_destroy(list->devices[i]);
  free(list->devices);
  *list = (struct device_list){0};
}

/* Takes the device over, whatever happens. */
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

static situ_status add_cpus(struct finding *finding, const struct backend_request *asked) {
  for (int b = 0; backends[b]; b++) {
    if (!backends[b]->is_host) continue;
    int n = 0;
    const char *why = NULL;
    TRY(backends[b]->probe(asked, &n, &why));
    for (int i = 0; i < n; i++) {
      struct device *device = NULL;
      TRY(device_create(backends[b], i, i, i, &device));
      TRY(append(finding->list, device));
    }
  }
  return NULL;
}

/* Whether another back end has the card already: a driver may be there for both of its maker's
 * ways. Simulated ones, which have a virtual clock, may be like a real one. */
static bool is_double(const struct finding *finding, const struct candidate *gpu) {
  if (!gpu->info.bus_id[0] || gpu->backend->clock) return false;
  for (int i = 0; i < finding->n_gpus; i++) {
    const struct candidate *other = &finding->gpus[i];
    if (other->backend != gpu->backend && !other->backend->clock &&
        !strcmp(other->info.bus_id, gpu->info.bus_id))
      return true;
  }
  return false;
}

/* All GPUs of all back ends, in order. */
static situ_status collect_gpus(struct finding *finding, const struct backend_request *asked) {
  for (int b = 0; backends[b]; b++) {
    const struct backend *backend = backends[b];
    if (backend->is_host) continue;
    int n = 0;
    const char *why = NULL;
    TRY(backend->probe(asked, &n, &why));
    if (!n && why) strbuf_appendf(finding->why, "\n  %s: %s", backend->name, why);
    for (int i = 0; i < n; i++) {
      if (finding->n_gpus == MAX_GPUS)
        return INVALID("There are more than %d GPUs: hide some of them, or simulate fewer.",
                       MAX_GPUS);
      struct candidate gpu = {.backend = backend, .index = i};
      TRY(backend->describe(i, &gpu.info));
      if (!is_double(finding, &gpu)) finding->gpus[finding->n_gpus++] = gpu;
    }
  }
  return NULL;
}

static void note_hidden(struct finding *finding, const char *what, const char *value, int kept,
                        int of) {
  if (kept < of)
    strbuf_appendf(finding->why, "\n  %s=%s shows %d of %d GPU%s", what, value, kept, of,
                   of == 1 ? "" : "s");
}

/* The mask to apply. CUDA's driver applies CUDA_VISIBLE_DEVICES itself: a second time would hide
 * what is left. */
static const char *mask_of(const struct finding *finding) {
  const struct device_options *request = finding->request;
  bool is_applied = false;
  for (int i = 0; i < finding->n_gpus; i++)
    is_applied = is_applied || finding->gpus[i].backend->applies_visible_devices;
  if (is_applied && request->mask_variable && !strcmp(request->mask_variable, cuda_variable))
    return NULL;
  return request->config.visible_devices;
}

/* Applies the mask, then visible_device_list, then gpu_devices. */
static situ_status choose_gpus(struct finding *finding) {
  const struct device_options *request = finding->request;
  const situ_device_config *config = &request->config;
  struct visible_device points[MAX_GPUS];
  for (int i = 0; i < finding->n_gpus; i++)
    points[i] = (struct visible_device){finding->gpus[i].info.bus_id, finding->gpus[i].info.unit};
  int mask[MAX_GPUS], chosen[MAX_GPUS], n_listed = 0;
  char note[VISIBLE_NOTE_SIZE], count[16];
  const char *shown = mask_of(finding);
  const int n_masked =
      visible_mask(request->mask_variable, shown, points, finding->n_gpus, mask, note);
  if (*note) log_warn_once("%s", note);
  TRY(visible_list(config->visible_device_list, n_masked, chosen, &n_listed));
  const int wanted = config->gpu_devices == SITU_NO_GPUS ? 0 : config->gpu_devices;
  finding->n_chosen = visible_keep(n_listed, config->gpu_devices ? wanted : -1);
  for (int i = 0; i < finding->n_chosen; i++) {
    finding->chosen[i] = &finding->gpus[mask[chosen[i]]];
    finding->chosen[i]->visible = chosen[i];
  }
  snprintf(count, sizeof count, "%d", wanted);
  note_hidden(finding, request->mask_variable, shown, n_masked, finding->n_gpus);
  note_hidden(finding, "visible_device_list", config->visible_device_list, n_listed, n_masked);
  note_hidden(finding, "gpu_devices", count, finding->n_chosen, n_listed);
  return NULL;
}

static situ_status check_pieces(const struct finding *finding) {
  const situ_device_config *config = &finding->request->config;
  if (config->n_virtual_devices && config->memory.fraction > 0)
    return INVALID(
        "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  for (int i = 0; i < config->n_virtual_devices; i++) {
    const situ_virtual_device *piece = &config->virtual_devices[i];
    if (piece->gpu < 0 || piece->gpu >= finding->n_chosen)
      return situ_status_create(SITU_UNKNOWN,
                                "Not enough GPUs to create virtual devices.\nvirtual_devices[%d] "
                                "cuts GPU %d, and %d GPU%s visible.",
                                i, piece->gpu, finding->n_chosen,
                                finding->n_chosen == 1 ? " is" : "s are");
    if (!piece->limit_bytes)
      return INVALID("virtual_devices[%d], a piece of GPU %d, needs a memory limit.", i,
                     piece->gpu);
  }
  return NULL;
}

/* A piece has the limit that it was cut with, and no other. */
static situ_status limit_piece(const situ_device_config *config, struct device *device,
                               uint64_t limit) {
  const situ_device_config own = {.device_memory = config->device_memory,
                                  .n_device_memory = config->n_device_memory};
  struct memory_options asked = {0};
  device_options_overlay(&own, &device->name, &asked);
  if (asked.limit_bytes || asked.reserve_bytes || asked.fraction > 0)
    return INVALID("%s is a virtual device with a limit of its own: device_memory cannot set one.",
                   device->full);
  device->virtual_limit = device->options.limit_bytes = limit;
  device->options.reserve_bytes = 0;
  device->options.fraction = 0;
  return NULL;
}

static situ_status add_gpu(struct finding *finding, const struct candidate *gpu, int index,
                           uint64_t limit) {
  struct device *device = NULL;
  TRY(device_create(gpu->backend, gpu->index, gpu->visible, index, &device));
  situ_status status = device_options_memory(finding->request, &device->name, &device->options);
  if (!status && limit) status = limit_piece(&finding->request->config, device, limit);
  if (status) {
    device_destroy(device);
    return status;
  }
  return append(finding->list, device);
}

/* Whole GPUs, or the pieces that virtual_devices asks for; numbered over all. */
static situ_status add_gpus(struct finding *finding) {
  const situ_device_config *config = &finding->request->config;
  TRY(check_pieces(finding));
  int index = 0;
  for (int i = 0; i < finding->n_chosen; i++) {
    const int before = index;
    for (int v = 0; v < config->n_virtual_devices; v++)
      if (config->virtual_devices[v].gpu == i)
        TRY(add_gpu(finding, finding->chosen[i], index++, config->virtual_devices[v].limit_bytes));
    if (index == before) TRY(add_gpu(finding, finding->chosen[i], index++, 0));
  }
  return NULL;
}

situ_status discovery_devices(const struct device_options *request, struct device_list *out,
                              struct strbuf *why) {
  const situ_device_config *config = &request->config;
  const struct backend_request asked = {.sim_gpus = config->sim_gpus,
                                        .opencl_devices = getenv("SITU_OPENCL_DEVICES"),
                                        .cpu_devices = config->cpu_devices};
  struct device_list list = {0};
  struct finding finding = {.request = request, .list = &list, .why = why};
  situ_status status = add_cpus(&finding, &asked);
  if (!status) status = collect_gpus(&finding, &asked);
  if (!status) status = choose_gpus(&finding);
  if (!status) status = add_gpus(&finding);
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
  const char *shown = NULL;
  int wanted = 0;
  TRY(device_options_required(require, &shown, &wanted));
  const int count = discovery_count_gpus(list);
  if (count >= wanted) return NULL;
  return situ_status_create(
      SITU_FAILED_PRECONDITION,
      "%s is required, but %d GPU%s visible.%s\n  SITU_SIM_GPUS=%d simulates as many.", shown,
      count, count == 1 ? " is" : "s are", why, wanted);
}

situ_status discovery_check_names(const situ_device_config *config,
                                  const struct device_list *list) {
  for (int i = 0; i < config->n_device_memory; i++) {
    struct device_name wanted;
    TRY(name_parse_any(config->device_memory[i].device, &wanted));
    bool is_there = false;
    for (int d = 0; d < list->count; d++)
      is_there = is_there || name_is_spec(&wanted, &list->devices[d]->name);
    if (!is_there)
      return INVALID("device_memory names '%s', but there is no such device: %d GPU%s visible.",
                     config->device_memory[i].device, discovery_count_gpus(list),
                     discovery_count_gpus(list) == 1 ? " is" : "s are");
  }
  return NULL;
}
