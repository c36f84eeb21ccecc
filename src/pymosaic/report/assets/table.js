// The table of all columns: only the rows in view exist.

const ROW_HEIGHT = 30;
const ROWS_BEYOND = 6;

// `key` sorts, `text` shows, `bar` is a share drawn behind the text.
const TABLE_COLUMNS = [
  { id: "name", title: "Column", key: (picture, p) => p, text: (picture, p) => visible(shortened(picture.shortName(p), 500)), hover: (picture, p) => visible(shortened(picture.names[p], 500)) },
  { id: "type", title: "Type", key: (picture, p) => picture.typeName(p), text: (picture, p) => visible(picture.typeName(p)) },
  { id: "encoding", title: "Encoding", key: (picture, p) => picture.encodingText(p), text: (picture, p) => picture.encodingText(p) },
  { id: "bucket", title: "Bucket", number: true, key: (picture, p) => p, text: (picture, p) => countText(picture.bucketOf(p)) },
  {
    id: "nulls", title: "Nulls", number: true,
    key: (picture, p) => picture.totalNulls[p],
    text: (picture, p) => countText(picture.totalNulls[p]),
    bar: (picture, p) => (picture.totalRows ? picture.totalNulls[p] / picture.totalRows : 0),
  },
  {
    id: "distinct", title: "Distinct", number: true,
    key: (picture, p) => (Number.isNaN(picture.distinctHigh[p]) ? -1 : picture.distinctHigh[p]),
    text: (picture, p) => picture.distinctText(p),
  },
  {
    id: "size", title: "Stored", number: true,
    key: (picture, p) => picture.totalStored[p],
    text: (picture, p) => picture.storedText(p),
  },
  {
    id: "share", title: "Share", number: true,
    key: (picture, p) => picture.totalStored[p],
    text: (picture, p) => shareText(picture.totalBuckets ? picture.totalStored[p] / picture.totalBuckets : 0),
    bar: (picture, p) => picture.totalStored[p] / picture.largestStored,
  },
  { id: "minimum", title: "Min", text: (picture, p) => visible(picture.minimum[p] ?? "") },
  { id: "maximum", title: "Max", text: (picture, p) => visible(picture.maximum[p] ?? "") },
  { id: "samples", title: "Values", text: (picture, p) => picture.samples[p].map(visible).join("  ·  ") },
];

class ColumnTable {
  constructor(picture, actions) {
    this.picture = picture;
    this.actions = actions;
    this.body = byId("table-body");
    this.space = byId("table-space");
    this.search = byId("search");
    this.onlyWanted = byId("only-wanted");
    this.lowered = picture.names.map((name) => name.toLowerCase());
    this.fields = TABLE_COLUMNS.filter(({ id }) => !["minimum", "maximum"].includes(id) || picture.minimum.length);
    this.rows = [];
    this.active = -1; // place in `positions`
    this.sort = { id: "name", down: false };
    this.wanted = null;
    this.makeHead();
    this.listen();
    this.refresh();
  }

  makeHead() {
    const head = byId("table-head");
    head.append(element("div", "cell pick"));
    head.firstChild.setAttribute("role", "columnheader");
    head.firstChild.setAttribute("aria-label", "in the projection");
    for (const field of this.fields) {
      const cell = element("div", `cell ${field.id}${field.number ? " number" : ""}`);
      cell.setAttribute("role", "columnheader");
      if (field.key) {
        const button = element("button", "sort", field.title);
        button.dataset.sort = field.id;
        button.addEventListener("click", () => this.sortBy(field.id));
        cell.append(button);
      } else cell.textContent = field.title;
      head.append(cell);
    }
    byId("table").classList.toggle("with-statistics", this.picture.minimum.length > 0);
  }

  listen() {
    this.search.addEventListener("input", () => this.refresh());
    this.onlyWanted.addEventListener("change", () => this.refresh());
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") {
        this.body.focus();
        event.preventDefault();
      }
    });
    this.body.addEventListener("scroll", () => this.draw());
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("focus", () => {
      if (this.active < 0 && this.positions.length) this.activate(0);
    });
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      this.activate(Number(row.dataset.place));
      if (event.target.closest(".pick")) this.actions.toggle(this.positions[this.active]);
    });
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  sortBy(id) {
    this.sort = { id, down: this.sort.id === id ? !this.sort.down : id !== "name" && id !== "type" };
    this.refresh();
  }

  setWanted(wanted) {
    this.wanted = wanted;
    this.onlyWanted.disabled = !wanted;
    if (!wanted) this.onlyWanted.checked = false;
    if (this.onlyWanted.checked) this.refresh();
    else this.draw();
  }

  // Which columns are in view, and in which order.
  refresh() {
    const { picture, sort } = this;
    const text = this.search.value.toLowerCase();
    const pieces = text.includes("*") ? parsePattern(text) : null;
    const only = this.onlyWanted.checked ? this.wanted : null;
    const found = [];
    for (let p = 0; p < picture.columns; p++) {
      if (only && !only[p]) continue;
      const name = this.lowered[p];
      if (!text || name.includes(text) || (pieces && matchesPattern(pieces, name))) found.push(p);
    }
    const { key } = this.fields.find((field) => field.id === sort.id);
    if (sort.id !== "name" && sort.id !== "bucket") {
      const keys = new Array(picture.columns);
      for (const p of found) keys[p] = key(picture, p);
      found.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
    }
    if (sort.down) found.reverse();
    this.positions = found;
    this.active = -1;
    for (const button of document.querySelectorAll("[data-sort]")) {
      const chosen = button.dataset.sort === sort.id;
      button.parentElement.setAttribute("aria-sort", chosen ? (sort.down ? "descending" : "ascending") : "none");
    }
    const count = byId("table-count");
    count.dataset.count = found.length;
    count.textContent =
      found.length === picture.columns
        ? plural(picture.columns, "column")
        : `${countText(found.length)} of ${plural(picture.columns, "column")}`;
    byId("table").setAttribute("aria-rowcount", found.length + 1);
    this.space.style.height = `${found.length * ROW_HEIGHT}px`;
    this.body.scrollTop = 0;
    this.draw();
  }

  draw() {
    // The head has no scroll bar, but as much room.
    byId("table-head").style.paddingRight = `${this.body.offsetWidth - this.body.clientWidth}px`;
    const first = Math.max(0, Math.floor(this.body.scrollTop / ROW_HEIGHT) - ROWS_BEYOND);
    const room = Math.ceil(this.body.clientHeight / ROW_HEIGHT) + 2 * ROWS_BEYOND;
    const count = Math.min(room, this.positions.length - first);
    while (this.rows.length < count) this.rows.push(this.makeRow());
    while (this.rows.length > Math.max(count, 0)) this.rows.pop().row.remove();
    this.rows.forEach((row, index) => this.fill(row, first + index));
  }

  makeRow() {
    const row = element("div", "row");
    row.setAttribute("role", "row");
    const pick = element("div", "cell pick");
    pick.setAttribute("role", "gridcell");
    const cells = this.fields.map((field) => {
      const cell = element("div", `cell ${field.id}${field.number ? " number" : ""}`);
      cell.setAttribute("role", "gridcell");
      return cell;
    });
    row.append(pick, ...cells);
    this.space.append(row);
    return { row, pick, cells };
  }

  fill({ row, pick, cells }, place) {
    const p = this.positions[place];
    const { picture } = this;
    row.style.top = `${place * ROW_HEIGHT}px`;
    row.dataset.place = place;
    row.dataset.position = p;
    row.id = `row-${place}`;
    row.setAttribute("aria-rowindex", place + 2);
    row.classList.toggle("active", place === this.active);
    row.setAttribute("aria-selected", place === this.active);
    const isWanted = Boolean(this.wanted && this.wanted[p]);
    row.classList.toggle("wanted", isWanted);
    pick.textContent = isWanted ? "◆" : "◇";
    pick.setAttribute("aria-label", isWanted ? "in the projection" : "not in the projection");
    this.fields.forEach((field, index) => {
      const text = field.text(picture, p);
      const cell = cells[index];
      if (cell.textContent !== text) cell.textContent = text;
      cell.title = field.hover ? field.hover(picture, p) : field.number ? "" : shortened(text, 400);
      if (field.bar) cell.style.setProperty("--share", `${Math.min(1, field.bar(picture, p)) * 100}%`);
    });
    const code = picture.shown.length ? picture.encoding[p] & 3 : 0;
    cells[2].dataset.encoding = picture.encodings[code];
    cells[1].dataset.family = picture.family[p];
  }

  activate(place, tell = true) {
    if (!this.positions.length) return;
    this.active = Math.min(Math.max(place, 0), this.positions.length - 1);
    const top = this.active * ROW_HEIGHT;
    if (top < this.body.scrollTop) this.body.scrollTop = top;
    const bottom = top + ROW_HEIGHT - this.body.clientHeight;
    if (bottom > this.body.scrollTop) this.body.scrollTop = bottom;
    this.draw();
    this.body.setAttribute("aria-activedescendant", `row-${this.active}`);
    if (tell) this.actions.choose(this.positions[this.active]);
  }

  // Goes to a column that was chosen elsewhere, if the search lets it through.
  reveal(position) {
    if (this.positions[this.active] === position) return;
    const place = this.positions.indexOf(position);
    if (place >= 0) this.activate(place, false);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.body.clientHeight / ROW_HEIGHT) - 1);
    const { active, positions } = this;
    switch (event.key) {
      case "ArrowDown": this.activate(active + 1); break;
      case "ArrowUp": this.activate(active - 1); break;
      case "PageDown": this.activate(active + page); break;
      case "PageUp": this.activate(active - page); break;
      case "Home": this.activate(0); break;
      case "End": this.activate(positions.length - 1); break;
      case " ": case "Enter":
        if (active >= 0) this.actions.toggle(positions[active]);
        break;
      default: return;
    }
    event.preventDefault();
  }
}
