// The work that each stream was given, by event number or by host time.
"use strict";

const work = data.work;
const workKinds = [["launch", "kernel launch"], ["copy", "copy"], ["memset", "memset"], ["host", "host function"],
  ["graph", "graph launch"], ["record", "event record"], ["wait", "stream wait"]];
const streamName = (stream) => stream === 0 ? "null stream" : `stream ${stream}`;
const rangeName = (range) => `${range.name}#${range.ordinal}`;

const timeline = (() => {
  const size = work.event.length;
  const place = section("timeline", size ? "" : "The trace holds no work for a device.");
  if (!size) return null;
  place.append(element("p", {class: "soft"}, "Times are those of the host, when a call returned: a trace does not " +
    "record how long the device took. Ctrl + wheel zooms, drag pans, double click shows all; keys + − ← → 0."));
  if (work.total > size)
    place.append(element("p", {class: "warn"}, `Shows the first ${count(size)} of ${count(work.total)} entries.`));

  const streams = [...new Set(work.stream)].sort((a, b) => a - b);
  const ranges = data.ranges.list;
  const row = 26, top = ranges.length ? row : 0;
  // Times of two threads may be out of order: streams are sorted for each axis.
  const rows = {event: new Map(), time_us: new Map()};
  for (const axis of Object.keys(rows)) {
    for (const stream of streams) rows[axis].set(stream, []);
    for (let i = 0; i < size; ++i) rows[axis].get(work.stream[i]).push(i);
    for (const list of rows[axis].values()) list.sort((a, b) => work[axis][a] - work[axis][b]);
  }
  const all = Array.from({length: size}, (_, i) => i);
  let axis = "event";
  const value = (i) => work[axis][i];
  const ofEvent = (event) => axis === "event" ? event : work.time_us[Math.min(lowerBound(all, event, (i) => work.event[i]), size - 1)];
  const domain = () => {
    let first = Infinity, last = -Infinity;
    for (const one of work[axis]) { first = Math.min(first, one); last = Math.max(last, one); }
    return axis === "event" ? [0, Math.max(data.trace.events, last + 1)] : [first, last + Math.max((last - first) * 0.01, 1)];
  };
  const widthOf = (plot) => axis === "event" ? Math.max(1, plot.toX(1) - plot.toX(0)) : 3;

  function draw(plot, context) {
    const colours = workKinds.map(([name]) => colour(name));
    context.clearRect(0, 0, plot.left + plot.width, plot.height);
    plot.axis(context, (tick) => axis === "event" ? count(Math.round(tick)) : microseconds(tick));
    const width = widthOf(plot);
    const end = plot.left + plot.width;
    plot.drawn = 0;
    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.width, plot.height);
    context.clip();
    for (const range of ranges) {
      const x = plot.toX(ofEvent(range.first_event)), stop = plot.toX(ofEvent(range.end_event));
      if (stop < plot.left || x > end) continue;
      context.strokeStyle = colour("soft");
      context.strokeRect(x, 3, Math.max(1, stop - x), row - 8);
      context.fillStyle = colour("text");
      context.fillText(fitted(context, rangeName(range), Math.min(stop, end) - Math.max(x, plot.left) - 6), Math.max(x, plot.left) + 4, row / 2 - 1);
    }
    streams.forEach((stream, n) => {
      const list = rows[axis].get(stream);
      const y = top + n * row + 3;
      const shown = plot.view[0] - (plot.toValue(width) - plot.toValue(0));
      let drawnTo = -Infinity, kind = -1;
      for (let at = lowerBound(list, shown, value); at < list.length; ++at) {
        const i = list[at], x = plot.toX(value(i));
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
    context.restore();
    context.fillStyle = colour("text");
    if (top) context.fillText("ranges", 6, row / 2 - 1);
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
      context.moveTo(plot.toX(value(from)) + width / 2, y(from));
      context.lineTo(plot.toX(value(i)) + width / 2, y(i));
      context.stroke();
    }
  }

  function hit(plot, x, y) {
    if (x < plot.left) return "";
    if (y < top) {
      const at = plot.toValue(x);
      const range = ranges.find((one) => ofEvent(one.first_event) <= at && at < ofEvent(one.end_event));
      return range && `${rangeName(range)}\n${plural(range.launches, "launch").replace(/hs$/, "hes")}, ${microseconds(range.span_ns / 1000)} host time`;
    }
    const list = rows[axis].get(streams[Math.floor((y - top) / row)]);
    if (!list) return "";
    const width = Math.max(widthOf(plot), 4);
    const at = lowerBound(list, plot.toValue(x), value);
    const near = [list[at - 1], list[at]].filter((i) => i !== undefined && x >= plot.toX(value(i)) - 3 && x < plot.toX(value(i)) + width);
    if (!near.length) return "";
    const i = near.at(-1);
    return [work.texts[work.text[i]], work.texts[work.detail[i]],
      `event ${count(work.event[i])}, ${microseconds(work.time_us[i])}, thread ${work.thread[i]}, ${streamName(work.stream[i])}`,
      work.texts[work.site[i]] && `called from ${work.texts[work.site[i]]}`].filter(Boolean).join("\n");
  }

  const plot = new Plot(place, {label: "timeline of the streams", height: top + streams.length * row + 22, domain: domain(), least: 8, draw, hit});
  const choice = element("select", {"aria-label": "axis"}, element("option", {value: "event"}, "by event"),
    element("option", {value: "time_us"}, "by host time"));
  choice.addEventListener("change", () => {
    axis = choice.value;
    plot.linked = axis === "event" && typeof bufferMap !== "undefined" && bufferMap ? [bufferMap] : [];
    plot.setDomain(domain());
  });
  const used = new Set(work.kind);
  plot.canvas.before(plot.buttons(choice, ...workKinds.filter((_, n) => used.has(n)).map(([name, text]) =>
    element("span", {class: "key", style: `--colour: var(--${name})`}, text))));
  return plot;
})();
