/* SPDX-License-Identifier: Apache-2.0
 * message_container.c: repeated fields and maps of messages as Python sequences and mappings. The
 * package adds the methods that can be written with these (pop, remove, items, ...). */
#include <stdlib.h>

#include "message.h"

#define SELF ((struct container_object *)self)
#define COUNT situ_message_count(SELF->message, SELF->field)

PyObject *container_wrap(situ_message *message, const situ_field *field) {
  PyTypeObject *type = field->is_map ? &map_type : &repeated_type;
  struct container_object *self = PyObject_New(struct container_object, type);
  if (!self) return NULL;
  situ_message_retain(message);
  self->message = message;
  self->field = field;
  return (PyObject *)self;
}

static void container_dealloc(PyObject *self) {
  situ_message_release(SELF->message);
  PyObject_Free(self);
}

static int no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

static Py_ssize_t container_length(PyObject *self) { return (Py_ssize_t)COUNT; }

/* ---- Repeated fields ---- */

/* Inserts an item; a message is copied. */
static int insert(situ_message *message, const situ_field *field, int64_t index, PyObject *item) {
  situ_field_value value;
  if (field->message) {
    if (!PyDict_Check(item) && !PyObject_TypeCheck(item, &message_type)) {
      PyErr_Format(PyExc_TypeError, "Expected a message object, but got %R.", item);
      return -1;
    }
    situ_message *made = situ_message_insert_message(message, field, index);
    if (!made) return no_memory();
    if (!message_fill(made, item)) return 0;
    situ_message_remove(message, field, index, 1);
    return -1;
  }
  if (message_value_read(field, item, &value)) return -1;
  return situ_message_insert(message, field, index, value) ? 0 : no_memory();
}

static int update_map(situ_message *message, const situ_field *field, PyObject *items);

int container_extend(situ_message *message, const situ_field *field, PyObject *items) {
  if (field->is_map) return update_map(message, field, items);
  PyObject *list = PySequence_Fast(items, "Value must be iterable");
  if (!list) return -1;
  int failed = 0;
  for (Py_ssize_t i = 0; !failed && i < PySequence_Fast_GET_SIZE(list); i++)
    failed = insert(message, field, situ_message_count(message, field),
                    PySequence_Fast_GET_ITEM(list, i));
  Py_DECREF(list);
  return failed;
}

static PyObject *get_item(PyObject *self, Py_ssize_t index) {
  if (index < 0 || index >= COUNT)
    return PyErr_Format(PyExc_IndexError, "list index (%zd) out of range", index);
  return message_value_get(SELF->field, situ_message_get(SELF->message, SELF->field, index));
}

/* All items as a list. */
static PyObject *to_list(PyObject *self) {
  const Py_ssize_t count = container_length(self);
  PyObject *list = PyList_New(count);
  for (Py_ssize_t i = 0; list && i < count; i++) {
    PyObject *item = get_item(self, i);
    if (item)
      PyList_SET_ITEM(list, i, item);
    else
      Py_CLEAR(list);
  }
  return list;
}

static PyObject *get_slice(PyObject *self, PyObject *slice) {
  PyObject *list = to_list(self);
  PyObject *part = list ? PyObject_GetItem(list, slice) : NULL;
  Py_XDECREF(list);
  return part;
}

static PyObject *subscript(PyObject *self, PyObject *key) {
  if (PySlice_Check(key)) return get_slice(self, key);
  Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred()) return NULL;
  return get_item(self, index < 0 ? index + container_length(self) : index);
}

static int delete_item(PyObject *self, Py_ssize_t index) {
  if (index >= 0 && index < COUNT) {
    situ_message_remove(SELF->message, SELF->field, index, 1);
    return 0;
  }
  PyErr_Format(PyExc_IndexError, "list index (%zd) out of range", index);
  return -1;
}

static int set_item(PyObject *self, Py_ssize_t index, PyObject *item) {
  situ_field_value value;
  if (!item) return delete_item(self, index);
  if (SELF->field->message)
    PyErr_SetString(PyExc_TypeError,
                    "'RepeatedCompositeContainer' object does not support item "
                    "assignment");
  else if (index < 0 || index >= COUNT)
    PyErr_Format(PyExc_IndexError, "list index (%zd) out of range", index);
  else if (!message_value_read(SELF->field, item, &value))
    return situ_message_set(SELF->message, SELF->field, index, value) ? 0 : no_memory();
  return -1;
}

/* Replaces all items by those of a list. */
static int replace(PyObject *self, PyObject *list) {
  situ_message_remove(SELF->message, SELF->field, 0, COUNT);
  return container_extend(SELF->message, SELF->field, list);
}

static int set_slice(PyObject *self, PyObject *slice, PyObject *items) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step)) return -1;
  const Py_ssize_t length = PySlice_AdjustIndices(container_length(self), &start, &stop, step);
  if (!items && step == 1) {
    situ_message_remove(SELF->message, SELF->field, start, length);
    return 0;
  }
  if (items && SELF->field->message) return set_item(self, 0, items);
  PyObject *list = to_list(self);
  int failed =
      !list || (items ? PyObject_SetItem(list, slice, items) : PyObject_DelItem(list, slice));
  if (!failed) failed = replace(self, list);
  Py_XDECREF(list);
  return failed ? -1 : 0;
}

static int assign_subscript(PyObject *self, PyObject *key, PyObject *item) {
  if (PySlice_Check(key)) return set_slice(self, key, item);
  Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred()) return -1;
  return set_item(self, index < 0 ? index + container_length(self) : index, item);
}

static PyObject *append(PyObject *self, PyObject *item) {
  return insert(SELF->message, SELF->field, COUNT, item) ? NULL : Py_NewRef(Py_None);
}

static PyObject *extend(PyObject *self, PyObject *items) {
  if (items != Py_None && container_extend(SELF->message, SELF->field, items)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *add_in_place(PyObject *self, PyObject *items) {
  return container_extend(SELF->message, SELF->field, items) ? NULL : Py_NewRef(self);
}

static PyObject *insert_at(PyObject *self, PyObject *args) {
  Py_ssize_t index;
  PyObject *item;
  if (!PyArg_ParseTuple(args, "nO", &index, &item)) return NULL;
  const Py_ssize_t count = container_length(self);
  if (index < 0) index = index + count < 0 ? 0 : index + count;
  if (index > count) index = count;
  return insert(SELF->message, SELF->field, index, item) ? NULL : Py_NewRef(Py_None);
}

/* add(**fields): appends a message and returns it. */
static PyObject *add(PyObject *self, PyObject *args, PyObject *keywords) {
  if (!SELF->field->message)
    return PyErr_Format(PyExc_AttributeError, "'%s' has no add(): use append()", SELF->field->name);
  if (PyTuple_GET_SIZE(args))
    return PyErr_Format(PyExc_TypeError, "No positional arguments allowed");
  situ_message *made = situ_message_insert_message(SELF->message, SELF->field, COUNT);
  if (!made) return PyErr_NoMemory();
  if (keywords && message_update(made, keywords)) {
    situ_message_remove(SELF->message, SELF->field, COUNT - 1, 1);
    return NULL;
  }
  return message_wrap(made);
}

/* _reorder(indices): moves the items. */
static PyObject *reorder(PyObject *self, PyObject *indices) {
  const Py_ssize_t count = container_length(self);
  if (!PyList_Check(indices) || PyList_GET_SIZE(indices) != count)
    return PyErr_Format(PyExc_ValueError, "expected a list of %zd indices", count);
  int64_t *order = PyMem_Malloc(sizeof *order * ((size_t)count + 1));
  bool ok = order;
  for (Py_ssize_t i = 0; ok && i < count; i++) {
    order[i] = PyLong_AsLongLong(PyList_GET_ITEM(indices, i));
    ok = order[i] >= 0 && order[i] < count;
  }
  ok = ok && situ_message_reorder(SELF->message, SELF->field, order);
  PyMem_Free(order);
  return ok ? Py_NewRef(Py_None) : PyErr_Format(PyExc_ValueError, "invalid indices");
}

/* ---- Maps ---- */

static const situ_field *key_field(PyObject *self) { return &SELF->field->message->fields[0]; }
static const situ_field *value_field(PyObject *self) { return &SELF->field->message->fields[1]; }

static int64_t find(PyObject *self, PyObject *key) {
  situ_field_value native;
  if (message_value_read(key_field(self), key, &native)) return -2;
  return situ_message_find(SELF->message, SELF->field, native);
}

/* The entry of a key, which is added if it is missing. */
static situ_message *need_entry(situ_message *message, const situ_field *field, PyObject *key) {
  situ_field_value native;
  if (message_value_read(&field->message->fields[0], key, &native)) return NULL;
  situ_message *entry = situ_message_map_entry(message, field, native);
  if (!entry) PyErr_NoMemory();
  return entry;
}

static PyObject *entry_value(const situ_field *field, const situ_message *entry) {
  return message_value_get(field, situ_message_get(entry, field, 0));
}

static PyObject *map_subscript(PyObject *self, PyObject *key) {
  const situ_message *entry = need_entry(SELF->message, SELF->field, key);
  return entry ? entry_value(value_field(self), entry) : NULL;
}

static int set_entry(situ_message *message, const situ_field *field, PyObject *key,
                     PyObject *value) {
  const situ_field *kind = &field->message->fields[1];
  situ_field_value native;
  if (!kind->message) {
    if (message_value_read(kind, value, &native)) return -1;
    situ_message *entry = need_entry(message, field, key);
    if (!entry) return -1;
    return situ_message_set(entry, kind, 0, native) ? 0 : no_memory();
  }
  situ_message *entry = need_entry(message, field, key);
  if (!entry) return -1;
  situ_message *part = situ_message_get(entry, kind, 0).message;
  if (PyObject_TypeCheck(value, &message_type) && MESSAGE_OF(value) == part) return 0;
  situ_message_clear(part);
  return message_fill(part, value);
}

static int map_assign(PyObject *self, PyObject *key, PyObject *value) {
  if (value && value_field(self)->message) {
    PyErr_SetString(PyExc_ValueError,
                    "May not set values directly, call my_map[key].foo = 5 instead");
    return -1;
  }
  if (value) return set_entry(SELF->message, SELF->field, key, value);
  const int64_t index = find(self, key);
  if (index >= 0) situ_message_remove(SELF->message, SELF->field, index, 1);
  if (index == -1) PyErr_SetObject(PyExc_KeyError, key);
  return index >= 0 ? 0 : -1;
}

static int map_contains(PyObject *self, PyObject *key) {
  const int64_t index = find(self, key);
  return index == -2 ? -1 : index >= 0;
}

/* The map as a dict. */
static PyObject *to_dict(PyObject *self) {
  PyObject *dict = PyDict_New();
  for (int64_t i = 0; dict && i < COUNT; i++) {
    const situ_message *entry = situ_message_get(SELF->message, SELF->field, i).message;
    PyObject *key = entry_value(key_field(self), entry);
    PyObject *value = key ? entry_value(value_field(self), entry) : NULL;
    if (!value || PyDict_SetItem(dict, key, value)) Py_CLEAR(dict);
    Py_XDECREF(key);
    Py_XDECREF(value);
  }
  return dict;
}

static PyObject *map_iterate(PyObject *self) {
  PyObject *dict = to_dict(self), *keys = dict ? PyDict_Keys(dict) : NULL;
  PyObject *iterator = keys ? PyObject_GetIter(keys) : NULL;
  Py_XDECREF(keys);
  Py_XDECREF(dict);
  return iterator;
}

static int update_map(situ_message *message, const situ_field *field, PyObject *items) {
  PyObject *dict = Py_TYPE(items) == &map_type ? to_dict(items) : PyDict_New();
  int failed = !dict || (Py_TYPE(items) != &map_type && PyObject_HasAttrString(items, "keys")
                             ? PyDict_Update(dict, items)
                             : 0);
  if (!failed && Py_TYPE(items) != &map_type && !PyObject_HasAttrString(items, "keys"))
    failed = PyDict_MergeFromSeq2(dict, items, 1);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; !failed && PyDict_Next(dict, &at, &key, &value);)
    failed = set_entry(message, field, key, value);
  Py_XDECREF(dict);
  return failed ? -1 : 0;
}

static PyObject *map_update(PyObject *self, PyObject *args, PyObject *keywords) {
  PyObject *items = NULL;
  if (!PyArg_ParseTuple(args, "|O", &items)) return NULL;
  if (items && update_map(SELF->message, SELF->field, items)) return NULL;
  if (keywords && update_map(SELF->message, SELF->field, keywords)) return NULL;
  Py_RETURN_NONE;
}

/* ---- Both ---- */

static PyObject *plain(PyObject *self) {
  return Py_TYPE(self) == &map_type ? to_dict(self) : to_list(self);
}

static bool is_container(PyObject *object) {
  return Py_TYPE(object) == &map_type || Py_TYPE(object) == &repeated_type;
}

static PyObject *container_compare(PyObject *self, PyObject *other, int how) {
  PyObject *a = plain(self), *b = NULL, *result = NULL;
  if (is_container(other))
    b = plain(other);
  else if (Py_TYPE(self) == &repeated_type && PyTuple_Check(other))
    b = PySequence_List(other);
  else
    b = Py_NewRef(other);
  if (a && b) result = PyObject_RichCompare(a, b, how);
  Py_XDECREF(a);
  Py_XDECREF(b);
  return result;
}

static PyObject *container_repr(PyObject *self) {
  PyObject *value = plain(self), *text = value ? PyObject_Repr(value) : NULL;
  Py_XDECREF(value);
  return text;
}

static PyObject *container_clear(PyObject *self, PyObject *none) {
  (void)none;
  situ_message_remove(SELF->message, SELF->field, 0, COUNT);
  Py_RETURN_NONE;
}

static PyObject *container_copy(PyObject *self, PyObject *memo) {
  PyObject *value = plain(self), *module = value ? PyImport_ImportModule("copy") : NULL;
  PyObject *copy = module ? PyObject_CallMethod(module, "deepcopy", "OO", value, memo) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(value);
  return copy;
}

static PyObject *container_reduce(PyObject *self, PyObject *none) {
  (void)none;
  PyObject *value = plain(self);
  return value ? Py_BuildValue("O(N)", Py_TYPE(value), value) : NULL;
}

static PyMethodDef repeated_methods[] = {
    {"append", append, METH_O, "Appends an item; a message is copied."},
    {"extend", extend, METH_O, "Appends the items of an iterable."},
    {"MergeFrom", extend, METH_O, "Appends the items of an iterable."},
    {"insert", insert_at, METH_VARARGS, "Inserts an item before an index."},
    {"add", (PyCFunction)(void (*)(void))add, METH_VARARGS | METH_KEYWORDS,
     "Appends a message and returns it."},
    {"clear", container_clear, METH_NOARGS, "Removes all items."},
    {"_reorder", reorder, METH_O, "Moves the items."},
    {"__deepcopy__", container_copy, METH_O, "Returns a list of copies."},
    {"__reduce__", container_reduce, METH_NOARGS, "Pickles the items as a list."},
    {NULL, NULL, 0, NULL}};

static PySequenceMethods repeated_sequence = {
    .sq_length = container_length, .sq_item = get_item, .sq_inplace_concat = add_in_place};
static PyMappingMethods repeated_mapping = {
    .mp_length = container_length, .mp_subscript = subscript, .mp_ass_subscript = assign_subscript};

#ifdef Py_TPFLAGS_SEQUENCE
enum { REPEATED_FLAGS = Py_TPFLAGS_SEQUENCE, MAP_FLAGS = Py_TPFLAGS_MAPPING };
#else
enum { REPEATED_FLAGS = 0, MAP_FLAGS = 0 };
#endif

PyTypeObject repeated_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.RepeatedField",
                              .tp_basicsize = sizeof(struct container_object),
                              .tp_flags = Py_TPFLAGS_DEFAULT | REPEATED_FLAGS,
                              .tp_doc = "A repeated field of a message.",
                              .tp_dealloc = container_dealloc,
                              .tp_repr = container_repr,
                              .tp_richcompare = container_compare,
                              .tp_hash = PyObject_HashNotImplemented,
                              .tp_as_sequence = &repeated_sequence,
                              .tp_as_mapping = &repeated_mapping,
                              .tp_methods = repeated_methods};

static PyObject *entry_class(PyObject *self, PyObject *none) {
  (void)none;
  return Py_XNewRef(message_class_of(SELF->field->message));
}

static PyMethodDef map_methods[] = {
    {"GetEntryClass", entry_class, METH_NOARGS, "Returns the class of {key, value}."},
    {"update", (PyCFunction)(void (*)(void))map_update, METH_VARARGS | METH_KEYWORDS,
     "Sets the entries of a mapping."},
    {"MergeFrom", (PyCFunction)(void (*)(void))map_update, METH_VARARGS | METH_KEYWORDS,
     "Sets the entries of a mapping."},
    {"get_or_create", map_subscript, METH_O, "Returns the value of a key, adding it."},
    {"clear", container_clear, METH_NOARGS, "Removes all entries."},
    {"__deepcopy__", container_copy, METH_O, "Returns a dict of copies."},
    {"__reduce__", container_reduce, METH_NOARGS, "Pickles the map as a dict."},
    {NULL, NULL, 0, NULL}};

static PySequenceMethods map_sequence = {.sq_contains = map_contains};
static PyMappingMethods map_mapping = {
    .mp_length = container_length, .mp_subscript = map_subscript, .mp_ass_subscript = map_assign};

PyTypeObject map_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.MapField",
                         .tp_basicsize = sizeof(struct container_object),
                         .tp_flags = Py_TPFLAGS_DEFAULT | MAP_FLAGS,
                         .tp_doc = "A map field of a message.",
                         .tp_dealloc = container_dealloc,
                         .tp_repr = container_repr,
                         .tp_richcompare = container_compare,
                         .tp_hash = PyObject_HashNotImplemented,
                         .tp_iter = map_iterate,
                         .tp_as_sequence = &map_sequence,
                         .tp_as_mapping = &map_mapping,
                         .tp_methods = map_methods};
