/* SPDX-License-Identifier: Apache-2.0
 * capture.h: captures the output of a piece of code. */
#ifndef SITU_TESTS_CAPTURE_H
#define SITU_TESTS_CAPTURE_H

#include <unistd.h>

#include "support/expect.h"

struct capture {
  FILE *file;
  int output, error; /* where they went before */
};

/* From now on standard output and standard error go to a file. */
static inline void capture_begin(struct capture *capture) {
  fflush(NULL);
  *capture = (struct capture){tmpfile(), dup(STDOUT_FILENO), dup(STDERR_FILENO)};
  assert_non_null(capture->file);
  assert_true(dup2(fileno(capture->file), STDOUT_FILENO) >= 0);
  assert_true(dup2(fileno(capture->file), STDERR_FILENO) >= 0);
}

/* Undoes that. The text is for the caller to free. */
static inline char *capture_end(struct capture *capture) {
  fflush(NULL);
  dup2(capture->output, STDOUT_FILENO);
  dup2(capture->error, STDERR_FILENO);
  close(capture->output);
  close(capture->error);
  const long size = lseek(fileno(capture->file), 0, SEEK_END);
  char *text = calloc(1, (size_t)size + 1);
  rewind(capture->file);
  assert_int_equal(fread(text, 1, (size_t)size, capture->file), size);
  fclose(capture->file);
  return text;
}

static inline int capture_lines(const char *text) {
  int lines = 0;
  for (; *text; text++) lines += *text == '\n';
  return lines;
}

#endif
