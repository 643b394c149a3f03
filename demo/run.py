# SPDX-License-Identifier: Apache-2.0
"""The demo, step by step; scripts/demo has made what it needs. Ends with 0 only when every claim held.

    run.py OLDDOG MEDIA WORK RECOMPUTE_PYTHON
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
JOB = f"demo-{os.getpid()}"
STEPS, BATCH = 300, 48
failed = []


def title(words):
    print(f"\n--- {words}", flush=True)


def claim(words, holds):
    print(f"{'ok  ' if holds else 'FAIL'}  {words}", flush=True)
    if not holds:
        failed.append(words)


def run(*argv, **kw):
    print("$ " + " ".join(Path(a).name if os.path.isabs(str(a)) else str(a) for a in argv)[:150], flush=True)
    return subprocess.run([str(a) for a in argv], **kw)


# --- processes

def processes():
    """{pid: (parent, name)} of all that live."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
        if rest[0] not in "ZX":
            found[int(stat.parent.name)] = (int(rest[1]), name)
    return found


def of_our_job(pid):
    try:
        return f"OLDDOG_JOB={JOB}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def workers(root):
    """Decoding processes of the training that root is, or of the loader that it shares."""
    alive = processes()
    roots = {root} | {pid for pid, (_, name) in alive.items() if name == "olddog-loader" and of_our_job(pid)}

    def below(pid):
        while pid in alive:
            if pid in roots:
                return True
            pid = alive[pid][0]
        return False
    return [pid for pid, (_, name) in alive.items() if name == "olddog-worker" and below(pid)]


class Training:
    def __init__(self, work, name, ranks):
        self.log = work / "state" / f"{name}.log"
        argv = [sys.executable, HERE / "train.py", work / "train.plan", work / "held-out.plan", work / "state",
                "--run", name, "--ranks", ranks, "--steps", STEPS]
        print(f"$ train.py train.plan held-out.plan state --run {name} --ranks {ranks}", flush=True)
        self.popen = subprocess.Popen([str(a) for a in argv], start_new_session=True)
        self.pid = self.popen.pid

    def steps(self):
        """Steps that are in the log, whole."""
        return len(self.log.read_text().splitlines()) // BATCH if self.log.exists() else 0

    def wait_for(self, step, limit_s=600):
        """Whether it came that far."""
        until = time.monotonic() + limit_s
        while self.steps() < step and time.monotonic() < until:
            if self.popen.poll() is not None:
                return False
            time.sleep(0.02)
        return self.steps() >= step

    def kill(self):
        """The process and its ranks, at once and without a word."""
        os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait()


# --- the claims about positions

def read_log(path):
    """[(step, position, sum)], whole lines only: the last may have been cut by the kill."""
    rows = []
    for line in path.read_text().splitlines(keepends=True):
        words = line.split()
        if line.endswith("\n") and len(words) == 3:
            rows.append((int(words[0]), int(words[1]), words[2]))
    return rows


def check_positions(first, second):
    resumed = second[0][0]
    kept = [row for row in first if row[0] < resumed]
    positions = sorted(p for _, p, _ in kept + second)
    claim(f"{STEPS} steps consumed positions 0 to {STEPS * BATCH - 1}, each exactly once "
          f"({len(kept)} before the kill on 1 rank, {len(second)} after it on 3)", positions == list(range(STEPS * BATCH)))
    before, after = ({p: (step, s) for step, p, s in rows} for rows in (first, second))
    again = [p for p in before if p in after]
    claim(f"{len(again)} samples after the checkpoint were given twice, in the same steps and with the same bytes",
          bool(again) and all(before[p] == after[p] for p in again))


def train(work):
    title("train on one rank; kill -9 a decoding process, then everything")
    one = Training(work, "one", ranks=1)
    claim("it trains", one.wait_for(40))
    victims = workers(one.pid)
    if victims:
        os.kill(victims[0], signal.SIGKILL)
    claim("a decoding process was killed with -9, and training went on", bool(victims) and one.wait_for(90))
    one.wait_for(133)
    one.kill()
    print(f"killed with -9 after step {one.steps()}")
    title("resume from the last checkpoint, on three ranks")
    two = Training(work, "two", ranks=3)
    try:
        claim("it goes on to its end", two.popen.wait(timeout=900) == 0)
    finally:
        if two.popen.poll() is None:
            two.kill()
    if one.steps() and two.steps():
        check_positions(read_log(one.log), read_log(two.log))


def check_accuracy(work):
    """Read back from what was saved, by the training's own code."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import train, pathlib; from model import Model\n"
            "x, y = train.held_out(sys.argv[2]); m = Model(int(y.max()) + 1)\n"
            "print(train.restore(pathlib.Path(sys.argv[3]), m)[0], m.accuracy(x, y), len(x), int(y.max()) + 1)")
    p = subprocess.run([sys.executable, "-c", code, HERE, work / "held-out.plan", work / "state/checkpoint.npz"],
                       stdout=subprocess.PIPE, text=True)
    step, accuracy, n, classes = (p.stdout.split() + [0] * 4)[:4]
    claim(f"after step {step} it names the right one of {classes} photographs for {float(accuracy):.1%} of {n} pictures that "
          f"it never saw (chance: {1 / max(1, int(classes)):.1%})", int(step) == STEPS and float(accuracy) > 0.5)


def make_plans(olddog, media, work):
    title("WebDataset shards of real photographs, and their plans")
    run(sys.executable, "-W", "ignore", HERE / "make_shards.py", media, work / "shards", check=True)
    for name in ("train", "held-out"):
        spec = (HERE / f"{name}.yaml").read_text().replace("FOLDER", str(work / "shards"))
        (work / f"{name}.yaml").write_text(spec)
        run(olddog, "plan", work / f"{name}.yaml", "-o", work / f"{name}.plan", check=True)
    title("what the model will see")
    run(olddog, "peek", work / "train.plan", "-n", "3", "-o", work / "peek", check=True)


def recompute(work, python):
    title("recompute batches in an environment without olddog: Pillow and demo/recompute.py")
    records = sorted((work / "state/records").glob("*.npz"))
    p = run(python, HERE / "recompute.py", work / "shards", *records, stdout=subprocess.PIPE, text=True)
    print(p.stdout, end="")
    claim(f"{len(records)} batches are byte for byte what Pillow 13.0.0 gives for boxes and flips derived from seed and "
          "position", p.returncode == 0 and len(records) >= 20)


def main(olddog, media, work, python):
    work = Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    os.environ["OLDDOG_JOB"] = JOB
    make_plans(olddog, Path(media), work)
    train(work)
    check_accuracy(work)
    recompute(work, python)
    title("figures, beside torchvision on the same pictures")
    claim("the figures were taken", run(HERE.parent / "bench/loader", "--no-peers", "--rounds", "1", "--batch", "16",
                                        check=False).returncode == 0)
    print(f"\n{'all claims held' if not failed else 'these did not hold: ' + '; '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
