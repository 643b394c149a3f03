# SPDX-License-Identifier: Apache-2.0
"""What the programs of bench/ share: a process's CPU, rounds that take turns, the record of a result, its table.

A program asks one question of several subjects, us and named peers:

    QUESTION = Question(
        "loader", "What does loading cost?",
        {"cpu": Measure("CPU, s per 1,000", "cpu_ms_per_sample")},       # what is shown, in this order
        [Target("cpu", "olddog", "TurboLoader", at_least=1.4)])          # TurboLoader's median is 1.4 times olddog's
    args = options("loader", __doc__, n_rounds=3).parse_args()             # --rounds, --json
    subjects = {"olddog": lambda: measure([sys.executable, "bench/ours.py", plan]), ..}
    finish(QUESTION.take(subjects, args.rounds, {"page cache": "warm", "batch": 32}), args)

A subject is a function that runs it once and returns {key: number}, and "what": its versions, in words. measure() is
such a function's usual body. Subjects take turns, so what else the machine does hits all of them alike; of the rounds
the median counts, and how far they lay apart is told. The record is what --json prints; bench/table makes
tables of records. It has no date and no name of a machine, so that only figures differ between two runs.
"""

import argparse
import ctypes
import json
import os
import re
import resource
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PR_SET_CHILD_SUBREAPER = 36
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measure:
    """words: with the unit, the head of a column. key: of a subject's result. absolute: its ratio is not worth showing."""
    words: str
    key: str
    absolute: bool = False


@dataclass(frozen=True)
class Target:
    """Of a measure: peer's median / subject's is at_least, or subject's / peer's at_most; without a peer, subject's
    median. With neither, subject's / peer's is only told. The README's table has a line for each."""
    measure: str
    subject: str
    peer: str = ""
    at_least: float | None = None
    at_most: float | None = None


@dataclass
class Record:
    name: str
    question: str
    measures: dict
    targets: list
    conditions: dict
    machine: str
    rounds: int
    others_cores: float                          # what else ran meanwhile, in cores
    versions: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)   # {subject: {measure: [of each round]}}
    missing: dict = field(default_factory=dict)  # {peer: why it is not here}

    def median(self, subject, measure):
        values = self.values.get(subject, {}).get(measure)
        return statistics.median(values) if values else None


@dataclass(frozen=True)
class Question:
    name: str
    words: str
    measures: dict
    targets: list = ()

    def take(self, subjects, n_rounds, conditions, missing=None):
        """Rounds of all subjects in turn, as a Record."""
        clock = Others()
        taken = {name: [] for name in subjects}
        for number in range(n_rounds):
            for name, run in subjects.items():
                taken[name].append(run())
                shown = ", ".join(f"{m.words} {number_of(taken[name][-1][m.key])}" for m in self.measures.values()
                                  if m.key in taken[name][-1])
                print(f"{self.name}: round {number + 1}, {name}: {shown}", file=sys.stderr, flush=True)
        record = Record(
            self.name, self.words, {key: asdict(m) for key, m in self.measures.items()},
            [asdict(t) for t in self.targets], {key: str(value) for key, value in conditions.items()},
            machine(), n_rounds, clock.cores(), missing=missing or {})
        for name, results in taken.items():
            record.versions[name] = results[0].get("what", "")
            record.values[name] = {key: [round(r[m.key], 4) for r in results] for key, m in self.measures.items()
                                   if m.key in results[0]}
        return record


class Others:
    """How much of the machine others than we and our children use, from now on."""

    def __init__(self):
        self.began = self.now()

    @staticmethod
    def now():
        with open("/proc/stat") as stat:
            ticks = [int(n) for n in stat.readline().split()[1:9]]
        user, nice, system, idle, wait, irq, softirq, steal = ticks
        return sum(ticks) / TICKS / os.cpu_count(), (user + nice + system + irq + softirq + steal) / TICKS - own_cpu_s()

    def cores(self):
        now = self.now()
        return round(max(0.0, (now[1] - self.began[1]) / max(now[0] - self.began[0], 1e-9)), 2)


def own_cpu_s():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def machine():
    with open("/proc/cpuinfo") as info:
        lines = dict(map(str.strip, line.split(":", 1)) for line in info if ":" in line)
    with open("/proc/meminfo") as info:
        kib = int(info.readline().split()[1])
    flags = lines.get("flags", "").split()
    simd = ", AVX-512" if "avx512bw" in flags else ", AVX2" if "avx2" in flags else ""
    return f"{lines.get('model name', os.uname().machine)}{simd}, {os.cpu_count()} cores, {round(kib / 2**20)} GiB"


def children_cpu_ms():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


def measure(argv, env=None, core=None):
    """What argv printed as one line of JSON, and cpu_ms_per_sample: of it and of all that it started, orphans included.

    It prints at least samples, and before_cpu_ms: what it had used when the work began, which is not counted. All but
    what a peer asks for itself is single-threaded. With core: all of it runs there. What it says on stderr is shown when it
    fails: on the CPU, DALI says a dozen lines each time.
    """
    # What a measured process leaves behind is ours to wait for, so its CPU is counted.
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise SystemExit("bench: this kernel does not let us wait for orphans")
    before = children_cpu_ms()
    env = {**os.environ, "BENCH_PID": str(os.getpid()), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
           **(env or {})}
    env.pop("OLDDOG_JOB", None)
    pin = [] if core is None else ["taskset", "-c", core]
    run = subprocess.run([str(a) for a in [*pin, *argv]], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    if run.returncode != 0:
        sys.stderr.write(run.stderr)
        raise SystemExit(f"bench: {argv[0]} {argv[1] if len(argv) > 1 else ''}.. ended with {run.returncode}")
    result = json.loads(run.stdout.splitlines()[-1])
    if "before_cpu_ms" in result:
        result["cpu_ms_per_sample"] = (children_cpu_ms() - before - result["before_cpu_ms"]) / result["samples"]
    return result


def olddog_version():
    out = subprocess.run([ROOT / "build/olddog", "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return out.splitlines()[0]


def peers():
    """(Python with the peers of bench/peers.txt, {}), or (None, {"peers": why there is none})."""
    made = subprocess.run([ROOT / "bench/peers"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(made.stderr)
    if made.returncode == 0:
        return Path(made.stdout.strip()) / "bin/python", {}
    why = (made.stderr.strip().splitlines() or ["bench/peers failed"])[-1]
    return None, {"PyPI's torch, torchvision, TurboLoader, DALI": why}


def only(subjects, patterns):
    """Those whose name has one of the words; all, when there are none."""
    return {name: run for name, run in subjects.items() if not patterns or any(p in name for p in patterns)}


def read_all(paths):
    """So that the page cache is warm."""
    for path in paths:
        path.read_bytes()


def digits(value):
    """Decimals that give a person three digits or so."""
    return 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4


def number_of(value):
    return f"{value:,.{digits(value)}f}"


def spread(values):
    """Median, and half of how far the rounds lay apart."""
    median = statistics.median(values)
    half = f" ±{(max(values) - min(values)) / 2:,.{digits(median)}f}" if len(values) > 1 else ""
    return number_of(median) + half


def cell(record, subject, key):
    values = record.values[subject].get(key)
    if not values:
        return "-"
    first = next(iter(record.values))
    ours = record.median(first, key)
    if subject == first or not ours or record.measures[key]["absolute"]:
        return spread(values)
    return f"{spread(values)} ({record.median(subject, key) / ours:.2f}x)"


def rows(record):
    """The table as lists of words; the first row is the head. Ratios are to the first subject."""
    yield ["", *(m["words"] for m in record.measures.values())]
    for subject in record.values:
        yield [subject, *(cell(record, subject, key) for key in record.measures)]


def comparisons(record):
    """(target, ours, theirs, value, reached) of each target that can be told; reached is None where none was set."""
    for t in (Target(**target) for target in record.targets):
        ours, theirs = record.median(t.subject, t.measure), record.median(t.peer, t.measure) if t.peer else 1.0
        if not ours or not theirs:
            continue
        value = theirs / ours if t.at_least is not None else ours / theirs
        reached = value >= t.at_least if t.at_least is not None else value <= t.at_most if t.at_most is not None else None
        yield t, ours, theirs, value, reached


def verdicts(record):
    """(words, reached) of each target that was set."""
    for t, _, _, value, reached in comparisons(record):
        if reached is not None:
            two = [t.peer, t.subject] if t.at_least is not None else [t.subject, t.peer] if t.peer else [t.subject]
            yield f"{record.measures[t.measure]['words']}: {' / '.join(two)}: {value:.3g}, {goal(t)}", reached


def goal(target):
    if target.at_least is not None:
        return f"at least {target.at_least:g} wanted"
    return f"at most {target.at_most:g} wanted" if target.at_most is not None else ""


def conditions(record):
    told = ", ".join(f"{key} {value}" for key, value in record.conditions.items())
    busy = f", others meanwhile used {record.others_cores:.1f} cores" if record.others_cores >= 0.05 else ""
    turns = "1 round" if record.rounds == 1 else f"{record.rounds} rounds in turn"
    return f"{record.machine}; {told}; {turns}{busy}"


def show(record):
    print(f"{record.question}\n{conditions(record)}")
    table = list(rows(record))
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        print("  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]))
    for words, reached in verdicts(record):
        print(f"{'ok  ' if reached else 'MISS'} {words}")
    for subject, version in record.versions.items():
        if version:
            print(f"{subject}: {version}")
    for peer, why in record.missing.items():
        print(f"{peer} is not here: {why}")


def options(name, words, n_rounds):
    parser = argparse.ArgumentParser(prog=f"bench/{name}", description=words,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=n_rounds)
    parser.add_argument("--json", action="store_true", help="the record, for bench/table, in place of a table")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="subjects that have it in their name")
    return parser


def finish(record, args):
    if args.json:
        # One line for the rounds of a measure.
        text = json.dumps(asdict(record), indent=1, ensure_ascii=False)
        print(re.sub(r"\[[^][{}\"]*\]", lambda numbers: " ".join(numbers[0].split()), text))
    else:
        show(record)


def load(path):
    return Record(**json.loads(Path(path).read_text()))
