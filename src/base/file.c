/* SPDX-License-Identifier: Apache-2.0
 * file.c: reads whole files, replaces files atomically. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/strbuf.h"

/* Large parts are written in pieces of this size. */
static const size_t piece_bytes = (size_t)64 << 20;

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

/* Appends the directory of a path, with a slash. */
static void append_directory(struct strbuf *out, const char *path) {
  const char *slash = strrchr(path, '/');
  strbuf_append_n(out, slash ? path : "./", slash ? (size_t)(slash - path) + 1 : 2);
}

/* Makes a rename durable. */
static situ_status sync_directory(const char *path) {
  struct strbuf directory = {0};
  append_directory(&directory, path);
  const int handle = directory.failed ? -1 : open(strbuf_get(&directory), O_RDONLY | O_DIRECTORY);
  const int error = directory.failed ? ENOMEM : handle < 0 || fsync(handle) ? errno : 0;
  if (handle >= 0) close(handle);
  strbuf_free(&directory);
  return error ? file_failure(path, error) : NULL;
}

/* ---- Temporary files ---- */

/* The names of temporary files. Their writers hold a lock (flock), which the kernel releases when a
 * process ends: a file that nobody has locked is left over. */
static const char prefix[] = ".situ-", suffix[] = ".tmp";
enum { RANDOM_DIGITS = 16, MAX_ATTEMPTS = 16 };

static bool is_temporary(const char *name) {
  return !strncmp(name, prefix, sizeof prefix - 1) &&
         strlen(name) == sizeof prefix - 1 + RANDOM_DIGITS + sizeof suffix - 1 &&
         !strcmp(name + sizeof prefix - 1 + RANDOM_DIGITS, suffix);
}

static void remove_leftover(int directory, const char *name) {
  struct stat found;
  const int handle = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (handle < 0) return;
  if (!fstat(handle, &found) && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
      !flock(handle, LOCK_EX | LOCK_NB))
    unlinkat(directory, name, 0);
  close(handle);
}

/* Removes temporary files that processes which died left in the directory of a path. */
static void remove_stale(const char *path) {
  struct strbuf directory = {0};
  append_directory(&directory, path);
  DIR *entries = directory.failed ? NULL : opendir(strbuf_get(&directory));
  strbuf_free(&directory);
  if (!entries) return;
  for (const struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
    if (is_temporary(entry->d_name)) remove_leftover(dirfd(entries), entry->d_name);
  closedir(entries);
}

/* Opens and locks a new file. Returns 0, or EAGAIN if another process took it for a leftover. */
static int open_temporary(struct file_writer *writer) {
  struct stat found;
  uint64_t number = 0;
  struct strbuf path = {0};
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) return EIO;
  append_directory(&path, writer->target);
  strbuf_appendf(&path, "%s%016llx%s", prefix, (unsigned long long)number, suffix);
  if (path.failed) {
    strbuf_free(&path);
    return ENOMEM;
  }
  writer->temporary = path.data;
  const int handle =
      open(path.data, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666); /* umask */
  if (handle < 0) return errno;
  const bool is_taken = flock(handle, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
  if (is_taken || fstat(handle, &found) || !found.st_nlink) {
    close(handle);
    return EAGAIN;
  }
  writer->stream = fdopen(handle, "wb");
  if (writer->stream) return 0;
  const int error = errno;
  close(handle);
  unlink(path.data);
  return error;
}

static int create_temporary(struct file_writer *writer) {
  int error = EAGAIN;
  for (int i = 0; i < MAX_ATTEMPTS && (error == EAGAIN || error == EEXIST); i++) {
    free(writer->temporary);
    writer->temporary = NULL;
    error = open_temporary(writer);
  }
  return error;
}

/* ---- Writers ---- */

/* Whether to write to a path itself: a device, a pipe, the missing target of a link. */
static bool is_special(const char *path, struct stat *old, bool *exists) {
  struct stat link;
  const bool is_link = !lstat(path, &link) && S_ISLNK(link.st_mode);
  *exists = !stat(path, old);
  return *exists ? !S_ISREG(old->st_mode) && !S_ISDIR(old->st_mode) : is_link;
}

/* Returns 0 or an errno. */
static int open_writer(struct file_writer *writer, const char *path) {
  struct stat old;
  bool exists = false;
  if (is_special(path, &old, &exists)) {
    writer->stream = fopen(path, "wb");
    return writer->stream ? 0 : errno;
  }
  if (exists && S_ISDIR(old.st_mode)) return EISDIR;
  writer->target = exists ? realpath(path, NULL) : strdup(path);
  if (!writer->target) return errno;
  remove_stale(writer->target);
  const int error = create_temporary(writer);
  if (error) return error;
  return exists && fchmod(fileno(writer->stream), old.st_mode & 0777) ? errno : 0;
}

situ_status file_writer_open(const char *path, struct file_writer *writer) {
  *writer = (struct file_writer){0};
  writer->path = strdup(path);
  const int error = writer->path ? open_writer(writer, path) : ENOMEM;
  if (!error) return NULL;
  file_writer_discard(writer);
  return file_failure(path, error);
}

/* Writes what is buffered, syncs and renames the file, which stays locked until then. */
static int finish(struct file_writer *writer) {
  errno = 0;
  const bool good = !ferror(writer->stream) && !fflush(writer->stream) &&
                    (!fsync(fileno(writer->stream)) || errno == EINVAL); /* EINVAL: no file */
  if (!good) return errno ? errno : EIO;                                 /* never 0 on failure */
  return writer->temporary && rename(writer->temporary, writer->target) ? errno : 0;
}

situ_status file_writer_commit(struct file_writer *writer) {
  const int error = finish(writer);
  situ_status status = NULL;
  if (error) {
    status = file_failure(writer->path, error);
  } else if (writer->temporary) {
    free(writer->temporary);
    writer->temporary = NULL; /* it has its name */
    status = sync_directory(writer->target);
  }
  file_writer_discard(writer);
  return status;
}

void file_writer_discard(struct file_writer *writer) {
  if (writer->temporary && writer->stream) unlink(writer->temporary);
  if (writer->stream) fclose(writer->stream);
  free(writer->temporary);
  free(writer->target);
  free(writer->path);
  *writer = (struct file_writer){0};
}

/* Writes in pieces, so that an interrupt ends it soon. The disk keeps up with them: otherwise the
 * commit would wait for all. */
static situ_status write_part(const struct file_writer *writer, const struct file_part *part) {
  for (size_t at = 0, bytes; at < part->bytes; at += bytes) {
    TRY(interrupt_check());
    bytes = part->bytes - at < piece_bytes ? part->bytes - at : piece_bytes;
    fwrite((const char *)part->data + at, 1, bytes, writer->stream);
    if (bytes < piece_bytes || fflush(writer->stream)) continue; /* the commit reports errors */
    if (fdatasync(fileno(writer->stream)) && errno != EINVAL)
      return file_failure(writer->path, errno);
  }
  return NULL;
}

situ_status file_replace(const char *path, const struct file_part *parts, int count) {
  struct file_writer writer;
  TRY(file_writer_open(path, &writer));
  situ_status status = NULL;
  for (int i = 0; i < count && !status; i++) status = write_part(&writer, &parts[i]);
  if (!status) return file_writer_commit(&writer);
  file_writer_discard(&writer);
  return status;
}
