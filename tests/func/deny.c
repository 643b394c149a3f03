/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program as a container's filter or an older kernel would: some system calls fail with one errno. For
 * tests/func/test_abuse_host.py.
 *
 *	olddog-deny EPERM|ENOSYS|EINVAL CALL,CALL,.. PROGRAM ARGUMENT..
 *
 * Calls that the building machine does not know by name are left out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <seccomp.h>

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int code;

	if (argc < 4 || !filter)
		return 2;
	code = strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : strcmp(argv[1], "EINVAL") == 0 ? EINVAL : EPERM;
	/* Only exec keeps the filter: a program that is not privileged must say that it gains nothing by it. */
	if (seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1) < 0)
		return 2;
	for (char *name = strtok_r(argv[2], ",", &argv[2]); name; name = strtok_r(NULL, ",", &argv[2])) {
		int call = seccomp_syscall_resolve_name(name);

		if (call != __NR_SCMP_ERROR && seccomp_rule_add(filter, SCMP_ACT_ERRNO(code), call, 0) < 0)
			return 2;
	}
	if (seccomp_load(filter) < 0) {
		perror("olddog-deny");
		return 2;
	}
	execv(argv[3], argv + 3);
	perror(argv[3]);
	return 2;
}
