# SPDX-License-Identifier: Apache-2.0
"""Checks of the tree itself. Each is a function that yields faults as words; `scripts/check NAME..` runs those named."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE, MAX_FUNCTION, MAX_COLUMNS = 600, 60, 132

CHECKS = {}


def add(function):
    CHECKS[function.__name__] = function
    return function


def files(*patterns):
    """What git has, or would have, by pattern."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=ROOT,
                         stdout=subprocess.PIPE, check=True, text=True).stdout
    return [Path(p) for p in sorted(set(out.splitlines())) if (ROOT / p).is_file()]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def c_files():
    return files("src/*.c", "src/*.h", "include/*.h", "tests/*.c", "tests/*.h", "python/*.c", "python/*.h")


def includes(path):
    """(line number, what is included) of our own headers."""
    for number, line in enumerate(text(path).splitlines(), 1):
        if found := re.match(r'\s*#\s*include\s+"([^"]+)"', line):
            yield number, found[1]


@add
def layers():
    """A folder of src/ includes only from itself and from those that src/meson.build names before it."""
    order = re.findall(r"^\s*subdir\('(\w+)'\)", text("src/meson.build"), re.MULTILINE)
    for path in files("src/*.c", "src/*.h"):
        folder = path.parts[1]
        if folder not in order:
            continue  # headers only, not built yet
        for number, header in includes(path):
            other = header.split("/")[0]
            if header == "olddog.h":
                continue
            if "/" not in header:
                yield f"{path}:{number}: include by path from src/, as \"{folder}/{header}\""
            elif other not in order:
                yield f"{path}:{number}: {other}/ is not in src/meson.build"
            elif order.index(other) > order.index(folder):
                yield f"{path}:{number}: {folder}/ comes before {other}/ and may not use it"


@add
def rooms():
    """A folder below one of src/ includes from those that are named before it where it is built, or what has no .c file."""
    for build in files("src/*/meson.build"):
        order = list(dict.fromkeys(re.findall(r"'((?:\w+/)+)\w+\.c'", text(build))))
        for path in files(*(f"{build.parent}/{room}*.[ch]" for room in order)) if order else []:
            room = "/".join(path.parts[2:-1]) + "/"
            for number, header in includes(path):
                other = "/".join(header.split("/")[1:-1]) + "/"
                later = header.startswith(f"{path.parts[1]}/") and other in order[order.index(room) + 1:]
                if later and (ROOT / "src" / header).with_suffix(".c").exists():
                    yield f"{path}:{number}: {room} comes before {other} and may not use it"


@add
def limits():
    """Files and functions that a reader can hold in the head."""
    for path in c_files():
        lines = text(path).splitlines()
        if len(lines) > MAX_FILE:
            yield f"{path}: {len(lines)} lines; {MAX_FILE} at most"
        begin = None
        for number, line in enumerate(lines, 1):
            width = len(line.expandtabs(8))
            if width > MAX_COLUMNS:
                yield f"{path}:{number}: {width} columns; {MAX_COLUMNS} at most"
            if line == "{":
                begin = number
            elif line.startswith("}") and begin:
                if number - begin - 1 > MAX_FUNCTION and path.suffix == ".c":
                    yield f"{path}:{begin}: a function of {number - begin - 1} lines; {MAX_FUNCTION} at most"
                begin = None


@add
def heads():
    """Every source says its licence, and C files what they are (a .c whose header says it need not)."""
    for path in c_files():
        lines = text(path).splitlines()
        if not lines or lines[0] != "/* SPDX-License-Identifier: Apache-2.0 */":
            yield f"{path}:1: not /* SPDX-License-Identifier: Apache-2.0 */"
        elif not (len(lines) > 1 and lines[1].startswith("/*")) and not (ROOT / path).with_suffix(".h").exists():
            yield f"{path}:2: no comment that says what the file is"
    for path in files("scripts/*", "bench/*", "demo/*", ".ci/*", "*.py"):
        if path.suffix in (".txt", ".tsv", ".md", ".json", ".yaml", ".build"):
            continue
        if "SPDX-License-Identifier: Apache-2.0" not in "".join(text(path).splitlines()[:4]):
            yield f"{path}: no SPDX-License-Identifier in its first lines"


@add
def calls():
    """Calls that have a better form here. (banned.h has those that can be banned by the compiler.)"""
    better = {r"(?<![\w.>])(?:malloc|calloc|realloc|free|strdup|strndup)\(": "mem_* of base/mem.h",
              r"\bgoto\b": "AUTO and TAKE of base/scope.h",
              r"\b(?:usleep|nanosleep|sleep)\(": "a timer of net/loop.h"}
    for path in files("src/*.c", "src/*.h"):
        if path.name in ("mem.c", "banned.h"):
            continue
        in_comment = False
        for number, line in enumerate(text(path).splitlines(), 1):
            if re.search(r"/\* \w+'s \*/$", line):
                continue  # memory of a library that says so
            code = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"])*\"", "", line)
            if in_comment or "/*" in code:
                in_comment = "*/" not in code
                code = "" if in_comment or "*/" in line else code.split("/*")[0]
            for pattern, instead in better.items():
                found = re.search(pattern, code)
                if found:
                    yield f"{path}:{number}: {found[0]} - use {instead}"


@add
def words():
    """Nothing half done, and nothing of the machine on which it was written."""
    never = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b|(?<![\w.])/(?:wo" r"rk|sr" r"v)/|/ho" r"me/\w")
    for path in files():
        if b"\0" in (ROOT / path).read_bytes()[:8000] or "corpus" in path.parts or "data" in path.parts:
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            if never.search(line):
                yield f"{path}:{number}: {line.strip()[:100]}"
            if line != line.rstrip() and path.suffix not in (".md", ".map"):
                yield f"{path}:{number}: white space at the end"
            if path.suffix in (".c", ".h") and re.match(r" {2,}[^* \\]", line):
                yield f"{path}:{number}: indented by spaces"


@add
def symbols():
    """The public header, the library's map and the man page name the same functions."""
    header = ROOT / "include/olddog.h"
    if not header.exists():
        return
    declared = set(re.findall(r"\b(olddog_\w+)\(", re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)))
    for pattern, what in (("*.map", "the map"), ("doc/*/libolddog.3.scd", "the man page")):
        found = files(pattern)
        if not found:
            yield f"no {pattern}: where is {what}?"
            continue
        named = set(re.findall(r"\b(olddog_\w+)\b", text(found[0])))
        for name in sorted(declared - named):
            yield f"{found[0]}: {name} of olddog.h is not in {what}"
        if pattern == "*.map":
            for name in sorted(named - declared):
                yield f"{found[0]}: {name} is not in olddog.h"
    for path in files("python/*.c"):
        for name in sorted(set(re.findall(r"\b(olddog_\w+)\(", text(path))) - declared):
            if not re.search(rf"^static .*\b{name}\(", text(path), re.MULTILINE):
                yield f"{path}: {name} is not in olddog.h"


@add
def man():
    """Every verb has a man page that names its options, no others, and every page is built."""
    built = re.findall(r"'([\w-]+\.\d)'", text("doc/meson.build")) if (ROOT / "doc/meson.build").exists() else []
    for path in files("doc/man/*.scd"):
        if path.stem not in built:
            yield f"doc/meson.build: {path.stem} is not among man_pages"
    for path in files("src/cli/*.c"):
        verb = re.search(r"^const struct cmd cmd_(\w+) =", text(path), re.MULTILINE)
        if not verb:
            continue
        page = ROOT / f"doc/man/olddog-{verb[1]}.1.scd"
        if not page.exists():
            yield f"{path}: no doc/man/{page.name}"
            continue
        has = set(re.findall(r'^\t\{"([\w-]+)", (?:0|\'.\'), OPT_', text(path), re.MULTILINE))
        heads = [line for line in page.read_text().splitlines() if re.match(r"\*-", line)]
        told = set(re.findall(r"--([\w-]+)", "\n".join(heads)))
        for name in sorted(has - told):
            yield f"doc/man/{page.name}: --{name} is not in it"
        for name in sorted(told - has - {"help"}):
            yield f"doc/man/{page.name}: {path} has no --{name}"


@add
def figures():
    """The README's figures and doc/benchmarks.md are what bench/table makes of bench/results."""
    run = subprocess.run([ROOT / "bench/table", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        yield from run.stdout.splitlines()


def run_all(names=None):
    for name in names or CHECKS:
        yield name, list(CHECKS[name]())


def main(names):
    failed = False
    for name, faults in run_all(names):
        for fault in faults:
            print(f"{name}: {fault}")
        print(f"{'FAIL' if faults else 'ok  '} {name}: {CHECKS[name].__doc__}")
        failed |= bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
