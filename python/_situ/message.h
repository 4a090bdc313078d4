/* SPDX-License-Identifier: Apache-2.0
 * message.h: protocol messages in Python: what their types share. */
#ifndef SITU_PYTHON_MESSAGE_H
#define SITU_PYTHON_MESSAGE_H

#include <situ/message.h>

#include "situ_python.h"

/* A message. It holds a reference to the tree of messages. */
struct message_object {
  PyObject_HEAD situ_message *message;
  PyObject *weak;
};

/* A repeated field or a map of a message. */
struct container_object {
  PyObject_HEAD situ_message *message;
  const situ_field *field;
};

extern PyTypeObject message_type, repeated_type, map_type;

#define MESSAGE_OF(o) (((struct message_object *)(o))->message)

/* message.c: returns the object of a message in the tree of another. New reference. */
PyObject *message_wrap(situ_message *message);

/* Returns the class of a type. Borrowed. */
PyObject *message_class_of(const situ_message_type *type);

/* Sets fields from keywords. Returns 0, or -1 with an exception. */
int message_update(situ_message *message, PyObject *keywords);

/* Merges a dict or a message of the same type; returns 0, or -1 with an exception. */
int message_fill(situ_message *message, PyObject *value);

/* message_value.c: converts a value of a field to Python; it is not NULL if it is a message. */
PyObject *message_value_get(const situ_field *field, situ_field_value value);

/* Converts a Python object to a value of a scalar field. Bytes are borrowed from the object.
 * TypeError or ValueError if it does not fit. Returns 0, or -1 with an exception. */
int message_value_read(const situ_field *field, PyObject *object, situ_field_value *out);

/* message_container.c: returns the object of a repeated field or a map. New reference. */
PyObject *container_wrap(situ_message *message, const situ_field *field);

/* Appends the items of an iterable, or updates a map. Returns 0, or -1 with an exception. */
int container_extend(situ_message *message, const situ_field *field, PyObject *items);

#endif
