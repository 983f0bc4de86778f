// Pictures of recorded graphs and of ranges: nodes in layers, edges from each node to later ones.
"use strict";

const mostNodes = 300;  // that are drawn without groups

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

// A node's label: its group's, or the kernel without its arguments, and below it the grid.
function labelOf(node) {
  if (node.label) return node.label;
  const name = fold.kernel(node.text);
  return name === node.text ? [name] : [fold.briefly(name), `grid ${node.text.slice(name.length + 1)}`];
}

// Draws the graph into an SVG element that zooms and pans; open(node) is called for a folded node.
function drawGraph(svg, nodes, columnNames, open) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = "11px system-ui, sans-serif";
  const labels = nodes.map(labelOf);
  const wanted = d3.max(labels.flat(), (line) => context.measureText(line).width) + 14;
  const width = Math.ceil(Math.min(360, Math.max(120, wanted)));
  const height = labels.some((lines) => lines.length > 1) ? 40 : 26, gapX = 24, gapY = 22, top = columnNames ? 24 : 8;
  // A chain fills rows, from left to right.
  const perRow = nodes.length > 3 && nodes.every(({after}, n) => n === 0 ? !after.length : after.length === 1 && after[0] === n - 1) ?
    Math.max(1, Math.floor((svg.node().parentNode.clientWidth - 8) / (width + gapX))) : 0;
  const layers = layered(nodes), used = new Map();
  const places = nodes.map((node, n) => {
    if (perRow) return [8 + n % perRow * (width + gapX), 8 + Math.floor(n / perRow) * (height + gapY)];
    const column = node.column ?? used.get(layers[n]) ?? 0;
    used.set(layers[n], column + 1);
    return [8 + column * (width + gapX), top + layers[n] * (height + gapY)];
  });
  const across = d3.max(places, ([x]) => x) + width + 8, down = d3.max(places, ([, y]) => y) + height + 8;
  svg.attr("height", Math.min(down, 600)).attr("aria-label", `graph of ${plural(nodes.length, "node")}`).selectAll("*").remove();
  const all = svg.append("g");
  all.selectAll(".edge").data(nodes.flatMap((node, n) => node.after.map((from) => [places[from], places[n]]))).join("path")
    .attr("class", "edge").attr("d", ([[x, y], [toX, toY]]) => {
      if (toY === y) return `M${x + width} ${y + height / 2} H${toX}`;
      const bend = (toY - y - height) / 2;
      return `M${x + width / 2} ${y + height} C${x + width / 2} ${y + height + bend} ${toX + width / 2} ${toY - bend} ${toX + width / 2} ${toY}`;
    });
  const shown = all.selectAll(".node").data(nodes).join("g").attr("class", (node) => node.parts ? "node folded" : "node")
    .attr("transform", (_, n) => `translate(${places[n]})`);
  shown.append("title").text((node) => node.parts ? `${node.text}\nclick to open` : node.text);
  shown.append("rect").attr("width", width).attr("height", height).attr("rx", 3);
  shown.selectAll("text").data((_, n) => labels[n]).join("text").attr("class", (_, n) => n ? "soft" : null)
    .attr("x", 7).attr("y", (_, n) => 17 + n * 15).text((line) => fittedMiddle(context, line, width - 14));
  shown.filter((node) => node.parts).attr("tabindex", 0).attr("role", "button").on("click", open)
    .on("keydown", (node) => {
      if (d3.event.key !== "Enter" && d3.event.key !== " ") return;
      d3.event.preventDefault();
      open(node);
    });
  all.selectAll(".column").data(perRow ? [] : columnNames || []).join("text").attr("class", "column soft")
    .attr("x", (_, n) => 8 + n * (width + gapX)).attr("y", 14).text((name) => name);

  const least = Math.min(1, svg.node().clientWidth / across, 600 / down);
  const behaviour = zoomable(svg, () => all.attr("transform", d3.event.transform)).scaleExtent([Math.max(0.05, least), 4])
    .translateExtent([[0, 0], [Math.max(across, svg.node().clientWidth), down]]);
  const reset = () => behaviour.transform(svg, d3.zoomIdentity);
  svg.call(behaviour).on("dblclick.zoom", reset);
  reset();
}

// Work between two events, in the order that streams and HIP events give. `outer`: the range that it is.
function workNodes(first, end, outer) {
  const inside = [];
  for (let i = 0; i < work.event.length; ++i) if (work.event[i] >= first && work.event[i] < end) inside.push(i);
  const number = new Map(inside.map((i, n) => [i, n]));
  const streams = d3.sort(new Set(inside.map((i) => work.stream[i])));
  const paths = rangePaths(inside.map((i) => work.event[i]), outer);
  const last = new Map();
  const nodes = inside.map((i, n) => {
    const after = new Set();
    if (last.has(work.stream[i])) after.add(last.get(work.stream[i]));
    if (number.has(work.waits_for[i])) after.add(number.get(work.waits_for[i]));
    last.set(work.stream[i], n);
    return {text: work.texts[work.text[i]], after: [...after], column: streams.indexOf(work.stream[i]), path: paths[n]};
  });
  return {nodes, columns: streams.map(streamName)};
}

// For each event, in order, the numbers of the ranges that hold it, outermost first.
function rangePaths(events, outer) {
  const list = data.ranges.list;
  const order = d3.sort(d3.range(list.length), (a, b) => list[a].first_event - list[b].first_event || list[b].end_event - list[a].end_event);
  let open = [], next = 0;
  return events.map((event) => {
    for (; next < order.length && list[order[next]].first_event <= event; ++next) if (order[next] !== outer) open.push(order[next]);
    if (open.some((range) => list[range].end_event <= event)) open = open.filter((range) => list[range].end_event > event);
    return [...open];
  });
}

{
  const sources = [];
  for (const graph of data.graphs.list)
    sources.push([`graph ${graph.graph} (${plural(graph.nodes.length, "node")})`, () => ({nodes: graph.nodes})]);
  if (work.event.length) sources.push([`whole trace (${plural(work.event.length, "node")})`, () => workNodes(0, Infinity)]);
  data.ranges.list.slice(0, 1000).forEach((range, n) =>
    sources.push([`range ${rangeName(range)}`, () => workNodes(range.first_event, range.end_event, n)]));
  const place = section("graphs", sources.length ? "" : "The trace holds no work for a device.");
  if (sources.length) {
    const bar = place.append("div").attr("class", "bar");
    const choice = bar.append("select").attr("aria-label", "graph or range");
    choice.selectAll("option").data(sources).join("option").attr("value", (_, n) => n).text(([name]) => name);
    const label = bar.append("label"), grouped = label.append("input").attr("type", "checkbox").property("checked", true);
    label.append("span").text(" group nodes");
    const way = place.append("div").attr("class", "bar way").attr("aria-label", "opened groups");
    const about = note(place, "");
    const picture = place.append("svg").attr("class", "graph").attr("role", "img");
    let source, path = [];
    const draw = () => {
      const {nodes, columns} = source, at = path.at(-1);
      const shown = at ? fold.opened(at) : grouped.property("checked") ? fold.folded(nodes) : firstOf(nodes);
      const perStream = columns && columns.length > 1 && shown.every((node) => node.column !== undefined) && !at;
      const apart = perStream ? shown : shown.map((node) => ({...node, column: undefined}));
      way.style("display", at ? null : "none").selectAll("button").data([{text: sources[choice.property("value")][0]}, ...path]).join("button").attr("type", "button")
        .property("disabled", (_, n) => n === path.length).text((node) => clipped(node.label ? node.label[0] : node.text, 60))
        .on("click", (_, n) => { path = path.slice(0, n); draw(); });
      const size = at ? at.size : nodes.length;
      const drawn = d3.sum(shown, (node) => node.size ?? 1) * (at?.kind === "repeat" ? size / d3.sum(shown, (node) => node.size ?? 1) : 1);
      about.text([drawn < size && `The first ${count(drawn)} of ${count(size)} nodes.`, !size && "No work.",
        at?.kind === "repeat" && "The first repetition.",
        shown.some((node) => node.parts) && "A click on a thick frame opens its group.",
        columns ? "Edges: the order within a stream, and waits for HIP events. Implicit waits of the null stream are not drawn." :
          "Edges: recorded dependencies.", "Ctrl + wheel zooms, drag pans, double click resets."].filter(Boolean).join(" "));
      picture.style("display", shown.length ? null : "none");
      if (shown.length) drawGraph(picture, apart, perStream ? columns : null, (node) => { path = [...path, node]; draw(); });
    };
    const show = () => {
      source = sources[choice.property("value")][1]();
      label.node().hidden = fold.folded(source.nodes) === source.nodes;
      path = [];
      draw();
    };
    choice.on("change", show);
    grouped.on("change", () => { path = []; draw(); });
    show();
  }
}

// Without groups, nodes up to `mostNodes`.
function firstOf(nodes) {
  return nodes.slice(0, mostNodes).map((node) => ({...node, after: node.after.filter((from) => from < mostNodes)}));
}
