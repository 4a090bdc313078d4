/* SPDX-License-Identifier: Apache-2.0
 * kernel_cache.c: on-disk cache of compiled kernels, keyed by an FNV-1a hash of source and
 * options. */
#include "host/kernel_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

enum { MAX_PATH = 1024, MAX_BYTES = 1 << 28 };

/* File header. */
struct header {
  char magic[8];
  struct kernel_cache_key key;
  uint64_t size, checksum;
};

static const char magic[8] = "situ.k1";

static uint64_t hash(uint64_t value, const void *data, size_t size) {
  const unsigned char *at = data;
  for (size_t i = 0; i < size; i++) value = (value ^ at[i]) * 0x100000001b3u;
  return value;
}

struct kernel_cache_key kernel_cache_make_key(const char *const *strings) {
  struct kernel_cache_key key = {{0xcbf29ce484222325u, 0x9e3779b97f4a7c15u}};
  for (int i = 0; strings[i]; i++) {
    key.hash[0] = hash(key.hash[0], strings[i], strlen(strings[i]) + 1);
    key.hash[1] = hash(key.hash[1], strings[i], strlen(strings[i]) + 1);
  }
  return key;
}

/* Creates a folder and its parents. */
static bool make_folder(char *path) {
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    const bool ok = !mkdir(path, 0777) || errno == EEXIST;
    *at = '/';
    if (!ok) return false;
  }
  return !mkdir(path, 0777) || errno == EEXIST;
}

/* Returns the cache folder; false if the cache is disabled. */
static bool find_folder(char out[MAX_PATH]) {
  const char *setting = getenv("SITU_KERNEL_CACHE"), *cache_home = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  if (setting) {
    snprintf(out, MAX_PATH, "%s", setting);
    return *setting;
  }
  if (cache_home && *cache_home) {
    snprintf(out, MAX_PATH, "%s/situ", cache_home);
    return true;
  }
  if (!home || !*home) return false;
  snprintf(out, MAX_PATH, "%s/.cache/situ", home);
  return true;
}

bool kernel_cache_enabled(void) {
  char folder[MAX_PATH];
  return find_folder(folder);
}

static bool make_path(const struct kernel_cache_key *key, char out[MAX_PATH]) {
  char folder[MAX_PATH];
  if (!find_folder(folder)) return false;
  return snprintf(out, MAX_PATH, "%.900s/%016llx%016llx.kernel", folder,
                  (unsigned long long)key->hash[0], (unsigned long long)key->hash[1]) < MAX_PATH;
}

static unsigned char *read_file(FILE *file, const struct kernel_cache_key *key, size_t *size) {
  struct header header;
  if (fread(&header, sizeof header, 1, file) != 1 ||
      memcmp(header.magic, magic, sizeof magic) != 0 ||
      memcmp(&header.key, key, sizeof *key) != 0 || !header.size || header.size > MAX_BYTES)
    return NULL;
  unsigned char *data = malloc(header.size);
  if (data && fread(data, header.size, 1, file) == 1 &&
      hash(0, data, header.size) == header.checksum) {
    *size = header.size;
    return data;
  }
  free(data);
  return NULL;
}

unsigned char *kernel_cache_read(const struct kernel_cache_key *key, size_t *size) {
  char path[MAX_PATH];
  FILE *file = make_path(key, path) ? fopen(path, "rb") : NULL;
  if (!file) return NULL;
  unsigned char *data = read_file(file, key, size);
  fclose(file);
  return data;
}

void kernel_cache_write(const struct kernel_cache_key *key, const unsigned char *data,
                        size_t size) {
  char folder[MAX_PATH], path[MAX_PATH];
  if (!find_folder(folder) || !make_folder(folder) || !make_path(key, path)) return;
  struct header header = {.key = *key, .size = size, .checksum = hash(0, data, size)};
  memcpy(header.magic, magic, sizeof magic);
  const struct file_part parts[] = {{&header, sizeof header}, {data, size}};
  situ_status_release(file_replace(path, parts, 2)); /* on failure, it is compiled next time */
}
