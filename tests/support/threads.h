/* SPDX-License-Identifier: Apache-2.0
 * threads.h: how many threads this process has. */
#ifndef SITU_TESTS_THREADS_H
#define SITU_TESTS_THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether a thread is on its way out: the system lists one that was joined for some time yet. */
static inline bool thread_ends(const char *number) {
  enum { EXITING = 4 }; /* PF_EXITING of the kernel, set before anybody can have joined it */
  char path[300], text[512] = "";
  unsigned flags = EXITING;
  snprintf(path, sizeof path, "/proc/self/task/%s/stat", number);
  FILE *file = fopen(path, "r");
  if (!file) return true;
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  const char *name_end = size ? strrchr(text, ')') : NULL;
  if (name_end) sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags);
  return flags & EXITING;
}

/* The number of threads that remain; -1: unknown. */
static inline int threads_count(void) {
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return -1;
  int count = 0;
  for (struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks))
    count += entry->d_name[0] != '.' && !thread_ends(entry->d_name);
  closedir(tasks);
  return count;
}

#endif
