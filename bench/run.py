# SPDX-License-Identifier: Apache-2.0
"""run.py: runs the benchmarks, prints a table and writes build/bench.json.

Usage: python3 bench/run.py [--only PATTERN] [--quick] [--strict] [--build FOLDER]

Every program in build/bench prints one JSON object per row; so does bench/python.py, with the
Python of .venv, and so do the comparisons with other systems, bench/peer_*.py, bench/python.py
--peer, bench/mirrored.py and bench/training.py, with the Python of .venv-bench where `make
bench-peers` has made it. A ratio is value / yardstick, measured in one process in turns. It holds
with a margin of 10 %. A row that misses its target says so, and the exit code is 0 all the same
unless --strict is given.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER_PYTHON = ROOT / ".venv-bench/bin/python"
OWN_PYTHON = ROOT / ".venv/bin/python"
PEERS = ("torch", "jax", "tensorflow")  # of bench/python.py and bench/training.py
ORDER = ("graphs", "placer", "memory", "kernels", "startup")
FIELDS = (
    "name",
    "what",
    "value",
    "unit",
    "against",
    "yardstick",
    "ratio",
    "target",
    "at_least",
    "holds",
    "busy",
    "note",
    "skipped",
    "failed",
)


def programs(build):
    """(name, command) of everything that prints rows, in the order of the table."""
    found = {path.name: [str(path)] for path in (build / "bench").iterdir() if path.is_file()}
    if "startup" in found:
        found["startup"].append(str(build / "libsitu.so"))
    known = [name for name in ORDER if name in found]
    for name in known + sorted(set(found) - set(known)):
        yield name, found[name]
    for path in sorted((ROOT / "bench").glob("peer_*.py")):
        yield path.stem, [str(PEER_PYTHON), str(path), str(build / "libsitu.so")]
    script = str(ROOT / "bench/python.py")
    if OWN_PYTHON.exists():
        yield "python", [str(OWN_PYTHON), script]
        for peer in PEERS:
            yield f"python_{peer}", [str(PEER_PYTHON), script, "--peer", peer]
        yield "keras", [str(OWN_PYTHON), str(ROOT / "bench/keras.py")]
        script = str(ROOT / "bench/word2vec.py")
        yield "word2vec", [str(OWN_PYTHON), script]
        yield "word2vec_tensorflow", [str(PEER_PYTHON), script, "--peer", "tensorflow"]
        yield "mirrored_tensorflow", [str(PEER_PYTHON), str(ROOT / "bench/mirrored.py")]
        script = str(ROOT / "bench/training.py")
        for peer in PEERS:
            yield f"training_{peer}", [str(PEER_PYTHON), script, "--peer", peer]


def environment(build):
    """Peers get as many threads as situ, and their Python finds situ."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), str(build / "python")])
    if env.get("SITU_THREADS"):
        env["OMP_NUM_THREADS"] = env["SITU_THREADS"]
    return env


def rows_of(name, command, build, options):
    """Runs a program; yields its rows, and one more if it fails."""
    is_peer = command[0] == str(PEER_PYTHON)
    if is_peer and not PEER_PYTHON.exists():
        if not options.only or options.only in name.replace("_", "."):
            yield {"name": name.replace("_", "."), "what": "", "skipped": "run make bench-peers"}
        return
    extra = ["--quick"] if options.quick else []
    extra += ["--only", options.only] if options.only else []
    at = 2 if command[1:] and command[1].endswith(".py") else 1
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [*command[:at], *extra, *command[at:]],
            text=True,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(build),
        )
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
        if process.wait():
            errors.seek(0)
            last = errors.read().strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
            yield {"name": name, "what": "", "failed": last[0]}


def number(value):
    """Three digits are what a shared machine gives."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def verdict(row):
    if row.get("skipped"):
        return "skipped: " + row["skipped"]
    if row.get("failed"):
        return "FAILED: " + row["failed"]
    if row.get("target") is None:
        return ""
    sign = ">=" if row["at_least"] else "<="
    busy = " (busy machine)" if row.get("busy") else ""
    return f"{sign} {row['target']:g} " + ("holds" if row["holds"] else "MISSED") + busy


def show(row):
    """One line of the table, and one for the note."""
    against = row.get("against") or ""
    if row.get("yardstick") is not None:
        against += f" {number(row['yardstick'])}"
    value = f"{number(row.get('value'))} {row.get('unit') or ''}" if row.get("unit") else ""
    ratio = number(row.get("ratio"))
    print(
        f"  {row['name']:<22}{row['what']:<52}{value:>16}  {against:<32}{ratio:>7}  {verdict(row)}"
    )
    if row.get("note"):
        print(f"  {'':<22}{row['note']}")
    sys.stdout.flush()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="PATTERN", help="rows whose name has or matches this")
    parser.add_argument("--quick", action="store_true", help="fewer bursts: figures are rough")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a target is missed")
    parser.add_argument("--build", metavar="FOLDER", default=str(ROOT / "build"))
    return parser.parse_args()


def main():
    options = arguments()
    build = Path(options.build).resolve()
    rows, section = [], None
    heads = ("name", "what", "value", "against", "ratio", "target")
    print("  {:<22}{:<52}{:>16}  {:<32}{:>7}  {}".format(*heads))
    for name, command in programs(build):
        for row in rows_of(name, command, build, options):
            if row["name"].split(".")[0] != section:
                section = row["name"].split(".")[0]
                print()
            show(row)
            rows.append({field: row.get(field) for field in FIELDS})
    (build / "bench.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    missed = [row["name"] for row in rows if row["holds"] is False or row["failed"]]
    held = sum(row["holds"] is True for row in rows)
    names = ": " + ", ".join(missed) if missed else ""
    print(f"\n{held} targets hold, {len(missed)} missed{names}")
    print(f"rows are in {build / 'bench.json'}")
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
