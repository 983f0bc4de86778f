"""gfxgraph report: the page, in headless Chromium. GFXGRAPH_PICTURES=FOLDER keeps screenshots there.

report.py page|groups|large|hostile|refused BUILD_TREE
"""

import json
import os
from pathlib import Path

from browser import Page
from harness import main, require, run


def picture(page, name):
    folder = os.environ.get("GFXGRAPH_PICTURES")
    if folder:
        height = page.value("Math.ceil(document.documentElement.getBoundingClientRect().height)")
        page.call("Emulation.setDeviceMetricsOverride", width=1200, height=height, deviceScaleFactor=1, mobile=False)
        page.drawn()
        page.picture(Path(folder) / f"{name}.png")


def fine(page, file):
    require(not page.errors, f"errors: {page.errors}")
    require(set(page.requests) <= {file.as_uri()}, f"the page asked for {page.requests}")
    require(page.value("document.querySelectorAll('main h2').length") == 7, "not all sections are there")
    licences = page.value("document.scripts[1].text")
    for licence in ("License: BSD-3-Clause\n Redistribution and use", "License: ISC\n Permission to use"):
        require(licence in licences, f"the page lacks D3's {licence[:20]!r}")


def written(build, scratch, trace, *results, expect=0):
    file = scratch / "report.html"
    run(build.tool("gfxgraph", "report", trace, *results, "-o", file), expect)
    return file


def column(page, section, name):
    return page.value(f"""(() => {{ const heads = [...document.querySelectorAll('#{section} th')].map((one) => one.textContent);
        const n = heads.indexOf({json.dumps(name)});
        return [...document.querySelectorAll('#{section} tbody tr')].map((row) => row.cells[n].textContent.replaceAll(',', '')); }})()""")


def page(build, scratch):
    """All sections, of a program with streams, of one with a graph, of one with findings."""
    trace, check, replays = scratch / "streams.gfxg", scratch / "check.json", []
    run(build.record(trace, build.samples / "streams_events"))
    for mode in ("eager", "graph"):
        replays.append(scratch / f"{mode}.json")
        run(build.replay(trace, "--mode", mode, "--repeat", "5", "--json", str(replays[-1])))
    info = json.loads(run(build.tool("gfxgraph", "info", trace, "--json")).stdout)
    file = written(build, scratch, trace, *replays)
    with Page(scratch, file.as_uri()) as shown:
        shown.drawn()
        fine(shown, file)
        work = shown.value("work.kind.filter((kind) => kind === 0).length")
        require(work == info["events"]["launch"] > 0, f"{work} launches in the timeline")
        require(shown.value("timeline.drawn") > 0, "the timeline is empty")
        require(shown.value("work.waits_for.filter((one) => one >= 0).length") ==
                info["events"]["stream_wait"], "waits without their records")

        # Zoom with the wheel, at the place of the mouse; the map of buffers follows; back with a double click.
        before = shown.value("timeline.view")
        box = shown.place("#timeline canvas")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        at = shown.value(f"timeline.x.invert({x - box['x']})")
        shown.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100, modifiers=2)
        shown.drawn()
        after = shown.value("timeline.view")
        require(after[1] - after[0] < before[1] - before[0], f"{before} did not become less: {after}")
        require(abs(shown.value(f"timeline.x.invert({x - box['x']})") - at) < 0.01 * (before[1] - before[0]), "zoomed elsewhere")
        require(shown.value("bufferMap.view") == after, "the map of buffers shows another part")
        shown.mouse("mousePressed", x, y, button="left", clickCount=1)
        shown.mouse("mouseMoved", x + 40, y, button="left")
        shown.mouse("mouseReleased", x + 40, y, button="left", clickCount=1)
        moved = shown.value("timeline.view")
        require(moved[0] < after[0] and abs((moved[1] - moved[0]) - (after[1] - after[0])) < 1e-6, f"no pan: {after} {moved}")
        for clicks in (1, 2):
            for kind in ("mousePressed", "mouseReleased"):
                shown.mouse(kind, x, y, button="left", clickCount=clicks)
        require(shown.value("timeline.view") == before, "a double click does not show all")

        # Hover names the launch.
        shown.value("timeline.canvas.scrollIntoView({block: 'center'})")
        place = shown.value("""(() => { const i = work.kind.indexOf(0), box = timeline.canvas.getBoundingClientRect();
            const row = [...new Set(work.stream)].sort((a, b) => a - b).indexOf(work.stream[i]);
            return [box.x + timeline.x(work.event[i] + 0.5), box.y + (data.ranges.list.length ? 26 : 0) + row * 26 + 13]; })()""")
        shown.mouse("mouseMoved", *place)
        text = shown.value("tip.hidden ? '' : tip.textContent")
        require("block" in text and "event" in text, f"hover shows {text!r}")

        ticks = shown.value("[...document.querySelectorAll('#timeline .tick text')].map((one) => one.textContent)")
        require(len(ticks) > 1 and ticks == sorted(set(ticks), key=lambda one: int(one.replace(",", ""))), f"ticks {ticks}")

        # The other axis.
        shown.value("(() => { const one = document.querySelector('#timeline select'); one.value = 'time_us'; one.dispatchEvent(new Event('change')); })()")
        shown.drawn()
        require(shown.value("timeline.drawn") > 0, "the timeline by time is empty")
        # Ticks differ however close they are, and the map of buffers, whose axis is events, stays where it is.
        buffers = shown.value("bufferMap.view")
        for _ in range(6):
            shown.value("timeline.zoom(0.25)")
        shown.drawn()
        ticks = shown.value("[...document.querySelectorAll('#timeline .tick text')].map((one) => one.textContent)")
        require(len(ticks) == len(set(ticks)) > 1, f"ticks {ticks}")
        require(shown.value("bufferMap.view") == buffers, "the map of buffers follows an axis of times")

        # Tables sort, both ways; text filters.
        for name, down in (("launches", True), ("launches", False)):
            shown.click("#kernels th:nth-child(2) button")
            numbers = [int(one) for one in column(shown, "kernels", name)]
            require(numbers == sorted(numbers, reverse=down), f"sorted: {numbers}")
        sizes = column(shown, "buffers", "size bytes")
        require(len(sizes) == len(info["buffers"]), f"{len(sizes)} buffers")
        shown.value("(() => { const one = document.querySelector('#buffers input'); one.value = 'no such buffer'; one.dispatchEvent(new Event('input')); })()")
        require(column(shown, "buffers", "size bytes") == [], "the filter leaves rows")

        edges = shown.value("document.querySelectorAll('#graphs .edge').length")
        nodes = shown.value("d3.sum(d3.selectAll('#graphs .node').data(), (node) => node.size ?? 1)")
        require(nodes == shown.value("work.event.length") and edges > 0, f"{nodes} nodes, {edges} edges")

        # Pictures of graphs zoom and pan.
        box = shown.place("#graphs svg")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        shown.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100, modifiers=2)
        near = shown.value("d3.zoomTransform(document.querySelector('#graphs svg'))")
        require(near["k"] > 1, f"the graph is shown at {near}")
        shown.mouse("mousePressed", x, y, button="left", clickCount=1)
        shown.mouse("mouseMoved", x - 40, y, button="left")
        shown.mouse("mouseReleased", x - 40, y, button="left", clickCount=1)
        require(shown.value("d3.zoomTransform(document.querySelector('#graphs svg')).x") == near["x"] - 40, "the graph does not move")

        require(shown.value("document.querySelectorAll('#times .median').length") == 4, "not two times of two modes")
        require("not those of a GPU" in shown.value("document.getElementById('times').textContent"), "no word on the device")
        fine(shown, file)
        picture(shown, "streams")

    graph = scratch / "graph.gfxg"
    run(build.record(graph, build.samples / "graph_capture"))
    counts = [one["nodes"] for one in json.loads(run(build.tool("gfxgraph", "info", graph, "--json")).stdout)["graphs"]]
    file = written(build, scratch, graph)
    with Page(scratch, file.as_uri()) as shown:
        require(shown.value("document.querySelectorAll('#graphs .node').length") == counts[0], f"not {counts[0]} nodes")
        fine(shown, file)
        picture(shown, "graph")

    tail = scratch / "tail.gfxg"
    run(build.record(tail, build.samples / "masked_tail"))
    check.write_text(run(build.tool("gfxgraph", "check", tail, "--masked-lane=error", "--format", "json"), 4).stdout)
    found = json.loads(check.read_text())["findings"]
    file = written(build, scratch, tail, check)
    with Page(scratch, file.as_uri()) as shown:
        require(shown.value("document.querySelectorAll('.finding').length") == len(found) > 0, f"not {len(found)} findings")
        first = found[0]["first"]
        lanes = shown.value("[...document.querySelector('.finding').querySelectorAll('.lane')].map((one) => one.className)")
        require(len(lanes) == 32, f"{len(lanes)} lanes")
        active = sum(1 << n for n, lane in enumerate(lanes) if "active" in lane.split())
        require(active == int(first["exec"], 16), f"{active:#x} is not {first['exec']}")
        bad = [n for n, lane in enumerate(lanes) if "bad" in lane.split()]
        wanted = [n for part in first["lanes"].split(",")
                  for n in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]
        require(bad == wanted, f"{bad} is not {wanted}")
        require("past the end of" in shown.value("document.querySelector('.finding svg').textContent"), "no address line")
        fine(shown, file)
        picture(shown, "findings")


def groups(build, scratch):
    """More than a thousand launches in ranges: the graph folds into a few groups that open, and no label or word is cut
    where it need not be."""
    trace = scratch / "decode.gfxg"
    run(build.record(trace, build.samples / "decode_step"))
    file = written(build, scratch, trace)
    with Page(scratch, file.as_uri()) as shown:
        shown.drawn()
        total = shown.value("work.event.length")
        require(total > 1000, f"{total} entries")

        def labels():
            return shown.value("[...document.querySelectorAll('#graphs .node')].map((one) => [...one.querySelectorAll('text')].map((line) => line.textContent))")

        def sizes():
            return shown.value("d3.sum(d3.selectAll('#graphs .node').data(), (node) => node.size ?? 1)")

        def choose(text):
            shown.value(f"""(() => {{ const one = document.querySelector('#graphs select');
                one.value = [...one.options].find((each) => each.text.startsWith({json.dumps(text)})).value; one.dispatchEvent(new Event('change')); }})()""")

        # The whole trace: a few groups that hold every node; the steps are one of the groups.
        choose("whole trace")
        require(len(labels()) <= 60 and sizes() == total, f"{sizes()} of {total} nodes in {labels()}")
        shown.value("document.querySelector('#graphs .node.folded:last-of-type').dispatchEvent(new Event('click'))")
        require(any(lines[0].startswith("12 × decode: ") for lines in labels()), f"no group of steps: {labels()}")
        # Back to the whole, then one step: its layers are a group, which shows the kernels of one layer whole.
        shown.click("#graphs .way button")
        require(sizes() == total, "the way back does not lead back")
        choose("range decode#3")
        require(any(lines[0].startswith("8 × 13 nodes") for lines in labels()), f"no layers: {labels()}")
        shown.click("#graphs .node.folded")
        opened = labels()
        require(len(opened) == 13 and ["rms_norm", "grid 1x1x1"] in opened and not any("…" in line for lines in opened for line in lines),
                f"a layer is {opened}")
        boxes = shown.value("[...document.querySelectorAll('#graphs .node')].map((one) => [one.querySelector('rect').getBBox().width, ...[...one.querySelectorAll('text')].map((line) => line.getBBox().width)])")
        require(all(line <= width for width, *lines in boxes for line in lines), f"labels leave their boxes: {boxes}")
        # Without groups: single nodes, as many as can be drawn.
        choose("whole trace")
        shown.click("#graphs input")
        require(len(labels()) == 300 and f"first 300 of {total:,} nodes" in shown.value("document.getElementById('graphs').textContent"), "not 300 single nodes")

        # Words of the tables stay whole, and every range has its place in a row.
        words = shown.value("""[...document.querySelectorAll('#kernels td:first-child')].map((cell) => {
            const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
            for (let node; (node = walk.nextNode());) for (const word of node.data.matchAll(/[A-Za-z_]+/g)) {
              const range = document.createRange();
              range.setStart(node, word.index);
              range.setEnd(node, word.index + word[0].length);
              if (word[0].length <= 40 && range.getClientRects().length > 1) broken.push(word[0]);
            }
            return broken; }).flat()""")
        require(words == [], f"words broken inside: {words}")
        fine(shown, file)
        picture(shown, "groups")


def large(build, scratch):
    """10,000 launches and more. What is drawn is bounded by the pixels, which needs no clock: whatever the zoom, no
    more rectangles than the stream rows have pixels."""
    trace = scratch / "large.gfxg"
    run(build.record(trace, build.programs / "scale", "launches", 12_000))
    file = written(build, scratch, trace)
    with Page(scratch, file.as_uri()) as shown:
        shown.drawn()
        launches = shown.value("work.kind.filter((kind) => kind === 0).length")
        require(launches >= 10000, f"{launches} launches")
        rows, width = shown.value("new Set(work.stream).size"), shown.value("timeline.width")
        for _ in range(12):
            drawn = shown.value("timeline.drawn")
            require(0 < drawn <= rows * 2 * (width + 2), f"{drawn} rectangles on {width} pixels and {rows} rows")
            shown.value("timeline.zoom(0.5)")
            shown.drawn()
        fine(shown, file)
        picture(shown, "large")


def hostile(build, scratch):
    """Names that would be HTML stay text."""
    source = Path(__file__).resolve().parents[1] / "golden"
    for trace in sorted(source.glob("*.gfxg")):
        sealed = run(build.tool("gfxgraph", "info", trace), None).returncode
        file = written(build, scratch, trace, expect=sealed)
        with Page(scratch, file.as_uri()) as shown:
            fine(shown, file)
    for attack in ("names", "long_names", "metadata", "graph", "grid", "arguments"):
        trace = scratch / f"{attack}.gfxg"
        run([str(build.root / "tests" / "attack_file"), attack, str(trace)])
        file = written(build, scratch, trace, expect={0, 3})
        with Page(scratch, file.as_uri()) as shown:
            shown.drawn()
            fine(shown, file)
    name = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 1'>"
    result = {"mode": name, "operations": 1, "verified": True, "device": {"name": name, "emulated": True},
              "times_us": {"submit": {"median": 1, "p10": 1, "p90": 1, "samples": [1]}}}
    (scratch / "bad.json").write_text(json.dumps(result))
    file = written(build, scratch, source / "smallest.gfxg", scratch / "bad.json")
    with Page(scratch, file.as_uri()) as shown:
        require(shown.value("window.broken === undefined"), "a text of a result ran as a script")
        require("onerror" in shown.value("document.getElementById('times').textContent"), "the text is not shown")
        fine(shown, file)


def refused(build, scratch):
    trace, other = Path(__file__).resolve().parents[1] / "golden" / "smallest.gfxg", scratch / "other.json"
    for text in ("", "[]", "{}", '{"schema": "gfxgraph-diff/1"}', "[" * 1000000, '{"mode": 1'):
        other.write_text(text)
        failed = run(build.tool("gfxgraph", "report", trace, other, "-o", scratch / "no.html"), {1, 2})
        require("other.json: neither" in failed.stderr, failed.stderr)
        require(not (scratch / "no.html").exists(), "a page was left")
    run(build.tool("gfxgraph", "report", trace, scratch / "missing.json"), 1)
    require(run(build.tool("gfxgraph", "report", trace)).stdout.startswith("<!DOCTYPE html>"), "no page on stdout")


if __name__ == "__main__":
    main({"page": page, "groups": groups, "large": large, "hostile": hostile, "refused": refused})
