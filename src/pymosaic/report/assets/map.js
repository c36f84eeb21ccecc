// The map: row groups, in them buckets, in them columns; areas are bytes, colours what they hold.

const GROUP_CAPTION = 18;
const NAMES_FROM_WIDTH = 64;
const NAMES_FROM_HEIGHT = 16;
const MOST_LABELLED_TILES = 20000;

class MosaicMap {
  constructor(picture, actions) {
    this.picture = picture;
    this.actions = actions;
    this.canvas = byId("map-canvas");
    this.marks = byId("map-marks");
    this.mode = "encoding";
    this.light = null; // { wanted, touched } while a projection is simulated
    this.root = { s: -1, b: -1 };
    this.cursor = null; // { s, b, p } under the pointer or chosen by key
    const { shown, buckets, columns } = picture;
    this.groupBoxes = new Float32Array(shown.length * 4);
    this.bucketBoxes = new Float32Array(shown.length * buckets * 4);
    this.tiles = new Float32Array(shown.length * columns * 4);
    this.listen();
    this.resized();
  }

  listen() {
    const box = byId("map");
    box.addEventListener("mousemove", (event) => this.hover(event));
    box.addEventListener("mouseleave", () => {
      showTooltip(this, null);
      this.mark(null);
    });
    box.addEventListener("click", (event) => {
      const hit = this.hit(event);
      if (hit && hit.p >= 0) this.actions.choose(hit.p);
    });
    box.addEventListener("dblclick", (event) => {
      const hit = this.hit(event);
      if (hit) this.zoomIn(hit);
    });
    box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resized()).observe(box);
  }

  resized() {
    this.size = fitCanvas(this.canvas);
    fitCanvas(this.marks);
    this.layOut();
    this.paint();
  }

  setMode(mode) {
    this.mode = mode;
    this.paint();
  }

  setLight(light) {
    this.light = light;
    this.paint();
  }

  layOut() {
    const { picture, root } = this;
    const { width, height, ratio } = this.size;
    const { buckets, columns, shown } = picture;
    const store = (boxes, index, x, y, w, h) => boxes.set([x, y, w, h], index * 4);
    this.groupBoxes.fill(0);
    this.bucketBoxes.fill(0);
    this.tiles.fill(0);
    const groupSize = new Float64Array(shown.length);
    for (let s = 0; s < shown.length; s++) {
      for (let b = 0; b < buckets; b++) groupSize[s] += picture.bucketSize[s * buckets + b];
    }
    const layBucket = (s, b, x, y, w, h) => {
      const gap = Math.min(root.b >= 0 ? 0 : 1.5 * ratio, w / 8, h / 8);
      store(this.bucketBoxes, s * buckets + b, x, y, w, h);
      const first = picture.bucketStart[b];
      const count = picture.bucketStart[b + 1] - first;
      stripTreemap(
        count,
        (i) => picture.stored[s * columns + first + i],
        x + gap, y + gap, w - 2 * gap, h - 2 * gap,
        (i, ...box) => store(this.tiles, s * columns + first + i, ...box),
      );
    };
    const layGroup = (s, x, y, w, h) => {
      const gap = shown.length > 1 && root.s < 0 ? Math.min(2 * ratio, w / 8, h / 8) : 0;
      const captioned = gap > 0 && h > 64 * ratio && w > 150 * ratio;
      const top = captioned ? GROUP_CAPTION * ratio : gap;
      store(this.groupBoxes, s, x, y, w, h);
      stripTreemap(
        buckets,
        (b) => picture.bucketSize[s * buckets + b],
        x + gap, y + top, w - 2 * gap, h - top - gap,
        (b, ...box) => layBucket(s, b, ...box),
      );
    };
    if (root.b >= 0) layBucket(root.s, root.b, 0, 0, width, height);
    else if (root.s >= 0) layGroup(root.s, 0, 0, width, height);
    else stripTreemap(shown.length, (s) => groupSize[s], 0, 0, width, height, layGroup);
  }

  category(s, p) {
    return this.mode === "encoding"
      ? this.picture.encoding[s * this.picture.columns + p] & 3
      : this.picture.family[p];
  }

  // Straight into pixels: a million tiles take no longer than the picture has room for.
  paint() {
    const { picture, light } = this;
    const { width, height, ratio } = this.size;
    const { columns, buckets, shown } = picture;
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(pixelColour(themeColour("stone")));
    const colours = palette(this.mode);
    for (let s = 0; s < shown.length; s++) {
      for (let b = 0; b < buckets; b++) {
        const bucketBox = (s * buckets + b) * 4;
        if (!this.bucketBoxes[bucketBox + 2]) continue;
        const along = light && light.touched[s * buckets + b] === READ_WHOLE ? 1 : 2;
        for (let p = picture.bucketStart[b]; p < picture.bucketStart[b + 1]; p++) {
          const box = (s * columns + p) * 4;
          const left = Math.round(this.tiles[box]);
          const top = Math.round(this.tiles[box + 1]);
          let right = Math.round(this.tiles[box] + this.tiles[box + 2]);
          let bottom = Math.round(this.tiles[box + 1] + this.tiles[box + 3]);
          if (right <= left || bottom <= top) continue;
          // Grout, where stones are large enough to have some.
          if (right - left > 3) right -= right - left > 12 * ratio ? ratio : 1;
          if (bottom - top > 3) bottom -= bottom - top > 12 * ratio ? ratio : 1;
          const brightness = !light || light.wanted[p] ? 0 : along;
          const shade = (this.category(s, p) * SHADES + shadeOf(p)) * 3 + brightness;
          for (let y = top; y < Math.min(bottom, height); y++) {
            pixels.fill(colours[shade], y * width + left, y * width + Math.min(right, width));
          }
        }
      }
    }
    context.putImageData(image, 0, 0);
    this.drawCaptions(context, ratio);
    this.drawNames(context, ratio, pixels);
    this.drawTouched(context, ratio);
    this.mark(this.cursor);
  }

  drawCaptions(context, ratio) {
    if (this.root.s >= 0 || this.picture.shown.length < 2) return;
    context.font = `600 ${11 * ratio}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.fillStyle = cssColour(themeColour("caption"));
    for (let s = 0; s < this.picture.shown.length; s++) {
      const [x, y, w, h] = this.groupBoxes.subarray(s * 4, s * 4 + 4);
      if (h <= 64 * ratio || w <= 150 * ratio) continue;
      const text = `row group ${this.picture.shown[s]} · ${plural(this.picture.shownRows[s], "row")}`;
      context.fillText(text, x + 5 * ratio, y + (GROUP_CAPTION / 2) * ratio + 1, w - 10 * ratio);
    }
  }

  // The name, or what differs in it; cut only where there is room for enough of it.
  label(p, width, room) {
    const names = [this.picture.shortName(p), this.picture.shortName(p, "")].map(visible);
    const whole = names.find((name) => name.length <= room);
    return whole ?? (width < NAMES_FROM_WIDTH ? "" : shortened(names[0], room - 1));
  }

  // On top of the tiles, whose colours are in `pixels`.
  drawNames(context, ratio, pixels) {
    this.labels = 0;
    const { picture, root } = this;
    const { buckets, columns, shown } = picture;
    // Labels wherever there is room; of very many tiles, only in a bucket that was zoomed into.
    if (root.b < 0 && shown.length * columns > MOST_LABELLED_TILES) return;
    context.font = `${11.5 * ratio}px ui-monospace, monospace`;
    context.textBaseline = "middle";
    const character = context.measureText("m").width;
    for (let cell = 0; cell < shown.length * buckets; cell++) {
      if (!this.bucketBoxes[cell * 4 + 2]) continue;
      const s = Math.floor(cell / buckets);
      const b = cell % buckets;
      for (let p = picture.bucketStart[b]; p < picture.bucketStart[b + 1]; p++) {
        const box = (s * columns + p) * 4;
        const [x, y, w, h] = this.tiles.subarray(box, box + 4);
        if (w < 3 * character || h < NAMES_FROM_HEIGHT * ratio) continue;
        const text = this.label(p, w / ratio, Math.floor((w - 8 * ratio) / character));
        if (!text) continue;
        const pixel = pixels[Math.floor(y + h / 2) * this.size.width + Math.floor(x + w / 2)];
        const colour = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
        context.fillStyle = cssColour(readableOn(colour));
        context.fillText(text, x + 4 * ratio, y + h / 2, w);
        this.labels += 1;
      }
    }
    this.canvas.dataset.labels = this.labels;
  }

  drawTouched(context, ratio) {
    if (!this.light) return;
    context.strokeStyle = cssColour(themeColour("lit"));
    const { buckets, shown } = this.picture;
    for (let cell = 0; cell < shown.length * buckets; cell++) {
      const [x, y, w, h] = this.bucketBoxes.subarray(cell * 4, cell * 4 + 4);
      if (!this.light.touched[cell] || !w) continue;
      const line = Math.min(2 * ratio, w / 8, h / 8);
      context.lineWidth = line;
      context.strokeRect(x + line / 2, y + line / 2, w - line, h - line);
    }
  }

  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) * this.size.ratio;
    const y = (event.clientY - box.top) * this.size.ratio;
    const { picture } = this;
    const inside = (boxes, index) =>
      x >= boxes[index * 4] && x < boxes[index * 4] + boxes[index * 4 + 2] &&
      y >= boxes[index * 4 + 1] && y < boxes[index * 4 + 1] + boxes[index * 4 + 3];
    for (let cell = 0; cell < picture.shown.length * picture.buckets; cell++) {
      if (!inside(this.bucketBoxes, cell)) continue;
      const s = Math.floor(cell / picture.buckets);
      const b = cell % picture.buckets;
      for (let p = picture.bucketStart[b]; p < picture.bucketStart[b + 1]; p++) {
        if (inside(this.tiles, s * picture.columns + p)) return { s, b, p };
      }
      return { s, b, p: -1 };
    }
    return null;
  }

  hover(event) {
    const hit = this.hit(event);
    this.mark(hit);
    showTooltip(this, hit && this.describe(hit), event.clientX, event.clientY);
  }

  describe({ s, b, p }) {
    const { picture } = this;
    const size = picture.bucketSize[s * picture.buckets + b];
    const layout = picture.isPaged(s, b) ? "paged" : "monolithic";
    const width = picture.bucketStart[b + 1] - picture.bucketStart[b];
    const bucketLine =
      `bucket ${b} of row group ${picture.shown[s]}: ` +
      `${plural(width, "column")}, ${bytesText(size)}, ${layout}`;
    const first = picture.names[picture.bucketStart[b]];
    const last = picture.names[picture.bucketStart[b + 1] - 1];
    const range = width > 1 ? `from ${shortened(visible(first), 120)} to ${shortened(visible(last), 120)}` : "";
    if (p < 0) return range ? [bucketLine, range] : [bucketLine];
    const cell = s * picture.columns + p;
    const sign = picture.isPaged(s, b) || width === 1 ? "" : "≈ ";
    return [
      shortened(visible(picture.names[p]), 500),
      `${picture.typeName(p)} · ${picture.encodingName(s, p)}`,
      `${sign}${bytesText(Math.round(picture.stored[cell]))} stored, ${bytesText(picture.raw[cell])} raw`,
      bucketLine,
      ...(range ? [range] : []),
    ];
  }

  mark(cursor) {
    this.cursor = cursor;
    const { ratio } = this.size;
    const context = this.marks.getContext("2d");
    context.clearRect(0, 0, this.marks.width, this.marks.height);
    if (!cursor) return;
    const outline = (boxes, index, colour, line) => {
      const [x, y, w, h] = boxes.subarray(index * 4, index * 4 + 4);
      if (!w) return;
      context.strokeStyle = colour;
      context.lineWidth = line * ratio;
      context.strokeRect(x, y, w, h);
    };
    outline(this.bucketBoxes, cursor.s * this.picture.buckets + cursor.b, cssColour(themeColour("ink"), 0.65), 1.5);
    if (cursor.p >= 0) {
      const tile = cursor.s * this.picture.columns + cursor.p;
      outline(this.tiles, tile, cssColour(themeColour("stone")), 5);
      outline(this.tiles, tile, cssColour(themeColour("ink")), 2.5);
    }
  }

  zoomIn({ s, b }) {
    if (this.root.b >= 0) return;
    const goesToGroup = this.root.s < 0 && this.picture.shown.length > 1;
    this.zoomTo(goesToGroup ? { s, b: -1 } : { s, b });
  }

  zoomOut() {
    if (this.root.b >= 0 && this.picture.shown.length > 1) this.zoomTo({ s: this.root.s, b: -1 });
    else this.zoomTo({ s: -1, b: -1 });
  }

  zoomTo(root) {
    this.root = root;
    this.cursor = null;
    showTooltip(this, null);
    this.layOut();
    this.paint();
    this.drawPath();
    this.actions.zoomed(root);
  }

  // Where we are, as buttons that lead back out.
  drawPath() {
    const { root, picture } = this;
    const steps = [["whole file", { s: -1, b: -1 }]];
    if (root.s >= 0 && picture.shown.length > 1) {
      steps.push([`row group ${picture.shown[root.s]}`, { s: root.s, b: -1 }]);
    }
    if (root.b >= 0) steps.push([`bucket ${root.b}`, root]);
    byId("map-path").replaceChildren(
      ...steps.map(([text, target], index) => {
        const last = index === steps.length - 1;
        const step = element(last ? "span" : "button", "", text);
        if (!last) step.addEventListener("click", () => this.zoomTo(target));
        return step;
      }),
    );
  }

  // Outlines a column that was chosen elsewhere.
  reveal(position) {
    const b = this.picture.bucketOf(position);
    if (this.root.b >= 0 && this.root.b !== b) this.zoomOut();
    if (!this.picture.shown.length) return;
    this.mark({ s: Math.max(0, this.root.s), b, p: position });
  }

  key(event) {
    const { picture } = this;
    if (!picture.shown.length || !picture.columns) return;
    const at = this.cursor && this.cursor.p >= 0 ? this.cursor : null;
    const s = at ? at.s : Math.max(0, this.root.s);
    let p = at ? at.p : this.root.b >= 0 ? picture.bucketStart[this.root.b] : 0;
    const b = picture.bucketOf(p);
    const bucketFrom = (bucket) => picture.bucketStart[Math.min(Math.max(bucket, 0), picture.buckets - 1)];
    let group = s;
    switch (event.key) {
      case "ArrowRight": p = at ? p + 1 : p; break;
      case "ArrowLeft": p -= 1; break;
      case "ArrowDown": p = bucketFrom(b + 1); break;
      case "ArrowUp": p = bucketFrom(b - 1); break;
      case "PageDown": group += 1; break;
      case "PageUp": group -= 1; break;
      case "Home": p = 0; break;
      case "End": p = picture.columns - 1; break;
      case "Enter": this.zoomIn({ s, b }); break;
      case "Escape": this.zoomOut(); break;
      case " ": this.actions.toggle(p); break;
      default: return;
    }
    event.preventDefault();
    let low = 0;
    let high = picture.columns - 1;
    if (this.root.b >= 0) {
      low = picture.bucketStart[this.root.b];
      high = picture.bucketStart[this.root.b + 1] - 1;
    }
    p = Math.min(Math.max(p, low), high);
    group = this.root.s >= 0 ? this.root.s : Math.min(Math.max(group, 0), picture.shown.length - 1);
    const cursor = { s: group, b: picture.bucketOf(p), p };
    this.mark(cursor);
    this.actions.choose(p);
    byId("map-status").textContent = this.describe(cursor).join(". ");
  }
}
