"use strict";
// Puts what was told in its place. Told by a stream of the server, or, in a file, by what stands in the page.
page.main = (() => {
  const STATE = {
    starting: "starting", blind: "cannot see", degraded: "degraded", paused: "paused", "dry run": "dry run",
    limited: "limited", scaling: "scaling", watching: "watching",
  };
  let ended = false, heard = 0;

  const heading = run => {
    const title = run.title || `${run.application || run.platform} under ${run.policy}`;
    page.write("title", title);
    document.title = title;
    page.find("notes").replaceChildren(...run.notes.map(note => page.make("li", {}, note)));
    page.find("notes").hidden = !run.notes.length;
  };

  const sum = ({facts, tiles}) => {
    page.find("facts").replaceChildren(...Object.entries(facts).map(([name, value]) =>
      page.make("div", {}, page.make("dt", {}, name), page.make("dd", {}, value))));
    page.find("summary").replaceChildren(...tiles.map(([name, number, more, state]) => page.make("div", {class: "tile"},
      page.make("dt", {}, name), page.make("dd", {class: `sum ${state}`}, number), page.make("dd", {class: "more"}, more))));
  };

  const badge = (text, state) => {
    page.write("state", text);
    page.find("state").className = `state ${state.replace(" ", "-")}`;
  };

  const total = (now, key) => (now.pools ? now.pools.reduce((sum, pool) => sum + pool[key], 0) : null);

  const promise = now => {
    const found = now.promise, bound = found ? found.delay_s : null, delay = page.store.latest("delay"), age = now.age;
    const worst = delay === null ? age : delay;
    page.write("now-delay", delay === null ? page.known(age, value => `≥ ${page.seconds(value)}`) : page.seconds(delay));
    page.find("now-delay").className = `number ${now.within === false ? "bad" : now.within ? "good" : ""}`;
    page.write("now-slo", bound === null ? "nothing is promised" : `p95; promised: ${page.share(found.share)} within ${page.seconds(bound)}`);
    page.write("now-kept", found && found.kept !== null ? page.share(found.kept) : "?");
    page.find("now-kept").className = `number ${found ? (found.holds === false ? "bad" : "good") : ""}`;
    page.write("now-records", found ? `of ${page.compact(found.records)} records in time` : "of records in time");
    page.find("tile-kept").hidden = !found;
    const gauge = page.find("gauge");
    gauge.hidden = bound === null || worst === null;
    if (!gauge.hidden) {
      gauge.max = bound;
      gauge.value = Math.min(worst, bound);
      gauge.textContent = `${page.seconds(worst)} of ${page.seconds(bound)}`;
      gauge.className = worst > bound ? "bad" : worst > bound / 2 ? "near" : "good";
    }
  };

  const show = now => {
    const limited = now.state === "limited" && now.limits.length;
    badge(ended && !page.isFile ? "ended" : limited ? "limited: executors cannot help" : STATE[now.state] || now.state, now.state);
    const wanted = total(now, "wanted"), ready = total(now, "ready");
    page.write("now-ready", page.known(ready, String));
    page.write("now-wanted", page.known(wanted, String));
    page.write("now-requested", page.known(total(now, "requested"), String));
    page.write("now-leaving", page.known(total(now, "leaving"), String));
    page.write("now-bounds", now.pools ? now.pools.map(pool => `${pool.min}..${pool.max}${now.room !== null ? `, room for ${now.room}` : ""}`).join("; ") : "");
    page.write("now-backlog", page.known(page.store.latest("backlog"), page.compact));
    const rate = page.store.latest("arrived"), waiting = page.store.latest("backlog");
    page.write("now-behind", waiting !== null && rate ? `records; ${page.seconds(waiting / rate)} of what arrives` : "records");
    page.write("now-rate", page.known(rate, value => `${page.compact(value)}/s`));
    page.write("now-done", `arrive; ${page.known(page.store.latest("committed"), value => `${page.compact(value)}/s`)} committed`);
    promise(now);
    page.write("why", now.why);
    const decided = now.state === "paused" || now.state === "dry run" ? "Would be decided" : "Decided";
    page.write("why-kind", now.kind === "hold" ? "Held, for something is unknown" : now.kind === "set" ? decided : now.kind ? "Kept" : "");
    page.find("limits").replaceChildren(...now.limits.map(text => page.make("li", {}, text)));
    page.find("troubles").replaceChildren(...now.troubles.map(text => page.make("li", {}, text)));
    page.find("limits").hidden = !now.limits.length;
    page.find("troubles").hidden = !now.troubles.length;
    page.queries.update(now);
    if (page.control) page.control.update(now);
    age();
  };

  const age = () => {
    if (page.isFile || !page.store.now) return;
    const passed = (Date.now() - heard) / 1000;
    page.write("age", page.isVirtual(page.store.now.at) ? page.clock(page.store.now.at) : passed < 2 ? "just now" : `${page.duration(passed)} ago`);
  };

  const take = {
    run(run) { page.store.begin(run); heading(run); },
    ticks(rows) { page.store.append(rows); heard = Date.now(); },
    spans(spans) { page.store.spans = spans; },
    summary: sum,
    lines(lines) { page.store.tell(lines); page.decisions.update(lines); },
    now(now) { page.store.now = now; show(now); page.strips.update(); },
  };

  const listen = () => {
    page.whatIf.start();
    const stream = new EventSource("stream");
    for (const kind of Object.keys(take)) stream.addEventListener(kind, event => take[kind](JSON.parse(event.data)));
    stream.addEventListener("open", () => page.write("connection", ""));
    stream.addEventListener("error", () => page.write("connection", stream.readyState === 2 ? "The server is gone." : "The connection is lost; trying again."));
    stream.addEventListener("over", () => {
      ended = true;
      stream.close();
      page.write("connection", "The run has ended; the page stays as it is.");
      if (page.store.now) show(page.store.now);
    });
    setInterval(age, 1000);
  };

  const open = () => {
    page.strips.start();
    const held = page.find("run-data");
    page.isFile = held !== null;
    if (!page.isFile) return page.control.start(listen);
    for (const [kind, data] of JSON.parse(held.textContent)) take[kind](data);
    if (!page.store.now) page.write("state", "nothing was recorded");
  };

  open();
  return {take};
})();
