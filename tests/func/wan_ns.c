/* SPDX-License-Identifier: Apache-2.0 */
/* wan: network namespaces, and the TUN device in each. */
#include "wan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_DIR "/run/netns"

/* ------------------------------------------------------- namespace set-up */

static int tun_open(const char *dev, int gso)
{
	struct ifreq ifr;
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), hdr = sizeof(struct virtio_net_hdr);
	unsigned off = TUN_F_CSUM | (gso ? TUN_F_TSO4 : 0);

	if (fd < 0)
		die("/dev/net/tun");
	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	if (ioctl(fd, TUNSETIFF, &ifr) < 0)
		die("TUNSETIFF");
	if (ioctl(fd, TUNSETVNETHDRSZ, &hdr) < 0)
		die("TUNSETVNETHDRSZ");
	if (ioctl(fd, TUNSETOFFLOAD, (unsigned long)off) < 0)
		die("TUNSETOFFLOAD");
	return fd;
}

static void if_up(const char *dev, const char *addr, const char *peer, unsigned mtu)
{
	struct ifreq ifr;
	struct sockaddr_in *sa = (struct sockaddr_in *)&ifr.ifr_addr;
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		die("socket");
	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	if (addr) {
		sa->sin_family = AF_INET;
		inet_pton(AF_INET, addr, &sa->sin_addr);
		if (ioctl(s, SIOCSIFADDR, &ifr) < 0)
			die("address");
		inet_pton(AF_INET, peer, &sa->sin_addr);
		if (ioctl(s, SIOCSIFDSTADDR, &ifr) < 0)
			die("peer address");
		ifr.ifr_mtu = (int)mtu;
		if (ioctl(s, SIOCSIFMTU, &ifr) < 0)
			die("mtu");
		ifr.ifr_qlen = 10000;
		if (ioctl(s, SIOCSIFTXQLEN, &ifr) < 0)
			die("queue length");
	}
	if (ioctl(s, SIOCGIFFLAGS, &ifr) < 0)
		die("flags");
	ifr.ifr_flags |= IFF_UP | IFF_RUNNING;
	if (ioctl(s, SIOCSIFFLAGS, &ifr) < 0)
		die("up");
	close(s);
}

void ns_path(char *out, size_t n, const char *name, char end)
{
	snprintf(out, n, NS_DIR "/wan-%s-%c", name, end);
}

void link_addr(char *out, size_t n, const char *name, char end)
{
	unsigned h = 2166136261u;
	const char *s;

	for (s = name; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	snprintf(out, n, "198.18.%u.%d", (h >> 8 ^ h) & 255u, end == 'a' ? 1 : 2);
}

/* A fresh namespace, bound to a name that "ip netns" shows too. */
static void ns_make(const char *path)
{
	int fd;

	mkdir(NS_DIR, 0755);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		die(path);
	close(fd);
	if (unshare(CLONE_NEWNET) < 0)
		die("unshare");
	if (mount("/proc/self/ns/net", path, "none", MS_BIND, NULL) < 0)
		die("bind namespace");
}

void ns_enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(path);
	if (setns(fd, CLONE_NEWNET) < 0)
		die("setns");
	close(fd);
}

static int sysctl_set(const char *key, const char *val)
{
	char p[256];
	int fd, r = -1;

	snprintf(p, sizeof(p), "/proc/sys/%s", key);
	fd = open(p, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (write(fd, val, strlen(val)) == (ssize_t)strlen(val))
		r = 0;
	close(fd);
	return r;
}

/*
 * A namespace may use only what the host's list of allowed algorithms names, so
 * the wanted one is added to that list (it stays there: other links may need it).
 */
void allow_cc(const char *cc)
{
	const char *p = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
	char have[512], *s;
	FILE *f = fopen(p, "r");

	if (!f)
		return;
	if (!fgets(have, sizeof(have) - 64, f))
		have[0] = 0;
	fclose(f);
	have[strcspn(have, "\n")] = 0;
	for (s = have; (s = strstr(s, cc)); s++)
		if ((s == have || s[-1] == ' ') && (!s[strlen(cc)] || s[strlen(cc)] == ' '))
			return;
	snprintf(have + strlen(have), 64, " %.60s", cc);
	sysctl_set("net/ipv4/tcp_allowed_congestion_control", have);
}

void ns_setup(char end, const char *name, const struct conf *cf, int *tun)
{
	char path[256], me[32], peer[32];

	ns_path(path, sizeof(path), name, end);
	link_addr(me, sizeof(me), name, end);
	link_addr(peer, sizeof(peer), name, end == 'a' ? 'b' : 'a');
	ns_make(path);
	if_up("lo", NULL, NULL, 0);
	*tun = tun_open("wan0", cf->loss <= 0);
	if_up("wan0", me, peer, cf->mtu);
	/* Room for a window of rate x RTT; the limits are per namespace. */
	sysctl_set("net/ipv4/tcp_rmem", "4096 131072 134217728");
	sysctl_set("net/ipv4/tcp_wmem", "4096 65536 134217728");
	sysctl_set("net/ipv4/tcp_no_metrics_save", "1");
	/* A measurement under another algorithm than the one asked for is worth nothing. */
	if (sysctl_set("net/ipv4/tcp_congestion_control", cf->cc) < 0) {
		fprintf(stderr, "wan: congestion control %s: %s\n", cf->cc, strerror(errno));
		exit(1);
	}
}
