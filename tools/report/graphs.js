// Pictures of recorded graphs and of ranges: nodes in layers, edges from each node to later ones.
"use strict";

const mostNodes = 300;

// A node's layer is one more than the deepest of those it comes after. Nodes of a cycle, which no
// recorded graph has, would stay in layer 0.
function layered(nodes) {
  const layer = new Array(nodes.length).fill(0), left = nodes.map((node) => node.after.length);
  const later = nodes.map(() => []);
  nodes.forEach((node, n) => node.after.forEach((from) => later[from].push(n)));
  const ready = left.flatMap((number, n) => number === 0 ? [n] : []);
  for (let at = 0; at < ready.length; ++at) {
    for (const next of later[ready[at]]) {
      layer[next] = Math.max(layer[next], layer[ready[at]] + 1);
      if (--left[next] === 0) ready.push(next);
    }
  }
  return layer;
}

// Draws the graph into an SVG element that zooms and pans.
function drawGraph(svg, nodes, columnNames) {
  const width = 200, height = 26, gapX = 24, gapY = 22, top = columnNames ? 24 : 8;
  const layers = layered(nodes), used = new Map();
  const places = nodes.map((node, n) => {
    const column = node.column ?? used.get(layers[n]) ?? 0;
    used.set(layers[n], column + 1);
    return [8 + column * (width + gapX), top + layers[n] * (height + gapY)];
  });
  const across = d3.max(places, ([x]) => x) + width + 8, down = d3.max(places, ([, y]) => y) + height + 8;
  svg.attr("height", Math.min(down, 480)).attr("aria-label", `graph of ${plural(nodes.length, "node")}`).selectAll("*").remove();
  const all = svg.append("g");
  all.selectAll(".edge").data(nodes.flatMap((node, n) => node.after.map((from) => [places[from], places[n]]))).join("path")
    .attr("class", "edge").attr("d", ([[x, y], [toX, toY]]) => {
      const bend = (toY - y - height) / 2;
      return `M${x + width / 2} ${y + height} C${x + width / 2} ${y + height + bend} ${toX + width / 2} ${toY - bend} ${toX + width / 2} ${toY}`;
    });
  const shown = all.selectAll(".node").data(nodes).join("g").attr("class", "node").attr("transform", (_, n) => `translate(${places[n]})`);
  shown.append("title").text((node) => node.text);
  shown.append("rect").attr("width", width).attr("height", height).attr("rx", 3);
  shown.append("text").attr("x", 6).attr("y", 17).text((node) => clipped(node.text, 28));
  all.selectAll(".column").data(columnNames || []).join("text").attr("class", "column soft")
    .attr("x", (_, n) => 8 + n * (width + gapX)).attr("y", 14).text((name) => name);

  const least = Math.min(1, svg.node().clientWidth / across, 480 / down);
  const behaviour = zoomable(svg, () => all.attr("transform", d3.event.transform)).scaleExtent([Math.max(0.05, least), 4])
    .translateExtent([[0, 0], [Math.max(across, svg.node().clientWidth), down]]);
  const reset = () => behaviour.transform(svg, d3.zoomIdentity);
  svg.call(behaviour).on("dblclick.zoom", reset);
  reset();
}

// Work between two events, in the order that streams and HIP events give.
function workNodes(first, end) {
  const inside = [];
  for (let i = 0; i < work.event.length; ++i) if (work.event[i] >= first && work.event[i] < end) inside.push(i);
  const kept = inside.slice(0, mostNodes), number = new Map(kept.map((i, n) => [i, n]));
  const streams = d3.sort(new Set(kept.map((i) => work.stream[i])));
  const last = new Map();
  const nodes = kept.map((i, n) => {
    const after = new Set();
    if (last.has(work.stream[i])) after.add(last.get(work.stream[i]));
    if (number.has(work.waits_for[i])) after.add(number.get(work.waits_for[i]));
    last.set(work.stream[i], n);
    return {text: work.texts[work.text[i]], after: [...after], column: streams.indexOf(work.stream[i])};
  });
  return {nodes, total: inside.length, columns: streams.map(streamName)};
}

{
  const sources = [];
  for (const graph of data.graphs.list)
    sources.push([`graph ${graph.graph} (${plural(graph.nodes.length, "node")})`, () => ({total: graph.nodes.length,
      nodes: graph.nodes.slice(0, mostNodes).map((node) => ({text: node.text, after: node.after.filter((from) => from < mostNodes)}))})]);
  for (const range of data.ranges.list.slice(0, 1000))
    sources.push([`range ${rangeName(range)}`, () => workNodes(range.first_event, range.end_event)]);
  if (work.event.length) sources.push(["whole trace", () => workNodes(0, Infinity)]);
  const place = section("graphs", sources.length ? "" : "The trace holds no work for a device.");
  if (sources.length) {
    const choice = place.append("div").attr("class", "bar").append("select").attr("aria-label", "graph or range");
    choice.selectAll("option").data(sources).join("option").attr("value", (_, n) => n).text(([name]) => name);
    const about = note(place, "");
    const picture = place.append("svg").attr("class", "graph").attr("role", "img");
    const show = () => {
      const {nodes, total, columns} = sources[choice.property("value")][1]();
      const cut = total > nodes.length ? `The first ${count(nodes.length)} of ${count(total)} nodes. ` : total ? "" : "No work. ";
      about.text(`${cut}${columns ? "Edges: the order within a stream, and waits for HIP events. Implicit waits of the null stream are not drawn." :
        "Edges: recorded dependencies."} Ctrl + wheel zooms, drag pans, double click resets.`);
      picture.style("display", nodes.length ? null : "none");
      if (nodes.length) drawGraph(picture, nodes, columns);
    };
    choice.on("change", show);
    show();
  }
}
