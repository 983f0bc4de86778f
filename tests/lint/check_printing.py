"""Programs print through base/cli/print.h, which keeps control characters of names off the terminal."""

import re
import sources

FOLDERS = {"tools", "check", "format", "replayer", "recorder", "base"}
# print.h itself; messages about this program, without names; after fork(), where nothing may allocate.
EXEMPT = {"base/cli/print.h", "base/result.cpp", "base/cli/output.cpp"}
FORBIDDEN = re.compile(r"fmt::print\(|\bf?printf\(|\bf?puts\(|std::fwrite\(|std::(?:cout|cerr|clog)\b\s*<<")
AFTER_FORK = re.compile(r"std::strerror\(errno\)")


def main():
    problems, checked = [], 0
    for path in sources.files():
        if path.parts[0] not in FOLDERS or path.suffix not in sources.CODE or str(path) in EXEMPT:
            continue
        checked += 1
        for number, line in enumerate(sources.text(path).split("\n"), 1):
            code = line.split("//")[0]
            if FORBIDDEN.search(code) and not AFTER_FORK.search(code):
                problems.append(f"{path}:{number}: use print() or write_text() of base/cli/print.h")
    sources.finish(problems, checked)


main()
