// The page that browses rows: columns on the left, rows on the right, a filter above.

const ENTRY_HEIGHT = 24;
const MOST_SUGGESTIONS = 8;
const OPERATORS = ["and", "or", "not", "in (", "between", "like '", "is null", "is not null"];

async function ask(what, values, signal) {
  const answer = await fetch(`${what}?${new URLSearchParams(values)}`, { signal, cache: "no-store" });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

function failed(error) {
  byId("error").hidden = !error;
  byId("error").textContent = error ? error.message : "";
}

// The names that match the search; only entries in view exist.
class ColumnList {
  constructor(columns, choose) {
    this.columns = columns;
    this.choose = choose;
    this.lowered = columns.names.map((name) => name.toLowerCase());
    this.box = byId("list");
    this.entries = [];
    this.chosen = -1;
    byId("search").addEventListener("input", () => this.refresh());
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("click", (event) => {
      const entry = event.target.closest(".entry");
      if (entry) this.choose(Number(entry.dataset.column));
    });
    this.box.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || !this.found.length) return;
      event.preventDefault();
      const place = Math.min(Math.max(this.found.indexOf(this.chosen) + step, 0), this.found.length - 1);
      this.choose(this.found[place]);
      this.box.scrollTop = Math.max(0, place * ENTRY_HEIGHT - this.box.clientHeight / 2);
    });
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.refresh();
  }

  refresh() {
    const text = byId("search").value.toLowerCase();
    this.found = [];
    this.lowered.forEach((name, column) => {
      if (name.includes(text)) this.found.push(column);
    });
    const { names, affixes } = this.columns;
    const share = affixesText(affixes);
    const shown = text ? `${countText(this.found.length)} of ${plural(names.length, "column")}` : plural(names.length, "column");
    byId("found").textContent = share ? `${shown}. ${share}` : shown;
    byId("found").dataset.count = this.found.length;
    byId("list-space").style.height = `${this.found.length * ENTRY_HEIGHT}px`;
    this.box.scrollTop = 0;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ENTRY_HEIGHT) - 3);
    const count = Math.min(Math.ceil(this.box.clientHeight / ENTRY_HEIGHT) + 6, this.found.length - first);
    while (this.entries.length < count) {
      this.entries.push(element("div", "entry"));
      this.entries.at(-1).setAttribute("role", "option");
      byId("list-space").append(this.entries.at(-1));
    }
    this.entries.forEach((entry, index) => {
      entry.hidden = index >= count;
      if (entry.hidden) return;
      const column = this.found[first + index];
      entry.style.top = `${(first + index) * ENTRY_HEIGHT}px`;
      entry.dataset.column = column;
      entry.textContent = visible(withoutAffixes(this.columns.names[column], this.columns.affixes));
      entry.title = visible(this.columns.names[column]);
      entry.setAttribute("aria-selected", column === this.chosen);
    });
  }
}

// Names and words of the filter language, for the word before the cursor.
class Completion {
  constructor(names, accept) {
    this.names = names;
    this.lowered = names.map((name) => name.toLowerCase());
    this.accept = accept;
    this.input = byId("where");
    this.box = byId("suggestions");
    this.place = -1;
    this.input.addEventListener("input", () => this.suggest());
    this.input.addEventListener("blur", () => setTimeout(() => this.hide(), 150));
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("mousedown", (event) => {
      const item = event.target.closest("li");
      if (item) this.take(Number(item.dataset.place));
      event.preventDefault();
    });
  }

  get word() {
    return this.input.value.slice(0, this.input.selectionStart).match(/["`]?[^\s"'`()=<>!,]*$/u)[0];
  }

  suggest() {
    const word = this.word.replace(/^["`]/u, "").toLowerCase();
    this.found = [];
    if (word) {
      for (let i = 0; i < this.names.length && this.found.length < MOST_SUGGESTIONS; i++) {
        if (this.lowered[i].includes(word)) this.found.push(quotedName(this.names[i]));
      }
      this.found.push(...OPERATORS.filter((operator) => operator.startsWith(word)));
    }
    this.place = -1;
    this.box.replaceChildren(
      ...this.found.map((text, place) => {
        const item = element("li", "", visible(text));
        item.dataset.place = place;
        item.setAttribute("role", "option");
        return item;
      }),
    );
    this.box.hidden = !this.found.length;
  }

  hide() {
    this.box.hidden = true;
    this.place = -1;
  }

  take(place) {
    const end = this.input.selectionStart;
    const start = end - this.word.length;
    this.input.setRangeText(`${this.found[place]} `, start, end, "end");
    this.hide();
    this.input.focus();
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !this.box.hidden) {
      this.place = (this.place + step + this.found.length) % this.found.length;
      [...this.box.children].forEach((item, place) => item.setAttribute("aria-selected", place === this.place));
      event.preventDefault();
    } else if (event.key === "Escape") this.hide();
    else if ((event.key === "Enter" || event.key === "Tab") && this.place >= 0) {
      this.take(this.place);
      event.preventDefault();
    } else if (event.key === "Enter") {
      this.hide();
      this.accept(this.input.value);
    }
  }
}

const KEYWORDS = new Set(["and", "or", "not", "in", "between", "like", "is", "null", "true", "false", "date", "time", "timestamp", "decimal", "double", "x"]);

function quotedName(name) {
  const isPlain = /^[A-Za-z_][A-Za-z0-9_]*$/u.test(name) && !KEYWORDS.has(name.toLowerCase());
  return isPlain ? name : `"${name.replaceAll('"', '""')}"`;
}

function showColumn(columns, column, facts) {
  const box = byId("column");
  const type = columns.types[columns.typeOf[column]];
  const name = element("h2", "", visible(columns.names[column]));
  if (!facts) {
    box.replaceChildren(name, element("p", "quiet", `${type}. Counting values`));
    box.dataset.ready = "no";
    return;
  }
  const told = [`${type}. ${plural(facts.rows, "row")}, ${plural(facts.nulls, "null")}`];
  if (facts.nans) told.push(plural(facts.nans, "NaN"));
  if (facts.distinct !== null) told.push(plural(facts.distinct, "distinct value"));
  if (!facts.complete) told.push("only the first rows were counted");
  box.replaceChildren(name, element("p", "quiet", told.join(", ")));
  if (facts.numbers) {
    const numbers = facts.numbers.map(([what, number]) => `${what} ${number}`);
    box.append(element("p", "quiet", numbers.join(", ")));
  }
  if (facts.histogram) {
    const { counts, low, high } = facts.histogram;
    const most = Math.max(...counts);
    const bars = element("div", "histogram");
    bars.append(
      ...counts.map((count) => {
        const bar = element("i");
        bar.style.height = `${(count / most) * 100}%`;
        bar.title = plural(count, "row");
        return bar;
      }),
    );
    const ends = element("div", "ends quiet");
    ends.append(element("span", "", visible(low)), element("span", "", visible(high)));
    box.append(bars, ends);
  }
  const table = element("table");
  for (const [value, count] of facts.top) {
    const row = table.insertRow();
    row.append(element("td", "", visible(value)), element("td", "", countText(count)));
  }
  box.append(table);
  box.dataset.ready = "yes";
}

function start(columns) {
  const longest = columns.names.reduce((most, name) => Math.max(most, name.length), 0);
  columns.affixes = longest > 18 ? commonAffixes(columns.names) : { prefix: "", suffix: "" };
  document.title = `${visible(columns.title)} · pymosaic`;
  byId("title").textContent = visible(columns.title);
  const tell = (rows) => {
    const parts = [rows === columns.rows ? plural(rows, "row") : `${countText(rows)} of ${plural(columns.rows, "row")}`];
    parts.push(plural(columns.names.length, "column"));
    if (columns.other) {
      const { rows: others, missing, added, changed } = columns.other;
      parts.push(`compared with ${plural(others, "row")}: ${plural(missing, "column")} missing, ${countText(added)} added, ${countText(changed)} of another type`);
    }
    byId("facts").textContent = parts.join(", ");
    byId("facts").dataset.rows = rows;
  };
  let counting = null;
  let where = "";
  const choose = (column) => {
    list.chosen = column;
    list.draw();
    grid.reveal(column);
    showColumn(columns, column, null);
    if (counting) counting.abort();
    counting = new AbortController();
    ask("describe", { column, where }, counting.signal).then(
      (facts) => showColumn(columns, column, facts),
      (error) => error.name !== "AbortError" && failed(error),
    );
  };
  const grid = new Grid(columns, ask, { choose, failed });
  const list = new ColumnList(columns, choose);
  let filtering = null;
  const filter = (text) => {
    if (filtering) filtering.abort();
    filtering = new AbortController();
    failed(null);
    byId("facts").textContent = "Counting rows";
    ask("count", { where: text }, filtering.signal).then(
      ({ rows }) => {
        where = text;
        tell(rows);
        grid.show(text, rows);
        if (list.chosen >= 0) choose(list.chosen);
      },
      (error) => {
        if (error.name === "AbortError") return;
        tell(grid.rows);
        failed(error);
      },
    );
  };
  new Completion(columns.names, filter);
  tell(columns.rows);
  document.body.dataset.ready = "yes";
}

ask("columns", {}).then(start, failed);
