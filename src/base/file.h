/* SPDX-License-Identifier: Apache-2.0
 * file.h: reads whole files, replaces files atomically. */
#ifndef SITU_BASE_FILE_H
#define SITU_BASE_FILE_H

#include <stdio.h>

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

/* A file that is being replaced. */
struct file_writer {
  FILE *stream;    /* write to this */
  char *path;      /* requested by the caller */
  char *target;    /* NULL: `stream` is a device or a pipe */
  char *temporary; /* path of `stream` */
};

/* Begins to replace a file: creates a temporary file in the same directory, after removing those of
 * processes that died. The mode of the old file and symbolic links remain; devices and pipes are
 * written to. */
situ_status file_writer_open(const char *path, struct file_writer *writer) SITU_MUST_USE;

/* Syncs the temporary file, renames it and syncs the directory: a crash leaves the old or the new
 * file. An error of the stream is one of the commit. Frees the writer. */
situ_status file_writer_commit(struct file_writer *writer) SITU_MUST_USE;

/* Frees a writer without replacing the file. */
void file_writer_discard(struct file_writer *writer);

/* Replaces a file by the concatenation of parts; see file_writer_open. */
situ_status file_replace(const char *path, const struct file_part *parts, int count) SITU_MUST_USE;

#endif
