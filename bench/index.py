# SPDX-License-Identifier: Apache-2.0
"""What does an index cost: to make, beside bare preads of each header, and to open when it is large?

Making, on one core, page cache warm: `olddog plan` of archives of pictures (104 KB each, with a label) and of small texts,
beside a C program that preads each 512-byte header and does nothing with it (header_limit.c); CPU a header. What a process
costs to start is taken off: the difference between all archives and half of them counts. And of a folder of small files in
classes, beside the os.walk() of torchvision's ImageFolder, which looks at names only; CPU a file.

Opening: `olddog read` of one sample from the middle of a plan of --samples samples, whole set shuffled, in a new process,
from its start to its end; with what is in the page cache and without; and the memory it had at most. The archives are hard
links to one, so that they take little room; olddog does not know.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import rounds
from rounds import ROOT, Measure, Question, Target

OLDDOG = ROOT / "build/olddog"
LIMIT = ROOT / "build/bench/header_limit"
QUESTION = Question("index", "What does an index cost to make, and to open?", {
    "make_us": Measure("CPU, us a header or file", "make_us", absolute=True),
    "open_ms": Measure("one sample, ms", "open_ms", absolute=True),
    "cold_ms": Measure("page cache cold, ms", "cold_ms", absolute=True),
    "memory_mb": Measure("memory, MB", "memory_mb", absolute=True)}, [
        Target("make_us", "olddog, pictures", "header preads, pictures", at_least=0.8),
        Target("make_us", "olddog, texts", "header preads, texts", at_least=0.8),
        Target("open_ms", "olddog, large plan", at_most=100),
        Target("cold_ms", "olddog, large plan", at_most=100)])
WALK = """
import os, sys
print(sum(len([os.path.join(folder, name) for name in sorted(names)]) for folder, _, names in sorted(os.walk(sys.argv[1]))))
"""


def write_tar(path, members):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def link(folder, archives, n):
    """n hard links to the archives."""
    for i in range(n):
        os.link(archives[i % len(archives)], folder / f"{i:05}.tar")


def picture_archives(media, work):
    made, pictures = [], sorted((media / "set").glob("*.jpg"))
    for i in range(0, len(pictures), 300):
        made.append(work / f"pictures-{i}")
        write_tar(made[-1], (m for k, p in enumerate(pictures[i:i + 300])
                             for m in ((f"{k:06}.jpg", p.read_bytes()), (f"{k:06}.cls", b"7"))))
    return made


def text_archives(work):
    made = []
    for i in range(4):
        made.append(work / f"texts-{i}")
        write_tar(made[-1], ((f"{k:06}.txt", b"a" * 1500) for k in range(20000)))
    return made


def cpu_ms(argv):
    before = rounds.children_cpu_ms()
    done = subprocess.run(["taskset", "-c", "1", *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: {argv[0]}: {done.stderr[-2000:]}")
    return rounds.children_cpu_ms() - before


def ours(pattern, work):
    """CPU of making a plan."""
    plan = work / "timed.plan"
    subprocess.run(["rm", "-rf", plan, work / "timed.yaml"], check=True)
    return cpu_ms([OLDDOG, "plan", pattern, "-o", plan])


def making(kind, archives, work):
    """Subjects: ours and the limit, over hard links to the archives, in two halves."""
    folder = work / kind
    halves = [folder / "0", folder / "1"]
    for half in halves:
        half.mkdir(parents=True)
        link(half, archives, 800 if kind == "pictures" else 40)
    whole = [sorted(half.glob("*.tar")) for half in halves]
    n = json.loads(subprocess.run([LIMIT, *whole[0]], stdout=subprocess.PIPE, check=True, text=True).stdout)["headers"]

    def of(cost, first, both):
        return {"make_us": 1000 * (cost(both) - cost(first)) / n}
    return {
        f"olddog, {kind}": lambda: of(lambda p: ours(p, work), halves[0] / "*.tar", folder / "*/*.tar")
        | {"what": rounds.olddog_version()},
        f"header preads, {kind}": lambda: of(lambda p: cpu_ms([LIMIT, *p]), whole[0], whole[0] + whole[1])}


def file_folders(work, n):
    folder = work / "files"
    for c in range(-(-n // 1000)):
        (folder / f"c{c:04}").mkdir(parents=True)
        for i in range(min(1000, n - 1000 * c)):
            (folder / f"c{c:04}" / f"{i:04}.txt").write_bytes(b"a few words")
    return folder


def walking(work, n):
    folder = file_folders(work, n)
    return {
        f"olddog, {n:,} files": lambda: {"make_us": 1000 * ours(folder, work) / n},
        f"os.walk, {n:,} files": lambda: {"make_us": 1000 * cpu_ms([sys.executable, "-c", WALK, folder]) / n}}


def large_plan(work, n):
    """Of n samples, from archives of 100,000."""
    folder, one = work / "large", work / "one"
    folder.mkdir()
    write_tar(one, ((f"{k:06}.txt", b"%08d" % k) for k in range(100000)))
    link(folder, [one], n // 100000)
    spec, plan = work / "large.yaml", work / "large.plan"
    spec.write_text(f"sources: [{{data: '{folder}/*.tar'}}]\nfields: {{txt: {{from: txt, as: text}}}}\norder: shuffle\n")
    print(f"index: a plan of {n:,} samples is being made, a minute or two for a hundred million", file=sys.stderr, flush=True)
    subprocess.run([OLDDOG, "plan", spec, "-o", plan], check=True, stdout=subprocess.DEVNULL)
    return plan


def forget(folder):
    for path in folder.iterdir():
        with open(path, "rb") as f:
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_one(plan, position):
    """ms from the process's start to its end, and its memory."""
    done = subprocess.run(
        ["/usr/bin/python3", "-c", OPEN, OLDDOG, "read", plan, "--from", str(position), "--samples", "1", "--digest=sample"],
        stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


OPEN = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(json.dumps({"ms": 1000 * (time.perf_counter() - began),
                  "mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000}))
"""


def opening(plan, n):
    def run():
        forget(plan)
        cold = read_one(plan, n // 3)
        warm = min((read_one(plan, n * 2 // 3 + i) for i in range(5)), key=lambda one: one["ms"])
        size = sum(p.stat().st_size for p in plan.iterdir())
        return {"open_ms": warm["ms"], "cold_ms": cold["ms"], "memory_mb": warm["mb"],
                "what": f"{n:,} samples, {size / n:.1f} bytes each in the plan"}
    return {"olddog, large plan": run}


def main():
    parser = rounds.options("index", __doc__, n_rounds=3)
    parser.add_argument("media", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--samples", type=int, default=100_000_000, help="of the large plan")
    parser.add_argument("--files", type=int, default=100_000, help="of the folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        subjects = making("pictures", picture_archives(args.media, work), work) | making("texts", text_archives(work), work) | \
            walking(work, args.files) | opening(large_plan(work, args.samples), args.samples)
        record = QUESTION.take(subjects, args.rounds, {"page cache": "warm, but where it says cold"})
    rounds.finish(record, args)


if __name__ == "__main__":
    main()
