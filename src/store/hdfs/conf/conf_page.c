/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys as the man page olddog-hdfs(5). */
#include <string.h>

#include "store/hdfs/conf/conf_table.h"

static const char head[] =
	"olddog-hdfs(5)\n"
	"\n"
	"; Made from the table of keys in src/store/hdfs/conf/conf_table.c; a test compares the two.\n"
	"\n"
	"# NAME\n"
	"\n"
	"olddog-hdfs - how olddog finds and uses HDFS clusters\n"
	"\n"
	"# DESCRIPTION\n"
	"\n"
	"_hdfs:\\/\\/CLUSTER/PATH_ names a path in the cluster of a nameservice, _hdfs:\\/\\/HOST:PORT/PATH_\n"
	"in that of a NameNode, _hdfs:\\/\\/\\/PATH_ in that of *fs.defaultFS*. The address of one of a\n"
	"nameservice's NameNodes stands for the nameservice, with that one tried first.\n"
	"\n"
	"What the site says is read where Hadoop's own programs read it: _core-site.xml_ and\n"
	"_hdfs-site.xml_ in the folder HADOOP\\_CONF\\_DIR, else HADOOP\\_HOME/etc/hadoop, else\n"
	"_/etc/hadoop/conf_. Without any of them a cluster is named by HOST:PORT, and all keys have\n"
	"their defaults.\n"
	"\n"
	"The files may include others (xi:include, with xi:fallback; files only), mark properties as\n"
	"final, use names that Hadoop has since changed, and have variables in values: $\\{key\\},\n"
	"$\\{user.name\\}, $\\{user.home\\}, $\\{env.NAME\\}, $\\{env.NAME-DEFAULT\\}, $\\{env.NAME:-DEFAULT\\}.\n"
	"Bytes may be written 64k, 128m, 1g; times 500ms, 10s, 2m.\n"
	"\n"
	"Requests are made as HADOOP\\_USER\\_NAME, else as the login name. Kerberos and encrypted\n"
	"transfers are not built yet: such sites are refused by name. So is viewfs.\n"
	"\n"
	"# KEYS\n"
	"\n"
	"NS stands for the name of a nameservice, NN for that of one of its NameNodes. Other keys of\n"
	"the site are not looked at.\n"
	"\n";

static const char tail[] =
	"# SEE ALSO\n"
	"\n"
	"*olddog*(1), *olddog-ls*(1)\n";

/* scdoc takes _ and * for emphasis, and other characters for structure. */
static void put_escaped(struct buf *to, const char *s)
{
	for (; *s; s++) {
		if (strchr("_*\\#`<>[]", *s))
			buf_puts(to, "\\");
		buf_add(to, s, 1);
	}
}

static const char *form_of(const struct hdfs_key *k)
{
	static const char *const forms[] = {[KEY_WORDS] = "", [KEY_BOOL] = "true or false; ", [KEY_NUMBER] = "a number; ",
		[KEY_BYTES] = "bytes; ", [KEY_BYTES32] = "bytes; ", [KEY_MS] = "milliseconds, or a time with its unit; ",
		[KEY_MINUTES] = "minutes, or a time with its unit; ", [KEY_CHECKSUM] = "CRC32C, CRC32 or NULL; ",
		[KEY_UMASK] = "", [KEY_PREFETCH] = "bytes; ", [KEY_PATH] = "a path; ",
		[KEY_POLICY] = "DEFAULT, ALWAYS or NEVER; ", [KEY_UNBUILT] = "true or false; "};

	return forms[k->type];
}

void hdfs_conf_page(struct buf *to)
{
	buf_puts(to, head);
	for (const struct hdfs_key *k = hdfs_keys; k < hdfs_keys + hdfs_n_keys; k++) {
		buf_puts(to, "*");
		put_escaped(to, k->name);
		buf_puts(to, "*\n\t");
		put_escaped(to, form_of(k));
		buf_printf(to, "%s%s.++\n", *k->otherwise ? "default: " : "no default", k->otherwise);
		put_escaped(to, k->help);
		buf_puts(to, "\n\n");
	}
	buf_puts(to, tail);
}
