/* SPDX-License-Identifier: Apache-2.0
 * file.c: reads whole files, replaces files atomically. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"

situ_status file_failure(const char *path, int error) {
  const situ_code code = error == ENOENT                     ? SITU_NOT_FOUND
                         : error == EACCES || error == EPERM ? SITU_PERMISSION_DENIED
                         : error == EISDIR                   ? SITU_FAILED_PRECONDITION
                         : error == ENOSPC || error == EFBIG ? SITU_RESOURCE_EXHAUSTED
                                                             : SITU_UNKNOWN;
  return situ_status_create(code, "%s; %s", path, strerror(error));
}

situ_status file_read(const char *path, struct strbuf *out) {
  FILE *stream = fopen(path, "rb");
  if (!stream) return file_failure(path, errno);
  char block[65536];
  size_t n = 0;
  while ((n = fread(block, 1, sizeof block, stream)) > 0) strbuf_append_n(out, block, n);
  const int error = ferror(stream) ? (errno ? errno : EIO) : 0;
  fclose(stream);
  if (error) return file_failure(path, error);
  return out->failed ? NO_MEMORY() : NULL;
}

/* Makes a rename durable. */
static situ_status sync_directory(const char *path) {
  const char *slash = strrchr(path, '/');
  struct strbuf directory = {0};
  strbuf_append_n(&directory, path, slash ? (size_t)(slash - path) + 1 : 0);
  if (!slash) strbuf_append(&directory, ".");
  const int handle = directory.failed ? -1 : open(strbuf_get(&directory), O_RDONLY | O_DIRECTORY);
  const int error = directory.failed ? ENOMEM : handle < 0 || fsync(handle) ? errno : 0;
  if (handle >= 0) close(handle);
  strbuf_free(&directory);
  return error ? file_failure(path, error) : NULL;
}

/* Creates the temporary file anew; a file left by a process that died is removed. */
static FILE *open_temporary(const char *path) {
  unlink(path);
  const int handle = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  FILE *file = handle < 0 ? NULL : fdopen(handle, "wb");
  if (!file && handle >= 0) close(handle);
  return file;
}

/* Writes and syncs a file. Returns 0 or an errno. */
static int write_parts(FILE *file, const struct file_part *parts, int count) {
  errno = 0;
  bool good = true;
  for (int i = 0; i < count && good; i++)
    good = !parts[i].bytes || fwrite(parts[i].data, 1, parts[i].bytes, file) == parts[i].bytes;
  good = good && !fflush(file) && (!fsync(fileno(file)) || errno == EINVAL); /* EINVAL: no file */
  const int error = good ? 0 : errno ? errno : EIO; /* never 0 on failure */
  return fclose(file) && !error ? (errno ? errno : EIO) : error;
}

/* Writes to a temporary file with the mode of the old one, if there is one, and renames it. Returns
 * 0 or an errno. */
static int replace(const char *path, const struct stat *old, const struct file_part *parts,
                   int count) {
  struct strbuf temporary = {0};
  strbuf_appendf(&temporary, "%s.tmp%ld.%llx", path, (long)getpid(),
                 (unsigned long long)pthread_self());
  FILE *file = temporary.failed ? NULL : open_temporary(strbuf_get(&temporary));
  int error = temporary.failed ? ENOMEM : file ? 0 : errno;
  if (file && old && fchmod(fileno(file), old->st_mode & 0777)) error = errno;
  if (file) {
    const int written = write_parts(file, parts, count);
    if (!error) error = written;
  }
  if (!error && rename(strbuf_get(&temporary), path)) error = errno;
  if (error && file) unlink(strbuf_get(&temporary));
  strbuf_free(&temporary);
  return error;
}

/* Writes to what is not a file: a device, a pipe, the missing target of a link. */
static situ_status write_directly(const char *path, const struct file_part *parts, int count) {
  FILE *file = fopen(path, "wb");
  const int error = file ? write_parts(file, parts, count) : errno;
  return error ? file_failure(path, error) : NULL;
}

situ_status file_replace(const char *path, const struct file_part *parts, int count) {
  struct stat link, old;
  const bool is_link = !lstat(path, &link) && S_ISLNK(link.st_mode);
  const bool exists = !stat(path, &old);
  if (exists ? !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode) : is_link)
    return write_directly(path, parts, count);
  char *target = is_link ? realpath(path, NULL) : NULL;
  const char *const to = target ? target : path;
  const int error = is_link && !target ? errno : replace(to, exists ? &old : NULL, parts, count);
  const situ_status status = error ? file_failure(path, error) : sync_directory(to);
  free(target);
  return status;
}
