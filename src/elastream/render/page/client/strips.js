"use strict";
// Four strips on one time axis with one cursor, and a lane of marks above them: one for each change of size.
page.strips = (() => {
  const GUTTER = 58, EDGE = 14, MARK = 11, MOST_MARKS = 120;
  const line = (measure, label, colour, more = {}) => ({measure, label, colour, ...more});
  const STRIPS = [
    {id: "rate", title: "Rate", unit: "records/s", spell: value => `${page.compact(value)}/s`, series: [
      line("committed", "committed", "--there", {area: true}), line("arrived", "arrived", "--line"),
      line("expected-high", "at most", "--forecast", {width: 0.5}), line("expected-low", "at least", "--forecast", {width: 0.5}),
      line("expected", "expected", "--forecast", {dash: [5, 4], width: 1.25})], band: ["expected-high", "expected-low"]},
    {id: "backlog", title: "Backlog", unit: "records", spell: page.compact, series: [
      line("backlog", "waiting", "--waiting", {area: true, fill: "--waiting-fill"})]},
    {id: "delay", title: "Delay", unit: "arrival to commit, p95", spell: page.seconds, limits: true, series: [
      line("batch", "batch time", "--soft", {dash: [2, 3], width: 1}),
      line("to-come", "at least, by what waits", "--late", {dash: [5, 4]}), line("delay", "p95", "--late")]},
    {id: "executors", title: "Executors", unit: "", spell: page.compact, high: 130, series: [
      line("running", "leaving", "--leaving", {area: true, step: true, shown: "leaving"}),
      line("ready", "ready", "--there", {area: true, step: true}),
      line("requested", "requested", "--soft", {step: true, dash: [3, 3], width: 1}),
      line("wanted", "wanted", "--line", {step: true})]},
  ];
  const SPANS = [["15 min", 900], ["hour", 3600], ["day", 86400], ["all", null]];
  let charts = [], drawn = "", range = {span: null, from: null, to: null}, pinned = null, moved = false;

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // What leaves stands on what is ready.
  const running = () => {
    const ready = page.store.column("ready"), leaving = page.store.column("leaving");
    return ready.map((value, i) => (value === null || leaving[i] === null ? null : value + leaving[i]));
  };

  const OF_QUERY = {rate: 0, backlog: 1, delay: 2};

  const apart = strip => (strip.id in OF_QUERY && page.store.queries.size > 1 ? [...page.store.queries.values()] : []);

  const data = strip => [page.store.columns[0], ...strip.series.map(one =>
    one.measure === "running" ? running() : page.store.column(one.measure)),
    ...apart(strip).map(query => query.columns[OF_QUERY[strip.id]])];

  const SHADES = {blind: "--blind", trouble: "--trouble", absent: "--absent", limited: "--cannot"};

  // Time in which something was wrong lies behind the lines.
  const shade = u => {
    const right = u.bbox.left + u.bbox.width;
    for (const [start, end, kind] of page.store.spans) {
      const from = Math.max(u.bbox.left, u.valToPos(start, "x", true)), to = Math.min(right, u.valToPos(end, "x", true));
      if (to < u.bbox.left || from > right) continue;
      u.ctx.fillStyle = colour(SHADES[kind]);
      u.ctx.fillRect(from, u.bbox.top, Math.max(2, to - from), u.bbox.height);
    }
  };

  const limits = strip => {
    if (!strip.limits || !page.store.now) return [];
    const found = new Map();
    for (const query of page.store.now.queries || []) {
      if (query.slo) found.set(query.slo.delay_s, `SLO ${page.seconds(query.slo.delay_s)}`);
      if (query.trigger_s && found.size < 4 && !found.has(query.trigger_s))
        found.set(query.trigger_s, `trigger ${page.seconds(query.trigger_s)}`);
    }
    return [...found].slice(0, 4);
  };

  const top = (strip, most) => {
    const lines = limits(strip).filter(([, text]) => text.startsWith("SLO")).map(([at]) => at * 1.2);
    return Math.max(most * 1.08, ...lines, strip.id === "executors" ? 2 : 0) || 1;
  };

  // Where the past ends and what is expected begins; null where that is not inside the strip.
  const nowOf = u => {
    const x = Math.round(u.valToPos(page.store.last, "x", true));
    return x > u.bbox.left && x < u.bbox.left + u.bbox.width - 1 ? x : null;
  };

  const drawNow = u => {
    const x = nowOf(u);
    if (!x) return;
    u.ctx.fillStyle = colour("--soft");
    u.ctx.fillRect(x, u.bbox.top, devicePixelRatio, u.bbox.height);
  };

  const drawLimits = strip => u => {
    const end = nowOf(u) || u.bbox.left + u.bbox.width;
    for (const [at, text] of limits(strip)) {
      const y = Math.round(u.valToPos(at, "y", true)), isPromise = text.startsWith("SLO"), context = u.ctx;
      if (y < u.bbox.top) continue;
      context.save();
      context.strokeStyle = context.fillStyle = colour(isPromise ? "--limit" : "--soft");
      context.lineWidth = devicePixelRatio;
      context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      context.beginPath();
      context.moveTo(u.bbox.left, y);
      context.lineTo(u.bbox.left + u.bbox.width, y);
      context.stroke();
      context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
      context.textAlign = "right";
      context.fillText(text, end - 4 * devicePixelRatio, y - 4 * devicePixelRatio);
      context.restore();
    }
  };

  const label = (seconds, step) =>
    step >= 86400 ? page.clock(seconds, true).slice(5, 10) : step >= 60 ? page.clock(seconds).replace(/:\d\d$/, "") : page.clock(seconds);

  const options = (strip, width, isLast) => ({
    width, height: (strip.high || 108) + (isLast ? 24 : 0), padding: [6, EDGE, isLast ? 0 : 4, 0],
    tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: {show: false},
    cursor: {
      sync: {key: "run"}, points: {size: 6},
      drag: {x: true, y: false, setScale: false},
      bind: {dblclick: () => () => { show(null); return null; }},
    },
    scales: {x: {time: true}, y: {range: (u, low, most) => [0, top(strip, most || 0)]}},
    axes: [
      {show: isLast, size: 24, stroke: colour("--soft"), grid: {show: true, stroke: colour("--grid"), width: 1}, ticks: {show: false},
       font: "11px system-ui, sans-serif", values: (u, splits, axis, space, step) => splits.map(at => label(at, step))},
      {size: GUTTER, stroke: colour("--soft"), grid: {stroke: colour("--grid"), width: 1}, ticks: {show: false}, space: 30,
       font: "11px system-ui, sans-serif", values: (u, splits) => splits.map(at =>
         strip.id === "delay" ? page.seconds(at) : strip.id === "executors" && at % 1 ? "" : page.compact(at))},
    ],
    series: [{}, ...strip.series.map(one => ({
      label: one.label, stroke: colour(one.colour), width: one.width || (one.area ? 1 : 1.75), dash: one.dash,
      fill: one.area ? colour(one.fill || one.colour) : undefined, points: {show: false}, spanGaps: false,
      paths: one.step ? uPlot.paths.stepped({align: 1}) : undefined,
    })), ...apart(strip).map((query, i) => ({label: query.name, stroke: colour(`--q${i}`), width: 1.1, points: {show: false}}))],
    // Between the two ends of what is expected.
    bands: strip.band ? [{series: strip.band.map(name => 1 + strip.series.findIndex(one => one.measure === name)), fill: colour("--forecast-fill")}] : [],
    hooks: {
      drawClear: [shade],
      draw: [drawNow, drawLimits(strip), u => { if (strip.band) { page.ahead.now(u); page.ahead.then(u); } }],
      setCursor: [u => {
        if (strip.band) page.ahead.then(u);
        if (isLast) read(u.cursor.idx);
      }],
      setSelect: [u => {
        if (u.select.width < 6) return;
        const from = u.posToVal(u.select.left, "x"), to = u.posToVal(u.select.left + u.select.width, "x");
        u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
        zoom(from, to);
      }],
    },
  });

  // The values at the cursor, or the last ones; and the decisions that are under it.
  const read = index => {
    const times = page.store.columns[0], at = index === null || index === undefined ? times.length - 1 : index;
    moved = index !== null && index !== undefined;
    page.write("cursor-time", moved && times[at] !== undefined ? page.clock(times[at], true) : "");
    for (const strip of STRIPS)
      for (const one of strip.series) {
        const value = page.store.column(one.shown || one.measure)[at];
        page.write(`at-${strip.id}-${one.measure}`, page.known(value, strip.spell));
      }
    const moment = times[at], wrong = moved ? page.store.spans.find(([start, end]) => start <= moment && moment < end) : null;
    page.write("wrong", wrong ? wrong[3] : "");
  };

  const key = one => {
    const line = page.make("i", {class: `key ${one.area ? "area" : one.dash ? "dash" : "line"}`});
    line.style.color = `var(${one.colour})`;
    return line;
  };

  const build = () => {
    for (const {u} of charts) u.destroy();
    drawn = [...page.store.queries.keys()].join();
    page.find("keys").replaceChildren(...apart(STRIPS[0]).map((query, i) =>
      page.make("span", {class: "entry"}, key({colour: `--q${i}`}), query.name)));
    const stack = page.find("stack");
    charts = STRIPS.map((strip, number) => {
      const place = page.find(`plot-${strip.id}`), isLast = number === STRIPS.length - 1;
      return {strip, u: new uPlot(options(strip, stack.clientWidth, isLast), data(strip), place)};
    });
    for (const canvas of stack.querySelectorAll("canvas")) canvas.setAttribute("aria-hidden", "true");
    apply();
  };

  const furnish = () => {
    const stack = page.find("stack");
    for (const strip of STRIPS)
      stack.append(page.make("figure", {class: "strip", "aria-labelledby": `name-${strip.id}`},
        page.make("figcaption", {},
          page.make("h3", {id: `name-${strip.id}`}, strip.title), strip.unit ? page.make("small", {}, strip.unit) : null,
          page.make("span", {class: "legend"}, ...strip.series.map(one =>
            page.make("span", {class: "entry"}, key(one), one.label, " ", page.make("b", {id: `at-${strip.id}-${one.measure}`}, "?"))))),
        page.make("div", {id: `plot-${strip.id}`, class: "plot"})));
    const buttons = page.find("ranges");
    for (const [name, span] of SPANS) {
      const button = page.make("button", {type: "button", "data-span": span === null ? "all" : span, "aria-pressed": "false"}, name);
      button.addEventListener("click", () => show(span));
      buttons.append(button);
    }
    for (const [text, name, step] of [["◀", "earlier", -0.5], ["▶", "later", 0.5]]) {
      const button = page.make("button", {type: "button", "aria-label": name, title: name}, text);
      button.addEventListener("click", () => pan(step));
      buttons.append(button);
    }
    stack.addEventListener("keydown", keys);
    new ResizeObserver(() => {
      for (const {u} of charts) if (u.width !== stack.clientWidth) u.setSize({width: stack.clientWidth, height: u.height});
      mark();
    }).observe(stack);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
  };

  const window_ = () => {
    if (range.from !== null) return [range.from, range.to];
    const last = page.store.last, first = range.span === null ? page.store.first : last - range.span;
    return [first, Math.max(last + page.ahead.room(last - first), first + 1)];
  };

  const apply = () => {
    if (!page.store.columns[0].length || !charts.length) return;
    const [min, max] = window_();
    for (const {strip, u} of charts) {
      u.setData(data(strip), false);
      u.setScale("x", {min, max});
    }
    for (const button of page.find("ranges").querySelectorAll("[data-span]"))
      button.setAttribute("aria-pressed", String(range.from === null && button.dataset.span === String(range.span === null ? "all" : range.span)));
    if (!moved) read(null);
    mark();
  };

  const show = span => { range = {span, from: null, to: null}; apply(); };

  const zoom = (from, to) => { range = {...range, from, to: Math.max(to, from + 5)}; apply(); };

  const pan = share => {
    const [from, to] = window_(), step = (to - from) * share;
    // Who comes to the end again follows what comes.
    if (to + step >= page.store.last && range.span !== null) show(range.span);
    else zoom(Math.max(from + step, page.store.first - (to - from) / 2), Math.max(from + step, page.store.first - (to - from) / 2) + (to - from));
  };

  const keys = event => {
    if (event.target !== page.find("stack") || !charts.length) return;
    const [from, to] = window_(), times = page.store.columns[0], u = charts[charts.length - 1].u;
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step && event.shiftKey) pan(step * 0.25);
    else if (step) {
      const at = u.cursor.idx === null || u.cursor.idx === undefined ? times.length : u.cursor.idx;
      const jump = Math.max(1, Math.round((to - from) / (times[times.length - 1] - times[0] || 1) * times.length / 200));
      const next = Math.min(times.length - 1, Math.max(0, at + step * jump));
      u.setCursor({left: u.valToPos(times[next], "x"), top: 20});
    } else if (event.key === "+") zoom(from + (to - from) / 4, to - (to - from) / 4);
    else if (event.key === "-") zoom(from - (to - from) / 2, to + (to - from) / 2);
    else if (event.key === "Home") show(null);
    else if (event.key === "Escape") u.setCursor({left: -10, top: -10});
    else return;
    event.preventDefault();
  };

  const GLYPH = {up: "M5.5 1L11 11H0Z", down: "M5.5 11L0 1H11Z", both: "M5.5 0L11 6L5.5 12L0 6Z"};

  // A mark for each change; those that would lie on each other share one.
  const mark = () => {
    const lane = page.find("lane");
    if (!charts.length || !page.store.columns[0].length) return;
    const [from, to] = window_(), groups = [], wide = page.find("stack").clientWidth - GUTTER - EDGE;
    for (const change of page.store.changes()) {
      if (change.utc_s < from || change.utc_s > to) continue;
      const x = GUTTER + wide * (change.utc_s - from) / (to - from), last = groups[groups.length - 1];
      if (last && x - last.x < MARK) last.lines.push(change);
      else groups.push({x, lines: [change]});
    }
    const shown = groups.slice(-MOST_MARKS), focused = document.activeElement && document.activeElement.dataset.line;
    lane.replaceChildren(...shown.map(group => {
      const ways = new Set(group.lines.map(page.direction)), way = ways.size === 1 ? [...ways][0] : "both";
      const told = group.lines.slice(0, 3).map(page.tell).concat(group.lines.length > 3 ? [`and ${group.lines.length - 3} more`] : []);
      const button = page.make("button", {type: "button", class: `mark ${way}`, "aria-label": told.join("\n"), "data-line": group.lines[0].id},
        page.make("svg", {viewBox: "0 0 11 12", "aria-hidden": "true"}, page.make("path", {d: GLYPH[way]})));
      button.style.left = `${group.x}px`;
      const open = () => card(told, group.x);
      button.addEventListener("mouseenter", open);
      button.addEventListener("focus", open);
      button.addEventListener("mouseleave", () => { if (!pinned) card(null); });
      button.addEventListener("blur", () => { pinned = null; card(null); });
      button.addEventListener("click", () => { pinned = group.lines[0].id; open(); });
      if (group.lines[0].id === focused) queueMicrotask(() => button.focus());
      return button;
    }));
  };

  const card = (told, x) => {
    const box = page.find("card");
    box.hidden = !told;
    if (!told) return;
    box.replaceChildren(...told.map(text => page.make("p", {}, text)));
    const room = page.find("stack").clientWidth;
    box.style.left = `${Math.max(0, Math.min(x - 20, room - box.offsetWidth))}px`;
  };

  return {
    start() { furnish(); build(); },
    update() {
      if (!charts.length) return;
      if (drawn === [...page.store.queries.keys()].join()) apply();
      else build();
    },
    show,
    get range() { return charts.length ? window_() : null; },
    get rate() { return charts.length ? charts[0].u : null; },
    get cursor() { return charts.map(({u}) => u.cursor.left); },
  };
})();
