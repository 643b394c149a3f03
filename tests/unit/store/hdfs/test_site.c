/* SPDX-License-Identifier: Apache-2.0 */
/* A site's files: what Hadoop's Configuration reads of them, and what is made to harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"
#include "store/hdfs/conf/site.h"

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define C(text) "<?xml version=\"1.0\"?><configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">" text "</configuration>"

static struct site *parsed(const char *xml)
{
	struct site *s = NULL;
	struct err e = {0};

	if (site_parse(xml, strlen(xml), &s, &e) < 0)
		fail_msg("%s", e.words);
	return s;
}

static void assert_value(struct site *s, const char *key, const char *want)
{
	const char *got = site_get(s, key);

	if (!want)
		assert_null(got);
	else if (!got || strcmp(got, want) != 0)
		fail_msg("%s is %s, not %s", key, got ? got : "not set", want);
}

static void refused(const char *xml, const char *words)
{
	struct site *s = NULL;
	struct err e = {0};

	assert_int_equal(site_parse(xml, strlen(xml), &s, &e), -EINVAL);
	assert_null(s);
	if (!strstr(e.words, words))
		fail_msg("\"%s\" has no \"%s\"", e.words, words);
}

static void properties_are_read(void **state)
{
	AUTO(site) struct site *s = parsed(C(P("a", " one ") P(" b ", "two") P("b", "three")
		"<property name='c' value='four'/><property><name>d</name></property><property><value>x</value></property>"
		"<!-- <property/> --><property><name>e</name><value>&lt;<![CDATA[&&]]></value><source>x</source></property>"
		"<property><name>f</name><value></value></property>"));

	assert_value(s, "a", "one");
	assert_value(s, "b", "three");
	assert_value(s, "c", "four");
	assert_value(s, "d", NULL);
	assert_value(s, "e", "<&&");
	assert_value(s, "f", "");
	assert_value(s, "g", NULL);
	assert_string_equal(site_getf(s, "%c", 'c'), "four");
	assert_string_equal(site_dir(s), "");
}

static void final_ones_stay(void **state)
{
	AUTO(site) struct site *s = parsed(C("<property><name>a</name><value>1</value><final> true </final></property>"
		P("a", "2") "<property><name>b</name><value>1</value><final>false</final></property>" P("b", "2")));

	assert_value(s, "a", "1");
	assert_value(s, "b", "2");
	assert_int_equal(site_set(s, "a", "3"), 0);
	assert_value(s, "a", "3");
}

static void old_names_are_understood(void **state)
{
	AUTO(site) struct site *s = parsed(C(P("fs.default.name", "hdfs://a") P("dfs.block.size", "1m")
		P("dfs.blocksize", "2m")));

	assert_value(s, "fs.defaultFS", "hdfs://a");
	assert_value(s, "fs.default.name", "hdfs://a");
	assert_value(s, "dfs.block.size", "2m");
}

static void variables_are_replaced(void **state)
{
	AUTO(site) struct site *s = parsed(C(P("base", "x${mid}z") P("mid", "y")
		P("a", "${base}/${base}") P("b", "${nobody}/${mid}")
		P("c", "${env.OLDDOG_T}-${env.OLDDOG_NONE:-d:-e}-${env.OLDDOG_EMPTY:-f}-${env.OLDDOG_EMPTY-g}-${env.OLDDOG_NONE-h}")
		P("d", "${d}") P("e", "${f}") P("f", "${e}") P("g", "${} $ ${a b} ${m${x}") P("h", "${env.OLDDOG_NONE}")
		P("i", "${java.io.tmpdir}/${${which}}") P("which", "mid")));

	setenv("OLDDOG_T", "v", 1);
	setenv("OLDDOG_EMPTY", "", 1);
	unsetenv("OLDDOG_NONE");
	assert_value(s, "a", "xyz/xyz");
	assert_value(s, "b", "${nobody}/${mid}");
	assert_value(s, "c", "v-d:-e-f--h");
	assert_value(s, "d", "${d}");
	assert_value(s, "g", "${} $ ${a b} ${m${x}");
	assert_value(s, "h", "${env.OLDDOG_NONE}");
	assert_value(s, "i", "/tmp/y");
	/* A loop over two ends at twenty replacements, as Hadoop's does. */
	assert_value(s, "e", NULL);
	assert_int_equal(site_failure(s, NULL), -EINVAL);
	assert_int_equal(site_failure(s, NULL), 0);
	assert_int_equal(site_set(s, "mid", "w"), 0);
	assert_value(s, "a", "xwz/xwz");
}

static void variables_cannot_grow_a_value_without_end(void **state)
{
	struct buf AUTO_BUF xml;
	AUTO(site) struct site *s = NULL;
	struct err e = {0};

	buf_init(&xml, 1u << 20);
	buf_puts(&xml, "<c><property><name>x</name><value>");
	for (unsigned i = 0; i < 15; i++)
		buf_puts(&xml, "${y}");
	buf_puts(&xml, "</value></property><property><name>y</name><value>");
	for (unsigned i = 0; i < 6000; i++)
		buf_puts(&xml, "0123456789");
	buf_puts(&xml, "</value></property></c>");
	assert_int_equal(xml.r, 0);
	s = parsed((const char *)xml.ptr);
	assert_null(site_get(s, "x"));
	assert_int_equal(site_failure(s, &e), -EINVAL);
	assert_non_null(strstr(e.words, "too long"));
}

static void what_is_wrong_is_refused_with_its_line(void **state)
{
	refused("", "no element found");
	refused("<a>\n\n<b>", "the text:3: ");
	refused("<a><b></a>", "mismatched tag");
	refused("<configuration/>junk", "junk after");
	refused("\xff\xfe\x00", "the text:1: ");
	refused(C("<xi:include/>"), "without its href");
	refused(C("<xi:include href='http://host/x.xml'/>"), "only files");
	refused(C("<xi:include href='/no/such/file'/>"), "no xi:fallback");
	refused("<!DOCTYPE c [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n<c>&x;</c>",
		"the text:2: an entity that lies in another file");
	refused("<!DOCTYPE c SYSTEM 'x.dtd'><c>&x;</c>", "not declared");
	refused(C("<xi:include href='/no'><xi:fallback><xi:include href='/a'/></xi:fallback></xi:include>"), "within an include");
}

static void entities_do_not_explode(void **state)
{
	struct buf AUTO_BUF xml;
	struct site *s = NULL;
	struct err e = {0};

	buf_init(&xml, 1u << 20);
	buf_puts(&xml, "<!DOCTYPE c [<!ENTITY e0 'laughs-and-laughs'>");
	for (unsigned i = 1; i < 12; i++) {
		buf_printf(&xml, "<!ENTITY e%u '", i);
		for (unsigned k = 0; k < 10; k++)
			buf_printf(&xml, "&e%u;", i - 1);
		buf_puts(&xml, "'>");
	}
	buf_puts(&xml, "]><c><property><name>&e11;</name></property></c>");
	assert_int_equal(site_parse((const char *)xml.ptr, xml.n, &s, &e), -EINVAL);
	assert_null(s);
	s = parsed("<!DOCTYPE c [<!ENTITY d 'data'>]><c>" P("a", "/&d;/x") "</c>");
	assert_value(s, "a", "/data/x");
	site_free(s);
}

static void long_ones_are_refused(void **state)
{
	AUTO_FREE char *xml = mem_alloc(SITE_MAX_BYTES + 1);
	struct site *s = NULL;
	struct err e = {0};
	size_t n = strlen("<c><property><name>");

	memset(xml, 'a', SITE_MAX_BYTES + 1);
	memcpy(xml, "<c><property><name>", n);
	assert_int_equal(site_parse(xml, SITE_MAX_BYTES + 1, &s, &e), -EINVAL);
	assert_non_null(strstr(e.words, "longer than"));
	memcpy(xml + 100000, "</name></property></c>", 22);
	assert_int_equal(site_parse(xml, 100022, &s, &e), -EINVAL);
	assert_non_null(strstr(e.words, "longer than 65536"));
}

static void units_are_understood(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ms, bytes;
	} rows[] = {{"10", 0, 10, 10}, {"10s", 0, 10000, 0}, {"2 m", 0, 120000, 0}, {"5ms", 0, 5, 0}, {"1500us", 0, 1, 0},
		{"7ns", 0, 0, 0}, {"1h", 0, 3600000, 0}, {"1D", 0, 86400000, 0}};
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {{"4k", 4096}, {"128M", 128u << 20}, {"1g", 1u << 30}, {"2t", 2ull << 40}, {"1p", 1ull << 50}, {"0", 0}};
	static const char *const bad[] = {"x", "-1", "1.5", "10x", "k", "99999999999999999999", "99999999999p", "1e3", "s"};
	AUTO(site) struct site *s = parsed("<c/>");
	struct err e = {0};
	uint64_t v = 0;
	bool b = false;

	for (unsigned i = 0; i < N_ELEMS(rows); i++) {
		assert_int_equal(site_set(s, "k", rows[i].text), 0);
		assert_int_equal(site_ms(s, "k", 1, 1, &v, NULL), rows[i].r);
		assert_int_equal(v, rows[i].ms);
	}
	for (unsigned i = 0; i < N_ELEMS(sizes); i++) {
		assert_int_equal(site_set(s, "k", sizes[i].text), 0);
		assert_int_equal(site_bytes(s, "k", 1, &v, NULL), 0);
		assert_int_equal(v, sizes[i].bytes);
	}
	for (unsigned i = 0; i < N_ELEMS(bad); i++) {
		assert_int_equal(site_set(s, "k", bad[i]), 0);
		assert_int_equal(site_bytes(s, "k", 1, &v, &e), -EINVAL);
		assert_int_equal(site_ms(s, "k", 1, 1, &v, &e), -EINVAL);
		assert_int_equal(site_u64(s, "k", 1, &v, &e), -EINVAL);
		assert_non_null(strstr(e.words, bad[i]));
	}
	assert_int_equal(site_ms(s, "none", 77, 1, &v, NULL), 0);
	assert_int_equal(v, 77);
	assert_int_equal(site_set(s, "k", "3"), 0);
	assert_int_equal(site_ms(s, "k", 1, 60000, &v, NULL), 0);
	assert_int_equal(v, 180000);
	assert_int_equal(site_set(s, "k", "TRUE"), 0);
	assert_true(site_bool(s, "k", false, &b, NULL) == 0 && b);
	assert_int_equal(site_set(s, "k", "yes"), 0);
	assert_int_equal(site_bool(s, "k", false, &b, &e), -EINVAL);
}

static char folder[64];

static void put_file(const char *name, const char *text)
{
	AUTO_FREE char *path = mem_printf("%s/%s", folder, name);

	assert_int_equal(file_make(path, text, strlen(text)), 0);
}

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/olddog-site-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"core-site.xml", "hdfs-site.xml", "more.xml", "loop.xml"};

	for (unsigned i = 0; i < N_ELEMS(names); i++) {
		AUTO_FREE char *path = mem_printf("%s/%s", folder, names[i]);

		unlink(path);
	}
	rmdir(folder);
	return 0;
}

static void files_of_a_folder_are_read(void **state)
{
	AUTO(site) struct site *s = NULL;

	put_file("core-site.xml", C(P("a", "1") "<property><name>f</name><value>core</value><final>true</final></property>"
		"<xi:include href='more.xml'/><include href='absent.xml'><fallback>" P("b", "fell") "</fallback></include>"
		"<xi:include href='more.xml'><xi:fallback>" P("c", "not") "</xi:fallback></xi:include>"));
	put_file("more.xml", C(P("more", "yes")));
	put_file("hdfs-site.xml", C(P("a", "2") P("f", "hdfs")));
	assert_int_equal(site_load(folder, &s, NULL), 0);
	assert_value(s, "a", "2");
	assert_value(s, "f", "core");
	assert_value(s, "more", "yes");
	assert_value(s, "b", "fell");
	assert_value(s, "c", NULL);
	assert_string_equal(site_dir(s), folder);
}

static void load_refused(const char *words)
{
	struct site *s = NULL;
	struct err e = {0};

	assert_int_equal(site_load(folder, &s, &e), -EINVAL);
	if (!strstr(e.words, words))
		fail_msg("\"%s\" has no \"%s\"", e.words, words);
}

static void includes_have_an_end(void **state)
{
	put_file("core-site.xml", C("<xi:include href='loop.xml'/>"));
	put_file("loop.xml", C("<xi:include href='loop.xml'/>"));
	load_refused("deeper than 20");
	put_file("core-site.xml", C("<xi:include href='.'/>"));
	load_refused("cannot read");
	put_file("core-site.xml", C("<xi:include href='more.xml'/>"));
	put_file("more.xml", "\n\n<a");
	load_refused("more.xml:3: ");
}

static void folders_are_found(void **state)
{
	AUTO(site) struct site *s = NULL, *none = NULL;
	struct err e = {0};

	put_file("core-site.xml", C(P("a", "env")));
	put_file("hdfs-site.xml", C(""));
	setenv("HADOOP_CONF_DIR", folder, 1);
	assert_int_equal(site_load(NULL, &s, NULL), 0);
	assert_value(s, "a", "env");
	setenv("HADOOP_CONF_DIR", "/no/such/folder", 1);
	assert_int_equal(site_load(NULL, &none, &e), -EINVAL);
	assert_non_null(strstr(e.words, "HADOOP_CONF_DIR: /no/such/folder"));
	unsetenv("HADOOP_CONF_DIR");
	assert_int_equal(site_load(NULL, &none, NULL), 0);
}

static void any_allocation_may_fail(void **state)
{
	const char *xml = C(P("a", "${b}") P("b", "1") "<property name='c' value='2'/>");
	uint64_t nth = 0;
	bool failed;

	do {
		struct site *s = NULL;
		struct err e = {0};
		uint64_t v = 0;
		int r;

		mem_fail_nth(++nth);
		r = site_parse(xml, strlen(xml), &s, &e);
		if (r == 0)
			r = site_u64(s, "a", 7, &v, &e);
		failed = mem_failed();
		mem_fail_nth(0);
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_true(failed || v == 1);
		site_free(s);
	} while (failed);
	assert_true(nth > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(properties_are_read),
		cmocka_unit_test(final_ones_stay),
		cmocka_unit_test(old_names_are_understood),
		cmocka_unit_test(variables_are_replaced),
		cmocka_unit_test(variables_cannot_grow_a_value_without_end),
		cmocka_unit_test(what_is_wrong_is_refused_with_its_line),
		cmocka_unit_test(entities_do_not_explode),
		cmocka_unit_test(long_ones_are_refused),
		cmocka_unit_test(units_are_understood),
		cmocka_unit_test(files_of_a_folder_are_read),
		cmocka_unit_test(includes_have_an_end),
		cmocka_unit_test(folders_are_found),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
