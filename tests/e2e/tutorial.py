"""The commands of a page of docs/, as a reader would type them, with the output that the page shows.

tutorial.py tutorial|library|ci|first_gpu_run BUILD_TREE

In a block of code, a line that begins with "$ " is a command, "# exit code N" at its end what it returns; the lines after it
stand in its output, in order. "..." stands for any text, on a line of its own for any lines.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from harness import main, require

SOURCE = Path(__file__).resolve().parents[2]


def blocks(page):
    return re.findall(r"^```(\w*)\n(.*?)^```$", (SOURCE / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)


def commands(page):
    """(command, exit code, lines of output)"""
    found = []
    for kind, text in blocks(page):
        if kind not in ("", "sh"):
            continue
        for line in text.splitlines():
            if line.startswith("$ "):
                command, _, code = line[2:].partition(" # exit code ")
                found.append((command, int(code or 0), []))
            elif found:
                found[-1][2].append(line)
    require(len(found) >= 6, f"{page}: only {len(found)} commands")
    return found


def type_in(build, scratch, page):
    environment = {**os.environ, "PATH": f"{build.bin}:{os.environ['PATH']}", "INCLUDE": str(SOURCE / "include")}
    for command, code, lines in commands(page):
        # No test depends on times.
        command = command.replace("> 10 * eager", "> 1e9 * eager").replace("--fail-if-slower 20", "--fail-if-slower 1e9")
        done = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
        require(done.returncode == code, f"{command}: exit code {done.returncode}, not {code}\n{done.stdout}")
        output = done.stdout.splitlines()
        for line in (line for line in lines if line != "..."):
            pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
            place = next((n for n, one in enumerate(output) if pattern.fullmatch(one)), None)
            require(place is not None, f"{command}: no line {line!r} in\n{done.stdout}")
            output = output[place + 1:]


def tutorial(build, scratch):
    programs = [text for kind, text in blocks("tutorial.md") if kind == "cpp"]
    require(len(programs) == 1, f"{len(programs)} programs")
    (scratch / "step.hip").write_text(programs[0])
    type_in(build, scratch, "tutorial.md")
    require(all((scratch / name).stat().st_size > 10000 for name in ("step.html", "one.html")), "pages")


def library(build, scratch):
    """The code of library.md compiles. It is the core of the programs that e2e_embed_decode runs."""
    code = [text for kind, text in blocks("library.md") if kind == "cpp"]
    require(len(code) == 1, f"{len(code)} pieces of code")
    include, body = code[0].split("\n", 1)
    source = scratch / "library.cpp"
    source.write_text(f"{include}\nvoid example(void* my_logits, size_t size, void* my_stream) {{\n{body}}}\n")
    done = subprocess.run(["g++", "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", "-I", SOURCE / "include", source],
                          capture_output=True, text=True, timeout=120)
    require(done.returncode == 0, done.stderr)


def ci(build, scratch):
    shutil.copy(build.samples / "saxpy", scratch / "app")
    type_in(build, scratch, "ci.md")


def first_gpu_run(build, scratch):
    shutil.copy(build.samples / "saxpy", scratch / "app")
    type_in(build, scratch, "first-gpu-run.md")


if __name__ == "__main__":
    main({"tutorial": tutorial, "library": library, "ci": ci, "first_gpu_run": first_gpu_run})
