// The data, and what the sections share. Texts of a trace come from a foreign program: they reach
// the page as text nodes and attributes only, never as HTML.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

// element("p", {class: "soft"}, "text", child...)
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function svgElement(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The section with its heading. A section without content says why.
function section(id, empty) {
  const place = document.getElementById(id);
  place.append(element("h2", {}, place.dataset.title));
  if (empty) place.append(element("p", {class: "soft"}, empty));
  return place;
}

const count = (number) => number.toLocaleString("en");
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

function bytes(number) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; number >= 1024 && unit < 4; ++unit) number /= 1024;
  return `${unit ? number.toFixed(1) : number} ${units[unit]}`;
}

function microseconds(value) {
  if (value >= 1e6) return `${(value / 1e6).toPrecision(4)} s`;
  return value >= 1e3 ? `${(value / 1e3).toPrecision(4)} ms` : `${value.toPrecision(4)} µs`;
}

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

{
  const trace = data.trace;
  document.title = `${trace.file}: gfxgraph report`;
  document.querySelector("h1").textContent = trace.file;
  const date = new Date(trace.start_unix_ns / 1e6);
  const started = isNaN(date) ? "at an unknown time" : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  document.getElementById("summary").textContent = [
    trace.command_line || "(command line not recorded)", `${trace.gpu_arch} ${trace.device_name}` +
    (trace.emulated ? " (software agent, no GPU)" : ""), `recorded ${started} by gfxgraph ${trace.gfxgraph_version}`,
    plural(trace.events, "event")].join(" · ");
  if (!trace.complete) {
    const state = document.getElementById("state");
    state.hidden = false;
    state.textContent = trace.sealed ? "The trace is incomplete: it lacks recorded calls." :
      `The trace is truncated: ${trace.torn_reason}`;
    for (const note of data.notes.filter((one) => one.kind === "incomplete"))
      state.append(element("br"), `${note.call}: ${note.detail || plural(note.count, "time")}`);
  }
  const contents = document.getElementById("contents");
  for (const place of document.querySelectorAll("main section"))
    contents.append(element("a", {href: `#${place.id}`}, place.dataset.title));
}
