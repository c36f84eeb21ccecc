// The grid: any number of rows and columns, of which only those in view exist.

const GRID_ROW = 26;
const GRID_COLUMN = 160;
const HEAD_HEIGHT = 60;
// What fits on the two lines of a heading.
const HEAD_CHARACTERS = 36;
const NUMBER_WIDTH = 76;
const BLOCK_ROWS = 64;
const BLOCK_COLUMNS = 8;
const MOST_BLOCKS = 400;
// Browsers draw nothing beyond some 30 million pixels.
const MOST_PIXELS = 15000000;

class Grid {
  constructor(columns, ask, actions) {
    this.columns = columns;
    this.ask = ask;
    this.actions = actions;
    this.box = byId("grid");
    this.blocks = new Map();
    this.pending = new Map();
    this.where = "";
    this.rows = columns.rows;
    this.pools = { cells: [], heads: [], numbers: [] };
    this.box.addEventListener("scroll", () => this.schedule());
    this.box.addEventListener("keydown", (event) => this.key(event));
    byId("heads").addEventListener("click", (event) => {
      const head = event.target.closest(".head");
      if (head) this.actions.choose(Number(head.dataset.column));
    });
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.resize();
  }

  resize() {
    const height = HEAD_HEIGHT + this.rows * GRID_ROW;
    const width = NUMBER_WIDTH + this.columns.names.length * GRID_COLUMN;
    const space = byId("space").style;
    this.scaleY = Math.max(1, height / MOST_PIXELS);
    this.scaleX = Math.max(1, width / MOST_PIXELS);
    space.height = `${Math.ceil(height / this.scaleY)}px`;
    space.width = `${Math.ceil(width / this.scaleX)}px`;
    this.draw();
  }

  // Other rows: what is known of the old ones is forgotten.
  show(where, rows) {
    this.where = where;
    this.rows = rows;
    this.forget();
    this.box.scrollTop = 0;
    this.resize();
  }

  forget() {
    for (const request of this.pending.values()) request.abort();
    this.pending.clear();
    this.blocks.clear();
  }

  reveal(column) {
    const left = (column * GRID_COLUMN) / this.scaleX;
    const room = this.box.clientWidth - NUMBER_WIDTH;
    const at = this.box.scrollLeft;
    if (left < at || left + GRID_COLUMN > at + room) this.box.scrollLeft = left;
    this.draw();
  }

  schedule() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  // Near an end the scaled position is exact, so that the first and last rows can be seen.
  get origin() {
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.box;
    const place = (at, scale, total, room) => {
      if (scale === 1) return at;
      const most = Math.max(1, total / scale - room);
      return (at / most) * (total - room);
    };
    const height = HEAD_HEIGHT + this.rows * GRID_ROW;
    const width = NUMBER_WIDTH + this.columns.names.length * GRID_COLUMN;
    return [place(scrollTop, this.scaleY, height, clientHeight), place(scrollLeft, this.scaleX, width, clientWidth)];
  }

  draw() {
    const [top, left] = this.origin;
    const { clientHeight, clientWidth } = this.box;
    const firstRow = Math.floor(top / GRID_ROW);
    const lastRow = Math.min(this.rows, Math.ceil((top + clientHeight - HEAD_HEIGHT) / GRID_ROW));
    const firstColumn = Math.floor(left / GRID_COLUMN);
    const lastColumn = Math.min(this.columns.names.length, Math.ceil((left + clientWidth - NUMBER_WIDTH) / GRID_COLUMN));
    const made = { cells: 0, heads: 0, numbers: 0 };
    const put = (kind, className, x, y, width) => {
      const pool = this.pools[kind];
      if (made[kind] === pool.length) {
        pool.push(element("div"));
        byId(kind).append(pool.at(-1));
      }
      const node = pool[made[kind]++];
      node.className = className;
      node.hidden = false;
      node.style.transform = `translate(${x}px, ${y}px)`;
      if (width) node.style.width = `${width}px`;
      return node;
    };
    for (let column = firstColumn; column < lastColumn; column++) {
      const x = NUMBER_WIDTH + column * GRID_COLUMN - left;
      const head = put("heads", "head", x, 0, GRID_COLUMN);
      if (head.dataset.column !== String(column)) {
        head.dataset.column = column;
        const name = visible(this.columns.names[column]);
        head.title = name;
        head.replaceChildren(
          element("span", "name", bothEnds(visible(withoutAffixes(this.columns.names[column], this.columns.affixes)), HEAD_CHARACTERS)),
          element("span", "", this.columns.types[this.columns.typeOf[column]]),
        );
      }
    }
    const wanted = new Set();
    for (let row = firstRow; row < lastRow; row++) {
      const y = row * GRID_ROW - top;
      put("numbers", "number", 0, y).textContent = countText(row);
      for (let column = firstColumn; column < lastColumn; column++) {
        const key = `${Math.floor(row / BLOCK_ROWS)}:${Math.floor(column / BLOCK_COLUMNS)}`;
        wanted.add(key);
        const x = NUMBER_WIDTH + column * GRID_COLUMN - left;
        this.fill(put("cells", "cell", x, y + HEAD_HEIGHT, GRID_COLUMN), this.blocks.get(key), row, column);
      }
    }
    for (const [kind, pool] of Object.entries(this.pools)) {
      for (let index = made[kind]; index < pool.length; index++) pool[index].hidden = true;
    }
    this.request(wanted);
    this.box.dataset.row = firstRow;
    this.box.dataset.column = firstColumn;
    this.box.dataset.waiting = this.pending.size;
  }

  fill(node, block, row, column) {
    node.title = "";
    if (!block) {
      node.className = "cell waiting";
      node.textContent = "…";
      return;
    }
    const values = block.cells[column % BLOCK_COLUMNS];
    const value = values && values[row % BLOCK_ROWS];
    const text = value === null ? "null" : visible(value ?? "");
    node.textContent = text;
    if (value === null) node.className = "cell null";
    if (block.other) {
      const others = block.other[column % BLOCK_COLUMNS];
      const other = others ? others[row % BLOCK_ROWS] : undefined;
      if (other !== value) {
        node.className = "cell differs";
        const told = !others ? "no such column" : other === undefined ? "no such row" : other === null ? "null" : visible(other);
        node.textContent = `${text} → ${told}`;
      }
    }
    node.title = node.textContent;
  }

  // Asks for what is in view; what is no longer in view is no longer waited for.
  request(wanted) {
    for (const [key, request] of this.pending) {
      if (!wanted.has(key)) {
        request.abort();
        this.pending.delete(key);
      }
    }
    for (const key of wanted) {
      if (this.blocks.has(key) || this.pending.has(key)) continue;
      const [rowBlock, columnBlock] = key.split(":").map(Number);
      const first = columnBlock * BLOCK_COLUMNS;
      const last = Math.min(first + BLOCK_COLUMNS, this.columns.names.length);
      const numbers = Array.from({ length: last - first }, (_, index) => first + index).join(",");
      const request = new AbortController();
      this.pending.set(key, request);
      this.ask("cells", { first: rowBlock * BLOCK_ROWS, count: BLOCK_ROWS, columns: numbers, where: this.where }, request.signal).then(
        (block) => {
          if (this.pending.get(key) !== request) return;
          this.pending.delete(key);
          this.blocks.set(key, block);
          if (this.blocks.size > MOST_BLOCKS) this.blocks.delete(this.blocks.keys().next().value);
          this.schedule();
        },
        (error) => {
          if (this.pending.get(key) === request) this.pending.delete(key);
          if (error.name !== "AbortError") this.actions.failed(error);
        },
      );
    }
  }

  key(event) {
    const page = Math.max(1, Math.floor((this.box.clientHeight - HEAD_HEIGHT) / GRID_ROW) - 1) * GRID_ROW;
    const moves = {
      ArrowDown: [0, GRID_ROW], ArrowUp: [0, -GRID_ROW], ArrowRight: [GRID_COLUMN, 0], ArrowLeft: [-GRID_COLUMN, 0],
      PageDown: [0, page], PageUp: [0, -page],
    };
    if (moves[event.key]) this.box.scrollBy(...moves[event.key]);
    else if (event.key === "Home") this.box.scrollTo(event.ctrlKey ? 0 : this.box.scrollLeft, 0);
    else if (event.key === "End") this.box.scrollTo(this.box.scrollLeft, this.box.scrollHeight);
    else return;
    event.preventDefault();
  }
}
