// Sortable tables of kernels and buffers, and the map of the buffers' life-times.
"use strict";

// Sorts when a heading is clicked; shows `most` rows, and those that contain the text of the filter.
function sortableTable(place, {columns, rows}, {most = 500, cell} = {}) {
  const filter = element("input", {type: "search", placeholder: "filter", "aria-label": "filter"});
  const shown = element("span", {class: "soft"});
  const body = element("tbody");
  const heads = columns.map((column, n) => {
    const button = element("button", {type: "button"}, column.name.replaceAll("_", " "));
    const head = element("th", {scope: "col", class: column.number ? "number" : "", "aria-sort": "none"}, button);
    button.addEventListener("click", () => sort(n));
    return head;
  });
  let order = rows.slice(), by = -1, down = false;

  function sort(n) {
    down = by === n ? !down : columns[n].number;
    by = n;
    const sign = down ? -1 : 1;
    order = rows.slice().sort((a, b) => sign * (columns[n].number ? a[n] - b[n] : String(a[n]).localeCompare(String(b[n]))));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== n ? "none" : down ? "descending" : "ascending"));
    fill();
  }
  function fill() {
    const wanted = filter.value.toLowerCase();
    const found = wanted ? order.filter((row) => row.some((one) => String(one).toLowerCase().includes(wanted))) : order;
    body.replaceChildren(...found.slice(0, most).map((row) => element("tr", {}, ...row.map((one, n) => {
      const made = element("td", {class: columns[n].number ? "number" : ""}, columns[n].number ? (one === null ? "" : count(one)) : one);
      if (cell) cell(made, columns[n].name, one);
      return made;
    }))));
    shown.textContent = found.length > most ? `${count(most)} of ${count(found.length)} rows` : plural(found.length, "row");
  }

  filter.addEventListener("input", fill);
  fill();
  place.append(element("div", {class: "bar"}, filter, shown),
    element("div", {class: "scroll"}, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)));
}

{
  const {columns, rows = []} = data.kernels;
  const place = section("kernels", rows.length ? "" : "The trace holds no launches.");
  if (rows.length) {
    place.append(element("p", {class: "soft"}, "The share is that of work items: a trace has no device times. " +
      "Launches in graphs count once for each launch of their graph."));
    sortableTable(place, {columns, rows}, {cell: (made, name, value) => {
      if (name !== "work_item_share") return;
      made.textContent = `${(100 * value).toFixed(2)} %`;
      made.className = "number share";
      made.style.setProperty("--share", `${100 * value}%`);
    }});
  }
}

const bufferMap = (() => {
  const {columns, rows, total} = data.buffers;
  const place = section("buffers", rows.length ? "" : "The trace holds no buffers.");
  if (!rows.length) return null;
  const field = Object.fromEntries(columns.map((column, n) => [column.name, n]));
  if (total > rows.length)
    place.append(element("p", {class: "warn"}, `Shows the first ${count(rows.length)} of ${count(total)} buffers.`));

  // The live bytes after each event where they change.
  const changes = new Map();
  for (const row of rows) {
    changes.set(row[field.first_event], (changes.get(row[field.first_event]) || 0) + row[field.size_bytes]);
    changes.set(row[field.end_event], (changes.get(row[field.end_event]) || 0) - row[field.size_bytes]);
  }
  let live = 0;
  const levels = [...changes].sort((a, b) => a[0] - b[0]).map(([event, change]) => [event, live += change]);
  const peak = Math.max(1, levels.reduce((most, one) => Math.max(most, one[1]), 0));

  const curve = 60, mapHeight = Math.min(420, Math.max(40, rows.length * 8));
  const each = mapHeight / rows.length;
  const kinds = [...new Set(rows.map((row) => row[field.kind]))];
  const names = ["launch", "copy", "graph", "host", "memset", "wait", "record"];
  const colourOf = (kind) => names[kinds.indexOf(kind) % names.length];

  function draw(plot, context) {
    context.clearRect(0, 0, plot.left + plot.width, plot.height);
    plot.axis(context, (tick) => count(Math.round(tick)));
    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.width, plot.height);
    context.clip();
    context.fillStyle = colour("soft");
    levels.forEach(([event, level], n) => {
      const x = plot.toX(event), end = plot.toX(n + 1 < levels.length ? levels[n + 1][0] : plot.domain[1]);
      context.fillRect(x, curve - 4 - level / peak * (curve - 8), Math.max(end - x, 0.5), level / peak * (curve - 8));
    });
    const colours = Object.fromEntries(kinds.map((kind) => [kind, colour(colourOf(kind))]));
    rows.forEach((row, n) => {
      const x = plot.toX(row[field.first_event]), end = plot.toX(row[field.end_event]);
      if (end < plot.left || x > plot.left + plot.width) return;
      context.fillStyle = colours[row[field.kind]];
      context.fillRect(x, curve + n * each, Math.max(1, end - x), Math.max(1, each - 1));
    });
    context.restore();
    context.fillStyle = colour("text");
    context.fillText("live bytes", 6, 14);
    context.fillStyle = colour("soft");
    context.fillText(`peak ${bytes(peak)}`, 6, 30);
    context.fillStyle = colour("text");
    context.fillText(plural(rows.length, "buffer"), 6, curve + 8);
  }

  function hit(plot, x, y) {
    if (x < plot.left) return "";
    const event = Math.floor(plot.toValue(x));
    if (y < curve) {
      const at = lowerBound(levels, event + 1, (one) => one[0]) - 1;
      return at < 0 ? "" : `${bytes(levels[at][1])} live after event ${count(event)}`;
    }
    const row = rows[Math.floor((y - curve) / each)];
    if (!row) return "";
    return [`#${row[field.buffer]} ${row[field.name]}`, `${bytes(row[field.size_bytes])}, ${row[field.kind]}`,
      `events ${count(row[field.first_event])} to ${count(row[field.end_event])}, ${count(row[field.launches])} launches`,
      row[field.first_argument]].filter(Boolean).join("\n");
  }

  const plot = new Plot(place, {label: "life-times of the buffers", height: curve + mapHeight + 22, domain: [0, data.trace.events], least: 8, draw, hit});
  plot.canvas.before(plot.buttons(...kinds.map((kind) => element("span", {class: "key", style: `--colour: var(--${colourOf(kind)})`}, kind))));
  place.append(element("h3", {}, "All buffers"));
  sortableTable(place, {columns, rows});
  if (timeline) {
    timeline.linked = [plot];
    plot.linked = [timeline];
  }
  return plot;
})();
