"""What is measured of a program of Python: as of every workload, in four modes, with all tools, and accelerated."""

import mmap
import re

import table
from workload import Broken, Measured, Workload

MODES = ("eager", "batch", "graph", "packets")


def judge(text, _scratch):
    lines = [line for line in text.splitlines() if ", difference " in line]
    wrong = [line for line in lines if ": NOT as" in line]
    if wrong or not lines:
        raise Broken(wrong[0] if wrong else "it compares nothing")
    found = [re.search(r": as (.*), difference (\S+) of", line).groups() for line in lines]
    largest = max((difference for _, difference in found), key=float)
    return f"{len(lines)} as {' and '.join(dict.fromkeys(reference for reference, _ in found))}, difference at most {largest}"


def script(program, arguments):
    interpreter = table.ENVIRONMENTS[program.environment].interpreter()
    return [interpreter, "-W", "ignore", f"tests/workloads/python/{program.file}.py", *arguments]


def workload(program, build):
    environment = table.ENVIRONMENTS[program.environment]
    variables = environment.variables(build) | program.settings
    command = script(program, program.arguments)
    return Workload(program.name, environment.suite, lambda _: command, judge, environment=variables, modes=MODES,
                    check_options=("--tool", "all"))


def targets(environment):
    """The GPUs that its wheels have kernels for."""
    found = set()
    for path in (environment.folder / "site").glob("**/*.so*"):
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found |= set(re.findall(rb"amdgcn-amd-amdhsa--(gfx[0-9a-f]+)", data))
    return sorted(one.decode() for one in found)


def left_out(row, environment):
    """Of a program that does not run, for a known reason that is not gfxgraph's."""
    if "broken" in row:
        why = environment.lacks.format(targets=", ".join(targets(environment)) or "no GPU")
        return {key: row[key] for key in ("program", "runtime")} | {"left_out": f"{why} ({row['broken']})"}
    return row | {"broken": f"it runs, although it was known that {environment.lacks}"}


class Row(Measured):
    """One row of docs/results/python.md."""

    def __init__(self, made, build, scratch, program=None):
        super().__init__(made, build, scratch)
        self.program = program

    def measure(self, row):
        info, printed = super().measure(row)
        if self.program is not None and self.program.captured:
            done, _ = self.tool("gfxgraph", "run", "--device", "emulated", "--capture", "--capture-api", "--",
                                *script(self.program, self.program.captured))
            row["result"] += f"; with steps of its own {judge(done.stdout, None)}"
        row["graph_launches"] = info["events"].get("graph_launch", 0)
        row["printed"] = [line for line in printed.splitlines() if ", difference " in line]
        wrong, reports = self.accelerated(printed)
        row["held"] = {way: report["held"] for way, report in reports.items()}
        row["accelerated"] = "; ".join(wrong) or "the same"
        return info, printed
