"""Fails on an #include that goes against the direction of docs/architecture.md."""

import re
import sources

# What a folder may include besides itself. Public headers of include/ count as the folder "include".
ALLOWED = {
    "include": set(),
    "base": set(),
    "format": {"base"},
    "codeobj": {"base"},
    "order": {"base", "format"},
    "pointers": {"base", "codeobj", "format"},
    "emulator": {"base", "codeobj"},
    "footprint": {"base", "codeobj", "emulator", "format", "order"},
    "check": {"base", "codeobj", "emulator", "format", "order"},
    "hsa": {"base", "codeobj", "emulator"},
    "capture": {"base"},
    "accelerate": {"base", "codeobj"},
    "recorder": {"base", "codeobj", "format", "order", "pointers"},
    "replayer": {"base", "emulator", "format", "include", "order"},
    "tools": {"base", "codeobj", "emulator", "footprint", "format", "include", "check", "order", "pointers", "recorder",
              "replayer", "hsa"},
    "samples": {"include"},
}
# What only a room of a folder may include: the library needs no decoder, its program does.
OF_ROOMS = {("replayer", "emulator"): {"tool"}}
# The same between the folders of one folder. A name with an ending is a file beside them.
ROOMS = {
    "emulator": {
        "table": set(),
        "decode": {"table"},
        "memory": set(),
        "host": set(),
        "analysis": {"decode", "memory"},
        "engine": {"decode", "memory"},
        "isa": {"decode", "engine", "memory"},
    },
    "check": {
        "report": {"budget.h", "execution_table.h"},
        "shard": {"report", "execution_table.h"},
        "memory": {"budget.h", "report"},
        "waits": set(),
        "lanes": {"budget.h", "memory", "report", "waits"},
        "order": {"budget.h", "listener.h", "lanes", "memory"},
        "launch": {"budget.h", "lanes", "memory", "report", "waits"},
        "init": {"budget.h", "listener.h", "lanes", "memory", "report"},
        "race": {"budget.h", "listener.h", "launch", "memory", "order", "report"},
        "calls": {"listener.h", "memory", "report"},
        "perf": {"budget.h", "listener.h", "launch", "report"},
        "executed": {"budget.h", "launch"},
        "deep": {"budget.h", "init", "lanes", "memory", "race", "report"},
        "provenance": {"budget.h", "listener.h", "lanes", "memory", "order", "report"},
        "run": {"budget.h", "listener.h", "options.h", "deep", "executed", "launch", "memory", "order", "perf", "provenance", "report"},
    },
    "tools": {
        "trace": {"cli.h"},
        "info": {"cli.h", "commands.h", "read_limits.h", "worker.h", "trace"},
        "check": {"cli.h", "commands.h", "read_limits.h", "result_file.h", "temporary_folder.h", "worker.h", "coverage", "trace"},
        "coverage": {"cli.h", "commands.h", "read_limits.h", "worker.h"},
        "diff": {"cli.h", "commands.h", "read_limits.h", "result_file.h", "worker.h", "trace"},
        "doctor": {"cli.h", "commands.h", "temporary_folder.h"},
        "export": {"cli.h", "commands.h", "read_limits.h", "text_sink.h", "worker.h", "trace"},
        "extract": {"cli.h", "commands.h", "read_limits.h", "worker.h"},
        "report": {"cli.h", "commands.h", "read_limits.h", "result_file.h", "text_sink.h", "worker.h", "info", "trace"},
    },
    "accelerate": {
        "hold": set(),
        "hooks": {"hold"},
    },
    "recorder": {
        "contract": set(),
        "tool": {"contract", "selection"},
        "sites": {"lock_order.h", "program_memory.h"},
        "queue": {"launch_shape.h", "lock_order.h", "no_cancel.h", "recording_error.h", "contract", "sites"},
        "selection": {"handle.h", "contract", "queue"},
        "bytes": {"lock_order.h", "queue"},
        "objects": {"core.h", "handle.h", "launch_shape.h", "lock_order.h", "program_memory.h", "bytes", "queue",
                    "selection"},
        "events": {"core.h", "device.h", "issuing.h", "knows.h", "lock_order.h", "program_memory.h", "bytes",
                   "objects", "queue", "sites"},
        "memory": {"core.h", "lock_order.h", "program_memory.h", "bytes", "contract", "events", "objects", "queue",
                   "selection"},
        "launch": {"core.h", "program_memory.h", "events", "memory", "objects", "queue", "selection"},
        "work": {"core.h", "device.h", "program_memory.h", "events", "launch", "memory", "objects", "selection"},
        "recording": {"core.h", "lock_order.h", "no_cancel.h", "program_memory.h", "recording_error.h", "contract",
                      "events", "launch", "memory", "objects", "queue", "selection", "work"},
        "calls": {"core.h", "events", "launch", "memory", "objects", "recording", "selection", "work"},
        "hooks": {"device.h", "knows.h", "lock_order.h", "program_memory.h", "recorded_launch.h", "recorder.h",
                  "launch", "objects", "queue"},
    },
    "replayer": {
        "abi": set(),
        "program": {"abi"},
        "code": {"abi", "program"},
        "memory": {"abi", "code", "program"},
        "packets": {"abi", "code", "program"},
        "session": {"abi", "code", "memory", "packets", "program"},
        "modes": {"abi", "code", "memory", "packets", "program", "session"},
        "check": {"abi", "memory", "program", "session"},
        "step": {"abi", "check", "memory", "modes", "program", "session"},
        "capi": {"abi", "check", "memory", "program", "session", "step"},
        "production": {"abi", "capi", "session", "step"},
        "flow": {"abi", "capi", "production", "program", "session", "step"},
        "tool": {"abi", "check", "code", "memory", "program", "session", "step"},
    },
}
# Third-party headers that only some folders may name at all ...
FOREIGN = {
    "llvm/": {"codeobj", "emulator"},
    "hip/": {"accelerate", "capture", "recorder", "hsa", "samples"},
    "hsa/": {"hsa", "emulator"},
    "flatbuffers/": {"format"},
    "CLI/": {"tools", "recorder", "replayer"},
    "nlohmann/": {"tools", "check", "replayer", "recorder"},
}
# ... and there only in .cpp, .hip and *_internal.h files.
PRIVATE = ("llvm/", "flatbuffers/", "hip/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def target_folder(kind, name, generated):
    if name.startswith("gfxgraph/"):
        return "include"
    folder = name.split("/")[0]
    if kind == '"' and folder in ALLOWED and "/" in name and name not in generated:
        return folder
    return None


def room_problem(path, name):
    rooms = ROOMS.get(path.parts[0])
    parts = name.split("/")
    if rooms is None or parts[0] != path.parts[0]:
        return None
    own, other = path.parts[1], parts[1]
    if len(path.parts) == 2:  # beside the rooms: above them, unless a room names it
        return None
    if own in rooms and (other == own or other in rooms[own]):
        return None
    return f"{path}: {path.parts[0]}/{own} must not include {name}"


def main():
    problems, checked = [], 0
    for path in sources.files():
        folder = path.parts[0]
        if folder not in ALLOWED or path.suffix not in sources.CODE | {".inc"}:
            continue
        checked += 1
        for kind, name in INCLUDE.findall(sources.text(path)):
            target = target_folder(kind, name, ())
            rooms = OF_ROOMS.get((folder, target))
            if target is not None and target != folder and target not in ALLOWED[folder] or \
                    rooms is not None and path.parts[1] not in rooms:
                problems.append(f"{path}: {folder}/ must not include {target}/ ({name})")
            if kind == '"' and (problem := room_problem(path, name)):
                problems.append(problem)
            if folder == "samples":
                continue
            for prefix, users in FOREIGN.items():
                # "hsa/" in quotes is our own folder, in angle brackets the system's headers.
                if not name.startswith(prefix) or (kind == '"' and prefix == "hsa/"):
                    continue
                if folder not in users:
                    problems.append(f"{path}: {folder}/ must not include <{name}>")
                elif prefix in PRIVATE and path.suffix in (".h", ".hpp") and \
                        not path.stem.endswith("_internal"):
                    problems.append(f"{path}: <{name}> belongs in a .cpp or *_internal.h file")
    sources.finish(problems, checked)


main()
