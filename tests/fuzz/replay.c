/* SPDX-License-Identifier: Apache-2.0
 * replay.c: runs a fuzz target over its seeds and over some thousand changes of them, the same in
 * each run. Usage: PROGRAM FOLDER. `make test` runs it; libFuzzer (`make fuzz`) finds more. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEEDS = 64, MAX_BYTES = 1 << 16, CHANGES = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seed {
  uint8_t *data;
  size_t size;
};

static uint64_t random_state = 1;

/* xorshift64* */
static uint32_t random_below(size_t bound) {
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return bound ? (uint32_t)((random_state * 0x2545f4914f6cdd1du >> 33) % bound) : 0;
}

static int read_seed(const char *folder, const char *name, struct seed *out) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  out->data = malloc(MAX_BYTES);
  if (!file || !out->data) return 0;
  out->size = fread(out->data, 1, MAX_BYTES, file);
  fclose(file);
  return 1;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_seed(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Flips, overwrites, removes, repeats bytes, or takes the end of another seed. */
static size_t change(uint8_t *data, size_t size, const struct seed *other) {
  static const uint8_t notable[] = {0, 1, 0x7f, 0x80, 0xff};
  const size_t at = random_below(size), length = random_below(16) + 1;
  switch (size ? random_below(5) : 0) {
    case 0:
      if (size) data[at] ^= (uint8_t)(1u << random_below(8));
      return size;
    case 1:
      for (size_t i = at; i < size && i < at + length; i++) data[i] = notable[random_below(5)];
      return size;
    case 2:
      if (at + length > size) return at;
      memmove(data + at, data + at + length, size - at - length);
      return size - length;
    case 3:
      if (at + length > size || size + length > MAX_BYTES) return size;
      memmove(data + at + length, data + at, size - at);
      return size + length;
    default: {
      const size_t from = random_below(other->size);
      const size_t count = other->size - from;
      if (at + count > MAX_BYTES) return size;
      memcpy(data + at, other->data + from, count);
      return at + count;
    }
  }
}

int main(int argc, char **argv) {
  struct seed seeds[MAX_SEEDS];
  struct dirent **names = NULL;
  int count = 0;
  const int found = argc > 1 ? scandir(argv[1], &names, is_seed, by_name) : 0;
  for (int i = 0; i < found; i++) {
    if (count < MAX_SEEDS) count += read_seed(argv[1], names[i]->d_name, &seeds[count]);
    free(names[i]);
  }
  free(names);
  uint8_t *data = malloc(2 * MAX_BYTES);
  if (!data) return 1;
  for (int i = 0; i < count; i++) LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
  for (int i = 0; i < CHANGES && count; i++) {
    const struct seed *seed = &seeds[i % count];
    size_t size = seed->size;
    memcpy(data, seed->data, size);
    for (uint32_t n = random_below(4) + 1; n; n--)
      size = change(data, size, &seeds[random_below((size_t)count)]);
    LLVMFuzzerTestOneInput(data, size);
  }
  free(data);
  for (int i = 0; i < count; i++) free(seeds[i].data);
  printf("%d seeds\n", count);
  return count ? 0 : 1;
}
