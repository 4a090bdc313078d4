/* SPDX-License-Identifier: Apache-2.0
 * request.c: see request.h. */
#include "device/request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/quantity.h"

static bool sets_memory(const situ_memory_config *memory) {
  return memory->limit_bytes || memory->reserve_bytes || memory->fraction != 0 || memory->growth ||
         memory->reference;
}

/* Replaces an owned text by a copy; NULL leaves it. */
static bool take_text(const char **owned, const char *from) {
  if (!from) return true;
  char *copy = strdup(from);
  free((char *)*owned);
  *owned = copy;
  return copy;
}

static void free_device_memory(situ_device_config *config) {
  for (int i = 0; i < config->n_device_memory; i++) free((char *)config->device_memory[i].device);
  free((void *)config->device_memory);
  config->device_memory = NULL;
  config->n_device_memory = 0;
}

static situ_status take_device_memory(situ_device_config *to, const situ_device_config *from) {
  if (!from->n_device_memory) return NULL;
  for (int i = 0; i < from->n_device_memory; i++) {
    struct device_name name;
    TRY(name_parse_any(from->device_memory[i].device ? from->device_memory[i].device : "", &name));
  }
  free_device_memory(to);
  situ_device_memory *copy = calloc((size_t)from->n_device_memory, sizeof *copy);
  if (!copy) return NO_MEMORY();
  for (int i = 0; i < from->n_device_memory; i++) {
    copy[i] = from->device_memory[i];
    copy[i].device = strdup(copy[i].device);
  }
  to->device_memory = copy;
  to->n_device_memory = from->n_device_memory;
  return NULL;
}

static situ_status take_virtual(situ_device_config *to, const situ_device_config *from) {
  if (!from->n_virtual_devices) return NULL;
  const size_t bytes = (size_t)from->n_virtual_devices * sizeof *from->virtual_devices;
  situ_virtual_device *copy = malloc(bytes);
  if (!copy) return NO_MEMORY();
  memcpy(copy, from->virtual_devices, bytes);
  free((void *)to->virtual_devices);
  to->virtual_devices = copy;
  to->n_virtual_devices = from->n_virtual_devices;
  return NULL;
}

situ_status request_add(struct request *request, const situ_device_config *from) {
  if (!from) return NULL;
  situ_device_config *to = &request->config;
  TRY(take_device_memory(to, from));
  TRY(take_virtual(to, from));
  const bool ok = take_text(&to->sim_gpus, from->sim_gpus) &&
                  take_text(&to->visible_devices, from->visible_devices) &&
                  take_text(&to->visible_device_list, from->visible_device_list) &&
                  take_text(&to->require, from->require);
  if (!ok) return NO_MEMORY();
  if (from->cpu_devices) to->cpu_devices = from->cpu_devices;
  if (from->gpu_devices) to->gpu_devices = from->gpu_devices;
  if (sets_memory(&from->memory)) to->memory = from->memory;
  return NULL;
}

static void compare_text(const char *what, const char *have, const char *want, struct text *lines) {
  if (!want || (have && !strcmp(have, want))) return;
  text_addf(lines, "\n  %s: '%s' is in force, '%s' is asked for", what, have ? have : "(default)",
            want);
}

static void compare_count(const char *what, int have, int want, struct text *lines) {
  if (!want || have == want) return;
  text_addf(lines, "\n  %s: %d is in force, %d is asked for (0 is the default)", what, have, want);
}

static bool same_virtual(const situ_device_config *have, const situ_device_config *want) {
  if (have->n_virtual_devices != want->n_virtual_devices) return false;
  for (int i = 0; i < have->n_virtual_devices; i++)
    if (have->virtual_devices[i].gpu != want->virtual_devices[i].gpu ||
        have->virtual_devices[i].limit_bytes != want->virtual_devices[i].limit_bytes)
      return false;
  return true;
}

bool request_differs(const struct request *request, const situ_device_config *from,
                     struct text *lines) {
  const situ_device_config *have = &request->config;
  const size_t before = lines->length;
  compare_text("sim_gpus", have->sim_gpus, from->sim_gpus, lines);
  compare_text("visible_devices", have->visible_devices, from->visible_devices, lines);
  compare_text("visible_device_list", have->visible_device_list, from->visible_device_list, lines);
  compare_count("cpu_devices", have->cpu_devices, from->cpu_devices, lines);
  compare_count("gpu_devices", have->gpu_devices, from->gpu_devices, lines);
  if (from->n_virtual_devices && !same_virtual(have, from))
    text_addf(lines, "\n  virtual_devices: %d are in force, %d others are asked for",
              have->n_virtual_devices, from->n_virtual_devices);
  return lines->length > before;
}

/* One OPTION of SITU_GPU_MEMORY. */
static situ_status parse_option(const char *text, size_t length, situ_memory_config *out) {
  char option[64];
  if (length >= sizeof option) return INVALID("An option of SITU_GPU_MEMORY is too long: '%s'.", text);
  memcpy(option, text, length);
  option[length] = 0;
  char *value = strchr(option, '=');
  if (value) *value++ = 0;
  if (!value && !strcmp(option, "growth")) {
    out->growth = true;
    return NULL;
  }
  if (value && !strcmp(option, "limit")) return quantity_parse(value, &out->limit_bytes);
  if (value && !strcmp(option, "reserve")) return quantity_parse(value, &out->reserve_bytes);
  if (value && !strcmp(option, "fraction")) {
    char *end = NULL;
    out->fraction = strtod(value, &end);
    if (end != value && !*end && out->fraction > 0) return NULL;
    return INVALID("SITU_GPU_MEMORY: fraction=%s is not a number above 0.", value);
  }
  return INVALID(
      "SITU_GPU_MEMORY: '%s' is no option; there are fraction=0.4, limit=2GiB, reserve=1GiB and "
      "growth, as in \"growth;limit=4GiB\" or \"0:limit=2GiB,1:fraction=0.5\".",
      option);
}

/* Reads "INDEX:" in front of an entry; -1 where there is none. */
static int entry_index(const char **entry, size_t *length) {
  size_t digits = 0;
  while (digits < *length && isdigit((unsigned char)(*entry)[digits])) digits++;
  if (!digits || digits == *length || (*entry)[digits] != ':') return -1;
  const int index = atoi(*entry);
  *entry += digits + 1;
  *length -= digits + 1;
  return index;
}

situ_status request_parse_memory(const char *text, int index, situ_memory_config *out) {
  while (text && *text) {
    const char *entry = text;
    size_t length = strcspn(text, ",");
    text += length + (text[length] == ',');
    const int only = entry_index(&entry, &length);
    situ_memory_config parsed = {0};
    while (length) {
      const char *end = memchr(entry, ';', length);
      const size_t part = end ? (size_t)(end - entry) : length;
      TRY(parse_option(entry, part, &parsed));
      entry += part + (end != NULL);
      length -= part + (end != NULL);
    }
    if (only < 0 || only == index) *out = parsed;
  }
  return NULL;
}

/* Lets a more general config fill what a more special one leaves open: the bound as a whole, and growth. */
static void fill(struct memory_options *options, const situ_memory_config *from) {
  const bool bounded = options->limit_bytes || options->reserve_bytes || options->fraction != 0;
  if (!bounded) {
    options->limit_bytes = from->limit_bytes;
    options->reserve_bytes = from->reserve_bytes;
    options->fraction = from->fraction;
  }
  if (from->growth) options->growth = options->growth_set = true;
  if (from->reference) options->reference = true;
}

static void force_growth(struct memory_options *options) {
  const char *force = getenv("TF_FORCE_GPU_ALLOW_GROWTH");
  if (!force) return;
  const bool on = !strcmp(force, "true"), off = !strcmp(force, "false");
  if (on || off) {
    options->growth = on;
    options->growth_set = true;
  } else {
    log_warn_once("TF_FORCE_GPU_ALLOW_GROWTH is '%s', neither true nor false: ignored", force);
  }
}

situ_status request_memory(const struct request *request, const struct device_name *name,
                           struct memory_options *out) {
  const situ_device_config *config = &request->config;
  *out = (struct memory_options){0};
  for (int i = 0; i < config->n_device_memory; i++) {
    struct device_name pattern;
    TRY(name_parse_any(config->device_memory[i].device, &pattern));
    if (name_is_spec(&pattern, name)) fill(out, &config->device_memory[i].memory);
  }
  fill(out, &config->memory);
  situ_memory_config environment = {0};
  TRY(request_parse_memory(getenv("SITU_GPU_MEMORY"), name->index, &environment));
  fill(out, &environment);
  force_growth(out);
  return NULL;
}

const char *request_print_memory(const struct memory_options *options, char out[160]) {
  char bytes[32];
  struct text text = {0};
  if (options->limit_bytes)
    text_addf(&text, " limit_bytes=%s", text_bytes(options->limit_bytes, bytes));
  if (options->reserve_bytes)
    text_addf(&text, " reserve_bytes=%s", text_bytes(options->reserve_bytes, bytes));
  if (options->fraction != 0) text_addf(&text, " fraction=%g", options->fraction);
  if (options->growth) text_add(&text, " growth");
  if (options->reference) text_add(&text, " reference");
  snprintf(out, 160, "%s", text.length ? text_get(&text) + 1 : "the default (nearly all, at once)");
  text_free(&text);
  return out;
}

void request_free(struct request *request) {
  situ_device_config *config = &request->config;
  free((char *)config->sim_gpus);
  free((char *)config->visible_devices);
  free((char *)config->visible_device_list);
  free((char *)config->require);
  free_device_memory(config);
  free((void *)config->virtual_devices);
  *request = (struct request){0};
}
