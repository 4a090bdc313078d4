/* SPDX-License-Identifier: Apache-2.0
 * registry.c: the devices of the process: discovered once and shared by all sessions. */
#include "device/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "device/buffer.h"
#include "device/discovery.h"
#include "device/device_options.h"

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct device_options request;                             /* merged configs */
static struct device_list list;
static struct device_list more_cpus; /* requested after discovery; numbered after `list` */
static struct view *views;
static struct strbuf why; /* why there are not more GPUs */
static bool discovered;
static int n_users;
static int n_buffers;
static struct buffer *buffers; /* buffers on devices */

/* The devices of sessions that request another number of CPUs than the first one: those of `list`
 * and as many of `more_cpus` as needed. Immutable. */
struct view {
  struct view *next;
  struct device_list list;
};

/* Resets the locks in a forked child, where a thread of the parent may have held them. The data is
 * consistent: lists and options are built aside and assigned at the end. */
static void reset_locks(void) {
  pthread_mutex_init(&registry_lock, NULL);
  for (int i = 0; i < list.count; i++) pthread_mutex_init(&list.devices[i]->lock, NULL);
  for (int i = 0; i < more_cpus.count; i++) pthread_mutex_init(&more_cpus.devices[i]->lock, NULL);
}

static void register_fork_handler(void) { pthread_atfork(NULL, NULL, reset_locks); }

static void lock_registry(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_fork_handler);
  pthread_mutex_lock(&registry_lock);
}

static void unlock_registry(void) { pthread_mutex_unlock(&registry_lock); }

/* Discovers the devices. On failure `config` has no effect. */
static situ_status discover(const situ_device_config *config) {
  struct device_options options = {0};
  struct device_list devices = {0};
  struct strbuf reasons = {0};
  situ_status status = device_options_add(&options, &request.config);
  if (!status) status = device_options_add(&options, config);
  if (!status) status = device_options_resolve(&options);
  if (!status) status = discovery_devices(&options, &devices, &reasons);
  if (status) {
    device_options_free(&options);
    strbuf_free(&reasons);
    return status;
  }
  device_options_free(&request);
  strbuf_free(&why);
  request = options;
  why = reasons;
  list = devices;
  discovered = true;
  return NULL;
}

/* Effect of a config on the memory options of a device. */
enum effect { UNCHANGED, CHANGEABLE, FIXED };

static enum effect get_effect(struct device *device, const situ_device_config *config,
                              struct memory_options *current, struct memory_options *requested) {
  if (device->backend->is_host) return UNCHANGED;
  *current = *requested = device_options(device);
  device_options_overlay(config, &device->name, requested);
  if (device_options_same_memory(current, requested)) return UNCHANGED;
  /* the limit of a virtual device is fixed at discovery */
  const bool changes_virtual_limit =
      device->virtual_limit && requested->limit_bytes != current->limit_bytes;
  return changes_virtual_limit || device_holds_memory(device) ? FIXED : CHANGEABLE;
}

/* Lists the devices whose memory options can no longer change. */
static void compare_memory(const situ_device_config *config, struct strbuf *items) {
  struct memory_options current, requested;
  for (int i = 0; i < list.count; i++) {
    if (get_effect(list.devices[i], config, &current, &requested) != FIXED) continue;
    char a[160], b[160];
    strbuf_appendf(items, "%smemory of %s: %s is in effect, %s was requested",
                   items->length ? "; " : "", list.devices[i]->full,
                   device_options_print_memory(&current, a),
                   device_options_print_memory(&requested, b));
  }
}

static situ_status change_memory(const situ_device_config *config) {
  struct memory_options current, requested;
  for (int i = 0; i < list.count; i++)
    if (get_effect(list.devices[i], config, &current, &requested) == CHANGEABLE)
      TRY(device_configure(list.devices[i], &requested));
  return NULL;
}

/* Applies a config after discovery: memory options may still change, others may not. */
static situ_status reconfigure(const situ_device_config *config, bool strict) {
  TRY(device_options_check(config));
  TRY(discovery_check_names(config, &list));
  if (config->require) TRY(discovery_check_required(config->require, &list, strbuf_get(&why)));
  struct strbuf items = {0};
  device_options_diff(&request, discovery_count_gpus(&list), config, &items);
  compare_memory(config, &items);
  situ_status status = NULL;
  if (items.length && strict)
    status = situ_status_create(SITU_FAILED_PRECONDITION,
                                "Devices were already initialized with other options: %s.",
                                strbuf_get(&items));
  else if (items.length)
    log_warn_once(
        "devices were already initialized with other options, which stay in effect (SITU_STRICT=1 "
        "makes this an "
        "error): %s",
        strbuf_get(&items));
  strbuf_free(&items);
  return status ? status : change_memory(config);
}

static situ_status create_view(int n_cpus, int n_more, struct view **out) {
  struct view *view = calloc(1, sizeof *view);
  struct device **devices = calloc((size_t)list.count + (size_t)n_more, sizeof(struct device *));
  if (!view || !devices) {
    free(view);
    free(devices);
    return NO_MEMORY();
  }
  memcpy(devices, list.devices, sizeof *devices * (size_t)list.count);
  for (int i = 0; i < n_more; i++) devices[list.count + i] = more_cpus.devices[i];
  view->list = (struct device_list){devices, list.count + n_more, n_cpus};
  view->next = views;
  *out = views = view;
  return NULL;
}

/* Returns the devices of a session that requests that many CPUs; 0: no request. */
static situ_status find_view(int n_cpus, const struct device_list **out) {
  const int n_discovered = list.count - discovery_count_gpus(&list);
  *out = &list;
  if (!n_cpus || n_cpus == n_discovered) return NULL;
  struct view *view = views;
  while (view && view->list.n_cpus != n_cpus) view = view->next;
  const int n_more = n_cpus > n_discovered ? n_cpus - n_discovered : 0;
  while (!view && more_cpus.count < n_more)
    TRY(discovery_add_cpu(&more_cpus, n_discovered + more_cpus.count,
                          list.count + more_cpus.count));
  if (!view) TRY(create_view(n_cpus, n_more, &view));
  *out = &view->list;
  return NULL;
}

/* Applies the config of a session after discovery. Each session has its own number of CPUs. */
static situ_status reconfigure_session(const situ_device_config *config, bool strict) {
  situ_device_config others = *config;
  TRY(device_options_check(config));
  others.cpu_devices = 0;
  return reconfigure(&others, strict);
}

situ_status registry_acquire(const situ_device_config *config, bool strict,
                             const struct device_list **out) {
  situ_status status = NULL;
  lock_registry();
  if (!discovered)
    status = discover(config);
  else if (config)
    status = reconfigure_session(config, strict);
  if (!status) status = find_view(config ? config->cpu_devices : 0, out);
  if (!status) n_users++;
  unlock_registry();
  return status;
}

void registry_release(void) {
  lock_registry();
  n_users--;
  unlock_registry();
}

situ_status registry_missing_gpus(char *out, size_t size) {
  const struct device_list *devices = NULL;
  TRY(registry_acquire(NULL, false, &devices));
  lock_registry();
  snprintf(out, size, "%s", strbuf_get(&why));
  unlock_registry();
  registry_release();
  return NULL;
}

void registry_add_buffer(struct buffer *buffer) {
  lock_registry();
  buffer->next = buffers;
  buffer->link = &buffers;
  if (buffers) buffers->link = &buffer->next;
  buffers = buffer;
  n_buffers++;
  unlock_registry();
}

void registry_remove_buffer(struct buffer *buffer) {
  lock_registry();
  *buffer->link = buffer->next;
  if (buffer->next) buffer->next->link = buffer->link;
  n_buffers--;
  unlock_registry();
}

situ_status registry_evacuate(void) {
  situ_status status = NULL;
  struct buffer *buffer = NULL;
  do {
    lock_registry();
    buffer = buffer_retain(buffers);
    unlock_registry();
    if (buffer) status = buffer_evacuate(buffer); /* acquires locks of its device */
    buffer_release(buffer);
  } while (buffer && !status);
  return status;
}

situ_status registry_configure(const situ_device_config *config) {
  lock_registry();
  const situ_status status =
      discovered ? reconfigure(config, true) : device_options_add(&request, config);
  unlock_registry();
  return status;
}

static void free_views(void) {
  while (views) {
    struct view *next = views->next;
    free(views->list.devices);
    free(views);
    views = next;
  }
  discovery_free_list(&more_cpus);
}

situ_status registry_reset(void) {
  situ_status status = NULL;
  struct device_list old = {0};
  lock_registry();
  if (n_users || n_buffers) {
    status = situ_status_create(SITU_FAILED_PRECONDITION,
                                "Devices cannot be reset while %d session(s) and %d tensor(s) on "
                                "devices are alive: release them first.",
                                n_users, n_buffers);
  } else {
    old = list;
    free_views();
    list = (struct device_list){0};
    discovered = false;
    device_options_free(&request);
    strbuf_free(&why);
  }
  discovery_free_list(&old);
  unlock_registry();
  return status;
}
