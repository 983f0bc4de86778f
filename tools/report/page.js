// The data, and what the sections share. Texts of a trace come from a foreign program: they reach
// the page as text nodes and attributes only, never as HTML.
"use strict";

const data = JSON.parse(d3.select("#data").text());

// The section with its heading. A section without content says why.
function section(id, empty) {
  const place = d3.select(`#${id}`);
  place.append("h2").text(place.attr("data-title"));
  if (empty) note(place, empty);
  return place;
}

const note = (place, text, kind = "soft") => place.append("p").attr("class", kind).text(text);

const count = d3.format(",.3~f");
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : /[sc]h$/.test(word) ? "es" : "s"}`;

function bytes(number) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; number >= 1024 && unit < 4; ++unit) number /= 1024;
  return `${unit ? number.toFixed(1) : number} ${units[unit]}`;
}

const timeUnit = (value) => value >= 1e6 ? [1e6, "s"] : value >= 1e3 ? [1e3, "ms"] : [1, "µs"];
const fourDigits = d3.format(".4r");
function microseconds(value) {
  const [size, unit] = timeUnit(value);
  return `${fourDigits(value / size)} ${unit}`;
}

// Formats ticks of times: one unit, and as many digits as tell the ticks apart.
function timeTicks(scale, ticks) {
  const [size, unit] = timeUnit(d3.max(scale.domain()));
  const format = d3.scaleLinear(scale.domain().map((one) => one / size), [0, 1]).tickFormat(ticks);
  return (value) => `${format(value / size)} ${unit}`;
}

const clipped = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const tip = document.getElementById("tip");
function showTip(text, x, y) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(0, Math.min(x + 14, innerWidth - box.width - 4))}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 14, innerHeight - box.height - 4))}px`;
}

// Pictures zoom with Ctrl and the wheel, so that the wheel alone scrolls the page; drag pans.
function zoomable(picture, zoomed) {
  return d3.zoom().on("zoom", zoomed)
    .filter(() => d3.event.type === "wheel" ? d3.event.ctrlKey || d3.event.metaKey : !d3.event.button)
    .wheelDelta(() => -Math.sign(d3.event.deltaY) * 0.36);
}

{
  const trace = data.trace;
  document.title = `${trace.file}: gfxgraph report`;
  d3.select("h1").text(trace.file);
  const date = new Date(trace.start_unix_ns / 1e6);
  const started = isNaN(date) ? "at an unknown time" : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  d3.select("#summary").text([
    trace.command_line || "(command line not recorded)", `${trace.gpu_arch} ${trace.device_name}` +
    (trace.emulated ? " (software agent, no GPU)" : ""), `recorded ${started} by gfxgraph ${trace.gfxgraph_version}`,
    plural(trace.events, "event")].join(" · "));
  if (!trace.complete) {
    const notes = data.notes.filter((one) => one.kind === "incomplete").map((one) => `${one.call}: ${one.detail || plural(one.count, "time")}`);
    d3.select("#state").property("hidden", false).selectAll("span")
      .data([trace.sealed ? "The trace is incomplete: it lacks recorded calls." : `The trace is truncated: ${trace.torn_reason}`, ...notes])
      .join("span").text((text) => text);
  }
  d3.select("#contents").selectAll("a").data(d3.selectAll("main section").nodes()).join("a")
    .attr("href", (place) => `#${place.id}`).text((place) => place.dataset.title);
}
