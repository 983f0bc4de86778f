"""callers.py LIBRARY [ends]: Python code above a library that calls HIP itself (callers.c)."""

import ctypes
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
for function in (library.allocate_small, library.allocate_large):
    function.restype = ctypes.c_void_p


class Model:
    def step(self):
        library.wait_once()  # here: once


def both():
    return library.wait_once(), library.wait_other()  # here: both


def made():
    return [library.allocate_small(), library.allocate_large(), library.allocate_small()]  # here: made


def called_back():
    library.wait_once()  # here: thread


def ends(depth=0):
    """Frames and code of this thread are gone before the process is."""
    if depth < 50:
        ends(depth + 1)
    library.wait_for_ever()


if sys.argv[2:] == ["ends"]:
    library.wait_once()
    for _ in range(3):
        threading.Thread(target=ends, daemon=True).start()
    for _ in range(200):  # the interpreter has time to say when it ends
        library.wait_once()
    sys.exit(0)
made()
for _ in range(3):
    Model().step()
both()
library.wait_apart()
thread = threading.Thread(target=called_back)
thread.start()
thread.join()
