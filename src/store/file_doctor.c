/* SPDX-License-Identifier: Apache-2.0 */
/* What only file: knows of a path: the kind of file system, and whether this process may write there. */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/scope.h"
#include "store/engine.h"

/* Of <linux/magic.h>, and of file systems that are not Linux's own. */
static const struct {
	uint32_t magic;
	const char *name;
} kinds[] = {
	{0x0000ef53, "ext4"}, {0x58465342, "xfs"}, {0x9123683e, "btrfs"}, {0x2fc12fc1, "zfs"}, {0x01021994, "tmpfs"},
	{0x794c7630, "overlay"}, {0x00006969, "nfs"}, {0xff534d42, "cifs"}, {0xfe534d42, "smb"}, {0x65735546, "fuse"},
	{0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"}, {0x00c36400, "ceph"}, {0x01021997, "9p"},
};

static void tell_kind(const char *path, struct doctor *d)
{
	struct statfs at;

	if (statfs(path, &at) < 0)
		return;
	for (unsigned i = 0; i < N_ELEMS(kinds); i++)
		if (kinds[i].magic == (uint32_t)at.f_type) {
			doctor_say(d, DOCTOR_OK, "file system", "%s", kinds[i].name);
			return;
		}
	doctor_say(d, DOCTOR_OK, "file system", "of kind 0x%x", (unsigned)at.f_type);
}

void file_doctor(const char *url, const char *rest, struct doctor *d)
{
	doctor_any(url, d);
	/* file:///PATH. */
	if (strncmp(rest, "//", 2) == 0)
		rest += 2;
	if (access(rest, F_OK) < 0)
		return;
	if (access(rest, W_OK) == 0)
		doctor_say(d, DOCTOR_OK, "write", "this process may");
	else
		doctor_say(d, DOCTOR_NOTE, "write", "this process may not: %s", err_text(-errno));
	tell_kind(rest, d);
}
