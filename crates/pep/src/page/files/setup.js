"use strict";
// The set-up of this machine in nine steps, as `longhaul-pep setup` serves it. Nothing is written before the step that shows the file.
(() => {
  const { call } = window.longhaulPage, at = (id) => document.getElementById(id);
  const { shown } = window.longhaulFigures;
  const section = at("setup"), form = at("setup-form");
  const note = (step, text, isBad) => {
    const place = at(`done-${step}`);
    place.textContent = text;
    place.className = isBad ? "bad" : "good";
  };
  const attempt = async (step, button, act) => {
    button.disabled = true;
    note(step, "working …");
    try {
      note(step, (await act()) || "done");
    } catch (why) {
      note(step, why.message, true);
    }
    button.disabled = false;
  };
  const words = (name) => form.elements[name].value.trim();
  const networks = (name) => words(name).split(/[\s,]+/).filter(Boolean);
  const mode = () => form.elements.mode.value;
  const answers = () => ({
    mode: mode(), hub: words("hub"), hub_key: words("hub_key"), port: Number(words("port")) || 7714, terminal: words("terminal"),
    terminal_key: words("terminal_key"), sources: networks("sources"), private: networks("private"), down: words("down"), up: words("up"),
    interfaces: [...form.querySelectorAll("[name=interfaces]:checked")].map((one) => one.value), socks: form.elements.socks.checked,
  });
  const roles = () => form.querySelectorAll("[data-for]").forEach((part) => { part.hidden = !part.dataset.for.split(" ").includes(mode()); });
  // What an operator has answered before, as the file has it.
  const fill = (given) => {
    for (const name of ["mode", "hub", "hub_key", "port", "terminal", "terminal_key", "down", "up"]) {
      if (given[name]) form.elements[name].value = given[name];
    }
    for (const name of ["sources", "private"]) form.elements[name].value = given[name].join(", ");
    form.querySelectorAll("[name=interfaces]").forEach((one) => { one.checked = given.interfaces.includes(one.value); });
    if (given.mode !== "hub") form.elements.socks.checked = given.socks;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => { roles(); at("file").textContent = ""; at("write").disabled = true; });

  const choice = (name, type, value, label) => {
    const line = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { name, type, value });
    line.append(input, ` ${label}`);
    line.className = "choice";
    return line;
  };
  const find = async () => {
    const found = await call("/api/setup/found", {});
    at("setup-file").textContent = found.file;
    at("setup-key").textContent = found.key || "there is none yet";
    at("interfaces").replaceChildren(...found.interfaces.map((one) => choice("interfaces", "checkbox", one.name,
      `${one.name}: ${one.addresses.join(", ")}${one.name === found.outward ? " (the way out, so hardly the clients')" : ""}`)));
    if (!found.interfaces.length) at("interfaces").textContent = "no interface has an address";
    at("firewall").replaceChildren(...found.all_firewalls.map((name) => {
      const option = document.createElement("option");
      option.value = name;
      option.textContent = found.firewalls.includes(name) ? `${name} (found on this machine)` : name;
      option.selected = name === found.firewalls[0];
      return option;
    }));
    at("firewall-found").textContent = found.firewalls.length ? `Found here: ${found.firewalls.join(", ")}.` : "None of ufw, firewalld and fw4 is found here: nothing is to be done, unless you have a file of nftables that drops.";
    at("missing").textContent = found.missing.length ? `Missing: ${found.missing.join(", ")} (apt install iproute2 nftables)` : "";
    at("routes").hidden = found.routes;
    at("exists").hidden = !found.exists;
    if (found.answers) fill(found.answers);
    at("more").hidden = !found.more;
    roles();
  };

  const on = (id, step, act) => at(id).addEventListener("click", () => attempt(step, at(id), act));
  on("make-key", "key", async () => {
    const { key, file } = await call("/api/setup/key", {});
    at("setup-key").textContent = key;
    return `The secret key is in ${file}. Take the public key to the other node.`;
  });
  on("show-recipe", "firewall", async () => {
    at("recipe").textContent = (await call("/api/setup/recipe", { answers: answers(), firewall: at("firewall").value })).recipe;
    return "Run these commands as root.";
  });
  on("draft", "file", async () => {
    at("write").disabled = true;
    at("file").textContent = "";
    const { text, file, exists } = await call("/api/setup/draft", answers());
    at("file").textContent = text;
    at("exists").hidden = !exists;
    at("write").disabled = false;
    return `The check has passed. This would be ${file}.`;
  });
  on("write", "file", async () => {
    const { done } = await call("/api/setup/write", { answers: answers(), overwrite: form.elements.overwrite.checked });
    at("exists").hidden = false;
    form.elements.overwrite.checked = false;
    return done;
  });
  on("route", "start", async () => {
    const { done } = await call("/api/setup/route", {});
    at("routes").hidden = true;
    return done;
  });
  on("start", "start", async () => (await call("/api/setup/start", {})).done);
  on("bench", "rates", async () => {
    const measured = await call("/api/setup/bench", {}), whole = (value) => `${(value / 1e6).toPrecision(3)} Mbit/s`;
    form.elements.down.value = whole(measured.down.link_bps);
    form.elements.up.value = whole(measured.up.link_bps);
    at("write").disabled = true;
    return `Measured: round trip ${shown(measured.rtt_ms / 1000, "s", 3)}, down ${whole(measured.down.link_bps)}, up ${whole(measured.up.link_bps)}. They are filled in${measured.down.rising || measured.up.rising ? ", but the rate still rose: measure again" : "; write the file again, and start again"}.`;
  });
  on("trial", "trial", async () => {
    const { with: fast, without } = await call("/api/setup/trial", { url: words("url") });
    const one = (of) => (of.error ? `failed (${of.error})` : `${shown(of.seconds, "s", 3)} for ${shown(of.bytes, "B", 3)} (${of.status})`);
    return `With the accelerator ${one(fast)}, without ${one(without)}.`;
  });

  // The page calls this once it has seen that the set-up is served here.
  window.longhaulSetup = () => {
    if (!section.hidden) return;
    section.hidden = false;
    find().catch((why) => { at("missing").textContent = why.message; });
  };
})();
