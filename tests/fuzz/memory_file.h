/* SPDX-License-Identifier: Apache-2.0
 * memory_file.h: a file in memory with the bytes of a fuzz target, for parsers that open files. */
#ifndef SITU_TESTS_FUZZ_MEMORY_FILE_H
#define SITU_TESTS_FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Replaces the contents of the file. Returns its path, which is always the same. */
static const char *memory_file(const uint8_t *data, size_t size) {
  static int handle = -1;
  static char path[64];
  if (handle < 0) {
    handle = memfd_create("fuzz", 0);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), handle);
  }
  if (handle < 0 || ftruncate(handle, 0) ||
      (size && pwrite(handle, data, size, 0) != (ssize_t)size))
    abort();
  return path;
}

#endif
