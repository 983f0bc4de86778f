// Times of replays: each sample, the median, and the span from p10 to p90.
"use strict";

function drawTimes(place, rows) {
  const left = 240, width = 900, row = 34, height = rows.length * row + 26;
  const end = ({timing}) => d3.max([timing.p90, timing.median, ...timing.samples]);
  const x = d3.scaleLinear([0, d3.max(rows, end) || 1], [left, width - 90]).nice();
  const svg = place.append("svg").attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", "times");
  svg.append("g").attr("transform", `translate(0,${height - 22})`)
    .call(d3.axisBottom(x).ticks(6).tickFormat(timeTicks(x, 6)).tickSizeInner(22 - height).tickSizeOuter(0).tickPadding(5));
  const group = svg.selectAll(".run").data(rows).join("g").attr("class", "run").attr("transform", (_, n) => `translate(0,${n * row + row / 2})`);
  group.append("title").text(({name}) => name);
  group.append("text").attr("x", 8).attr("y", 4).text(({name}) => clipped(name, 36));
  group.append("rect").attr("class", "spread").attr("x", ({timing}) => x(timing.p10)).attr("y", -8).attr("height", 16)
    .attr("width", ({timing}) => Math.max(1, x(timing.p90) - x(timing.p10)));
  group.selectAll(".sample").data(({timing}) => timing.samples.slice(0, 500)).join("circle").attr("class", "sample").attr("cx", x).attr("r", 2);
  group.append("rect").attr("class", "median").attr("x", ({timing}) => x(timing.median) - 1).attr("y", -11).attr("width", 2).attr("height", 22);
  group.append("text").attr("x", (one) => x(end(one)) + 8).attr("y", 4).text(({timing}) => microseconds(timing.median));
}

// The modes of a result of gfxgraph-replay --bench, each as if it were a result of its own.
function benchResults({file, result}) {
  return (Array.isArray(result.variants) ? result.variants : []).filter((one) => one && typeof one === "object").map((variant) => ({file: `${file} --bench`,
    result: {mode: variant.mode, device: result.device, times_us: variant.times_us, outputs: variant.outputs}}));
}

{
  const replays = [...data.replays, ...data.benches.flatMap(benchResults)];
  const place = section("times", replays.length ? "" : "No result of gfxgraph-replay was given. To add one: " +
    "gfxgraph-replay T.gfxg --repeat 100 --json replay.json; gfxgraph report T.gfxg replay.json -o T.html");
  const timed = replays.filter(({result}) => result.times_us);
  for (const {file, result} of replays.filter((one) => !timed.includes(one)))
    note(place, `${file}${result.outputs ? `, mode ${result.mode}` : ""}: no times, because the replay was not verified or its buffers differ`, "warn");
  // "samples" is their number, or a list of them.
  const samples = (timing) => Array.isArray(timing.samples) ? timing.samples : [];
  const rows = (kind) => timed.filter(({result}) => typeof result.times_us[kind]?.median === "number")
    .map(({file, result}) => ({name: `${result.mode}, ${file}`, timing: {...result.times_us[kind], samples: samples(result.times_us[kind])}}));
  for (const [kind, title] of [["submit", "Host time to submit one run"], ["end_to_end", "End to end, one run"],
    ["device", "Device, one run, between two events on its stream"]]) {
    if (!rows(kind).length) continue;
    place.append("h3").text(title);
    drawTimes(place, rows(kind));
  }
  for (const {file, result} of data.benches) {
    const saved = (Array.isArray(result.graph_break_even) ? result.graph_break_even : []).map(({against, runs}) =>
      typeof runs === "number" ? `against ${against} after ${runs} runs` : `never against ${against}`);
    if (saved.length) note(place, `${file}: building the graph is saved ${saved.join(", ")}`, null);
  }
  if (timed.length) {
    note(place, "Band: p10 to p90; line: median; dots: samples, where a result has them.");
    if (timed.some(({result}) => result.device?.emulated))
      note(place, "An emulated device ran these replays: the times are not those of a GPU.", "warn");
    sortableTable(place, {columns: [{name: "mode"}, {name: "file"}, {name: "device"}, ...["load", "build", "instantiate", "first_run"].map((name) => ({name: `${name}_us`, number: true}))],
      rows: timed.map(({file, result}) => [result.mode, file, result.device?.name ?? "", ...["load", "build", "instantiate", "first_run"].map((name) => Math.round(result.times_us[name] ?? 0))])});
  }
}
