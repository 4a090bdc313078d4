/* SPDX-License-Identifier: Apache-2.0
 * registry.c: the devices of the process: found once, shared by all users. */
#include "device/registry.h"

#include <stdlib.h>

#include "base/log.h"
#include "device/buffer.h"
#include "device/discovery.h"
#include "device/device_options.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct device_options request;                    /* what was asked for so far */
static struct device_list list;
static struct strbuf why; /* there are not more GPUs */
static bool found;
static int users;
static int held;
static struct buffer *buffers; /* those on devices */

/* Another thread of the parent may have held a lock. What it was at is whole or not yet there:
 * lists and requests are made aside and put in place at the end. */
static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  for (int i = 0; i < list.count; i++) pthread_mutex_init(&list.devices[i]->lock, NULL);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

static void enter(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&lock);
}

static void leave(void) { pthread_mutex_unlock(&lock); }

/* Finds the devices; what `config` says is forgotten again if that fails. */
static situ_status find(const situ_device_config *config) {
  struct device_options wanted = {0};
  struct device_list devices = {0};
  struct strbuf reasons = {0};
  situ_status status = device_options_add(&wanted, &request.config);
  if (!status) status = device_options_add(&wanted, config);
  if (!status) status = device_options_resolve(&wanted);
  if (!status) status = discovery_devices(&wanted, &devices, &reasons);
  if (status) {
    device_options_free(&wanted);
    strbuf_free(&reasons);
    return status;
  }
  device_options_free(&request);
  strbuf_free(&why);
  request = wanted;
  why = reasons;
  list = devices;
  found = true;
  return NULL;
}

/* What a config does to the memory options of a device. */
enum effect { SAME, CHANGES, COMES_TOO_LATE };

static enum effect effect_on(struct device *device, const situ_device_config *config,
                             struct memory_options *now, struct memory_options *then) {
  if (device->backend->is_host) return SAME;
  *now = *then = device_options(device);
  device_options_overlay(config, &device->name, then);
  if (device_options_same_memory(now, then)) return SAME;
  /* the limit of a virtual device is part of what was found */
  const bool is_cut = device->virtual_limit && then->limit_bytes != now->limit_bytes;
  return is_cut || device_holds_memory(device) ? COMES_TOO_LATE : CHANGES;
}

/* Names the devices whose memory options cannot change any more. */
static void compare_memory(const situ_device_config *config, struct strbuf *items) {
  struct memory_options now, then;
  for (int i = 0; i < list.count; i++) {
    if (effect_on(list.devices[i], config, &now, &then) != COMES_TOO_LATE) continue;
    char a[160], b[160];
    strbuf_appendf(items, "%smemory of %s: %s is in force, %s is asked for",
                   items->length ? "; " : "", list.devices[i]->full,
                   device_options_print_memory(&now, a), device_options_print_memory(&then, b));
  }
}

static situ_status change_memory(const situ_device_config *config) {
  struct memory_options now, then;
  for (int i = 0; i < list.count; i++)
    if (effect_on(list.devices[i], config, &now, &then) == CHANGES)
      TRY(device_configure(list.devices[i], &then));
  return NULL;
}

/* What a config asks for after devices were found: memory may still change, the rest may not. */
static situ_status ask_again(const situ_device_config *config, bool strict) {
  TRY(device_options_check(config));
  TRY(discovery_check_names(config, &list));
  if (config->require) TRY(discovery_check_required(config->require, &list, strbuf_get(&why)));
  struct strbuf items = {0};
  device_options_differs(&request, discovery_count_gpus(&list), config, &items);
  compare_memory(config, &items);
  situ_status status = NULL;
  if (items.length && strict)
    status =
        situ_status_create(SITU_FAILED_PRECONDITION,
                           "Devices were found before with other options: %s.", strbuf_get(&items));
  else if (items.length)
    log_warn_once(
        "devices were found before with other options, which stay (SITU_STRICT=1 makes this an "
        "error): %s",
        strbuf_get(&items));
  strbuf_free(&items);
  return status ? status : change_memory(config);
}

situ_status registry_acquire(const situ_device_config *config, bool strict,
                             const struct device_list **out) {
  situ_status status = NULL;
  enter();
  if (!found)
    status = find(config);
  else if (config)
    status = ask_again(config, strict);
  if (!status) {
    users++;
    *out = &list;
  }
  leave();
  return status;
}

void registry_release(void) {
  enter();
  users--;
  leave();
}

void registry_add_buffer(struct buffer *buffer) {
  enter();
  buffer->next = buffers;
  buffer->link = &buffers;
  if (buffers) buffers->link = &buffer->next;
  buffers = buffer;
  held++;
  leave();
}

void registry_remove_buffer(struct buffer *buffer) {
  enter();
  *buffer->link = buffer->next;
  if (buffer->next) buffer->next->link = buffer->link;
  held--;
  leave();
}

situ_status registry_evacuate(void) {
  situ_status status = NULL;
  struct buffer *buffer = NULL;
  do {
    enter();
    buffer = buffer_retain(buffers);
    leave();
    if (buffer) status = buffer_evacuate(buffer); /* takes locks of its device */
    buffer_release(buffer);
  } while (buffer && !status);
  return status;
}

situ_status registry_configure(const situ_device_config *config) {
  enter();
  const situ_status status = found ? ask_again(config, true) : device_options_add(&request, config);
  leave();
  return status;
}

situ_status registry_reset(void) {
  situ_status status = NULL;
  struct device_list old = {0};
  enter();
  if (users || held) {
    status = situ_status_create(SITU_FAILED_PRECONDITION,
                                "Devices cannot be reset while %d session(s) and %d tensor(s) on "
                                "devices are alive: release them first.",
                                users, held);
  } else {
    old = list;
    list = (struct device_list){0};
    found = false;
    device_options_free(&request);
    strbuf_free(&why);
  }
  discovery_free_list(&old);
  leave();
  return status;
}
