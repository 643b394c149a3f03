# SPDX-License-Identifier: Apache-2.0
"""Hosts that are against us: quotas, memory limits, full and read-only file systems, bare containers, system calls that are
refused, other users. What is needed of the kernel (root, control groups, namespaces) and is not there is a named skip."""

import os
import resource
import subprocess
import uuid
from pathlib import Path

import pytest
from process_help import is_confined, wait_until
from test_loader import ranks, spec  # noqa: F401 (fixtures)

V1 = Path("/sys/fs/cgroup")


class Group:
    """A control group of this test, of version 1."""

    def __init__(self, controller):
        self.path = V1 / controller / f"olddog-test-{uuid.uuid4()}"

    def __getitem__(self, name):
        return (self.path / name).read_text()

    def __setitem__(self, name, value):
        (self.path / name).write_text(str(value))

    def enter(self):
        """For preexec_fn: what is started then is in it."""
        (self.path / "cgroup.procs").write_text("0")


@pytest.fixture
def group():
    """group(controller): a new one, removed with the test."""
    made = []

    def make(controller):
        g = Group(controller)
        try:
            g.path.mkdir()
        except OSError as e:
            pytest.skip(f"no control group of version 1 can be made for {controller}: {e}")
        made.append(g)
        return g
    yield make
    for g in made:
        for pid in g["cgroup.procs"].split():
            os.kill(int(pid), 9)
        wait_until(lambda: not g["cgroup.procs"])
        g.path.rmdir()


def run(olddog, *args, argv=(), **kw):
    """(exit code, lines of stdout, stderr) of olddog behind argv, such as a program that restricts it."""
    p = subprocess.run([*map(str, argv), str(olddog.exe), *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True,
                       cwd=olddog.cwd, timeout=240, text=True, errors="replace", **kw)
    return p.returncode, p.stdout.splitlines(), p.stderr


# Processors.

def workers_in(olddog, spec, before):  # noqa: F811
    reader = subprocess.Popen([olddog.exe, "read", spec, "--epochs", "0", "--digest=sample"], preexec_fn=before,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=olddog.cwd)
    try:
        assert reader.stdout.readline()
        # It waits to be read, and had work for all that it may start.
        children = Path(f"/proc/{reader.pid}/task/{reader.pid}/children").read_text().split()
        return len(children)
    finally:
        reader.kill()
        reader.communicate()


def test_workers_are_as_many_as_processors_may_be_used(olddog, spec, group):  # noqa: F811
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    cpu = group("cpu")
    if not (cpu.path / "cpu.cfs_quota_us").exists():
        pytest.skip("a kernel without CONFIG_CFS_BANDWIDTH")
    cpu["cpu.cfs_period_us"] = 100000
    cpu["cpu.cfs_quota_us"] = 90000
    inner = Group("cpu")
    inner.path = cpu.path / "inner"
    inner.path.mkdir()
    try:
        assert workers_in(olddog, spec, inner.enter) == 1
    finally:
        wait_until(lambda: not inner["cgroup.procs"])
        inner.path.rmdir()
    one = min(os.sched_getaffinity(0))
    assert workers_in(olddog, spec, lambda: os.sched_setaffinity(0, {one})) == 1
    assert workers_in(olddog, spec, None) > 1


# File systems.

class Room:
    """A place with mounts of its own, and perhaps other namespaces, kept by a process that waits."""

    def __init__(self, olddog, script, *flags):
        self.olddog = olddog
        self.flags = [f.split("=")[0] for f in flags]
        # What is killed with the holder's standard input is the holder.
        self.holder = subprocess.Popen(["unshare", "--mount", "--propagation", "private", *flags, "sh", "-e", "-c",
                                        f"{script}\necho ready\nread line || :"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=olddog.cwd)
        if self.holder.stdout.readline() != "ready\n":
            pytest.skip(f"no namespaces of one's own here: {self.holder.communicate()[1]}")

    def path(self, path):
        """How it is seen from outside."""
        return Path(f"/proc/{self.holder.pid}/root{path}")

    def argv(self):
        # The folder is looked up inside: outside, the same path may be another one.
        return ["nsenter", f"--target={self.holder.pid}", "--mount", "--", "sh", "-c", 'cd "$0"; exec "$@"', self.olddog.cwd]

    def __call__(self, *args, **kw):
        return run(self.olddog, *args, argv=self.argv(), **kw)

    def do(self, script):
        subprocess.run([*self.argv(), "sh", "-e", "-c", script], check=True)

    def end(self):
        self.holder.communicate()


@pytest.fixture
def room(olddog):
    """room(script, *flags of unshare): mounts are made by the script, as root."""
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    rooms = []

    def make(script, *flags):
        rooms.append(Room(olddog, script, *flags))
        return rooms[-1]
    yield make
    for r in rooms:
        r.end()


def names(folder):
    return {p.name for p in folder.iterdir()}


def content(folder):
    """Of a folder that may not be there."""
    return {} if not folder.exists() else {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def pages(*folders):
    """Pages that the files of these take on a tmpfs."""
    return sum(-(-p.stat().st_size // 4096) for f in folders for p in f.iterdir())


@pytest.mark.parametrize("what", ["room", "inodes"])
def test_a_disk_that_is_full_at_any_page_is_told_and_a_plan_goes_on(olddog, spec, room, tmp_path, what):  # noqa: F811
    olddog("plan", spec, "-o", "p.plan")
    whole = content(tmp_path / "p.plan")
    (tmp_path / "disk").mkdir()
    disk = room(f"mount -t tmpfs -o size=1M none {tmp_path}/disk")
    seen = set()
    n_max = pages(tmp_path / "p.plan") + 3 if what == "room" else len(whole) + 4
    for n in range(1, n_max):
        # The root of a tmpfs has an inode too.
        limit = f"size={n * 4096}" if what == "room" else f"nr_inodes={n + 1}"
        disk.do(f"rm -rf {tmp_path}/disk/*; mount -o remount,{limit} {tmp_path}/disk")
        rc, _, said = disk("plan", spec, "-o", "disk/p.plan")
        assert rc == 0 or (rc == 1 and "No space left on device" in said and "p.plan" in said), said
        left = disk.path(tmp_path / "disk")
        if "p.plan" in names(left):
            assert names(left / "p.plan") <= set(whole)
            assert rc == 0 or "plan.json" not in names(left / "p.plan")
        seen.add(rc)
        disk.do(f"mount -o remount,size=1M,nr_inodes=1000 {tmp_path}/disk")
        assert disk("plan", spec, "-o", "disk/p.plan")[0] == 0
        assert content(left / "p.plan") == whole
    assert seen == {0, 1}


@pytest.mark.parametrize("verb", ["read", "peek"])
def test_pictures_on_a_full_disk_are_whole_or_not_there(olddog, spec, room, tmp_path, verb):  # noqa: F811
    args = (verb, spec, "-n", 3)
    olddog(*args, "-o", "out")
    whole = content(tmp_path / "out")
    (tmp_path / "disk").mkdir()
    disk = room(f"mount -t tmpfs -o size=4M none {tmp_path}/disk")
    seen = set()
    n_max = pages(tmp_path / "out")
    for n in [*range(1, n_max, max(1, n_max // 12)), n_max + 8]:
        disk.do(f"rm -rf {tmp_path}/disk/*; mount -o remount,size={n * 4096} {tmp_path}/disk")
        rc, _, said = disk(*args, "-o", "disk/out")
        assert rc == 0 or (rc == 1 and "No space left on device" in said and "disk/out" in said), said
        seen.add(rc)
        got = content(disk.path(tmp_path / "disk/out"))
        assert got.items() <= whole.items()
        assert rc or got == whole
    assert seen == {0, 1}


def test_a_file_system_for_reading_only_is_told(olddog, spec, room, set_shards, tmp_path):  # noqa: F811
    olddog("plan", spec, "-o", "p.plan")
    want = olddog.lines("read", "p.plan", "--digest=sample")
    ro = room(f"mount --bind {tmp_path} {tmp_path}; mount -o remount,bind,ro {tmp_path}")
    assert ro("read", "p.plan", "--digest=sample")[:2] == (0, want)
    for args in (("plan", spec, "-o", "new.plan"), ("read", "p.plan", "-n", 1, "-o", "out"), ("peek", "p.plan", "-o", "png"),
                 ("read", "p.plan", "-n", 1, "--digest=sample", "--state", "state")):
        rc, _, said = ro(*args)
        assert rc == 1 and "Read-only file system" in said, said


def test_nothing_is_needed_of_home_tmp_and_shm(olddog, spec, room, tmp_path, monkeypatch):  # noqa: F811
    want = olddog.lines("read", spec, "--digest=sample")
    for name in ("HOME", "TMPDIR", "USER", "PATH", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", "/nowhere")
    full = room("PATH=/usr/bin:/bin:/usr/sbin; mount -t tmpfs -o size=64k none /dev/shm; "
                "dd if=/dev/zero of=/dev/shm/full bs=4k 2>/dev/null || :; mount -t tmpfs -o ro none /var/tmp")
    rc, lines, said = full("read", spec, "--digest=sample", env={})
    assert (rc, lines, said) == (0, want, "")


# Memory.

@pytest.mark.plain  # a shadow takes more
def test_as_much_is_prepared_as_memory_allows(olddog, spec, group):  # noqa: F811
    want = olddog.lines("read", spec, "--epochs", 4, "--digest=sample")
    memory = group("memory")
    args = ("read", spec, "--epochs", 4, "--digest=sample", "--workers", 2)
    assert run(olddog, *args, preexec_fn=memory.enter)[:2] == (0, want)
    # A tenth of what it takes when it may, and is not ended by the kernel.
    limit = max(48 << 20, int(memory["memory.max_usage_in_bytes"]) // 10)
    memory["memory.limit_in_bytes"] = limit
    rc, lines, said = run(olddog, *args, preexec_fn=memory.enter)
    assert (rc, lines) == (0, want), said
    assert "oom_kill 0\n" in memory["memory.oom_control"]


def test_workers_end_before_loaders_and_loaders_before_ranks_when_memory_is_short(ranks, spec):  # noqa: F811
    rank = ranks.start("-i", spec)
    assert rank.stdout.readline().startswith("open")
    (loader,) = ranks.loaders()

    def score(pid):
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())

    def workers():
        return Path(f"/proc/{loader}/task/{loader}/children").read_text().split()

    while not (found := [p for p in workers() if is_confined(p)]):
        pass
    assert score(rank.pid) < score(loader) < min(map(score, found))
    rank.stdin.write("\n" * 8)
    ranks.end(rank)


# Limits of a process.

LIMITS = {
    "RLIMIT_AS": [16 << 20, 64 << 20, 256 << 20, 600 << 20, 1 << 30],
    "RLIMIT_NPROC": [0, 1, 4],
    "RLIMIT_FSIZE": [0, 4096, 1 << 20],
    "RLIMIT_MEMLOCK": [0],
    "RLIMIT_STACK": [64 << 10, 256 << 10],
    "RLIMIT_DATA": [1 << 20, 32 << 20],
    "RLIMIT_CPU": [1],
    "RLIMIT_SIGPENDING": [0],
}


# A sanitizer's own frames take more of a stack than the worker has then.
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.plain] * (n == "RLIMIT_STACK")) for n in LIMITS])
def test_low_limits_are_kept_within_or_told(olddog, spec, name):  # noqa: F811
    want = olddog.lines("read", spec, "--digest=sample")
    for limit in LIMITS[name]:
        def lower():
            resource.setrlimit(getattr(resource, name), (limit, limit))
        if run(olddog, "--version", preexec_fn=lower)[0] != 0:
            continue
        rc, lines, said = run(olddog, "read", spec, "--digest=sample", preexec_fn=lower)
        assert (rc, lines) == (0, want) or (rc == 1 and lines == want[:len(lines)] and said.startswith("olddog: ")), said


# Containers.

def boxed(script, *flags):
    """argv to run something behind a script, in namespaces of its own."""
    return ["unshare", *flags, "sh", "-e", "-c", script + '\nexec "$@"', "sh"]


BOXES = {
    "no_proc": boxed("umount -l /proc", "--mount", "--propagation=private"),
    "no_sys": boxed("umount -l /sys", "--mount", "--propagation=private"),
    "other_processes": boxed(":", "--pid", "--fork", "--mount-proc"),
    "first_process": ["unshare", "--pid", "--fork", "--mount-proc"],
    "others_proc": boxed(":", "--pid", "--fork"),
    "root_of_its_own": boxed(":", "--user", "--map-root-user"),
    "no_network": boxed(":", "--net"),
    "everything": boxed(":", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--net", "--ipc", "--uts",
                        "--cgroup"),
    "no_executable_memory": boxed("echo 2 > /proc/sys/vm/memfd_noexec", "--pid", "--fork", "--mount-proc"),
    "clock_of_its_own": ["unshare", "--time", "--fork", "--monotonic", "100000000", "--boottime", "100000000"],
    "nobody": ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--bounding-set=-all"],
}


# A sanitizer needs /proc.
@pytest.mark.parametrize("box", [pytest.param(b, marks=[pytest.mark.plain] * (b == "no_proc")) for b in BOXES])
def test_a_container_of_any_kind_gets_the_same_lines(olddog, spec, set_shards, tmp_path, box):  # noqa: F811
    want = olddog.lines("read", spec, "--digest=sample")
    # Pytest's folders are for their owner only.
    for folder in {tmp_path, *tmp_path.parents, set_shards[0], *set_shards[0].parents}:
        if not folder.stat().st_mode & 0o005:
            folder.chmod(0o755)
    if subprocess.run([*BOXES[box], "true"], capture_output=True).returncode != 0:
        pytest.skip(f"this kernel or user cannot have {box}")
    rc, lines, said = run(olddog, "read", spec, "--digest=sample", argv=BOXES[box])
    assert (rc, lines) == (0, want), said


# What Docker's default profile refuses, in its words; Podman's and containerd's are made of it.
DOCKER = ("acct,add_key,bpf,clock_adjtime,clock_settime,create_module,delete_module,fanotify_init,finit_module,init_module,"
          "io_uring_enter,io_uring_register,io_uring_setup,ioperm,iopl,kcmp,kexec_load,keyctl,lookup_dcookie,mbind,mount,"
          "move_pages,name_to_handle_at,open_by_handle_at,perf_event_open,personality,pivot_root,process_vm_readv,"
          "process_vm_writev,ptrace,quotactl,reboot,request_key,set_mempolicy,setns,settimeofday,stime,swapoff,swapon,umount2,"
          "unshare,userfaultfd,vmsplice,get_mempolicy,nfsservctl,uselib,ustat,vm86")
# Newer than some profile or kernel: old profiles said EPERM of what they had not heard of, newer ones ENOSYS.
NEW = "epoll_pwait2,clone3,close_range,openat2,faccessat2,statx,rseq,copy_file_range,preadv2,futex_waitv,process_madvise"
DENIED = {
    "docker": ("EPERM", DOCKER),
    "docker_clone3": ("ENOSYS", "clone3"),
    "no_landlock": ("ENOSYS", "landlock_create_ruleset,landlock_add_rule,landlock_restrict_self"),
    "refused_landlock": ("EPERM", "landlock_create_ruleset,landlock_add_rule,landlock_restrict_self"),
    "older_kernel": ("ENOSYS", NEW),
    "older_profile": ("EPERM", NEW.replace("clone3,", "").replace("rseq,", "").replace("faccessat2,", "").replace("statx,", "")),
    "no_pidfd": ("ENOSYS", "pidfd_open,pidfd_send_signal"),
    "no_affinity": ("EPERM", "sched_getaffinity,sched_setaffinity"),
    "no_memfd": ("EPERM", "memfd_create"),
    "no_seccomp": ("EPERM", "seccomp,prctl"),
    "no_madvise": ("EPERM", "madvise,mremap,fadvise64,readahead"),
    "no_renameat2": ("EINVAL", "renameat2"),
}
TOLD = {"no_pidfd": "Linux 5.3 is needed", "no_memfd": "shared memory", "no_seccomp": "prctl"}


# A sanitizer needs ptrace and sched_getaffinity.
@pytest.mark.parametrize("which", [pytest.param(d, marks=[pytest.mark.plain] * (d in ("docker", "no_affinity"))) for d in DENIED])
def test_system_calls_that_are_refused_do_not_matter_or_are_told(olddog, build, spec, which):  # noqa: F811
    want = olddog.lines("read", spec, "--digest=sample")
    argv = [build / "tests/func/olddog-deny", *DENIED[which]]
    if subprocess.run([*argv, "/bin/true"], capture_output=True).returncode != 0:
        pytest.skip("this kernel has no seccomp filters")
    rc, lines, said = run(olddog, "read", spec, "--digest=sample", argv=argv)
    if which in TOLD:
        assert rc == 1 and TOLD[which] in said
    else:
        assert (rc, lines, said) == (0, want, "")
    rc, _, said = run(olddog, "plan", spec, "-o", "p.plan", argv=argv)
    assert rc == 0, said
