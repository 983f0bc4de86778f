"""Every program, header and library that the build or a script uses is in the closure of scripts/packages.txt.

check_packages.py BUILD_TREE. A machine with more packages than a bare one hides that one is missing from the list. So
what is used is not taken from lists but from where it stands for the build itself:

- build.ninja: compilers, programs, libraries, CMake packages; ninja's dependency log: each header that was read
- the programs that compilers start and what they link, by their own -###, for each kind of command and each preset
- headers of HIP programs, which ninja does not know: hipcc -M of all that they include
- find_program, find_library and find_path of CMake files, by CMakeCache.txt
- the commands of all shell scripts, by shfmt's syntax trees, and the modules that Python files import

Not seen here: programs whose name is a variable or a string of C++ or Python. Tests meet those: ctest runs all of them
with the closure's programs as PATH (cmake/closed_path.cmake). Not seen at all: files that programs open by themselves,
and libraries loaded by dlopen. scripts/check-bare, which has nothing but the closure, meets those too.
"""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import packages
import sources

# Programs that start another one, named by their first argument that is neither an option nor an assignment nor a number.
STARTERS = {"command", "env", "exec", "nice", "nohup", "sudo", "time", "timeout", "unshare", "xargs"}
# Asked for by scripts that say what to do without them.
OPTIONAL = {"sudo"}
# Modules of PyPI that a user of the package may have, or that a check installs itself.
WITH_PYPI = {"cffi", "numpy", "pytest", "triton"}
# Options that start no other program and read no other file.
SAME_PROGRAMS = re.compile(r"-([IDOWw]|std=|g(dwarf-\d)?$|mno-|mwave|mcode-object-version|fPIC|pthread|fgpu-flush)")
ABSOLUTE = re.compile(r"(?<![\w$.}/+-])/(?:usr|bin|lib|lib64|sbin|opt|etc)/[^\s\"'$;:,)(|&<>=\\]+")


class Uses:
    """What is used, and where: {path or program name: place}."""

    def __init__(self, build):
        self.build = build
        self.own = (str(sources.ROOT), str(build))
        self.found = {}

    def path(self, path, place):
        path = os.path.normpath(path)
        if not path.startswith(self.own) and not path.startswith("/tmp/") and not os.path.isdir(path):
            self.found.setdefault(path, place)

    def program(self, name, place):
        if name.startswith("/"):
            self.path(name, place)
        elif "/" not in name:
            self.found.setdefault(name, place)


def ninja(build, *arguments):
    done = subprocess.run(["ninja", "-C", str(build), "-t", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"ninja -t {arguments[0]}: {done.stderr}")
    return done.stdout


def build_files(uses):
    for path in set(ABSOLUTE.findall((uses.build / "build.ninja").read_text())):
        if os.path.exists(path):  # ninja itself complains otherwise
            uses.path(path, "build.ninja")
    headers = re.findall(r"^ {4}(/.*)$", ninja(uses.build, "deps"), re.MULTILINE)
    for path in set(headers):
        uses.path(path, "a header that the build reads")
    return len(headers)


def cache(uses):
    """Only what this project's files look for: packages of others look for programs that nothing runs."""
    values = dict(re.findall(r"^([\w-]+):\w+=(/.*)$", (uses.build / "CMakeCache.txt").read_text(), re.MULTILINE))
    for path in sources.files():
        if path.name == "CMakeLists.txt" or path.suffix == ".cmake":
            for kind, name in re.findall(r"\bfind_(program|library|file)\s*\(\s*(\w+)", sources.text(path)):
                if name in values:
                    uses.path(values[name], f"{path}: find_{kind}({name})")


def started(uses, place, command, folder):
    """What a compiler would start for this command, and the files that it names."""
    done = subprocess.run([*command, "-###"], cwd=folder, capture_output=True, text=True)
    lines = [shlex.split(line) for line in done.stderr.splitlines() if line.startswith(" ")]
    if done.returncode != 0 or not lines:
        return f"{place}: {shlex.join(command)} -###: {done.stderr[-400:]}"
    lines = [line for line in lines if "=" not in line[0]]  # COLLECT_GCC_OPTIONS=...
    home = next((os.path.dirname(line[0]) for line in lines if "-cc1" in line), "")
    for line in lines:
        # clang prefers what stands beside it; on this machine another version's may come before.
        beside = os.path.join(home, os.path.basename(line[0]))
        uses.program(beside if home and CLOSURE.has(beside) else line[0], f"started by {place}")
        for word in line[1:]:
            if word.startswith("/") and (os.path.exists(word) or word.endswith((".a", ".bc", ".o", ".so"))):
                uses.path(word, f"linked by {place}")
    return None


def kinds_of_commands(uses):
    """One command of each kind that starts a compiler of HIP or clang: those that differ only in the names of files or in
    how code is made are one."""
    kinds = {}
    for line in set(ninja(uses.build, "commands").splitlines()):
        folder = uses.build
        for part in line.split(" && "):
            words = shlex.split(part)
            if words[:1] == ["cd"]:
                folder = words[1]
            elif words and re.fullmatch(r"(hipcc|clang(\+\+)?(-\d+)?)", os.path.basename(words[0])):
                options = frozenset(word for word in words if word.startswith("-") and not SAME_PROGRAMS.match(word))
                kinds.setdefault((words[0], options), (words, folder))
    return [(os.path.basename(name), words, folder) for (name, _), (words, folder) in kinds.items()]


def presets():
    """A program of each preset's compilers, linked as the preset links it."""
    kinds = set()
    for preset in json.loads((sources.ROOT / "CMakePresets.json").read_text())["configurePresets"]:
        values = preset.get("cacheVariables", {})
        sanitize = values.get("GFXGRAPH_SANITIZE")
        engine = ",fuzzer" if values.get("GFXGRAPH_FUZZ") == "ON" else ""
        kinds.add((values.get("CMAKE_CXX_COMPILER", "c++"), f"-fsanitize={sanitize}{engine}" if sanitize else "-O2"))
    return sorted(kinds)


def headers(uses, place, command, text, suffix, scratch):
    source = scratch / f"{place.split()[0]}{suffix}"
    source.write_text(text)
    done = subprocess.run([*command, "-M", "-w", str(source)], cwd=sources.ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        return f"{place}: {shlex.join(command)} -M: {done.stderr[-800:]}"
    for path in set(re.findall(r"(?<!\S)/\S+", done.stdout.replace("\\\n", " "))):
        uses.path(path, f"a header that {place} reads")
    return None


def compilers(uses):
    """All questions to compilers, side by side."""
    with tempfile.TemporaryDirectory(prefix="gfxgraph-lint-") as folder, ThreadPoolExecutor() as pool:
        scratch = Path(folder)
        (scratch / "main.cpp").write_text("int main() { return 0; }\n")
        jobs = [pool.submit(started, uses, *kind) for kind in kinds_of_commands(uses)]
        for compiler, option in presets():
            jobs.append(pool.submit(started, uses, f"{compiler} {option}",
                                    [compiler, option, str(scratch / "main.cpp"), "-o", "main"], scratch))
        included = set()
        for path in sources.files():
            if path.suffix == ".hip" and path.parts[:2] not in {("tests", "libraries"), ("scripts", "workloads")}:  # those are for other suites
                included |= set(re.findall(r"^\s*#\s*include\s*(<[^>]+>)", sources.text(path), re.MULTILINE))
        text = "".join(f"#include {name}\n" for name in sorted(included))
        jobs.append(pool.submit(headers, uses, "hipcc", ["hipcc", "--offload-arch=gfx1030", "-std=c++17", "-O2", "-Iinclude"],
                                text, ".hip", scratch))
        for compiler in {compiler for compiler, _ in presets() if compiler.startswith("clang")}:
            jobs.append(pool.submit(headers, uses, compiler, [compiler, "-std=c++20"],
                                    "#include <cstddef>\n#include <cstdint>\n#include <immintrin.h>\n", ".cpp", scratch))
        problems = [job.result() for job in jobs]
    return len(jobs), [problem for problem in problems if problem]


def literal(word):
    """The text of a word without expansions, else None."""
    parts = word.get("Parts", [])
    if len(parts) == 1 and parts[0]["Type"] == "DblQuoted":
        parts = parts[0].get("Parts", [])
    if len(parts) == 1 and parts[0]["Type"] in ("Lit", "SglQuoted"):
        return parts[0].get("Value", "")
    return None


def nodes(tree):
    """All objects of a syntax tree."""
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes(value)


def syntax(text):
    done = subprocess.run(["shfmt", "--to-json", "-ln", "bash"], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def commands(tree):
    """The programs that a script starts by name, also those that other programs start for it."""
    for node in nodes(tree):
        words = [literal(word) for word in node.get("Args") or []] if node.get("Type") == "CallExpr" else []
        line = (node.get("Pos") or {}).get("Line", 0)
        starter = True
        for number, word in enumerate(words):
            if word is None:  # what it starts, if it starts something, cannot be seen
                starter = False
                continue
            if word == "chroot" and starter:  # what follows is of that system
                yield line, word
                break
            if words[number - 1] == "-c" and words[0] in ("bash", "sh", *STARTERS) or number == 1 and words[0] == "trap":
                yield from commands(syntax(word))
            elif words[number - 1] in ("-exec", "-execdir"):
                yield line, word
            elif starter and not re.match(r"-|\w+=|[\d.]+$|[A-Z_]+$", word):
                yield line, word
                starter = word in STARTERS


def shell(uses):
    scripts = {path: sources.text(path) for path in sources.files() if sources.is_shell(path)}
    with ThreadPoolExecutor() as pool:
        trees = dict(zip(scripts, pool.map(syntax, scripts.values())))
    known = set(subprocess.run(["bash", "-c", "compgen -bk"], check=True, capture_output=True, text=True).stdout.split())
    known |= {node["Name"]["Value"] for tree in trees.values() for node in nodes(tree) if node.get("Type") == "FuncDecl"}
    # This project's own programs, built or not.
    known |= set(re.findall(r"^build bin/([\w-]+)", (uses.build / "build.ninja").read_text(), re.MULTILINE))
    for path, tree in trees.items():
        for line, name in commands(tree):
            if name and name not in known | OPTIONAL and "/" not in name:
                uses.program(name, f"{path}:{line}")
    return len(scripts)


def python(uses):
    """Modules, where Debian's own Python finds them; and programs that are started by name."""
    own = {path.stem for path in sources.files() if path.suffix == ".py"} | {"gfxgraph"} | WITH_PYPI
    modules = {}
    for path in sources.files():
        if path.suffix != ".py" or path.parts[:2] == ("tests", "libraries") or path.parts[:3] == ("tests", "workloads", "python"):
            continue  # those are for other suites, with wheels of their own
        for node in ast.walk(ast.parse(sources.text(path))):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            for name in {name.split(".")[0] for name in found} - own:
                modules.setdefault(name, path)
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.List) and node.args[0].elts:
                first = node.args[0].elts[0]
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called in ("run", "Popen", "check_output") and isinstance(first, ast.Constant):
                    uses.program(first.value, f"{path}:{node.lineno}")
    finder = "import importlib.util, sys\nfor name in sys.argv[1:]:\n" \
        "    spec = importlib.util.find_spec(name)\n    print(name, spec.origin if spec else '/nowhere/' + name)"
    done = subprocess.run(["/usr/bin/python3", "-c", finder, *modules], check=True, capture_output=True, text=True)
    for name, origin in map(str.split, done.stdout.splitlines()):
        if origin.startswith("/"):  # neither "built-in" nor "frozen"
            uses.path(origin, f"{modules[name]}: import {name}")


def main():
    uses = Uses(Path(sys.argv[1]).resolve())
    known_headers = build_files(uses)
    cache(uses)
    asked, problems = compilers(uses)
    scripts = shell(uses)
    python(uses)
    # Nothing found means that nothing was looked at.
    for what, number in (("headers", known_headers), ("compiler commands", asked), ("shell scripts", scripts)):
        if number < 5:
            problems.append(f"only {number} {what} were found: is {uses.build} built?")
    problems += [f"scripts/packages.txt: {name} is not installed: run scripts/setup" for name in CLOSURE.missing]
    for name, place in sorted(uses.found.items()):
        if name.startswith("/"):
            if not CLOSURE.has(name):
                there = packages.owner(name) if os.path.exists(name) else "a file that is not installed"
                problems.append(f"{place}: {name} ({there}) is in no package that scripts/packages.txt brings")
        elif not CLOSURE.program(name):
            problems.append(f"{place}: {name} is a program of no package that scripts/packages.txt brings")
    sources.finish(problems, len(uses.found))


CLOSURE = packages.Closure()
main()
