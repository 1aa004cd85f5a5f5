"use strict";
// What might have been: chosen here, simulated by the server in a process of its own, and shown beside what happened.
page.whatIf = (() => {
  let asking = null, filled = false, plots = [], shown = null;

  const option = (value, text) => page.make("option", {value}, text);

  const span = seconds => (seconds < 3600 ? `${seconds / 60} minutes` : seconds === 3600 ? "hour" : `${seconds / 3600} hours`);

  const offer = found => {
    page.find("what-if").hidden = !found.offered;
    if (!found.offered) return;
    page.find("if-policy").append(option("", "the same"), ...found.policies.map(name => option(name, name === "fixed" ? "fixed at the most" : name)));
    page.find("if-span").append(...found.spans_s.map(seconds => option(String(seconds), span(seconds))));
    page.find("if-span").value = "3600";
  };

  // What is running now is what one changes a thing of.
  const fill = () => {
    const now = page.store.now;
    // What may be chosen is asked of the server, and may come later than the first moment.
    if (filled || !now || !now.pools || !now.pools.length || !page.find("if-policy").options.length) return;
    filled = true;
    page.find("if-low").value = Math.max(now.pools[0].min, 1);
    page.find("if-high").value = now.pools[0].max;
    if (now.promise) page.find("if-slo").value = now.promise.delay_s;
    if (page.store.run) page.find("if-policy").options[0].textContent = `the same (${page.store.run.policy})`;
  };

  const number = id => (page.find(id).value === "" ? null : Number(page.find(id).value));

  const order = () => ({
    policy: page.find("if-policy").value || null, low: number("if-low"), high: number("if-high"),
    slo_s: number("if-slo"), recent_s: Number(page.find("if-span").value),
  });

  const wait = is => {
    page.find("if-ask").disabled = is;
    page.find("if-cancel").hidden = page.find("if-progress").hidden = !is;
    if (is) page.find("if-progress").value = 0;
  };

  const two = (found, spell) => (found === null ? ["?"] : [spell(found.value),
    spell(found.low) === spell(found.high) ? null : `${spell(found.low)} to ${spell(found.high)}`]);

  const cell = (name, [value, interval]) => page.make("td", {"data-name": name}, value, interval && page.make("div", {class: "more"}, interval));

  const hours = value => page.three(value);

  const row = (name, said, more) => page.make("tr", {}, page.make("th", {scope: "row"}, name, more && page.make("div", {class: "more"}, more)),
    cell("executor-hours", two(said.executor_hours, hours)), cell("in SLO", two(said.records_within_slo, page.share)),
    cell("delay p95", two(said.delay_p95_s, page.seconds)), cell("changes", two(said.changes, value => String(Math.round(value)))));

  const sure = value => (value === null || value === undefined ? null : {value, low: value, high: value});

  const changes = (option, found) => {
    const told = [], was = found.recorded;
    if (option.executors.min !== was.executors.min || option.executors.max !== was.executors.max) told.push(`${option.executors.min}..${option.executors.max} executors`);
    if (option.slo && (!was.slo || option.slo.delay_s !== was.slo.delay_s)) told.push(`SLO ${page.seconds(option.slo.delay_s)}`);
    return told.join(", ") || null;
  };

  const table = found => {
    const was = found.happened, [option] = found.options;
    const heads = ["Executor-hours", "Records in SLO", "Delay p95", "Changes"].map(name => page.make("th", {scope: "col"}, name));
    return page.make("table", {class: "compared"}, page.make("thead", {}, page.make("tr", {}, page.make("td"), ...heads)), page.make("tbody", {},
      row("What happened", {executor_hours: sure(was.executor_hours), records_within_slo: sure(was.within), delay_p95_s: sure(was.delay_p95_s), changes: sure(was.changes)}),
      row(`${found.simulated.policy}, simulated`, found.simulated, "how far off the simulator is"),
      row(option.policy, option, changes(option, found))));
  };

  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const chart = (name, measure, curves, spell, limit) => {
    const body = page.make("div", {class: "plot"});
    const data = [curves.at, curves.happened[measure], curves.simulated[measure]];
    const most = Math.max(...data.slice(1).flat().filter(value => value !== null), limit || 0, 1e-9);
    const series = [
      {label: "happened", stroke: ink("--soft"), width: 1.5, points: {show: false}},
      {label: "what if", stroke: ink("--line"), width: 2, points: {show: false}},
    ];
    const keys = series.map((one, i) => {
      const key = page.make("span", {class: "key"});
      key.style.color = one.stroke;
      return page.make("span", {class: "entry"}, key, i ? "what if, simulated" : "what happened");
    });
    if (limit) {
      data.push(curves.at.map(() => limit));
      series.push({label: "SLO", stroke: ink("--limit"), width: 1, dash: [5, 4], points: {show: false}});
    }
    const figure = page.make("figure", {class: "strip", role: "img", "aria-label": `${name}: what happened beside what if`},
      page.make("figcaption", {}, page.make("h3", {}, name), page.make("span", {class: "legend"}, ...keys)), body);
    const axis = {stroke: ink("--soft"), grid: {stroke: ink("--grid"), width: 1}, ticks: {show: false}, font: "11.5px system-ui, sans-serif"};
    return {figure, draw: () => new uPlot({
      width: Math.max(body.clientWidth, 200), height: 130, legend: {show: false}, cursor: {show: false}, padding: [6, 24, 0, 0],
      scales: {x: {time: false}, y: {range: () => [0, most * 1.08]}},
      series: [{}, ...series.map(one => (measure === "ready" && one.label !== "SLO" ? {...one, paths: uPlot.paths.stepped({align: 1})} : one))],
      axes: [{...axis, size: 26, space: 90, values: (plot, ticks) => ticks.map(at => page.clock(at).slice(0, -3))},
        {...axis, size: 58, space: 36, values: (plot, ticks) => ticks.map(value => spell(value))}],
    }, data, body), body};
  };

  const show = found => {
    shown = found;
    for (const plot of plots) plot.destroy();
    const answer = page.find("if-answer"), slo = found.options[0].slo;
    const charts = [chart("Executors", "ready", found.curves, String), chart("Delay p95", "delay", found.curves, page.seconds, slo ? slo.delay_s : null),
      chart("Backlog", "backlog", found.curves, page.compact)];
    answer.replaceChildren(page.make("p", {class: "answer"}, found.advice.join(" ")), table(found), ...charts.map(one => one.figure),
      page.make("p", {class: "hint"}, found.error.sentence), ...found.notes.map(text => page.make("p", {class: "hint"}, text)));
    answer.hidden = false;
    plots = charts.map(one => one.draw());
  };

  const take = line => {
    if (line.answer) {
      page.write("if-status", "");
      show(line.answer);
    } else if (line.refused) page.write("if-status", line.refused);
    else {
      page.find("if-progress").value = line.done;
      page.write("if-status", `${line.doing} …`);
    }
  };

  const read = async response => {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const {value, done} = await reader.read();
      const lines = (rest + (value || "")).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) take(JSON.parse(line));
      if (done) return;
    }
  };

  const ask = async event => {
    event.preventDefault();
    if (asking) return;
    asking = new AbortController();
    wait(true);
    page.write("if-status", "asking …");
    try {
      const response = await fetch("what-if", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(order()), signal: asking.signal});
      if (response.ok) await read(response);
      else page.write("if-status", (await response.text()).trim());
    } catch (wrong) {
      page.write("if-status", asking.signal.aborted ? "cancelled" : "the server does not answer");
    } finally {
      asking = null;
      wait(false);
    }
  };

  const resize = () => {
    for (const plot of plots) plot.setSize({width: Math.max(plot.root.parentElement.clientWidth, 200), height: 130});
  };

  const start = async () => {
    page.find("if-form").addEventListener("submit", ask);
    page.find("if-cancel").addEventListener("click", () => asking && asking.abort());
    page.find("if-form").addEventListener("focusin", fill);
    window.addEventListener("resize", resize);
    // Ink on a canvas does not follow by itself.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown && show(shown));
    const response = await fetch("what-if").catch(() => null);
    if (!response || !response.ok) return;
    offer(await response.json());
    const filling = setInterval(() => { fill(); if (filled) clearInterval(filling); }, 500);
  };

  return {start};
})();
