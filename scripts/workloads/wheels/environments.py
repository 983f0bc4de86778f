"""What each program of PyPI needs to run: a root with HIP, packages of Debian, wheels of pinned versions, and libraries that Debian lacks.

Made once in build/python/NAME (`site`: what pip installed; `stubs`; `home`). Wheels are for CPython 3.14, which the roots have; those
that are for another one run with a copy of it.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from workload import REPOSITORY, Broken, Skipped

FOLDER = REPOSITORY / "build/python"
STUBS = Path(__file__).parent / "stubs"
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28, 27, 17)] + ["manylinux2014_x86_64"]
ROOTS_PYTHON = "3.14"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
ROCM = ["rocm-bindings-core==10.0.0.0.1.2", "rocm-bindings-hip==10.0.0.0.1.2"]


@dataclass
class Environment:
    """`stubs`: file name to its source in stubs/, or, with a slash in front, to the file in the root that it is a link to. `links`: the
    same for the root's own folders; {llvm} is the newest LLVM there. `settings`: of the environment; {folder} is its folder."""
    name: str
    title: str
    suite: str
    debian: list
    wheels: list  # may be empty: all of it is Debian's
    python: str = ROOTS_PYTHON
    stubs: dict = field(default_factory=dict)
    links: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    note: str = ""
    lacks: str = ""  # why it does not run, which is not gfxgraph's doing

    @property
    def folder(self):
        return FOLDER / self.name

    def interpreter(self):
        return "/usr/bin/python3" if self.python == ROOTS_PYTHON else self.folder / "python/bin/python3"

    def variables(self, build):
        """Of the environment inside of the root."""
        folder = self.folder
        libraries = [str(folder / "stubs")] if self.stubs else []
        here = {"HOME": folder / "home", "PATH": f"{build}/bin:{folder}/python/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                # The package is there for gfxgraph.triton, and finds its library by the second variable.
                "PYTHONPATH": f"{folder}/site:{REPOSITORY}/replayer/python", "GFXGRAPH_LIBRARY": build / "lib/libgfxgraph.so.0.2",
                "PYTHONDONTWRITEBYTECODE": "1", "AMD_COMGR_CACHE": "1", "AMD_COMGR_CACHE_DIR": folder / "comgr"}
        if self.python != ROOTS_PYTHON:
            here["PYTHONHOME"] = folder / "python"
        if libraries:
            here["LD_LIBRARY_PATH"] = ":".join(libraries)
        return {key: str(value) for key, value in here.items()} | {
            key: value.format(folder=folder, libraries=LIBRARIES) for key, value in self.settings.items()}

    def make(self):
        """Once: what is there is kept, and what was interrupted is made anew. Raises Skipped."""
        if os.geteuid() != 0:
            raise Skipped("it runs in a chroot, which needs root's rights")
        root = Path(called(["scripts/runtime-root", self.suite, *self.debian], f"Debian's packages for {self.suite}").strip())
        for name in ("home", "comgr", "stubs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.install()
        self.copy_interpreter()
        for name, source in self.stubs.items():
            self.make_stub(name, source)
        for name, target in self.links.items():
            llvm = max((root / "usr/lib").glob("llvm-*"), key=lambda path: int(path.name.partition("-")[2])).name
            link(root / name, target.format(llvm=llvm, version=llvm.partition("-")[2]))

    def install(self):
        said = "\n".join(self.wheels)
        done = self.folder / "wheels.txt"
        if done.exists() and done.read_text(encoding="utf-8") == said:
            return
        shutil.rmtree(self.folder / "site", ignore_errors=True)
        (self.folder / "site").mkdir()
        if not self.wheels:
            done.write_text(said, encoding="utf-8")
            return
        platforms = [word for one in PLATFORMS for word in ("--platform", one)]
        called([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--ignore-requires-python", "--only-binary=:all:", "--python-version",
                self.python, *platforms, "--target", self.folder / "site", *self.wheels], f"wheels of {self.name}")
        done.write_text(said, encoding="utf-8")

    def copy_interpreter(self):
        """Debian 12's, when the wheels are for that: with the newer glibc of the root."""
        if self.python == ROOTS_PYTHON or self.interpreter().exists():
            return
        here = shutil.which(f"python{self.python}", path="/usr/bin")
        if here is None:
            raise Skipped(f"{self.name}'s wheels are for CPython {self.python}: there is no /usr/bin/python{self.python} to copy")
        shutil.rmtree(self.folder / "python", ignore_errors=True)
        shutil.copytree(f"/usr/lib/python{self.python}", self.folder / f"python/lib/python{self.python}", symlinks=False,
                        ignore=shutil.ignore_patterns("__pycache__", "test", "*.a"), ignore_dangling_symlinks=True)
        self.interpreter().parent.mkdir(parents=True)
        shutil.copy(here, self.interpreter())  # finds its library by PYTHONHOME

    def make_stub(self, name, source):
        file = self.folder / "stubs" / name
        if source.startswith("/"):
            link(file, source)
            return
        script = (STUBS / source).with_suffix(".map")
        called(["cc", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{name}", *([f"-Wl,--version-script={script}"] if script.exists() else []),
                "-o", file, STUBS / source], f"the stub {name}")


def link(path, target):
    if path.is_symlink() and os.readlink(path) == target:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def called(command, what):
    done = subprocess.run([*map(str, command)], cwd=REPOSITORY, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise Broken(f"{what}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]}")
    return done.stdout
