/* SPDX-License-Identifier: Apache-2.0
 * python.h: finds the Python interpreter that runs scripts. */
#ifndef SITU_CLI_PYTHON_H
#define SITU_CLI_PYTHON_H

#include <stddef.h>

/* Returns $SITU_PYTHON, else the .venv next to the build (stored in `buffer`), else python3. */
const char *python_find(char *buffer, size_t size);

/* The -c argument that runs a script. Not -m, which would import modules such as types from the
 * current folder first. */
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
