/* SPDX-License-Identifier: Apache-2.0
 * config.c: reads device, session and eager options from a dict with the names of the C members. */
#include "situ_python.h"

static PyObject *get(PyObject *dict, const char *name) {
  PyObject *value = PyDict_GetItemString(dict, name);
  return value == Py_None ? NULL : value;
}

static const char *text_of(PyObject *dict, const char *name) {
  PyObject *value = get(dict, name);
  return value ? convert_text(value) : NULL;
}

static long long integer_of(PyObject *dict, const char *name) {
  PyObject *value = get(dict, name);
  return value ? PyLong_AsLongLong(value) : 0;
}

static bool truth_of(PyObject *dict, const char *name) {
  PyObject *value = get(dict, name);
  return value && PyObject_IsTrue(value) == 1;
}

static situ_memory_config memory_of(PyObject *dict) {
  PyObject *fraction = get(dict, "fraction");
  return (situ_memory_config){.limit_bytes = (uint64_t)integer_of(dict, "limit_bytes"),
                              .reserve_bytes = (uint64_t)integer_of(dict, "reserve_bytes"),
                              .fraction = fraction ? PyFloat_AsDouble(fraction) : 0,
                              .growth = truth_of(dict, "growth")};
}

/* device_memory: {"/gpu:0": {...}}; virtual_devices: [(gpu, bytes), ...] */
static void read_lists(PyObject *dict, situ_device_config *out, struct config_store *store) {
  PyObject *devices = get(dict, "device_memory"), *pieces = get(dict, "virtual_devices");
  PyObject *items = devices ? PyDict_Items(devices) : NULL; /* a copy: conversions may run code that
                                                               changes the dict */
  out->device_memory = store->memory;
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items) && i < 64; i++) {
    PyObject *pair = PyList_GET_ITEM(items, i); /* the dict owns the name */
    store->memory[out->n_device_memory++] = (situ_device_memory){
        convert_text(PyTuple_GET_ITEM(pair, 0)), memory_of(PyTuple_GET_ITEM(pair, 1))};
  }
  Py_XDECREF(items);
  out->virtual_devices = store->virtual_devices;
  PyObject *tuple = pieces && PyList_Check(pieces) ? PyList_AsTuple(pieces) : NULL;
  for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple) && i < 64; i++) {
    long long bytes = 0;
    int gpu = 0;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "iL", &gpu, &bytes)) break;
    store->virtual_devices[out->n_virtual_devices++] = (situ_virtual_device){gpu, (uint64_t)bytes};
  }
  Py_XDECREF(tuple);
}

int config_read(PyObject *dict, situ_config *out, struct config_store *store) {
  *out = (situ_config){.log_device_placement = truth_of(dict, "log_device_placement"),
                       .allow_soft_placement = truth_of(dict, "allow_soft_placement"),
                       .strict = truth_of(dict, "strict"),
                       .threads = (int)integer_of(dict, "threads")};
  situ_device_config *devices = &out->devices;
  devices->sim_gpus = text_of(dict, "sim_gpus");
  devices->visible_devices = text_of(dict, "visible_devices");
  devices->visible_device_list = text_of(dict, "visible_device_list");
  devices->cpu_devices = (int)integer_of(dict, "cpu_devices");
  devices->gpu_devices = (int)integer_of(dict, "gpu_devices");
  PyObject *memory = get(dict, "memory");
  if (memory) devices->memory = memory_of(memory);
  PyObject *shared = get(dict, "store");
  if (shared) out->store = store_native(shared);
  out->task = text_of(dict, "task");
  out->scope = text_of(dict, "scope");
  read_lists(dict, devices, store);
  return PyErr_Occurred() ? -1 : 0;
}
