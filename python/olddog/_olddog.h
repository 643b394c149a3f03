/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of olddog._olddog: _olddog.c (the module, Loader) and _batch.c (Batch, Memory). */
#ifndef OLDDOG_PYTHON_OLDDOG_H
#define OLDDOG_PYTHON_OLDDOG_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "olddog.h"

struct state {
	PyObject *failed;	/* the exception class Failed(code, words) */
	PyTypeObject *loader, *batch, *memory;
};

/* A batch that waits for its release. */
struct dropped {
	struct dropped *next;
	struct olddog_batch *batch;
};

struct loader {
	PyObject ob_base;
	struct olddog_loader *loader;	/* NULL: not opened, or closed */
	PyObject *warnings;		/* list of str */
	PyThreadState *thread;		/* of who waits without the GIL; NULL: nobody */
	struct dropped *dropped;
};

extern PyType_Spec batch_spec, memory_spec;

/* Raises Failed with these words, or with the code's text; NULL. */
PyObject *fail(const struct state *s, int code, const char *words);
/* For a type of ours: zeroed memory, and letting go of it and its type. */
PyObject *new_object(PyTypeObject *type);
void free_object(PyObject *self);
/* A Batch, which owns batch from here on, also when there is none (NULL). */
PyObject *batch_new(struct loader *l, struct olddog_batch *batch);
/* Releases what drop_later() kept, when nobody waits. */
void release_dropped(struct loader *l);

#endif
