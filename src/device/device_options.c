/* SPDX-License-Identifier: Apache-2.0
 * device_options.c: the device options requested for the process, and the memory options that
 * follow for each GPU; see device_options.h. */
#include "device/device_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "device/environment.h"
#include "device/visible.h"

enum { MAX_CPUS = 64, MAX_ENTRIES = 1024 };

/* ---- Validation ---- */

static situ_status check_memory(const situ_memory_config *memory, const char *owner) {
  if (isfinite(memory->fraction) && memory->fraction >= 0)
    return NULL; /* limit.c checks values above 1 */
  return INVALID("The memory fraction of %s is %g; expected a number above 0.", owner,
                 memory->fraction);
}

static situ_status check_array(const char *what, const void *array, int count, int maximum) {
  if (count < 0 || count > maximum)
    return INVALID("n_%s is %d; expected 0 to %d.", what, count, maximum);
  return count && !array ? INVALID("n_%s is %d, but %s is NULL.", what, count, what) : NULL;
}

static situ_status check_device_memory(const situ_device_memory *entry) {
  struct device_name name;
  if (!entry->device) return INVALID("The device of an entry of device_memory is NULL.");
  TRY(status_note(name_parse_any(entry->device, &name), "In device_memory."));
  if (name.has_kind && !strcmp(name.kind, "CPU"))
    return INVALID("device_memory names '%s', but memory options are for GPUs.", entry->device);
  return check_memory(&entry->memory, entry->device);
}

situ_status device_options_check(const situ_device_config *config) {
  if (!config) return NULL;
  const char *shown;
  int count;
  if (config->require) TRY(device_options_required(config->require, &shown, &count));
  if (config->cpu_devices < 0 || config->cpu_devices > MAX_CPUS)
    return INVALID("cpu_devices is %d; expected 0 to %d.", config->cpu_devices, MAX_CPUS);
  if (config->gpu_devices < SITU_NO_GPUS)
    return INVALID("gpu_devices is %d; expected 0 (all), a count, or SITU_NO_GPUS (%d).",
                   config->gpu_devices, SITU_NO_GPUS);
  TRY(check_array("device_memory", config->device_memory, config->n_device_memory, MAX_ENTRIES));
  TRY(check_array("virtual_devices", config->virtual_devices, config->n_virtual_devices,
                  MAX_ENTRIES));
  for (int i = 0; i < config->n_device_memory; i++)
    TRY(check_device_memory(&config->device_memory[i]));
  return check_memory(&config->memory, "every GPU");
}

/* Parses a decimal number from 1 to 9999. */
static bool parse_count(const char *value, int *out) {
  const size_t length = strspn(value, "0123456789");
  if (!length || length > 4 || value[length]) return false;
  *out = (int)strtol(value, NULL, 10);
  return *out > 0;
}

situ_status device_options_required(const char *require, const char **shown, int *count) {
  const char *value = require ? require : getenv("SITU_REQUIRE");
  *shown = value;
  *count = 0;
  if (!value || !*value) return NULL;
  const bool is_gpu = !strncasecmp(value, "gpu", 3);
  if (is_gpu && !value[3]) *count = 1;
  if (*count || (is_gpu && value[3] == ':' && parse_count(value + 4, count))) return NULL;
  return INVALID("%s is '%s'; expected gpu, or gpu:2 for two of them.",
                 require ? "require" : "SITU_REQUIRE", value);
}

/* ---- Merging ---- */

/* Copies a string, which may be NULL. */
static const char *copy_string(const char *value, bool *failed) {
  char *copy = value ? strdup(value) : NULL;
  *failed = *failed || (value && !copy);
  return copy;
}

static const char *first_set(const char *first, const char *second) {
  return first ? first : second;
}

static bool is_bounded(const situ_memory_config *memory) {
  return memory->limit_bytes || memory->reserve_bytes || memory->fraction > 0;
}

situ_memory_config device_options_merge_memory(const situ_memory_config *over,
                                               const situ_memory_config *under) {
  situ_memory_config merged = is_bounded(over) ? *over : *under;
  merged.growth = over->growth || under->growth;
  merged.reference = over->reference || under->reference;
  return merged;
}

/* Appends the entries for devices that have none yet. */
static void add_entries(situ_device_config *to, situ_device_memory *entries,
                        const situ_device_config *from, bool *failed) {
  const int n_before = to->n_device_memory;
  for (int i = 0; i < from->n_device_memory; i++) {
    const situ_device_memory *entry = &from->device_memory[i];
    bool exists = false;
    for (int k = 0; k < n_before; k++)
      exists = exists || (entries[k].device && !strcmp(entries[k].device, entry->device));
    if (exists) continue;
    entries[to->n_device_memory] = *entry;
    entries[to->n_device_memory++].device = copy_string(entry->device, failed);
  }
}

/* Puts the entries of `over` first: the first one that names a device applies. */
static void merge_entries(situ_device_config *to, const situ_device_config *over,
                          const situ_device_config *under, bool *failed) {
  const int count = over->n_device_memory + under->n_device_memory;
  situ_device_memory *entries = count ? calloc((size_t)count, sizeof *entries) : NULL;
  *failed = *failed || (count && !entries);
  if (!entries) return;
  to->device_memory = entries;
  add_entries(to, entries, over, failed);
  add_entries(to, entries, under, failed);
}

static void copy_virtual_devices(situ_device_config *to, const situ_device_config *from,
                                 bool *failed) {
  const size_t bytes = (size_t)from->n_virtual_devices * sizeof *from->virtual_devices;
  situ_virtual_device *copy = bytes ? malloc(bytes) : NULL;
  *failed = *failed || (bytes && !copy);
  if (!copy) return;
  memcpy(copy, from->virtual_devices, bytes);
  to->virtual_devices = copy;
  to->n_virtual_devices = from->n_virtual_devices;
}

/* Merges two configs into one that owns its memory; `over` takes precedence. */
static bool merge(const situ_device_config *over, const situ_device_config *under,
                  situ_device_config *out) {
  bool failed = false;
  *out = (situ_device_config){
      .sim_gpus = copy_string(first_set(over->sim_gpus, under->sim_gpus), &failed),
      .visible_devices =
          copy_string(first_set(over->visible_devices, under->visible_devices), &failed),
      .visible_device_list =
          copy_string(first_set(over->visible_device_list, under->visible_device_list), &failed),
      .require = copy_string(first_set(over->require, under->require), &failed),
      .cpu_devices = over->cpu_devices ? over->cpu_devices : under->cpu_devices,
      .gpu_devices = over->gpu_devices ? over->gpu_devices : under->gpu_devices,
      .memory = device_options_merge_memory(&over->memory, &under->memory)};
  merge_entries(out, over, under, &failed);
  copy_virtual_devices(out, over->n_virtual_devices ? over : under, &failed);
  return !failed;
}

/* Replaces the config and frees the old one. */
static void replace(struct device_options *request, const situ_device_config *config) {
  struct device_options old = *request;
  request->config = *config;
  device_options_free(&old);
}

situ_status device_options_add(struct device_options *request, const situ_device_config *from) {
  if (!from) return NULL;
  TRY(device_options_check(from));
  struct device_options merged = {0};
  if (!merge(from, &request->config, &merged.config)) {
    device_options_free(&merged);
    return NO_MEMORY();
  }
  replace(request, &merged.config);
  return NULL;
}

situ_status device_options_resolve(struct device_options *request) {
  situ_memory_config memory; /* unused: reports a malformed value also on machines without GPUs */
  TRY(environment_check());
  TRY(device_options_parse_memory(getenv("SITU_GPU_MEMORY"), -1, &memory));
  const char *variable = NULL, *mask = visible_environment(&variable);
  const bool is_set = request->config.visible_devices;
  request->mask_variable = is_set ? "visible_devices" : variable;
  const situ_device_config environment = {
      .sim_gpus = first_set(request->config.sim_gpus, getenv("SITU_SIM_GPUS")),
      .visible_devices = is_set ? NULL : mask};
  return device_options_add(request, &environment);
}

void device_options_free(struct device_options *request) {
  situ_device_config *config = &request->config;
  free((char *)config->sim_gpus);
  free((char *)config->visible_devices);
  free((char *)config->visible_device_list);
  free((char *)config->require);
  for (int i = 0; i < config->n_device_memory; i++) free((char *)config->device_memory[i].device);
  free((void *)config->device_memory);
  free((void *)config->virtual_devices);
  *request = (struct device_options){0};
}

/* ---- Comparing ---- */

static void append_item(struct strbuf *items, const char *what) {
  strbuf_appendf(items, "%s%s: ", items->length ? "; " : "", what);
}

static void compare_string(const char *what, const char *current, const char *requested,
                           struct strbuf *items) {
  if (!requested || !strcmp(current ? current : "", requested)) return;
  append_item(items, what);
  if (current)
    strbuf_appendf(items, "'%s' is in effect, '%s' was requested", current, requested);
  else
    strbuf_appendf(items, "nothing is in effect, '%s' was requested", requested);
}

static void compare_cpus(int current, int requested, struct strbuf *items) {
  if (!requested || (current ? current : 1) == requested) return;
  append_item(items, "cpu_devices");
  strbuf_appendf(items, "%d is in effect, %d was requested", current ? current : 1, requested);
}

/* Formats a gpu_devices count. */
static const char *format_gpu_count(int count, char out[16]) {
  snprintf(out, 16, "%d", count);
  return count == 0 ? "all" : count == SITU_NO_GPUS ? "none" : out;
}

/* Requesting the first n of at most n GPUs is requesting all. */
static void compare_gpus(int current, int requested, int n_gpus, struct strbuf *items) {
  const int maximum = requested == SITU_NO_GPUS ? 0 : requested;
  if (!requested || current == requested || (!current && n_gpus <= maximum)) return;
  char a[16], b[16];
  append_item(items, "gpu_devices");
  strbuf_appendf(items, "%s is in effect, %s was requested", format_gpu_count(current, a),
                 format_gpu_count(requested, b));
}

static bool same_virtual_devices(const situ_device_config *current,
                                 const situ_device_config *requested) {
  if (current->n_virtual_devices != requested->n_virtual_devices) return false;
  for (int i = 0; i < current->n_virtual_devices; i++)
    if (current->virtual_devices[i].gpu != requested->virtual_devices[i].gpu ||
        current->virtual_devices[i].limit_bytes != requested->virtual_devices[i].limit_bytes)
      return false;
  return true;
}

/* Appends "0=1.00GiB 0=2.00GiB": the GPU and limit of each virtual device. */
static void append_virtual_devices(struct strbuf *items, const situ_device_config *config) {
  char bytes[32];
  for (int i = 0; i < config->n_virtual_devices; i++)
    strbuf_appendf(items, "%s%d=%s", i ? " " : "", config->virtual_devices[i].gpu,
                   strbuf_format_bytes(config->virtual_devices[i].limit_bytes, bytes));
  if (!config->n_virtual_devices) strbuf_append(items, "none");
}

static void compare_virtual_devices(const situ_device_config *current,
                                    const situ_device_config *requested, struct strbuf *items) {
  if (!requested->n_virtual_devices || same_virtual_devices(current, requested)) return;
  append_item(items, "virtual_devices");
  append_virtual_devices(items, current);
  strbuf_append(items, " are in effect, ");
  append_virtual_devices(items, requested);
  strbuf_append(items, " were requested");
}

void device_options_diff(const struct device_options *request, int n_gpus,
                         const situ_device_config *from, struct strbuf *items) {
  const situ_device_config *current = &request->config;
  compare_string("sim_gpus", current->sim_gpus, from->sim_gpus, items);
  /* "" hides all GPUs, unlike NULL */
  const char *mask = current->visible_devices;
  if (from->visible_devices && !mask && !*from->visible_devices) mask = "all";
  compare_string("visible_devices", mask, from->visible_devices, items);
  compare_string("visible_device_list", current->visible_device_list, from->visible_device_list,
                 items);
  compare_cpus(current->cpu_devices, from->cpu_devices, items);
  compare_gpus(current->gpu_devices, from->gpu_devices, n_gpus, items);
  compare_virtual_devices(current, from, items);
}

/* ---- Memory ---- */

static void overlay(struct memory_options *options, const situ_memory_config *over) {
  const situ_memory_config under = {.limit_bytes = options->limit_bytes,
                                    .reserve_bytes = options->reserve_bytes,
                                    .fraction = options->fraction,
                                    .growth = options->growth,
                                    .reference = options->reference};
  const situ_memory_config merged = device_options_merge_memory(over, &under);
  *options = (struct memory_options){.limit_bytes = merged.limit_bytes,
                                     .reserve_bytes = merged.reserve_bytes,
                                     .fraction = merged.fraction,
                                     .growth = merged.growth,
                                     .reference = merged.reference};
}

static void force_growth(struct memory_options *options) {
  const char *force = getenv("TF_FORCE_GPU_ALLOW_GROWTH");
  if (!force) return;
  const bool on = !strcmp(force, "true"), off = !strcmp(force, "false");
  if (on || off)
    options->growth = on;
  else
    log_warn_once("TF_FORCE_GPU_ALLOW_GROWTH is '%s', neither true nor false: ignored", force);
}

void device_options_overlay(const situ_device_config *config, const struct device_name *name,
                            struct memory_options *options) {
  overlay(options, &config->memory);
  for (int i = config->n_device_memory - 1; i >= 0; i--) {
    struct device_name pattern;
    const situ_status status = name_parse_any(config->device_memory[i].device, &pattern);
    if (!status && name_is_spec(&pattern, name)) overlay(options, &config->device_memory[i].memory);
    situ_status_release(status); /* validated before */
  }
  force_growth(options);
}

situ_status device_options_memory(const struct device_options *request,
                                  const struct device_name *name, struct memory_options *out) {
  situ_memory_config environment = {0};
  *out = (struct memory_options){0};
  TRY(device_options_parse_memory(getenv("SITU_GPU_MEMORY"), name->index, &environment));
  overlay(out, &environment);
  device_options_overlay(&request->config, name, out);
  return NULL;
}

bool device_options_same_memory(const struct memory_options *a, const struct memory_options *b) {
  return a->limit_bytes == b->limit_bytes && a->reserve_bytes == b->reserve_bytes &&
         !(a->fraction < b->fraction) && !(a->fraction > b->fraction) && a->growth == b->growth &&
         a->reference == b->reference;
}

const char *device_options_print_memory(const struct memory_options *options, char out[160]) {
  char bytes[32];
  struct strbuf value = {0};
  if (options->limit_bytes)
    strbuf_appendf(&value, " limit_bytes=%s", strbuf_format_bytes(options->limit_bytes, bytes));
  if (options->reserve_bytes)
    strbuf_appendf(&value, " reserve_bytes=%s", strbuf_format_bytes(options->reserve_bytes, bytes));
  if (options->fraction > 0) strbuf_appendf(&value, " fraction=%g", options->fraction);
  if (options->growth) strbuf_append(&value, " growth");
  if (options->reference) strbuf_append(&value, " reference");
  snprintf(out, 160, "%s",
           value.length ? strbuf_get(&value) + 1 : "the default (nearly all, at once)");
  strbuf_free(&value);
  return out;
}
