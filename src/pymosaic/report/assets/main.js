// Puts the parts of the page together.

function showFile(picture) {
  const { file } = picture;
  byId("title").textContent = visible(picture.title);
  const names = { bpe: "names in byte pairs", front: "names front-coded" }[file.nameEncoding];
  const compression = file.compression === "none" ? "not compressed" : file.compression;
  const statistics = picture.withStatistics ? `statistics of ${plural(picture.withStatistics, "column")}` : "no statistics";
  byId("subtitle").textContent = `Mosaic v1 · ${compression} · ${names} · ${statistics}`;
  const end = file.size - file.schemaOffset + file.annexSize;
  const figures = [
    ["column", file.columns, countText],
    ["row", file.rows, countText],
    ["bucket", file.buckets, countText],
    ["row group", file.rowGroups, countText],
    ["file", file.size, bytesText],
    ["metadata", end, bytesText],
  ];
  byId("figures").replaceChildren(
    ...figures.map(([name, value, shown]) => {
      const box = element("div", "figure");
      const number = element("strong", "", shown(value));
      number.dataset.value = value;
      number.dataset.figure = name;
      number.title = countText(value);
      const isMany = shown === countText && value !== 1;
      box.append(number, element("span", "", isMany ? `${name}s` : name));
      return box;
    }),
  );
  if (picture.shown.length < file.rowGroups) {
    byId("notice").hidden = false;
    byId("notice").textContent =
      `This page shows ${countText(picture.shown.length)} of ${countText(file.rowGroups)} row groups, ` +
      "evenly spread; sizes, nulls and reads refer to these.";
  }
  if (!picture.totalBuckets) {
    byId("mosaic").classList.add("nothing");
    byId("notice").hidden = false;
    byId("notice").textContent = file.rows
      ? "No column of this file stores any bytes: all values are null, or there are no columns."
      : "This file has no rows: there is a schema, but nothing to draw.";
  }
  byId("affixes").textContent = affixesText(picture.affixes);
  showParts(picture);
  byId("parquet-note").textContent = parquetNote(picture);
}

// How many bytes the file spends on what.
function showParts(picture) {
  const { file } = picture;
  const parts = [
    ["bucket", "buckets", picture.totalBuckets],
    ...(file.annexSize ? [["annex", "annex", file.annexSize]] : []),
    ["schema", "schema block", file.indexOffset - file.schemaOffset],
    ["index", "row group index", file.size - file.footerSize - file.indexOffset],
    ["footer", "footer", file.footerSize],
  ];
  const rest = file.size - parts.reduce((sum, [, , size]) => sum + size, 0);
  if (rest > 0) parts.push(["unknown", picture.restName, rest]);
  byId("parts").replaceChildren(
    ...parts.map(([colour, name, size]) => {
      const item = element("li");
      const swatch = element("span", "swatch");
      swatch.style.background = `var(--${colour})`;
      const text = element("span", "", `${name} ${bytesText(size)} (${shareText(size / file.size)})`);
      text.dataset.part = name;
      text.dataset.bytes = size;
      item.append(swatch, text);
      return item;
    }),
  );
}

function parquetNote(picture) {
  const { measuredColumns, schemaBytes, rowGroupBytes } = picture.parquet;
  const extent = measuredColumns < picture.columns ? `${plural(measuredColumns, "column")}, evenly spread, of this file` : "this file's columns";
  return (
    `The figure for Parquet is an estimate. Its footer is measured: pyarrow wrote the footer for ${extent}, ` +
    `with names, statistics of the first rows and no Arrow schema. That is ${bytesText(schemaBytes)} for the schema ` +
    `and ${bytesText(rowGroupBytes)} for each row group, and a reader needs all of it before the first value. ` +
    "A column chunk is assumed to be as long as the column in this file, although Parquet compresses each column on " +
    "its own and adds page headers. Chunks are in schema order. The same rules apply to reading both files."
  );
}

// What the colours mean, with the bytes that have them.
function showLegend(picture, mode, root = { s: -1, b: -1 }) {
  const names = mode === "encoding" ? picture.encodings : TYPE_FAMILIES.map(([name]) => name);
  const colours = mode === "encoding" ? ENCODING_COLOURS : FAMILY_COLOURS;
  const bytes = new Float64Array(names.length);
  const counts = new Float64Array(names.length);
  const inView = (list, chosen) => (chosen >= 0 ? [chosen] : list);
  const groups = inView([...picture.shown.keys()], root.s);
  const firstColumn = root.b >= 0 ? picture.bucketStart[root.b] : 0;
  const lastColumn = root.b >= 0 ? picture.bucketStart[root.b + 1] : picture.columns;
  for (const s of groups) {
    for (let p = firstColumn; p < lastColumn; p++) {
      const cell = s * picture.columns + p;
      const category = mode === "encoding" ? picture.encoding[cell] & 3 : picture.family[p];
      bytes[category] += picture.stored[cell];
      counts[category] += 1;
    }
  }
  const total = bytes.reduce((sum, size) => sum + size, 0);
  const used = names.map((_, index) => index).filter((index) => counts[index]);
  byId("legend").replaceChildren(
    ...used.map((index) => {
      const item = element("li");
      const swatch = element("span", "swatch");
      swatch.style.background = `var(--${colours[index]})`;
      const share = total ? bytes[index] / total : 0;
      const columns = Math.round(counts[index] / Math.max(1, groups.length));
      const text = element("span", "", `${names[index]} `);
      const detail = element("span", "quiet", `${plural(columns, "column")}, ${shareText(share)}`);
      detail.dataset.category = names[index];
      detail.dataset.cells = counts[index];
      item.append(swatch, text, detail);
      return item;
    }),
  );
}

function chooseTheme(repaint) {
  const root = document.documentElement;
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const changed = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    themeColours.clear();
    repaint();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    changed();
  });
  system.addEventListener("change", changed);
  changed();
}

function start(picture) {
  showFile(picture);
  let chosen = -1;
  let simulator = null;
  let table = null;
  let map = null;
  const describe = () => {
    if (chosen < 0) return;
    const isWanted = Boolean(simulator.result && simulator.result.wanted[chosen]);
    showDetails(picture, chosen, isWanted, actions.toggle);
  };
  const actions = {
    choose(position) {
      chosen = position;
      describe();
      map.reveal(position);
      table.reveal(position);
    },
    toggle(position) {
      simulator.toggle(position);
    },
    zoomed(root) {
      showLegend(picture, map.mode, root);
    },
  };
  map = new MosaicMap(picture, actions);
  map.drawPath();
  table = new ColumnTable(picture, actions);
  const strip = new Strip(picture);
  simulator = new Simulator(picture, (result, reads) => {
    map.setLight(result && { wanted: result.wanted, touched: reads.touched });
    table.setWanted(result ? result.wanted : null);
    strip.setReads(reads);
    describe();
  });
  showLegend(picture, "encoding");
  for (const choice of document.querySelectorAll("input[name=colour]")) {
    choice.addEventListener("change", () => {
      map.setMode(choice.value);
      showLegend(picture, choice.value, map.root);
    });
  }
  chooseTheme(() => {
    map.paint();
    strip.paint();
    simulator.drawBars();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = { "/": "search", c: "columns", m: "map", b: "strip" }[event.key];
    if (!target) return;
    byId(target).focus();
    event.preventDefault();
  });
  document.body.dataset.ready = "yes";
}

unpack(byId("payload").textContent).then(start, (error) => {
  byId("notice").hidden = false;
  byId("notice").textContent = `This page cannot show its numbers: ${error.message}`;
  throw error;
});
