/* SPDX-License-Identifier: Apache-2.0 */
/* olddog peek: samples as the model will see them, as PNGs and text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/str.h"
#include "cli/png_write.h"
#include "cli/verbs.h"
#include "feed/digest.h"
#include "feed/engine.h"

static struct {
	uint64_t n, from, n_workers;
	const char *to;
	bool json;
} opts = {.n = 4, .to = "."};

static const struct opt table[] = {
	{"samples", 'n', OPT_U64, &opts.n, "N", "how many samples (default 4)"},
	{"from", 0, OPT_U64, &opts.from, "POSITION", "the first position (default 0)"},
	{"out", 'o', OPT_TEXT, &opts.to, "DIR", "where files go, made when it is missing (default: here)"},
	{"workers", 0, OPT_U64, &opts.n_workers, "N", "worker processes (default: as many as processors)"},
	{"json", 0, OPT_FLAG, &opts.json, NULL, "print JSON"},
	{NULL},
};

struct peek {
	struct loop *loop;
	struct plan *plan;
	struct spec *spec;	/* the plan's, but for pixels that stay bytes */
	struct engine *engine;
	struct stream *stream;
	json_t *all;		/* a row for each sample */
	bool ended, closed;
	int r;
	struct err e;
};

/* A picture is looked at as it leaves the chain: a file of pixels has neither normalisation nor dtype. */
static int spec_of_pixels(struct peek *p)
{
	int r = spec_copy(plan_spec(p->plan), &p->spec);

	for (uint32_t i = 0; r == 0 && i < p->spec->recipe.n_fields; i++) {
		struct recipe_field *f = &p->spec->recipe.fields[i];

		if (f->kind != FIELD_IMAGE)
			continue;
		f->normalize = false;
		f->dtype = DTYPE_UINT8;
		f->layout = LAYOUT_HWC;
	}
	return r;
}

/* DIR/POSITION.FIELD.KIND with the bytes; its path in *ret. */
static int out_write(struct peek *p, uint64_t position, const char *field, const char *kind, const void *bytes, size_t n,
	char **ret)
{
	AUTO_FREE char *path = mem_printf("%s/%" PRIu64 ".%s.%s", opts.to, position, field, kind);
	int r = path ? file_make(path, bytes, n) : -ENOMEM;

	if (r < 0)
		return err_set(&p->e, r, "%s: %s", path ? path : opts.to, err_text(r));
	*ret = TAKE(path);
	return 0;
}

static int show_image(struct peek *p, uint64_t position, const struct sample_view *v, json_t *row)
{
	AUTO_FREE char *path = NULL;
	AUTO_BUF struct buf png;
	int r;

	buf_init(&png, SIZE_MAX / 2);
	if (v->n_bytes == 0)
		return json_object_set_new(row, v->name, json_null());
	if (v->n_dims != 3 || v->dtype != DTYPE_UINT8)
		return err_set(&p->e, E_PROTOCOL, "%s is no picture of bytes", v->name);
	r = png_write(v->p, (uint32_t)v->dims[0], (uint32_t)v->dims[1], (uint32_t)v->dims[2], &png);
	if (r < 0)
		return err_set(&p->e, r, "a PNG of %s: %s", v->name, err_text(r));
	r = out_write(p, position, v->name, "png", png.ptr, png.n, &path);
	if (r < 0)
		return r;
	return json_object_set_new(row, v->name, json_pack("{s:[I, I, I], s:s}", "shape", (json_int_t)v->dims[0],
		(json_int_t)v->dims[1], (json_int_t)v->dims[2], "file", path));
}

static int show_bytes(struct peek *p, uint64_t position, const struct batch_field *f, const struct sample_view *v,
	json_t *row)
{
	const char *kind = f->kind == FIELD_TEXT ? "txt" : f->kind == FIELD_JSON ? "json" : "bin";
	AUTO_FREE char *path = NULL;
	char shown[512];
	int r = out_write(p, position, v->name, kind, v->p, v->n_bytes, &path);

	if (r < 0)
		return r;
	str_printable((struct str){v->p, f->kind == FIELD_BYTES ? 0 : v->n_bytes}, shown, sizeof(shown));
	return json_object_set_new(row, v->name, json_pack("{s:I, s:s, s:s}", "bytes", (json_int_t)v->n_bytes, "text",
		shown, "file", path));
}

static int show_number(const struct batch_field *f, const struct sample_view *v, json_t *row)
{
	json_int_t whole;
	double real;
	float narrow;

	if (v->n_bytes != dtype_bytes(f->dtype))
		return E_PROTOCOL;
	switch (f->dtype) {
	case DTYPE_INT64:
		memcpy(&whole, v->p, sizeof(whole));
		return json_object_set_new(row, v->name, json_integer(whole));
	case DTYPE_FLOAT32:
		memcpy(&narrow, v->p, sizeof(narrow));
		return json_object_set_new(row, v->name, json_real((double)narrow));
	case DTYPE_FLOAT64:
		memcpy(&real, v->p, sizeof(real));
		return json_object_set_new(row, v->name, json_real(real));
	default:
		return E_PROTOCOL;
	}
}

static int show_field(struct peek *p, const struct stream_batch *b, const struct batch_field *f, uint32_t i, json_t *row)
{
	uint64_t position = sample_position(&b->head, b->slot->p, i);
	AUTO_BUF struct buf scratch;
	struct sample_view v;
	int r;

	buf_init(&scratch, SIZE_MAX / 2);
	r = sample_view(&b->head, b->slot->p, f, i, &scratch, &v);
	if (r < 0)
		return err_set(&p->e, r, "%s: %s", f->name, err_text(r));
	if (f->kind == FIELD_IMAGE)
		r = show_image(p, position, &v, row);
	else if (f->kind == FIELD_INT || f->kind == FIELD_FLOAT)
		r = show_number(f, &v, row);
	else
		r = show_bytes(p, position, f, &v, row);
	return r < 0 && !p->e.code ? err_set(&p->e, -ENOMEM, "%s cannot be shown", f->name) : r;
}

static int text_set(json_t *row, const char *name, struct str s)
{
	char shown[1100];

	return json_object_set_new(row, name, json_string(str_printable(s, shown, sizeof(shown))));
}

static int show_sample(struct peek *p, const struct stream_batch *b, uint32_t i)
{
	struct str instead_of = sample_text(&b->head, b->slot->p, BATCHHEAD_FOR, i);
	json_t *row = json_object(), *fields = json_object();
	int r = 0;

	json_object_set_new(row, "position", json_integer((json_int_t)sample_position(&b->head, b->slot->p, i)));
	text_set(row, "key", sample_text(&b->head, b->slot->p, BATCHHEAD_KEY, i));
	if (instead_of.n > 0)
		text_set(row, "for", instead_of);
	for (unsigned k = 0; k < b->head.n_fields && r == 0; k++)
		if (b->head.fields[k].name[0] != '.')
			r = show_field(p, b, &b->head.fields[k], i, fields);
	json_object_set_new(row, "fields", fields);
	return json_array_append_new(p->all, row) < 0 && r == 0 ? -ENOMEM : r;
}

static void take(void *ctx)
{
	struct peek *p = ctx;
	struct stream_batch *b;
	int r = 0;

	while (!p->ended && (r = stream_next(p->stream, &b, &p->e)) == 0) {
		for (uint32_t i = 0; i < b->head.n_real && r == 0; i++)
			r = show_sample(p, b, i);
		stream_release(p->stream, b);
		if (r < 0)
			break;
	}
	if (r == -EAGAIN || p->ended)
		return;
	p->r = r == E_END ? 0 : r;
	p->ended = true;
}

static void print_value(const char *name, json_t *v)
{
	json_t *shape = json_object_get(v, "shape");

	printf("  %-10s ", name);
	if (shape)
		printf("%" JSON_INTEGER_FORMAT " x %" JSON_INTEGER_FORMAT " x %" JSON_INTEGER_FORMAT "  ",
			json_integer_value(json_array_get(shape, 0)), json_integer_value(json_array_get(shape, 1)),
			json_integer_value(json_array_get(shape, 2)));
	else if (json_is_object(v))
		printf("%s  (%" JSON_INTEGER_FORMAT " bytes) ", json_string_value(json_object_get(v, "text")),
			json_integer_value(json_object_get(v, "bytes")));
	else if (json_is_null(v))
		printf("nothing");
	else if (json_is_integer(v))
		printf("%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else
		printf("%.17g", json_real_value(v));
	printf("%s\n", json_is_object(v) ? json_string_value(json_object_get(v, "file")) : "");
}

static int print_all(struct peek *p)
{
	json_t *row, *v;
	const char *name;
	size_t i;

	if (opts.json)
		return cmd_print_json(json_incref(p->all));
	json_array_foreach(p->all, i, row) {
		printf("position %" JSON_INTEGER_FORMAT "  %s", json_integer_value(json_object_get(row, "position")),
			json_string_value(json_object_get(row, "key")));
		if (json_object_get(row, "for"))
			printf("  in place of the bad %s", json_string_value(json_object_get(row, "for")));
		printf("\n");
		json_object_foreach(json_object_get(row, "fields"), name, v)
			print_value(name, v);
	}
	return CMD_DONE;
}

static void on_closed(void *ctx)
{
	((struct peek *)ctx)->closed = true;
}

static void warn(void *ctx, const char *words)
{
	log_warn("%s", words);
}

static int open_all(struct peek *p, int n, char **operands)
{
	struct plan_conf plan_conf = {.warn = warn};
	struct engine_conf conf = {.uncollated = true, .n_workers = (unsigned)opts.n_workers};
	struct stream_conf sc = {.dp_size = 1, .global_batch = 1, .consumed = opts.from, .n_samples = opts.n, .ready = take,
		.ctx = p};
	int r = plan_open_any((const char *const *)operands, (unsigned)n, &plan_conf, &p->plan, &p->e);

	if (r == 0)
		r = spec_of_pixels(p);
	if (r == 0)
		r = loop_new(&p->loop);
	if (r == 0 && mkdir(opts.to, 0777) < 0 && errno != EEXIST)
		r = err_set(&p->e, -errno, "%s: %s", opts.to, err_text(-errno));
	conf.loop = p->loop;
	conf.plan = p->plan;
	conf.spec = p->spec;
	if (r == 0)
		r = engine_new(&conf, &p->engine, &p->e);
	return r < 0 ? r : stream_open(p->engine, &sc, &p->stream, &p->e);
}

static void close_all(struct peek *p)
{
	if (p->engine) {
		engine_close(p->engine, on_closed, p);
		loop_run_until(p->loop, &p->closed);
	}
	spec_free(p->spec);
	plan_free(p->plan);
	loop_free(p->loop);
	json_decref(p->all);
}

static int peek_run(int n, char **operands)
{
	struct peek p = {0};
	int r, status;

	if (opts.n < 1 || opts.n > 100000 || opts.n_workers > 1024) {
		log_error("peek: 1 to 100000 samples, at most 1024 workers");
		return CMD_USAGE;
	}
	p.all = json_array();
	r = open_all(&p, n, operands);
	if (r == 0) {
		take(&p);
		r = loop_run_until(p.loop, &p.ended);
	}
	if (r == 0)
		r = p.r;
	status = print_all(&p);
	if (r < 0)
		status = cmd_failed(&p.e, r);
	close_all(&p);
	return status;
}

const struct cmd cmd_peek = {
	.name = "peek",
	.operands = "PLAN|SPEC|PATH..",
	.help = "show samples as the model will see them: PNGs and text",
	.opts = table,
	.min_operands = 1,
	.max_operands = 4096,
	.run = peek_run,
};
