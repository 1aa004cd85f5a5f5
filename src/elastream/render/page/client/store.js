"use strict";
// What was told so far, as columns: the first is time, the others are named by the run's measures.
page.store = {
  most: 30000,
  measures: [],
  told: 0,
  columns: [[]],
  run: null,
  now: null,
  lines: new Map(),
  spans: [],
  queries: new Map(),

  begin(run) {
    this.run = run;
    if (this.measures.length) return;
    this.told = run.measures.length;
    this.measures = [...run.measures, ...run.expected];
    this.columns = [[], ...this.measures.map(() => [])];
  },

  append(rows) {
    const times = this.columns[0];
    for (const row of rows) {
      if (times.length && row[0] <= times[times.length - 1]) continue;
      const [queries, expected] = row.slice(this.told + 1);
      this.columns.forEach((column, i) => column.push(i <= this.told ? row[i] : expected ? expected[i - this.told - 1] : null));
      this.appendQueries(queries || {}, times.length);
    }
    const over = times.length - this.most;
    if (over <= 0) return;
    for (const column of this.columns) column.splice(0, over + 2000);
    for (const [id, query] of this.queries) {
      for (const column of query.columns) column.splice(0, over + 2000);
      if (!query.columns[0].some(value => value !== null)) this.queries.delete(id);
    }
  },

  // Of queries that can be told apart: arrived, backlog and delay of each, with nothing where it was not there.
  appendQueries(found, length) {
    for (const [id, [name]] of Object.entries(found))
      if (!this.queries.has(id) && this.queries.size < 4)
        this.queries.set(id, {name, columns: [0, 1, 2].map(() => new Array(length - 1).fill(null))});
    for (const [id, query] of this.queries) query.columns.forEach((column, i) => column.push(found[id] ? found[id][i + 1] : null));
  },

  tell(lines) {
    for (const line of lines) this.lines.set(line.id, line);
    while (this.lines.size > 600) this.lines.delete(this.lines.keys().next().value);
  },

  column(measure) {
    return this.columns[this.measures.indexOf(measure) + 1] || [];
  },

  latest(measure) {
    const column = this.column(measure);
    return column.length ? column[column.length - 1] : null;
  },

  // The middle of what was expected at a moment and the ends of its band; null where nothing was.
  expectedAt(index) {
    const found = this.run.expected.map(name => this.column(name)[index]);
    return found.some(value => value !== null && value !== undefined) ? found : null;
  },

  latestExpected() {
    return this.columns[0].length ? this.expectedAt(this.columns[0].length - 1) : null;
  },

  get first() { return this.columns[0][0]; },
  get last() { return this.columns[0][this.columns[0].length - 1]; },

  changes() {
    return [...this.lines.values()].filter(line => line.what === "change");
  },
};
