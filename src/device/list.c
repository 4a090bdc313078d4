/* SPDX-License-Identifier: Apache-2.0
 * list.c: finds the devices of the process, once: what the back ends have, what is visible of it, and in which pieces. */
#include "device/list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "device/request.h"
#include "device/visible.h"

enum { MAX_GPUS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct request request; /* what was asked for so far */
static struct device_list list;
static bool found;
static int users;
static _Atomic int held;
static char absence[512]; /* why there are not more GPUs */

static void free_list(void) {
  for (int i = 0; i < list.count; i++) device_destroy(list.devices[i]);
  free(list.devices);
  list = (struct device_list){0};
}

static situ_status append(struct device *device) {
  struct device **devices =
      realloc(list.devices, sizeof *devices * (size_t)(list.count + 1));
  if (!devices) {
    device_destroy(device);
    return NO_MEMORY();
  }
  list.devices = devices;
  device->number = list.count;
  devices[list.count++] = device;
  return NULL;
}

/* A GPU before it gets its name. */
struct candidate {
  const struct backend *backend;
  int index;
  struct device_info info;
};

static void note_absence(const struct backend *backend, const char *why) {
  const size_t length = strlen(absence);
  snprintf(absence + length, sizeof absence - length, "%s%s: %s", length ? "; " : "", backend->name,
           why);
}

/* All GPUs of all back ends, in order. */
static situ_status find_gpus(const struct backend_request *asked, struct candidate *out,
                             int *count) {
  *count = 0;
  absence[0] = 0;
  for (int b = 0; backends[b]; b++) {
    const struct backend *backend = backends[b];
    if (backend->is_host) continue;
    int n = 0;
    const char *why = NULL;
    TRY(backend->probe(asked, &n, &why));
    if (!n && why) note_absence(backend, why);
    for (int i = 0; i < n && *count < MAX_GPUS; i++) {
      out[*count] = (struct candidate){.backend = backend, .index = i};
      TRY(backend->describe(i, &out[*count].info));
      (*count)++;
    }
  }
  return NULL;
}

/* Applies the environment's mask, then visible_device_list, then gpu_devices. `shown` gets candidate numbers; on return
 * visible[i] is the number of shown[i] after the mask alone, which is what descriptions and errors use. */
static situ_status choose(const struct candidate *gpus, int count, int *shown, int *visible,
                          int *n_shown) {
  struct visible_device points[MAX_GPUS];
  for (int i = 0; i < count; i++)
    points[i] = (struct visible_device){gpus[i].info.bus_id, gpus[i].info.unit};
  const char *variable = "visible_devices", *value = request.config.visible_devices;
  if (!value) value = visible_environment(&variable);
  int mask[MAX_GPUS];
  char note[VISIBLE_NOTE_SIZE];
  const int n_mask = visible_mask(variable, value, points, count, mask, note);
  if (*note) log_warn_once("%s", note);
  int chosen[MAX_GPUS], n = 0;
  TRY(visible_list(request.config.visible_device_list, n_mask, chosen, &n));
  const int wanted = request.config.gpu_devices;
  n = visible_keep(n, wanted == SITU_NO_GPUS ? 0 : wanted ? wanted : -1);
  for (int i = 0; i < n; i++) {
    shown[i] = mask[chosen[i]];
    visible[i] = chosen[i];
  }
  *n_shown = n;
  return NULL;
}

static situ_status add_gpu(const struct candidate *gpu, int visible, int index, uint64_t limit) {
  struct device *device = NULL;
  TRY(device_create(gpu->backend, gpu->index, visible, index, &device));
  device->virtual_limit = limit;
  const situ_status status = request_memory(&request, &device->name, &device->options);
  if (status) {
    device_destroy(device);
    return status;
  }
  return append(device);
}

static situ_status check_virtual(int n_shown) {
  const situ_device_config *config = &request.config;
  if (config->memory.fraction != 0)
    return INVALID(
        "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  for (int i = 0; i < config->n_virtual_devices; i++) {
    if (config->virtual_devices[i].gpu < 0 || config->virtual_devices[i].gpu >= n_shown)
      return situ_status_create(SITU_UNKNOWN, "Not enough GPUs to create virtual devices.");
    if (!config->virtual_devices[i].limit_bytes)
      return INVALID("Virtual device %d of GPU %d needs a memory limit.", i,
                     config->virtual_devices[i].gpu);
  }
  return NULL;
}

/* Whole GPUs, or the pieces that virtual_devices asks for; numbered over all. */
static situ_status add_gpus(const struct candidate *gpus, const int *shown, const int *visible,
                            int n_shown) {
  const situ_device_config *config = &request.config;
  if (config->n_virtual_devices) TRY(check_virtual(n_shown));
  int index = 0;
  for (int i = 0; i < n_shown; i++) {
    int pieces = 0;
    for (int v = 0; v < config->n_virtual_devices; v++) {
      if (config->virtual_devices[v].gpu != i) continue;
      TRY(add_gpu(&gpus[shown[i]], visible[i], index++, config->virtual_devices[v].limit_bytes));
      pieces++;
    }
    if (!pieces) TRY(add_gpu(&gpus[shown[i]], visible[i], index++, 0));
  }
  return NULL;
}

static situ_status add_cpus(const struct backend_request *asked) {
  for (int b = 0; backends[b]; b++) {
    if (!backends[b]->is_host) continue;
    int n = 0;
    const char *why = NULL;
    TRY(backends[b]->probe(asked, &n, &why));
    for (int i = 0; i < n; i++) {
      struct device *device = NULL;
      TRY(device_create(backends[b], i, i, i, &device));
      TRY(append(device));
    }
  }
  return NULL;
}

/* "gpu", "gpu:2": as many GPUs as that must be there. */
static situ_status check_required(int n_gpus) {
  const char *require = request.config.require ? request.config.require : getenv("SITU_REQUIRE");
  if (!require || !*require) return NULL;
  const char *count = require + 3;
  char *end = NULL;
  const bool named = !strncasecmp(require, "gpu", 3) && (!*count || *count == ':');
  const long wanted = named && *count ? strtol(count + 1, &end, 10) : 1;
  if (!named || wanted < 1 || (end && (*end || end == count + 1)))
    return INVALID("SITU_REQUIRE (or require) is '%s'; it takes gpu, or gpu:2 for two of them.",
                   require);
  if (n_gpus >= wanted) return NULL;
  return situ_status_create(SITU_FAILED_PRECONDITION,
                            "%s is required, but %d GPU%s visible.\nBack ends without devices: "
                            "%s.\nCheck SITU_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES, or ask for "
                            "simulated GPUs with SITU_SIM_GPUS.",
                            require, n_gpus, n_gpus == 1 ? " is" : "s are",
                            *absence ? absence : "none");
}

static situ_status find(void) {
  const struct backend_request asked = {
      .sim_gpus = request.config.sim_gpus ? request.config.sim_gpus : getenv("SITU_SIM_GPUS"),
      .cpu_devices = request.config.cpu_devices};
  struct candidate gpus[MAX_GPUS];
  int n_gpus = 0, shown[MAX_GPUS], visible[MAX_GPUS], n_shown = 0;
  situ_status status = add_cpus(&asked);
  if (!status) status = find_gpus(&asked, gpus, &n_gpus);
  if (!status) status = choose(gpus, n_gpus, shown, visible, &n_shown);
  if (!status) status = add_gpus(gpus, shown, visible, n_shown);
  if (!status) status = check_required(list.count - 1);
  if (status) free_list();
  return status;
}

static bool is_same(const struct memory_options *a, const struct memory_options *b) {
  return a->limit_bytes == b->limit_bytes && a->reserve_bytes == b->reserve_bytes &&
         !(a->fraction < b->fraction) && !(a->fraction > b->fraction) && a->growth == b->growth &&
         a->growth_set == b->growth_set && a->reference == b->reference;
}

/* Gives devices that hold no memory yet the options that are now asked for; collects those that cannot change. */
static situ_status renew_memory(const struct request *wanted, struct text *lines) {
  for (int i = 0; i < list.count; i++) {
    struct device *device = list.devices[i];
    if (device->backend->is_host) continue;
    struct memory_options options;
    TRY(request_memory(wanted, &device->name, &options));
    pthread_mutex_lock(&device->lock);
    const struct memory_options have = device->options;
    const bool fixed = device->memory != NULL;
    if (!fixed) device->options = options;
    pthread_mutex_unlock(&device->lock);
    if (!fixed || is_same(&have, &options)) continue;
    char a[160], b[160];
    text_addf(lines, "\n  memory of %s: %s is in force, %s is asked for", device->full,
              request_print_memory(&have, a), request_print_memory(&options, b));
  }
  return NULL;
}

/* What a config asks for after devices were found: memory may still change, the rest may not. */
static situ_status ask_again(const situ_device_config *config, bool strict) {
  struct text lines = {0};
  request_differs(&request, config, &lines);
  struct request wanted = {0};
  situ_status status = request_add(&wanted, &request.config);
  if (!status) status = request_add(&wanted, config);
  if (!status && (config->n_device_memory || config->memory.limit_bytes || config->memory.growth ||
                  config->memory.reserve_bytes || config->memory.fraction != 0))
    status = renew_memory(&wanted, &lines);
  if (!status && lines.length && strict)
    status = situ_status_create(SITU_FAILED_PRECONDITION,
                                "Devices were found before with other options:%s", text_get(&lines));
  else if (!status && lines.length)
    log_warn_once(
        "devices were found before with other options, which stay (SITU_STRICT=1 makes this an "
        "error):%s",
        text_get(&lines));
  request_free(&wanted);
  text_free(&lines);
  return status;
}

situ_status list_acquire(const situ_device_config *config, bool strict,
                         const struct device_list **out) {
  situ_status status = NULL;
  pthread_mutex_lock(&lock);
  if (found) {
    if (config) status = ask_again(config, strict);
    if (!status && config && config->require) {
      status = request_add(&request, &(situ_device_config){.require = config->require});
      if (!status) status = check_required(list.count - 1);
    }
  } else {
    status = request_add(&request, config);
    if (!status) status = find();
    found = !status;
  }
  if (!status) {
    users++;
    *out = &list;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

void list_release(void) {
  pthread_mutex_lock(&lock);
  users--;
  pthread_mutex_unlock(&lock);
}

void list_hold(int by) { held += by; }

situ_status list_configure(const situ_device_config *config) {
  pthread_mutex_lock(&lock);
  const situ_status status = found ? ask_again(config, true) : request_add(&request, config);
  pthread_mutex_unlock(&lock);
  return status;
}

situ_status list_reset(void) {
  situ_status status = NULL;
  pthread_mutex_lock(&lock);
  if (users || held) {
    status = situ_status_create(SITU_FAILED_PRECONDITION,
                                "Devices cannot be reset while %d session(s) and %d tensor(s) on "
                                "devices are alive: release them first.",
                                users, (int)held);
  } else {
    free_list();
    request_free(&request);
    found = false;
  }
  pthread_mutex_unlock(&lock);
  return status;
}
