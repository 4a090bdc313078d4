/* SPDX-License-Identifier: Apache-2.0
 * user_key.c: a secret of the user in a file of the home folder; see user_key.h. The environment
 * does not matter: all processes of a user find the same file. */
#include "cluster/user_key.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PATH = 4096, MAX_ENTRY = 16384 };

/* Writes the path of the folder, which is created if its parent exists. */
static bool find_folder(char path[MAX_PATH]) {
  struct passwd entry, *found = NULL;
  char buffer[MAX_ENTRY];
  if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) || !found) return false;
  static const char *const folders[] = {"/.cache", "/.cache/situ"};
  for (int i = 0; i < 2; i++) {
    const int used = snprintf(path, MAX_PATH, "%s%s", entry.pw_dir, folders[i]);
    if (used < 0 || used >= MAX_PATH) return false;
    if (mkdir(path, 0700) && errno != EEXIST) return false;
  }
  return true;
}

static bool is_private(int file) {
  struct stat stat;
  return !fstat(file, &stat) && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
         !(stat.st_mode & (S_IRWXG | S_IRWXO));
}

static bool read_key(int folder, unsigned char key[USER_KEY_BYTES]) {
  const int file = openat(folder, "cluster-key", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  const bool ok = is_private(file) && read(file, key, USER_KEY_BYTES) == USER_KEY_BYTES;
  close(file);
  return ok;
}

/* Creates the file as a whole: other processes do not see a part of it. */
static void create_key(int folder) {
  unsigned char key[USER_KEY_BYTES];
  char temporary[64];
  if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key) return;
  snprintf(temporary, sizeof temporary, "cluster-key.%02x%02x%02x%02x", key[0], key[1], key[2],
           key[3]);
  if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key) return;
  const int file =
      openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return;
  const bool is_written = write(file, key, sizeof key) == (ssize_t)sizeof key && !fsync(file);
  close(file);
  if (is_written) linkat(folder, temporary, folder, "cluster-key", 0); /* another one may exist */
  unlinkat(folder, temporary, 0);
}

bool user_key_read(unsigned char key[USER_KEY_BYTES]) {
  char path[MAX_PATH];
  if (!find_folder(path)) return false;
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  bool ok = read_key(folder, key);
  if (!ok) {
    create_key(folder);
    ok = read_key(folder, key);
  }
  close(folder);
  return ok;
}
