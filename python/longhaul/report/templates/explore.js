"use strict";
// Draws the figures of a report with uPlot: shared zoom and cursor, flows switched on and off, a time-sequence graph down to segments.
(() => {
  const source = document.getElementById("explore-data");
  if (!source || typeof uPlot === "undefined") return;
  const data = JSON.parse(source.textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0)).buffer;
  const axes = data.axes.map((text) => Array.from(new Float64Array(bytes(text))));
  const column = (line) => {
    const steps = new Uint16Array(bytes(line.data)), width = (line.hi - line.lo) / 65534;
    return Array.from(steps, (step) => (step === 65535 ? null : line.lo + step * width));
  };
  const numbers = (text) => {
    if (!text) return [];
    const [low, high, packed] = text.split(","), lo = Number(low), width = (Number(high) - lo) / 4294967295;
    return Array.from(new Uint32Array(bytes(packed)), (step) => lo + step * width);
  };

  // --- numbers with units, as the tables have them
  const prefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const digits = (value, count = 3) => {
    if (value === 0) return "0";
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
  const dash = (number) => dashes[Math.floor(number / 8) % dashes.length];

  // --- which flows are shown, and the colour of each: the least that is free
  const colours = new Map();
  const switchFlow = (flow, on) => {
    if (!on) { colours.delete(flow); return; }
    if (colours.has(flow)) return;
    const taken = new Set(colours.values());
    let free = 0;
    while (taken.has(free)) free += 1;
    colours.set(flow, free);
  };
  data.shown.forEach((flow) => switchFlow(flow, true));

  // --- one range of time for all figures
  const charts = [];
  const whole = data.span;
  let range = [...whole], moving = false;
  const setRange = (low, high) => {
    const width = Math.min(Math.max(high - low, 1e-6), whole[1] - whole[0]);
    const start = Math.min(Math.max(low, whole[0]), whole[1] - width);
    range = [start, start + width];
    moving = true;
    charts.forEach(({ plot }) => plot.setScale("x", { min: range[0], max: range[1] }));
    moving = false;
    const note = document.getElementById("range");
    if (note) note.textContent = `${shown(range[0], "s", 5)} to ${shown(range[1], "s", 5)}`;
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

  const marks = {
    hooks: {
      drawClear: [(plot) => {
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        ctx.fillStyle = style("--band");
        ctx.strokeStyle = style("--soft");
        ctx.setLineDash([2, 3]);
        for (const mark of data.marks) {
          const from = plot.valToPos(mark.at, "x", true);
          if (mark.to > mark.at) {
            ctx.fillRect(from, bbox.top, plot.valToPos(mark.to, "x", true) - from, bbox.height);
          } else {
            ctx.beginPath();
            ctx.moveTo(from, bbox.top);
            ctx.lineTo(from, bbox.top + bbox.height);
            ctx.stroke();
          }
        }
        ctx.restore();
      }],
    },
  };

  const axis = (side, unit, label) => ({
    side: side === "x" ? 2 : 3,
    stroke: () => style("--ink"),
    grid: { stroke: () => style("--line"), width: 1 },
    ticks: { stroke: () => style("--line"), width: 1 },
    font: '12px system-ui, "DejaVu Sans", sans-serif',
    labelFont: '12px system-ui, "DejaVu Sans", sans-serif',
    label,
    labelSize: 20,
    size: side === "x" ? 34 : 84,
    values: (_plot, ticks) => ticks.map((tick) => (tick === null ? "" : side === "x" ? digits(tick, 7) : shown(tick, unit, 4))),
  });

  const readout = (box, plot, figure) => {
    const place = plot.cursor.idx;
    if (place === null || place === undefined) {
      box.textContent = "";
      return;
    }
    const parts = [];
    plot.series.forEach((series, number) => {
      if (number === 0 || series.show === false || parts.length > 11) return;
      const value = plot.data[number][place];
      if (value !== null && value !== undefined) parts.push(`${series.label} ${shown(value, figure.unit, 4)}`);
    });
    box.textContent = [`at ${shown(plot.data[0][place], "s", 6)}`, ...parts.slice(0, 10)].join("  ·  ") + (parts.length > 10 ? "  ·  …" : "");
  };

  // --- a time-sequence graph: ACK number and window as steps, segments drawn by hand in the visible range alone
  const sequence = (figure) => {
    const parts = Object.entries(figure.marks).map(([kind, part]) => {
      const time = numbers(part.time);
      return { kind, time, last: part.last ? numbers(part.last) : time, start: numbers(part.start), end: numbers(part.end) };
    });
    const acks = [numbers(figure.acks.time), numbers(figure.acks.ack), numbers(figure.acks.window)];
    const first = (times, wanted) => {
      let low = 0, high = times.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (times[middle] < wanted) low = middle + 1; else high = middle;
      }
      return low;
    };
    const names = { sent: "--ink", again: "--again", sack: "--sack" };
    const draw = (plot) => {
      const { ctx, bbox } = plot, { min, max } = plot.scales.x;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      for (const part of parts) {
        const from = Math.max(0, first(part.time, min) - 1), to = Math.min(part.time.length, first(part.time, max) + 1);
        const thick = (to - from < 400 ? 2 : 1.2) * devicePixelRatio;
        ctx.strokeStyle = style(names[part.kind]);
        ctx.lineWidth = part.kind === "again" ? 1.8 * thick : thick;
        ctx.beginPath();
        for (let place = from; place < to; place += 1) {
          const x = plot.valToPos(part.time[place], "x", true), y = plot.valToPos(part.start[place], "y", true);
          ctx.moveTo(x, y);
          ctx.lineTo(plot.valToPos(part.last[place], "x", true), Math.min(y - 1, plot.valToPos(part.end[place], "y", true)));
          if (to - from < 400) {
            const top = plot.valToPos(part.end[place], "y", true);
            ctx.moveTo(x - 3, y); ctx.lineTo(x + 3, y);
            ctx.moveTo(x - 3, top); ctx.lineTo(x + 3, top);
          }
        }
        ctx.stroke();
      }
      ctx.restore();
    };
    const limits = (_plot, _low, _high, _key) => {
      let low = Infinity, high = -Infinity;
      for (const part of parts) {
        const from = first(part.time, range[0]), to = first(part.time, range[1]);
        for (let place = from; place < to; place += Math.max(1, Math.floor((to - from) / 3000))) {
          low = Math.min(low, part.start[place]);
          high = Math.max(high, part.end[place]);
        }
      }
      if (low > high) {
        const place = Math.min(acks[1].length - 1, first(acks[0], range[0]));
        return place < 0 ? [0, 1] : [acks[1][place], acks[1][place] + 1];
      }
      const room = 0.05 * (high - low) || 1;
      return [low - room, high + room];
    };
    const steps = uPlot.paths.stepped({ align: 1 });
    return {
      columns: acks,
      series: [
        {},
        { label: "ACK number", stroke: () => style("--ack"), width: 1.2, paths: steps, points: { show: false } },
        { label: "end of the window", stroke: () => style("--window"), width: 1.2, paths: steps, points: { show: false } },
      ],
      draw,
      limits,
      keys: [["sent", "--ink"], ["sent again", "--again"], ["SACKed", "--sack"], ["ACK number", "--ack"], ["end of the window", "--window"]],
    };
  };

  const build = (figure) => {
    const place = document.getElementById(`plot-${figure.id}`);
    if (!place) return;
    const box = document.createElement("div");
    box.className = "readout";
    box.setAttribute("aria-hidden", "true");
    const special = figure.kind === "sequence" ? sequence(figure) : null;
    const columns = special ? special.columns : [axes[figure.series[0].axis], ...figure.series.map(column)];
    const series = special ? special.series : [{}, ...figure.series.map((line) => {
      const of_flow = line.flow !== undefined;
      const group = line.spread ? [...new Set(figure.series.filter((one) => one.spread).map((one) => one.group))].indexOf(line.group) : 0;
      return {
        label: line.label,
        show: of_flow ? colours.has(line.flow) : true,
        stroke: () => (line.reference ? style("--soft") : line.spread ? (line.spread === "median" ? style("--ink") : style("--soft"))
          : colour(of_flow ? colours.get(line.flow) || 0 : line.colour || 0)),
        dash: line.reference ? [6, 4] : line.spread ? dashes[group % 4] : of_flow ? undefined : dashes[line.dash % 4],
        width: line.spread ? (line.spread === "median" ? 2 : 0.7) : 1.4,
        points: { show: false },
      };
    })];
    const bands = [];
    if (!special) {
      figure.series.forEach((line, number) => {
        if (line.spread === "high") bands.push({ series: [number + 1, number - 1], fill: () => style("--spread") });
      });
    }
    const options = {
      width: Math.max(280, place.clientWidth),
      height: special ? 380 : 240,
      series,
      bands,
      legend: { show: false },
      cursor: {
        sync: { key: "longhaul", setSeries: false },
        drag: { x: true, y: false, uni: 20 },
        points: { show: !special },
        focus: { prox: 16 },
      },
      focus: { alpha: 1 },
      scales: {
        x: { time: false, range: () => range },
        y: { range: special ? special.limits : (_plot, _low, high) => [0, high > 0 ? high * 1.05 : 1] },
      },
      axes: [axis("x", "s", "time / s"), axis("y", figure.unit, "")],
      plugins: [marks],
      hooks: {
        setCursor: [(plot) => readout(box, plot, figure)],
        setSelect: [(plot) => {
          if (plot.select.width > 3) {
            setRange(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
          }
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        draw: special ? [special.draw] : [],
      },
    };
    options.cursor.drag.setScale = false;
    const plot = new uPlot(options, columns, place);
    plot.over.addEventListener("dblclick", () => setRange(...whole));
    const nearer = (factor) => {
      const middle = (range[0] + range[1]) / 2, half = ((range[1] - range[0]) / 2) * factor;
      setRange(middle - half, middle + half);
    };
    keyboard(plot, {
      name: figure.title, zoom: nearer, reset: () => setRange(...whole),
      speak: (on) => { box.setAttribute("aria-hidden", String(!on)); box.setAttribute("aria-live", on ? "polite" : "off"); },
    });
    pinch(plot, () => ({ x: { range: [...range] } }), (x) => setRange(...x));
    place.append(box);
    charts.push({ plot, figure, place, height: () => (special ? 380 : 240) });
    if (special) key(place, special.keys.map(([label, name]) => ({ label, paint: () => style(name) })));
    else if (figure.kind === "flows") {
      const list = document.createElement("div");
      list.className = "key-lines";
      place.append(list);
      legends.push(list);
      const fixed = figure.series.filter((line) => line.reference || line.spread === "median");
      if (fixed.length) {
        key(place, fixed.map((line) => ({
          label: line.reference ? line.label : `${line.label}, and the band of 80 % of the flows`,
          paint: () => style(line.reference ? "--soft" : "--ink"), dash: line.reference ? 1 : 0,
        })));
      }
    } else {
      key(place, figure.series.map((line, number) => ({
        label: line.label, paint: () => colour(line.colour || 0), dash: line.dash, toggle: (on) => plot.setSeries(number + 1, { show: on }),
      })));
    }
  };

  // --- what the lines are; those of links can be switched, those of flows with one switch for all figures
  const painted = [], legends = [], named = 12;
  const nameFlows = () => legends.forEach((list) => {
    const shown = [...colours].slice(0, named).map(([flow, number]) => {
      const item = document.createElement("span"), chip = document.createElement("i");
      chip.style.borderTop = `3px solid ${colour(number)}`;
      item.append(chip, data.flows[flow].name);
      return item;
    });
    if (colours.size > named) shown.push(`and ${colours.size - named} more`);
    list.replaceChildren(...shown);
  });
  const key = (place, entries) => {
    const list = document.createElement("div");
    list.className = "key-lines";
    for (const entry of entries) {
      const item = document.createElement(entry.toggle ? "button" : "span");
      const chip = document.createElement("i");
      const paint = () => { chip.style.borderTop = `${entry.block ? 10 : 3}px ${entry.dash ? "dashed" : "solid"} ${entry.paint()}`; };
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

  // --- the panel of flows: one switch for all figures, with a filter that keeps 500 flows in reach
  const panel = document.getElementById("flow-switches");
  const boxes = [];
  const refresh = () => {
    for (const { plot, figure } of charts) {
      if (figure.kind !== "flows") continue;
      plot.batch(() => figure.series.forEach((line, number) => {
        if (line.flow !== undefined && plot.series[number + 1].show !== colours.has(line.flow)) {
          plot.setSeries(number + 1, { show: colours.has(line.flow) });
        }
      }));
      plot.redraw(false);
    }
    boxes.forEach(({ input, chip, flow }) => {
      input.checked = colours.has(flow);
      chip.style.background = input.checked ? colour(colours.get(flow)) : "transparent";
    });
    nameFlows();
    const count = document.getElementById("flow-count");
    if (count) count.textContent = `${colours.size} of ${data.flows.length}`;
  };
  if (panel) {
    const list = document.createElement("div");
    list.className = "flow-list";
    data.flows.forEach((flow, number) => {
      const label = document.createElement("label"), input = document.createElement("input"), chip = document.createElement("i");
      input.type = "checkbox";
      input.addEventListener("change", () => { switchFlow(number, input.checked); refresh(); });
      label.append(input, chip, flow.name);
      list.append(label);
      boxes.push({ input, chip, flow: number, label, name: flow.name.toLowerCase() });
    });
    const filter = panel.querySelector("input[type=search]");
    const visible = () => boxes.filter(({ label }) => !label.hidden);
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      boxes.forEach(({ label, name }) => { label.hidden = !name.includes(wanted); });
    });
    panel.querySelector("[data-do=all]").addEventListener("click", () => { visible().forEach(({ flow }) => switchFlow(flow, true)); refresh(); });
    panel.querySelector("[data-do=none]").addEventListener("click", () => { visible().forEach(({ flow }) => switchFlow(flow, false)); refresh(); });
    panel.querySelector("[data-do=first]").addEventListener("click", () => {
      boxes.forEach(({ flow }) => switchFlow(flow, data.shown.includes(flow)));
      refresh();
    });
    panel.append(list);
  }

  const panels = data.figures.filter((figure) => figure.kind === "xy");
  const helpers = { style, colour, dashes, digits, key, charts, pinch, keyboard };
  panels.forEach((panel) => window.longhaulPanel(panel, helpers));
  data.figures.filter((figure) => figure.kind !== "xy").forEach(build);
  refresh();
  if (panels.length < data.figures.length) setRange(...range);

  // --- zoom by keyboard and touch
  const move = {
    in: () => { const [low, high] = range, width = (high - low) / 4; setRange(low + width, high - width); },
    out: () => { const [low, high] = range, width = (high - low) / 2; setRange(low - width, high + width); },
    left: () => { const width = (range[1] - range[0]) / 2; setRange(range[0] - width, range[1] - width); },
    right: () => { const width = (range[1] - range[0]) / 2; setRange(range[0] + width, range[1] + width); },
    whole: () => setRange(...whole),
  };
  document.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => move[button.dataset.zoom]()));

  const fit = () => charts.forEach(({ plot, place, height }) => {
    const width = Math.max(260, place.clientWidth);
    if (width !== plot.width) plot.setSize({ width, height: height() });
  });
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    charts.forEach(({ plot }) => plot.redraw(false));
    painted.forEach((paint) => paint());
    refresh();
  });
  // For scripts that test the page.
  window.longhaulReport = { charts, setRange, whole, range: () => range, shown: colours };
})();

// What is wider than the page can be reached by keyboard, and has a line about it.
(() => {
  const note = (of) => {
    const wide = of.scrollWidth > of.clientWidth + 2, next = of.nextElementSibling, has = next && next.className === "hint";
    if (wide && !has) {
      const hint = document.createElement("p");
      hint.className = "hint";
      hint.textContent = "⇆ continues to the right: scroll sideways";
      of.after(hint);
      of.tabIndex = 0;
      of.setAttribute("role", "region");
      of.setAttribute("aria-label", "scrolls sideways");
    } else if (!wide && has) next.remove();
  };
  // In the next frame: a note changes the layout that is being observed.
  const watch = new ResizeObserver((found) => requestAnimationFrame(() => found.forEach(({ target }) => note(target))));
  document.querySelectorAll(".scroll").forEach((of) => watch.observe(of));
})();

// Definitions: by pointer, keyboard and touch.
(() => {
  const note = document.createElement("div");
  note.className = "definition";
  note.setAttribute("role", "tooltip");
  note.id = "definition";
  note.hidden = true;
  document.body.append(note);
  const show = (of) => {
    note.textContent = of.dataset.def;
    note.hidden = false;
    const box = of.getBoundingClientRect();
    note.style.left = `${Math.max(8, Math.min(box.left, innerWidth - note.offsetWidth - 8))}px`;
    note.style.top = `${box.bottom + note.offsetHeight + 10 > innerHeight ? box.top - note.offsetHeight - 6 : box.bottom + 6}px`;
    of.setAttribute("aria-describedby", "definition");
  };
  const hide = () => { note.hidden = true; };
  document.querySelectorAll("[data-def]").forEach((of) => {
    of.addEventListener("mouseenter", () => show(of));
    of.addEventListener("focus", () => show(of));
    of.addEventListener("click", () => show(of));
    of.addEventListener("mouseleave", hide);
    of.addEventListener("blur", hide);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("scroll", hide, true);
})();
