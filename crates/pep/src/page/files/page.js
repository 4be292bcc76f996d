"use strict";
// The page: asks for what there is every two seconds, and draws it. Text comes in as text, never as HTML.
(() => {
  const { shown, digits, style, axis, key, keyboard, painted, colour } = window.longhaulFigures;
  const at = (id) => document.getElementById(id);
  const made = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  // --- the token: from the address, which keeps it no longer than needed
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  const call = async (path, body) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem("token") || ""}` };
    const options = { headers, cache: "no-store", credentials: "omit" };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    }
    let answer;
    try {
      answer = await fetch(path, options);
    } catch {
      throw Object.assign(new Error("The page gives no answer: is the daemon running?"), { status: 0 });
    }
    const value = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(value.error || answer.statusText), { status: answer.status });
    return value;
  };
  const lock = (why) => {
    at("open").hidden = true;
    at("locked").hidden = false;
    at("locked-why").textContent = why;
    at("state").textContent = "The token is missing or wrong.";
    at("token").focus();
  };
  at("locked").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", at("token").value.trim().replace(/^.*#/, ""));
    at("token").value = "";
    look();
  });

  // --- words
  const rate = (value) => shown(value, "bit/s", 3), bytes = (value) => shown(value, "B", 3);
  const clock = (seconds, whole) => new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(whole ? { second: "2-digit" } : {}) });
  const lasted = (seconds) => {
    if (seconds < 60) return `${digits(seconds, 2)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
    return seconds < 172800 ? `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min` : `${Math.floor(seconds / 86400)} days`;
  };
  const cards = (id, entries) => at(id).replaceChildren(...entries.filter(Boolean).map(([name, value]) => {
    const card = made("div");
    card.append(made("dt", name), made("dd", value));
    return card;
  }));
  // With `stacked`, a row is a list of its values on a narrow screen, each behind its head.
  const table = (id, heads, rows, none, stacked) => {
    if (!rows.length) {
      at(id).replaceChildren(made("p", none, "soft"));
      return;
    }
    const element = made("table"), head = element.createTHead().insertRow(), body = element.createTBody();
    const isText = (value) => typeof value === "string" && /[a-z]{4}/.test(value);
    const kinds = heads.map((_, place) => (rows.some((row) => isText(row[place])) ? "words" : ""));
    if (stacked) element.className = "stacked";
    heads.forEach((name, place) => head.append(Object.assign(made("th", name, kinds[place]), { scope: "col" })));
    rows.forEach((row) => {
      const line = body.insertRow();
      row.forEach((value, place) => {
        const cell = made("td", value, kinds[place]);
        cell.dataset.head = heads[place];
        line.append(cell);
      });
    });
    at(id).replaceChildren(element);
  };

  // --- figures: the last ten minutes by the second, or the last day by the minute
  const samples = { seconds: [], minutes: [] };
  const most = { seconds: 600, minutes: 1440 }, length = { seconds: 600, minutes: 86400 };
  let span = "seconds", newest = 0, hasTunnel = false;
  const figures = [
    { id: "plot-rate", title: "Rate", unit: "bit/s", lines: [["down", 1, 0], ["up", 2, 1], ["tunnel down", 3, 0, 2], ["tunnel up", 4, 1, 2]] },
    { id: "plot-loss", title: "Loss", unit: "share", lines: [["loss", 5, 1]] },
    { id: "plot-rtt", title: "Round trip", unit: "s", lines: [["round trip", 6, 2]] },
  ];
  const dash = [undefined, [7, 3], [2, 3]];
  const columns = (figure) => {
    const rows = samples[span];
    return [rows.map((row) => row[0]), ...figure.lines.map(([, place]) => rows.map((row) => (place === 6 && row[6] !== null ? row[6] / 1000 : row[place])))];
  };
  const range = () => {
    const end = samples[span].length ? samples[span].at(-1)[0] : Date.now() / 1000;
    return [end - length[span], end];
  };
  const read = (figure) => {
    const { plot, box } = figure, place = plot.cursor.idx;
    if (place === null || place === undefined || plot.cursor.left < 0 || !plot.data[0].length) {
      box.textContent = "";
      return;
    }
    const parts = figure.lines.map(([name], number) => (plot.series[number + 1].show === false ? null : `${name} ${shown(plot.data[number + 1][place], figure.unit, 3)}`));
    box.textContent = [clock(plot.data[0][place], true), ...parts.filter(Boolean)].join("  ·  ");
  };
  const draw = (figure) => {
    const place = at(figure.id);
    if (figure.plot) {
      figure.plot.setData(columns(figure));
      return;
    }
    if (!hasTunnel) figure.lines = figure.lines.filter(([label]) => !label.startsWith("tunnel"));
    figure.box = made("div", "", "readout");
    figure.box.setAttribute("aria-live", "polite");
    const options = {
      width: Math.max(240, place.clientWidth),
      height: 200,
      series: [{}, ...figure.lines.map(([label, , number, dashed]) => ({
        label, stroke: () => colour(number), dash: dash[dashed || 0], width: 1.5, points: { show: false }, spanGaps: false,
      }))],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, sync: { key: "page", setSeries: false } },
      scales: { x: { time: false, range }, y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [{ ...axis("x", "s", undefined, (tick) => clock(tick)), space: 60, incrs: [60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600] }, { ...axis("y", figure.unit, ""), size: 72 }],
      hooks: { setCursor: [() => read(figure)] },
    };
    figure.plot = new uPlot(options, columns(figure), place);
    keyboard(figure.plot, { name: figure.title, zoom: () => {}, reset: () => {} });
    place.append(figure.box);
    key(place, figure.lines.map(([label, , number, dashed], index) => ({
      label, dash: dashed, paint: () => colour(number), toggle: figure.lines.length > 1 ? (on) => figure.plot.setSeries(index + 1, { show: on }) : undefined,
    })));
  };
  document.querySelectorAll("[data-span]").forEach((button) => button.addEventListener("click", () => {
    span = button.dataset.span;
    document.querySelectorAll("[data-span]").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
    figures.forEach(draw);
  }));
  new ResizeObserver(() => requestAnimationFrame(() => figures.forEach(({ id, plot }) => {
    const width = Math.max(240, at(id).clientWidth);
    if (plot && width !== plot.width) plot.setSize({ width, height: 200 });
  }))).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    figures.forEach(({ plot }) => plot && plot.redraw(false));
    painted.forEach((paint) => paint());
  });

  // --- what there is
  const roles = { split: "one node", terminal: "terminal", hub: "hub" };
  const show = (now) => {
    const { status } = now, tunnel = status.tunnel, peers = tunnel ? tunnel.peers : [];
    hasTunnel = Boolean(tunnel);
    for (const name of ["seconds", "minutes"]) {
      samples[name].push(...now.history[name]);
      samples[name].splice(0, samples[name].length - most[name]);
    }
    newest = Math.max(newest, ...samples.seconds.slice(-1).map((row) => row[0]), ...samples.minutes.slice(-1).map((row) => row[0]));
    const last = samples.seconds.at(-1) || [0, 0, 0, 0, 0, null, null, 0];
    const isHub = status.mode === "hub", works = isHub || !status.passing;
    const line = at("state");
    line.textContent = `${roles[status.mode] || status.mode}: ${isHub ? `${peers.length} ${peers.length === 1 ? "terminal" : "terminals"}` : `new connections ${status.new_connections}`}`;
    line.className = works ? "good" : status.bypass ? "poor" : "bad";
    const causes = [...status.reasons, ...(status.causes || [])];
    at("reasons").replaceChildren(...causes.map((why) => made("li", why)));
    at("reasons").hidden = !causes.length;
    const bypass = at("bypass");
    bypass.closest(".switch").hidden = isHub;
    if (!bypass.disabled) bypass.setAttribute("aria-checked", String(status.bypass));
    const queued = peers.reduce((sum, peer) => sum + peer.queued, 0);
    cards("cards", [
      tunnel && ["Tunnel", isHub ? `${peers.length} up` : !peers.length ? "down" : status.silent ? "no answer" : "up"],
      tunnel && tunnel.hub && ["Hub", tunnel.hub],
      ["Down", rate(last[1])],
      ["Up", rate(last[2])],
      tunnel && ["Loss", shown(last[5], "share", 2)],
      tunnel && ["Round trip", last[6] === null ? "–" : shown(last[6] / 1000, "s", 3)],
      ["Connections", digits(status.flows, 6)],
      tunnel && ["Waiting to be sent", bytes(queued)],
      ["Running for", lasted(status.seconds)],
    ]);
    figures.forEach((figure) => {
      at(figure.id).closest("figure").hidden = !tunnel && figure.id !== "plot-rate";
      if (tunnel || figure.id === "plot-rate") draw(figure);
    });
    showSaved(now);
    table("hosts", ["host", "open", "ended", "down", "up"], now.hosts.map((host) => [host.address || "all others",
      digits(host.open, 6), digits(host.ended, 6), bytes(host.down), bytes(host.up)]), "No connection has come yet.");
    const { volume } = now;
    cards("volume", [
      [`Received since ${clock(volume.since)}`, bytes(volume.down)], [`Sent since ${clock(volume.since)}`, bytes(volume.up)],
    ]);
    showClasses(status.classes || [], status.terminals || []);
    table("outages", ["from", "lasted", "why"], now.outages.toReversed().map((outage) => [clock(outage.since, true),
      `${lasted(outage.seconds)}${outage.over ? "" : " so far"}`, outage.why]), "None.");
  };
  const showSaved = ({ saved, status, link_rtt_ms: rtt }) => {
    // How long these took is the operator's doing.
    const left = saved.bounded && ["Not compared", digits(saved.bounded, 6)];
    const out = left ? " Not compared are downloads that a ceiling of a class or a used-up quota slows down." : "";
    if (!saved.transfers) {
      cards("saved", [left]);
      at("saved-note").textContent = status.mode === "hub" ? "Time is measured at the terminals." : `No download ${left ? "to compare " : ""}has ended yet.${out}`;
      return;
    }
    cards("saved", [
      ["Downloads", digits(saved.transfers, 6)], ["Their bytes", bytes(saved.bytes)],
      ["With the accelerator", lasted(saved.with_seconds)], ["Without, at least", lasted(saved.without_seconds)],
      ["Saved, at least", lasted(Math.max(0, saved.without_seconds - saved.with_seconds))],
      left,
    ]);
    at("saved-note").textContent = `Sums over all downloads since the start: connections that ended complete and brought more than they took. "With" is measured, from `
      + "the client's acceptance to its last byte; of a pause at most 3 s count. \"Without\" is computed: what one connection without any loss takes at least, "
      + `with two round trips${rtt ? ` of ${shown(rtt / 1000, "s", 3)}` : ""} before the first byte and slow start from ten segments (RFC 6928). `
      + `Downloads side by side are added, so the sum may be longer than the time that passed.${out}`;
  };
  // A class's quota is that of each address, a terminal's its own; of a day or of a month.
  const showClasses = (classes, terminals) => {
    const quota = (one, each) => (one.quota_bytes ? `${bytes(one.quota_bytes)}${one.period ? ` a ${one.period}` : ""}${each}` : "none");
    const row = (one, each) => [one.over_tcp ? `${one.name} (over TCP, where it does not hold)` : one.name, rate(one.rate_bps), bytes(one.bytes_today), bytes(one.bytes_month), quota(one, each),
      one.over ? ["over", ...(one.over_hosts || [])].join(" ") : ""];
    const rows = [...classes.map((one) => row(one, " for each address")), ...terminals.map((one) => row(one, ""))];
    at("classes").hidden = !rows.length;
    if (rows.length) table("classes", ["class or terminal", "rate", "today", "this month", "quota", "beyond it"], rows, "", true);
    const uses = classes.flatMap((one) => (one.hosts || []).map((host) => [host.address, one.name, bytes(host.bytes),
      `${digits(100 * host.bytes / one.quota_bytes, 3)} % of ${quota(one, "")}`, host.over ? "over" : ""]));
    at("quotas").hidden = !uses.length;
    if (uses.length) table("quotas", ["address", "class", "used", "of its quota", "beyond it"], uses, "", true);
  };

  // What the switch has done is in the state above, which goes on changing: its own message goes away.
  let passing = 0;
  at("bypass").addEventListener("click", async () => {
    clearTimeout(passing);
    const button = at("bypass"), on = button.getAttribute("aria-checked") !== "true", note = at("bypass-done");
    button.disabled = true;
    try {
      note.textContent = (await call("/api/bypass", { on })).done;
      button.setAttribute("aria-checked", String(on));
    } catch (why) {
      note.textContent = why.message;
    }
    passing = setTimeout(() => { note.textContent = ""; }, 15000);
    button.disabled = false;
    button.focus();
  });

  // Findings are looked for again when the state changes that they depend on, and each minute while someone looks at the page; not
  // sooner than `rest` after the last look, for a look takes commands and packets to the hub.
  const minute = 60000, rest = 5000;
  let looking = false, examined = { at: -minute, state: "" };
  const stateOf = ({ reasons, causes, repaired, tunnel }) => JSON.stringify([reasons, causes, repaired, tunnel && tunnel.hub]);
  const follow = (status) => {
    const state = stateOf(status), age = performance.now() - examined.at;
    if (looking || document.hidden || age < (state === examined.state ? minute : rest)) return;
    examined.state = state;
    examine();
  };
  const put = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };
  const examine = async () => {
    looking = true;
    try {
      const looked = await call("/api/doctor"), found = looked.findings, order = ["bad", "poor", "good"];
      found.sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
      at("findings").replaceChildren(...found.map((one) => {
        const item = made("li", undefined, one.verdict);
        item.append(made("b", `${one.what}: ${one.verdict}`, one.verdict), one.text);
        return item;
      }));
      const faults = found.filter(({ verdict }) => verdict !== "good").length;
      put("examined", `${found.length} looked at, ${faults ? `${faults} to mend` : "all good"}`);
      at("examined-at").textContent = `at ${clock(looked.at, true)}`;
    } catch (why) {
      put("examined", why.message);
      at("examined-at").textContent = "";
    }
    examined.at = performance.now();
    looking = false;
  };
  at("examine").addEventListener("click", async () => {
    at("examine").disabled = true;
    at("examined").textContent = "looking …";
    at("examined-at").textContent = "";
    await examine();
    at("examine").disabled = false;
  });

  // --- again and again, while someone looks
  let timer = 0;
  const look = async () => {
    clearTimeout(timer);
    try {
      const now = await call(`/api/now?since=${newest}`);
      at("locked").hidden = true;
      if (now.setup) window.longhaulSetup();
      at("open").hidden = Boolean(now.absent);
      if (now.absent) {
        at("state").textContent = now.absent;
        at("state").className = "plain";
      } else {
        show(now);
        follow(now.status);
      }
    } catch (why) {
      if (why.status === 401) {
        lock(sessionStorage.getItem("token") ? why.message : "");
        return;
      }
      at("state").textContent = why.message;
      at("state").className = "bad";
    }
    timer = setTimeout(look, document.hidden ? 30000 : 2000);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden && at("locked").hidden) look(); });
  window.longhaulPage = { call, figures };
  look();
})();
