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

function graphPicture(nodes, columnNames) {
  const width = 200, height = 26, gapX = 24, gapY = 22, top = columnNames ? 24 : 8;
  const layers = layered(nodes), used = new Map();
  const places = nodes.map((node, n) => {
    const column = node.column ?? used.get(layers[n]) ?? 0;
    used.set(layers[n], column + 1);
    return [8 + column * (width + gapX), top + layers[n] * (height + gapY)];
  });
  const across = Math.max(...places.map(([x]) => x)) + width + 8, down = Math.max(...places.map(([, y]) => y)) + height + 8;
  const svg = svgElement("svg", {width: across, height: down, role: "img", "aria-label": `graph of ${nodes.length} nodes`});
  nodes.forEach((node, n) => node.after.forEach((from) => {
    const [x, y] = places[from], [toX, toY] = places[n];
    const bend = (toY - y - height) / 2;
    svg.append(svgElement("path", {fill: "none", stroke: "var(--soft)", class: "edge",
      d: `M${x + width / 2} ${y + height} C${x + width / 2} ${y + height + bend} ${toX + width / 2} ${toY - bend} ${toX + width / 2} ${toY}`}));
  }));
  nodes.forEach((node, n) => {
    const [x, y] = places[n];
    const text = node.text.length > 28 ? `${node.text.slice(0, 27)}…` : node.text;
    svg.append(svgElement("g", {class: "node"}, svgElement("title", {}, node.text),
      svgElement("rect", {x, y, width, height, rx: 3, fill: "var(--back)", stroke: "var(--launch)"}),
      svgElement("text", {x: x + 6, y: y + 17}, text)));
  });
  (columnNames || []).forEach((name, n) => svg.append(svgElement("text", {class: "soft", x: 8 + n * (width + gapX), y: 14}, name)));
  return svg;
}

// Work between two events, in the order that streams and HIP events give.
function workNodes(first, end) {
  const inside = [];
  for (let i = 0; i < work.event.length; ++i) if (work.event[i] >= first && work.event[i] < end) inside.push(i);
  const kept = inside.slice(0, mostNodes), number = new Map(kept.map((i, n) => [i, n]));
  const streams = [...new Set(kept.map((i) => work.stream[i]))].sort((a, b) => a - b);
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
    const choice = element("select", {"aria-label": "graph or range"}, ...sources.map(([name], n) => element("option", {value: n}, name)));
    const note = element("p", {class: "soft"});
    const picture = element("div", {class: "scroll", id: "graph-picture"});
    const show = () => {
      const {nodes, total, columns} = sources[choice.value][1]();
      const cut = total > nodes.length ? `The first ${count(nodes.length)} of ${count(total)} nodes. ` : "";
      note.textContent = cut + (columns ? "Edges: the order within a stream, and waits for HIP events. Implicit waits of the null stream are not drawn." : "Edges: recorded dependencies.");
      picture.replaceChildren(nodes.length ? graphPicture(nodes, columns) : "no work");
    };
    choice.addEventListener("change", show);
    place.append(element("div", {class: "bar"}, choice), note, picture);
    show();
  }
}
