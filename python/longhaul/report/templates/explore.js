"use strict";
// Draws the figures of a report with uPlot: shared zoom and cursor, flows switched on and off, a time-sequence graph down to segments.
(() => {
  const source = document.getElementById("explore-data");
  if (!source || typeof uPlot === "undefined") return;
  const { scientific, digits, shown, style, colour, dashes, pinch, keyboard, axis, key, painted } = window.longhaulFigures;
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
  let range = [...(data.busy || whole)], moving = false;
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

  // The time at the pointer, which is the same in all figures, to the width of a pixel; their samples lie at times of their own.
  const timeAt = (plot) => {
    const width = Math.max(1, ...charts.map((chart) => chart.plot.over.clientWidth));
    const step = (range[1] - range[0]) / width, at = plot.posToVal(plot.cursor.left, "x");
    const power = 10 ** Math.floor(Math.log10(step));
    return shown(Math.max(whole[0], Math.round(at / power) * power), "s", 7);
  };

  const readout = (box, plot, figure) => {
    const place = plot.cursor.idx;
    if (place === null || place === undefined || plot.cursor.left < 0) {
      box.textContent = "";
      return;
    }
    const parts = [];
    plot.series.forEach((series, number) => {
      if (number === 0 || series.show === false || parts.length > 11) return;
      const value = plot.data[number][place];
      // A reference has its value in its name.
      const fixed = figure.series && (figure.series[number - 1] || {}).reference;
      if (value !== null && value !== undefined) parts.push(fixed ? series.label : `${series.label} ${shown(value, figure.unit, 4)}`);
    });
    box.textContent = [`at ${timeAt(plot)}`, ...parts.slice(0, 10)].join("  ·  ") + (parts.length > 10 ? "  ·  …" : "");
  };

  // --- a time-sequence graph: runs of rows at an even pace, drawn by hand in the visible range alone; zoomed in, row by row
  const sequence = (figure) => {
    const runs = (part) => {
      const [t0, t1, s0, s1, e0, e1, count] = ["t0", "t1", "s0", "s1", "e0", "e1", "count"].map((name) => numbers(part[name]));
      const at = (first, last, run, part_of) => first[run] + (last[run] - first[run]) * part_of;
      return {
        n: part.n, t0, t1, count: count.map(Math.round),
        time: (run, x) => at(t0, t1, run, x), start: (run, x) => at(s0, s1, run, x), end: (run, x) => at(e0, e1, run, x),
        // The part of a run that lies in a span of time.
        within: (run, low, high) => {
          const width = t1[run] - t0[run];
          if (t1[run] < low || t0[run] > high) return null;
          return width > 0 ? [Math.max(0, (low - t0[run]) / width), Math.min(1, (high - t0[run]) / width)] : [0, 1];
        },
      };
    };
    const parts = Object.entries(figure.marks).map(([kind, part]) => ({ kind, ...runs(part) }));
    const acks = runs(figure.acks);
    const names = { sent: "--ink", again: "--again", sack: "--sack" };
    // So many rows are drawn one by one; of more, each run is drawn as what it covers.
    const most = 12000;
    const visible = (part, min, max) => {
      const found = [];
      let rows = 0;
      for (let run = 0; run < part.n; run += 1) {
        const span = part.within(run, min, max);
        if (!span) continue;
        found.push([run, span]);
        rows += 1 + Math.floor((span[1] - span[0]) * (part.count[run] - 1));
      }
      return { found, rows };
    };
    const each = (part, run, [from, to], act) => {
      const steps = part.count[run] - 1;
      for (let row = Math.ceil(from * steps - 1e-9); row <= to * steps + 1e-9; row += 1) act(steps ? row / steps : 0);
    };
    const segments = (plot, part, min, max) => {
      const { ctx } = plot, dpr = devicePixelRatio, again = part.kind === "again";
      const x = (value) => plot.valToPos(value, "x", true), y = (value) => plot.valToPos(value, "y", true);
      const { found, rows } = visible(part, min, max), single = rows <= most, few = rows < 400;
      ctx.strokeStyle = ctx.fillStyle = style(names[part.kind]);
      ctx.globalAlpha = part.kind === "sack" && !few ? 0.55 : 1;
      // Retransmissions are seldom, and must be seen however small it is.
      ctx.lineWidth = (again ? 3 : few ? 2 : 1.2) * dpr;
      const least = (again ? 5 : 1) * dpr;
      ctx.beginPath();
      for (const [run, span] of found) {
        if (single || part.count[run] === 1) {
          each(part, run, span, (at) => {
            const place = x(part.time(run, at)), low = y(part.start(run, at)), high = Math.min(low - least, y(part.end(run, at)));
            ctx.moveTo(place, low);
            ctx.lineTo(place, high);
            if (few) {
              ctx.moveTo(place - 3 * dpr, low); ctx.lineTo(place + 3 * dpr, low);
              ctx.moveTo(place - 3 * dpr, high); ctx.lineTo(place + 3 * dpr, high);
            }
          });
          continue;
        }
        const [from, to] = span, left = x(part.time(run, from)), right = Math.max(left + least, x(part.time(run, to)));
        const low = [y(part.start(run, from)), y(part.start(run, to))];
        const high = [y(part.end(run, from)), y(part.end(run, to))].map((top, side) => Math.min(low[side] - least, top));
        ctx.moveTo(left, low[0]);
        ctx.lineTo(left, high[0]);
        ctx.lineTo(right, high[1]);
        ctx.lineTo(right, low[1]);
        ctx.closePath();
      }
      ctx.stroke();
      if (!single) ctx.fill();
      ctx.globalAlpha = 1;
    };
    const steps = (plot, value, name, min, max) => {
      const { ctx } = plot, x = (time) => plot.valToPos(time, "x", true), y = (bytes) => plot.valToPos(bytes, "y", true);
      const single = visible(acks, min, max).rows <= most;
      let run = 0;
      while (run < acks.n && acks.t1[run] < min) run += 1;
      ctx.strokeStyle = style(name);
      ctx.lineWidth = 1.2 * devicePixelRatio;
      ctx.beginPath();
      const inside = run < acks.n && acks.within(run, min, max);
      // Where a line is above the plot it is not drawn: its way there would be a vertical line that stands for nothing.
      let drawn = false;
      const go = (place, to) => {
        if (to < plot.bbox.top) drawn = false;
        else if (drawn) ctx.lineTo(place, to);
        else ctx.moveTo(place, to), drawn = true;
      };
      let height = inside && inside[0] > 0 ? y(value(run, inside[0])) : run > 0 ? y(value(run - 1, 1)) : y(value(0, 0));
      go(run > 0 ? plot.bbox.left : x(acks.t0[0]), height);
      const step = (at) => {
        const place = x(acks.time(run, at));
        go(place, height);
        height = y(value(run, at));
        go(place, height);
      };
      for (; run < acks.n && acks.t0[run] <= max; run += 1) {
        const [from, to] = acks.within(run, min, max);
        if (single || acks.count[run] === 1) {
          if (from > 0) height = y(value(run, from));
          each(acks, run, [from, to], step);
        } else {
          step(from);
          height = y(value(run, to));
          go(x(acks.time(run, to)), height);
        }
      }
      go(Math.min(x(max), x(acks.t1[acks.n - 1])), height);
      ctx.stroke();
    };
    const draw = (plot) => {
      const { ctx, bbox } = plot, { min, max } = plot.scales.x;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      parts.filter(({ kind }) => kind === "sack").forEach((part) => segments(plot, part, min, max));
      if (acks.n) {
        steps(plot, acks.end, "--window", min, max);
        steps(plot, acks.start, "--ack", min, max);
      }
      parts.filter(({ kind }) => kind !== "sack").forEach((part) => segments(plot, part, min, max));
      ctx.restore();
    };
    const limits = () => {
      let low = Infinity, high = -Infinity;
      const include = (...values) => values.forEach((value) => { low = Math.min(low, value); high = Math.max(high, value); });
      for (const part of parts) {
        for (const [run, [from, to]] of visible(part, ...range).found) {
          include(part.start(run, from), part.start(run, to), part.end(run, from), part.end(run, to));
        }
      }
      // The ACKs of what is in flight lie a window below: they belong to the picture, the receiver's window only if it is near.
      for (const [run, [from, to]] of visible(acks, ...range).found) include(acks.start(run, from), acks.start(run, to));
      if (low > high) {
        let run = 0;
        while (run < acks.n - 1 && acks.t0[run + 1] <= range[0]) run += 1;
        return acks.n ? [acks.start(run, 1), acks.start(run, 1) + 1] : [0, 1];
      }
      const room = 0.05 * (high - low) || 1;
      return [low - room, high + room];
    };
    // For the pointer: what is known where a run of ACKs begins and ends.
    const columns = [[], [], []];
    for (let run = 0; run < acks.n; run += 1) {
      for (const at of acks.count[run] > 1 ? [0, 1] : [0]) {
        columns[0].push(acks.time(run, at));
        columns[1].push(acks.start(run, at));
        columns[2].push(acks.end(run, at));
      }
    }
    // Whether most of the receiver's window is above the plot of the whole run.
    const far = () => acks.n > 0 && acks.end(Math.floor(acks.n / 2), 0) > limits()[1];
    const hidden = { paths: () => null, points: { show: false } };
    return {
      columns,
      series: [{}, { label: "ACK number", ...hidden }, { label: "end of the window", ...hidden }],
      draw,
      limits,
      keys: [["sent", "--ink"], ["retransmitted", "--again"], ["SACKed", "--sack"], ["ACK number", "--ack"], [far() ? "end of the window (beyond the plot)" : "end of the window", "--window"]],
    };
  };

  // --- a figure as files: what it shows now
  const save = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const shownLines = (plot) => plot.series.map((one, number) => [one, number]).slice(1).filter(([one]) => one.show && one.label);
  // Without the title and the names of its lines, a picture elsewhere is not understood.
  const picture = (plot, figure) => {
    const from = plot.ctx.canvas, ratio = devicePixelRatio || 1, out = document.createElement("canvas"), lines = shownLines(plot).slice(0, 12);
    const columns = Math.max(1, Math.floor(from.width / (220 * ratio))), rows = Math.ceil(lines.length / columns);
    out.width = from.width;
    out.height = from.height + (30 + 18 * rows) * ratio;
    const ctx = out.getContext("2d");
    ctx.fillStyle = style("--paper");
    ctx.fillRect(0, 0, out.width, out.height);
    ctx.fillStyle = style("--ink");
    ctx.font = `bold ${14 * ratio}px sans-serif`;
    ctx.fillText(figure.title, 8 * ratio, 20 * ratio);
    ctx.drawImage(from, 0, 28 * ratio);
    ctx.font = `${12 * ratio}px sans-serif`;
    lines.forEach(([one], number) => {
      const x = (8 + (number % columns) * 220) * ratio, y = from.height + (30 + 18 * Math.floor(number / columns) + 8) * ratio;
      ctx.strokeStyle = typeof one.stroke === "function" ? one.stroke(plot, number + 1) : one.stroke;
      ctx.lineWidth = 2 * ratio;
      ctx.beginPath();
      ctx.moveTo(x, y - 4 * ratio);
      ctx.lineTo(x + 20 * ratio, y - 4 * ratio);
      ctx.stroke();
      ctx.fillText(one.label, x + 26 * ratio, y, 190 * ratio);
    });
    return out;
  };
  const csv = (plot) => {
    const lines = shownLines(plot), [times] = plot.data, quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const rows = [["time_s", ...lines.map(([one]) => quoted(one.label))]];
    for (let at = 0; at < times.length; at += 1) {
      if (times[at] >= range[0] && times[at] <= range[1]) rows.push([times[at], ...lines.map(([, number]) => plot.data[number][at] ?? "")]);
    }
    return rows.map((row) => row.join(",")).join("\n") + "\n";
  };
  const savePicture = (plot, figure) => picture(plot, figure).toBlob((blob) => save(`${figure.id}.png`, blob));
  const saveNumbers = (plot, figure) => save(`${figure.id}.csv`, new Blob([csv(plot)], { type: "text/csv" }));

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
    const saving = document.createElement("p");
    saving.className = "panel-tools saving";
    [["save PNG", () => savePicture(plot, figure)], ...(special ? [] : [["save CSV", () => saveNumbers(plot, figure)]])].forEach(([text, act]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-label", `${text} of ${figure.title}`);
      button.addEventListener("click", act);
      saving.append(button);
    });
    place.closest("figure").append(saving);
    if (special) {
      key(place, special.keys.map(([label, name]) => ({ label, paint: () => style(name) })));
      const tools = document.createElement("p"), near = document.createElement("button"), all = document.createElement("button");
      tools.className = "panel-tools";
      [[near, figure.zoomed, () => setRange(...figure.zoom)], [all, "whole run", () => setRange(...whole)]].forEach(([button, text, act]) => {
        button.type = "button";
        button.textContent = text;
        button.addEventListener("click", act);
        tools.append(button);
      });
      place.append(tools);
    } else if (figure.kind === "flows") {
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
  const legends = [], named = 12;
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
  const helpers = { style, colour, dashes, digits, scientific, key, charts, pinch, keyboard };
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
  window.longhaulReport = { charts, setRange, picture, csv, whole, range: () => range, shown: colours };
})();

// What is wider than the page can be reached by keyboard, and has a line above it that says so.
(() => {
  const note = (of) => {
    const wide = of.scrollWidth > of.clientWidth + 2, before = of.previousElementSibling, has = before && before.className === "hint";
    if (wide && !has) {
      const hint = document.createElement("p");
      hint.className = "hint";
      hint.textContent = "⇆ continues to the right: scroll sideways";
      of.before(hint);
      of.tabIndex = 0;
      of.setAttribute("role", "region");
      of.setAttribute("aria-label", "scrolls sideways");
    } else if (!wide && has) before.remove();
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
