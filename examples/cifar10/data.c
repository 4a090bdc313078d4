/* SPDX-License-Identifier: Apache-2.0
 * data.c: files in the binary format of CIFAR-10, and a generator for machines without them: the
 * bytes that data.py makes. */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PER_FILE = 1000, DRAWS = 8192, PIXELS = CIFAR_SIDE * CIFAR_SIDE, MOST_PATH = 4096 };

int records_draw(uint64_t stream, uint64_t draw, int limit) {
  uint64_t x = (stream * DRAWS + draw + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return (int)((x >> 32) % (uint64_t)limit);
}

/* Whether the pixel (x, y), counted from the middle, is in the shape of a class of size r. */
static bool is_inside(int label, int x, int y, int r) {
  const int a = abs(x), b = abs(y), far = a > b ? a : b, near = a > b ? b : a;
  const int round = a * a + b * b;
  const bool shapes[CIFAR_CLASSES] = {
      round < r * r,                                      /* disc */
      round < r * r && 100 * round > 36 * r * r,          /* ring */
      10 * far < 9 * r,                                   /* square */
      10 * far < 9 * r && 10 * far > 5 * r,               /* frame */
      far <= r && 10 * near < 3 * r,                      /* plus */
      far <= r && 10 * abs(a - b) < 3 * r,                /* cross */
      far <= r && (y + 60) / 3 % 2 == 0,                  /* lying stripes */
      far <= r && (x + 60) / 3 % 2 == 0,                  /* standing stripes */
      far <= r && ((x + 60) / 4 + (y + 60) / 4) % 2 == 0, /* chequers */
      b <= r && 2 * a <= y + r,                           /* triangle */
  };
  return shapes[label];
}

/* Makes the record of an image: its class, place, size and colors are draws of its number. */
static void make_record(uint64_t image, unsigned char *out) {
  const int label = records_draw(image, 0, CIFAR_CLASSES);
  const int left = 13 + records_draw(image, 1, 6), top = 13 + records_draw(image, 2, 6);
  const int size = 7 + records_draw(image, 3, 4);
  const bool is_light = records_draw(image, 10, 2);
  out[0] = (unsigned char)label;
  for (int i = 0; i < 3 * PIXELS; i++) {
    const int color = i / PIXELS, y = i % PIXELS / CIFAR_SIDE, x = i % CIFAR_SIDE;
    const int dark = 20 + records_draw(image, (uint64_t)(4 + color), 90);
    const int light = dark + 60 + records_draw(image, (uint64_t)(7 + color), 60);
    const int base = is_inside(label, x - left, y - top, size) == is_light ? light : dark;
    const int value = base + records_draw(image, (uint64_t)(16 + i), 41) - 20;
    out[1 + i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
  }
}

static situ_status file_error(const char *what, const char *path) {
  return situ_status_create(SITU_NOT_FOUND, "%s: cannot %s it", path, what);
}

/* Writes a file aside and renames it: no half file is ever found. */
static situ_status make_file(const char *path, int number) {
  unsigned char record[CIFAR_RECORD];
  char aside[MOST_PATH + 32];
  snprintf(aside, sizeof aside, "%s.%ld", path, (long)getpid());
  FILE *file = fopen(aside, "wb");
  if (!file) return file_error("write", aside);
  bool ok = true;
  for (int i = 0; i < PER_FILE && ok; i++) {
    make_record((uint64_t)(number * PER_FILE + i), record);
    ok = fwrite(record, sizeof record, 1, file) == 1;
  }
  ok = !fclose(file) && ok;
  if (ok && !rename(aside, path)) return NULL;
  remove(aside);
  return file_error("write", path);
}

/* Appends the records of a file. */
static situ_status read_file(const char *path, struct records *records) {
  struct stat about;
  FILE *file = fopen(path, "rb");
  if (!file) return file_error("read", path);
  situ_status s = NULL;
  if (fstat(fileno(file), &about) || !about.st_size || about.st_size % CIFAR_RECORD)
    s = situ_status_create(SITU_DATA_LOSS, "%s: %lld bytes are no whole number of records of %d",
                           path, (long long)about.st_size, CIFAR_RECORD);
  const int more = s ? 0 : (int)(about.st_size / CIFAR_RECORD);
  const size_t old = (size_t)records->count * CIFAR_RECORD, size = (size_t)more * CIFAR_RECORD;
  unsigned char *bytes = more ? realloc(records->bytes, old + size) : NULL;
  if (bytes) records->bytes = bytes;
  if (!s && more && !bytes) s = situ_status_create(SITU_RESOURCE_EXHAUSTED, "%s: no memory", path);
  if (!s && more && fread(bytes + old, 1, size, file) != size) s = file_error("read", path);
  if (!s) records->count += more;
  fclose(file);
  return s;
}

situ_status records_load(const char *folder, bool test, struct records *out) {
  char path[MOST_PATH];
  situ_status s = NULL;
  *out = (struct records){0};
  mkdir(folder, 0777);
  snprintf(path, sizeof path, "%s/cifar-10-batches-bin", folder);
  mkdir(path, 0777);
  for (int i = test ? CIFAR_FILES : 0; i < CIFAR_FILES + test && !s; i++) {
    if (test)
      snprintf(path, sizeof path, "%s/cifar-10-batches-bin/test_batch.bin", folder);
    else
      snprintf(path, sizeof path, "%s/cifar-10-batches-bin/data_batch_%d.bin", folder, i + 1);
    if (access(path, F_OK)) s = make_file(path, i);
    if (!s) s = read_file(path, out);
  }
  if (s) records_free(out);
  return s;
}

void records_free(struct records *records) {
  free(records->bytes);
  *records = (struct records){0};
}

void records_view(const struct records *records, int index, int top, int left, bool turned,
                  float *out) {
  const unsigned char *planes = records->bytes + (size_t)index * CIFAR_RECORD + 1;
  double sum = 0, squares = 0;
  for (int i = 0; i < CIFAR_VIEW; i++) {
    const int y = i / 3 / CIFAR_CROP, x = i / 3 % CIFAR_CROP;
    const int column = left + (turned ? CIFAR_CROP - 1 - x : x);
    const float value = planes[i % 3 * PIXELS + (top + y) * CIFAR_SIDE + column];
    sum += (double)value;
    squares += (double)(value * value);
    out[i] = value;
  }
  const double mean = sum / CIFAR_VIEW, variance = squares / CIFAR_VIEW - mean * mean;
  const double scale = 1 / fmax(sqrt(fmax(variance, 0)), 1 / sqrt(CIFAR_VIEW));
  for (int i = 0; i < CIFAR_VIEW; i++) out[i] = (float)(((double)out[i] - mean) * scale);
}
