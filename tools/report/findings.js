// Graph readiness, and the findings of gfxgraph check with their waves and addresses.
"use strict";

{
  const place = section("readiness", data.lint.length ? "" : "The trace holds no work for a device.");
  for (const report of data.lint) {
    const name = report.kind === "trace" ? "whole trace" : `${report.kind === "range" ? "range " : ""}${report.name}, ${plural(report.iterations, "iteration")}`;
    place.append(element("h3", {}, name));
    if (!report.lines.length) place.append(element("p", {class: "soft"}, "Nothing found that breaks a capture or spoils its reuse."));
    else sortableTable(place, {columns: [{name: "severity"}, {name: "count", number: true}, {name: "what"}, {name: "why"},
      {name: "first_event", number: true}, {name: "called_from"}],
    rows: report.lines.map((line) => [line.severity, line.count, line.what, line.why, line.first_event,
      line.sites.slice(0, 3).map((site) => site.site + (site.file ? ` (${site.file}:${site.line})` : "")).join(", ")])});
  }
}

// "0-11,20" as a set.
function laneSet(text) {
  const lanes = new Set();
  for (const part of String(text).split(",").filter(Boolean)) {
    const [first, last = first] = part.split("-").map(Number);
    for (let lane = first; lane <= last && lane < 64; ++lane) lanes.add(lane);
  }
  return lanes;
}

function wavePicture(first) {
  const exec = BigInt(first.exec), bad = laneSet(first.lanes);
  const size = exec >> 32n || [...bad].some((lane) => lane > 31) ? 64 : 32;
  const cells = Array.from({length: size}, (_, lane) => {
    const active = (exec >> BigInt(lane)) & 1n;
    const state = (active ? "active" : "inactive") + (bad.has(lane) ? ", in this finding" : "");
    return element("span", {class: `lane ${active ? "active" : "inactive"}${bad.has(lane) ? " bad" : ""}`, title: `lane ${lane}: ${state}`}, String(lane));
  });
  return element("div", {class: "lanes", role: "img", "aria-label": `wave: lanes ${first.lanes} are in this finding`}, ...cells);
}

// The buffer, the slack behind it and the accessed bytes, to scale unless they are far apart.
function addressLine(first, nearest) {
  const begin = BigInt(nearest.address), at = BigInt(first.address);
  const size = BigInt(nearest.size_bytes), mapped = BigInt(nearest.mapped_bytes || nearest.size_bytes);
  const span = mapped > size ? mapped : size;
  let from = Number(at - begin);  // from the begin of the buffer, in bytes
  const end = Number(span), far = from > 3 * end || from < -2 * end;
  if (far) from = from < 0 ? -end : 2 * end;
  const low = Math.min(0, from), high = Math.max(end, from + first.access_bytes);
  const x = (value) => 12 + (value - low) / Math.max(1, high - low) * 676;
  const svg = svgElement("svg", {width: 700, height: 62, viewBox: "0 0 700 62", role: "img", "aria-label": "address line"});
  svg.append(svgElement("rect", {x: x(0), y: 22, width: Math.max(1, x(end) - x(0)), height: 14, fill: "none", stroke: "var(--soft)"}),
    svgElement("rect", {x: x(0), y: 22, width: Math.max(1, x(Number(size)) - x(0)), height: 14, fill: nearest.freed ? "var(--record)" : "var(--launch)"}),
    svgElement("rect", {x: x(from), y: 16, width: Math.max(2, x(from + first.access_bytes) - x(from)), height: 26, fill: "var(--bad)"}));
  const where = at < begin ? `${begin - at} bytes before` : at < begin + size ? `${at - begin} bytes into` : `${at - begin - size} bytes past the end of`;
  svg.append(svgElement("text", {x: 12, y: 11}, `${first.address} is ${where} ${nearest.name}${nearest.freed ? " (freed)" : ""}${far ? " (distance not to scale)" : ""}`),
    svgElement("text", {x: x(0), y: 56, class: "soft"}, `${nearest.address}, ${bytes(nearest.size_bytes)}${mapped > size ? `, ${bytes(nearest.mapped_bytes)} mapped` : ""}`));
  return svg;
}

function findingCard(finding) {
  const first = finding.first;
  const card = element("div", {class: "card finding"}, element("h3", {class: finding.severity === "error" ? "warn" : ""},
    `${finding.severity}: ${finding.summary}`), element("p", {}, `${finding.kernel}: ${finding.mnemonic} at +${finding.kernel_offset_bytes} bytes` +
    (finding.source ? `, ${finding.source.file}:${finding.source.line}` : "")));
  card.append(element("p", {class: "soft"}, `First in launch ${count(first.launch)}, workgroup ${first.workgroup}, wave ${first.wave}: ` +
    `${first.write ? "store" : "load"} of ${plural(first.access_bytes, "byte")}; ${plural(finding.lanes_total, "lane")} in ${count(finding.launches)} launch${finding.launches === 1 ? "" : "es"}.`));
  if (first.lanes) card.append(wavePicture(first));
  if (finding.nearest) card.append(addressLine(first, finding.nearest));
  if (finding.detail) card.append(element("p", {}, finding.detail));
  card.append(element("p", {}, `Fix: ${finding.fix}`));
  return card;
}

{
  const place = section("findings", data.checks.length ? "" : "No result of gfxgraph check was given. To add one: " +
    "gfxgraph check T.gfxg --format json -o check.json; gfxgraph report T.gfxg check.json -o T.html");
  const most = 200;
  for (const {file, result} of data.checks) {
    place.append(element("p", {}, `${file}, of ${result.trace}: ${plural(result.errors, "error")}, ${plural(result.warnings, "warning")}, ` +
      `${plural(result.suppressed, "suppressed finding")}; ${count(result.launches)} launches executed.`));
    if (result.not_checked_count)
      place.append(element("p", {class: "warn"}, `${count(result.not_checked_count)} launches were not checked: ${result.not_checked.map((one) => one.reason).slice(0, 3).join("; ")}`));
    if (result.findings.length)
      place.append(element("p", {class: "bar"}, element("span", {class: "lane active"}, "n"), "active", element("span", {class: "lane inactive"}, "n"),
        "inactive (EXEC bit 0)", element("span", {class: "lane bad"}, "n"), "in this finding"));
    for (const finding of result.findings.slice(0, most)) place.append(findingCard(finding));
    if (result.findings.length > most) place.append(element("p", {class: "soft"}, `and ${count(result.findings.length - most)} more findings`));
  }
}
