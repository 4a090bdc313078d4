/* SPDX-License-Identifier: Apache-2.0
 * data.h: files in the binary format of CIFAR-10, and views of their images. */
#ifndef CIFAR10_DATA_H
#define CIFAR10_DATA_H

#include <situ/situ.h>

enum {
  CIFAR_SIDE = 32,
  CIFAR_CROP = 24, /* what the network sees of an image */
  CIFAR_CLASSES = 10,
  CIFAR_FILES = 5, /* to train with; one more to test with */
  CIFAR_RECORD = 1 + 3 * CIFAR_SIDE * CIFAR_SIDE,
  CIFAR_VIEW = 3 * CIFAR_CROP * CIFAR_CROP
};

/* Consecutive records: label, then red, green and blue planes. */
struct records {
  unsigned char *bytes;
  int count;
};

/* Reads all records to train with, or those to test with, from `folder`; files that are not there
 * are made. */
situ_status records_load(const char *folder, bool test, struct records *out);

/* Frees what records_load has read. */
void records_free(struct records *records);

/* Writes the view of a record whose upper left corner is at (top, left), turned round or not, as
 * floats of mean 0 and deviation 1, to out[24][24][3]. */
void records_view(const struct records *records, int index, int top, int left, bool turned,
                  float *out);

/* A number below `limit`: number `draw` of the stream `stream`. */
int records_draw(uint64_t stream, uint64_t draw, int limit);

#endif
