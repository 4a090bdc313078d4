/* SPDX-License-Identifier: Apache-2.0
 * python.h: the Python that runs programs. */
#ifndef SITU_CLI_PYTHON_H
#define SITU_CLI_PYTHON_H

#include <stddef.h>

/* $SITU_PYTHON, else the .venv beside the build, else python3; in `room` if need be. */
const char *python_find(char *room, size_t size);

#endif
