/* SPDX-License-Identifier: Apache-2.0 */
/* What a job keeps to resume, as JSON. */
#include "feed/resume.h"

#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/scope.h"

char *resume_format(const struct resume *r)
{
	char order_id[SHA256_HEX], fields_id[SHA256_HEX];

	hex_of(r->order_id, SHA256_BYTES, order_id);
	hex_of(r->fields_id, SHA256_BYTES, fields_id);
	if (!r->has_fields_id)
		return mem_printf("{\"v\": %d, \"order_id\": \"%s\", \"consumed\": %llu}", RESUME_VERSION, order_id,
			(unsigned long long)r->consumed);
	return mem_printf("{\"v\": %d, \"order_id\": \"%s\", \"fields_id\": \"%s\", \"consumed\": %llu}", RESUME_VERSION,
		order_id, fields_id, (unsigned long long)r->consumed);
}

/* A SHA-256 in hexadecimal: 1 when it is there, 0 when the key is not, E_FORMAT. */
static int take_id(json_t *j, const char *key, uint8_t ret[SHA256_BYTES], struct err *e)
{
	json_t *v = json_object_get(j, key);

	if (!v)
		return 0;
	if (json_string_length(v) != 2 * SHA256_BYTES || hex_parse(json_string_value(v), SHA256_BYTES, ret) < 0)
		return err_set(e, E_FORMAT, "the state's %s is not a SHA-256 in hexadecimal", key);
	return 1;
}

static int take_consumed(json_t *j, uint64_t *ret, struct err *e)
{
	json_t *v = json_object_get(j, "consumed");

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return err_set(e, E_FORMAT, "the state's `consumed` is not a position");
	*ret = (uint64_t)json_integer_value(v);
	return 0;
}

static int take_all(json_t *j, struct resume *ret, struct err *e)
{
	int r;

	if (json_integer_value(json_object_get(j, "v")) != RESUME_VERSION)
		return err_set(e, E_FORMAT, "the state is not of version %d, which is what this olddog reads",
			RESUME_VERSION);
	r = take_id(j, "order_id", ret->order_id, e);
	if (r == 0)
		return err_set(e, E_FORMAT, "the state has no order_id");
	r = r < 0 ? r : take_id(j, "fields_id", ret->fields_id, e);
	ret->has_fields_id = r == 1;
	return r < 0 ? r : take_consumed(j, &ret->consumed, e);
}

int resume_parse(const char *text, size_t n, struct resume *ret, struct err *e)
{
	json_error_t why;
	CLEANUP(json_decrefp) json_t *j = n <= RESUME_MAX_BYTES ? json_loadb(text, n, 0, &why) : NULL;
	struct resume got = {.consumed = 0};
	int r;

	if (!json_is_object(j))
		return err_set(e, E_FORMAT, "the state is not a JSON object of at most %d bytes", RESUME_MAX_BYTES);
	r = take_all(j, &got, e);
	if (r == 0)
		*ret = got;
	return r;
}

int resume_check(const struct resume *r, const uint8_t order_id[SHA256_BYTES], struct err *e)
{
	char ours[17], theirs[17];

	if (memcmp(r->order_id, order_id, SHA256_BYTES) == 0)
		return 0;
	hex_of(order_id, 8, ours);
	hex_of(r->order_id, 8, theirs);
	return err_set(e, E_OTHER_ORDER, "the state is of the order %s, the plan's is %s: other data, seed or shuffle; a "
		"position of one means nothing in the other", theirs, ours);
}
