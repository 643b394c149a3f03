/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and Memory: as long as one Memory lives, its batch is not released. */
#include "_olddog.h"

struct batch {
	PyObject ob_base;
	struct loader *loader;
	struct olddog_batch *batch;
};

struct memory {
	PyObject ob_base;
	struct batch *batch;
	void *p;
	Py_ssize_t n_bytes;
};

/* Memory. */

static int memory_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	struct memory *m = (struct memory *)self;

	return PyBuffer_FillInfo(view, self, m->p, m->n_bytes, 0, flags);
}

static void memory_dealloc(PyObject *self)
{
	Py_XDECREF(&((struct memory *)self)->batch->ob_base);
	free_object(self);
}

static PyObject *memory_of(struct batch *b, const void *p, uint64_t n_bytes)
{
	struct state *s = PyType_GetModuleState(Py_TYPE(&b->ob_base));
	struct memory *m;

	if (!p)
		Py_RETURN_NONE;
	m = (struct memory *)new_object(s->memory);
	if (!m)
		return NULL;
	Py_INCREF(&b->ob_base);
	m->batch = b;
	m->p = (void *)p;
	m->n_bytes = (Py_ssize_t)n_bytes;
	return &m->ob_base;
}

static PyType_Slot memory_slots[] = {
	{Py_tp_doc, (char *)"A part of a batch's memory."},
	{Py_tp_dealloc, memory_dealloc},
	{Py_bf_getbuffer, memory_getbuffer},
	{0, NULL},
};

PyType_Spec memory_spec = {
	.name = "olddog._olddog.Memory", .basicsize = sizeof(struct memory),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, .slots = memory_slots};

/* Batch. */

/* Where memory for the note is lacking, the batch stays taken; it goes with the loader's process. */
static void drop_later(struct loader *l, struct olddog_batch *b)
{
	struct dropped *d = PyMem_Malloc(sizeof(*d));

	if (!d)
		return;
	d->next = l->dropped;
	d->batch = b;
	l->dropped = d;
}

void release_dropped(struct loader *l)
{
	struct dropped *d;

	while ((d = l->dropped)) {
		l->dropped = d->next;
		olddog_batch_release(d->batch);
		PyMem_Free(d);
	}
}

static void batch_dealloc(PyObject *self)
{
	struct batch *b = (struct batch *)self;

	if (b->loader && b->loader->thread)
		drop_later(b->loader, b->batch);
	else
		olddog_batch_release(b->batch);
	if (b->loader)
		Py_DECREF(&b->loader->ob_base);
	free_object(self);
}

static PyObject *batch_info(PyObject *self, PyObject *unused)
{
	struct olddog_batch_info i;

	olddog_batch_get_info(((struct batch *)self)->batch, &i);
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:I,s:I,s:O,s:I}", "begin", (unsigned long long)i.begin, "end",
		(unsigned long long)i.end, "epoch", (unsigned long long)i.epoch, "number", (unsigned long long)i.number,
		"n", i.n, "n_real", i.n_real, "last", i.last ? Py_True : Py_False, "n_fields", i.n_fields);
}

static PyObject *shape_of(const struct olddog_field *f)
{
	PyObject *shape = PyTuple_New(f->n_dims);

	for (unsigned k = 0; shape && k < f->n_dims; k++) {
		PyObject *n = PyLong_FromUnsignedLongLong(f->dims[k]);

		if (!n || PyTuple_SetItem(shape, k, n) < 0)
			Py_CLEAR(shape);
	}
	return shape;
}

static PyObject *batch_field(PyObject *self, PyObject *arg)
{
	struct batch *b = (struct batch *)self;
	struct state *s = PyType_GetModuleState(Py_TYPE(self));
	unsigned long i = PyLong_AsUnsignedLong(arg);
	struct olddog_batch_info info;
	struct olddog_field f;
	int r;

	if (PyErr_Occurred())
		return NULL;
	r = olddog_batch_get_field(b->batch, i > UINT32_MAX ? UINT32_MAX : (unsigned)i, &f);
	if (r < 0)
		return fail(s, r, NULL);
	olddog_batch_get_info(b->batch, &info);
	/* N takes what is made here, and lets go of it when any is NULL. */
	return Py_BuildValue("{s:s,s:i,s:i,s:N,s:N,s:N,s:N}", "name", f.name, "kind", (int)f.kind, "dtype", (int)f.dtype,
		"shape", shape_of(&f), "data", memory_of(b, f.data, f.n_bytes),
		"offsets", memory_of(b, f.offsets, 8 * (info.n + 1ull)), "sizes", memory_of(b, f.sizes, 12ull * info.n));
}

static PyMethodDef batch_methods[] = {
	{"info", batch_info, METH_NOARGS, "info() -> dict: struct olddog_batch_info."},
	{"field", batch_field, METH_O, "field(i) -> dict: struct olddog_field; data, offsets and sizes are Memory or None."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot batch_slots[] = {
	{Py_tp_doc, (char *)"A batch; released when it and all of its Memory are gone."},
	{Py_tp_dealloc, batch_dealloc},
	{Py_tp_methods, batch_methods},
	{0, NULL},
};

PyType_Spec batch_spec = {
	.name = "olddog._olddog.Batch", .basicsize = sizeof(struct batch),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, .slots = batch_slots};

PyObject *batch_new(struct loader *l, struct olddog_batch *batch)
{
	struct state *s = PyType_GetModuleState(Py_TYPE(&l->ob_base));
	struct batch *b = (struct batch *)new_object(s->batch);

	if (!b) {
		olddog_batch_release(batch);
		return NULL;
	}
	Py_INCREF(&l->ob_base);
	b->loader = l;
	b->batch = batch;
	return &b->ob_base;
}
