// The projection simulator: columns in, reads out, beside those of Parquet's layout.

const MOST_LISTED = 300;
const MOST_MISSING = 3;

class Simulator {
  constructor(picture, changed) {
    this.picture = picture;
    this.changed = changed;
    this.projection = new Projection(picture);
    this.layout = parquetLayout(picture);
    this.input = byId("columns");
    this.accessChoice = byId("access");
    this.accessChoice.value = picture.access.opened;
    this.input.addEventListener("input", () => this.schedule());
    this.accessChoice.addEventListener("change", () => this.run());
    byId("clear").addEventListener("click", () => this.type(""));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.type("");
      // One line to look at, though names may hold line ends.
      if (event.key === "Enter") event.preventDefault();
    });
    this.suggest();
    new ResizeObserver(() => this.drawBars()).observe(byId("mosaic-bar"));
    this.run();
  }

  // A few selections that this file is good for.
  suggest() {
    const { names } = this.picture;
    if (!names.length) return;
    const at = (share) => names[Math.floor(names.length * share)];
    const ideas = [["one column", quotedEntry(at(0.5))]];
    const parts = at(0.5).split(/(?<=[_.\-/:])/u);
    if (parts.length > 1) {
      const pattern = quotedEntry(`${parts.slice(0, Math.ceil(parts.length / 2)).join("")}*`);
      ideas.push([shortened(visible(pattern), 40), pattern]);
    }
    if (names.length >= 8) {
      ideas.push(["four, far apart", [0.1, 0.35, 0.6, 0.85].map(at).map(quotedEntry).join(", ")]);
    }
    ideas.push(["all", "*"]);
    byId("ideas").replaceChildren(
      ...ideas.map(([label, text]) => {
        const button = element("button", "chip", label);
        button.addEventListener("click", () => this.type(text));
        return button;
      }),
    );
  }

  type(text) {
    this.input.value = text;
    this.run();
  }

  // Adds a column to what is typed, or takes it out.
  toggle(position) {
    const name = this.picture.names[position];
    const entries = splitEntries(this.input.value);
    const listed = entries.indexOf(name);
    if (listed >= 0) entries.splice(listed, 1);
    else if (!this.result || !this.result.wanted[position]) entries.push(name);
    this.type(entries.map(quotedEntry).join(", "));
  }

  schedule() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.run());
  }

  get access() {
    const { local, remote, maxMerged } = this.picture.access;
    const [tail, gap] = { local, remote, bare: [null, 0] }[this.accessChoice.value];
    return { tail, gap, maxMerged };
  }

  run() {
    const text = this.input.value;
    this.result = text.trim() ? this.projection.resolve(text) : null;
    if (this.result) {
      this.mosaic = mosaicReads(this.picture, this.result.wanted, this.access);
      this.parquet = parquetReads(this.picture, this.layout, this.result.wanted, this.access);
    }
    this.show();
    this.changed(this.result, this.result ? this.mosaic : null);
  }

  show() {
    byId("results").hidden = !this.result;
    byId("no-results").hidden = Boolean(this.result);
    this.showMissing();
    if (!this.result) {
      byId("selected").textContent = "";
      return;
    }
    const touched = this.mosaic.touched.reduce((sum, one) => sum + (one ? 1 : 0), 0);
    const stored = this.picture.bucketSize.reduce((sum, size) => sum + (size ? 1 : 0), 0);
    byId("selected").textContent =
      `${plural(this.result.count, "column")} in ${countText(touched)} of ${plural(stored, "bucket")}`;
    byId("selected").dataset.count = this.result.count;
    byId("selected").dataset.buckets = touched;
    this.showReads("mosaic", this.mosaic, this.picture.file.size);
    this.showReads("parquet", this.parquet, this.layout.size);
    byId("comparison").hidden = !this.result.count;
    this.showVerdict();
    this.drawBars();
    this.list();
  }

  showMissing() {
    const missing = this.result ? this.result.missing : [];
    const box = byId("missing");
    box.hidden = !missing.length;
    const told = missing.slice(0, MOST_MISSING).map((entry) => `“${shortened(visible(entry), 60)}”`);
    if (missing.length > MOST_MISSING) told.push(`${missing.length - MOST_MISSING} more`);
    box.textContent = missing.length ? `No column matches ${told.join(", ")}` : "";
  }

  showReads(id, reads, size) {
    const bytes = byId(`${id}-bytes`);
    bytes.textContent = bytesText(reads.bytes);
    bytes.title = `${countText(reads.bytes)} bytes`;
    bytes.dataset.bytes = reads.bytes;
    const facts = byId(`${id}-facts`);
    facts.textContent =
      `${plural(reads.list.length, "read")} in ${plural(reads.rounds, "round")}, ` +
      `${shareText(size ? reads.bytes / size : 0)} of ${bytesText(size)}`;
    facts.dataset.reads = reads.list.length;
    facts.dataset.rounds = reads.rounds;
  }

  showVerdict() {
    if (!this.result.count) {
      byId("verdict").textContent = "";
      return;
    }
    const ratio = this.parquet.bytes / Math.max(1, this.mosaic.bytes);
    const times = (value) => (value >= 9.95 ? countText(value) : value.toFixed(1));
    const verdict = byId("verdict");
    verdict.classList.toggle("worse", ratio < 0.95);
    if (ratio >= 1.05) verdict.textContent = `${times(ratio)}× fewer bytes than Parquet's layout`;
    else if (ratio >= 0.95) verdict.textContent = "about as many bytes as Parquet's layout";
    else verdict.textContent = `${times(1 / ratio)}× more bytes than Parquet's layout`;
  }

  // Both files at the same scale; what is read is bright.
  drawBars() {
    if (!this.result) return;
    const { file } = this.picture;
    const longest = Math.max(file.size, this.layout.size, 1);
    const data = cssColour(themeColour("bucket"), 0.28);
    const footer = cssColour(themeColour("schema"), 0.45);
    const lit = cssColour(themeColour("lit"));
    for (const [id, reads, size, end] of [
      ["mosaic-bar", this.mosaic, file.size, file.schemaOffset],
      ["parquet-bar", this.parquet, this.layout.size, this.layout.footerOffset],
    ]) {
      const canvas = byId(id);
      const { width, height, ratio } = fitCanvas(canvas);
      const context = canvas.getContext("2d");
      const scale = width / longest;
      context.clearRect(0, 0, width, height);
      context.fillStyle = data;
      context.fillRect(0, 0, end * scale, height);
      context.fillStyle = footer;
      context.fillRect(end * scale, 0, Math.max((size - end) * scale, ratio), height);
      context.fillStyle = lit;
      for (const [offset, length] of reads.list) {
        const left = Math.min(offset * scale, width - 1.5 * ratio);
        context.fillRect(left, 0, Math.max(length * scale, 1.5 * ratio), height);
      }
    }
  }

  list() {
    const rows = this.mosaic.list.slice(0, MOST_LISTED).map(([offset, length, what]) => {
      const row = element("tr");
      row.dataset.offset = offset;
      row.dataset.length = length;
      const place = what === "open" ? "end of the file" : `row group ${this.picture.shown[what]}`;
      row.append(
        element("td", "", place),
        element("td", "number", countText(offset)),
        element("td", "number", countText(length)),
      );
      return row;
    });
    byId("ranges").replaceChildren(...rows);
    const more = this.mosaic.list.length - rows.length;
    byId("more-ranges").textContent = more ? `and ${plural(more, "more read")}` : "";
    byId("ranges-title").textContent = `The ${plural(this.mosaic.list.length, "read")} of this file`;
  }
}
