/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As Hadoop's Configuration reads it: any element may hold properties, a property's name, value and final may be
 * attributes, an include's fallback counts only when there is no such file. Entities that the file itself declares are
 * replaced within expat's bounds and ours; nothing outside it is read but by xi:include.
 */
#include "store/hdfs/conf/site_xml.h"

#include <expat.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"
#include "store/hdfs/conf/site.h"

#define MAX_ELEMENTS 1000000u

/* One file while it is read. */
struct reader {
	struct site_reading *all;
	const char *path;
	XML_Parser parser;
	struct buf name, value, final;
	struct buf *text;		/* which of them is being read; NULL: text says nothing here */
	bool in_property, has_value;
	bool in_include, missing;	/* missing: the include that we are in names no file .. */
	bool in_fallback, had_fallback;	/* .. and has a fallback, which counts then */
	uint64_t n_elements, n_text;
	int r;
};

static void stop(struct reader *x, int r)
{
	if (x->r == 0)
		x->r = r;
	XML_StopParser(x->parser, XML_FALSE);
}

/* Words with the place: what is wrong in this file at this line. */
#define REFUSE(x, fmt, ...)                                                                                  \
	stop((x), err_set((x)->all->e, -EINVAL, "%s:%lu: " fmt, (x)->path,                                   \
		(unsigned long)XML_GetCurrentLineNumber((x)->parser), ##__VA_ARGS__))

/* xi:include is known by its local name, as Hadoop knows it. */
static const char *local_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

static const char *attribute(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

static void put_attribute(struct buf *to, const char **attributes, const char *name)
{
	const char *text = attribute(attributes, name);

	buf_clear(to);
	if (text)
		buf_puts(to, text);
}

static void begin_property(struct reader *x, const char **attributes)
{
	put_attribute(&x->name, attributes, "name");
	put_attribute(&x->value, attributes, "value");
	put_attribute(&x->final, attributes, "final");
	x->has_value = attribute(attributes, "value") != NULL;
	x->in_property = true;
}

static struct str text_of(const struct buf *b)
{
	return (struct str){b->ptr ? (const char *)b->ptr : "", b->n};
}

static int first_failure(const struct reader *x)
{
	return x->name.r < 0 ? x->name.r : x->value.r < 0 ? x->value.r : x->final.r;
}

static void end_property(struct reader *x)
{
	struct str name = str_trim(text_of(&x->name));
	bool skipped = (x->in_fallback && !x->missing) || !x->has_value || name.n == 0;
	int r = first_failure(x);

	x->in_property = false;
	if (r == -E2BIG)
		REFUSE(x, "a property's name or value is longer than %u bytes", SITE_MAX_VALUE);
	else if (r == 0 && !skipped)
		r = x->all->fn(x->all->ctx, name, text_of(&x->value), str_eq(str_trim(text_of(&x->final)), "true"), x->all->e);
	if (r < 0)
		stop(x, r);
}

/* The path that an include names, relative to its own file's folder. NULL: no memory. */
static char *include_path(const struct reader *x, const char *href)
{
	const char *slash = strrchr(x->path, '/');

	if (strncmp(href, "file:", 5) == 0) {
		href += 5;
		if (strncmp(href, "///", 3) == 0)
			href += 2;
	}
	if (href[0] == '/' || !slash)
		return mem_strdup(href);
	return mem_printf("%.*s/%s", (int)(slash - x->path), x->path, href);
}

static void begin_include(struct reader *x, const char **attributes)
{
	const char *href = attribute(attributes, "href");
	AUTO_FREE char *path = NULL;
	int r;

	if (x->in_include)
		return REFUSE(x, "an include within an include's fallback is not understood");
	x->in_include = true;
	x->missing = x->had_fallback = false;
	if (!href || !*href)
		return REFUSE(x, "xi:include without its href");
	if (strstr(href, "://") && strncmp(href, "file:///", 8) != 0)
		return REFUSE(x, "xi:include of %.100s: only files are included", href);
	path = include_path(x, href);
	r = path ? site_xml_file(x->all, path) : -ENOMEM;
	x->missing = r == -ENOENT;
	if (r < 0 && r != -ENOENT)
		stop(x, r);
}

static void end_include(struct reader *x)
{
	if (x->missing && !x->had_fallback)
		REFUSE(x, "the file that xi:include names is not there, and there is no xi:fallback");
	x->in_include = x->missing = false;
}

static void element_begins(void *ctx, const char *name, const char **attributes)
{
	struct reader *x = ctx;

	if (x->r < 0)
		return;
	if (++x->n_elements > MAX_ELEMENTS)
		return REFUSE(x, "more than %u elements", MAX_ELEMENTS);
	name = local_name(name);
	x->text = NULL;
	if (strcmp(name, "property") == 0)
		begin_property(x, attributes);
	else if (strcmp(name, "include") == 0)
		begin_include(x, attributes);
	else if (strcmp(name, "fallback") == 0)
		x->in_fallback = x->had_fallback = true;
	else if (x->in_property)
		x->text = strcmp(name, "name") == 0 ? &x->name : strcmp(name, "value") == 0 ? &x->value :
			strcmp(name, "final") == 0 ? &x->final : NULL;
	if (x->text) {
		buf_clear(x->text);
		x->has_value |= x->text == &x->value;
	}
}

static void element_ends(void *ctx, const char *name)
{
	struct reader *x = ctx;

	if (x->r < 0)
		return;
	name = local_name(name);
	x->text = NULL;
	if (strcmp(name, "property") == 0)
		end_property(x);
	else if (strcmp(name, "include") == 0)
		end_include(x);
	else if (strcmp(name, "fallback") == 0)
		x->in_fallback = false;
}

static void text_comes(void *ctx, const char *p, int n)
{
	struct reader *x = ctx;

	x->n_text += (uint64_t)n;
	if (x->n_text > SITE_MAX_BYTES)
		REFUSE(x, "its entities make more than %u bytes of it", SITE_MAX_BYTES);
	else if (x->text)
		buf_add(x->text, p, (size_t)n);
}

static int entity_outside(XML_Parser parser, const char *context, const char *base, const char *system_id,
	const char *public_id)
{
	struct reader *x = XML_GetUserData(parser);

	REFUSE(x, "an entity that lies in another file is not read; use xi:include");
	return XML_STATUS_ERROR;
}

static void entity_skipped(void *ctx, const char *name, int is_parameter)
{
	struct reader *x = ctx;

	if (!is_parameter)
		REFUSE(x, "the entity %.100s is not declared here", name);
}

static void *parser_realloc(void *p, size_t n)
{
	return mem_realloc(p, n, 1);
}

static int reader_init(struct reader *x, struct site_reading *all, const char *path)
{
	const XML_Memory_Handling_Suite memory = {mem_alloc, parser_realloc, mem_free};

	*x = (struct reader){.all = all, .path = path};
	buf_init(&x->name, SITE_MAX_VALUE);
	buf_init(&x->value, SITE_MAX_VALUE);
	buf_init(&x->final, SITE_MAX_VALUE);
	x->parser = XML_ParserCreate_MM(NULL, &memory, NULL);
	if (!x->parser)
		return -ENOMEM;
	XML_SetUserData(x->parser, x);
	XML_SetElementHandler(x->parser, element_begins, element_ends);
	XML_SetCharacterDataHandler(x->parser, text_comes);
	XML_SetExternalEntityRefHandler(x->parser, entity_outside);
	XML_SetSkippedEntityHandler(x->parser, entity_skipped);
	return 0;
}

static void reader_release(struct reader *x)
{
	if (x->parser)
		XML_ParserFree(x->parser);
	buf_release(&x->name);
	buf_release(&x->value);
	buf_release(&x->final);
}

static int read_text(struct site_reading *all, const char *path, const char *xml, size_t n)
{
	CLEANUP(reader_release) struct reader x;
	int r = reader_init(&x, all, path);

	if (r < 0)
		return r;
	if (XML_Parse(x.parser, xml, (int)n, 1) == XML_STATUS_OK || x.r < 0)
		return x.r;
	if (XML_GetErrorCode(x.parser) == XML_ERROR_NO_MEMORY)
		return -ENOMEM;
	return err_set(all->e, -EINVAL, "%s:%lu: %s", path, (unsigned long)XML_GetCurrentLineNumber(x.parser),
		XML_ErrorString(XML_GetErrorCode(x.parser)));
}

static int file_refuse(struct site_reading *all, const char *path, int r)
{
	if (r == -EFBIG)
		return err_set(all->e, -EINVAL, "%s: longer than %u bytes", path, SITE_MAX_BYTES);
	return err_set(all->e, r, "cannot read %s: %s", path, err_text(r));
}

/* The bytes of a regular file. */
static int file_bytes(const char *path, char **ret, size_t *ret_n)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE char *p = NULL;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > SITE_MAX_BYTES)
		return -EFBIG;
	p = mem_alloc((size_t)st.st_size + 1);
	r = p ? fd_pread_all(fd, p, (size_t)st.st_size, 0) : -ENOMEM;
	if (r < 0)
		return r;
	*ret_n = (size_t)st.st_size;
	*ret = TAKE(p);
	return 0;
}

int site_xml_file(struct site_reading *all, const char *path)
{
	AUTO_FREE char *p = NULL;
	size_t n = 0;
	int r;

	if (all->depth >= SITE_MAX_DEPTH || all->n_files >= SITE_MAX_FILES)
		return err_set(all->e, -EINVAL, "%s: included deeper than %u files, or more than %u files in all", path,
			SITE_MAX_DEPTH, SITE_MAX_FILES);
	r = file_bytes(path, &p, &n);
	if (r == -ENOENT || r == -ENOMEM)
		return r;
	if (r < 0)
		return file_refuse(all, path, r);
	all->n_files++;
	all->depth++;
	r = read_text(all, path, p, n);
	all->depth--;
	return r;
}

int site_xml_text(struct site_reading *all, const char *xml, size_t n)
{
	if (n > SITE_MAX_BYTES)
		return file_refuse(all, "the text", -EFBIG);
	return read_text(all, "the text", xml, n);
}
