"""Calls of HIP by Python programs are named by their lines, for each CPython that is installed here."""

import glob
import json
import os
import subprocess
import sys

from package import SOURCE

from harness import Failure, main, require, run

PROGRAM = os.path.join(SOURCE, "tests", "recorder", "programs", "sites", "program_sites.py")
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


def line_of(text, path):
    with open(path, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if f"# here: {text}" in line)


def sites(build, trace):
    """How often the program waited or freed, by the name of the place."""
    found = {}
    report = json.loads(run([build.tool("gfxgraph")[0], "info", str(trace), "--lint", "--json"]).stdout)
    for entry in report["lint"]:
        for line in entry["lines"]:
            for site in line["sites"]:
                found[site["site"], site["symbol"]] = found.get((site["site"], site["symbol"]), 0) + site["count"]
    return found


def require_lines(build, python, trace, version):
    run(build.record(trace, python, PROGRAM))
    found = sites(build, trace)
    step = "step" if version in ("3.9", "3.10") else "Model.step"  # code has no qualified names before 3.11
    expected = {("allocate", "allocate"): 2, ("step", step): 3, ("thread", "in_thread"): 1, ("callback", "called_back"): 1,
                ("with the interpreter's lock", "<module>"): 1}
    for (text, function), count in expected.items():
        place = f"program_sites.py:{line_of(text, PROGRAM)}", function
        require(found.get(place) == count, f"{version}: {place} has {found.get(place)}, not {count}: {found}")
    for i in range(64):
        require(found.get((f"made_{i % 8}.py:{i + 1}", "<module>")) == 1, f"{version}: made {i}: {found}")
    require(not any("libffi" in site or "_ctypes" in site for site, _ in found), f"{version}: {found}")


CALLERS = os.path.join(SOURCE, "tests", "python", "bindings", "callers.py")


def library_of(scratch):
    """callers.c over the HIP that the programs find."""
    path = scratch / "libcallers.so"
    run(["cc", "-O1", "-shared", "-fPIC", "-pthread", "-o", str(path), os.path.join(os.path.dirname(CALLERS), "callers.c"),
         "-Wl,--unresolved-symbols=ignore-all", "-l:libamdhip64.so.5"])
    return path


def callers(build, scratch):
    """A library beneath Python code is named beside the line, and alone where no Python code is."""
    library = library_of(scratch)
    for version, python in interpreters().items():
        trace = scratch / f"callers-{version}.gfxg"
        run(build.record(trace, python, CALLERS, library))
        found = {}
        text = run([build.tool("gfxgraph")[0], "info", str(trace), "--lint"]).stdout
        report = json.loads(run([build.tool("gfxgraph")[0], "info", str(trace), "--lint", "--json"]).stdout)
        for entry in report["lint"]:
            for line in entry["lines"]:
                for site in line["sites"]:
                    native = site["from"].split("+")[0]
                    found[site["site"].split("+")[0], site["symbol"].split(".")[-1], native] = site["count"]
        place = {name: f"callers.py:{line_of(name, CALLERS)}" for name in ("once", "both", "made", "thread")}
        expected = {(place["once"], "step", "libcallers.so:wait_once"): 3, (place["both"], "both", "libcallers.so:wait_once"): 1,
                    (place["both"], "both", "libcallers.so:wait_other"): 1, (place["thread"], "called_back", "libcallers.so:wait_once"): 1,
                    ("libcallers.so:wait_other", "wait_other", ""): 1}
        waits = {key: count for key, count in found.items() if "allocate" not in key[2]}
        require(waits == expected, f"{version}: {waits}")
        require(f"({place['once']}), from libcallers.so:wait_once+0x" in text, text)
        buffers = run([build.tool("gfxgraph")[0], "info", str(trace), "--buffers"]).stdout
        require(all(f"{place['made']}#{number}" in buffers for number in range(3)), f"{version}: {buffers}")
    print("with CPython " + ", ".join(interpreters()))


def ends(build, scratch):
    """Threads that are in HIP when the interpreter ends, and frees what their lines are read from."""
    library = library_of(scratch)
    for version, python in interpreters().items():
        for turn in range(5):
            trace = scratch / f"ends-{version}-{turn}.gfxg"
            run(build.record(trace, python, CALLERS, library, "ends"))
            info = json.loads(run([build.tool("gfxgraph")[0], "info", str(trace), "--json"]).stdout)
            require(info["complete"], f"{version}, {turn}: {info['findings']}")


def interpreters():
    """Of each version one that starts: of the path, and of pyenv."""
    found = {}
    candidates = [sys.executable] + [f"/usr/bin/python{version}" for version in VERSIONS]
    candidates += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    for path in candidates:
        try:
            version = subprocess.run([path, "-c", "import ctypes, sys; print('%d.%d' % sys.version_info[:2], sys.executable)"],
                                     capture_output=True, text=True, check=True).stdout.split()
        except (OSError, subprocess.CalledProcessError):
            continue
        found.setdefault(version[0], version[1])
    return {version: found[version] for version in VERSIONS if version in found}


def lines(build, scratch):
    """Line and function, in threads, callbacks, and code whose memory is used again."""
    found = interpreters()
    if not found:
        raise Failure("no interpreter")
    for version, python in found.items():
        require_lines(build, python, scratch / f"sites-{version}.gfxg", version)
    print("with CPython " + ", ".join(found))


if __name__ == "__main__":
    main({"lines": lines, "callers": callers, "ends": ends})
