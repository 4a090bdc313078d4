/* SPDX-License-Identifier: Apache-2.0
 * kernel_cache.c: see kernel_cache.h. */
#include "host/kernel_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PATH = 1024, MAX_BYTES = 1 << 28 };

/* In front of the data. */
struct head {
  char magic[8];
  struct kernel_cache_key key;
  uint64_t size, sum;
};

static const char magic[8] = "situ.k1";

static uint64_t hash(uint64_t value, const void *data, size_t size) {
  const unsigned char *at = data;
  for (size_t i = 0; i < size; i++) value = (value ^ at[i]) * 0x100000001b3u;
  return value;
}

struct kernel_cache_key kernel_cache_make_key(const char *const *texts) {
  struct kernel_cache_key key = {{0xcbf29ce484222325u, 0x9e3779b97f4a7c15u}};
  for (int i = 0; texts[i]; i++) {
    key.hash[0] = hash(key.hash[0], texts[i], strlen(texts[i]) + 1);
    key.hash[1] = hash(key.hash[1], texts[i], strlen(texts[i]) + 1);
  }
  return key;
}

/* Makes a folder and those above it. */
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

/* The folder; false where there is to be none. */
static bool folder(char out[MAX_PATH]) {
  const char *given = getenv("SITU_KERNEL_CACHE"), *cache = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  if (given) {
    snprintf(out, MAX_PATH, "%s", given);
    return *given;
  }
  if (cache && *cache) {
    snprintf(out, MAX_PATH, "%s/situ", cache);
    return true;
  }
  if (!home || !*home) return false;
  snprintf(out, MAX_PATH, "%s/.cache/situ", home);
  return true;
}

bool kernel_cache_enabled(void) {
  char place[MAX_PATH];
  return folder(place);
}

static bool path_of(const struct kernel_cache_key *key, char out[MAX_PATH]) {
  char place[MAX_PATH];
  if (!folder(place)) return false;
  return snprintf(out, MAX_PATH, "%.900s/%016llx%016llx.kernel", place,
                  (unsigned long long)key->hash[0], (unsigned long long)key->hash[1]) < MAX_PATH;
}

static unsigned char *read_file(FILE *file, const struct kernel_cache_key *key, size_t *size) {
  struct head head;
  if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.magic, magic, sizeof magic) != 0 ||
      memcmp(&head.key, key, sizeof *key) != 0 || !head.size || head.size > MAX_BYTES)
    return NULL;
  unsigned char *data = malloc(head.size);
  if (data && fread(data, head.size, 1, file) == 1 && hash(0, data, head.size) == head.sum) {
    *size = head.size;
    return data;
  }
  free(data);
  return NULL;
}

unsigned char *kernel_cache_read(const struct kernel_cache_key *key, size_t *size) {
  char path[MAX_PATH];
  FILE *file = path_of(key, path) ? fopen(path, "rb") : NULL;
  if (!file) return NULL;
  unsigned char *data = read_file(file, key, size);
  fclose(file);
  return data;
}

void kernel_cache_write(const struct kernel_cache_key *key, const unsigned char *data,
                        size_t size) {
  char place[MAX_PATH], path[MAX_PATH], aside[MAX_PATH + 16];
  if (!folder(place) || !make_folder(place) || !path_of(key, path)) return;
  snprintf(aside, sizeof aside, "%s.XXXXXX", path);
  const int descriptor = mkstemp(aside);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
  if (!file) return;
  struct head head = {.key = *key, .size = size, .sum = hash(0, data, size)};
  memcpy(head.magic, magic, sizeof magic);
  bool ok = fwrite(&head, sizeof head, 1, file) == 1 && fwrite(data, size, 1, file) == 1;
  ok = !fclose(file) && ok;
  if (!ok || rename(aside, path) != 0) unlink(aside);
}
