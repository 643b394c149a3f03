/* SPDX-License-Identifier: Apache-2.0 */
/* Properties by name, and their variables. XML is in site_xml.c, values with units in site_value.c. */
#include "store/hdfs/conf/site.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "store/hdfs/conf/site_xml.h"

#define N_BUCKETS 1024u

struct property {
	char *key, *value;
	char *replaced;		/* with its variables replaced; NULL: not asked for yet */
	bool final;
	uint32_t next;		/* of its bucket: index + 1; 0: the last */
};

struct site {
	char *dir;
	char *login;		/* of ${user.name} */
	char *home;		/* of ${user.home} */
	VEC(struct property) properties;
	uint32_t buckets[N_BUCKETS];	/* index + 1 */
	struct err failure;	/* of site_get(); see site_failure() */
};

/* Names that Hadoop has renamed, as far as a client looks at them. */
static const struct {
	const char *old, *now;
} renamed[] = {
	{"fs.default.name", "fs.defaultFS"},
	{"dfs.permissions", "dfs.permissions.enabled"},
	{"dfs.block.size", "dfs.blocksize"},
	{"dfs.federation.nameservices", "dfs.nameservices"},
	{"dfs.federation.nameservice.id", "dfs.nameservice.id"},
	{"dfs.umaskmode", "fs.permissions.umask-mode"},
	{"dfs.write.packet.size", "dfs.client-write-packet-size"},
	{"dfs.read.prefetch.size", "dfs.client.read.prefetch.size"},
	{"dfs.socket.timeout", "dfs.client.socket-timeout"},
	{"io.bytes.per.checksum", "dfs.bytes-per-checksum"},
};

static struct str now_called(struct str key)
{
	for (unsigned i = 0; i < N_ELEMS(renamed); i++)
		if (str_eq(key, renamed[i].old))
			return str_of(renamed[i].now);
	return key;
}

static uint32_t *bucket_of(struct site *s, struct str key)
{
	return &s->buckets[xxh3_of(key.p, key.n) % N_BUCKETS];
}

static struct property *find(struct site *s, struct str key)
{
	key = now_called(key);
	for (uint32_t i = *bucket_of(s, key); i; i = s->properties.ptr[i - 1].next)
		if (str_eq(key, s->properties.ptr[i - 1].key))
			return &s->properties.ptr[i - 1];
	return NULL;
}

static void property_release(struct property *p)
{
	mem_free(p->key);
	mem_free(p->value);
	mem_free(p->replaced);
}

static void forget_replaced(struct site *s)
{
	for (size_t i = 0; i < s->properties.n; i++) {
		mem_free(s->properties.ptr[i].replaced);
		s->properties.ptr[i].replaced = NULL;
	}
}

static int add_new(struct site *s, struct str key, struct property p, struct err *e)
{
	uint32_t *bucket;
	int r;

	key = now_called(key);
	bucket = bucket_of(s, key);
	p.key = mem_strndup(key.p, key.n);
	p.next = *bucket;
	r = p.key && p.value ? VEC_PUSH(&s->properties, p) : -ENOMEM;
	if (r < 0)
		property_release(&p);
	if (r == -E2BIG)
		return err_set(e, -EINVAL, "the site's files have more than %u properties", SITE_MAX_PROPERTIES);
	if (r == 0)
		*bucket = (uint32_t)s->properties.n;
	return r;
}

/* What a file says of a property: the last word counts, but for those that are final. */
static int property_comes(void *ctx, struct str name, struct str value, bool final, struct err *e)
{
	struct site *s = ctx;
	struct property *p = find(s, name);
	char *copy;

	if (p && p->final)
		return 0;
	copy = mem_strndup(value.p, value.n);
	if (!p)
		return add_new(s, name, (struct property){.value = copy, .final = final}, e);
	if (!copy)
		return -ENOMEM;
	mem_free(p->value);
	p->value = copy;
	p->final = final;
	return 0;
}

int site_set(struct site *s, const char *key, const char *value)
{
	struct property *p = find(s, str_of(key));

	if (strlen(value) > SITE_MAX_VALUE)
		return -EINVAL;
	forget_replaced(s);
	if (p)
		p->final = false;
	return property_comes(s, str_of(key), str_of(value), false, NULL);
}

static int login_of(struct site *s)
{
	char space[4096];
	struct passwd pw, *found = NULL;

	if (getpwuid_r(geteuid(), &pw, space, sizeof(space), &found) != 0 || !found)
		return 0;
	s->login = mem_strdup(found->pw_name);
	s->home = mem_strdup(found->pw_dir);
	return s->login && s->home ? 0 : -ENOMEM;
}

static int site_new(const char *dir, struct site **ret)
{
	AUTO(site) struct site *s = mem_zalloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->properties.max = SITE_MAX_PROPERTIES;
	s->dir = mem_strdup(dir);
	r = s->dir ? login_of(s) : -ENOMEM;
	if (r < 0)
		return r;
	*ret = TAKE(s);
	return 0;
}

void site_free(struct site *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->properties.n; i++)
		property_release(&s->properties.ptr[i]);
	vec_release(&s->properties);
	mem_free(s->dir);
	mem_free(s->login);
	mem_free(s->home);
	mem_free(s);
}

const char *site_dir(const struct site *s)
{
	return s->dir;
}

int site_parse(const char *xml, size_t n, struct site **ret, struct err *e)
{
	AUTO(site) struct site *s = NULL;
	struct site_reading reading = {.fn = property_comes, .e = e};
	int r = site_new("", &s);

	if (r < 0)
		return r;
	reading.ctx = s;
	r = site_xml_text(&reading, xml, n);
	if (r < 0)
		return r;
	*ret = TAKE(s);
	return 0;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder of the files. What was named by hand must be there; *ret is "" for nowhere. */
static int folder_of(const char *dir, char **ret, struct err *e)
{
	const char *named = dir ? dir : getenv("HADOOP_CONF_DIR"), *home = getenv("HADOOP_HOME");
	AUTO_FREE char *below = home && *home ? mem_printf("%s/etc/hadoop", home) : NULL;

	if (named && *named && !is_folder(named))
		return err_set(e, -EINVAL, "%s%.300s is no folder; it is to hold core-site.xml and hdfs-site.xml",
			dir ? "" : "HADOOP_CONF_DIR: ", named);
	if (!named || !*named)
		named = below && is_folder(below) ? below : is_folder("/etc/hadoop/conf") ? "/etc/hadoop/conf" : "";
	*ret = mem_strdup(named);
	return *ret ? 0 : -ENOMEM;
}

int site_load(const char *dir, struct site **ret, struct err *e)
{
	static const char *const names[] = {"core-site.xml", "hdfs-site.xml"};
	AUTO(site) struct site *s = NULL;
	struct site_reading reading = {.fn = property_comes, .e = e};
	AUTO_FREE char *folder = NULL;
	int r = folder_of(dir, &folder, e);

	if (r == 0)
		r = site_new(folder, &s);
	reading.ctx = s;
	for (unsigned i = 0; i < N_ELEMS(names) && r == 0 && *folder; i++) {
		AUTO_FREE char *path = mem_printf("%s/%s", folder, names[i]);

		r = path ? site_xml_file(&reading, path) : -ENOMEM;
		if (r == -ENOENT)
			r = 0;
	}
	if (r < 0)
		return r;
	*ret = TAKE(s);
	return 0;
}

/* The first ${NAME} of a text, NAME not empty and without $, {, } and space; false: none. */
static bool find_variable(struct str text, size_t *ret_at, struct str *ret_name)
{
	for (size_t i = 0; i + 3 < text.n; i++) {
		size_t n = 0;

		if (text.p[i] != '$' || text.p[i + 1] != '{')
			continue;
		while (i + 2 + n < text.n && !strchr("${} ", text.p[i + 2 + n]))
			n++;
		if (n > 0 && i + 2 + n < text.n && text.p[i + 2 + n] == '}') {
			*ret_at = i;
			*ret_name = (struct str){text.p + i + 2, n};
			return true;
		}
	}
	return false;
}

/* What env.NAME, env.NAME-default (not set) and env.NAME:-default (not set, or empty) stand for. false: nothing. */
static bool env_value(struct str v, struct str *ret)
{
	size_t n = 0;
	bool empty_too;
	AUTO_FREE char *name = NULL;
	const char *value;

	while (n < v.n && v.p[n] != '-' && !(v.p[n] == ':' && n + 1 < v.n && v.p[n + 1] == '-'))
		n++;
	empty_too = n < v.n && v.p[n] == ':';
	name = mem_strndup(v.p, n);
	value = name ? getenv(name) : NULL;
	if (value && !(empty_too && !*value)) {
		*ret = str_of(value);
		return true;
	}
	n += empty_too ? 2 : 1;
	if (n > v.n)
		return false;
	*ret = (struct str){v.p + n, v.n - n};
	return true;
}

/* What a variable stands for: an environment variable, what Java knows of its process, another property. */
static bool variable_value(struct site *s, struct str name, struct str *ret)
{
	const struct property *p;
	const char *known = str_eq(name, "user.name") ? s->login : str_eq(name, "user.home") ? s->home :
		str_eq(name, "java.io.tmpdir") ? "/tmp" : NULL;

	if (name.n > 4 && str_starts(name, "env."))
		return env_value((struct str){name.p + 4, name.n - 4}, ret);
	if (known) {
		*ret = str_of(known);
		return true;
	}
	p = find(s, name);
	if (p)
		*ret = str_of(p->value);
	return p != NULL;
}

/* text with the n bytes at `at` replaced by value. */
static int replace(struct buf *text, size_t at, size_t n, struct str value)
{
	struct buf AUTO_BUF out;
	struct buf old = *text;

	buf_init(&out, SITE_MAX_VALUE);
	buf_add(&out, text->ptr, at);
	buf_add(&out, value.p, value.n);
	buf_add(&out, text->ptr + at + n, text->n - at - n);
	if (out.r < 0)
		return out.r;
	*text = out;
	out = old;
	return 0;
}

/* 1: nothing is to be replaced any more; 2: it leads back to itself, so the value stays as it is written. */
static int replace_next(struct site *s, struct buf *text)
{
	struct str name, value;
	size_t at;

	if (!text->ptr || !find_variable((struct str){(const char *)text->ptr, text->n}, &at, &name))
		return 1;
	if (!variable_value(s, name, &value))
		return 1;
	if (memmem(value.p, value.n, text->ptr + at, name.n + 3))
		return 2;
	return replace(text, at, name.n + 3, value);
}

static int replace_all(struct site *s, const struct property *p, char **ret)
{
	struct buf AUTO_BUF text;
	unsigned n = 0;
	int r;
	struct str trimmed;

	buf_init(&text, SITE_MAX_VALUE);
	r = buf_puts(&text, p->value);
	while (r == 0 && n++ < SITE_MAX_DEPTH)
		r = replace_next(s, &text);
	if (r < 0)
		return r;
	if (r == 0)
		return -ELOOP;
	trimmed = str_trim(r == 2 || !text.ptr ? str_of(p->value) : (struct str){(const char *)text.ptr, text.n});
	*ret = mem_strndup(trimmed.p, trimmed.n);
	return *ret ? 0 : -ENOMEM;
}

/* The first failure stays until it is asked for. */
static void fail_get(struct site *s, const struct property *p, int r)
{
	if (s->failure.code)
		return;
	if (r == -ENOMEM)
		s->failure.code = r;
	else
		err_set(&s->failure, -EINVAL, "%s: %s; its value is %.100s", p->key, r == -ELOOP ?
			"its variables lead to more than 20 others" : "its value grows too long when its variables are replaced",
			p->value);
}

const char *site_get(struct site *s, const char *key)
{
	struct property *p = find(s, str_of(key));
	int r = 0;

	if (!p)
		return NULL;
	if (!p->replaced)
		r = replace_all(s, p, &p->replaced);
	if (r < 0)
		fail_get(s, p, r);
	return p->replaced;
}

int site_failure(struct site *s, struct err *e)
{
	int r = s->failure.code;

	if (r < 0 && e)
		*e = s->failure;
	s->failure = (struct err){0};
	return r;
}

const char *site_getf(struct site *s, const char *fmt, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* No key that is longer means anything to us. */
	return n > 0 && n < (int)sizeof(text) ? site_get(s, text) : NULL;
}
