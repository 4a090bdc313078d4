/* SPDX-License-Identifier: Apache-2.0
 * file.h: reads whole files, replaces files atomically. */
#ifndef SITU_BASE_FILE_H
#define SITU_BASE_FILE_H

#include "base/base.h"

struct strbuf;

/* Returns the status for an errno about a path: "path; No such file or directory". */
situ_status file_failure(const char *path, int error) SITU_MUST_USE;

/* Appends the contents of a file. */
situ_status file_read(const char *path, struct strbuf *out) SITU_MUST_USE;

struct file_part {
  const void *data;
  size_t bytes;
};

/* Replaces a file by the concatenation of parts. Writes to a temporary file in the same directory,
 * syncs it, renames it and syncs the directory: a crash leaves the old or the new file. The mode of
 * the old file and symbolic links remain; devices and pipes are written to. */
situ_status file_replace(const char *path, const struct file_part *parts, int count) SITU_MUST_USE;

#endif
