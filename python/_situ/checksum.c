/* SPDX-License-Identifier: Apache-2.0
 * checksum.c: CRC-32C, the checksum of TFRecord files. */
#include "situ_python.h"

enum { POLYNOMIAL = (int)0x82f63b78 };

static uint32_t table[256];

static void fill_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c & 1 ? (uint32_t)POLYNOMIAL ^ c >> 1 : c >> 1;
    table[i] = c;
  }
}

/* crc32c(bytes) -> int */
static PyObject *crc32c(PyObject *self, PyObject *object) {
  (void)self;
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE)) return NULL;
  if (!table[1]) fill_table();
  const unsigned char *data = buffer.buf;
  uint32_t c = 0xffffffff;
  for (Py_ssize_t i = 0; i < buffer.len; i++) c = table[(c ^ data[i]) & 255] ^ c >> 8;
  PyBuffer_Release(&buffer);
  return PyLong_FromUnsignedLong(c ^ 0xffffffff);
}

PyMethodDef checksum_methods[] = {{"crc32c", crc32c, METH_O, "Returns the CRC-32C of bytes."},
                                  {NULL, NULL, 0, NULL}};
