"use strict";
// What whoever has the token may ask of the loop. Answers say that it was asked; what came of it is told by the stream.
page.control = (() => {
  let session = null, look = null, isOpen = false;

  const say = text => page.write("control-said", text);

  const post = async (path, order) => {
    try {
      const answer = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(order)});
      if (answer.ok) return answer.status === 204 ? {} : await answer.json();
      const reason = (await answer.text()).trim().slice(0, 300);
      if (answer.status === 401 && path === "control") await ask();
      say(reason);
    } catch {
      say("The server does not answer.");
    }
    return null;
  };

  const show = () => {
    const may = session.control && session.session, locked = !session.session && (session.control || !session.look);
    page.find("control").hidden = false;
    page.write("control-missing", session.missing && session.look ? `The page only shows: ${session.missing}.` : "");
    page.find("sign-in").hidden = !locked;
    page.find("actions").hidden = !may;
    page.find("sign-out").hidden = !session.session;
    page.write("control-who", session.who ? `signed in as ${session.who}` : "");
    if (session.look && !isOpen) {
      isOpen = true;
      look();
    }
  };

  const ask = async () => {
    try {
      session = await (await fetch("session")).json();
      show();
    } catch {
      // What can be seen without being asked is shown all the same.
      if (!isOpen) { isOpen = true; look(); }
    }
  };

  const act = async order => {
    const answer = await post("control", order);
    if (answer) say(`${answer.asked}; it takes effect with the loop's next look.`);
  };

  const whole = id => Number.parseInt(page.find(id).value, 10);

  const on = (id, kind, run) => page.find(id).addEventListener(kind, event => { event.preventDefault(); run(); });

  const furnish = () => {
    on("sign-in", "submit", async () => {
      const field = page.find("token"), answer = await post("session", {token: field.value.trim()});
      field.value = "";
      if (!answer) return;
      say("");
      await ask();
      page.find(page.find("actions").hidden ? "sign-out" : "do-pause").focus();
    });
    on("sign-out", "click", async () => { if (await post("session/end", {})) { say("Signed out."); await ask(); } });
    on("do-pause", "click", () => act({do: "pause"}));
    on("do-dry-run", "click", () => act({do: "dry-run"}));
    on("do-resume", "click", () => act({do: "resume"}));
    on("bounds-form", "submit", () => act({do: "bounds", low: whole("bound-low"), high: whole("bound-high")}));
    on("do-configured", "click", () => act({do: "configured bounds"}));
    on("size-form", "submit", () => act({do: "size", workers: whole("size-workers"), for_s: whole("size-for")}));
    on("do-release", "click", () => act({do: "no size"}));
  };

  // What somebody is typing stays.
  const suggest = (id, value) => {
    const field = page.find(id);
    if (field !== document.activeElement && !field.dataset.typed) field.value = value;
  };

  return {
    start(begin) {
      look = begin;
      furnish();
      for (const id of ["bound-low", "bound-high", "size-workers"])
        page.find(id).addEventListener("input", () => { page.find(id).dataset.typed = "yes"; });
      return ask();
    },
    update(now) {
      if (!session || !now.control || !now.pools || !now.pools.length) return;
      const {mode, bounds, size} = now.control, [pool] = now.pools;
      const told = [mode === "running" ? "" : mode.replace("-", " "), bounds ? `bounds ${bounds[0]}..${bounds[1]}` : "",
        size ? `${size[0]} executors until ${page.clock(size[1])} UTC` : ""].filter(Boolean);
      page.write("control-now", told.length ? `now: ${told.join(", ")}` : "now: as configured");
      for (const [id, of] of [["do-pause", "paused"], ["do-dry-run", "dry-run"], ["do-resume", "running"]])
        page.find(id).setAttribute("aria-pressed", mode === of);
      page.find("do-configured").disabled = !bounds;
      page.find("do-release").disabled = !size;
      if (!size) {
        suggest("bound-low", pool.min);
        suggest("bound-high", pool.max);
      }
      suggest("size-workers", pool.wanted);
    },
  };
})();
