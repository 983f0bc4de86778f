// A canvas with a horizontal axis that zooms and pans: Ctrl and wheel, drag, buttons, keys.
"use strict";

class Plot {
  // domain: [first, end] of the axis. draw(plot, context) paints; hit(plot, x, y) returns the text
  // for a place, or nothing. Plots in `linked` show the same part.
  constructor(place, {label, height, domain, draw, hit, left = 110, least = 0}) {
    this.canvas = element("canvas", {tabindex: 0, "aria-label": label, role: "img"});
    this.canvas.style.height = `${height}px`;
    place.append(this.canvas);
    Object.assign(this, {height, draw, hit, left, least, linked: []});
    this.setDomain(domain);
    this.listen();
    new ResizeObserver(() => this.refresh()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
  }

  setDomain([first, end]) {
    this.domain = [first, end > first ? end : first + 1];
    this.view = [...this.domain];
    this.refresh();
  }

  get width() { return Math.max(1, this.canvas.clientWidth - this.left); }
  toX(value) { return this.left + (value - this.view[0]) / (this.view[1] - this.view[0]) * this.width; }
  toValue(x) { return this.view[0] + (x - this.left) / this.width * (this.view[1] - this.view[0]); }

  show(first, end, linked = true) {
    const whole = this.domain[1] - this.domain[0];
    const span = Math.min(whole, Math.max(end - first, whole * 1e-7, this.least));
    first = Math.min(Math.max(first, this.domain[0]), this.domain[1] - span);
    this.view = [first, first + span];
    this.refresh();
    if (linked) for (const other of this.linked) other.show(...this.view, false);
  }
  zoom(factor, x = this.left + this.width / 2) {
    const at = this.toValue(x);
    this.show(at - (at - this.view[0]) * factor, at + (this.view[1] - at) * factor);
  }
  pan(pixels) {
    const step = pixels / this.width * (this.view[1] - this.view[0]);
    this.show(this.view[0] + step, this.view[1] + step);
  }
  reset() { this.show(...this.domain); }

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
      this.draw(this, context);
      this.drawMilliseconds = performance.now() - begun;
    });
  }

  // Ticks at round numbers, and `text(value)` at each, in the lowest 18 pixels.
  axis(context, text) {
    const wanted = (this.view[1] - this.view[0]) / Math.max(2, this.width / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= wanted);
    context.strokeStyle = colour("line");
    context.fillStyle = colour("soft");
    for (let tick = Math.ceil(this.view[0] / step) * step; tick <= this.view[1]; tick += step) {
      const x = this.toX(tick);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, this.height - 18);
      context.stroke();
      const label = text(tick);
      context.fillText(label, Math.min(x + 2, this.left + this.width - context.measureText(label).width), this.height - 9);
    }
  }

  buttons(...more) {
    const button = (text, title, act) => {
      const made = element("button", {type: "button", title}, text);
      made.addEventListener("click", act);
      return made;
    };
    return element("div", {class: "bar"}, button("+", "zoom in", () => this.zoom(0.5)),
      button("−", "zoom out", () => this.zoom(2)), button("all", "show everything", () => this.reset()), ...more);
  }

  listen() {
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let from = null;
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(Math.sign(event.deltaY) * 0.25), place(event)[0]);
    }, {passive: false});
    this.canvas.addEventListener("pointerdown", (event) => {
      from = event.clientX;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointerup", () => { from = null; });
    this.canvas.addEventListener("pointermove", (event) => {
      if (from !== null) {
        this.pan(from - event.clientX);
        from = event.clientX;
      }
      showTip(this.hit(this, ...place(event)), event.clientX, event.clientY);
    });
    this.canvas.addEventListener("pointerleave", () => showTip(""));
    this.canvas.addEventListener("dblclick", () => this.reset());
    this.canvas.addEventListener("keydown", (event) => {
      const act = {"+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "0": () => this.reset(),
        ArrowLeft: () => this.pan(-this.width / 4), ArrowRight: () => this.pan(this.width / 4)}[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  }
}

// The first index of the sorted list whose value, by `of`, is at least `wanted`.
function lowerBound(list, wanted, of) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Text cut to a width, with an ellipsis.
function fitted(context, text, width) {
  if (width < 14) return "";
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = Math.min(text.length, Math.ceil(width / 2));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return low ? text.slice(0, low) + "…" : "";
}
