// The work that each stream was given, by event number or by host time.
"use strict";

const work = data.work;
const workKinds = [["launch", "kernel launch"], ["copy", "copy"], ["memset", "memset"], ["host", "host function"],
  ["graph", "graph launch"], ["record", "event record"], ["wait", "stream wait"]];
const streamName = (stream) => stream === 0 ? "null stream" : `stream ${stream}`;
const rangeName = (range) => `${range.name}#${range.ordinal}`;

const eventDomain = [0, Math.max(data.trace.events, (d3.max(work.event) ?? -1) + 1)];
const eventTicks = () => (tick) => Number.isInteger(tick) ? count(tick) : "";
const firstAtLeast = (list, wanted, of) => d3.bisector(of).left(list, wanted);

const timeline = (() => {
  const size = work.event.length;
  const place = section("timeline", size ? "" : "The trace holds no work for a device.");
  if (!size) return null;
  note(place, "Times are those of the host, when a call returned: a trace does not " +
    "record how long the device took. Ctrl + wheel zooms, drag pans, double click shows all; keys + − ← → 0.");
  if (work.total > size)
    note(place, `Shows the first ${count(size)} of ${count(work.total)} entries.`, "warn");

  const streams = d3.sort(new Set(work.stream));
  const ranges = data.ranges.list;
  // Ranges that overlap stand in rows of their own, the inner ones below; the last row takes the rest.
  const row = 26, mostRows = 8, ends = [];
  const rangeRows = new Array(ranges.length);
  for (const n of d3.sort(d3.range(ranges.length), (a, b) => ranges[a].first_event - ranges[b].first_event || ranges[b].end_event - ranges[a].end_event)) {
    const free = ends.findIndex((end) => end <= ranges[n].first_event);
    rangeRows[n] = free >= 0 ? free : Math.min(ends.length, mostRows - 1);
    ends[rangeRows[n]] = Math.max(ranges[n].end_event, ends[rangeRows[n]] ?? 0);
  }
  const rowNames = ends.map((_, n) => [...new Set(ranges.filter((_, at) => rangeRows[at] === n).map((range) => range.name))]);
  const top = ends.length * row;
  // Times of two threads may be out of order: streams are sorted for each axis.
  const all = d3.range(size);
  const rows = Object.fromEntries(["event", "time_us"].map((axis) =>
    [axis, d3.group(d3.sort(all, (i) => work[axis][i]), (i) => work.stream[i])]));
  let axis = "event";
  const value = (i) => work[axis][i];
  const ofEvent = (event) => axis === "event" ? event : work.time_us[Math.min(firstAtLeast(work.event, event, (one) => one), size - 1)];
  const domain = () => {
    if (axis === "event") return eventDomain;
    const [first, last] = d3.extent(work.time_us);
    return [first, last + Math.max((last - first) * 0.01, 1)];
  };
  const widthOf = (plot) => axis === "event" ? Math.max(1, plot.x(1) - plot.x(0)) : 3;

  function draw(plot, context) {
    const colours = workKinds.map(([name]) => colour(name));
    const width = widthOf(plot);
    const end = plot.left + plot.width;
    plot.drawn = 0;
    for (const [n, range] of ranges.entries()) {
      const y = rangeRows[n] * row;
      const x = plot.x(ofEvent(range.first_event)), stop = plot.x(ofEvent(range.end_event));
      if (stop < plot.left || x > end) continue;
      context.strokeStyle = colour("soft");
      context.strokeRect(x, y + 3, Math.max(1, stop - x), row - 8);
      context.fillStyle = colour("text");
      const space = Math.min(stop, end) - Math.max(x, plot.left) - 6;
      const name = rowNames[rangeRows[n]].length > 1 || context.measureText(rangeName(range)).width <= space ? rangeName(range) : `#${range.ordinal}`;
      context.fillText(fitted(context, name, space), Math.max(x, plot.left) + 4, y + row / 2 - 1);
    }
    streams.forEach((stream, n) => {
      const list = rows[axis].get(stream);
      const y = top + n * row + 3;
      const shown = plot.view[0] - (plot.x.invert(width) - plot.x.invert(0));
      let drawnTo = -Infinity, kind = -1;
      for (let at = firstAtLeast(list, shown, value); at < list.length; ++at) {
        const i = list[at], x = plot.x(value(i));
        if (x > end) break;
        // Entries of one kind that share a pixel are drawn once.
        if (work.kind[i] === kind && x < drawnTo) continue;
        kind = work.kind[i];
        drawnTo = Math.floor(x) + 1;
        context.fillStyle = colours[kind];
        context.fillRect(x, y, width > 4 ? width - 1 : width, row - 6);
        ++plot.drawn;
        if (axis === "event" && width > 30) {
          context.fillStyle = colour("back");
          context.fillText(fitted(context, work.texts[work.text[i]], width - 6), x + 3, y + row / 2 - 3);
        }
      }
    });
    drawWaits(plot, context, width);
  }

  function names(plot, context) {
    context.fillStyle = colour("text");
    rowNames.forEach((all, n) => context.fillText(fitted(context, all.length === 1 ? all[0] : "ranges", plot.left - 10), 6, n * row + row / 2 - 1));
    streams.forEach((stream, n) => context.fillText(fitted(context, streamName(stream), plot.left - 10), 6, top + n * row + row / 2));
  }

  const waits = all.filter((i) => work.waits_for[i] >= 0 && work.waits_for[i] < size);
  function drawWaits(plot, context, width) {
    const visible = waits.filter((i) => value(i) >= plot.view[0] && value(work.waits_for[i]) <= plot.view[1]);
    if (visible.length > 2000) return;  // they would cover all else
    const y = (i) => top + streams.indexOf(work.stream[i]) * row + row / 2;
    context.strokeStyle = colour("wait");
    for (const i of visible) {
      const from = work.waits_for[i];
      context.beginPath();
      context.moveTo(plot.x(value(from)) + width / 2, y(from));
      context.lineTo(plot.x(value(i)) + width / 2, y(i));
      context.stroke();
    }
  }

  function hit(plot, x, y) {
    if (x < plot.left) return "";
    if (y < top) {
      const at = plot.x.invert(x);
      const range = ranges.find((one, n) => rangeRows[n] === Math.floor(y / row) && ofEvent(one.first_event) <= at && at < ofEvent(one.end_event));
      return range && `${rangeName(range)}\n${plural(range.launches, "launch")}, ${microseconds(range.span_ns / 1000)} host time`;
    }
    const list = rows[axis].get(streams[Math.floor((y - top) / row)]);
    if (!list) return "";
    const width = Math.max(widthOf(plot), 4);
    const at = firstAtLeast(list, plot.x.invert(x), value);
    const near = [list[at - 1], list[at]].filter((i) => i !== undefined && x >= plot.x(value(i)) - 3 && x < plot.x(value(i)) + width);
    if (!near.length) return "";
    const i = near.at(-1);
    return [work.texts[work.text[i]], work.texts[work.detail[i]],
      `event ${count(work.event[i])}, ${microseconds(work.time_us[i])}, thread ${work.thread[i]}, ${streamName(work.stream[i])}`,
      work.texts[work.site[i]] && `called from ${work.texts[work.site[i]]}`].filter(Boolean).join("\n");
  }

  const plot = new Plot(place, {label: "timeline of the streams", height: top + streams.length * row + 24, domain: domain(), least: 8, draw, names, hit,
    format: (...shown) => (axis === "event" ? eventTicks : timeTicks)(...shown)});
  Plot.linked.add(plot);
  const used = new Set(work.kind);
  plot.buttons(...workKinds.filter((_, n) => used.has(n)));
  plot.bar.insert("select", ".key").attr("aria-label", "axis").on("change", function () {
    axis = this.value;
    if (axis === "event") Plot.linked.add(plot);
    else Plot.linked.delete(plot);
    plot.setDomain(domain());
  }).selectAll("option").data([["event", "by event"], ["time_us", "by host time"]]).join("option").attr("value", ([value]) => value).text(([, text]) => text);
  return plot;
})();
