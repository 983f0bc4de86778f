// A canvas over a horizontal axis that zooms and pans: Ctrl and wheel, drag, buttons, keys.
"use strict";

class Plot {
  // Plots in `linked` show the same part.
  static linked = new Set();

  // domain: [first, end] of the axis. draw(plot, context) paints the
  // part right of `left`, names(plot, context) the names left of it; hit(plot, x, y) returns the text
  // for a place, or nothing. format(scale, ticks) returns the format of ticks.
  constructor(place, {label, height, domain, format, draw, names, hit, left = 110, least = 0}) {
    Object.assign(this, {height, format, draw, names, hit, left, least, width: 1});
    this.bar = place.append("div").attr("class", "bar");
    const plot = place.append("div").attr("class", "plot").style("height", `${height}px`);
    this.ticks = plot.append("svg").attr("aria-hidden", true).append("g").attr("transform", `translate(0,${height - 20})`);
    this.picture = plot.append("canvas").attr("tabindex", 0).attr("role", "img").attr("aria-label", label);
    this.canvas = this.picture.node();
    this.base = d3.scaleLinear();
    this.behaviour = zoomable(this.picture, () => this.zoomed());
    this.picture.call(this.behaviour).on("dblclick.zoom", () => this.reset());
    this.listen();
    this.setDomain(domain);
    new ResizeObserver(() => this.resized()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
  }

  setDomain([first, end]) {
    this.base.domain([first, Math.max(end, first + 1)]);
    this.resized();
    this.reset();
  }
  // Keeps the shown part. The right margin keeps the last tick's label whole.
  resized() {
    const {k} = d3.zoomTransform(this.canvas), [first, end] = this.base.domain();
    const shown = this.x ? this.x.domain()[0] : first;
    this.width = Math.max(1, this.canvas.clientWidth - this.left - 30);
    this.base.range([this.left, this.left + this.width]);
    const box = [[this.left, 0], [this.left + this.width, this.height]];
    this.behaviour.extent(box).translateExtent(box).scaleExtent([1, Math.max(1, Math.min(1e7, (end - first) / this.least))]);
    this.follow(d3.zoomIdentity.translate(this.left - k * this.base(shown), 0).scale(k));
  }

  get view() { return this.x.domain(); }
  zoom(factor) { this.behaviour.scaleBy(this.picture, 1 / factor); }
  pan(pixels) { this.behaviour.translateBy(this.picture, -pixels / d3.zoomTransform(this.canvas).k, 0); }
  reset() { this.behaviour.transform(this.picture, d3.zoomIdentity); }

  zoomed() {
    const transform = d3.zoomTransform(this.canvas);
    for (const plot of Plot.linked.has(this) ? Plot.linked : [this]) plot.follow(transform);
  }
  follow(transform) {
    this.picture.property("__zoom", transform);
    this.x = transform.rescaleX(this.base);
    this.refresh();
  }

  refresh() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const scale = devicePixelRatio || 1;
      this.canvas.width = this.canvas.clientWidth * scale;
      this.canvas.height = this.height * scale;
      const context = this.canvas.getContext("2d");
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      const begun = performance.now();
      const ticks = Math.max(2, this.width / 110);
      this.ticks.call(d3.axisBottom(this.x).ticks(ticks).tickFormat(this.format(this.x, ticks)).tickSizeInner(20 - this.height).tickSizeOuter(0).tickPadding(5));
      context.save();
      context.beginPath();
      context.rect(this.left, 0, this.width, this.height);
      context.clip();
      this.draw(this, context);
      context.restore();
      this.names(this, context);
      this.drawMilliseconds = performance.now() - begun;
    });
  }

  buttons(...keys) {
    this.bar.selectAll("button").data([["+", "zoom in", () => this.zoom(0.5)], ["−", "zoom out", () => this.zoom(2)],
      ["all", "show everything", () => this.reset()]]).join("button").attr("type", "button")
      .attr("title", ([, title]) => title).text(([text]) => text).on("click", ([,, act]) => act());
    this.bar.selectAll(".key").data(keys).join("span").attr("class", "key").style("--colour", ([name]) => `var(--${name})`).text(([, text]) => text);
  }

  listen() {
    this.picture.on("mousemove", () => showTip(this.hit(this, ...d3.mouse(this.canvas)), d3.event.clientX, d3.event.clientY))
      .on("mouseleave", () => showTip(""))
      .on("keydown", () => {
        const act = {"+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "0": () => this.reset(),
          ArrowLeft: () => this.pan(-this.width / 4), ArrowRight: () => this.pan(this.width / 4)}[d3.event.key];
        if (!act) return;
        d3.event.preventDefault();
        act();
      });
  }
}

// Text cut to a width, with an ellipsis.
function fitted(context, text, width) {
  if (width < 14) return "";
  if (context.measureText(text).width <= width) return text;
  const wide = d3.range(1, Math.min(text.length, Math.ceil(width / 2)) + 1);
  const most = d3.bisector((length) => context.measureText(`${text.slice(0, length)}…`).width).right(wide, width);
  return most ? `${text.slice(0, most)}…` : "";
}

// Text shortened in the middle to a width: names often differ at their ends.
function fittedMiddle(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const short = (kept) => `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
  const kept = d3.range(1, Math.min(text.length, Math.ceil(width / 2)) + 1);
  return short(Math.max(1, d3.bisector((number) => context.measureText(short(number)).width).right(kept, width)));
}
