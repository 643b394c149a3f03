/* SPDX-License-Identifier: Apache-2.0 */
/*
 * olddog._olddog: libolddog as three types. Loader and Batch are the library's; Memory is a part of a batch's memory by
 * the buffer protocol. What batches mean is for loader.py and batch.py to say.
 *
 * There are no threads here. The GIL is let go while open() and next() wait; the library takes one call at a time, so a
 * batch that another thread drops meanwhile is released by the one that waits.
 */
#include "_olddog.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

PyObject *fail(const struct state *s, int code, const char *words)
{
	PyObject *args;

	if (code == -EAGAIN)
		words = "not within the timeout";
	else if (!words || !words[0])
		words = olddog_strerror(code);
	args = Py_BuildValue("(is)", code, words);
	if (args)
		PyErr_SetObject(s->failed, args);
	Py_XDECREF(args);
	return NULL;
}

PyObject *new_object(PyTypeObject *type)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);

	return alloc(type, 0);
}

void free_object(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	release(self);
	Py_DECREF(type);
}

/* Loader: waiting. */

static void wait_begin(struct loader *l)
{
	l->thread = PyEval_SaveThread();
}

static void wait_end(struct loader *l)
{
	PyEval_RestoreThread(l->thread);
	l->thread = NULL;
	release_dropped(l);
}

/* As long as it may take until a signal, or a batch that another thread dropped, is looked after. */
#define SLICE_MS 50

struct deadline {
	long long at_ms;	/* by CLOCK_MONOTONIC; -1: never */
};

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static struct deadline deadline_in(int timeout_ms)
{
	return (struct deadline){timeout_ms < 0 ? -1 : now_ms() + timeout_ms};
}

static int slice_of(struct deadline d)
{
	long long left_ms = d.at_ms < 0 ? SLICE_MS : d.at_ms - now_ms();

	return (int)(left_ms < 0 ? 0 : left_ms < SLICE_MS ? left_ms : SLICE_MS);
}

/* What is said while one waits is about the waiting, which may have no end: it is shown now. -1: an exception is set. */
static int show_warnings(struct loader *l)
{
	PyObject *errors, *category;
	int r = 0;

	if (PyList_Size(l->warnings) < 1)
		return 0;
	errors = PyImport_ImportModule("olddog.errors");
	category = errors ? PyObject_GetAttrString(errors, "Warning") : NULL;
	while (category && r == 0 && PyList_Size(l->warnings) > 0) {
		const char *words = PyUnicode_AsUTF8AndSize(PyList_GetItem(l->warnings, 0), NULL);

		r = words ? PyErr_WarnEx(category, words, 3) : -1;
		if (PyList_SetSlice(l->warnings, 0, 1, NULL) < 0)
			r = -1;
	}
	Py_XDECREF(category);
	Py_XDECREF(errors);
	return category ? r : -1;
}

/* Whether to go on after r; else r is final, or an exception is set. */
static bool again(struct loader *l, int r, struct deadline d)
{
	if (r != -EAGAIN && r != -EINTR)
		return false;
	return PyErr_CheckSignals() == 0 && show_warnings(l) == 0 && (d.at_ms < 0 || now_ms() < d.at_ms);
}

/* Kept for Python to show after the call: here an exception would have nowhere to go. */
static void on_warning(void *ctx, const char *words)
{
	struct loader *l = ctx;
	PyGILState_STATE gil = PyGILState_Ensure();
	PyObject *text = PyUnicode_DecodeUTF8(words, (Py_ssize_t)strlen(words), "replace");

	if (!text || PyList_Append(l->warnings, text) < 0)
		PyErr_Clear();
	Py_XDECREF(text);
	PyGILState_Release(gil);
}

/* Loader: opening. */

#define MAX_PATHS 256
#define MAX_FIELDS 64

struct texts {
	const char *p[MAX_PATHS];
	unsigned n;
};

/* The texts are the list's: it must outlive them. */
static int texts_of(PyObject *list, unsigned max, const char *what, struct texts *ret)
{
	Py_ssize_t n = PyList_Size(list);

	if (n < 0)
		return -1;
	if ((size_t)n > max) {
		PyErr_Format(PyExc_ValueError, "%zd %s; at most %u", n, what, max);
		return -1;
	}
	for (ret->n = 0; ret->n < (unsigned)n; ret->n++) {
		ret->p[ret->n] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, ret->n), NULL);
		if (!ret->p[ret->n])
			return -1;
	}
	return 0;
}

static int parse_open(PyObject *args, PyObject *kw, struct olddog_loader_conf *c, PyObject **paths, PyObject **fields,
	int *timeout_ms)
{
	static const char *const names[] = {"paths", "fields", "transform", "batch", "batch_is_global", "tail", "dp_rank",
		"dp_size", "state", "n_epochs", "n_workers", "max_bytes", "job", "timeout_ms", NULL};
	unsigned long long batch, n_epochs, max_bytes;
	int tail;

	if (!PyArg_ParseTupleAndKeywords(args, kw, "O!O!zKpiIIzKIKzi", (char **)names, &PyList_Type, paths, &PyList_Type,
			fields, &c->transform, &batch, &c->batch_is_global, &tail, &c->dp_rank, &c->dp_size, &c->state,
			&n_epochs, &c->n_workers, &max_bytes, &c->job, timeout_ms))
		return -1;
	c->batch = batch;
	c->n_epochs = n_epochs;
	c->max_bytes = max_bytes;
	c->tail = (enum olddog_tail)tail;
	return 0;
}

static int busy(const struct loader *l)
{
	if (l->thread)
		PyErr_SetString(PyExc_RuntimeError, "another thread waits in this Loader; one at a time may use it");
	return l->thread != NULL;
}

/* A loader that is not opened is closed. */
static int begin_and_await(struct loader *l, const struct olddog_loader_conf *c, int timeout_ms, struct olddog_error *e)
{
	struct deadline d = deadline_in(timeout_ms);
	int r = olddog_loader_begin(c, &l->loader, e);

	if (r < 0)
		return r;
	do {
		wait_begin(l);
		r = olddog_loader_await(l->loader, slice_of(d), e);
		wait_end(l);
	} while (again(l, r, d));
	if (r == 0)
		return 0;
	olddog_loader_close(l->loader);
	l->loader = NULL;
	return r;
}

static PyObject *loader_open(PyObject *self, PyObject *args, PyObject *kw)
{
	struct loader *l = (struct loader *)self;
	struct olddog_loader_conf c = {.size = sizeof(c), .warn = on_warning, .ctx = l};
	PyObject *path_list, *field_list;
	struct texts paths, fields;
	struct olddog_error e = {0};
	int timeout_ms, r;

	if (busy(l) || parse_open(args, kw, &c, &path_list, &field_list, &timeout_ms) < 0)
		return NULL;
	if (texts_of(path_list, MAX_PATHS, "paths", &paths) < 0 || texts_of(field_list, MAX_FIELDS, "fields", &fields) < 0)
		return NULL;
	c.paths = paths.p;
	c.n_paths = paths.n;
	c.fields = fields.n ? fields.p : NULL;
	c.n_fields = fields.n;
	r = l->loader ? -EBUSY : begin_and_await(l, &c, timeout_ms, &e);
	if (PyErr_Occurred())
		return NULL;
	if (r < 0)
		return fail(PyType_GetModuleState(Py_TYPE(self)), r, e.words);
	Py_RETURN_NONE;
}

/* Loader: the rest. */

static struct olddog_loader *opened(PyObject *self)
{
	struct loader *l = (struct loader *)self;

	if (busy(l))
		return NULL;
	if (!l->loader)
		PyErr_SetString(PyExc_ValueError, "this Loader is closed");
	return l->loader;
}

static PyObject *loader_next(PyObject *self, PyObject *arg)
{
	struct loader *l = (struct loader *)self;
	struct olddog_loader *loader = opened(self);
	struct olddog_batch *batch = NULL;
	struct olddog_error e = {0};
	struct deadline d = deadline_in((int)PyLong_AsLong(arg));
	int r;

	if (!loader || PyErr_Occurred())
		return NULL;
	do {
		wait_begin(l);
		r = olddog_loader_next(loader, slice_of(d), &batch, &e);
		wait_end(l);
	} while (again(l, r, d));
	if (r == 0)
		return batch_new(l, batch);
	if (PyErr_Occurred())
		return NULL;
	if (r == OLDDOG_E_END)
		Py_RETURN_NONE;
	return fail(PyType_GetModuleState(Py_TYPE(self)), r, e.words);
}

static PyObject *loader_info(PyObject *self, PyObject *unused)
{
	struct olddog_loader *loader = opened(self);
	struct olddog_loader_info i;

	if (!loader)
		return NULL;
	olddog_loader_get_info(loader, &i);
	return Py_BuildValue("{s:y#,s:y#,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "order_id", (const char *)i.order_id,
		(Py_ssize_t)sizeof(i.order_id), "fields_id", (const char *)i.fields_id, (Py_ssize_t)sizeof(i.fields_id),
		"n_samples", (unsigned long long)i.n_samples, "epoch_len", (unsigned long long)i.epoch_len,
		"global_batch", (unsigned long long)i.global_batch, "consumed", (unsigned long long)i.consumed,
		"epoch", (unsigned long long)i.epoch, "n_batches", (unsigned long long)i.n_batches,
		"n_batches_left", (unsigned long long)i.n_batches_left, "seed", (unsigned long long)i.seed);
}

static PyObject *loader_state(PyObject *self, PyObject *unused)
{
	struct olddog_loader *loader = opened(self);
	const char *state;

	if (!loader)
		return NULL;
	state = olddog_loader_state(loader);
	return state ? PyUnicode_FromString(state) : PyErr_NoMemory();
}

static PyObject *loader_take_warnings(PyObject *self, PyObject *unused)
{
	struct loader *l = (struct loader *)self;
	PyObject *empty = PyList_New(0), *all = l->warnings;

	if (!empty)
		return NULL;
	l->warnings = empty;
	return all;
}

static PyObject *loader_close(PyObject *self, PyObject *unused)
{
	struct loader *l = (struct loader *)self;

	if (busy(l))
		return NULL;
	olddog_loader_close(l->loader);
	l->loader = NULL;
	Py_RETURN_NONE;
}

static PyObject *loader_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
	struct loader *l = (struct loader *)new_object(type);

	if (!l)
		return NULL;
	l->warnings = PyList_New(0);
	if (l->warnings)
		return &l->ob_base;
	Py_DECREF(&l->ob_base);
	return NULL;
}

static void loader_dealloc(PyObject *self)
{
	struct loader *l = (struct loader *)self;

	olddog_loader_close(l->loader);
	Py_XDECREF(l->warnings);
	free_object(self);
}

static PyMethodDef loader_methods[] = {
	{"open", (PyCFunction)(void (*)(void))loader_open, METH_VARARGS | METH_KEYWORDS, "open(**conf): olddog_loader_open()."},
	{"next", loader_next, METH_O, "next(timeout_ms) -> Batch, or None at the end."},
	{"info", loader_info, METH_NOARGS, "info() -> dict: struct olddog_loader_info."},
	{"state", loader_state, METH_NOARGS, "state() -> str: JSON to resume."},
	{"take_warnings", loader_take_warnings, METH_NOARGS, "take_warnings() -> list of str, those since the last call."},
	{"close", loader_close, METH_NOARGS, "close(): batches stay."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot loader_slots[] = {
	{Py_tp_doc, (char *)"A rank's loader; open() first."},
	{Py_tp_new, loader_new},
	{Py_tp_dealloc, loader_dealloc},
	{Py_tp_methods, loader_methods},
	{0, NULL},
};

static PyType_Spec loader_spec = {
	.name = "olddog._olddog.Loader", .basicsize = sizeof(struct loader),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, .slots = loader_slots};

/* The module. */

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **ret)
{
	*ret = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
	return *ret ? PyModule_AddType(module, *ret) : -1;
}

static int module_exec(PyObject *module)
{
	struct state *s = PyModule_GetState(module);

	s->failed = PyErr_NewExceptionWithDoc("olddog._olddog.Failed", "Args: libolddog's code and words.", NULL, NULL);
	if (!s->failed || PyModule_AddObjectRef(module, "Failed", s->failed) < 0)
		return -1;
	if (add_type(module, &loader_spec, &s->loader) < 0 || add_type(module, &batch_spec, &s->batch) < 0 ||
		add_type(module, &memory_spec, &s->memory) < 0)
		return -1;
	return PyModule_AddStringConstant(module, "version", olddog_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct state *s = PyModule_GetState(module);

	Py_VISIT(s->failed);
	Py_VISIT(s->loader);
	Py_VISIT(s->batch);
	Py_VISIT(s->memory);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct state *s = PyModule_GetState(module);

	Py_CLEAR(s->failed);
	Py_CLEAR(s->loader);
	Py_CLEAR(s->batch);
	Py_CLEAR(s->memory);
	return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef module_def = {
	PyModuleDef_HEAD_INIT, .m_name = "olddog._olddog", .m_doc = "libolddog.", .m_size = sizeof(struct state),
	.m_slots = module_slots, .m_traverse = module_traverse, .m_clear = module_clear};

PyMODINIT_FUNC PyInit__olddog(void);

PyMODINIT_FUNC PyInit__olddog(void)
{
	return PyModuleDef_Init(&module_def);
}
