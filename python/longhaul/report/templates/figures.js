"use strict";
// What every figure has, in the lab's reports and on the accelerator's page: numbers with units, colours, axes, lists of lines with their
// switches, values by keyboard, zoom by two fingers.
window.longhaulFigures = (() => {
  // --- numbers with units, as the tables have them
  const prefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const raised = (power) => String(power).replace(/./g, (char) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[char] || "⁻");
  // A number as a power of ten, as in 2×10⁻⁷.
  const scientific = (value, count = 3) => {
    const power = Math.floor(Math.log10(Math.abs(value)) + 1e-9), first = Number((value / 10 ** power).toPrecision(count));
    return `${first === 1 ? "" : `${first}×`}10${raised(power)}`;
  };
  const digits = (value, count = 3) => {
    if (value === 0) return "0";
    if (Math.abs(value) < 1e-6) return scientific(value, count);
    const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString("en", { maximumFractionDigits: Math.min(places, 9) });
  };
  const shown = (value, unit, count) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (unit === "share") return `${digits(value * 100, count)} %`;
    if (unit === "s") {
      const size = Math.abs(value);
      if (size === 0 || size >= 1) return `${digits(value, count)} s`;
      return size >= 1e-3 ? `${digits(value * 1e3, count)} ms` : `${digits(value * 1e6, count)} µs`;
    }
    if (unit === "bit/s" || unit === "B") {
      const [factor, prefix] = prefixes.find(([size]) => Math.abs(value) >= size) || [1, ""];
      return `${digits(value / factor, count)} ${prefix}${unit}`;
    }
    return `${digits(value, count)} ${unit}`.trim();
  };

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (number) => style(`--c${number % 8}`);
  const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
  // A line of a legend: an edge with the same dashes.
  const ruled = (chip, size, dash, paint) => {
    const kind = Number(dash || 0) % 4;
    chip.style.borderTop = `${size}px ${["solid", "dashed", "dotted", "solid"][kind]} ${paint}`;
    chip.style.borderImage = kind === 3 ? `repeating-linear-gradient(90deg, ${paint} 0 9px, transparent 9px 12px, ${paint} 12px 14px, transparent 14px 17px) ${size}` : "";
  };

  // --- two fingers: apart to zoom in, along to move. What was under each stays under it, on every axis that `set` takes.
  const stretched = (from, to, places, length, log) => {
    const into = log ? Math.log10 : (value) => value, back = log ? (value) => 10 ** value : (value) => value;
    const [low, high] = from.map(into), at = (place) => low + ((high - low) * place) / length;
    const [first, second] = places.map(at), apart = to[1] - to[0];
    // Fingers that are level with each other only move.
    const step = Math.abs(places[1] - places[0]) < 24 || Math.abs(apart) < 24 ? (high - low) / length : (second - first) / apart;
    const start = (first + second) / 2 - (step * (to[0] + to[1])) / 2;
    return step > 0 ? [back(start), back(start + step * length)] : from;
  };
  const pinch = (plot, get, set) => {
    const { over } = plot;
    let begun = null;
    const fingers = (event) => {
      const box = over.getBoundingClientRect();
      return [...event.touches].slice(0, 2).map((touch) => [touch.clientX - box.left, box.bottom - touch.clientY]);
    };
    over.style.touchAction = "pan-y";
    over.addEventListener("touchstart", (event) => {
      begun = event.touches.length === 2 ? { ...get(), at: fingers(event) } : null;
    }, { passive: true });
    over.addEventListener("touchmove", (event) => {
      if (!begun || event.touches.length !== 2) return;
      event.preventDefault();
      const now = fingers(event), along = (list, number) => list.map((finger) => finger[number]);
      const on = (axis, number, length) => stretched(axis.range, along(now, number), along(begun.at, number), length, axis.log);
      set(on(begun.x, 0, over.clientWidth), begun.y && on(begun.y, 1, over.clientHeight));
    }, { passive: false });
    over.addEventListener("touchend", () => { begun = null; });
  };

  // --- values by keyboard: arrows go from point to point (in a map also from row to row), plus and minus zoom, 0 shows all
  const keyboard = (plot, { name, flipped, upwards, rows, zoom, reset, speak }) => {
    const { over } = plot;
    let at = -1, row = 0;
    over.tabIndex = 0;
    over.setAttribute("role", "application");
    over.setAttribute("aria-roledescription", "figure");
    over.setAttribute("aria-label", `${name}: arrow keys go from value to value, plus and minus zoom, 0 shows all`);
    const filled = (index) => rows > 0 || plot.series.some((line, number) => number > 0 && line.show !== false && typeof plot.data[number][index] === "number");
    const go = (step) => {
      const { min, max } = plot.scales.x, places = plot.data[0], found = [];
      places.forEach((x, index) => {
        if (x >= min && x <= max && filled(index) && (!found.length || places[found.at(-1)] !== x)) found.push(index);
      });
      if (!found.length) return;
      const stride = Math.max(1, Math.round(found.length / 120)), here = found.findIndex((index) => index >= at);
      const next = at < 0 || here < 0 ? (step < 0 ? found.length - 1 : 0) : here + step * stride;
      at = found[Math.min(found.length - 1, Math.max(0, next))];
      const value = plot.series.map((_line, number) => (number ? plot.data[number][at] : null)).find((one) => typeof one === "number");
      const along = plot.valToPos(places[at], "x"), across = rows ? plot.valToPos(row, "y")
        : value === undefined ? 20 : plot.valToPos(value, "y");
      plot.setCursor(flipped ? { left: across, top: along } : { left: along, top: across });
    };
    over.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const steps = flipped ? { ArrowDown: upwards ? -1 : 1, ArrowUp: upwards ? 1 : -1 } : { ArrowRight: 1, ArrowLeft: -1 };
      const acts = { "+": () => zoom(0.5), "-": () => zoom(2), 0: reset, Escape: () => plot.setCursor({ left: -10, top: -10 }) };
      if (rows && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        row = Math.min(rows - 1, Math.max(0, row + (event.key === "ArrowUp" ? 1 : -1)));
        go(0);
      } else if (steps[event.key]) go(steps[event.key]);
      else if (acts[event.key]) acts[event.key]();
      else return;
      event.preventDefault();
    });
    // Of figures that share a cursor only the one in use is read out.
    if (speak) {
      over.addEventListener("focus", () => speak(true));
      over.addEventListener("blur", () => speak(false));
    }
  };

  const axis = (side, unit, label, words) => ({
    side: side === "x" ? 2 : 3,
    stroke: () => style("--ink"),
    grid: { stroke: () => style("--line"), width: 1 },
    ticks: { stroke: () => style("--line"), width: 1 },
    font: '12px system-ui, "DejaVu Sans", sans-serif',
    labelFont: '12px system-ui, "DejaVu Sans", sans-serif',
    label,
    labelSize: 20,
    size: side === "x" ? 34 : 84,
    values: (_plot, ticks) => ticks.map((tick) => (tick === null ? "" : words ? words(tick) : side === "x" ? digits(tick, 7) : shown(tick, unit, 4))),
  });

  // --- what the lines are, each with a switch if it can be hidden; `painted` draws their colours anew
  const painted = [];
  const key = (place, entries) => {
    const list = document.createElement("div");
    list.className = "key-lines";
    for (const entry of entries) {
      const item = document.createElement(entry.toggle ? "button" : "span");
      const chip = document.createElement("i");
      const paint = () => { ruled(chip, entry.block ? 10 : 3, entry.dash, entry.paint()); };
      paint();
      painted.push(paint);
      item.append(chip, entry.label);
      if (entry.toggle) {
        item.type = "button";
        item.setAttribute("aria-pressed", "true");
        item.addEventListener("click", () => {
          const on = item.getAttribute("aria-pressed") !== "true";
          item.setAttribute("aria-pressed", String(on));
          entry.toggle(on);
        });
      }
      list.append(item);
    }
    if (entries.length) place.append(list);
  };

  return { scientific, digits, shown, style, colour, dashes, ruled, pinch, keyboard, axis, key, painted };
})();
