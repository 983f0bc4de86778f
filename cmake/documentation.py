"""Manual pages and shell completion from the --help texts of the built programs.

documentation.py BIN OUTPUT VERSION: writes OUTPUT/man/*.1, OUTPUT/completion/bash and OUTPUT/completion/zsh.
The programs define their options once, for CLI11, which prints them; this reads what it prints and fails
on a line that it does not understand.
"""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("gfxgraph-record", "gfxgraph-replay")
# The commands that are those programs.
ALIASES = {"record": "gfxgraph-record", "replay": "gfxgraph-replay"}
ENTRY = re.compile(r"  (-{1,2}\S+|[A-Z][A-Z0-9.]*)(.*)")


def help_of(*command):
    wide = {**os.environ, "COLUMNS": "100"}  # whatever the terminal of the build is
    return subprocess.run([*map(str, command), "--help"], check=True, capture_output=True, text=True, env=wide).stdout


class Page:
    """A --help text in its parts."""

    def __init__(self, name, text):
        self.name, self.entries = name, {"Positionals": [], "Options": []}
        head, self.usage, body = re.fullmatch(r"(.*?)\nUsage: ([^\n]*)\n(.*)", text, re.DOTALL).groups()
        self.examples = re.findall(r"^Example: +(.*)", head, re.MULTILINE)
        head = re.sub(r"^(Example|usage): .*\n?", "", head, flags=re.MULTILINE).strip()
        self.paragraphs = [" ".join(one.split()) for one in re.split(r"\n\s*\n", head)]
        self.summary = re.split(r"[.:] |\.$", self.paragraphs[0])[0]
        self.footer, section = [], None
        for line in body.splitlines():
            if line.rstrip(":") in self.entries and line.endswith(":"):
                section = self.entries[line[:-1]]
            elif section is not None and (match := ENTRY.match(line)):
                words, _, more = match.group(0).strip().partition("  ")
                section.append([words, more.strip()])
            elif section and line.startswith(" " * 20):
                section[-1][1] += (" " if section[-1][1] else "") + line.strip()
            elif not line:
                section = section if not self.entries["Options"] else None
            elif section is None and not line.startswith(" "):
                self.footer.append(line)
            else:
                raise SystemExit(f"{name} --help: this line is not understood: {line!r}")
        if not self.entries["Options"] or not self.examples:
            raise SystemExit(f"{name} --help: no options or no example")

    def options(self):
        """(names, values to choose from or None without a value, description)"""
        for words, text in self.entries["Options"]:
            names, _, value = words.partition(" ")
            choices = re.search(r"\{([^}]*)\}", value)
            kind = re.match(r"[A-Z]", value)
            yield names.split(","), None if not kind else choices.group(1).split(",") if choices else [], text


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def value_text(words):
    """"--compress INT:INT in [0 - 19]" without what CLI11 adds for itself."""
    names, _, value = words.partition(" ")
    value = re.sub(r" (Needs|Excludes): .*", "", value)
    value = re.sub(r" REQUIRED|:SIZE.*|:NONNEGATIVE|:(INT|FLOAT) in \[.*?\]", "", value)
    value = re.sub(r"TEXT:\{(.*)\}", lambda match: match.group(1).replace(",", "|"), value).replace(",", "|")
    value = re.sub(r"=(\S+)$", r" (default \1)", value.strip())
    return ", ".join(names.split(",")), value.strip()


def manual(page, version, extra=()):
    title = page.name.replace(" ", "-")
    lines = [f'.TH {title.upper()} 1 "" "gfxgraph {version}" "User Commands"', ".SH NAME",
             f"{roff(title)} \\- {roff(page.summary[:1].lower() + page.summary[1:])}", ".SH SYNOPSIS",
             f"\\fB{roff(page.name)}\\fR {roff(page.usage[len(page.name):].strip())}", ".SH DESCRIPTION"]
    for paragraph in page.paragraphs:
        lines += [".PP", roff(paragraph)]
    for section, name in (("Positionals", "ARGUMENTS"), ("Options", "OPTIONS")):
        if page.entries[section]:
            lines.append(f".SH {name}")
        for words, text in page.entries[section]:
            names, value = value_text(words)
            shown = "" if section == "Positionals" else f" \\fI{roff(value)}\\fR" if value else ""
            lines += [".TP", f"\\fB{roff(names)}\\fR{shown}", roff(text)]
    lines += extra
    if page.footer:
        lines += [".SH EXIT STATUS", *(roff(line) for line in page.footer)]
    lines += [".SH EXAMPLES"]
    for example in page.examples:
        lines += [".PP", ".nf", ".RS", roff(example), ".RE", ".fi"]
    lines += [".SH SEE ALSO", "\\fBgfxgraph\\fR(1)"]
    return "\n".join(lines) + "\n"


def overview(commands, text, version):
    examples = re.findall(r"^  (gfxgraph\S* .*?)  +.*$", text.split("\nUsage:")[0], re.MULTILINE)
    lines = [f'.TH GFXGRAPH 1 "" "gfxgraph {version}" "User Commands"', ".SH NAME",
             "gfxgraph \\- record, replay and check the kernel launches of HIP programs", ".SH SYNOPSIS",
             "\\fBgfxgraph\\fR COMMAND ARGUMENTS...", ".SH COMMANDS"]
    for name, summary in commands:
        lines += [".TP", f"\\fB{name}\\fR", f"{roff(summary)}; see \\fB{roff(ALIASES.get(name, 'gfxgraph-' + name))}\\fR(1)"]
    lines += [".SH EXIT STATUS", roff(re.search(r"^Exit codes: (.*)$", text, re.MULTILINE).group(1)), ".SH EXAMPLES"]
    for example in examples:
        lines += [".PP", ".nf", ".RS", roff(example), ".RE", ".fi"]
    return "\n".join(lines) + "\n"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash(pages, commands):
    lines = ["# Completion of gfxgraph, gfxgraph-record and gfxgraph-replay for bash; generated.", "_gfxgraph_options() {",
             "  case $1 in"]
    for name, page in pages.items():
        lines.append(f"    {name}) echo {quoted(' '.join(sorted(n for names, _, _ in page.options() for n in names if n.startswith('--'))))} ;;")
    lines += ["  esac", "}", "_gfxgraph_values() {", '  case "$1 $2" in']
    for name, page in pages.items():
        for names, values, _ in page.options():
            if values:
                lines.append(f"    {'|'.join(quoted(f'{name} {one}') for one in names)}) echo {quoted(' '.join(values))} ;;")
    lines += ["  esac", "}", """_gfxgraph() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} name i first=1
  name=${COMP_WORDS[0]##*/}
  if [ "$name" = gfxgraph ]; then
    if [ "$COMP_CWORD" -eq 1 ]; then
      mapfile -t COMPREPLY < <(compgen -W '@COMMANDS@ --help --version' -- "$word")
      return
    fi
    name=${COMP_WORDS[1]} first=2
  fi
  # A program and its arguments follow "--".
  for ((i = first; i < COMP_CWORD; ++i)); do
    if [ "${COMP_WORDS[i]}" = -- ]; then
      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); else mapfile -t COMPREPLY < <(compgen -c -f -- "$word"); fi
      return
    fi
  done
  case $name in record) name=gfxgraph-record ;; replay) name=gfxgraph-replay ;; esac
  if [ "$previous" = "=" ]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; elif [ "$word" = "=" ]; then word=; fi
  local values
  values=$(_gfxgraph_values "$name" "$previous")
  if [ -n "$values" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_gfxgraph_options "$name")" -- "$word")
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _gfxgraph gfxgraph gfxgraph-record gfxgraph-replay""".replace("@COMMANDS@", " ".join(name for name, _ in commands))]
    return "\n".join(lines) + "\n"


def zsh(pages, commands):
    def description(text):
        return re.sub(r"([\[\]:\\])", r"\\\1", text)

    lines = ["#compdef gfxgraph gfxgraph-record gfxgraph-replay", "# Generated.", "_gfxgraph_command() {", "  case $1 in"]
    for name, page in pages.items():
        arguments = []
        for names, values, text in page.options():
            for one in names:
                value = "" if values is None else f":value:({' '.join(values)})" if values else ":value:_files"
                arguments.append(quoted(f"{one}[{description(text)}]{value}"))
        lines += [f"    {name}) _arguments {' '.join(arguments)} '*:file:_files' ;;"]
    lines += ["  esac", "}", "local name=${words[1]:t}", "if [[ $name == gfxgraph ]]; then", "  if (( CURRENT == 2 )); then",
              "    local -a commands=(" + " ".join(quoted(f"{name}:{summary}") for name, summary in commands) + ")",
              "    _describe command commands", "    return", "  fi", "  shift words", "  (( CURRENT-- ))", "  name=${words[1]}", "fi",
              "case $name in record) name=gfxgraph-record ;; replay) name=gfxgraph-replay ;; esac", "_gfxgraph_command $name"]
    return "\n".join(lines) + "\n"


def main():
    programs, output, version = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    text = help_of(programs / "gfxgraph")
    commands = [(name, summary.removeprefix(f"gfxgraph-{name}: ")) for name, summary in
                re.findall(r"^  ([a-z]+) +\S.*\n {11,}(\S.*)$", text, re.MULTILINE)]
    pages = {name: Page(f"gfxgraph {name}", help_of(programs / "gfxgraph", name)) for name, _ in commands if name not in ALIASES}
    pages |= {name: Page(name, help_of(programs / name)) for name in PROGRAMS}
    (output / "man").mkdir(parents=True, exist_ok=True)
    (output / "completion").mkdir(exist_ok=True)
    manuals = {"gfxgraph": overview(commands, text, version)}
    manuals |= {page.name.replace(" ", "-"): manual(page, version) for page in pages.values()}
    for name, roff_text in manuals.items():
        (output / "man" / f"{name}.1").write_text(roff_text)
        (output / "man" / f"{name}.1.gz").write_bytes(gzip.compress(roff_text.encode(), 9, mtime=0))
    (output / "completion" / "bash").write_text(bash(pages, commands))
    (output / "completion" / "zsh").write_text(zsh(pages, commands))


if __name__ == "__main__":
    main()
