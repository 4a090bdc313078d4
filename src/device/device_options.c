/* SPDX-License-Identifier: Apache-2.0
 * device_options.c: see device_options.h. */
#include "device/device_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "device/environment.h"
#include "device/visible.h"

enum { MAX_CPUS = 64, MAX_PIECES = 1024 };

/* ---- What cannot be meant ---- */

static situ_status check_memory(const situ_memory_config *memory, const char *of) {
  if (isfinite(memory->fraction) && memory->fraction >= 0) return NULL; /* above 1: limit.c */
  return INVALID("The memory fraction of %s must be above 0, and is %g.", of, memory->fraction);
}

static situ_status check_array(const char *what, const void *array, int count, int most) {
  if (count < 0 || count > most) return INVALID("n_%s is %d; it takes 0 to %d.", what, count, most);
  return count && !array ? INVALID("n_%s is %d, but %s is NULL.", what, count, what) : NULL;
}

static situ_status check_device_memory(const situ_device_memory *entry) {
  struct device_name name;
  if (!entry->device) return INVALID("The device of an entry of device_memory is NULL.");
  TRY(status_note(name_parse_any(entry->device, &name), "It stands in device_memory."));
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
    return INVALID("cpu_devices is %d; it takes 0 to %d.", config->cpu_devices, MAX_CPUS);
  if (config->gpu_devices < SITU_NO_GPUS)
    return INVALID("gpu_devices is %d; it takes 0 (all), a count, or SITU_NO_GPUS (%d).",
                   config->gpu_devices, SITU_NO_GPUS);
  TRY(check_array("device_memory", config->device_memory, config->n_device_memory, MAX_PIECES));
  TRY(check_array("virtual_devices", config->virtual_devices, config->n_virtual_devices,
                  MAX_PIECES));
  for (int i = 0; i < config->n_device_memory; i++)
    TRY(check_device_memory(&config->device_memory[i]));
  return check_memory(&config->memory, "every GPU");
}

/* Digits alone, from 1 to 9999. */
static bool read_count(const char *text, int *out) {
  const size_t length = strspn(text, "0123456789");
  if (!length || length > 4 || text[length]) return false;
  *out = (int)strtol(text, NULL, 10);
  return *out > 0;
}

situ_status device_options_required(const char *require, const char **shown, int *count) {
  const char *text = require ? require : getenv("SITU_REQUIRE");
  *shown = text;
  *count = 0;
  if (!text || !*text) return NULL;
  const bool is_gpu = !strncasecmp(text, "gpu", 3);
  if (is_gpu && !text[3]) *count = 1;
  if (*count || (is_gpu && text[3] == ':' && read_count(text + 4, count))) return NULL;
  return INVALID("%s is '%s'; it takes gpu, or gpu:2 for two of them.",
                 require ? "require" : "SITU_REQUIRE", text);
}

/* ---- Keeping ---- */

/* A copy of a text, where there is one. */
static const char *copy_text(const char *text, bool *failed) {
  char *copy = text ? strdup(text) : NULL;
  *failed = *failed || (text && !copy);
  return copy;
}

static const char *either(const char *first, const char *second) { return first ? first : second; }

static bool is_bounded(const situ_memory_config *memory) {
  return memory->limit_bytes || memory->reserve_bytes || memory->fraction > 0;
}

situ_memory_config device_options_join_memory(const situ_memory_config *over,
                                              const situ_memory_config *under) {
  situ_memory_config joined = is_bounded(over) ? *over : *under;
  joined.growth = over->growth || under->growth;
  joined.reference = over->reference || under->reference;
  return joined;
}

/* Appends the entries of a config for devices that have none yet. */
static void add_entries(situ_device_config *to, situ_device_memory *entries,
                        const situ_device_config *from, bool *failed) {
  const int before = to->n_device_memory;
  for (int i = 0; i < from->n_device_memory; i++) {
    const situ_device_memory *entry = &from->device_memory[i];
    bool is_there = false;
    for (int k = 0; k < before; k++)
      is_there = is_there || (entries[k].device && !strcmp(entries[k].device, entry->device));
    if (is_there) continue;
    entries[to->n_device_memory] = *entry;
    entries[to->n_device_memory++].device = copy_text(entry->device, failed);
  }
}

/* Later entries come first: the first one that names a device counts. */
static void join_entries(situ_device_config *to, const situ_device_config *over,
                         const situ_device_config *under, bool *failed) {
  const int count = over->n_device_memory + under->n_device_memory;
  situ_device_memory *entries = count ? calloc((size_t)count, sizeof *entries) : NULL;
  *failed = *failed || (count && !entries);
  if (!entries) return;
  to->device_memory = entries;
  add_entries(to, entries, over, failed);
  add_entries(to, entries, under, failed);
}

static void copy_pieces(situ_device_config *to, const situ_device_config *from, bool *failed) {
  const size_t bytes = (size_t)from->n_virtual_devices * sizeof *from->virtual_devices;
  situ_virtual_device *copy = bytes ? malloc(bytes) : NULL;
  *failed = *failed || (bytes && !copy);
  if (!copy) return;
  memcpy(copy, from->virtual_devices, bytes);
  to->virtual_devices = copy;
  to->n_virtual_devices = from->n_virtual_devices;
}

/* What `over` sets, and below it what `under` sets, in memory of its own. */
static bool join(const situ_device_config *over, const situ_device_config *under,
                 situ_device_config *out) {
  bool failed = false;
  *out = (situ_device_config){
      .sim_gpus = copy_text(either(over->sim_gpus, under->sim_gpus), &failed),
      .visible_devices = copy_text(either(over->visible_devices, under->visible_devices), &failed),
      .visible_device_list =
          copy_text(either(over->visible_device_list, under->visible_device_list), &failed),
      .require = copy_text(either(over->require, under->require), &failed),
      .cpu_devices = over->cpu_devices ? over->cpu_devices : under->cpu_devices,
      .gpu_devices = over->gpu_devices ? over->gpu_devices : under->gpu_devices,
      .memory = device_options_join_memory(&over->memory, &under->memory)};
  join_entries(out, over, under, &failed);
  copy_pieces(out, over->n_virtual_devices ? over : under, &failed);
  return !failed;
}

/* Puts an owned config in the place of the one that is there. */
static void replace(struct device_options *request, const situ_device_config *config) {
  struct device_options old = *request;
  request->config = *config;
  device_options_free(&old);
}

situ_status device_options_add(struct device_options *request, const situ_device_config *from) {
  if (!from) return NULL;
  TRY(device_options_check(from));
  struct device_options joined = {0};
  if (!join(from, &request->config, &joined.config)) {
    device_options_free(&joined);
    return NO_MEMORY();
  }
  replace(request, &joined.config);
  return NULL;
}

situ_status device_options_resolve(struct device_options *request) {
  situ_memory_config memory; /* of no GPU: a wrong text is an error on machines without GPUs, too */
  TRY(environment_check());
  TRY(device_options_parse_memory(getenv("SITU_GPU_MEMORY"), -1, &memory));
  const char *variable = NULL, *mask = visible_environment(&variable);
  const bool is_said = request->config.visible_devices;
  request->mask_variable = is_said ? "visible_devices" : variable;
  const situ_device_config said = {
      .sim_gpus = either(request->config.sim_gpus, getenv("SITU_SIM_GPUS")),
      .visible_devices = is_said ? NULL : mask};
  return device_options_add(request, &said);
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

static void add_item(struct strbuf *items, const char *what) {
  strbuf_appendf(items, "%s%s: ", items->length ? "; " : "", what);
}

static void compare_text(const char *what, const char *have, const char *want,
                         struct strbuf *items) {
  if (!want || !strcmp(have ? have : "", want)) return;
  add_item(items, what);
  if (have)
    strbuf_appendf(items, "'%s' is in force, '%s' is asked for", have, want);
  else
    strbuf_appendf(items, "nothing is in force, '%s' is asked for", want);
}

static void compare_cpus(int have, int want, struct strbuf *items) {
  if (!want || (have ? have : 1) == want) return;
  add_item(items, "cpu_devices");
  strbuf_appendf(items, "%d is in force, %d is asked for", have ? have : 1, want);
}

/* A count of GPUs in words. */
static const char *count_word(int count, char out[16]) {
  snprintf(out, 16, "%d", count);
  return count == 0 ? "all" : count == SITU_NO_GPUS ? "none" : out;
}

/* The first n of n or fewer GPUs are all of them. */
static void compare_gpus(int have, int want, int n_gpus, struct strbuf *items) {
  const int most = want == SITU_NO_GPUS ? 0 : want;
  if (!want || have == want || (!have && n_gpus <= most)) return;
  char a[16], b[16];
  add_item(items, "gpu_devices");
  strbuf_appendf(items, "%s is in force, %s is asked for", count_word(have, a),
                 count_word(want, b));
}

static bool same_pieces(const situ_device_config *have, const situ_device_config *want) {
  if (have->n_virtual_devices != want->n_virtual_devices) return false;
  for (int i = 0; i < have->n_virtual_devices; i++)
    if (have->virtual_devices[i].gpu != want->virtual_devices[i].gpu ||
        have->virtual_devices[i].limit_bytes != want->virtual_devices[i].limit_bytes)
      return false;
  return true;
}

/* "0=1.00GiB 0=2.00GiB": which GPU is cut in which pieces. */
static void add_pieces(struct strbuf *items, const situ_device_config *config) {
  char bytes[32];
  for (int i = 0; i < config->n_virtual_devices; i++)
    strbuf_appendf(items, "%s%d=%s", i ? " " : "", config->virtual_devices[i].gpu,
                   strbuf_format_bytes(config->virtual_devices[i].limit_bytes, bytes));
  if (!config->n_virtual_devices) strbuf_append(items, "none");
}

static void compare_pieces(const situ_device_config *have, const situ_device_config *want,
                           struct strbuf *items) {
  if (!want->n_virtual_devices || same_pieces(have, want)) return;
  add_item(items, "virtual_devices");
  add_pieces(items, have);
  strbuf_append(items, " are in force, ");
  add_pieces(items, want);
  strbuf_append(items, " are asked for");
}

void device_options_differs(const struct device_options *request, int n_gpus,
                            const situ_device_config *from, struct strbuf *items) {
  const situ_device_config *have = &request->config;
  compare_text("sim_gpus", have->sim_gpus, from->sim_gpus, items);
  /* "" hides all, and so differs from nothing */
  const char *mask = have->visible_devices;
  if (from->visible_devices && !mask && !*from->visible_devices) mask = "all";
  compare_text("visible_devices", mask, from->visible_devices, items);
  compare_text("visible_device_list", have->visible_device_list, from->visible_device_list, items);
  compare_cpus(have->cpu_devices, from->cpu_devices, items);
  compare_gpus(have->gpu_devices, from->gpu_devices, n_gpus, items);
  compare_pieces(have, from, items);
}

/* ---- Memory ---- */

static void overlay(struct memory_options *options, const situ_memory_config *over) {
  const situ_memory_config under = {.limit_bytes = options->limit_bytes,
                                    .reserve_bytes = options->reserve_bytes,
                                    .fraction = options->fraction,
                                    .growth = options->growth,
                                    .reference = options->reference};
  const situ_memory_config joined = device_options_join_memory(over, &under);
  *options = (struct memory_options){.limit_bytes = joined.limit_bytes,
                                     .reserve_bytes = joined.reserve_bytes,
                                     .fraction = joined.fraction,
                                     .growth = joined.growth,
                                     .reference = joined.reference};
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
    situ_status_release(status); /* it was checked */
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
  struct strbuf text = {0};
  if (options->limit_bytes)
    strbuf_appendf(&text, " limit_bytes=%s", strbuf_format_bytes(options->limit_bytes, bytes));
  if (options->reserve_bytes)
    strbuf_appendf(&text, " reserve_bytes=%s", strbuf_format_bytes(options->reserve_bytes, bytes));
  if (options->fraction > 0) strbuf_appendf(&text, " fraction=%g", options->fraction);
  if (options->growth) strbuf_append(&text, " growth");
  if (options->reference) strbuf_append(&text, " reference");
  snprintf(out, 160, "%s",
           text.length ? strbuf_get(&text) + 1 : "the default (nearly all, at once)");
  strbuf_free(&text);
  return out;
}
