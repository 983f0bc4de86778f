// Graph readiness, and the findings of gfxgraph check with their waves and addresses.
"use strict";

{
  const place = section("readiness", data.lint.length ? "" : "The trace holds no work for a device.");
  for (const report of data.lint) {
    const name = report.kind === "trace" ? "whole trace" : `${report.kind === "range" ? "range " : ""}${report.name}, ${plural(report.iterations, "iteration")}`;
    place.append("h3").text(name);
    if (!report.lines.length) note(place, "Nothing found that breaks a capture or spoils its reuse.");
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

function drawWave(card, first) {
  const exec = BigInt(first.exec), bad = laneSet(first.lanes);
  const size = exec >> 32n || d3.max(bad) > 31 ? 64 : 32;
  const lanes = d3.range(size).map((lane) => ({lane, active: (exec >> BigInt(lane)) & 1n ? "active" : "inactive", bad: bad.has(lane)}));
  card.append("div").attr("class", "lanes").attr("role", "img").attr("aria-label", `wave: lanes ${first.lanes} are in this finding`)
    .selectAll("span").data(lanes).join("span").attr("class", ({active, bad}) => `lane ${active}${bad ? " bad" : ""}`)
    .attr("title", ({lane, active, bad}) => `lane ${lane}: ${active}${bad ? ", in this finding" : ""}`).text(({lane}) => lane);
}

// The buffer, the slack behind it and the accessed bytes, to scale unless they are far apart.
function drawAddress(card, first, nearest) {
  const begin = BigInt(nearest.address), at = BigInt(first.address);
  const size = BigInt(nearest.size_bytes), mapped = BigInt(nearest.mapped_bytes || nearest.size_bytes);
  const span = mapped > size ? mapped : size;
  let from = Number(at - begin);  // from the begin of the buffer, in bytes
  const end = Number(span), far = from > 3 * end || from < -2 * end;
  if (far) from = from < 0 ? -end : 2 * end;
  const low = Math.min(0, from), high = Math.max(end, from + first.access_bytes);
  const x = d3.scaleLinear([low, Math.max(high, low + 1)], [12, 688]);
  const svg = card.append("svg").attr("width", 700).attr("height", 62).attr("viewBox", "0 0 700 62").attr("role", "img").attr("aria-label", "address line");
  svg.selectAll("rect").data([
    {kind: "mapped", from: 0, to: end, y: 22, height: 14, least: 1},
    {kind: nearest.freed ? "freed" : "buffer", from: 0, to: Number(size), y: 22, height: 14, least: 1},
    {kind: "access", from, to: from + first.access_bytes, y: 16, height: 26, least: 2}]).join("rect").attr("class", ({kind}) => kind)
    .attr("x", (one) => x(one.from)).attr("width", (one) => Math.max(one.least, x(one.to) - x(one.from))).attr("y", ({y}) => y).attr("height", ({height}) => height);
  const where = at < begin ? `${begin - at} bytes before` : at < begin + size ? `${at - begin} bytes into` : `${at - begin - size} bytes past the end of`;
  svg.append("text").attr("x", 12).attr("y", 11)
    .text(`${first.address} is ${where} ${nearest.name}${nearest.freed ? " (freed)" : ""}${far ? " (distance not to scale)" : ""}`);
  svg.append("text").attr("class", "soft").attr("x", x(0)).attr("y", 56).attr("text-anchor", x(0) > 350 ? "end" : "start")
    .text(`${nearest.address}, ${bytes(nearest.size_bytes)}${mapped > size ? `, ${bytes(nearest.mapped_bytes)} mapped` : ""}`);
}

function drawFinding(card, finding) {
  const first = finding.first;
  card.append("h3").attr("class", finding.severity === "error" ? "warn" : null).text(`${finding.severity}: ${finding.summary}`);
  note(card, `${finding.kernel}: ${finding.mnemonic} at +${finding.kernel_offset_bytes} bytes` +
    (finding.source ? `, ${finding.source.file}:${finding.source.line}` : ""), null);
  note(card, `First in launch ${count(first.launch)}, workgroup ${first.workgroup}, wave ${first.wave}: ` +
    `${first.write ? "store" : "load"} of ${plural(first.access_bytes, "byte")}; ${plural(finding.lanes_total, "lane")} in ${plural(finding.launches, "launch")}.`);
  if (first.lanes) drawWave(card, first);
  if (finding.nearest) drawAddress(card, first, finding.nearest);
  if (finding.detail) note(card, finding.detail, null);
  note(card, `Fix: ${finding.fix}`, null);
}

// What gfxgraph check --coverage counted: what a check without findings means, and the lines that it says nothing of.
function drawCoverage(place, coverage) {
  place.append("h3").text("Executed code");
  for (const kernel of coverage.kernels) note(place, `${kernel.kernel}: ${kernel.verdict}`, null);
  if (coverage.stopped) note(place, `Not all launches ran: ${coverage.stopped}`, "warn");
  const columns = [{name: "kernel"}, {name: "file"}, {name: "line", number: true}, {name: "executions", number: true},
    {name: "instructions", number: true}, {name: "instructions_executed", number: true}, {name: "branch_ways", number: true},
    {name: "branch_ways_taken", number: true}, {name: "lanes", number: true}, {name: "lanes_executed", number: true}];
  const whole = (line) => line.instructions === line.instructions_executed && line.branch_ways === line.branch_ways_taken && line.lanes === line.lanes_executed;
  const rows = coverage.kernels.flatMap((kernel) => kernel.lines.map((line) => ({...line, kernel: kernel.kernel})));
  if (!rows.length) return note(place, "No lines: the code has no debug information (compile with -g).");
  const parts = d3.sort(rows.filter((line) => !whole(line)), (line) => line.instructions_executed - line.instructions);
  note(place, parts.length ? `Lines that were executed in part or not at all: ${count(parts.length)} of ${count(rows.length)}.`
    : `All ${count(rows.length)} lines were executed whole.`);
  if (parts.length) sortableTable(place, {columns, rows: parts.map((line) => columns.map(({name}) => line[name]))});
}

{
  const place = section("findings", data.checks.length ? "" : "No result of gfxgraph check was given. To add one: " +
    "gfxgraph check T.gfxg --format json -o check.json; gfxgraph report T.gfxg check.json -o T.html");
  const most = 200;
  for (const {file, result} of data.checks) {
    note(place, `${file}, of ${result.trace}: ${plural(result.errors, "error")}, ${plural(result.warnings, "warning")}, ` +
      `${plural(result.suppressed, "suppressed finding")}; ${plural(result.launches, "launch")} executed.`, null);
    if (result.not_checked_count)
      note(place, `${plural(result.not_checked_count, "launch")} not checked: ${result.not_checked.map((one) => one.reason).slice(0, 3).join("; ")}`, "warn");
    if (result.findings.length)
      place.append("p").attr("class", "bar").selectAll("span").data([["lane active", "n"], ["", "active"], ["lane inactive", "n"],
        ["", "inactive (EXEC bit 0)"], ["lane bad", "n"], ["", "in this finding"]]).join("span").attr("class", ([kind]) => kind).text(([, text]) => text);
    for (const finding of result.findings.slice(0, most)) drawFinding(place.append("div").attr("class", "card finding"), finding);
    if (result.findings.length > most) note(place, `and ${count(result.findings.length - most)} more findings`);
    if (result.coverage) drawCoverage(place, result.coverage);
  }
}
