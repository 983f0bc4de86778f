"""What a line of Python costs a recorded launch, beside the same launch from a thread without Python, in one run.

    GFXGRAPH_NULL_DEVICE=1 gfxgraph-record --contents none -o /tmp/sites.gfxg -- python3 python_sites.py CODE_OBJECT

CODE_OBJECT: tests/capture/capture_forms.co of the build. Medians of 31 turns; the device executes nothing.
"""

import ctypes
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_sites.c")
TURNS, LAUNCHES, LINES = 31, 300, 100  # fewer lines than the recorder knows


def compiled(folder, name):
    path = os.path.join(folder, name)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-pthread", "-o", path, SOURCE], check=True)
    library = ctypes.CDLL(path)
    for function in (library.launches, library.launches_apart):
        function.restype, function.argtypes = ctypes.c_double, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    return library.launches, library.launches_apart


def known(kernel, memory, plain, module):
    """A site that was seen before: medians of both, by turns."""
    native, python = [], []
    for _ in range(TURNS):
        native.append(plain(kernel, memory, LAUNCHES))
        python.append(module(kernel, memory, LAUNCHES))
    return statistics.median(native), statistics.median(python)


def new(kernel, memory, module):
    """Lines that were not seen before, and the same lines again."""
    first, again = [], []
    for turn in range(TURNS):
        code = compile("\n".join("times.append(module(kernel, memory, 1))" for _ in range(LINES)), f"new_{turn}.py", "exec")
        for times in (first, again):
            exec(code, {"times": times, "module": module, "kernel": kernel, "memory": memory})
    return statistics.median(first), statistics.median(again)


def main():
    hip = ctypes.CDLL(next((name for name in (f"libamdhip64.so.{version}" for version in (7, 6, 5)) if loads(name)), ""),
                      ctypes.RTLD_GLOBAL)
    module, kernel, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    for name, arguments in (("hipModuleLoad", (ctypes.byref(module), sys.argv[1].encode())),
                            ("hipModuleGetFunction", (ctypes.byref(kernel), module, b"add")),
                            ("hipMalloc", (ctypes.byref(memory), ctypes.c_size_t(1024)))):
        if getattr(hip, name)(*arguments) != 0:
            sys.exit(name)
    with tempfile.TemporaryDirectory() as folder:
        extension, plain = compiled(folder, "extension" + sysconfig.get_config_var("EXT_SUFFIX"))

        def report(where):
            native, python = known(kernel, memory, plain, extension)
            print(f"{where}: known site: {native:.0f} ns without Python, {python:.0f} ns from a line of Python: {python - native:+.0f} ns "
                  f"({python / native:.2f})")
            first, again = new(kernel, memory, extension)
            print(f"{where}: new line: {first:.0f} ns, again: {again:.0f} ns: {first - again:+.0f} ns")

        plain(kernel, memory, LAUNCHES)
        report("main thread")
        thread = threading.Thread(target=report, args=("other thread",))
        thread.start()
        thread.join()


def loads(name):
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
