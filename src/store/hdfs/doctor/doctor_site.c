/* SPDX-License-Identifier: Apache-2.0 */
/* From a URL to what it takes to ask: the site's files, the cluster's names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "store/engine.h"
#include "store/hdfs/doctor/doctor.h"
#include "store/hdfs/conf/hdfs_url.h"
#include "store/path.h"

static bool can_read(const char *dir, const char *name)
{
	AUTO_FREE char *path = mem_printf("%s/%s", dir, name);

	return path && access(path, R_OK) == 0;
}

static struct doctor_site site_of(const struct site *site)
{
	const char *named = getenv("HADOOP_CONF_DIR"), *home = getenv("HADOOP_HOME");
	struct doctor_site s = {.dir = site_dir(site)};

	s.named_by = named && *named ? "HADOOP_CONF_DIR" : home && *home && strncmp(s.dir, home, strlen(home)) == 0 ?
		"HADOOP_HOME" : "HADOOP_CONF_DIR is not set";
	s.has_core = *s.dir && can_read(s.dir, "core-site.xml");
	s.has_hdfs = *s.dir && can_read(s.dir, "hdfs-site.xml");
	return s;
}

/* A site that wants Kerberos: that is told, and what SIMPLE can find out all the same. */
static int conf_of(struct site *site, const char *authority, struct hdfs_conf *ret, struct doctor *d)
{
	static const char key[] = "hadoop.security.authentication";
	struct err e = {0};
	const char *how;
	int r = hdfs_conf_of(site, authority, ret, &e);

	if (r == 0)
		return 0;
	doctor_say(d, DOCTOR_FAIL, "configuration", "%s", err_words(&e, r));
	how = site_get(site, key);
	if (r != -EOPNOTSUPP || !how || !*how || strcasecmp(how, "simple") == 0 || site_set(site, key, "simple") < 0)
		return r;
	r = hdfs_conf_of(site, authority, ret, &e);
	if (r < 0)
		doctor_say(d, DOCTOR_FAIL, "configuration", "%s", err_words(&e, r));
	return r;
}

static void doctor_at(const struct doctor_site *s, const struct hdfs_conf *conf, const char *rest, bool relative,
	struct doctor *d)
{
	AUTO(loop) struct loop *loop = NULL;
	AUTO_FREE char *raw = relative ? mem_printf("user/%s/%s", conf->user, rest) : mem_strdup(rest);
	char clean[STORE_NAME_MAX + 1] = "/";
	int r = raw ? loop_new(&loop) : -ENOMEM;

	if (r == 0 && !path_is_safe(raw)) {
		doctor_say(d, DOCTOR_FAIL, "path", "%s is no path: too long, or with \"..\" in it", raw);
		return;
	}
	if (r == 0) {
		path_clean(raw, clean + 1);
		r = hdfs_doctor_run(loop, NULL, s, conf, clean, d);
		/* A name that is still looked up cannot be called back. */
		loop_run(loop);
	}
	if (r < 0)
		doctor_say(d, DOCTOR_FAIL, "doctor", "could not ask everything: %s", err_text(r));
}

void hdfs_doctor(const char *url, const char *rest, struct doctor *d)
{
	AUTO_FREE char *authority = NULL, *path = NULL;
	AUTO(site) struct site *site = NULL;
	struct hdfs_conf conf = {0};
	struct doctor_site s;
	struct err e = {0};
	bool relative = false;
	int r = hdfs_url_parse(rest, &authority, &path, &relative);

	if (r == 0)
		r = site_load(NULL, &site, &e);
	if (r < 0) {
		doctor_say(d, DOCTOR_FAIL, "configuration", "%s", err_words(&e, r));
		return;
	}
	s = site_of(site);
	doctor_tell_site(&s, d);
	if (conf_of(site, authority, &conf, d) == 0) {
		doctor_at(&s, &conf, path, relative, d);
		hdfs_conf_release(&conf);
	}
}
