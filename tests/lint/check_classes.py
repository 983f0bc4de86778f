"""Size of classes: public methods, and data members, of each class and struct of the product's headers and sources.

It reads the text as clang-format leaves it, not as a compiler does: templates, macros and nested types are enough for
this code. A class that is larger than the limits is listed in LARGER with the reason, and only as large as it is.
"""

import re
import sources

MAX_METHODS = 30
MAX_MEMBERS = 15
PRODUCT = {"base", "capture", "check", "codeobj", "emulator", "format", "hsa", "include", "order", "pointers", "recorder", "replayer", "tools"}
# Class -> (public methods, members, why). Plain data (structs without methods) has no limit of members: a record is as
# wide as what it describes.
LARGER = {
    # plain data with a few questions
    "Allocations": (32, 15, "memory by address and by id, and the ids"),
    "Allocation": (30, 33, "all that is known of an allocation"),
    "Finding": (30, 26, "all that is known of a finding"),
    "Report": (30, 17, "all that a check, or a recorder, has to tell"),
    "Fault": (30, 16, "all that is known of a fault"),
    "Wave": (30, 31, "the registers and the state of a wave"),
    "Work": (30, 35, "one piece of device work between its two halves"),
    # owners of parts, each of which has one concern
    "Recorder": (33, 42, "owns the parts of the recorder, in the order of their construction"),
    "Writer": (30, 31, "the writer's queue, its threads and what they hand on"),
    "Code": (31, 15, "code objects, their kernels, variables and what the runtime calls them"),
    "LiveCaptures": (30, 16, "a capture, the trace that is kept of it, and the steps that live"),
    "TraceCheck": (30, 30, "owns the tools, the execution and the report of a check"),
    "Session": (30, 17, "owns memory, modules, devices and the order of a trace"),
    # a state machine whose states are read together at each step
    "RaceCheck": (30, 36, "shadow memory of all spaces and its clocks"),
    "RaceGroup": (30, 17, "the clocks of a workgroup"),
    "Worker": (30, 21, "the waves of a thread and their turns"),
    "Checker": (30, 24, "what a checked trace has defined so far"),
    "Provenance": (30, 16, "words, operations and what leads to them"),
    "LaneObserver": (30, 16, "one observer of each access"),
    "GraphExecutor": (30, 17, "graphs, their arguments and what is in flight"),
    "PacketExecutor": (30, 16, "packets, their arguments and what is in flight"),
    "Trial": (30, 19, "one trial of an update, and what it found"),
    "Window": (30, 17, "a part of two buffers side by side"),
    "Program": (30, 17, "a range as operations, read only"),
}

OPEN = re.compile(r"\b(class|struct)\s+(?:alignas\([^)]*\)\s*)?(?:GFXGRAPH_\w+\s+)?(\w+)(?:\s+final)?\s*(?::[^;{()]*)?\{")
NO_MEMBER = re.compile(r"^(using|friend|static|typedef|enum|struct|class|template|static_assert|union)\b")


def plain(text):
    """Without comments, strings and preprocessor lines."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', '""', text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)


def closing(text, begin):
    depth = 0
    for i in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def statements(body):
    """The declarations of a class body, without the bodies of functions and nested types."""
    out, word, i = [], "", 0
    while i < len(body):
        if body[i] == "{":
            end = closing(body, i)
            word += "{}"
            i = end + 1
            following = body[i:i + 40].lstrip()
            # An initialiser of a member goes on; a function's body, or a nested type's, ends the declaration.
            if "(" in word.split("{")[0] and not following.startswith((";", ",", ")")):
                out.append(word.strip())
                word = ""
        elif body[i] == ";":
            out.append(word.strip())
            word, i = "", i + 1
        else:
            word += body[i]
            i += 1
    return out


def size(kind, body):
    public = kind == "struct"
    methods = members = 0
    for one in statements(body):
        while label := re.match(r"\s*(public|private|protected):\s*", one):
            public = label[1] == "public"
            one = one[label.end():]
        one = re.sub(r"^(\[\[.*?\]\]|alignas\([^)]*\))\s*", "", one.strip())
        one = re.sub(r"^template\s*<[^{}]*?>\s*(?=\w)", "", one)
        if not one or one in ("{}",):
            continue
        head = re.split(r"[={]", one)[0]
        function = re.search(r"[\w>\]~=!+\-*/|&^<>]+\s*\(", head) or re.search(r"\boperator\b", one)
        if function and not one.startswith(("using", "friend", "static_assert", "typedef", "enum")):
            if public and "= delete" not in one:
                methods += 1
        elif not NO_MEMBER.match(one):
            members += 1
    return methods, members


def classes(text):
    text = plain(text)
    for found in OPEN.finditer(text):
        end = closing(text, found.end() - 1)
        yield (found[2], *size(found[1], text[found.end():end]))


def main():
    problems, checked, largest = [], 0, {}
    for path in sources.files():
        if path.parts[0] not in PRODUCT or path.suffix not in {".h", ".hpp", ".cpp", ".inl"}:
            continue
        for name, methods, members in classes(sources.text(path)):
            checked += 1
            most_methods, most_members, _ = LARGER.get(name, (MAX_METHODS, MAX_MEMBERS, ""))
            if methods > most_methods:
                problems.append(f"{path}: {name}: {methods} public methods, at most {most_methods}")
            if methods > 0 and members > most_members:
                problems.append(f"{path}: {name}: {members} members, at most {most_members}")
            if name in LARGER:
                largest[name] = tuple(map(max, largest.get(name, (MAX_METHODS, MAX_MEMBERS)), (methods, members)))
    problems += [f"LARGER: {name} is {largest.get(name)} now: write that, or take it out"
                 for name in LARGER if largest.get(name) != LARGER[name][:2]]
    sources.finish(problems, checked)


main()
