"use strict";
// What a policy expects to come, over the time that it looks ahead: from now on, and from the cursor on as it was
// expected then, so that it can be held against what came.
page.ahead = (() => {
  const boxes = new Map();

  // Seconds that are shown behind the last moment: as long as the policy looks, and never more than what is past.
  const room = past => (page.store.latestExpected() ? Math.max(0, Math.min(page.store.run.ahead_s || 0, past)) : 0);

  const make = (u, kind) => {
    const box = page.make("div", {class: `ahead ${kind}`}, page.make("i", {}));
    u.over.append(box);
    return box;
  };

  const put = (u, kind, index) => {
    let box = boxes.get(kind);
    if (!box || box.parentNode !== u.over) boxes.set(kind, box = make(u, kind));
    const run = page.store.run, seconds = run && run.ahead_s;
    const expected = seconds && index !== null && index >= 0 ? page.store.expectedAt(index) : null;
    box.hidden = !expected;
    if (!expected) return;
    const from = page.store.columns[0][index], {min, max} = u.scales.x, [middle, low, high] = expected;
    const left = Math.max(from, min), right = Math.min(from + seconds, max);
    if (right <= left) return void (box.hidden = true);
    const y = value => Math.max(0, Math.min(u.over.clientHeight, u.valToPos(value, "y")));
    const ends = [low, high, middle].filter(value => value !== null).map(y), first = Math.min(...ends), last = Math.max(...ends);
    box.style.left = `${u.valToPos(left, "x")}px`;
    box.style.width = `${u.valToPos(right, "x") - u.valToPos(left, "x")}px`;
    box.style.top = `${first}px`;
    box.style.height = `${Math.max(1, last - first)}px`;
    box.firstChild.hidden = middle === null;
    if (middle !== null) box.firstChild.style.top = `${y(middle) - first}px`;
  };

  return {
    room,
    now: u => put(u, "now", page.store.columns[0].length - 1),
    // What was expected at the moment under the cursor, if it is over one that is past.
    then: u => put(u, "then", u.cursor.idx === page.store.columns[0].length - 1 ? null : u.cursor.idx ?? null),
  };
})();
