"use strict";
// Every decision, and every change of the reason not to act: what was wished, what guards made of it, what came of it.
page.direction = line => {
  const grown = Object.values(line.changes).reduce((sum, [before, after]) => sum + after - before, 0);
  return grown > 0 ? "up" : grown < 0 ? "down" : "both";
};

page.sizes = line => {
  const names = Object.keys(line.changes), isPlain = names.length === 1 && names[0] === "executors";
  return names.map(name => `${isPlain ? "" : `${name} `}${line.changes[name][0]} → ${line.changes[name][1]}`).join(", ");
};

page.tell = line => `${page.clock(line.utc_s)}  ${page.sizes(line)}: ${line.reason}`;

page.decisions = (() => {
  const rows = new Map(), MOST = 400;

  const total = sizes => Object.values(sizes).reduce((sum, size) => sum + size, 0);

  const head = line => {
    if (line.what === "start") return "a run begins";
    if (line.what === "asked") return "asked";
    if (line.what === "blind") return "not seen";
    return line.what === "change" ? page.sizes(line) : `${total(line.sizes)} ${line.what === "keep" ? "kept" : "held"}`;
  };

  const took = line => {
    if (line.what === "start" || line.what === "asked") return "";
    if (line.what !== "change") return line.ticks > 1 ? page.duration(line.lasted_s) : "";
    if (line.ready_after_s !== null) return `ready after ${page.duration(line.ready_after_s)}`;
    return line.overtaken ? "not ready before the next" : "not ready yet";
  };

  const asked = one => (one.asked[0] === one.asked[1] ? `${one.asked[0]}` : `${one.asked[0]} to ${one.asked[1]}`);

  // What keeps the size because nothing else helps is news, unlike what keeps it because it is right.
  const kind = line => {
    if (line.what === "keep" && (line.limits.length || line.held.some(one => one.guard === "bottleneck"))) return "hold";
    return line.what === "change" ? `change ${page.direction(line)}` : line.what;
  };

  const make = line => page.make("tr", {class: kind(line), id: `line-${line.id}`},
    page.make("td", {class: "clock"}, page.make("time", {}, page.clock(line.utc_s, !page.isVirtual(line.utc_s)))),
    page.make("td", {class: "what"}, head(line)),
    page.make("td", {class: "why"}, line.reason,
      ...line.held.map(one => page.make("div", {class: "guard"}, `${one.guard}: ${one.reason} (wished ${asked(one)}, became ${one.after})`)),
      ...line.effects.map(([query, unit, expected, real]) =>
        page.make("div", {class: "guard"}, `Came of it: ${query} was expected to do ${page.three(expected)} ${unit}, and did ${page.three(real)}`)),
      ...line.limits.map(text => page.make("div", {class: "limited"}, `Limited: ${text}`)),
      ...line.troubles.filter(text => text !== line.reason).map(text => page.make("div", {class: "failed"}, `Failed: ${text}`))),
    page.make("td", {class: "took"}, took(line)));

  return {
    update(lines) {
      const body = page.find("lines");
      for (const line of lines) {
        const made = make(line), old = rows.get(line.id);
        if (old) old.replaceWith(made);
        else body.prepend(made);
        rows.set(line.id, made);
      }
      while (rows.size > MOST) {
        const [oldest, row] = rows.entries().next().value;
        row.remove();
        rows.delete(oldest);
      }
      const kept = body.querySelectorAll("tr.keep").length;
      page.write("kept-count", `Show ${kept} ${kept === 1 ? "stretch" : "stretches"} that kept the size`);
    },
  };
})();
