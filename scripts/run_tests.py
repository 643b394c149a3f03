# SPDX-License-Identifier: Apache-2.0
"""The steps of testing, in the order in which they run. Run by scripts/test, in the project's environment.

A step builds something or drives a runner, and gives the counts of that runner's own report; a runner that wrote no
report, or was ended for its time, counts as failed. The last line is `N passed, N failed`, of all steps together.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

import check
import hdfs_install
import hdfs_process

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build-logs"
FULL = {"OLDDOG_CROPS": "10000", "OLDDOG_SCHEDULES": "1000", "OLDDOG_REAL_SCHEDULES": "20",
        "OLDDOG_FULL": "1", "OLDDOG_SOAK_BATCHES": "1440000"}
SANITIZERS = {"ASAN_OPTIONS": "abort_on_error=0:exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
              "TSAN_OPTIONS": "halt_on_error=0:exitcode=66"}


@dataclass
class Counts:
    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)


@dataclass
class Step:
    run: object
    default: bool
    needs: tuple  # steps before it


STEPS = {}
BUILDS = ("build-gcc", "build-clang")


def step(default, needs=()):
    def add(function):
        STEPS[function.__name__.replace("_", "-")] = Step(function, default, needs)
        return function
    return add


# --- runners

def run(log, argv, timeout_s, env=None):
    """Runs argv with its output appended to build-logs/LOG.log. Its exit code; None: ended for its time."""
    with open(LOGS / f"{log}.log", "ab") as out:
        out.write(f"$ {' '.join(map(str, argv))}\n".encode())
        out.flush()
        p = subprocess.Popen(list(map(str, argv)), cwd=ROOT, env={**os.environ, **SANITIZERS, **(env or {})},
                             stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return p.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, 9)
            out.write(f"\nended: it ran longer than {timeout_s} s\n".encode())
            p.wait()
            return None


def one(log, argv, timeout_s, env=None):
    """A command that is one test by itself."""
    return Counts(1) if run(log, argv, timeout_s, env) == 0 else Counts(failed=[log])


def build(folder, *options, cc="gcc"):
    return one(f"build-{folder}", ["scripts/build", folder, "-Dwerror=true", *options], 1800, {"CC": cc})


def meson_test(log, folder, *names, env=None, wrap=(), timeout_s=1200):
    """`meson test` of what is built in the folder, counted by its testlog.json."""
    report = ROOT / folder / "meson-logs" / "testlog.json"
    report.unlink(missing_ok=True)
    rc = run(log, [*wrap, "meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", *names], timeout_s, env)
    counts = Counts()
    for line in report.read_text().splitlines() if report.exists() else []:
        test = json.loads(line)
        if test["result"] in ("OK", "EXPECTEDFAIL"):
            counts.passed += 1
        elif test["result"] == "SKIP":
            counts.skipped.append(f"{test['name']}: it says so")
        else:
            counts.failed.append(f"{test['name']} ({test['result']})")
    if (rc != 0 or counts.passed == 0) and not counts.failed:
        counts.failed.append(f"meson test of {folder} (exit {rc})")
    return counts


def pytest(log, *args, env=None, timeout_s=1800):
    """pytest, counted by its junit report."""
    report = LOGS / f"{log}.xml"
    report.unlink(missing_ok=True)
    rc = run(log, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadgroup",
              "--junitxml", report, *args],
             timeout_s, env)
    counts = Counts()
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else []:
        name = f"{case.get('classname')}.{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed.append(name)
        elif skip is not None:
            counts.skipped.append(f"{name}: {skip.get('message')}")
        else:
            counts.passed += 1
    if (rc != 0 or counts.passed == 0) and not counts.failed:
        counts.failed.append(f"pytest (exit {rc})")
    return counts


def media():
    """The folder of pictures, for the environment of tests."""
    out = subprocess.run(["scripts/real-media", "200"], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    return {"OLDDOG_MEDIA": out.stdout.strip()}


NO_HDFS = "--ignore-glob=*/test_hdfs_*.py"


def hdfs(log, env, version=hdfs_install.VERSION, args=(), timeout_s=1800):
    """The tests of HDFS against real clusters, which end with them, however they end."""
    run(log, ["scripts/setup", "tests/packages.txt"], 1800)
    for name in (version, "native"):
        hdfs_install.folder_of(name)
    try:
        return pytest(log, *sorted((ROOT / "tests/func").glob("test_hdfs_*.py")), *args,
                      env={**media(), "OLDDOG_HDFS_VERSION": version, **env}, timeout_s=timeout_s)
    finally:
        hdfs_process.sweep()


# --- the steps of `make test`

@step(default=True)
def checks():
    """Layers, limits, symbols, words: scripts/check."""
    counts = Counts()
    for name, faults in check.run_all():
        if faults:
            counts.failed.append(f"check {name}")
            (LOGS / "checks.log").open("a").write("".join(f"{name}: {f}\n" for f in faults))
        else:
            counts.passed += 1
    return counts


@step(default=True)
def build_gcc():
    """gcc, with address and undefined-behaviour sanitizers."""
    return build("build-asan", "-Db_sanitize=address,undefined")


@step(default=True, needs=BUILDS[:1])
def unit_gcc():
    """Unit tests and the fuzz targets' corpora."""
    return meson_test("unit-gcc", "build-asan", env=media())


@step(default=True)
def build_clang():
    """clang, without sanitizers."""
    return build("build-clang", cc="clang-14")


@step(default=True, needs=BUILDS[1:])
def unit_clang():
    return meson_test("unit-clang", "build-clang", "--suite", "unit", env=media())


@step(default=True, needs=BUILDS)
def func():
    """Functional tests: real processes of the sanitized build."""
    return pytest("func", "tests/func", NO_HDFS, env={**media(), "OLDDOG_BUILD": "build-asan", "OLDDOG_BUILD_2": "build-clang"})


@step(default=True, needs=BUILDS[1:])
def func_plain():
    """Functional tests that a sanitizer stands in the way of."""
    return pytest("func-plain", "tests/func", NO_HDFS, "-m", "plain", env={**media(), "OLDDOG_BUILD": "build-clang"})


@step(default=True, needs=BUILDS)
def hdfs_func():
    """HDFS on real clusters, by the sanitized build."""
    return hdfs("hdfs-func", {"OLDDOG_BUILD": "build-asan", "OLDDOG_BUILD_2": "build-clang"})


# --- the others, of `make test-all`

@step(default=False, needs=BUILDS[1:])
def full_unit():
    """Unit tests with full counts."""
    return meson_test("full-unit", "build-clang", "--suite", "unit", "-t", "10", env={**media(), **FULL})


# Functional tests that have full counts: each a step of its own, so that CI's slice is not one long one.
COUNTED = {"pixels": ["test_pixels"], "bytes": ["test_same_bytes"], "faults": ["test_fault_schedules", "test_install"]}


def functional(name, files, *args):
    env = {**media(), **FULL, "OLDDOG_BUILD": "build-clang", "OLDDOG_BUILD_2": "build-asan"}
    return pytest(name, *(f"tests/func/{f}.py" if f else "tests/func" for f in files), *args, env=env)


@step(default=False, needs=BUILDS)
def full_pixels():
    """All random crops beside the reference."""
    return functional("full-pixels", COUNTED["pixels"])


@step(default=False, needs=BUILDS)
def full_bytes():
    """Two builds of all pictures, and -O0 beside -O3."""
    return functional("full-bytes", COUNTED["bytes"])


@step(default=False, needs=BUILDS)
def full_faults():
    """Random fault schedules on real processes; the installed tree, moved."""
    return functional("full-faults", COUNTED["faults"])


@step(default=False, needs=BUILDS)
def full_func():
    """The other functional tests, of the optimized build."""
    return functional("full-func", [""], NO_HDFS, *(f"--ignore=tests/func/{f}.py" for f in sum(COUNTED.values(), [])))


PLAIN = {"OLDDOG_BUILD": "build-clang", "OLDDOG_BUILD_2": "build-asan"}


@step(default=False, needs=BUILDS)
def full_hdfs():
    """HDFS with full counts, by the optimized build."""
    return hdfs("full-hdfs", {**PLAIN, **FULL}, timeout_s=5400)


@step(default=False, needs=BUILDS)
def hdfs_3_4():
    """HDFS of Hadoop 3.4."""
    return hdfs("hdfs-3-4", PLAIN, "3.4.2")


@step(default=False, needs=BUILDS)
def hdfs_3_3():
    """HDFS of Hadoop 3.3."""
    return hdfs("hdfs-3-3", PLAIN, "3.3.6")


@step(default=False, needs=BUILDS[1:])
def races():
    """The thread sanitizer (which wants addresses not to be random) on what has threads, and on a whole run."""
    # A worker has no thread, and the sanitizer's own one is not to be had in its confinement: it comes from build-clang.
    whole = {**media(), "OLDDOG_LIBEXEC": str(ROOT / "build-clang")}
    built = build("build-tsan", "-Db_sanitize=thread")
    listed = subprocess.run(["meson", "test", "-C", "build-tsan", "--list"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    names = re.findall(r"\b((?:net|store|plan|feed)_\w+)$", listed.stdout, re.MULTILINE)
    counts = [
        built, meson_test("races", "build-tsan", *names, env=media(), wrap=["setarch", "-R"]),
        one("races-read", ["setarch", "-R", "build-tsan/olddog", "read", Path(whole["OLDDOG_MEDIA"]) / "set", "--digest=sample"],
            600, whole)]
    return Counts(sum(c.passed for c in counts), sum((c.failed for c in counts), []), sum((c.skipped for c in counts), []))


@step(default=False)
def fuzz():
    """Half a minute of new inputs for every parser."""
    return one("fuzz", ["scripts/fuzz"], 1800, {"SECONDS_EACH": "30"})


@step(default=False)
def demo():
    """make demo, with its claims."""
    return one("demo", ["scripts/demo"], 1800)


@step(default=False)
def demo_hdfs():
    """make demo-hdfs, with its claims."""
    return one("demo-hdfs", ["scripts/demo-hdfs"], 1800)


# --- all of it

def choose(args):
    if args.steps:
        unknown = [s for s in args.steps if s not in STEPS]
        if unknown:
            raise SystemExit(f"test: no step is named {' '.join(unknown)}; there are: {' '.join(STEPS)}")
        return list(dict.fromkeys(s for name in args.steps for s in (*STEPS[name].needs, name)))
    others = [name for name, step in STEPS.items() if not step.default]
    if args.slice:
        others = [others[int(args.slice[:8], 16) % len(others)]]
        print(f"test: of the rest, commit {args.slice[:12]} chooses {others[0]}", flush=True)
    return [name for name, step in STEPS.items() if step.default] + (others if args.all or args.slice else [])


def run_step(name):
    """The step's counts; what it raised is a failure with words."""
    try:
        return STEPS[name].run()
    except Exception as e:  # a broken step must not end the others
        return Counts(failed=[f"{name}: {type(e).__name__}: {e}"])


def show(name, counts, seconds):
    print(f"{'FAIL' if counts.failed else 'ok  '} {name:12} {counts.passed} passed, {len(counts.failed)} failed, "
          f"{len(counts.skipped)} skipped in {seconds:.0f} s", flush=True)
    for words in counts.failed:
        print(f"     failed: {words}")
    for words in counts.skipped:
        print(f"     skipped: {words}")
    if counts.failed:
        for log in sorted(LOGS.glob("*.log"), key=lambda p: p.stat().st_mtime)[-1:]:
            print(f"     the end of {log.relative_to(ROOT)}:")
            print("\n".join(log.read_text(errors="replace").splitlines()[-120:]), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--slice", metavar="COMMIT")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("steps", nargs="*", metavar="STEP")
    args = parser.parse_args()
    if args.list:
        for name, step in STEPS.items():
            print(f"{name:12} {'test' if step.default else 'test-all':9} {(step.run.__doc__ or '').strip()}")
        return 0
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir()
    passed, failed, skipped = 0, 0, 0
    for name in choose(args):
        began = time.monotonic()
        counts = run_step(name)
        show(name, counts, time.monotonic() - began)
        passed, failed, skipped = passed + counts.passed, failed + len(counts.failed), skipped + len(counts.skipped)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
