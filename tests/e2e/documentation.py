"""Help texts, manual pages and shell completion.

documentation.py examples|manuals|completion BUILD_TREE
"""

import re
import shutil
import subprocess

from harness import main, require, run

TOPICS = (("gfxgraph",), ("gfxgraph-record",), ("gfxgraph-replay",), *(("gfxgraph", command) for command in (
    "run", "info", "check", "provenance", "coverage", "verify", "recover", "diff", "extract", "export", "report")))


def help_of(build, topic):
    return run(build.tool(*topic, "--help")).stdout


def examples(build, scratch):
    """Every example of a help text runs as it stands, beside what it names."""
    commands = set(re.findall(r"^  ([a-z]+) ", help_of(build, ("gfxgraph",)), re.MULTILINE)) - {"record", "replay", "gfxgraph"}
    require(commands == {topic[1] for topic in TOPICS if len(topic) > 1}, f"commands: {commands}")
    for number, topic in enumerate(TOPICS):
        text = help_of(build, topic)
        found = re.findall(r"^Example: +(.*)$|^  (gfxgraph\S* .*?)  +\S.*$", text.split("\nUsage:")[0], re.MULTILINE)
        require(found, f"{topic}: no example")
        for example in map("".join, found):
            folder = scratch / f"{number}-{found.index(next(one for one in found if ''.join(one) == example))}"
            folder.mkdir()
            shutil.copy(build.samples / "saxpy", folder / "app")
            if "-record" not in example:
                for name in ("app.gfxg", "before.gfxg", "app.gfxg.partial"):
                    run(build.record(folder / name, folder / "app", options=("--force",)))
                shutil.copy(folder / "before.gfxg", folder / "after.gfxg")
            if "recover" in example:
                (folder / "app.gfxg").unlink()
            done = subprocess.run(["bash", "-c", example], cwd=folder, capture_output=True, text=True, timeout=120,
                                  stdin=subprocess.DEVNULL, env={"PATH": f"{build.bin}:/usr/bin:/bin", "HOME": str(scratch)})
            require(done.returncode == 0, f"{example}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def manuals(build, scratch):
    """A page for each; man finds nothing to warn of; all options are there."""
    for topic in TOPICS:
        page = build.root / "documentation" / "man" / f"{'-'.join(topic)}.1"
        shown = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", page], capture_output=True, text=True, timeout=60)
        require(shown.returncode == 0 and not shown.stderr, f"{page}: {shown.stderr}")
        for option in re.findall(r"^  (?:-.,)?(--[a-z-]+)", help_of(build, topic), re.MULTILINE):
            require(option in shown.stdout.replace("\n", " "), f"{page} lacks {option}")


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
    main({"examples": examples, "manuals": manuals, "completion": completion})
