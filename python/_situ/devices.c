/* SPDX-License-Identifier: Apache-2.0
 * devices.c: devices and their memory (situ/device.h). */
#include <situ/distribute.h>

#include "situ_python.h"

static PyObject *device_dict(const situ_device *device) {
  return Py_BuildValue("{sssssssssssssisisK}", "name", device->name, "kind", device->kind, "model",
                       device->model, "bus_id", device->bus_id, "description", device->description,
                       "backend", device->backend, "index", device->index, "physical",
                       device->physical, "memory", (unsigned long long)device->memory);
}

static PyObject *list_devices(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  int count = 0;
  situ_status status = situ_devices_count(&count);
  if (status) return errors_raise(status, NULL);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < count; i++) {
    situ_device device;
    status = situ_devices_get(i, &device);
    PyObject *dict = status ? errors_raise(status, NULL) : device_dict(&device);
    if (!dict || PyList_Append(list, dict)) Py_CLEAR(list);
    Py_XDECREF(dict);
  }
  return list;
}

static PyObject *configure(PyObject *self, PyObject *dict) {
  (void)self;
  situ_config config;
  struct config_store store;
  if (config_read(dict, &config, &store)) return NULL;
  const situ_status status = situ_devices_configure(&config.devices);
  if (status) return errors_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *memory_info(PyObject *self, PyObject *name) {
  (void)self;
  const char *text = convert_text(name);
  int number = 0;
  situ_memory_info info = {0};
  if (!text) return NULL;
  situ_status status = situ_devices_find(text, &number);
  if (!status) status = situ_device_memory_info(number, &info);
  if (status) return errors_raise(status, NULL);
  return Py_BuildValue("{sKsKsKsKsKsd}", "current", (unsigned long long)info.current, "peak",
                       (unsigned long long)info.peak, "reserved", (unsigned long long)info.reserved,
                       "limit", (unsigned long long)info.limit, "largest_free",
                       (unsigned long long)info.largest_free, "clock", info.clock);
}

static PyObject *reset_peak(PyObject *self, PyObject *name) {
  (void)self;
  const char *text = convert_text(name);
  int number = 0;
  if (!text) return NULL;
  situ_status status = situ_devices_find(text, &number);
  if (!status) status = situ_device_reset_peak(number);
  if (status) return errors_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *reset(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  const situ_status status = situ_devices_reset();
  if (status) return errors_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *evacuate(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  const situ_status status = situ_devices_evacuate();
  if (status) return errors_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *reduces_by_library(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyBool_FromLong(situ_all_reduce_has_library());
}

PyMethodDef devices_methods[] = {
    {"devices", list_devices, METH_NOARGS, "Returns all devices as dicts."},
    {"configure", configure, METH_O, "Configures the devices of the process."},
    {"memory_info", memory_info, METH_O, "Returns the memory statistics of a device."},
    {"reset_peak", reset_peak, METH_O, "Resets the peak memory of a device."},
    {"evacuate", evacuate, METH_NOARGS, "Closes sessions; moves tensors to host memory."},
    {"reduces_by_library", reduces_by_library, METH_NOARGS,
     "Whether a library (NCCL) makes sums over devices."},
    {"devices_reset", reset, METH_NOARGS, "Closes all devices and clears the configuration."},
    {NULL, NULL, 0, NULL}};
