/* SPDX-License-Identifier: Apache-2.0 */
/* A spec as YAML, by the same table that reads it; libyaml's emitter does the quoting. */
#include "plan/spec_write.h"

#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/scope.h"
#include "plan/spec_kind.h"

struct spec_out {
	yaml_emitter_t emitter;
	struct buf *to;
	int r; /* the first error */
};

static int take_bytes(void *ctx, unsigned char *p, size_t n)
{
	return buf_add(ctx, p, n) == 0;
}

/* libyaml fails when memory is short, when the buffer is full, and when a text is not UTF-8. */
static void emit(struct spec_out *o, yaml_event_t *ev, int made)
{
	if (o->r == 0 && made && yaml_emitter_emit(&o->emitter, ev))
		return;
	if (o->r < 0 && made)
		yaml_event_delete(ev);
	if (o->r == 0)
		o->r = o->to->r < 0 ? o->to->r : -ENOMEM;
}

static void out_map(struct spec_out *o, yaml_mapping_style_t style)
{
	yaml_event_t ev;

	emit(o, &ev, yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, style));
}

static void out_map_end(struct spec_out *o)
{
	yaml_event_t ev;

	emit(o, &ev, yaml_mapping_end_event_initialize(&ev));
}

static void out_list(struct spec_out *o, yaml_sequence_style_t style)
{
	yaml_event_t ev;

	emit(o, &ev, yaml_sequence_start_event_initialize(&ev, NULL, NULL, 1, style));
}

static void out_list_end(struct spec_out *o)
{
	yaml_event_t ev;

	emit(o, &ev, yaml_sequence_end_event_initialize(&ev));
}

static void out_scalar(struct spec_out *o, const char *s, yaml_scalar_style_t style)
{
	const unsigned char *p = (const unsigned char *)s;
	yaml_event_t ev;

	emit(o, &ev, yaml_scalar_event_initialize(&ev, NULL, NULL, p, (int)strlen(s), 1, 1, style));
}

static void out_word(struct spec_out *o, const char *s)
{
	out_scalar(o, s, YAML_ANY_SCALAR_STYLE);
}

/* A user's text: quoted where YAML's readers could take it for something else. */
static void out_text(struct spec_out *o, const char *s)
{
	bool plain = *s && strspn(s, "0123456789.") < strlen(s) && strcmp(s, "null") != 0;

	for (const char *p = s; plain && *p; p++)
		plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
			strchr("._-", *p);
	out_scalar(o, s, plain ? YAML_ANY_SCALAR_STYLE : YAML_SINGLE_QUOTED_SCALAR_STYLE);
}

static void __attribute__((format(printf, 2, 3))) out_printf(struct spec_out *o, const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out_word(o, text);
}

static const void *at(const struct spec_key *k, const void *from)
{
	return (const char *)from + k->offset;
}

static void out_key(struct spec_out *o, const struct spec_key *k, const void *from)
{
	if (!k->type || !k->type->write || (k->type->absent && k->type->absent(k, from)))
		return;
	out_word(o, k->name);
	k->type->write(o, k, from);
}

static void out_key_named(struct spec_out *o, const char *section, const char *name, const void *from)
{
	out_key(o, spec_key_find(section, str_of(name)), from);
}

static void out_section(struct spec_out *o, const char *section, const void *from, yaml_mapping_style_t style)
{
	out_map(o, style);
	for (const struct spec_key *k = spec_key_next(section, NULL); k; k = spec_key_next(section, k))
		out_key(o, k, from);
	out_map_end(o);
}

void spec_write_word(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec_word *w = k->words;
	int value;

	memcpy(&value, at(k, from), sizeof(value));
	while (w->text && (w->unbuilt || w->value != value))
		w++;
	if (!w->text)
		o->r = o->r < 0 ? o->r : -EINVAL;
	else
		out_word(o, w->text);
}

void spec_write_u64(struct spec_out *o, const struct spec_key *k, const void *from)
{
	out_printf(o, "%" PRIu64, *(const uint64_t *)at(k, from));
}

void spec_write_u32(struct spec_out *o, const struct spec_key *k, const void *from)
{
	out_printf(o, "%" PRIu32, *(const uint32_t *)at(k, from));
}

void spec_write_size(struct spec_out *o, const struct spec_key *k, const void *from)
{
	static const char *const units[] = {"", "K", "M", "G"};
	uint64_t v = *(const uint64_t *)at(k, from);
	unsigned i = 0;

	for (; i + 1 < N_ELEMS(units) && v % 1024 == 0; i++)
		v /= 1024;
	out_printf(o, "%" PRIu64 "%s", v, units[i]);
}

/* The shortest decimal that reads back to the same bits. */
static void out_real(struct spec_out *o, double v)
{
	char text[32];
	double back = 0;
	int r = -EINVAL;

	for (int digits = 1; digits <= 17 && (r < 0 || back != v); digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		r = str_to_double(str_of(text), &back);
		if (r == -ENOMEM)
			break;
	}
	if (r < 0)
		o->r = o->r < 0 ? o->r : r;
	else
		out_word(o, text);
}

static void out_reals(struct spec_out *o, const double *v, unsigned n)
{
	out_list(o, YAML_FLOW_SEQUENCE_STYLE);
	for (unsigned i = 0; i < n; i++)
		out_real(o, v[i]);
	out_list_end(o);
}

void spec_write_real(struct spec_out *o, const struct spec_key *k, const void *from)
{
	out_real(o, *(const double *)at(k, from));
}

void spec_write_pair(struct spec_out *o, const struct spec_key *k, const void *from)
{
	out_reals(o, at(k, from), 2);
}

void spec_write_share(struct spec_out *o, const struct spec_key *k, const void *from)
{
	uint32_t ppm = *(const uint32_t *)at(k, from), rest = ppm % 10000;
	unsigned digits = 4;

	for (; digits && rest % 10 == 0; digits--)
		rest /= 10;
	if (digits)
		out_printf(o, "%u.%0*u%%", ppm / 10000, (int)digits, rest);
	else
		out_printf(o, "%u%%", ppm / 10000);
}

void spec_write_group(struct spec_out *o, const struct spec_key *k, const void *from)
{
	out_section(o, k->keys, from, YAML_FLOW_MAPPING_STYLE);
}

bool spec_absent_weight(const struct spec_key *k, const void *from)
{
	return !((const struct spec_source *)from)->weighted;
}

static void out_texts(struct spec_out *o, char *const *texts, unsigned n, yaml_sequence_style_t style)
{
	out_list(o, style);
	for (unsigned i = 0; i < n; i++)
		out_text(o, texts[i]);
	out_list_end(o);
}

void spec_write_data(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec_source *s = from;

	if (s->n_data == 1)
		out_text(o, s->data[0]);
	else
		out_texts(o, s->data, s->n_data, YAML_BLOCK_SEQUENCE_STYLE);
}

void spec_write_sources(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec *s = from;

	out_list(o, YAML_BLOCK_SEQUENCE_STYLE);
	for (unsigned i = 0; i < s->n_sources; i++)
		out_section(o, k->keys, &s->sources[i], YAML_BLOCK_MAPPING_STYLE);
	out_list_end(o);
}

void spec_write_order(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec *s = from;

	if (s->order == ORDER_WINDOW)
		spec_write_group(o, k, from);
	else
		spec_write_word(o, k, from);
}

bool spec_absent_batch(const struct spec_key *k, const void *from)
{
	return ((const struct spec *)from)->batch_is_global != (strcmp(k->name, "global_batch") == 0);
}

void spec_write_skip(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec *s = from;

	out_list(o, YAML_FLOW_SEQUENCE_STYLE);
	for (unsigned i = 0; i < s->n_skip; i++) {
		out_list(o, YAML_FLOW_SEQUENCE_STYLE);
		out_printf(o, "%" PRIu64, s->skip[i].first);
		out_printf(o, "%" PRIu64, s->skip[i].last);
		out_list_end(o);
	}
	out_list_end(o);
}

void spec_write_from(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec_draft *d = from;

	out_texts(o, d->field.from, d->field.n_from, YAML_FLOW_SEQUENCE_STYLE);
}

static void out_sides(struct spec_out *o, const struct recipe_step *s)
{
	out_list(o, YAML_FLOW_SEQUENCE_STYLE);
	out_printf(o, "%u", s->h);
	out_printf(o, "%u", s->w);
	out_list_end(o);
}

void spec_write_square(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct recipe_step *s = &((const struct spec_draft *)from)->step;

	if (s->h == s->w)
		out_printf(o, "%u", s->h);
	else
		out_sides(o, s);
}

void spec_write_shorter(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct recipe_step *s = &((const struct spec_draft *)from)->step;

	if (s->w == 0)
		out_printf(o, "%u", s->h);
	else
		out_sides(o, s);
}

void spec_write_step(struct spec_out *o, const struct spec_key *k, const void *from)
{
	if (k->keys)
		spec_write_group(o, k, from);
	else
		k->value->write(o, k, from);
}

void spec_write_triple(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec_draft *d = from;

	out_reals(o, at(k, from), d->chain.mode == DECODE_GRAY ? 1 : 3);
}

void spec_write_normalize(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec_draft *d = from;

	if (memcmp(d->mean, spec_imagenet_mean, sizeof(d->mean)) == 0 &&
		memcmp(d->std, spec_imagenet_std, sizeof(d->std)) == 0)
		out_word(o, "imagenet");
	else
		spec_write_group(o, k, from);
}

static void out_image(struct spec_out *o, struct spec_draft *d)
{
	out_key_named(o, "fields.*", "decode", d);
	for (unsigned i = 0; i < d->chain.n_steps; i++) {
		d->step = d->chain.steps[i];
		out_key(o, spec_key_of_step(d->step.kind), d);
	}
	if (d->chain.normalize)
		out_key_named(o, "fields.*", "normalize", d);
	out_key_named(o, "fields.*", "dtype", d);
	out_key_named(o, "fields.*", "layout", d);
	out_key_named(o, "fields.*", "collate", d);
}

static void out_field(struct spec_out *o, const struct spec_field *field, const struct recipe_field *chain)
{
	struct spec_draft d = {.field = *field, .chain = *chain};

	memcpy(d.mean, chain->mean, sizeof(d.mean));
	memcpy(d.std, chain->std, sizeof(d.std));
	out_text(o, chain->name);
	out_map(o, YAML_BLOCK_MAPPING_STYLE);
	out_key_named(o, "fields.*", "from", &d);
	out_key_named(o, "fields.*", "on_missing", &d);
	if (chain->kind == FIELD_IMAGE)
		out_image(o, &d);
	else
		out_key_named(o, "fields.*", "as", &d);
	if (chain->kind == FIELD_INT || chain->kind == FIELD_FLOAT)
		out_key_named(o, "fields.*", "dtype", &d);
	out_map_end(o);
}

bool spec_absent_fields(const struct spec_key *k, const void *from)
{
	return ((const struct spec *)from)->recipe.n_fields == 0;
}

void spec_write_fields(struct spec_out *o, const struct spec_key *k, const void *from)
{
	const struct spec *s = from;

	out_map(o, YAML_BLOCK_MAPPING_STYLE);
	for (unsigned i = 0; i < s->recipe.n_fields; i++)
		out_field(o, &s->fields[i], &s->recipe.fields[i]);
	out_map_end(o);
}

static void out_spec(struct spec_out *o, const struct spec *s)
{
	yaml_event_t ev;

	emit(o, &ev, yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING));
	emit(o, &ev, yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1));
	out_section(o, "", s, YAML_BLOCK_MAPPING_STYLE);
	emit(o, &ev, yaml_document_end_event_initialize(&ev, 1));
	emit(o, &ev, yaml_stream_end_event_initialize(&ev));
}

static int write_all(const struct spec *s, struct buf *to)
{
	struct spec_out o = {.to = to};

	if (!yaml_emitter_initialize(&o.emitter))
		return -ENOMEM;
	yaml_emitter_set_output(&o.emitter, take_bytes, to);
	yaml_emitter_set_width(&o.emitter, -1);
	yaml_emitter_set_unicode(&o.emitter, 1);
	out_spec(&o, s);
	yaml_emitter_delete(&o.emitter);
	return o.r < 0 ? o.r : to->r;
}

int spec_write(const struct spec *s, struct buf *to)
{
	/* printf's decimal point is the locale's, and a program that we are loaded into may have set one. */
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL), old;
	int r;

	if (!c)
		return -ENOMEM;
	old = uselocale(c);
	buf_puts(to, "# olddog-spec(5) explains the keys; every default is spelled out.\n"
		"# Pictures for training: {from: .., transform: imagenet_train} in place of a field's keys.\n");
	r = write_all(s, to);
	uselocale(old);
	freelocale(c);
	return r;
}
