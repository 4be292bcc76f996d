// The network over time: what is in use and what waits at the slider's time; without a time, means of the run.
(() => {
  const place = document.getElementById("network-data"), bar = document.querySelector(".network-time");
  if (!place || !bar) return;
  const data = JSON.parse(place.textContent), slider = bar.querySelector("input"), shown = bar.querySelector("output"), [play, mean] = bar.querySelectorAll("button");
  const whole = new Map(), last = data.times.length - 1;
  const each = (act) => document.querySelectorAll(".network [data-use], .network [data-queue]").forEach(act);
  each((part) => whole.set(part, ["width", "height", "y", "class"].map((name) => [name, part.getAttribute(name)])));
  const set = (at) => {
    each((part) => {
      const isQueue = part.dataset.queue !== undefined, way = data.ways[isQueue ? part.dataset.queue : part.dataset.use];
      if (!way) return;
      const share = (isQueue ? way.queue : way.use)[at] / 255, [width, height, y] = part.dataset.size.split(" ").map(Number);
      if (!isQueue) {
        part.setAttribute("width", width * share);
        part.setAttribute("class", `use ${share >= 0.95 ? "full" : share >= 0.5 ? "much" : "some"}`);
      } else if (part.closest(".upright")) part.setAttribute("width", width * share);
      else {
        part.setAttribute("height", height * share);
        part.setAttribute("y", y + height * (1 - share));
      }
      const isDown = way.down.some(([from, to]) => data.times[at] >= from && data.times[at] < to);
      part.classList.toggle("down", isDown);
    });
    const down = Object.values(data.ways).filter((way) => way.down.some(([from, to]) => data.times[at] >= from && data.times[at] < to)).map((way) => way.name);
    shown.textContent = `at ${Number(data.times[at].toPrecision(4))} s${down.length ? `, down: ${[...new Set(down)].join(", ")}` : ""}`;
  };
  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "play"; };
  const means = () => {
    stop();
    each((part) => whole.get(part).forEach(([name, value]) => part.setAttribute(name, value)));
    shown.textContent = "means of the run";
  };
  slider.max = last;
  slider.addEventListener("input", () => { stop(); set(Number(slider.value)); });
  mean.addEventListener("click", means);
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    play.textContent = "stop";
    if (Number(slider.value) >= last) slider.value = 0;
    timer = setInterval(() => {
      if (Number(slider.value) >= last) { stop(); return; }
      slider.value = Number(slider.value) + 1;
      set(Number(slider.value));
    }, 60);
  });
  means();
  bar.hidden = false;
})();
