/* SPDX-License-Identifier: Apache-2.0
 * python.h: the Python that runs programs. */
#ifndef SITU_CLI_PYTHON_H
#define SITU_CLI_PYTHON_H

#include <stddef.h>

/* $SITU_PYTHON, else the .venv beside the build, else python3; in `room` if need be. */
const char *python_find(char *room, size_t size);

/* What it is told with -c to run programs; not -m, which would look for modules of its own, such as
 * types, in the folder of the caller first. */
#define PYTHON_RUN                                                                        \
  "import sys\n"                                                                          \
  "if sys.path[:1] == ['']:\n  del sys.path[0]\n"                                         \
  "try:\n  import situ._src.runner.run\n"                                                 \
  "except ModuleNotFoundError as missing:\n"                                              \
  "  if missing.name != 'situ':\n    raise\n"                                             \
  "  sys.exit(f'situ: {sys.executable} has no package situ. Install it there: '\n"        \
  "           'make wheel, then pip install build/wheel/*.whl; or unset SITU_PYTHON.')\n" \
  "situ._src.runner.run.main()\n"

#endif
