// Sortable tables of kernels and buffers, and the map of the buffers' life-times.
"use strict";

// The nodes of a text whose lines may also break between the parts of names and paths, and inside a
// word only if it has more than 40 characters.
function breakable(text) {
  const parts = String(text).split(/(?<=::|[,</])(?=[^\s:/])|(?<=[^\s:,</]{40})(?=\S)/);
  return parts.flatMap((part, n) => n ? [document.createElement("wbr"), part] : [part]);
}

// Sorts when a heading is clicked; shows `most` rows, and those that contain the text of the filter.
function sortableTable(place, {columns, rows}, {most = 500, cell = () => {}} = {}) {
  const bar = place.append("div").attr("class", "bar");
  const filter = bar.append("input").attr("type", "search").attr("placeholder", "filter").attr("aria-label", "filter").on("input", fill);
  const shown = bar.append("span").attr("class", "soft");
  const table = place.append("div").attr("class", "scroll").append("table");
  const kind = (column) => column.number ? "number" : column.name === "address" ? "address" : null;
  const heads = table.append("thead").append("tr").selectAll("th").data(columns).join("th")
    .attr("scope", "col").attr("class", kind).attr("aria-sort", "none");
  heads.append("button").attr("type", "button").text((column) => column.name.replaceAll("_", " ")).on("click", (_, n) => sort(n));
  const body = table.append("tbody");
  let order = rows, by = -1, down = false;

  function sort(n) {
    const {number} = columns[n];
    down = by === n ? !down : number;
    by = n;
    const compare = number ? (a, b) => a[n] - b[n] : (a, b) => String(a[n]).localeCompare(String(b[n]));
    order = d3.sort(rows, (a, b) => down ? compare(b, a) : compare(a, b));
    heads.attr("aria-sort", (_, i) => i !== n ? "none" : down ? "descending" : "ascending");
    fill();
  }
  function fill() {
    const wanted = filter.property("value").toLowerCase();
    const found = wanted ? order.filter((row) => row.some((one) => String(one).toLowerCase().includes(wanted))) : order;
    body.selectAll("tr").data(found.slice(0, most)).join("tr").selectAll("td")
      .data((row) => columns.map((column, n) => ({column, value: row[n]}))).join("td").attr("class", ({column}) => kind(column))
      .each(function ({column, value}) {
        if (column.number) this.textContent = value === null ? "" : count(value);
        else this.replaceChildren(...breakable(value ?? ""));
      }).each(cell);
    shown.text(found.length > most ? `${count(most)} of ${count(found.length)} rows` : plural(found.length, "row"));
  }
  fill();
}

{
  const {columns, rows = []} = data.kernels;
  const place = section("kernels", rows.length ? "" : "The trace holds no launches.");
  if (rows.length) {
    note(place, "The share is that of work items: a trace has no device times. " +
      "Launches in graphs count once for each launch of their graph.");
    sortableTable(place, {columns, rows}, {cell({column, value}) {
      if (column.name === "work_item_share")
        d3.select(this).text(`${d3.format(".2f")(100 * value)} %`).attr("class", "number share").style("--share", `${100 * value}%`);
    }});
  }
}

const bufferMap = (() => {
  const {columns, rows, total} = data.buffers;
  const place = section("buffers", rows.length ? "" : "The trace holds no buffers.");
  if (!rows.length) return null;
  const field = Object.fromEntries(columns.map((column, n) => [column.name, n]));
  if (total > rows.length)
    note(place, `Shows the first ${count(rows.length)} of ${count(total)} buffers.`, "warn");

  // The live bytes after each event where they change.
  const changes = d3.rollup(rows.flatMap((row) => [[row[field.first_event], row[field.size_bytes]], [row[field.end_event], -row[field.size_bytes]]]),
    (list) => d3.sum(list, ([, change]) => change), ([event]) => event);
  const events = d3.sort(changes.keys()), sums = d3.cumsum(events, (event) => changes.get(event));
  const levels = events.map((event, n) => [event, sums[n]]);
  const peak = Math.max(1, d3.max(sums));

  const curve = 60, mapHeight = Math.min(420, Math.max(40, rows.length * 8));
  const each = mapHeight / rows.length;
  const kinds = [...new Set(rows.map((row) => row[field.kind]))];
  const colourOf = d3.scaleOrdinal(kinds, ["launch", "copy", "graph", "host", "memset", "wait", "record"]);
  const levelHeight = d3.scaleLinear([0, peak], [0, curve - 8]);

  function draw(plot, context) {
    context.fillStyle = colour("soft");
    levels.forEach(([event, level], n) => {
      const x = plot.x(event), end = plot.x(n + 1 < levels.length ? levels[n + 1][0] : eventDomain[1]);
      context.fillRect(x, curve - 4 - levelHeight(level), Math.max(end - x, 0.5), levelHeight(level));
    });
    const colours = Object.fromEntries(kinds.map((kind) => [kind, colour(colourOf(kind))]));
    rows.forEach((row, n) => {
      const x = plot.x(row[field.first_event]), end = plot.x(row[field.end_event]);
      if (end < plot.left || x > plot.left + plot.width) return;
      context.fillStyle = colours[row[field.kind]];
      context.fillRect(x, curve + n * each, Math.max(1, end - x), Math.max(1, each - 1));
    });
  }

  function names(plot, context) {
    context.fillStyle = colour("text");
    context.fillText("live bytes", 6, 14);
    context.fillStyle = colour("soft");
    context.fillText(`peak ${bytes(peak)}`, 6, 30);
    context.fillStyle = colour("text");
    context.fillText(plural(rows.length, "buffer"), 6, curve + 8);
  }

  function hit(plot, x, y) {
    if (x < plot.left) return "";
    const event = Math.floor(plot.x.invert(x));
    if (y < curve) {
      const at = firstAtLeast(levels, event + 1, (one) => one[0]) - 1;
      return at < 0 ? "" : `${bytes(levels[at][1])} live after event ${count(event)}`;
    }
    const row = rows[Math.floor((y - curve) / each)];
    if (!row) return "";
    return [`#${row[field.buffer]} ${row[field.name]}`, `${bytes(row[field.size_bytes])}, ${row[field.kind]}`,
      `events ${count(row[field.first_event])} to ${count(row[field.end_event])}, ${plural(row[field.launches], "launch")}`,
      row[field.first_argument]].filter(Boolean).join("\n");
  }

  const plot = new Plot(place, {label: "life-times of the buffers", height: curve + mapHeight + 24, domain: eventDomain, format: eventTicks, least: 8, draw, names, hit});
  Plot.linked.add(plot);
  plot.buttons(...kinds.map((kind) => [colourOf(kind), kind]));
  place.append("h3").text("All buffers");
  sortableTable(place, {columns, rows});
  return plot;
})();
