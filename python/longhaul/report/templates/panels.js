"use strict";
// Draws panels that were read off a drawn figure: lines over any axis, points, intervals; each with a zoom of its own.
window.longhaulPanel = (panel, { style, colour, dashes, digits, key, charts, pinch }) => {
  const place = document.getElementById(`plot-${panel.id}`);
  if (!place) return;
  place.closest("figure").classList.add("live");
  const paint = (line) => (typeof line.colour === "string" ? style(`--${line.colour}`) : colour(line.colour));
  const text = (axis, value, count = 4) => {
    if (value === null || value === undefined) return "–";
    const named = (axis.names || []).find(([where]) => Math.abs(where - value) < 0.5);
    if (axis.names) return named ? named[1] : "";
    return `${digits(value / axis.factor, count)}${axis.suffix ? ` ${axis.suffix}` : ""}`;
  };

  // --- the ranges: those of the drawn figure until someone zooms
  const whole = { x: [panel.x.low, panel.x.high], y: [panel.y.low, panel.y.high] };
  const span = { x: whole.x, y: whole.y };
  let plot = null;
  const show = (x, y) => {
    span.x = x;
    span.y = y;
    plot.setScale("x", { min: x[0], max: x[1] });
    plot.setScale("y", { min: y[0], max: y[1] });
  };
  const scaled = (axis, [low, high], factor) => {
    const to = axis.log ? Math.log10 : (value) => value, back = axis.log ? (value) => 10 ** value : (value) => value;
    const middle = (to(low) + to(high)) / 2, half = ((to(high) - to(low)) / 2) * factor;
    return [back(middle - half), back(middle + half)];
  };
  const zoom = (factor) => show(scaled(panel.x, span.x, factor), scaled(panel.y, span.y, factor));

  const axis = (from, side) => ({
    side,
    stroke: () => style("--ink"),
    grid: { stroke: () => style("--line"), width: 1 },
    ticks: { stroke: () => style("--line"), width: 1 },
    font: '12px system-ui, "DejaVu Sans", sans-serif',
    labelFont: '12px system-ui, "DejaVu Sans", sans-serif',
    label: from.label,
    labelSize: 20,
    size: side === 2 ? 34 : 58,
    splits: from.names ? () => from.names.map(([where]) => where).filter((where) => where >= span.x[0] && where <= span.x[1]) : undefined,
    values: (_plot, ticks) => ticks.map((tick) => {
      if (tick === null) return "";
      // Of a logarithmic axis the powers of ten are named, and 2 and 5 where there is room.
      const first = tick / 10 ** Math.floor(Math.log10(tick) + 1e-9);
      const decades = from.log ? Math.log10((side === 2 ? span.x : span.y)[1] / (side === 2 ? span.x : span.y)[0]) : 0;
      if (from.log && ![1, ...(decades < 2.5 ? [2, 5] : [])].some((wanted) => Math.abs(first - wanted) < 0.01)) return "";
      return text(from, tick);
    }),
    filter: from.log ? (_plot, ticks) => ticks : undefined,
  });

  // --- the nearest point of each line, since lines need not have points at the same places
  const nearest = (drawn, number, hovered) => {
    const column = drawn.data[number];
    if (number === 0 || column[hovered] !== null) return hovered;
    for (let away = 1; away < column.length; away += 1) {
      for (const place_ of [hovered - away, hovered + away]) {
        if (column[place_] !== null && column[place_] !== undefined) return place_;
      }
    }
    return hovered;
  };
  const box = document.createElement("div");
  box.className = "readout";
  box.setAttribute("aria-live", "polite");
  const readout = (drawn) => {
    const at = drawn.cursor.idx;
    if (at === null || at === undefined) {
      box.textContent = "";
      return;
    }
    const parts = [];
    panel.series.forEach((line, number) => {
      if (!line.label || drawn.series[number + 1].show === false) return;
      const where = nearest(drawn, number + 1, at), value = drawn.data[number + 1][where];
      if (value === null || value === undefined) return;
      const ends = (panel.intervals[number] || [])[where];
      const between = ends ? ` (${text(panel.y, ends[0])} to ${text(panel.y, ends[1])})` : "";
      const elsewhere = drawn.data[0][where] === drawn.data[0][at] ? "" : ` at ${text(panel.x, drawn.data[0][where])}`;
      parts.push(`${line.label} ${text(panel.y, value)}${between}${elsewhere}`);
    });
    if (!parts.length) panel.series.forEach((_line, number) => {
      const where = nearest(drawn, number + 1, at), value = drawn.data[number + 1][where];
      const ends = (panel.intervals[number] || [])[where];
      if (value !== null && value !== undefined && parts.length < 4) {
        parts.push(`${text(panel.y, value)}${ends ? ` (${text(panel.y, ends[0])} to ${text(panel.y, ends[1])})` : ""}`);
      }
    });
    box.textContent = `${panel.x.label} ${text(panel.x, drawn.data[0][at])}: ${parts.join("  ·  ")}`;
  };

  const intervals = (drawn) => {
    const { ctx, bbox } = drawn;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineWidth = 1.4 * devicePixelRatio;
    Object.entries(panel.intervals).forEach(([number, ends]) => {
      if (drawn.series[Number(number) + 1].show === false) return;
      ctx.strokeStyle = paint(panel.series[number]);
      ctx.beginPath();
      ends.forEach((pair, index) => {
        if (!pair) return;
        const x = drawn.valToPos(drawn.data[0][index], "x", true), cap = 3 * devicePixelRatio;
        pair.forEach((end) => {
          const y = drawn.valToPos(end, "y", true);
          ctx.moveTo(x - cap, y);
          ctx.lineTo(x + cap, y);
        });
        ctx.moveTo(x, drawn.valToPos(pair[0], "y", true));
        ctx.lineTo(x, drawn.valToPos(pair[1], "y", true));
      });
      ctx.stroke();
    });
    ctx.restore();
  };

  const steps = uPlot.paths.stepped({ align: 1 }), none = () => null;
  const options = {
    width: Math.max(260, place.clientWidth),
    height: 280,
    series: [{}, ...panel.series.map((line) => ({
      label: line.label,
      stroke: () => paint(line),
      dash: dashes[line.dash % dashes.length],
      width: line.joined ? 1.5 : 0,
      spanGaps: true,
      paths: line.joined ? (line.stepped ? steps : undefined) : none,
      points: { show: line.points, size: line.joined || panel.x.names ? 7 : 4, fill: () => paint(line) },
    }))],
    legend: { show: false },
    cursor: { dataIdx: nearest, drag: { x: true, y: true, uni: 20, setScale: false }, points: { show: true }, focus: { prox: 16 } },
    focus: { alpha: 1 },
    scales: {
      x: { time: false, distr: panel.x.log ? 3 : 1, range: () => span.x },
      y: { distr: panel.y.log ? 3 : 1, range: () => span.y },
    },
    axes: [axis(panel.x, 2), axis(panel.y, 3)],
    hooks: {
      setCursor: [readout],
      draw: [intervals],
      setSelect: [(drawn) => {
        const { left, top, width, height } = drawn.select;
        if (width > 3 || height > 3) {
          show(width > 3 ? [drawn.posToVal(left, "x"), drawn.posToVal(left + width, "x")] : span.x,
            height > 3 && height < drawn.over.clientHeight - 1 ? [drawn.posToVal(top + height, "y"), drawn.posToVal(top, "y")] : span.y);
        }
        drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
  plot = new uPlot(options, panel.columns, place);
  plot.over.addEventListener("dblclick", () => show(whole.x, whole.y));
  pinch(plot, () => ({ x: { range: span.x, log: panel.x.log }, y: { range: span.y, log: panel.y.log } }), show);
  const tools = document.createElement("div");
  tools.className = "panel-tools";
  for (const [words, act] of [["zoom in", () => zoom(0.5)], ["zoom out", () => zoom(2)], ["all", () => show(whole.x, whole.y)]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.setAttribute("aria-label", `${words}: ${panel.title || panel.y.label}`);
    button.addEventListener("click", act);
    tools.append(button);
  }
  place.append(box, tools);
  charts.push({ plot, figure: panel, place });
  const named = panel.series.map((line, number) => ({ line, number })).filter(({ line }) => line.label);
  // Points of single runs go with the line that follows them in the same colour.
  const companions = (number) => panel.series.map((line, other) => (
    !line.label && line.colour === panel.series[number].colour ? other : -1)).filter((other) => other >= 0);
  key(place, named.map(({ line, number }) => ({
    label: line.label, paint: () => paint(line), dash: line.dash,
    toggle: (on) => [number, ...companions(number)].forEach((one) => plot.setSeries(one + 1, { show: on })),
  })));
};
