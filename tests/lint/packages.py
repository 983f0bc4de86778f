"""What Debian's packages of scripts/packages.txt bring to a machine that has nothing else.

The closure is computed from what dpkg has recorded here: the packages, all that they depend on, and what a bare system
has (Essential, Priority: required, apt). No recommended package is in it, because scripts/setup installs none.

As a program: packages.py FOLDER fills FOLDER with links to the programs of the closure, for use as PATH.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "scripts" / "packages.txt"
DPKG = Path("/var/lib/dpkg")
PROGRAM_FOLDERS = ("/usr/bin", "/usr/sbin")


def listed():
    """The names in scripts/packages.txt."""
    return [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]


def installed():
    """{name: its fields} of each installed package of this machine's architecture."""
    native = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
    packages = {}
    for stanza in (DPKG / "status").read_text(errors="replace").split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        if fields.get("Status", "").endswith(" ok installed") and fields.get("Architecture") in (native, "all"):
            packages[fields["Package"]] = fields
    return packages


def names(text):
    """["a", "b"] of "a (>= 1) [amd64], b:any", without versions."""
    return [re.split(r"[\s(:\[]", name.strip(), maxsplit=1)[0] for name in text.split(",") if name.strip()]


def closure(packages, roots):
    """All that apt would install for `roots` on a bare system, without recommended packages.

    Of alternatives it is the first that is installed here, as apt takes the first that there is; one that only others
    provide (a virtual package) counts as provided by what is in the closure for another reason, else by the first.
    """
    providers = {}
    for name in sorted(packages):
        for virtual in names(packages[name].get("Provides", "")):
            providers.setdefault(virtual, []).append(name)
    found, pending, virtuals = set(), list(roots), []
    while pending or virtuals:
        if not pending:
            candidates = virtuals.pop()
            if not found.intersection(candidates):
                pending.append(candidates[0])
            continue
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        fields = packages.get(name, {})
        for dependency in f"{fields.get('Pre-Depends', '')},{fields.get('Depends', '')}".split(","):
            alternatives = [names(part)[0] for part in dependency.split("|") if part.strip()]
            real = [part for part in alternatives if part in packages]
            if real:
                pending.append(real[0])
            else:
                candidates = [provider for part in alternatives for provider in providers.get(part, [])]
                virtuals += [candidates] if candidates else []
    return found


def normal(path):
    """One spelling of a path: /bin, /lib and others are links into /usr."""
    path = os.path.normpath(path)
    return "/usr" + path if re.match(r"/(bin|sbin|lib(32|64|x32)?)/", path) else path


class Closure:
    """The files of a bare system with the listed packages."""

    def __init__(self):
        packages = installed()
        base = [name for name, fields in packages.items()
                if fields.get("Essential") == "yes" or fields.get("Priority") == "required"]
        self.packages = closure(packages, [*base, "apt", *listed()])
        self.missing = [name for name in listed() if name not in packages]
        self._files = set()
        for name in self.packages:
            self._files.update(self._list(name))

    @staticmethod
    def _list(name):
        for path in (DPKG / "info" / f"{name}.list", *(DPKG / "info").glob(f"{name}:*.list")):
            if path.exists():
                return map(normal, path.read_text().splitlines())
        return ()

    def has(self, path):
        """Whether a file is one of these packages, and so is what it links to. A name that Debian's alternatives made
        counts as what it stands for."""
        target = normal(os.path.realpath(path))
        alternative = os.path.islink(path) and os.readlink(path).startswith("/etc/alternatives/")
        path = normal(os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)))
        return target in self._files and (alternative or path in self._files)

    def program(self, name):
        """The path of a program of these packages, or None."""
        for folder in PROGRAM_FOLDERS:
            if self.has(f"{folder}/{name}"):
                return f"{folder}/{name}"
        return None

    def link_programs(self, folder):
        """Links to all programs, and nothing else. Others may do the same at the same time."""
        folder.mkdir(parents=True, exist_ok=True)
        programs = {}
        for source in map(Path, PROGRAM_FOLDERS):
            for program in source.iterdir():
                if self.has(str(program)):
                    programs.setdefault(program.name, program)
        for old in folder.iterdir():
            if old.is_symlink() and old.name not in programs:
                old.unlink(missing_ok=True)
        for name, program in programs.items():
            try:
                (folder / name).symlink_to(program)
            except FileExistsError:
                pass


def owner(path):
    """The installed packages that have a file: for messages."""
    for name in (path, normal(path), re.sub("^/usr/", "/", normal(path)), os.path.realpath(path)):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.rsplit(": ", 1)[0]
    return "no package"


if __name__ == "__main__":
    Closure().link_programs(Path(sys.argv[1]))
