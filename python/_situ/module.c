/* SPDX-License-Identifier: Apache-2.0
 * module.c: the module _situ: types, functions, and hooks to the Python package. */
#include <string.h>

#include "message.h"
#include "situ_python.h"
#include "interruptible.h"

/* hook(name, object): sets a member of struct hooks. */
static PyObject *set_hook(PyObject *self, PyObject *args) {
  (void)self;
  const char *name;
  PyObject *object;
  if (!PyArg_ParseTuple(args, "sO", &name, &object)) return NULL;
  const struct {
    const char *name;
    PyObject **at;
  } slots[] = {{"shape", &hooks.shape},
               {"error", &hooks.error},
               {"pack", &hooks.pack},
               {"device_function", &hooks.device_function},
               {"eager_config", &hooks.eager_config},
               {"index", &hooks.index},
               {"repr", &hooks.repr},
               {"str", &hooks.str},
               {"node_def", &hooks.node_def},
               {"folder", &hooks.folder},
               {"message_class", &hooks.message_class},
               {"decode_error", &hooks.decode_error},
               {"parse_error", &hooks.parse_error},
               {"composite", &hooks.composite},
               {"promote", &hooks.promote}};
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
    if (!strcmp(slots[i].name, name)) {
      Py_XSETREF(*slots[i].at, Py_NewRef(object));
      Py_RETURN_NONE;
    }
  return PyErr_Format(PyExc_ValueError, "no hook %s", name);
}

static PyObject *set_dtype(PyObject *self, PyObject *args) {
  (void)self;
  int number;
  PyObject *dtype;
  if (!PyArg_ParseTuple(args, "iO", &number, &dtype)) return NULL;
  if (number < 1 || number >= N_TYPES) return PyErr_Format(PyExc_ValueError, "no such type");
  Py_XSETREF(hooks.dtypes[number], Py_NewRef(dtype));
  Py_RETURN_NONE;
}

/* extend(type, name, member): adds a Python method or property to a native type. */
static PyObject *extend(PyObject *self, PyObject *args) {
  (void)self;
  PyTypeObject *type;
  PyObject *name, *member;
  if (!PyArg_ParseTuple(args, "O!UO", &PyType_Type, &type, &name, &member)) return NULL;
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    return PyErr_Format(PyExc_TypeError, "%R is not a type of this module", type);
  if (PyDict_SetItem(type->tp_dict, name, member)) return NULL;
  PyType_Modified(type);
  Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"extend", extend, METH_VARARGS, "Adds a method to a type of this module."},
    {"hook", set_hook, METH_VARARGS, "Registers an object of the package."},
    {"set_dtype", set_dtype, METH_VARARGS, "Registers the object of an element type."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_situ",
                                        .m_doc = "The engine of situ.", .m_size = -1,
                                        .m_methods = module_methods};

static int add_types(PyObject *module) {
  const struct {
    const char *name;
    PyTypeObject *type;
  } types[] = {{"Tensor", &base_type},
               {"EagerTensor", &tensor_type},
               {"GraphTensor", &value_type},
               {"Graph", &graph_type},
               {"Operation", &operation_type},
               {"Session", &session_type},
               {"Op", &function_type},
               {"Trace", &trace_type},
               {"Function", &traced_type},
               {"FastPath", &fast_path_type},
               {"Recording", &recording_type},
               {"Tape", &tape_type},
               {"Transform", &transform_type},
               {"Dataset", &dataset_type},
               {"Iterator", &iterator_type},
               {"Message", &message_type},
               {"RepeatedField", &repeated_type},
               {"MapField", &map_type}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (PyType_Ready(types[i].type)) return -1;
    Py_INCREF(types[i].type);
    if (PyModule_AddObject(module, types[i].name, (PyObject *)types[i].type)) return -1;
  }
  return 0;
}

PyMODINIT_FUNC PyInit__situ(void); /* entry point of the interpreter */

PyMODINIT_FUNC PyInit__situ(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  PyMethodDef *const more[] = {
      dlpack_methods, context_methods,    ops_methods,       devices_methods,   types_methods,
      script_methods, checkpoint_methods, tape_methods,      gradients_methods, cluster_methods,
      store_methods,  numerics_methods,   message_functions, structure_methods};
  int failed = add_types(module) || operators_prepare();
  for (size_t i = 0; i < sizeof more / sizeof *more && !failed; i++)
    failed = PyModule_AddFunctions(module, more[i]);
  if (!failed) failed = PyModule_AddStringConstant(module, "version", situ_version());
  if (failed) Py_CLEAR(module);
  interruptible_prepare();
  return module;
}
