"""Help texts, manual pages, shell completion, and what README.md shows.

documentation.py examples|manuals|completion|readme BUILD_TREE
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from harness import main, require, run

TOPICS = (("gfxgraph",), ("gfxgraph-record",), ("gfxgraph-replay",), *(("gfxgraph", command) for command in (
    "run", "accelerate", "info", "check", "merge", "provenance", "coverage", "verify", "recover", "diff", "extract", "export", "report", "doctor")))


def help_of(build, topic):
    return run(build.tool(*topic, "--help")).stdout


def examples(build, scratch):
    """Every example of a help text runs as it stands, beside what it names."""
    commands = set(re.findall(r"^  ([a-z]+) ", help_of(build, ("gfxgraph",)), re.MULTILINE)) - {"record", "replay", "gfxgraph"}
    require(commands == {topic[1] for topic in TOPICS if len(topic) > 1}, f"commands: {commands}")
    shutil.copy(build.samples / "saxpy", scratch / "app")
    recorded = scratch / "recorded.gfxg"
    run(build.record(recorded, scratch / "app"))
    environment = {"PATH": f"{build.bin}:/usr/bin:/bin", "HOME": str(scratch)}
    environment |= {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "GFXGRAPH_TEST_COMGR_CACHE") if name in os.environ}
    for number, topic in enumerate(TOPICS):
        text = help_of(build, topic)
        found = re.findall(r"^Example: +(.*)$|^  (gfxgraph\S* .*?)  +\S.*$", text.split("\nUsage:")[0], re.MULTILINE)
        require(found, f"{topic}: no example")
        for example in map("".join, found):
            folder = scratch / f"{number}-{found.index(next(one for one in found if ''.join(one) == example))}"
            folder.mkdir()
            shutil.copy(build.samples / "saxpy", folder / "app")
            if "-record" not in example:
                for name in ("app.gfxg", "before.gfxg", "after.gfxg", "app.gfxg.partial"):
                    shutil.copy(recorded, folder / name)
            if "recover" in example:
                (folder / "app.gfxg").unlink()
            if "merge" in example:
                for number in (1, 2):
                    run(build.tool("gfxgraph", "check", "--shard", f"{number}/2", recorded, "-o", folder / f"{number}.part"))
            done = subprocess.run(["bash", "-c", example], cwd=folder, capture_output=True, text=True, timeout=120,
                                  stdin=subprocess.DEVNULL, env=environment)
            require(done.returncode == 0, f"{example}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def manuals(build, scratch):
    """A page for each; man finds nothing to warn of; all options are there."""
    for topic in TOPICS:
        page = build.root / "documentation" / "man" / f"{'-'.join(topic)}.1"
        shown = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", page], capture_output=True, text=True, timeout=60)
        require(shown.returncode == 0 and not shown.stderr, f"{page}: {shown.stderr}")
        for option in re.findall(r"^  (?:-.,)?(--[a-z-]+)", help_of(build, topic), re.MULTILINE):
            require(option in shown.stdout.replace("\n", " "), f"{page} lacks {option}")


def readme(build, scratch):
    """Each command whose output README.md shows prints that, but for addresses and times."""
    source = Path(__file__).resolve().parents[2]
    run(build.record(scratch / "tail.gfxg", build.samples / "masked_tail"))
    shown = re.findall(r"^```\n\$ (build/release/.*)\n([^`]*)```$", (source / "README.md").read_text(), re.MULTILINE)
    require(len(shown) >= 3, f"{len(shown)} outputs in README.md")

    def varies_not(text):
        text = re.sub(r"0x[0-9a-f]{9,}", "ADDRESS", text)
        lines = [re.sub(r" +[0-9]+\.[0-9]", " TIME", line) if line.startswith("  ") else line for line in text.splitlines()]
        return [line.rstrip() for line in lines]

    for command, output in shown:
        here = command.replace("build/release/", f"{build.root}/").replace("build/demo/", f"{scratch}/")
        done = subprocess.run(["bash", "-c", here], cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300, stdin=subprocess.DEVNULL)
        printed = done.stdout.replace(f"{scratch}/", "build/demo/").replace(f"{build.root}/", "build/release/").replace(f"{source}/", "")
        rest = varies_not(printed)
        any_lines = False
        for line in varies_not(output):
            if line == "...":
                any_lines = True
                continue
            require(line in rest and (any_lines or rest[0] == line), f"README.md shows after $ {command}\n{line}\nprinted:\n{printed}")
            rest = rest[rest.index(line) + 1:]
            any_lines = False
        require(not rest or any_lines, f"README.md does not show after $ {command}\n{rest}")


def recipes(build, scratch):
    """Each command of README.md's recipes runs as it stands after scripts/demo, whose files are there and no others."""
    source = Path(__file__).resolve().parents[2]
    text = (source / "README.md").read_text()
    blocks = re.findall(r"^```\n([^$`][^`]*)```$", text[text.index("\n## Recipes"):text.index("\n## Support")], re.MULTILINE)
    require(len(blocks) == 7, f"{len(blocks)} blocks of commands")
    demo = scratch / "build" / "demo"
    demo.mkdir(parents=True)
    for name in ("include", "samples"):
        (scratch / name).symlink_to(source / name)
    (scratch / "build" / "release").symlink_to(build.root)
    for name, *program in (("decode", "decode_step"), ("tail", "masked_tail"), ("safe", "masked_tail", "--safe")):
        run(build.record(demo / f"{name}.gfxg", build.samples / program[0], *program[1:]))
    done = subprocess.run(["bash", "-c", "set -e\n" + "".join(blocks).replace("gfxgraph diff", "! gfxgraph diff")],
                          cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, stdin=subprocess.DEVNULL)
    require(done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-3000:]}")
    tokens = run(build.tool("gfxgraph", "run", "--", build.samples / "decode_step", "--tokens", 64)).stdout.splitlines()[0]
    require(tokens in done.stdout, f"embed_decode does not print {tokens}")
    require("captured_step: PASS: 64 steps" in done.stdout, "captured_step does not pass")


def completion(build, scratch):
    script = build.root / "documentation" / "completion" / "bash"
    (scratch / "app.gfxg").touch()

    def complete(*words):
        quoted = " ".join(f"'{word}'" for word in words)
        text = f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; compopt() {{ :; }}; _gfxgraph; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return run(["bash", "-c", f"cd {scratch}; {text}"]).stdout.split()

    require("check" in complete("gfxgraph", "ch") and "info" not in complete("gfxgraph", "ch"), "commands")
    require(complete("gfxgraph", "check", "--mas") == ["--masked-lane"], "options")
    require(complete("gfxgraph", "check", "--format", "s") == ["sarif"], "values")
    require(complete("gfxgraph-replay", "app.gfxg", "--mode", "=", "g") == ["graph"], "values after =")
    require(complete("gfxgraph", "replay", "--mode", "b") == ["batch"], "a program as a command")
    require(complete("gfxgraph", "info", "ap") == ["app.gfxg"], "files")
    for topic in TOPICS[1:]:
        wanted = set(re.findall(r"^  (?:-.,)?(--[a-z-]+)", help_of(build, topic), re.MULTILINE))
        require(set(complete(*topic, "--")) >= wanted, f"{topic}: {wanted}")


if __name__ == "__main__":
    main({"examples": examples, "manuals": manuals, "completion": completion, "readme": readme, "recipes": recipes})
