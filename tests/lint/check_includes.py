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
    "emulator": {"base", "codeobj"},
    "lanecheck": {"base", "codeobj", "emulator", "format", "order"},
    "hsa": {"base", "codeobj", "emulator"},
    "recorder": {"base", "codeobj", "format", "order"},
    "replayer": {"base", "format", "include", "order"},
    "tools": {"base", "codeobj", "emulator", "format", "include", "lanecheck", "order", "recorder",
              "replayer", "hsa"},
    "samples": {"include"},
}
# The same between the folders of one folder.
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
}
# Third-party headers that only some folders may name at all ...
FOREIGN = {
    "llvm/": {"codeobj", "emulator"},
    "hip/": {"recorder", "hsa", "samples"},
    "hsa/": {"hsa", "emulator"},
    "flatbuffers/": {"format"},
    "CLI/": {"tools", "recorder", "replayer"},
    "nlohmann/": {"tools", "lanecheck", "replayer", "recorder"},
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
            if target is not None and target != folder and target not in ALLOWED[folder]:
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
