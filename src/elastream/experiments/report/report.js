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
})();
