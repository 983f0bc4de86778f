"""A recorded step goes on where the recording ended, with the program's own results."""

import os
import re
import struct
import subprocess

from harness import main, require, run

MODES = ("eager", "batch", "graph", "packets")
LAYOUTS = ("same", "shift")
TOKENS = 64  # as many as the sample has positions
FEW = 20


def tokens(build, count):
    """What the program itself decides on."""
    done = run(build.tool("gfxgraph", "run", "--device", "emulated", "--", build.samples / "decode_step", "--tokens",
                          str(count)))
    require("decode_step: PASS" in done.stdout, done.stdout)
    return [int(token) for token in re.search(r"^tokens:(.*)$", done.stdout, re.MULTILINE).group(1).split()]


def record(build, scratch, *options):
    trace = scratch / "decode.gfxg"
    run(build.record(trace, build.samples / "decode_step", "--tokens", "4", options=("--force", *options)))
    return trace


def step(build, scratch, trace, *options, expect=0):
    """The tokens that a step leaves; those that it did not decide on are -1."""
    result = scratch / "history.bin"
    result.unlink(missing_ok=True)
    run(build.tool("gfxgraph-replay", trace, "--device", "emulated", "--output", f"history={result}", *options),
        expect=expect)
    return list(struct.unpack(f"<{TOKENS}i", result.read_bytes()))


def continues(build, scratch):
    """Recorded for 4 tokens, replayed for the next 60, in other modes than batch for 16, from a recorded range and from the
    whole program."""
    expected = tokens(build, TOKENS)
    for recording in (("--range", "decode#0-3"), ()):
        trace = record(build, scratch, *recording)
        for mode in MODES:
            for layout in LAYOUTS:
                count = TOKENS if mode == "batch" else FEW
                got = step(build, scratch, trace, "--range", "decode#3", "--iterations", str(count - 3), "--mode", mode,
                           "--layout", layout)
                wanted = expected[:count] + [-1] * (TOKENS - count)
                require(got == wanted, f"{recording} {mode} {layout}: {got}, not {wanted}")
    # From the middle of the program: what memory held there is not in the trace, the iterations run all the same.
    got = step(build, scratch, trace, "--range", "decode#1", "--iterations", str(TOKENS - 1), "--mode", "batch")
    require(got == expected, f"decode#1: {got}, not {expected}")


def settings(build, scratch):
    """--set, --input and --list; wrong names are refused before anything runs."""
    trace = record(build, scratch, "--range", "decode#0-3")
    expected = tokens(build, 12)
    at = ("--range", "decode#3", "--mode", "batch")
    got = step(build, scratch, trace, *at, "--iterations", "9", "--set", "#0=+1", "--set", "#1=+4")
    require(got[:12] == expected and got[12] == -1, f"{got}")
    # The same token again at the recorded position, as nothing moves; another token is decided on from another one.
    before = scratch / "token.bin"
    before.write_bytes(struct.pack("<i", expected[2]))
    got = step(build, scratch, trace, *at, "--input", f"token={before}", "--set", "#0=3", "--set", "#1=16")
    require(got[:4] == expected[:4] and got[4] == -1, f"{got}")
    before.write_bytes(struct.pack("<i", 400))
    got = step(build, scratch, trace, *at, "--input", f"token={before}", "--set", "#0=3", "--set", "#1=16")
    require(got[:3] == expected[:3] and got[3] != expected[3], f"{got}")
    # A part of a buffer: a token of its own goes to the third place, and two are read from the second on.
    part, two = scratch / "part.bin", scratch / "two.bin"
    part.write_bytes(struct.pack("<i", 77))
    for name in ("history", "#" + re.search(r"#(\d+) history", run(build.tool("gfxgraph-replay", trace, "--list")).stdout).group(1)):
        got = step(build, scratch, trace, *at, "--input", f"{name}+8={part}", "--output", f"{name}+4:8={two}")
        require(got[:4] == [*expected[:2], 77, expected[3]], f"{got}")
        require(struct.unpack("<2i", two.read_bytes()) == (expected[1], 77), f"{two.read_bytes()}")
    listed = run(build.tool("gfxgraph-replay", trace, "--range", "decode#3", "--list")).stdout
    require("#0 rope argument 4 at 0x20: step +1, 3 here, in 25 places" in listed and "history: 256 bytes" in listed,
            listed)
    for options, message in ((("--range", "encode"), "no range encode"), (("--range", "decode#4"), "decode#0, decode#1"),
                             ((*at, "--set", "position=1"), "no parameter position"),
                             ((*at, "--set", "#0=x"), "neither a number nor a step"),
                             ((*at, "--set", "#0"), "not of the form NAME=VALUE"),
                             ((*at, "--output", "tokens=/tmp/x"), "no buffer tokens"),
                             ((*at, "--output", "history+300=/tmp/x"), "the buffer has 256 bytes"),
                             ((*at, "--output", "history+200:60=/tmp/x"), "the buffer has 256 bytes"),
                             ((*at, "--output", "history+-1=/tmp/x"), "no buffer history+-1"),
                             ((*at, "--input", f"history+254={part}"), "has 4 bytes, and 2 fit"),
                             ((*at, "--input", f"history={scratch / 'none'}"), "none")):
        done = run(build.tool("gfxgraph-replay", trace, "--device", "emulated", *options), expect=1)
        require(message in done.stderr, f"{options}: {done.stderr}")


def period(build, scratch):
    """A program that marks nothing: a repetition that was found goes on as the program does."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "streams_events"))
    for mode in MODES:
        done = run(build.replay(trace, "--range", "period#1#2", "--iterations", "2", "--mode", mode), expect=3)
        require("iterations: 2" in done.stdout and "0 different" not in done.stdout, f"{mode}: {done.stdout}{done.stderr}")
    done = run(build.replay(trace, "--range", "period#2"), expect=1)
    require("period#1, 4 times 7 launches" in done.stderr and "--launches N:M" in done.stderr, done.stderr)


def on_terminal(command):
    """The exit code, and what stderr showed where it is a terminal."""
    parent, child = os.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=child)
    os.close(child)
    shown = b""
    try:
        while chunk := os.read(parent, 4096):
            shown += chunk
    except OSError:
        pass  # its end is closed
    os.close(parent)
    return process.wait(timeout=60), shown


def progress(build, scratch):
    """Each command that may take long says on a terminal what it is doing, with counts where it has them, and erases it; it
    says nothing elsewhere or with --quiet."""
    trace, torn = scratch / "t.gfxg", scratch / "torn.gfxg.partial"
    run(build.record(trace, build.samples / "decode_step", "--tokens", 2))
    wrong = scratch / "wrong.gfxg"
    run([build.root / "tests" / "flip_input", trace, wrong, "64"], None)
    torn.write_bytes(trace.read_bytes()[:-64])
    saxpy = build.samples / "saxpy"
    commands = {
        "check": (("gfxgraph", "check", trace), b"checking launch 0 of "),
        "coverage": (("gfxgraph", "coverage", saxpy), b"code object 0 of "),
        "verify": (("gfxgraph", "verify", trace), b"checking every byte of "),
        "recover": (("gfxgraph", "recover", torn, "-o", scratch / "recovered.gfxg"), b"copying "),
        "info": (("gfxgraph", "info", trace), b"reading "),
        "dag": (("gfxgraph", "info", trace, "--dag", "json"), b"executing launch 0 of "),
        "provenance": (("gfxgraph", "provenance", trace), b"executing launch 0 of "),
        "diff": (("gfxgraph", "diff", trace, trace), b"reading "),
        "export": (("gfxgraph", "export", trace, "--format", "jsonl", "-o", scratch / "lines"), b"reading "),
        "report": (("gfxgraph", "report", trace, "-o", scratch / "page.html"), b"reading "),
        "extract": (("gfxgraph", "extract", trace, "-o", scratch / "part.gfxg", "--launches", "5:9"), b"executing event 0 of "),
        "replay": (("gfxgraph-replay", trace, "--device", "emulated", "--auto-seconds", 1, "--repeat", 3), b"reading the trace"),
        "bench": (("gfxgraph-replay", trace, "--device", "emulated", "--bench", "--repeat", 3), b"round 0 of 3"),
        "setup": (("gfxgraph-replay", trace, "--device", "emulated", "--mode", "batch"), b"loading the trace onto the device"),
    }
    for name, (command, text) in commands.items():
        code, shown = on_terminal(build.tool(*command))
        require(code in (0, 3) and text in shown and b"\x1b[K" in shown, f"{name}: exit code {code}, {shown}")
        require(not shown.rstrip(b"\r\n").endswith(b"..."), f"{name}: a line is left: {shown}")
        code, shown = on_terminal([*build.tool(*command), "--quiet"])
        require(code in (0, 3) and b"\x1b[K" not in shown and b" ..." not in shown, f"{name} --quiet: {shown}")
        done = run(build.tool(*command), {0, 3})
        require("\x1b" not in done.stderr and " ..." not in done.stderr, f"{name}: {done.stderr}")
    if wrong.exists():
        code, shown = on_terminal(build.replay(wrong, "--mode", "batch", "--bisect"))
        require(code == 1 and b"bisecting: the first of " in shown and b"comparing with other schedules" in shown, f"bisect: {code} {shown}")


def terminal(build, scratch):
    """Progress and first figures on a terminal, and nothing of it elsewhere; mode auto keeps to its time."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "saxpy"))
    command = build.replay(trace, "--auto-seconds", "0", "--cap", "1GiB")
    done = run(command)
    require("device: emulated" in done.stderr and "the first run took" not in done.stderr and "\x1b" not in done.stderr, done.stderr)
    require("eager mode (eager" in done.stdout and "graph not measured" in done.stdout, done.stdout)
    code, shown = on_terminal(command)
    require(code == 0 and b"mode eager: the first run took" in shown and b"\x1b[K" in shown, f"{shown}")
    done = run(build.replay(trace, "--cap", "4KiB"), expect=1)
    require("needs" in done.stderr and "nothing was allocated" in done.stderr, done.stderr)


def in_flight(build, scratch):
    """Streams and steps that go away in flight, work of others that never ends, two steps in flight, a capture."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "streams_events"))
    halves = scratch / "halves.gfxg"
    # From its ranges on: the trace shows that nobody writes what was uploaded before.
    run(build.record(halves, build.programs / "in_flight", "--record", options=("--range", "half#0-1")))
    # Streams that share a hardware queue wait for each other inside of HIP.
    done = run(build.tool("gfxgraph", "run", "--device", "emulated", "--", build.programs / "in_flight", trace, halves),
               expect={0, 1},
               env={"GPU_MAX_HW_QUEUES": "16"})
    require("in_flight: PASS" in done.stdout, done.stdout + done.stderr)


def forked_child(build, scratch):
    """A process that forks before its first session replays in both; one that forks later gets errors in its child."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "streams_events"))
    for when in ("early", "late"):
        done = run(build.tool("gfxgraph", "run", "--device", "emulated", "--", build.root / "tests" / "forked_child",
                              trace, when), timeout=60)
        require(done.stdout == "right\n", done.stdout + done.stderr)


def packet_faults(build, scratch):
    """Mode packets when each call of HSA fails, when its queue does, without its device or stream, and when nobody waits."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "streams_events"))
    plain = scratch / "plain.gfxg"
    run(build.record(plain, build.samples / "saxpy"))
    values = scratch / "values.gfxg"
    run(build.record(values, build.root / "tests" / "e2e" / "values"))
    for words in ((trace,), (trace, "reset"), (trace, "stream"), (plain, "ring"), (values, "values")):
        done = run([build.root / "tests" / "packet_faults", *words], expect={0, 1})
        require("packet_faults: PASS" in done.stdout, f"{words}: {done.stdout}{done.stderr}")


def changing_values(build, scratch):
    """Graph mode leaves the bytes of batch mode, whatever changes between runs, in memory of the library and in flight."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.root / "tests" / "e2e" / "values"))
    done = run([build.root / "tests" / "changing_values", trace], expect={0, 1})
    require("changing_values: PASS" in done.stdout, done.stdout + done.stderr)


def packet_order(build, scratch):
    """Without their barrier bits packets give other bytes, and small scopes are faults, where the agent reverses what it may."""
    trace = scratch / "t.gfxg"
    run(build.record(trace, build.samples / "streams_events"))
    program = build.root / "tests" / "packet_faults"
    done = run([program, trace, "order"], expect={0, 1})
    require("packet_faults: PASS" in done.stdout, done.stdout + done.stderr)
    # The agent makes 1 of 0. It skips the faulted queue's packets, so its watchdog ends the stream's wait for them.
    done = run([program, trace, "scopes"], expect=1, env={"GFXGRAPH_LIVELOCK_SECONDS": "1"})
    require("an earlier dispatch has no release fence" in done.stderr, done.stdout + done.stderr)


def packets_like_hip(build, scratch):
    """Packets and arguments equal those that HIP wrote into its ring. This machine's compiler gives these kernels no hidden ones."""
    traces = []
    for program in (build.samples / "saxpy", build.samples / "streams_events", build.samples / "struct_args", build.samples / "decode_step",
                    build.samples / "matmul_tiled", build.samples / "masked_tail"):
        traces.append(scratch / f"{program.name}.gfxg")
        run(build.record(traces[-1], program))
    done = run([build.root / "tests" / "packets_like_hip", *traces], expect={0, 1})
    require("packets_like_hip: PASS" in done.stdout, done.stdout + done.stderr)


if __name__ == "__main__":
    main({"changing_values": changing_values, "forked_child": forked_child, "packet_faults": packet_faults, "packet_order": packet_order, "packets_like_hip": packets_like_hip, "continues": continues, "settings": settings, "period": period, "terminal": terminal, "progress": progress, "in_flight": in_flight})
