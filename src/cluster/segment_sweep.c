/* SPDX-License-Identifier: Apache-2.0
 * segment_sweep.c: removes shared memory that killed processes have left behind. A cluster unlinks
 * its segment when all ranks have joined, so only those remain whose creator was killed before. */
#include "cluster/segment_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cluster/segment.h"

enum { GRACE = 60 }; /* seconds in which a new segment gets its creator */

/* Returns whether the header names a creator that has ended. */
static bool is_abandoned(int file, const struct stat *stat) {
  if ((size_t)stat->st_size < sizeof(struct segment_head))
    return time(NULL) - stat->st_mtime > GRACE;
  struct segment_head *head = mmap(NULL, sizeof *head, PROT_READ, MAP_SHARED, file, 0);
  if (head == MAP_FAILED) return false;
  const int32_t creator = atomic_load(&head->creator);
  munmap(head, sizeof *head);
  if (!creator) return time(NULL) - stat->st_mtime > GRACE;
  return !segment_process_runs(creator);
}

static void sweep_file(int folder, const char *name) {
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  struct stat stat;
  const bool is_own = !fstat(file, &stat) && S_ISREG(stat.st_mode) && stat.st_uid == geteuid();
  if (is_own && is_abandoned(file, &stat)) unlinkat(folder, name, 0);
  close(file);
}

void segment_sweep(void) {
  char prefix[32];
  snprintf(prefix, sizeof prefix, "situ-%u-", (unsigned)geteuid());
  DIR *folder = opendir("/dev/shm");
  if (!folder) return;
  for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
    if (!strncmp(entry->d_name, prefix, strlen(prefix))) sweep_file(dirfd(folder), entry->d_name);
  closedir(folder);
}
