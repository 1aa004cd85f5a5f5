// Only comfort: everything can be read without it.
(() => {
  const raw = (cell) => cell.dataset.raw ?? cell.textContent;
  const compare = (a, b) => {
    // What is unknown comes last, whichever way.
    if (a === "" || b === "") return null;
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  const sort = (table, heading, column) => {
    const way = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row) => [raw(row.cells[column]), row]);
    rows.sort(([a], [b]) => {
      const found = compare(a, b);
      return found === null ? (a === "") - (b === "") : way * found;
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  const quote = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const spell = (table) =>
    [...table.rows]
      .map((row) => [...row.cells].map((cell) => quote(row.parentNode === table.tHead ? cell.innerText : raw(cell))).join(","))
      .join("\r\n") + "\r\n";
  for (const table of document.querySelectorAll("table[data-name]")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent || "#";
      button.addEventListener("click", () => sort(table, heading, column));
      heading.replaceChildren(button);
    });
    const save = document.createElement("button");
    save.type = "button";
    save.className = "csv";
    save.textContent = "Download as CSV";
    save.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([spell(table)], { type: "text/csv" }));
      link.download = `${table.dataset.name}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    table.parentNode.after(save);
  }
  for (const stack of document.querySelectorAll(".stack")) {
    const why = stack.querySelector(".why"), plot = stack.querySelector(".plot"), marks = [...stack.querySelectorAll(".mark")];
    const cursor = document.createElement("div");
    cursor.className = "cursor";
    cursor.hidden = true;
    stack.append(cursor);
    const told = marks.map((mark) => {
      const title = mark.querySelector("title"), text = title.textContent;
      mark.setAttribute("aria-label", text);
      title.remove();
      return text;
    });
    stack.addEventListener("pointermove", (event) => {
      const room = plot.getBoundingClientRect(), share = (event.clientX - room.left) / room.width;
      cursor.hidden = share < 0 || share > 1;
      cursor.style.left = `${event.clientX - stack.getBoundingClientRect().left}px`;
      // A decision holds until the next one.
      const last = marks.filter((mark) => Number(mark.dataset.at) <= share + 0.004).length - 1;
      why.textContent = last < 0 ? "No change so far." : told[last];
    });
    stack.addEventListener("pointerleave", () => { cursor.hidden = true; });
    marks.forEach((mark, i) => mark.addEventListener("focus", () => { why.textContent = told[i]; }));
  }
})();
