/* SPDX-License-Identifier: Apache-2.0
 * python.c: see python.h. */
#include "python.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Finds the .venv next to the folder of this program. */
static bool find_venv(char *out, size_t size) {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return false;
  self[length] = '\0';
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
  }
  const int n = snprintf(out, size, "%s/.venv/bin/python", self);
  return n > 0 && (size_t)n < size && access(out, X_OK) == 0;
}

const char *python_find(char *buffer, size_t size) {
  const char *named = getenv("SITU_PYTHON");
  if (named && *named) return named;
  return find_venv(buffer, size) ? buffer : "python3";
}
