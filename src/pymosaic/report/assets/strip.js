// The bytes of a file from first to last, to scale: what they are, and which would be read.

const BUCKET = 0;
const SCHEMA = 1;
const INDEX = 2;
const FOOTER = 3;
const UNKNOWN = 4;
const ANNEX = 5;
const PART_COLOURS = ["bucket", "schema", "index", "footer", "unknown", "annex"];

// Parts of the file by rising offset: `offsets`, `lengths`, `kinds` and the bucket's cell.
function fileParts(picture) {
  const { file, buckets, shown } = picture;
  const cells = [];
  for (let cell = 0; cell < shown.length * buckets; cell++) {
    if (picture.bucketSize[cell]) cells.push(cell);
  }
  cells.sort((a, b) => picture.bucketOffset[a] - picture.bucketOffset[b]);
  const parts = { offsets: [], lengths: [], kinds: [], cells: [] };
  let end = 0;
  const add = (offset, length, kind, cell) => {
    if (offset > end) push(end, offset - end, UNKNOWN, -1);
    if (length > 0) push(offset, length, kind, cell);
    end = Math.max(end, offset + length);
  };
  const push = (offset, length, kind, cell) => {
    parts.offsets.push(offset);
    parts.lengths.push(length);
    parts.kinds.push(kind);
    parts.cells.push(cell);
  };
  for (const cell of cells) add(picture.bucketOffset[cell], picture.bucketSize[cell], BUCKET, cell);
  if (file.annexSize) add(file.annexOffset, file.annexSize, ANNEX, -1);
  add(file.schemaOffset, file.indexOffset - file.schemaOffset, SCHEMA, -1);
  add(file.indexOffset, file.size - file.footerSize - file.indexOffset, INDEX, -1);
  add(file.size - file.footerSize, file.footerSize, FOOTER, -1);
  return parts;
}

class Strip {
  constructor(picture) {
    this.picture = picture;
    this.parts = fileParts(picture);
    this.canvas = byId("strip-canvas");
    this.reads = null;
    this.from = 0;
    this.to = Math.max(1, picture.file.size);
    this.listen();
    this.paint();
  }

  listen() {
    const box = byId("strip");
    box.addEventListener("mousemove", (event) => this.hover(event));
    box.addEventListener("mouseleave", () => showTooltip(this, null));
    box.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && document.activeElement !== box) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.byteAt(event));
    }, { passive: false });
    box.addEventListener("pointerdown", (event) => {
      this.drag = { x: event.clientX, from: this.from, to: this.to };
      box.setPointerCapture(event.pointerId);
    });
    box.addEventListener("pointermove", (event) => this.dragged(event));
    box.addEventListener("pointerup", () => (this.drag = null));
    box.addEventListener("keydown", (event) => this.key(event));
    byId("strip-in").addEventListener("click", () => this.zoom(0.5));
    byId("strip-out").addEventListener("click", () => this.zoom(2));
    byId("strip-all").addEventListener("click", () => this.show(0, this.picture.file.size));
    byId("strip-end").addEventListener("click", () => {
      const { size, schemaOffset } = this.picture.file;
      const margin = (size - schemaOffset) * 0.08;
      this.show(schemaOffset - margin, size);
    });
    new ResizeObserver(() => this.paint()).observe(box);
  }

  setReads(reads) {
    this.reads = reads;
    this.paint();
  }

  show(from, to) {
    const { size } = this.picture.file;
    const span = Math.min(Math.max(to - from, Math.min(16, size)), size);
    this.from = Math.min(Math.max(from, 0), size - span);
    this.to = this.from + span;
    this.paint();
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  key(event) {
    const span = this.to - this.from;
    switch (event.key) {
      case "ArrowLeft": this.show(this.from - span / 8, this.to - span / 8); break;
      case "ArrowRight": this.show(this.from + span / 8, this.to + span / 8); break;
      case "+": case "=": case "ArrowUp": this.zoom(0.5); break;
      case "-": case "ArrowDown": this.zoom(2); break;
      case "Home": this.show(0, span); break;
      case "End": this.show(this.picture.file.size - span, this.picture.file.size); break;
      case "0": case "Escape": this.show(0, this.picture.file.size); break;
      default: return;
    }
    event.preventDefault();
    byId("strip-status").textContent =
      `bytes ${countText(this.from)} to ${countText(this.to)} of ${countText(this.picture.file.size)}`;
  }

  dragged(event) {
    if (!this.drag) return;
    const box = this.canvas.getBoundingClientRect();
    const moved = ((event.clientX - this.drag.x) / box.width) * (this.drag.to - this.drag.from);
    this.show(this.drag.from - moved, this.drag.to - moved);
  }

  byteAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return this.from + ((event.clientX - box.left) / box.width) * (this.to - this.from);
  }

  // The part that holds a byte.
  partAt(byte) {
    const { offsets, lengths } = this.parts;
    let low = 0;
    let high = offsets.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (offsets[middle] + lengths[middle] <= byte) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  hover(event) {
    const index = this.partAt(this.byteAt(event));
    if (this.drag || index >= this.parts.offsets.length) return showTooltip(this, null);
    return showTooltip(this, this.describe(index), event.clientX, event.clientY);
  }

  describe(index) {
    const { picture, parts } = this;
    const cell = parts.cells[index];
    const names = ["", "schema block: names and types", "row group index", "footer", picture.restName, "annex: checksums of schema block, index and footer"];
    let title = names[parts.kinds[index]];
    if (parts.kinds[index] === BUCKET) {
      const s = Math.floor(cell / picture.buckets);
      title = `row group ${picture.shown[s]}, bucket ${cell % picture.buckets}`;
    }
    return [
      title,
      `${bytesText(parts.lengths[index])} from byte ${countText(parts.offsets[index])}`,
      `${shareText(parts.lengths[index] / picture.file.size)} of the file`,
    ];
  }

  colourOf(index) {
    const colour = themeColour(PART_COLOURS[this.parts.kinds[index]]);
    const cell = this.parts.cells[index];
    if (cell < 0) return cssColour(colour);
    const group = Math.floor(cell / this.picture.buckets);
    const shift = (cell % this.picture.buckets) % 2 ? 0.16 : 0;
    return cssColour(mixed(group % 2 ? themeColour("bucket-other") : colour, [255, 255, 255], shift));
  }

  paint() {
    const { width, height, ratio } = fitCanvas(this.canvas);
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    const scale = width / (this.to - this.from);
    const bar = { top: 4 * ratio, height: 44 * ratio };
    this.drawParts(context, scale, bar, this.from, this.to);
    if (this.reads) {
      context.fillStyle = cssColour(themeColour("card"), 0.72);
      context.fillRect(0, bar.top, width, bar.height);
      // What would be read is shown in its full colour again, underlined.
      const lit = cssColour(themeColour("lit"));
      for (const [offset, length] of this.reads.list) {
        if (offset + length <= this.from || offset >= this.to) continue;
        this.drawParts(context, scale, bar, offset, offset + length);
        const left = (offset - this.from) * scale;
        context.fillStyle = lit;
        context.fillRect(left, bar.top + bar.height, Math.max(length * scale, 2 * ratio), 4 * ratio);
      }
    }
    this.drawRuler(context, width, bar.top + bar.height, ratio);
  }

  drawParts(context, scale, bar, start, stop) {
    const { offsets, lengths, kinds } = this.parts;
    const end = Math.min(stop, this.to);
    let painted = -1;
    for (let i = this.partAt(Math.max(start, this.from)); i < offsets.length && offsets[i] < end; i++) {
      const left = (Math.max(offsets[i], start, this.from) - this.from) * scale;
      const right = (Math.min(offsets[i] + lengths[i], end) - this.from) * scale;
      // What is narrower than a pixel shares it, the last structures excepted.
      if (right < painted + 1 && kinds[i] === BUCKET) continue;
      painted = right;
      context.fillStyle = this.colourOf(i);
      context.fillRect(left, bar.top, Math.max(right - left, 1), bar.height);
    }
  }

  drawRuler(context, width, top, ratio) {
    const span = this.to - this.from;
    const rough = (span / width) * 110 * ratio;
    const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    context.fillStyle = cssColour(themeColour("caption"));
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.textBaseline = "top";
    for (let byte = Math.ceil(this.from / step) * step; byte <= this.to; byte += step) {
      const x = ((byte - this.from) / span) * width;
      context.fillRect(Math.min(x, width - ratio), top + 6 * ratio, ratio, 5 * ratio);
      const text = span < 20000 ? countText(byte) : bytesText(byte);
      const room = context.measureText(text).width;
      context.fillText(text, Math.min(Math.max(x - room / 2, 0), width - room), top + 14 * ratio);
    }
  }
}
