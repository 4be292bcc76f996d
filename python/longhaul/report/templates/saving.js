"use strict";
// A figure as a file: a picture as PNG or SVG with its title and the names of its lines, its numbers as CSV.
(() => {
  const { style } = window.longhaulFigures;
  const save = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const short = (value) => String(Math.round(value * 10) / 10);
  const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  // --- what is drawn with a canvas, as SVG: a path, and a context that writes elements
  class Path {
    constructor(other) { this.d = other ? other.d : ""; }
    moveTo(x, y) { this.d += `M${short(x)} ${short(y)}`; }
    // A line from nowhere begins where it goes to.
    lineTo(x, y) { this.d += `${this.d ? "L" : "M"}${short(x)} ${short(y)}`; }
    bezierCurveTo(...at) { this.d += `C${at.map(short).join(" ")}`; }
    quadraticCurveTo(...at) { this.d += `Q${at.map(short).join(" ")}`; }
    closePath() { this.d += "Z"; }
    rect(x, y, width, height) { this.d += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`; }
    addPath(other) { this.d += other.d; }
    arc(x, y, radius, from, to) {
      const at = (angle) => `${short(x + radius * Math.cos(angle))} ${short(y + radius * Math.sin(angle))}`, middle = (from + to) / 2;
      // Two halves: an arc from a point to itself has no length.
      const half = (angle) => `A${short(radius)} ${short(radius)} 0 0 1 ${at(angle)}`;
      this.d += `${this.d ? "L" : "M"}${at(from)}${half(middle)}${half(to)}`;
    }
  }
  // Only what uPlot and our own drawing use.
  class Pen {
    constructor(canvas, ruler) {
      Object.assign(this, { canvas, ruler, parts: [], clips: 0, kept: [], path: new Path() });
      Object.assign(this, {
        strokeStyle: "#000", fillStyle: "#000", lineWidth: 1, lineJoin: "miter", lineCap: "butt", globalAlpha: 1,
        font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic", dash: [], clipped: "", matrix: [1, 0, 0, 1, 0, 0],
      });
    }
    save() {
      const { strokeStyle, fillStyle, lineWidth, lineJoin, lineCap, globalAlpha, font, textAlign, textBaseline, dash, clipped, matrix } = this;
      this.kept.push({ strokeStyle, fillStyle, lineWidth, lineJoin, lineCap, globalAlpha, font, textAlign, textBaseline, dash, clipped, matrix });
    }
    restore() { Object.assign(this, this.kept.pop()); }
    setLineDash(dash) { this.dash = dash; }
    translate(x, y) {
      const [a, b, c, d, e, f] = this.matrix;
      this.matrix = [a, b, c, d, e + a * x + c * y, f + b * x + d * y];
    }
    rotate(angle) {
      const [a, b, c, d, e, f] = this.matrix, cos = Math.cos(angle), sin = Math.sin(angle);
      this.matrix = [a * cos + c * sin, b * cos + d * sin, c * cos - a * sin, d * cos - b * sin, e, f];
    }
    moved() {
      const same = [1, 0, 0, 1, 0, 0].every((value, number) => value === this.matrix[number]);
      return same ? "" : ` transform="matrix(${this.matrix.map((value) => Number(value.toFixed(4))).join(" ")})"`;
    }
    // A group has the clip, since that of a moved element would be moved with it.
    write(element) { this.parts.push(this.clipped ? `<g clip-path="url(#${this.clipped})">${element}</g>` : element); }
    clip(path = this.path) {
      const name = `clip${this.clips += 1}`;
      this.parts.push(`<clipPath id="${name}"${this.clipped ? ` clip-path="url(#${this.clipped})"` : ""}><path${this.moved()} d="${path.d}"/></clipPath>`);
      this.clipped = name;
    }
    beginPath() { this.path = new Path(); }
    alpha() { return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : ""; }
    fill(path = this.path) {
      if (path.d) this.write(`<path${this.moved()} d="${path.d}" fill="${escaped(this.fillStyle)}"${this.alpha()}/>`);
    }
    stroke(path = this.path) {
      if (!path.d) return;
      const dash = this.dash.length ? ` stroke-dasharray="${this.dash.map(short).join(" ")}"` : "";
      this.write(`<path${this.moved()} d="${path.d}" fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}" stroke-linejoin="${this.lineJoin}" stroke-linecap="${this.lineCap}"${dash}${this.alpha()}/>`);
    }
    fillRect(x, y, width, height) { const path = new Path(); path.rect(x, y, width, height); this.fill(path); }
    clearRect() {}
    measureText(text) { this.ruler.font = this.font; return this.ruler.measureText(text); }
    fillText(text, x, y) {
      const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign], down = { top: 0.8, middle: 0.35, bottom: -0.2 }[this.textBaseline];
      this.write(`<text${this.moved()} x="${short(x)}" y="${short(y)}"${down ? ` dy="${down}em"` : ""}${anchor ? ` text-anchor="${anchor}"` : ""} style="font: ${escaped(this.font)}" fill="${escaped(this.fillStyle)}">${escaped(text)}</text>`);
    }
  }
  for (const name of ["moveTo", "lineTo", "bezierCurveTo", "quadraticCurveTo", "closePath", "rect", "arc"]) {
    Pen.prototype[name] = function draw(...at) { this.path[name](...at); };
  }

  // What stands behind the lines comes after them.
  const shownLines = (plot) => plot.series.map((one, number) => [one, number]).slice(1).filter(([one]) => one.show && one.label)
    .sort(([one], [two]) => Boolean(one.behind) - Boolean(two.behind));

  // Without the title and the names of its lines, a picture elsewhere is not understood.
  const ruler = document.createElement("canvas").getContext("2d");
  const legendOf = ({ plot, keys }) => (keys || shownLines(plot).map(([one, number]) => ({
    label: one.label, dash: one.dash || [], paint: () => (typeof one.stroke === "function" ? one.stroke(plot, number) : one.stroke),
  }))).slice(0, 12);
  const framed = (chart, act) => {
    const from = chart.plot.ctx.canvas, ratio = devicePixelRatio || 1, lines = legendOf(chart);
    ruler.font = "12px sans-serif";
    const wide = 44 + Math.max(0, ...lines.map(({ label }) => ruler.measureText(label).width));
    const columns = Math.max(1, Math.floor(from.width / ratio / wide)), rows = Math.ceil(lines.length / columns);
    const width = from.width, height = from.height + (34 + 18 * rows) * ratio;
    return act(width, height, ratio, (ctx, draw) => {
      ctx.fillStyle = style("--paper");
      ctx.fillRect(0, 0, width, height);
      ctx.fillStyle = style("--ink");
      ctx.font = `bold ${14 * ratio}px sans-serif`;
      ctx.fillText(chart.title || chart.figure.title, 8 * ratio, 20 * ratio);
      draw(28 * ratio);
      ctx.font = `${12 * ratio}px sans-serif`;
      lines.forEach(({ label, dash = [], paint }, place) => {
        const x = (8 + (place % columns) * wide) * ratio, y = from.height + (42 + 18 * Math.floor(place / columns)) * ratio;
        ctx.strokeStyle = paint();
        ctx.lineWidth = 2 * ratio;
        ctx.setLineDash(dash.map((size) => size * ratio));
        ctx.beginPath();
        ctx.moveTo(x, y - 4 * ratio);
        ctx.lineTo(x + 20 * ratio, y - 4 * ratio);
        ctx.stroke();
        ctx.setLineDash([]);
        ctx.fillStyle = style("--ink");
        ctx.fillText(label, x + 26 * ratio, y);
      });
    });
  };
  const picture = (chart) => framed(chart, (width, height, _ratio, write) => {
    const out = document.createElement("canvas");
    Object.assign(out, { width, height });
    const ctx = out.getContext("2d");
    write(ctx, (top) => ctx.drawImage(chart.plot.ctx.canvas, 0, top));
    return out;
  });
  // The same figure is drawn once more, with a pen in the place of a canvas.
  const drawing = (chart) => framed(chart, (width, height, ratio, write) => {
    const { plot, options } = chart, pen = new Pen(plot.ctx.canvas, ruler);
    const canvas = HTMLCanvasElement.prototype, { getContext } = canvas, { Path2D: path } = window;
    write(pen, (top) => {
      pen.save();
      pen.translate(0, top);
      canvas.getContext = () => pen;
      window.Path2D = Path;
      try {
        const { draw = [], drawClear = [] } = options.hooks;
        const again = new uPlot({
          ...options, width: plot.width, height: plot.height, cursor: { show: false }, hooks: { draw, drawClear },
          series: options.series.map((one, number) => ({ ...one, show: plot.series[number].show })),
        }, plot.data, document.createElement("div"));
        again.batch(() => {});
        again.destroy();
      } finally {
        canvas.getContext = getContext;
        window.Path2D = path;
      }
      pen.restore();
    });
    const space = "http://www.w3.org/2000/svg";
    return `<svg xmlns="${space}" viewBox="0 0 ${width} ${height}" width="${width / ratio}" height="${height / ratio}"><title>${escaped(chart.title || chart.figure.title)}</title>${pen.parts.join("")}</svg>\n`;
  });

  const quoted = (text) => (/[",\n]/.test(text) ? `"${String(text).replaceAll('"', '""')}"` : text);
  const csv = (rows) => `${rows.map((row) => row.map((cell) => quoted(cell ?? "")).join(",")).join("\n")}\n`;

  // Buttons for a chart; `rows` gives its numbers, heading first, and is missing where there are none.
  const buttons = (place, chart, rows) => {
    const { id } = chart.figure, title = chart.title || chart.figure.title;
    const acts = [
      ["PNG", () => picture(chart).toBlob((blob) => save(`${id}.png`, blob))],
      ["SVG", () => save(`${id}.svg`, new Blob([drawing(chart)], { type: "image/svg+xml" }))],
      ...(rows ? [["CSV", () => save(`${id}.csv`, new Blob([csv(rows())], { type: "text/csv" }))]] : []),
    ];
    const group = document.createElement("span");
    group.className = "saving";
    group.append("save ");
    acts.forEach(([kind, act]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `save ${title} as ${kind}`);
      button.addEventListener("click", act);
      group.append(button);
    });
    place.append(group);
  };

  // --- the values at the pointer, or at the place that was reached by keyboard
  const tooltip = (plot) => {
    const box = document.createElement("div");
    let active = false;
    box.className = "tip";
    box.hidden = true;
    box.setAttribute("aria-hidden", "true");
    plot.over.append(box);
    const { over } = plot;
    const on = (kind, state) => over.addEventListener(kind, () => { active = state; box.hidden = true; });
    on("mouseenter", true);
    on("mouseleave", false);
    on("focus", true);
    on("blur", false);
    return {
      isActive: () => active,
      show: (head, rows) => {
        box.hidden = !active || !rows.length;
        if (box.hidden) return;
        const top = document.createElement("b");
        top.textContent = head;
        box.replaceChildren(top, ...rows.map(({ paint, label, value }) => {
          const row = document.createElement("span"), chip = document.createElement("i"), number = document.createElement("em");
          if (paint) chip.style.background = paint;
          number.textContent = value;
          row.append(chip, label, number);
          return row;
        }));
        const { left, top: down } = plot.cursor, room = over.clientWidth, before = left > room / 2;
        box.style.left = `${Math.max(0, Math.min(before ? left - box.offsetWidth - 14 : left + 14, room - box.offsetWidth))}px`;
        box.style.top = `${Math.max(0, Math.min(down + 10, over.clientHeight - box.offsetHeight))}px`;
      },
    };
  };

  Object.assign(window.longhaulFigures, { picture, drawing, csv, buttons, tooltip, shownLines });
})();
