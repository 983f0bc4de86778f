// Times of replays: each sample, the median, and the span from p10 to p90.
"use strict";

function timesPicture(rows) {
  const left = 230, width = 900, row = 34, height = rows.length * row + 24;
  const most = Math.max(...rows.map(({timing}) => Math.max(timing.p90, ...timing.samples)));
  const x = (value) => left + value / (most || 1) * (width - left - 100);
  const svg = svgElement("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "times"});
  rows.forEach(({name, timing}, n) => {
    const y = n * row + row / 2;
    svg.append(svgElement("text", {x: 8, y: y + 4}, name.length > 36 ? `${name.slice(0, 35)}…` : name),
      svgElement("rect", {x: x(timing.p10), y: y - 8, width: Math.max(1, x(timing.p90) - x(timing.p10)), height: 16, fill: "var(--launch)", "fill-opacity": 0.3}));
    for (const sample of timing.samples.slice(0, 500))
      svg.append(svgElement("circle", {class: "sample", cx: x(sample), cy: y, r: 2, fill: "var(--launch)", "fill-opacity": 0.5}));
    svg.append(svgElement("rect", {class: "median", x: x(timing.median) - 1, y: y - 11, width: 2, height: 22, fill: "var(--bad)"}),
      svgElement("text", {x: x(Math.max(timing.p90, ...timing.samples)) + 8, y: y + 4}, microseconds(timing.median)));
  });
  svg.append(svgElement("text", {x: left, y: height - 6, class: "soft"}, "0"),
    svgElement("text", {x: x(most) - 40, y: height - 6, class: "soft"}, microseconds(most)));
  return svg;
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
    place.append(element("p", {class: "warn"}, `${file}${result.outputs ? `, mode ${result.mode}` : ""}: no times, because the replay was not verified or its buffers differ`));
  // "samples" is their number, or a list of them.
  const samples = (timing) => Array.isArray(timing.samples) ? timing.samples : [];
  const rows = (kind) => timed.filter(({result}) => typeof result.times_us[kind]?.median === "number")
    .map(({file, result}) => ({name: `${result.mode}, ${file}`, timing: {...result.times_us[kind], samples: samples(result.times_us[kind])}}));
  for (const [kind, title] of [["submit", "Host time to submit one run"], ["end_to_end", "End to end, one run"],
    ["device", "Device, one run, between two events on its stream"]]) {
    if (!rows(kind).length) continue;
    place.append(element("h3", {}, title), timesPicture(rows(kind)));
  }
  for (const {file, result} of data.benches) {
    const saved = (Array.isArray(result.graph_break_even) ? result.graph_break_even : []).map(({against, runs}) =>
      typeof runs === "number" ? `against ${against} after ${runs} runs` : `never against ${against}`);
    if (saved.length) place.append(element("p", {}, `${file}: building the graph is saved ${saved.join(", ")}`));
  }
  if (timed.length) {
    place.append(element("p", {class: "soft"}, "Band: p10 to p90; line: median; dots: samples, where a result has them."));
    if (timed.some(({result}) => result.device?.emulated))
      place.append(element("p", {class: "warn"}, "An emulated device ran these replays: the times are not those of a GPU."));
    sortableTable(place, {columns: [{name: "mode"}, {name: "file"}, {name: "device"}, ...["load", "build", "instantiate", "first_run"].map((name) => ({name: `${name}_us`, number: true}))],
      rows: timed.map(({file, result}) => [result.mode, file, result.device?.name ?? "", ...["load", "build", "instantiate", "first_run"].map((name) => Math.round(result.times_us[name] ?? 0))])});
  }
}
