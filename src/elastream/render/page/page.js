// Only comfort: everything can be read without it.
(() => {
  const source = document.getElementById("cursor-data");
  const stack = document.querySelector(".stack");
  const plot = document.querySelector(".plot");
  if (!source || !stack || !plot) return;
  const data = JSON.parse(source.textContent);
  const slots = [...stack.querySelectorAll("[data-value]")];
  const add = (name) => {
    const made = document.createElement("div");
    made.className = name;
    made.hidden = true;
    stack.append(made);
    return made;
  };
  const cursor = add("cursor"), when = add("when"), card = add("card");
  let place = data.at.length - 1;

  const at = (share) => {
    // The last place not after the pointer: values hold until the next look.
    const second = share * data.length + 0.05;
    let low = 0, high = data.at.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (data.at[middle] <= second) low = middle; else high = middle - 1;
    }
    return low;
  };
  const room = () => {
    const inner = plot.getBoundingClientRect();
    return { left: inner.left - stack.getBoundingClientRect().left, width: inner.width, from: inner.left };
  };
  const show = (found) => {
    place = found;
    const second = data.at[place], { left, width } = room(), x = left + second / data.length * width;
    const time = new Date(Math.round(data.start + second) * 1000).toISOString().slice(11, 19);
    cursor.style.left = `${x}px`;
    when.style.left = `${Math.min(Math.max(x, left + 28), left + width - 28)}px`;
    when.textContent = time;
    cursor.hidden = when.hidden = false;
    const told = [time];
    for (const slot of slots) {
      slot.textContent = data.values[slot.dataset.value][place] ?? "unknown";
      told.push(slot.parentElement.textContent);
    }
    const wrong = data.spans.find(([from, to]) => from <= second && second <= to);
    if (wrong) told.push(wrong[2]);
    stack.setAttribute("aria-valuenow", String(place));
    stack.setAttribute("aria-valuetext", told.join(", "));
    return wrong;
  };
  const say = (text, x) => {
    card.textContent = text;
    card.hidden = false;
    const most = stack.clientWidth - card.offsetWidth;
    card.style.left = `${Math.max(0, Math.min(x + 14, most))}px`;
  };
  const hide = () => {
    cursor.hidden = when.hidden = card.hidden = true;
    for (const slot of slots) slot.textContent = "";
  };

  stack.addEventListener("pointermove", (event) => {
    if (event.target.closest(".mark")) return;
    const { left, width, from } = room(), share = (event.clientX - from) / width;
    if (share < -0.01 || share > 1.01) return hide();
    const wrong = show(at(share));
    if (wrong) say(wrong[2], left + share * width); else card.hidden = true;
  });
  stack.addEventListener("pointerleave", hide);
  stack.addEventListener("blur", hide);
  stack.tabIndex = 0;
  stack.setAttribute("role", "slider");
  stack.setAttribute("aria-label", "Moment of the run; the arrow keys move it");
  stack.setAttribute("aria-valuemin", "0");
  stack.setAttribute("aria-valuemax", String(data.at.length - 1));
  stack.setAttribute("aria-valuenow", String(place));
  const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -1e9, End: 1e9 };
  stack.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    if (event.target !== stack || !(event.key in steps)) return;
    event.preventDefault();
    show(Math.min(data.at.length - 1, Math.max(0, place + steps[event.key])));
  });

  for (const mark of stack.querySelectorAll(".mark")) {
    const title = mark.querySelector("title"), row = document.querySelector(mark.getAttribute("href"));
    const text = title.textContent, share = Number(mark.dataset.at);
    mark.setAttribute("aria-label", text);
    title.remove();
    const open = () => {
      const { left, width } = room();
      show(at(share));
      say(text, left + share * width);
    };
    mark.addEventListener("pointerenter", open);
    mark.addEventListener("focus", open);
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("blur", hide);
    if (row) {
      row.addEventListener("pointerenter", () => { mark.classList.add("lit"); });
      row.addEventListener("pointerleave", () => { mark.classList.remove("lit"); });
    }
  }
})();
