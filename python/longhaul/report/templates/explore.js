"use strict";
// Draws the figures of a report with uPlot: shared zoom and cursor, flows switched on and off, a time-sequence graph down to segments.
(() => {
  const source = document.getElementById("explore-data");
  if (!source || typeof uPlot === "undefined") return;
  const { scientific, digits, shown, style, colour, dashes, ruled, pinch, keyboard, axis, key, painted, picture, drawing, csv, buttons, tooltip, shownLines } = window.longhaulFigures;
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

  // --- which flows are shown, and the colour of each: the least that is free; the first ones are those of groups
  const colours = new Map();
  const switchFlow = (flow, on) => {
    if (!on) { colours.delete(flow); return; }
    if (colours.has(flow)) return;
    // Of a group that has a colour, flows differ in their dashes.
    if (data.flows[flow].colour !== undefined) { colours.set(flow, data.flows[flow].colour); return; }
    const taken = new Set(colours.values());
    let free = data.groups.length;
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

  // Outages and handovers as bands, changes as dotted lines, and where they are many as ticks at the top, or as a strip there.
  const marks = {
    hooks: {
      drawClear: [(plot) => {
        const { ctx, bbox } = plot, x = (at) => plot.valToPos(at, "x", true);
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        for (const { kind, spans, depths } of data.marks) {
          ctx.fillStyle = style("--band");
          ctx.strokeStyle = style("--soft");
          ctx.lineWidth = devicePixelRatio;
          ctx.setLineDash(kind === "line" ? [2, 3] : []);
          ctx.beginPath();
          for (const [number, [from, to]] of spans.entries()) {
            if (to < range[0] || from > range[1]) continue;
            if (kind === "strip") {
              ctx.globalAlpha = 0.15 + 0.5 * depths[number];
              ctx.fillStyle = style("--soft");
              ctx.fillRect(x(from), bbox.top, x(to) - x(from), 7 * devicePixelRatio);
              ctx.globalAlpha = 1;
            } else if (kind === "band") ctx.fillRect(x(from), bbox.top, Math.max(devicePixelRatio, x(to) - x(from)), bbox.height);
            else {
              ctx.moveTo(x(from), bbox.top);
              ctx.lineTo(x(from), bbox.top + (kind === "line" ? bbox.height : 7 * devicePixelRatio));
            }
          }
          ctx.stroke();
        }
        ctx.restore();
      }],
    },
  };
  const markKeys = data.marks.map(({ kind, label }) => ({
    label, paint: () => style(kind === "band" ? "--band" : "--soft"), block: kind === "band" || kind === "strip", dash: kind === "line",
  }));

  // --- a line; where it goes up and down faster than can be seen, the band from its least to its greatest with its mean in it
  const straight = uPlot.paths.linear(), steps = uPlot.paths.stepped({ align: -1 });
  const banded = (means, stepped) => (plot, number, first, last) => {
    const plain = (stepped ? steps : straight)(plot, number, first, last), [x, y] = [plot.data[0], plot.data[number]];
    const ratio = devicePixelRatio, wide = 3 * ratio, { left, width } = plot.bbox;
    // Points at which it turns by more than a pixel or two.
    const { min, max } = plot.scales.y, least = (2.5 * ratio * (max - min)) / plot.bbox.height;
    let turns = 0, known = 0, before = null, step = 0;
    for (let at = first; at <= last; at += 1) {
      const value = y[at];
      if (value === null || value === undefined) continue;
      const next = before === null ? 0 : value - before;
      if (next * step < 0 && Math.min(Math.abs(next), Math.abs(step)) > least) turns += 1;
      step = next;
      before = value;
      known += 1;
    }
    if (known < (1.5 * width) / wide || turns < 0.3 * known) return { ...plain, fill: stepped ? plain.fill : null };
    const parts = new Map();
    for (let at = first; at <= last; at += 1) {
      const value = y[at], mean = means ? means[at] : value;
      if (value === null || value === undefined) continue;
      const place = Math.floor((plot.valToPos(x[at], "x", true) - left) / wide), part = parts.get(place) || { low: value, high: value, sum: 0, count: 0 };
      part.low = Math.min(part.low, value);
      part.high = Math.max(part.high, value);
      if (mean !== null) { part.sum += mean; part.count += 1; }
      parts.set(place, part);
    }
    const stroke = new Path2D(), fill = new Path2D(), to = (value) => plot.valToPos(value, "y", true);
    let run = [];
    const close = () => {
      // Below a capacity all is grey, up to its mean.
      run.forEach(([at, part], step) => {
        const top = to(stepped ? part.mean : part.high);
        if (step) fill.lineTo(at, top);
        else fill.moveTo(at, top);
      });
      run.reverse().forEach(([at, part]) => fill.lineTo(at, to(stepped ? 0 : part.low)));
      if (run.length) fill.closePath();
      run = [];
    };
    let lastPlace = null;
    for (const [place, part] of [...parts].sort(([one], [two]) => one - two)) {
      const at = left + (place + 0.5) * wide, joined = lastPlace !== null && place - lastPlace < 4;
      part.mean = part.count ? part.sum / part.count : (part.low + part.high) / 2;
      if (!joined) close();
      if (joined) stroke.lineTo(at, to(part.mean));
      else stroke.moveTo(at, to(part.mean));
      run.push([at, part]);
      lastPlace = place;
    }
    close();
    return { ...plain, stroke, fill, clip: null };
  };

  // The time at the pointer, which is the same in all figures, to the width of a pixel; their samples lie at times of their own.
  const timeAt = (plot) => {
    const width = Math.max(1, ...charts.map((chart) => chart.plot.over.clientWidth));
    const step = (range[1] - range[0]) / width, at = plot.posToVal(plot.cursor.left, "x");
    const power = 10 ** Math.floor(Math.log10(step));
    return shown(Math.max(whole[0], Math.round(at / power) * power), "s", 7);
  };

  // What the lines have at the pointer, the greatest first; a median goes with the ends of its band.
  const most = 12;
  const valuesAt = (plot, figure, place) => {
    const found = [];
    plot.series.forEach((series, number) => {
      const line = (figure.series && figure.series[number - 1]) || {}, value = plot.data[number][place];
      if (number === 0 || series.show === false || value === null || value === undefined || ["low", "high"].includes(line.spread)) return;
      const ends = line.spread ? [number - 1, number + 1].map((one) => shown(plot.data[one][place], figure.unit, 3)) : null;
      // What never changes has its value in its name.
      const fixed = (line.reference || line.capacity) && line.lo === line.hi && /\d/.test(line.label);
      found.push({
        label: series.label, value: fixed ? "" : `${shown(value, figure.unit, 4)}${ends ? ` (${ends.join(" to ")})` : ""}`,
        at: value, behind: Boolean(line.reference || line.capacity), paint: typeof series.stroke === "function" ? series.stroke(plot, number) : series.stroke,
      });
    });
    return found.sort((one, two) => one.behind - two.behind || (figure.series && figure.series.length ? two.at - one.at : 0));
  };
  const readout = (box, tip, plot, figure) => {
    const place = plot.cursor.idx;
    box.classList.toggle("pointed", tip.isActive());
    if (place === null || place === undefined || plot.cursor.left < 0) {
      box.textContent = "";
      tip.show("", []);
      return;
    }
    const at = `at ${timeAt(plot)}`, found = valuesAt(plot, figure, place), more = found.length - most;
    const here = plot.posToVal(plot.cursor.left, "x"), near = (range[1] - range[0]) / 100;
    const events = data.marks.filter(({ spans }) => spans.some(([from, to]) => here > from - near && here < to + near)).map(({ label }) => label);
    box.textContent = [at, ...found.slice(0, most).map(({ label, value }) => `${label} ${value}`.trim())].join("  ·  ") + (more > 0 ? "  ·  …" : "");
    tip.show(at, [
      ...found.slice(0, most), ...(more > 0 ? [{ label: `and ${more} more lines`, value: "" }] : []), ...events.map((label) => ({ label, value: "" })),
    ]);
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

  // --- the numbers that a figure shows now
  const rowsOf = (plot) => {
    const lines = shownLines(plot), [times] = plot.data;
    const rows = [["time_s", ...lines.map(([one]) => one.label)]];
    for (let at = 0; at < times.length; at += 1) {
      if (times[at] >= range[0] && times[at] <= range[1]) rows.push([times[at], ...lines.map(([, number]) => plot.data[number][at])]);
    }
    return rows;
  };

  // --- axes as printed figures have them: the name with its unit, and bare numbers in that unit
  const scaledUnit = (figure) => {
    const most = Math.max(0, ...figure.series.map(({ hi = 0 }) => hi));
    if (figure.unit === "share") return [0.01, "%"];
    if (figure.unit === "s") return most >= 1 || !most ? [1, "s"] : most >= 1e-3 ? [1e-3, "ms"] : [1e-6, "µs"];
    if (figure.unit === "bit/s" || figure.unit === "B") {
      const [factor, prefix] = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]].find(([size]) => most >= size) || [1, ""];
      return [factor, prefix + figure.unit];
    }
    return [1, figure.unit];
  };
  const yAxis = (figure, special) => {
    const [factor, unit] = special ? [1e6, "MB"] : scaledUnit(figure), name = special ? "sequence number" : figure.axis || figure.title.toLowerCase();
    return { ...axis("y", figure.unit, `${name} (${unit})`, (tick) => digits(tick / factor, 7)), size: 58 };
  };

  const build = (figure) => {
    const place = document.getElementById(`plot-${figure.id}`);
    if (!place) return;
    const box = document.createElement("div");
    box.className = "readout";
    box.setAttribute("aria-hidden", "true");
    const special = figure.kind === "sequence" ? sequence(figure) : null;
    const columns = special ? special.columns : [axes[figure.series[0].axis], ...figure.series.map(column)];
    const translucent = (name) => `${name}${name.length === 7 ? "38" : ""}`;
    const series = special ? special.series : [{}, ...figure.series.map((line) => {
      const of_flow = line.flow !== undefined;
      const stroke = () => (line.reference || line.capacity ? style("--soft") : colour(of_flow ? colours.get(line.flow) || 0 : line.colour || 0));
      return {
        label: line.label,
        show: of_flow ? colours.has(line.flow) : true,
        stroke,
        behind: Boolean(line.capacity || line.reference),
        fill: line.capacity ? () => style("--spread-grey") : line.spread || line.reference ? undefined : () => translucent(stroke()),
        paths: line.spread ? undefined : banded(line.mean && column(line.mean), line.capacity || line.reference),
        dash: line.reference ? [6, 4] : of_flow ? dashes[data.flows[line.flow].dash || 0] : line.spread || line.capacity ? undefined : dashes[line.dash % 4],
        width: line.spread ? (line.spread === "median" ? 2.2 : 0.7) : line.capacity ? 0.8 : 1.4,
        points: { show: false },
      };
    })];
    const bands = [];
    if (!special) {
      figure.series.forEach((line, number) => {
        if (line.spread === "high") bands.push({ series: [number + 1, number - 1], fill: () => translucent(colour(line.colour)) });
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
      axes: [axis("x", "s", "time (s)"), yAxis(figure, special)],
      plugins: [marks],
      hooks: {
        setCursor: [(plot) => tip && readout(box, tip, plot, figure)],
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
    let tip = null;
    const plot = new uPlot(options, columns, place), chart = { plot, figure, place, options, height: () => (special ? 380 : 240) };
    tip = tooltip(plot);
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
    charts.push(chart);
    const saving = document.createElement("p");
    saving.className = "panel-tools";
    buttons(saving, chart, special ? null : () => rowsOf(plot));
    place.closest("figure").append(saving);
    if (special) {
      chart.keys = special.keys.map(([label, name]) => ({ label, paint: () => style(name) }));
      key(place, chart.keys);
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
      legends.push([list, new Set(figure.series.map(({ flow }) => flow))]);
      const parts = (wanted) => figure.series.map((line, number) => [line, number + 1]).filter(([line]) => wanted(line));
      key(place, [
        ...parts((line) => line.spread === "median").map(([line, number]) => ({
          label: `${line.label}, and the band of 80 % of the flows`, paint: () => colour(line.colour),
          toggle: (on) => plot.batch(() => [number - 1, number, number + 1].forEach((one) => plot.setSeries(one, { show: on }))),
        })),
        ...parts((line) => line.reference || line.capacity).map(([line, number]) => ({
          label: line.label, paint: () => style(line.capacity ? "--spread-grey" : "--soft"), dash: line.reference, block: line.capacity,
          toggle: (on) => plot.setSeries(number, { show: on }),
        })),
        ...markKeys,
      ]);
    } else {
      key(place, [...figure.series.map((line, number) => ({
        label: line.label, paint: () => colour(line.colour || 0), dash: line.dash, toggle: (on) => plot.setSeries(number + 1, { show: on }),
      })), ...markKeys]);
    }
  };

  // --- the names of flows below each figure, which switch them in all: those that are shown, and those that were
  const legends = [], named = 12, listed = new Set(data.shown);
  const nameFlows = () => legends.forEach(([list, drawn]) => {
    const here = [...listed].filter((flow) => drawn.has(flow));
    const found = here.slice(0, named).map((flow) => {
      const item = document.createElement("button"), chip = document.createElement("i"), on = colours.has(flow);
      item.type = "button";
      item.setAttribute("aria-pressed", String(on));
      ruled(chip, 3, data.flows[flow].dash, on ? colour(colours.get(flow)) : "transparent");
      item.append(chip, data.flows[flow].name);
      item.addEventListener("click", () => {
        const place = [...list.children].indexOf(item);
        switchFlow(flow, !on);
        refresh();
        list.children[place].focus();
      });
      return item;
    });
    if (here.length > named) found.push(`and ${here.length - named} more`);
    list.replaceChildren(...found);
  });
  // --- the panel of flows: one switch for all figures, with a filter that keeps 500 flows in reach
  const panel = document.getElementById("flow-switches");
  const boxes = [];
  const refresh = () => {
    [...colours.keys()].forEach((flow) => listed.add(flow));
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
      colours.clear();
      data.shown.forEach((flow) => switchFlow(flow, true));
      listed.clear();
      refresh();
    });
    panel.append(list);
  }

  const panels = data.figures.filter((figure) => figure.kind === "xy");
  const helpers = { style, colour, dashes, digits, scientific, key, charts, pinch, keyboard, buttons, tooltip };
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
  window.longhaulReport = { charts, setRange, picture, drawing, csv: (chart) => csv(rowsOf(chart.plot)), whole, range: () => range, shown: colours };
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
