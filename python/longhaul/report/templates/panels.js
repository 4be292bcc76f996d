"use strict";
// Draws panels that were read off a drawn figure, or made of a sweep's points: lines over any axis, points, intervals, bars, rows of a
// dot plot, maps. Each has a zoom of its own, a readout by pointer, touch and keyboard, and its values as a table.
window.longhaulPanel = (panel, { style, colour, dashes, digits, scientific, key, charts, pinch, keyboard, buttons, tooltip }) => {
  const place = document.getElementById(`plot-${panel.id}`);
  if (!place) return;
  place.closest("figure").classList.add("live");
  place.style.minHeight = "0";
  const { flipped, cells } = panel;
  const paint = (line) => (typeof line.colour === "string" ? style(`--${line.colour}`) : colour(line.colour));
  const text = (axis, value, unit = false) => {
    if (value === null || value === undefined) return "–";
    if (axis.names) {
      const named = axis.names.find(([where]) => Math.abs(where - value) < 0.5);
      return named ? named[1] : "";
    }
    return `${digits(value / axis.factor, 4)}${axis.suffix ? ` ${axis.suffix}` : unit && axis.unit ? ` ${axis.unit}` : ""}`;
  };
  const seeds = (count) => (count ? `${count} seed${count > 1 ? "s" : ""}` : "");
  const between = (axis, ends) => (ends ? ` (${text(axis, ends[0])} to ${text(axis, ends[1])})` : "");
  const font = '12px system-ui, "DejaVu Sans", sans-serif', ruler = document.createElement("canvas").getContext("2d");
  ruler.font = font;
  const long = (words) => Math.ceil(words.reduce((most, word) => Math.max(most, ruler.measureText(word).width), 0));
  const cut = (word, room) => {
    if (ruler.measureText(word).width <= room) return word;
    let end = word.length;
    while (end > 1 && ruler.measureText(`${word.slice(0, end)}…`).width > room) end -= 1;
    return `${word.slice(0, end)}…`;
  };

  // --- the ranges: those of the drawn figure until someone zooms; of many rows the first
  const whole = { x: [panel.x.low, panel.x.high], y: [panel.y.low, panel.y.high] };
  const span = { ...whole, ...panel.first };
  let plot = null;
  const show = (x, y) => {
    span.x = x;
    span.y = y;
    plot.setScale("x", { min: x[0], max: x[1] });
    plot.setScale("y", { min: y[0], max: y[1] });
  };
  const scaled = (axis, [low, high], factor, shift = 0) => {
    const to = axis.log ? Math.log10 : (value) => value, back = axis.log ? (value) => 10 ** value : (value) => value;
    const middle = (to(low) + to(high)) / 2 + shift * (to(high) - to(low)), half = ((to(high) - to(low)) / 2) * factor;
    return [back(middle - half), back(middle + half)];
  };
  // Of a dot plot with many rows the rows are zoomed, of one with few its values.
  const many = flipped && panel.columns[0].length > 12;
  const zoom = (factor) => show(flipped && !many ? span.x : scaled(panel.x, span.x, factor), many ? span.y : scaled(panel.y, span.y, factor));
  const move = (shift) => show(flipped && !many ? span.x : scaled(panel.x, span.x, 1, shift), flipped && !many ? scaled(panel.y, span.y, 1, shift) : span.y);

  // On a narrow page the name of a row stands above it, where it has the whole width.
  const narrow = () => flipped && place.clientWidth < 520;
  const rowHeight = () => (narrow() ? 38 : panel.columns[0].length > 18 && !panel.first ? 18 : 21);

  // --- axes: names where they have room, else every second, third...; upright names are cut, lying ones turned
  const range = (which) => (which === "x" ? span.x : span.y);
  const named = (from, which) => from.names.filter(([where]) => where >= range(which)[0] && where <= range(which)[1]);
  const thinned = (found, room) => found.filter((_one, number) => number % Math.max(1, Math.ceil(found.length / Math.max(1, room))) === 0);
  // uPlot counts logarithmic steps from the end of the axis, which need not be a round number.
  const powers = ([low, high], decade) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      for (const first of decade < 30 ? [1] : decade < 95 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
        const value = Number(`${first}e${power}`);
        if (value >= low && value <= high) found.push(value);
      }
    }
    return found.length > 1 ? found : [low, high];
  };
  // A label that has no room loses the beginning of a path; beside the plot it then stands above it.
  const fitted = (label, room) => {
    let words = label || "";
    while (ruler.measureText(words).width > room && /^…?[^\s.]+\.[^\s.]/.test(words)) words = words.replace(/^…?[^\s.]+\./, "…");
    return words;
  };
  const above = document.createElement("div");
  above.className = "soft above";
  const beside = (label) => {
    const room = height() - 60, words = fitted(label, room);
    if (!words || ruler.measureText(words).width <= room) return words;
    above.textContent = `↑ ${label}`;
    return undefined;
  };
  const axis = (which) => {
    const decade = (self) => (side === 2 ? self.width - self.bbox.left / devicePixelRatio - 20 : self.height - 60) / Math.log10(range(which)[1] / range(which)[0]);
    const from = panel[which], side = (which === "x") !== Boolean(flipped) ? 2 : 3;
    const slot = (self, found) => (side === 2 ? self.width - 70 : self.height - 60) / Math.max(1, found.length);
    const turned = (self) => side === 2 && from.names && long(named(from, which).map(([, name]) => name)) > slot(self, named(from, which)) - 8;
    return {
      scale: which,
      side,
      stroke: () => style("--ink"),
      grid: { show: !cells, stroke: () => style("--line"), width: 1 },
      ticks: { stroke: () => style("--line"), width: 1 },
      // Numbers beside each other do not touch.
      space: side === 2 ? 72 : 30,
      font,
      labelFont: font,
      // Rows have the parameter in their names.
      label: flipped && which === "x" ? undefined : side === 3 ? beside(from.label) : fitted(from.label, Math.max(260, place.clientWidth) - 80),
      labelSize: 20,
      gap: 5,
      rotate: (self) => (turned(self) ? 50 : 0),
      size: (self) => {
        if (side === 3 && narrow()) return 14;
        if (side === 3) return from.names ? Math.min(long(from.names.map(([, name]) => name)) + 24, Math.max(90, place.clientWidth * 0.38)) : 58;
        return turned(self) ? Math.min(110, long(named(from, which).map(([, name]) => name)) * 0.77 + 26) : 34;
      },
      splits: from.log ? (self) => powers(range(which), decade(self)) : from.names ? (self) => {
        const found = named(from, which);
        const room = side === 3 ? (self.height - 60) / 14 : turned(self) ? (self.width - 70) / 15 : Infinity;
        return thinned(found, room).map(([where]) => where);
      } : undefined,
      values: (self, ticks) => ticks.map((tick) => {
        if (tick === null) return "";
        if (side === 3 && narrow()) return "";
        if (from.names) return cut(text(from, tick), side === 3 ? Math.max(90, place.clientWidth * 0.38) - 20 : 125);
        // Of a logarithmic axis the powers of ten are named, and 2 and 5 where there is room.
        if (from.log) {
          const first = Math.round(tick / 10 ** Math.floor(Math.log10(tick) + 1e-9)), room = decade(self) * (side === 2 ? 0.55 : 2);
          if (ticks.length > 2 && !(room > 280 ? [1, 2, 3, 5, 7] : room > 110 ? [1, 2, 5] : [1]).includes(first)) return "";
          const value = Math.abs(tick / from.factor);
          if (value >= 1e5 || value < 1e-3) return `${scientific(tick / from.factor)}${from.suffix ? ` ${from.suffix}` : ""}`;
        }
        return text(from, tick);
      }),
      filter: from.log ? (_plot, ticks) => ticks : undefined,
    };
  };

  // --- the nearest point of each line, since lines need not have points at the same places; among names only that of the same name
  const nearest = (drawn, number, hovered) => {
    const column = drawn.data[number], places = drawn.data[0];
    if (number === 0 || hovered === null || column[hovered] !== null || cells) return hovered;
    const at = places[hovered], far = (index) => Math.abs(panel.x.log ? Math.log(places[index] / at) : places[index] - at);
    let best = hovered, least = Infinity;
    for (const step of [-1, 1]) {
      let index = hovered + step;
      while (index >= 0 && index < column.length && (column[index] === null || column[index] === undefined)) index += step;
      if (index < 0 || index >= column.length || far(index) >= least) continue;
      if (panel.x.names && Math.round(places[index]) !== Math.round(at)) continue;
      best = index;
      least = far(index);
    }
    return best;
  };
  const box = document.createElement("div");
  box.className = "readout";
  box.setAttribute("aria-live", "polite");

  // --- what stands at a place, in words
  const cellText = (column, row) => {
    const of = (name) => cells[name] && cells[name][row] && cells[name][row][column];
    const value = of("values");
    if (value === null || value === undefined) return "no value";
    const shown = of("texts") || of("written") || `${digits(value / cells.factor, 4)} ${cells.unit}`.trim();
    return [`${shown}${between(cells, of("ends"))}`, seeds(of("runs"))].filter(Boolean).join(", ");
  };
  const pointText = (drawn, number, where) => {
    const value = drawn.data[number + 1][where];
    if (value === null || value === undefined) return null;
    const shown = panel.texts ? panel.texts[where] : text(panel.y, value, true);
    const count = (panel.runs[number] || [])[where];
    return [`${shown}${between(panel.y, (panel.intervals[number] || [])[where])}`, seeds(count)].filter(Boolean).join(", ");
  };
  const row = (drawn) => Math.round(drawn.posToVal(drawn.cursor.top, "y"));
  let tip = null;
  const readout = (drawn) => {
    if (!tip) return;
    const at = drawn.cursor.idx;
    box.classList.toggle("pointed", tip.isActive());
    const write = (head, rows) => {
      box.textContent = rows.length ? `${head}: ${rows.map(({ label, value }) => `${label} ${value}`.trim()).join("  ·  ")}` : "";
      tip.show(head, rows);
    };
    if (at === null || at === undefined || drawn.cursor.left < 0) {
      write("", []);
      return;
    }
    if (cells) {
      const below = row(drawn), head = [panel.x, panel.y].map((from, number) => `${from.label} ${text(from, number ? below : at)}`.trim()).join(", ");
      write(head, cells.values[below] === undefined ? [] : [{ label: "", value: cellText(at, below) }]);
      return;
    }
    const x = drawn.data[0][at], parts = [];
    panel.series.forEach((line, number) => {
      if ((!line.label && !flipped) || drawn.series[number + 1].show === false) return;
      const where = nearest(drawn, number + 1, at), found = pointText(drawn, number, where);
      if (found === null) return;
      const same = drawn.data[0][where] === x || panel.x.names;
      parts.push({
        label: flipped ? panel.y.label.replace(/ \([^)]*\)$/, "") : line.label, paint: paint(line),
        value: `${found}${same ? "" : ` at ${text(panel.x, drawn.data[0][where])}`}`,
      });
    });
    if (!parts.length && !flipped) panel.series.forEach((line, number) => {
      const found = pointText(drawn, number, nearest(drawn, number + 1, at));
      if (found !== null && drawn.series[number + 1].show !== false && parts.length < 4) parts.push({ label: "", value: found, paint: paint(line) });
    });
    const head = `${panel.x.label.includes(",") ? "" : panel.x.label} ${text(panel.x, x, true)}`.trim();
    write(head, parts);
  };

  // --- drawn by hand: cells below the grid; intervals, bars, the points of rows and the numbers beside them above
  const clipped = (drawn, act) => {
    const { ctx, bbox } = drawn;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    act(ctx);
    ctx.restore();
  };
  const parts = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
  const ramp = (share) => {
    const stops = ["--m0", "--m1", "--m2"].map((name) => parts(style(name))), first = share < 0.5 ? 0 : 1, along = share * 2 - first;
    return stops[first].map((low, number) => low + (stops[first + 1][number] - low) * along);
  };
  const bright = (rgb) => {
    const [red, green, blue] = rgb.map((one) => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const along = (value) => {
    if (cells.low === cells.high) return 0.5;
    const to = cells.log ? Math.log : (one) => one;
    return (to(value) - to(cells.low)) / (to(cells.high) - to(cells.low));
  };
  const drawCells = (drawn) => clipped(drawn, (ctx) => {
    ctx.font = font.replace("12px", `${11.5 * devicePixelRatio}px`);
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    cells.values.forEach((line, y) => line.forEach((value, x) => {
      if (value === null) return;
      const [left, right] = [x - 0.5, x + 0.5].map((at) => Math.round(drawn.valToPos(at, "x", true)));
      const [bottom, top] = [y - 0.5, y + 0.5].map((at) => Math.round(drawn.valToPos(at, "y", true)));
      const rgb = cells.paints ? parts(cells.paints[y][x]) : ramp(along(value));
      ctx.fillStyle = `rgb(${rgb.map(Math.round).join(",")})`;
      ctx.fillRect(left, top, right - left - 1, bottom - top - 1);
      const words = cells.written ? cells.written[y][x] : digits(value / cells.factor, 3);
      if (words && ctx.measureText(words).width < right - left - 4 && bottom - top > 13 * devicePixelRatio) {
        ctx.fillStyle = bright(rgb) > 0.179 ? "#000" : "#fff";
        ctx.fillText(words, (left + right) / 2, (top + bottom) / 2);
      }
    }));
  });
  const drawMarks = (drawn) => {
    const ratio = devicePixelRatio, low = panel.y.log ? Math.min(span.y[0], panel.y.low) : -Infinity;
    const y = (value) => drawn.valToPos(Math.max(value, low), "y", true);
    clipped(drawn, (ctx) => panel.series.forEach((line, number) => {
      if (drawn.series[number + 1].show === false) return;
      const column = drawn.data[number + 1];
      ctx.fillStyle = paint(line);
      if (line.bar) column.forEach((value, index) => {
        if (value === null || value === undefined) return;
        const [from, to] = [-0.5, 0.5].map((half) => drawn.valToPos(drawn.data[0][index] + half * line.bar, "x", true));
        const base = y(0), end = y(value), broad = Math.abs(to - from), thick = Math.max(1, narrow() ? Math.min(broad, 13 * ratio) : broad - ratio);
        const start = (from + to - thick) / 2;
        if (flipped) ctx.fillRect(Math.min(base, end), start, Math.max(1, Math.abs(end - base)), thick);
        else ctx.fillRect(start, Math.min(base, end), thick, Math.max(1, Math.abs(end - base)));
      });
      const ends = panel.intervals[number];
      ctx.strokeStyle = paint(line);
      ctx.lineWidth = (flipped ? 2 : 1.4) * ratio;
      ctx.beginPath();
      if (ends) ends.forEach((pair, index) => {
        if (!pair) return;
        const at = drawn.valToPos(drawn.data[0][index], "x", true), cap = 3 * ratio, [first, last] = pair.map(y);
        const draw = (x1, y1, x2, y2) => { ctx.moveTo(...(flipped ? [y1, x1] : [x1, y1])); ctx.lineTo(...(flipped ? [y2, x2] : [x2, y2])); };
        draw(at, first, at, last);
        draw(at - cap, first, at + cap, first);
        draw(at - cap, last, at + cap, last);
      });
      ctx.stroke();
      if (flipped && line.points) column.forEach((value, index) => {
        if (value === null || value === undefined) return;
        ctx.beginPath();
        ctx.arc(y(value), drawn.valToPos(drawn.data[0][index], "x", true), 4.5 * ratio, 0, 2 * Math.PI);
        ctx.fill();
      });
    }));
    if (!panel.texts && !narrow()) return;
    const { ctx, bbox } = drawn, room = Math.abs(drawn.valToPos(1, "x", true) - drawn.valToPos(0, "x", true));
    if (room < (narrow() ? 25 : 12) * ratio) return;
    ctx.save();
    ctx.font = font.replace("12px", `${12 * ratio}px`);
    ctx.fillStyle = style("--soft");
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    const end = bbox.left + bbox.width;
    drawn.data[0].forEach((x, index) => {
      const shown = panel.series.some((_line, number) => drawn.series[number + 1].show !== false && drawn.data[number + 1][index] !== null);
      const at = drawn.valToPos(x, "x", true), words = panel.texts ? panel.texts[index] : text(panel.y, drawn.data[1][index], true);
      if (!shown || at <= bbox.top || at >= bbox.top + bbox.height) return;
      if (!narrow()) {
        ctx.fillText(words, end + 8 * ratio, at);
        return;
      }
      const width = ctx.measureText(words).width, above = at - 15 * ratio;
      ctx.textAlign = "right";
      ctx.fillText(words, end, above);
      ctx.textAlign = "left";
      ctx.fillStyle = style("--ink");
      ctx.fillText(cut(text(panel.x, x), (end - bbox.left - width) / ratio - 8), bbox.left, above);
      ctx.fillStyle = style("--soft");
    });
    ctx.restore();
  };

  const height = () => {
    if (flipped) return Math.round(Math.min(span.x[1] - span.x[0], panel.first ? 18 : 40) * rowHeight() + 62);
    return cells ? Math.round(Math.min(Math.max(cells.values.length * 27, 150), 400) + 60) : 280;
  };
  const steps = uPlot.paths.stepped({ align: 1 }), none = () => null;
  const options = {
    width: Math.max(260, place.clientWidth),
    height: height(),
    padding: [8, () => (panel.texts && !narrow() ? long([panel.widest || "", ...panel.texts]) + 14 : 14), 0, 0],
    series: [{}, ...panel.series.map((line) => ({
      label: line.label,
      stroke: () => paint(line),
      dash: dashes[line.dash % dashes.length],
      width: line.joined ? 1.5 : 0,
      spanGaps: true,
      paths: line.joined ? (line.stepped ? steps : undefined) : none,
      points: { show: line.points && !flipped, size: line.joined || panel.x.names ? 7 : 4, fill: () => paint(line) },
    }))],
    legend: { show: false },
    cursor: { dataIdx: nearest, drag: { x: true, y: true, uni: 20, setScale: false }, points: { show: !cells && !flipped }, focus: { prox: 16 } },
    focus: { alpha: 1 },
    scales: {
      x: { time: false, distr: panel.x.log ? 3 : 1, ori: flipped ? 1 : 0, dir: flipped && !panel.upwards ? -1 : 1, range: () => span.x },
      y: { distr: panel.y.log ? 3 : 1, ori: flipped ? 0 : 1, range: () => span.y },
    },
    axes: [axis("x"), axis("y")],
    hooks: {
      setCursor: [readout],
      drawClear: cells ? [drawCells] : [],
      draw: [drawMarks],
      setSelect: [(drawn) => {
        const { left, top, width, height: tall } = drawn.select;
        const across = width > 3 && width < drawn.over.clientWidth - 1, down = tall > 3 && tall < drawn.over.clientHeight - 1;
        if (across || down) {
          const level = flipped ? "y" : "x", upright = flipped ? "x" : "y", found = {};
          found[level] = across ? [left, left + width].map((at) => drawn.posToVal(at, level)).sort((a, b) => a - b) : span[level];
          found[upright] = down ? [top, top + tall].map((at) => drawn.posToVal(at, upright)).sort((a, b) => a - b) : span[upright];
          show(found.x, found.y);
        }
        drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
  plot = new uPlot(options, panel.columns, place);
  tip = tooltip(plot);
  if (above.textContent) place.prepend(above);
  plot.over.addEventListener("dblclick", () => show(whole.x, whole.y));
  // Rows are counted downwards, and fingers upwards.
  const turn = flipped && !panel.upwards ? ([low, high]) => [-high, -low] : (one) => one;
  const x = () => ({ range: turn(span.x), log: panel.x.log }), y = () => ({ range: span.y, log: panel.y.log });
  if (flipped) pinch(plot, () => ({ x: y(), y: x() }), (level, upright) => show(turn(upright), level));
  else pinch(plot, () => ({ x: x(), y: y() }), show);
  const title = panel.title || panel.y.label;
  place.append(box);
  keyboard(plot, { name: title, flipped, upwards: panel.upwards, rows: cells ? cells.values.length : 0, zoom, reset: () => show(whole.x, whole.y) });

  // --- buttons, and the values as a table, which is written when it is opened
  const tools = document.createElement("div");
  tools.className = "panel-tools";
  const [back, on] = many ? ["▴", "▾"] : ["◂", "▸"];
  for (const [words, act, name] of [["zoom in", () => zoom(0.5)], ["zoom out", () => zoom(2)], ["all", () => show(whole.x, whole.y)],
    [back, () => move(-0.5), "back"], [on, () => move(0.5), "on"]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.setAttribute("aria-label", `${name || words}: ${title}`);
    button.addEventListener("click", act);
    tools.append(button);
  }
  if (panel.first) {
    const note = document.createElement("span");
    note.className = "soft";
    note.textContent = ` ${Math.round(panel.first.x[1] + 0.5)} of ${panel.columns[0].length} rows at first`;
    tools.append(note);
  }
  const values = document.createElement("details"), summary = document.createElement("summary");
  summary.textContent = "values";
  values.className = "values";
  values.append(summary);
  const rowsOf = () => {
    const shown = panel.series.map((line, number) => ({ line, number })).filter(({ line }) => line.label || panel.series.every((one) => !one.label));
    return cells
      ? [[panel.y.label, ...cells.values[0].map((_value, column) => `${panel.x.label} ${text(panel.x, column)}`)],
        ...cells.values.map((line, below) => [text(panel.y, below), ...line.map((_value, column) => cellText(column, below))])]
      : flipped ? [[panel.x.label, panel.y.label], ...panel.columns[0].map((x, index) => [text(panel.x, x),
        panel.series.map((_line, number) => pointText(plot, number, index)).find(Boolean) || ""])]
        : [[panel.x.label, ...shown.map(({ line }) => line.label || panel.y.label)],
          ...panel.columns[0].map((x, index) => [text(panel.x, x, true), ...shown.map(({ number }) => pointText(plot, number, index) || "")])
            .filter((line) => line.slice(1).some(Boolean))];
  };
  values.addEventListener("toggle", () => {
    if (values.childElementCount > 1) return;
    const lines = rowsOf(), table = document.createElement("table"), scroll = document.createElement("div");
    lines.slice(0, 401).forEach((line, number) => {
      const made = table.insertRow();
      line.forEach((words, column) => {
        const cell = document.createElement(number === 0 || column === 0 ? "th" : "td");
        cell.textContent = words;
        made.append(cell);
      });
    });
    if (lines.length > 401) table.createCaption().textContent = `the first 400 of ${lines.length - 1} rows`;
    scroll.className = "scroll";
    scroll.append(table);
    values.append(scroll);
  });
  if (cells && !cells.paints) {
    const scale = document.createElement("div");
    scale.className = "ramp";
    const end = (value) => `${digits(value / cells.factor, 3)} ${cells.unit}`.trim();
    scale.append(end(cells.low), document.createElement("i"), `${end(cells.high)}${cells.log ? " (log scale)" : ""}`);
    place.append(scale);
  }
  const chart = { plot, figure: panel, place, height, options, title };
  charts.push(chart);
  buttons(tools, chart, rowsOf);
  const labelled = panel.series.map((line, number) => ({ line, number })).filter(({ line }) => line.label);
  // Points of single runs go with the line that follows them in the same colour.
  const companions = (number) => panel.series.map((line, other) => (
    !line.label && line.colour === panel.series[number].colour ? other : -1)).filter((other) => other >= 0);
  key(place, labelled.map(({ line, number }) => ({
    label: line.label, paint: () => paint(line), dash: line.dash, block: Boolean(line.bar || flipped),
    toggle: (shown) => [number, ...companions(number)].forEach((one) => plot.setSeries(one + 1, { show: shown })),
  })));
  place.append(tools, values);
};
