/* SPDX-License-Identifier: Apache-2.0
 * message.c: the type Message. Its subclasses, one per message type, are created by the hook
 * message_class when they are first used. */
#include "message.h"

#include <string.h>

/* ---- Classes ---- */

enum { REGISTRY_SIZE = 1024 };

/* Maps types to classes and classes to types, by address. */
static struct {
  const void *key;
  void *value;
} registry[REGISTRY_SIZE];

static size_t registry_slot(const void *key) {
  size_t at = ((uintptr_t)key >> 4) * 2654435761U % REGISTRY_SIZE;
  while (registry[at].key && registry[at].key != key) at = (at + 1) % REGISTRY_SIZE;
  return at;
}

static void registry_put(const void *key, void *value) {
  const size_t at = registry_slot(key);
  registry[at].key = key;
  registry[at].value = value;
}

PyObject *message_class_of(const situ_message_type *type) {
  PyObject *found = registry[registry_slot(type)].value;
  if (found) return found;
  if (!hooks.message_class) return PyErr_Format(PyExc_RuntimeError, "no classes of messages");
  PyObject *made = PyObject_CallFunction(hooks.message_class, "s", type->name);
  Py_XDECREF(made); /* the registry holds it */
  return made ? registry[registry_slot(type)].value : NULL;
}

/* register_message_class(class, full name) */
static PyObject *register_class(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *class;
  const char *name;
  if (!PyArg_ParseTuple(args, "O!s", &PyType_Type, &class, &name)) return NULL;
  const situ_message_type *type = situ_message_type_find(name);
  if (!type) return PyErr_Format(PyExc_ValueError, "There is no message type %s.", name);
  registry_put(type, Py_NewRef(class));
  registry_put(class, (void *)type);
  Py_RETURN_NONE;
}

static const situ_message_type *type_of_class(PyTypeObject *class) {
  for (; class && class != &message_type; class = class->tp_base) {
    const situ_message_type *type = registry[registry_slot(class)].value;
    if (type) return type;
  }
  return NULL;
}

static const char *short_name(const situ_message *message) {
  const char *name = situ_message_type_of(message)->name;
  return strrchr(name, '.') + 1;
}

/* ---- Objects ---- */

static PyObject *create(PyTypeObject *class, situ_message *message) {
  struct message_object *self = (struct message_object *)class->tp_alloc(class, 0);
  if (self)
    self->message = message;
  else
    situ_message_release(message);
  return (PyObject *)self;
}

PyObject *message_wrap(situ_message *message) {
  PyObject *class = message ? message_class_of(situ_message_type_of(message)) : PyErr_NoMemory();
  if (!class) return NULL;
  situ_message_retain(message);
  return create((PyTypeObject *)class, message);
}

static PyObject *message_new(PyTypeObject *class, PyObject *args, PyObject *keywords) {
  (void)keywords;
  const situ_message_type *type = type_of_class(class);
  if (!type) return PyErr_Format(PyExc_TypeError, "%s is not a type of messages", class->tp_name);
  if (PyTuple_GET_SIZE(args))
    return PyErr_Format(PyExc_TypeError, "No positional arguments allowed");
  situ_message *message = situ_message_create(type);
  return message ? create(class, message) : PyErr_NoMemory();
}

static int message_init(PyObject *self, PyObject *args, PyObject *keywords) {
  (void)args;
  return keywords ? message_update(MESSAGE_OF(self), keywords) : 0;
}

static void message_dealloc(PyObject *self) {
  if (((struct message_object *)self)->weak) PyObject_ClearWeakRefs(self);
  situ_message_release(MESSAGE_OF(self));
  Py_TYPE(self)->tp_free(self); /* subtype_dealloc releases the class */
}

/* ---- Fields ---- */

static const situ_field *find_field(const situ_message *message, PyObject *name) {
  const char *text = PyUnicode_Check(name) ? convert_text(name) : NULL;
  if (!text) return NULL;
  return situ_message_type_field(situ_message_type_of(message), text);
}

/* The same, or ValueError. */
static const situ_field *need_field(const situ_message *message, PyObject *name) {
  const situ_field *field = find_field(message, name);
  if (!field && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "Protocol message %s has no \"%S\" field.", short_name(message),
                 name);
  return field;
}

static PyObject *get_field(situ_message *message, const situ_field *field) {
  if (field->is_repeated) return container_wrap(message, field);
  if (field->message) return message_wrap(situ_message_submessage(message, field));
  return message_value_get(field, situ_message_get(message, field, 0));
}

static PyObject *getattro(PyObject *self, PyObject *name) {
  /* Fields are in lower case, methods and nested types are not. */
  const Py_UCS4 first =
      PyUnicode_Check(name) && PyUnicode_GET_LENGTH(name) ? PyUnicode_READ_CHAR(name, 0) : 0;
  const situ_field *field =
      first >= 'a' && first <= 'z' ? find_field(MESSAGE_OF(self), name) : NULL;
  return field ? get_field(MESSAGE_OF(self), field) : PyObject_GenericGetAttr(self, name);
}

static int set_scalar(situ_message *message, const situ_field *field, PyObject *value) {
  situ_field_value native;
  if (message_value_read(field, value, &native)) return -1;
  if (situ_message_set(message, field, 0, native)) return 0;
  PyErr_NoMemory();
  return -1;
}

static int setattro(PyObject *self, PyObject *name, PyObject *value) {
  const situ_field *field = find_field(MESSAGE_OF(self), name);
  if (!field || !value)
    PyErr_Format(PyExc_AttributeError,
                 "Assignment not allowed (no field \"%S\" in protocol message object %s).", name,
                 short_name(MESSAGE_OF(self)));
  else if (field->message || field->is_repeated)
    PyErr_Format(PyExc_AttributeError,
                 "Assignment not allowed to repeated, map or message field \"%S\" in protocol "
                 "message object.",
                 name);
  else
    return set_scalar(MESSAGE_OF(self), field, value);
  return -1;
}

static int wrong_class(const char *what, const situ_message *message, PyObject *value) {
  PyErr_Format(PyExc_TypeError,
               "Parameter to %s must be instance of same class: expected %s got %s.", what,
               short_name(message), Py_TYPE(value)->tp_name);
  return -1;
}

static bool is_same_type(const situ_message *message, PyObject *value) {
  return PyObject_TypeCheck(value, &message_type) &&
         situ_message_type_of(MESSAGE_OF(value)) == situ_message_type_of(message);
}

static int merge(situ_message *to, const situ_message *from) {
  if (situ_message_merge(to, from)) return 0;
  PyErr_NoMemory();
  return -1;
}

int message_fill(situ_message *message, PyObject *value) {
  if (PyDict_Check(value)) {
    situ_message_touch(message);
    return message_update(message, value);
  }
  if (!is_same_type(message, value)) return wrong_class("MergeFrom()", message, value);
  return merge(message, MESSAGE_OF(value));
}

static int update_field(situ_message *message, const situ_field *field, PyObject *value) {
  if (value == Py_None) return 0;
  if (field->is_repeated) return container_extend(message, field, value);
  if (!field->message) return set_scalar(message, field, value);
  situ_message *part = situ_message_submessage(message, field);
  if (part) return message_fill(part, value);
  PyErr_NoMemory();
  return -1;
}

int message_update(situ_message *message, PyObject *keywords) {
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (PyDict_Next(keywords, &at, &name, &value)) {
    const situ_field *field = need_field(message, name);
    if (!field || update_field(message, field, value)) return -1;
  }
  return 0;
}

/* ---- Methods ---- */

static PyObject *has_field(PyObject *self, PyObject *name) {
  const situ_field *field = need_field(MESSAGE_OF(self), name);
  if (!field) {
    const char *oneof = PyUnicode_Check(name) ? convert_text(name) : NULL;
    const situ_message_type *type = situ_message_type_of(MESSAGE_OF(self));
    for (int i = 0; oneof && i < type->count; i++) {
      if (!type->fields[i].oneof || strcmp(type->fields[i].oneof, oneof) != 0) continue;
      PyErr_Clear();
      return PyBool_FromLong(situ_message_which(MESSAGE_OF(self), oneof) != NULL);
    }
    return NULL;
  }
  if (field->is_repeated || !(field->message || field->oneof))
    return PyErr_Format(PyExc_ValueError, "Field %s.%s does not have presence.",
                        situ_message_type_of(MESSAGE_OF(self))->name, field->name);
  return PyBool_FromLong(situ_message_has(MESSAGE_OF(self), field));
}

static PyObject *which_oneof(PyObject *self, PyObject *name) {
  const char *oneof = PyUnicode_Check(name) ? convert_text(name) : NULL;
  const situ_message_type *type = situ_message_type_of(MESSAGE_OF(self));
  for (int i = 0; oneof && i < type->count; i++) {
    if (!type->fields[i].oneof || strcmp(type->fields[i].oneof, oneof) != 0) continue;
    const situ_field *field = situ_message_which(MESSAGE_OF(self), oneof);
    return field ? PyUnicode_FromString(field->name) : Py_NewRef(Py_None);
  }
  return PyErr_Format(PyExc_ValueError, "Protocol message %s has no oneof \"%S\" field.",
                      short_name(MESSAGE_OF(self)), name);
}

static PyObject *clear_field(PyObject *self, PyObject *name) {
  const situ_field *field = need_field(MESSAGE_OF(self), name);
  if (!field) return NULL;
  situ_message_clear_field(MESSAGE_OF(self), field);
  Py_RETURN_NONE;
}

static PyObject *clear(PyObject *self, PyObject *none) {
  (void)none;
  situ_message_clear(MESSAGE_OF(self));
  Py_RETURN_NONE;
}

static PyObject *merge_from(PyObject *self, PyObject *other) {
  if (!is_same_type(MESSAGE_OF(self), other)) {
    wrong_class("MergeFrom()", MESSAGE_OF(self), other);
    return NULL;
  }
  return merge(MESSAGE_OF(self), MESSAGE_OF(other)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *copy_from(PyObject *self, PyObject *other) {
  if (self == other) Py_RETURN_NONE;
  if (!is_same_type(MESSAGE_OF(self), other)) {
    wrong_class("CopyFrom()", MESSAGE_OF(self), other);
    return NULL;
  }
  situ_message_clear(MESSAGE_OF(self));
  return merge_from(self, other);
}

static PyObject *set_in_parent(PyObject *self, PyObject *none) {
  (void)none;
  situ_message_touch(MESSAGE_OF(self));
  Py_RETURN_NONE;
}

static PyObject *is_initialized(PyObject *self, PyObject *args) {
  (void)self;
  (void)args;
  Py_RETURN_TRUE;
}

static PyObject *find_initialization_errors(PyObject *self, PyObject *args) {
  (void)self;
  (void)args;
  return PyList_New(0);
}

/* Raises DecodeError or ParseError and frees the status. */
static PyObject *raise_parse(const situ_message *message, situ_format format, situ_status status) {
  if (situ_status_code(status) == SITU_RESOURCE_EXHAUSTED) return errors_raise(status, NULL);
  if (format == SITU_FORMAT_BINARY)
    PyErr_Format(hooks.decode_error, "Error parsing message with type '%s': %s",
                 situ_message_type_of(message)->name, situ_status_message(status));
  else
    PyErr_SetString(hooks.parse_error, situ_status_message(status));
  situ_status_release(status);
  return NULL;
}

static PyObject *parse(PyObject *self, situ_format format, PyObject *data) {
  Py_buffer buffer;
  if (PyUnicode_Check(data) && format != SITU_FORMAT_BINARY) {
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(data, &length);
    if (!text) return NULL;
    const situ_status status = situ_message_parse(MESSAGE_OF(self), format, text, (size_t)length);
    return status ? raise_parse(MESSAGE_OF(self), format, status) : PyLong_FromSsize_t(length);
  }
  if (PyUnicode_Check(data))
    return PyErr_Format(PyExc_TypeError, "expected bytes, %s found", Py_TYPE(data)->tp_name);
  if (PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)) return NULL;
  const situ_status status =
      situ_message_parse(MESSAGE_OF(self), format, buffer.buf, (size_t)buffer.len);
  PyObject *length = PyLong_FromSsize_t(buffer.len);
  PyBuffer_Release(&buffer);
  if (!status) return length;
  Py_XDECREF(length);
  return raise_parse(MESSAGE_OF(self), format, status);
}

static PyObject *merge_from_string(PyObject *self, PyObject *data) {
  return parse(self, SITU_FORMAT_BINARY, data);
}

static PyObject *parse_from_string(PyObject *self, PyObject *data) {
  situ_message_clear(MESSAGE_OF(self));
  return parse(self, SITU_FORMAT_BINARY, data);
}

static PyObject *from_string(PyObject *class, PyObject *data) {
  PyObject *self = PyObject_CallNoArgs(class);
  PyObject *length = self ? parse(self, SITU_FORMAT_BINARY, data) : NULL;
  if (!length) Py_CLEAR(self);
  Py_XDECREF(length);
  return self;
}

static PyObject *merge_text(PyObject *self, PyObject *text) {
  return parse(self, SITU_FORMAT_TEXT, text);
}

static PyObject *merge_json(PyObject *self, PyObject *text) {
  return parse(self, SITU_FORMAT_JSON, text);
}

static PyObject *write_format(PyObject *self, situ_format format) {
  char *data = NULL;
  size_t length = 0;
  const situ_status status = situ_message_write(MESSAGE_OF(self), format, &data, &length);
  if (status) return errors_raise(status, NULL);
  PyObject *result = format == SITU_FORMAT_BINARY
                         ? PyBytes_FromStringAndSize(data, (Py_ssize_t)length)
                         : PyUnicode_DecodeUTF8(data, (Py_ssize_t)length, "replace");
  free(data);
  return result;
}

/* SerializeToString(deterministic=...): the result is always deterministic. */
static PyObject *serialize(PyObject *self, PyObject *args, PyObject *keywords) {
  static char *names[] = {"deterministic", NULL};
  PyObject *unused = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$O", names, &unused)) return NULL;
  return write_format(self, SITU_FORMAT_BINARY);
}

static PyObject *byte_size(PyObject *self, PyObject *none) {
  (void)none;
  PyObject *data = write_format(self, SITU_FORMAT_BINARY);
  PyObject *size = data ? PyLong_FromSsize_t(PyBytes_GET_SIZE(data)) : NULL;
  Py_XDECREF(data);
  return size;
}

static PyObject *to_line(PyObject *self, PyObject *none) {
  (void)none;
  return write_format(self, SITU_FORMAT_TEXT_LINE);
}

static PyObject *to_json(PyObject *self, PyObject *none) {
  (void)none;
  return write_format(self, SITU_FORMAT_JSON);
}

static PyObject *message_str(PyObject *self) { return write_format(self, SITU_FORMAT_TEXT); }

/* The names of the fields that are set. */
static PyObject *field_names(PyObject *self, PyObject *none) {
  (void)none;
  const situ_message_type *type = situ_message_type_of(MESSAGE_OF(self));
  PyObject *names = PyList_New(0);
  for (int i = 0; names && i < type->count; i++) {
    if (!situ_message_has(MESSAGE_OF(self), &type->fields[i])) continue;
    PyObject *name = PyUnicode_FromString(type->fields[i].name);
    if (!name || PyList_Append(names, name)) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

static PyObject *deep_copy(PyObject *self, PyObject *memo) {
  (void)memo;
  PyObject *copy = PyObject_CallNoArgs((PyObject *)Py_TYPE(self));
  if (copy && merge(MESSAGE_OF(copy), MESSAGE_OF(self))) Py_CLEAR(copy);
  return copy;
}

/* parse_message(full name, data): unpickles a message. */
static PyObject *parse_message(PyObject *self, PyObject *args) {
  (void)self;
  const char *name;
  PyObject *data;
  if (!PyArg_ParseTuple(args, "sO", &name, &data)) return NULL;
  const situ_message_type *type = situ_message_type_find(name);
  PyObject *class = type ? message_class_of(type)
                         : PyErr_Format(PyExc_ValueError, "There is no message type %s.", name);
  return class ? from_string(class, data) : NULL;
}

static PyObject *reduce(PyObject *self, PyObject *none) {
  (void)none;
  PyObject *module = PyImport_ImportModule("_situ");
  PyObject *function = module ? PyObject_GetAttrString(module, "parse_message") : NULL;
  PyObject *data = function ? write_format(self, SITU_FORMAT_BINARY) : NULL;
  Py_XDECREF(module);
  if (!data) {
    Py_XDECREF(function);
    return NULL;
  }
  return Py_BuildValue("N(sN)", function, situ_message_type_of(MESSAGE_OF(self))->name, data);
}

static PyObject *compare(PyObject *self, PyObject *other, int how) {
  if ((how != Py_EQ && how != Py_NE) || !PyObject_TypeCheck(other, &message_type))
    Py_RETURN_NOTIMPLEMENTED;
  const bool same = situ_message_equal(MESSAGE_OF(self), MESSAGE_OF(other));
  return PyBool_FromLong(same == (how == Py_EQ));
}

static PyMethodDef methods[] = {
    {"HasField", has_field, METH_O, "Returns whether a field is set."},
    {"WhichOneof", which_oneof, METH_O, "Returns the field of a oneof that is set, or None."},
    {"ClearField", clear_field, METH_O, "Clears a field."},
    {"Clear", clear, METH_NOARGS, "Clears all fields."},
    {"MergeFrom", merge_from, METH_O, "Merges a message of the same type."},
    {"CopyFrom", copy_from, METH_O, "Replaces the fields by those of another message."},
    {"SetInParent", set_in_parent, METH_NOARGS, "Marks this message as set."},
    {"IsInitialized", is_initialized, METH_VARARGS, "Returns True: no field is required."},
    {"FindInitializationErrors", find_initialization_errors, METH_NOARGS,
     "Returns an empty list: no field is required."},
    {"MergeFromString", merge_from_string, METH_O, "Merges a message in binary format."},
    {"ParseFromString", parse_from_string, METH_O, "Replaces it by one in binary format."},
    {"FromString", from_string, METH_O | METH_CLASS, "Returns the message of binary data."},
    {"SerializeToString", (PyCFunction)(void (*)(void))serialize, METH_VARARGS | METH_KEYWORDS,
     "Returns the message in binary format."},
    {"SerializePartialToString", (PyCFunction)(void (*)(void))serialize,
     METH_VARARGS | METH_KEYWORDS, "Returns the message in binary format."},
    {"ByteSize", byte_size, METH_NOARGS, "Returns the size of the binary format."},
    {"_merge_text", merge_text, METH_O, "Merges a message in text format."},
    {"_merge_json", merge_json, METH_O, "Merges a message in JSON format."},
    {"_to_line", to_line, METH_NOARGS, "Returns the text format on one line."},
    {"_to_json", to_json, METH_NOARGS, "Returns the JSON format."},
    {"_field_names", field_names, METH_NOARGS, "Returns the names of the fields that are set."},
    {"__deepcopy__", deep_copy, METH_O, "Copies the message."},
    {"__reduce__", reduce, METH_NOARGS, "Pickles the message."},
    {NULL, NULL, 0, NULL}};

PyTypeObject message_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Message",
                             .tp_basicsize = sizeof(struct message_object),
                             .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             .tp_doc = "A protocol message.",
                             .tp_new = message_new,
                             .tp_init = message_init,
                             .tp_dealloc = message_dealloc,
                             .tp_getattro = getattro,
                             .tp_setattro = setattro,
                             .tp_str = message_str,
                             .tp_repr = message_str,
                             .tp_richcompare = compare,
                             .tp_hash = PyObject_HashNotImplemented,
                             .tp_weaklistoffset = offsetof(struct message_object, weak),
                             .tp_methods = methods};

/* ---- Schemas ---- */

/* message_fields(full name): (name, number, type, repeated, map, oneof, message, enum) of each. */
static PyObject *message_fields(PyObject *self, PyObject *name) {
  (void)self;
  const char *text = convert_text(name);
  const situ_message_type *type = text ? situ_message_type_find(text) : NULL;
  if (!text) return NULL;
  if (!type) return PyErr_Format(PyExc_ValueError, "There is no message type %s.", text);
  PyObject *list = PyList_New(type->count);
  for (int i = 0; list && i < type->count; i++) {
    const situ_field *field = &type->fields[i];
    PyObject *item = Py_BuildValue(
        "siiOOzzz", field->name, (int)field->number, (int)field->kind,
        field->is_repeated ? Py_True : Py_False, field->is_map ? Py_True : Py_False, field->oneof,
        field->message ? field->message->name : NULL, field->values ? field->values->name : NULL);
    if (item)
      PyList_SET_ITEM(list, i, item);
    else
      Py_CLEAR(list);
  }
  return list;
}

/* message_names(): the full names of all types except entries of maps. */
static PyObject *message_names(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  PyObject *list = PyList_New(0);
  const situ_message_type *type;
  for (int i = 0; list && (type = situ_message_type_at(i)); i++) {
    PyObject *name = type->is_map_entry ? NULL : PyUnicode_FromString(type->name);
    if (!type->is_map_entry && (!name || PyList_Append(list, name))) Py_CLEAR(list);
    Py_XDECREF(name);
  }
  return list;
}

/* enum_types(): {full name: {name: number}} */
static PyObject *enum_types(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  PyObject *result = PyDict_New();
  const situ_enum_type *type;
  for (int i = 0; result && (type = situ_enum_type_at(i)); i++) {
    PyObject *values = PyDict_New();
    for (int k = 0; values && k < type->count; k++) {
      PyObject *number = PyLong_FromLong(type->values[k].number);
      if (!number || PyDict_SetItemString(values, type->values[k].name, number)) Py_CLEAR(values);
      Py_XDECREF(number);
    }
    if (!values || PyDict_SetItemString(result, type->name, values)) Py_CLEAR(result);
    Py_XDECREF(values);
  }
  return result;
}

/* tensor_proto_array(message, limit) */
static PyObject *tensor_proto_array(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *message;
  unsigned long long limit;
  if (!PyArg_ParseTuple(args, "O!K", &message_type, &message, &limit)) return NULL;
  uint64_t left = limit;
  situ_tensor *tensor = NULL;
  const situ_status status = situ_message_read_tensor(MESSAGE_OF(message), &left, &tensor);
  if (status) return errors_raise_building(status);
  PyObject *array = array_from_tensor(tensor);
  situ_tensor_release(tensor);
  return array ? Py_BuildValue("NK", array, (unsigned long long)left) : NULL;
}

static PyObject *expansion_limit(PyObject *self, PyObject *bytes) {
  (void)self;
  const unsigned long long count = PyLong_AsUnsignedLongLong(bytes);
  if (PyErr_Occurred()) return NULL;
  return PyLong_FromUnsignedLongLong(situ_expansion_limit(count));
}

PyMethodDef message_functions[] = {
    {"register_message_class", register_class, METH_VARARGS, "Sets the class of a message type."},
    {"parse_message", parse_message, METH_VARARGS, "Unpickles a message."},
    {"message_fields", message_fields, METH_O, "Returns the fields of a message type."},
    {"message_names", message_names, METH_NOARGS, "Returns the names of the message types."},
    {"tensor_proto_array", tensor_proto_array, METH_VARARGS,
     "Returns the array of a TensorProto and how much of a limit in bytes is left."},
    {"expansion_limit", expansion_limit, METH_O,
     "Returns how many bytes an input of some bytes may expand to."},
    {"enum_types", enum_types, METH_NOARGS, "Returns the values of the enums by name."},
    {NULL, NULL, 0, NULL}};
