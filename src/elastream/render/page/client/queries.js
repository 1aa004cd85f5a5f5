"use strict";
// What runs: operators with what they do, what waits in which partition, and what a number of executors has done so far.
page.queries = (() => {
  const WIDE = 168, HIGH = 62, GAP = 34, ROW = 12;

  const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  // Operators in columns by their level; the busiest is marked, for it is what more executors would help first.
  const graph = query => {
    const levels = [], places = new Map();
    for (const one of query.operators) (levels[one.level] = levels[one.level] || []).push(one);
    const most = Math.max(...query.operators.map(one => one.busy || 0));
    levels.forEach((column, level) => column.forEach((one, row) =>
      places.set(one.name, {x: level * (WIDE + GAP), y: row * (HIGH + ROW)})));
    const width = levels.length * (WIDE + GAP) - GAP, height = Math.max(1, ...levels.map(column => column.length)) * (HIGH + ROW) - ROW;
    const boxes = query.operators.map(one => {
      const {x, y} = places.get(one.name), isBusiest = most > 0 && one.busy === most && query.operators.length > 1;
      const rates = `${page.known(one.in, value => `${page.compact(value)}/s`)} in`;
      const work = `${page.known(one.busy, value => `${page.three(value)} slots busy`)}${one.tasks ? `, ${one.tasks} tasks` : ""}`;
      return page.make("g", {class: isBusiest ? "box busiest" : "box"},
        page.make("title", {}, `${one.name}: ${rates}, ${page.known(one.out, value => `${page.compact(value)}/s`)} out, ${work}${one.stateful ? ", keeps state" : ""}`),
        page.make("rect", {x, y, width: WIDE, height: HIGH, rx: 6}),
        page.make("text", {x: x + 9, y: y + 19, class: "name"}, clip(one.name, 24)),
        page.make("text", {x: x + 9, y: y + 36}, rates + (one.stateful ? " · state" : "")),
        page.make("text", {x: x + 9, y: y + 52}, work));
    });
    const edges = query.edges.filter(([from, to]) => places.has(from) && places.has(to)).map(([from, to]) => {
      const a = places.get(from), b = places.get(to), left = a.x + WIDE, middle = (left + b.x) / 2;
      return page.make("path", {class: "edge", d: `M${left} ${a.y + HIGH / 2}C${middle} ${a.y + HIGH / 2} ${middle} ${b.y + HIGH / 2} ${b.x} ${b.y + HIGH / 2}`});
    });
    return page.make("div", {class: "wide", tabindex: "0", role: "group", "aria-label": `Operators of ${query.name}`},
      page.make("svg", {viewBox: `-1 -1 ${width + 2} ${height + 2}`, width: width + 2, height: height + 2, role: "img",
        "aria-label": query.operators.map(one => `${one.name} ${page.known(one.in, value => `${page.compact(value)} records/s`)}`).join(", ")}, ...edges, ...boxes));
  };

  const bars = source => {
    const most = Math.max(...source.parts.map(([, waiting]) => waiting));
    if (source.parts.length < 2 || !most) return null;
    const picture = page.make("svg", {viewBox: `0 0 ${source.parts.length * 8} 32`, class: "parts", preserveAspectRatio: "none", role: "img",
      "aria-label": `Backlog of ${source.parts.length} partitions, at most ${page.compact(most)}`});
    source.parts.forEach(([number, waiting], i) => picture.append(page.make("rect",
      {x: i * 8, width: 6, y: 32 - 32 * waiting / most, height: 32 * waiting / most},
      page.make("title", {}, `partition ${number}: ${page.compact(waiting)}`))));
    return picture;
  };

  const FROM = {estimated: "estimated from bytes", reported: "as of the last batch", extrapolated: "carried on from a rate", prometheus: "as Prometheus tells"};

  const source = one => page.make("li", {},
    page.make("b", {}, clip(one.name, 80)), ` ${page.known(one.backlog, value => `${page.compact(value)} waiting`, "backlog unknown")}`,
    FROM[one.from] ? `, ${FROM[one.from]}` : "", one.partitions ? `, ${one.partitions} partitions` : "",
    one.problem ? page.make("div", {class: "failed"}, one.problem) : null,
    one.uneven ? page.make("div", {class: "limited"}, `Uneven: ${one.uneven}`) : null, bars(one));

  const fact = (name, text) => page.make("div", {}, page.make("dt", {}, name), page.make("dd", {}, text));

  const facts = query => page.make("dl", {class: "facts"},
    fact("Phase", query.phase),
    fact("Trigger", query.trigger_s ? `every ${page.seconds(query.trigger_s)}` : "as fast as possible"),
    fact("Backlog", page.known(query.backlog, page.compact)),
    fact("Delay", page.known(query.delay, ([p50, p95, most]) => `p50 ${page.seconds(p50)}, p95 ${page.seconds(p95)}, longest ${page.seconds(most)}`,
      page.known(query.age, age => `unknown; what waits has waited ${page.seconds(age)}`))),
    query.slo ? fact("SLO", `${page.share(query.slo.share)} within ${page.seconds(query.slo.delay_s)}: ${page.known(query.kept, page.share)} kept`) : null,
    fact("Last batch", page.known(query.batch, ([id, took, rows]) => `number ${id}: ${page.known(rows, page.compact)} records in ${page.seconds(took)}`)),
    query.state_bytes !== null ? fact("State", `${page.bytes(query.state_bytes)}${page.known(query.state_rows, rows => `, ${page.compact(rows)} rows`, "")}`) : null,
    query.error ? fact("Error", query.error) : null);

  const ceiling = query => (query.limit && query.limit.slots !== null && query.limit.slots !== undefined ? query.limit.slots : null);

  // Records per second of single batches against executors: those that were late show what can be done.
  const capacity = query => {
    if (!query.dots.length) return null;
    const W = 360, H = 150, L = 46, B = 24, pool = page.store.now.pools[0];
    const most = Math.max(pool ? pool.max : 1, ...query.dots.map(([size]) => size)), high = Math.max(...query.dots.map(([, rate]) => rate), ...query.fit.map(([, rate]) => rate)) * 1.1;
    const x = size => L + (W - L - 8) * size / (most + 0.5), y = rate => 6 + (H - B - 6) * (1 - rate / high);
    const dots = query.dots.map(([size, rate, late]) => page.make("circle", {cx: x(size), cy: y(rate), r: 3, class: late ? "dot late" : "dot"},
      page.make("title", {}, `${size} executors: ${page.compact(rate)}/s${late ? ", all it could" : ""}`)));
    const marks = [0, high / 2.2, high / 1.1].map(at => page.make("g", {},
      page.make("line", {x1: L, x2: W, y1: y(at), y2: y(at), class: "grid"}), page.make("text", {x: L - 6, y: y(at) + 4, class: "end"}, page.compact(at))));
    const sizes = [...new Set([1, Math.ceil(most / 2), most])].map(size => page.make("text", {x: x(size), y: H - 8, class: "middle"}, String(size)));
    const slots = ceiling(query), limit = slots === null || !pool ? null :
      page.make("line", {x1: x(slots / pool.slots), x2: x(slots / pool.slots), y1: 4, y2: H - B, class: "ceiling"}, page.make("title", {}, `more than ${slots} slots cannot help`));
    const arrived = page.store.latest("arrived");
    const wish = arrived === null || arrived > high ? null : page.make("line", {x1: L, x2: W, y1: y(arrived), y2: y(arrived), class: "wish"}, page.make("title", {}, `${page.compact(arrived)}/s arrive`));
    const fit = query.fit.length < 2 ? null : page.make("path", {class: "fit", d: `M${query.fit.map(([size, rate]) => `${x(size)} ${y(rate)}`).join("L")}`},
      page.make("title", {}, "what so many executors could do, by what batches cost"));
    return page.make("figure", {class: "capacity"},
      page.make("figcaption", {}, page.make("h4", {}, "Capacity"), page.make("small", {}, "records/s of a batch against executors; filled: all it could; dashed: what arrives; line: by what batches cost; upright: no more helps")),
      page.make("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Capacity of ${query.name}: ${query.dots.length} batches`}, ...marks, ...sizes, fit || "", wish || "", limit || "", ...dots));
  };

  return {
    update(now) {
      const room = page.find("queries"), open = document.activeElement && document.activeElement.closest ? document.activeElement.closest("#queries .wide") : null;
      if (!now.queries || open) return;
      room.replaceChildren(...now.queries.map(query => page.make("article", {class: "query"},
        page.make("h3", {}, query.name), query.limit ? page.make("p", {class: "limited"}, query.limit.sentence) : null,
        page.make("div", {class: "beside"},
          page.make("div", {}, facts(query), page.make("ul", {class: "sources"}, ...query.sources.map(source))), capacity(query)),
        query.operators.length ? graph(query) : null)));
      if (!now.queries.length) room.append(page.make("p", {class: "hint"}, "No query runs."));
    },
  };
})();
