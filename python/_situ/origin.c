/* SPDX-License-Identifier: Apache-2.0
 * origin.c: where the program created the nodes of a graph: code objects and instruction offsets,
 * from which error messages compute files and lines. */
#include <string.h>

#include "situ_python.h"

enum { DEPTH = 4 }; /* frames of the program per node; the innermost ones */

/* A frame of the program: `at` is an instruction offset, before Python 3.11 a line. */
struct place {
  PyCodeObject *code; /* owned */
  int at;
};

/* The location of the nodes from `first` on. */
struct origin {
  int first, depth;
  struct place places[DEPTH]; /* the innermost frame first */
};

static int offset_of(PyFrameObject *frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyFrame_GetLasti(frame);
#else
  return PyFrame_GetLineNumber(frame);
#endif
}

static int line_of(const struct place *place) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyCode_Addr2Line(place->code, place->at);
#else
  return place->at;
#endif
}

/* Returns whether code belongs to the program: not to the package or the interpreter. */
static bool is_outer(const PyCodeObject *code) {
  const char *file = PyUnicode_AsUTF8(code->co_filename);
  const char *folder = hooks.folder ? PyUnicode_AsUTF8(hooks.folder) : NULL;
  if (!file || !folder) PyErr_Clear();
  return file && folder && *file != '<' && strncmp(file, folder, strlen(folder)) != 0;
}

/* Returns the same, from the last record if that has the code at the same depth. */
static bool is_place(const PyCodeObject *code, const struct origin *last, int depth) {
  return (last && depth < last->depth && last->places[depth].code == code) || is_outer(code);
}

/* Finds the frames of the program; `out` owns the code objects. */
static void find_places(const struct origin *last, struct origin *out) {
  PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame && out->depth < DEPTH) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    if (is_place(code, last, out->depth))
      out->places[out->depth++] = (struct place){code, offset_of(frame)};
    else
      Py_DECREF(code);
    PyFrameObject *back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
}

static void release(struct origin *origin) {
  for (int i = 0; i < origin->depth; i++) Py_DECREF(origin->places[i].code);
  origin->depth = 0;
}

static bool is_equal(const struct origin *a, const struct origin *b) {
  bool equal = a->depth == b->depth;
  for (int i = 0; i < a->depth && equal; i++)
    equal = a->places[i].code == b->places[i].code && a->places[i].at == b->places[i].at;
  return equal;
}

void origin_record(struct graph_object *graph) {
  struct origin *last = graph->n_origins ? &graph->origins[graph->n_origins - 1] : NULL;
  struct origin now = {.first = situ_graph_count(graph->graph)};
  find_places(last, &now);
  if (last && is_equal(last, &now)) {
    release(&now);
    return;
  }
  if (last && last->first == now.first) { /* no node was created there */
    release(last);
    *last = now;
    return;
  }
  if (graph->n_origins == graph->origin_capacity) {
    const int capacity = 2 * graph->origin_capacity + 16;
    struct origin *larger = PyMem_Realloc(graph->origins, sizeof *larger * (size_t)capacity);
    if (!larger) { /* messages then lack a location */
      release(&now);
      return;
    }
    graph->origins = larger;
    graph->origin_capacity = capacity;
  }
  graph->origins[graph->n_origins++] = now;
}

void origin_free(struct graph_object *graph) {
  for (int i = 0; i < graph->n_origins; i++) release(&graph->origins[i]);
  PyMem_Free(graph->origins);
  graph->origins = NULL;
  graph->n_origins = graph->origin_capacity = 0;
}

PyObject *origin_of(struct graph_object *graph, int node) {
  int low = 0, high = graph->n_origins; /* the last one with first <= node is before `high` */
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (graph->origins[middle].first <= node)
      low = middle + 1;
    else
      high = middle;
  }
  PyObject *list = PyList_New(0);
  const struct origin *origin = low ? &graph->origins[low - 1] : NULL;
  for (int i = origin ? origin->depth - 1 : -1; list && i >= 0; i--) {
    const struct place *place = &origin->places[i];
    PyObject *item =
        Py_BuildValue("OiO", place->code->co_filename, line_of(place), place->code->co_name);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}
