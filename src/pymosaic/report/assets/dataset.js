// The page of a dataset: files by groups of columns, and what a query would read of each.

const MOST_FILES = 1000;
const MOST_GROUPS = 24;
const MOST_DIFFERENCES = 500;

async function unpackDocument(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (mark) => mark.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// The first word of a name after what all names share.
function groupOf(name, start) {
  for (let index = start + 1; index < name.length; index++) {
    if (SEPARATORS.test(name[index])) return `${name.slice(0, index + 1)}*`;
    if (/[0-9]/u.test(name[index]) && /[A-Za-z]/u.test(name[index - 1])) return `${name.slice(0, index)}*`;
  }
  return name;
}

function ageText(modified, now) {
  if (modified === null || modified === undefined) return "";
  const hours = Math.max(0, (now - modified) / 3600);
  if (hours < 1) return `${Math.round(hours * 60)} min`;
  return hours < 48 ? `${Math.round(hours)} h` : `${countText(Math.round(hours / 24))} days`;
}

class DatasetPage {
  constructor(contents) {
    this.contents = contents;
    this.files = contents.files.filter((file) => !file.error);
    this.names = [...new Set(contents.schemas.flatMap(({ names }) => names))].sort();
    const shared = commonAffixes(this.names).prefix.length;
    // For each schema, the group of each of its columns.
    this.groupsOf = contents.schemas.map(({ names }) => names.map((name) => groupOf(name, shared)));
    this.sizes = this.files.map((file) => this.groupSizes(file));
    const totals = new Map();
    for (const sizes of this.sizes) {
      for (const [group, size] of sizes) totals.set(group, (totals.get(group) ?? 0) + size);
    }
    this.groups = [...totals].sort((a, b) => b[1] - a[1]).map(([group]) => group);
    this.projections = contents.schemas.map((schema) => new Projection(schema));
    this.showFacts();
    this.showFiles(null);
    this.showDifferences();
    byId("columns").addEventListener("input", () => this.simulate());
    document.body.dataset.ready = "yes";
  }

  // A bucket's bytes count for its columns in equal parts.
  groupSizes(file) {
    const { bucketStart } = this.contents.schemas[file.schema];
    const groups = this.groupsOf[file.schema];
    const sizes = new Map();
    file.buckets.forEach((size, bucket) => {
      const count = bucketStart[bucket + 1] - bucketStart[bucket];
      for (let p = bucketStart[bucket]; p < bucketStart[bucket + 1]; p++) {
        sizes.set(groups[p], (sizes.get(groups[p]) ?? 0) + size / count);
      }
    });
    return sizes;
  }

  showFacts() {
    const { contents, files } = this;
    byId("title").textContent = visible(contents.title);
    const sum = (key) => files.reduce((total, file) => total + file[key], 0);
    byId("facts").textContent = [
      plural(contents.files.length, "file"),
      plural(sum("rows"), "row"),
      plural(this.names.length, "column"),
      plural(contents.schemas.length, "different schema"),
      bytesText(sum("size")),
    ].join(", ");
    const bad = contents.files.length - files.length;
    const problems = [];
    if (bad) problems.push(`${plural(bad, "file")} cannot be read`);
    if (contents.missing.length) problems.push(`${plural(contents.missing.length, "file")} missing`);
    byId("notice").hidden = !problems.length;
    byId("notice").textContent = problems.join(", ");
  }

  // `reads`: bytes to read of each file, or null.
  showFiles(reads) {
    const groups = this.groups.slice(0, MOST_GROUPS);
    const titles = ["File", "Rows", "Size", "Age", "Columns", ...(reads ? ["Would be read"] : []), ...groups];
    byId("heads").replaceChildren(
      ...titles.map((title, index) => element("th", index ? "number" : "", visible(shortened(title, 60)))),
    );
    let most = 1;
    for (const sizes of this.sizes) {
      for (const group of groups) most = Math.max(most, sizes.get(group) ?? 0);
    }
    const now = Date.now() / 1000;
    let place = -1;
    const rows = this.contents.files.slice(0, MOST_FILES).map((file) => {
      const row = element("tr");
      row.append(element("td", "", visible(shortened(file.path, 120))));
      if (file.error) {
        const told = element("td", "error", visible(shortened(file.error, 300)));
        told.colSpan = titles.length - 1;
        row.append(told);
        return row;
      }
      place += 1;
      const read = reads ? [bytesText(reads[place])] : [];
      const { names } = this.contents.schemas[file.schema];
      const lacks = this.names.length - names.length;
      const columns = lacks ? `${countText(names.length)} (${countText(lacks)} missing)` : countText(names.length);
      for (const text of [countText(file.rows), bytesText(file.size), ageText(file.modified, now), columns, ...read]) {
        row.append(element("td", "number", text));
      }
      for (const group of groups) {
        const size = this.sizes[place].get(group);
        const cell = element("td", "heat", size === undefined ? "–" : bytesText(Math.round(size)));
        if (size) cell.style.background = `color-mix(in srgb, var(--heat) ${(35 * Math.sqrt(size / most)).toFixed(1)}%, transparent)`;
        row.append(cell);
      }
      return row;
    });
    byId("rows").replaceChildren(...rows);
    const hidden = this.contents.files.length - rows.length;
    const others = this.groups.length - groups.length;
    byId("more").textContent = [
      hidden ? `${plural(hidden, "more file")}` : "",
      others ? `${plural(others, "smaller group")} not shown` : "",
    ].filter(Boolean).join(", ");
  }

  // A query reads the metadata at the end of each file, and the buckets that hold its columns.
  simulate() {
    const text = byId("columns").value;
    if (!text.trim()) {
      byId("reads").textContent = "Type names or a pattern to see how many bytes of each file would be read.";
      this.showFiles(null);
      return;
    }
    const wanted = this.projections.map((projection) => projection.resolve(text).wanted);
    const found = new Set();
    wanted.forEach((marks, schema) => {
      marks.forEach((mark, p) => mark && found.add(this.contents.schemas[schema].names[p]));
    });
    const reads = this.files.map((file) => {
      const { bucketStart } = this.contents.schemas[file.schema];
      const isWanted = (bucket) => wanted[file.schema].subarray(bucketStart[bucket], bucketStart[bucket + 1]).some(Boolean);
      return file.overhead + file.buckets.reduce((sum, size, bucket) => sum + (isWanted(bucket) ? size : 0), 0);
    });
    const total = reads.reduce((sum, size) => sum + size, 0);
    const size = this.files.reduce((sum, file) => sum + file.size, 0);
    byId("reads").textContent = found.size
      ? `${plural(found.size, "column")}: at most ${bytesText(total)} of ${bytesText(size)} (${shareText(size ? total / size : 0)}), in ${plural(this.files.length, "file")}`
      : "No column matches.";
    byId("reads").dataset.bytes = total;
    byId("reads").dataset.columns = found.size;
    this.showFiles(reads);
  }

  // Columns that some files lack, or that have several types.
  showDifferences() {
    const filesOf = new Array(this.contents.schemas.length).fill(0);
    for (const file of this.files) filesOf[file.schema] += 1;
    const known = new Map();
    this.contents.schemas.forEach(({ names, types }, schema) => {
      names.forEach((name, p) => {
        const one = known.get(name) ?? { files: 0, types: new Set() };
        one.files += filesOf[schema];
        one.types.add(types[p]);
        known.set(name, one);
      });
    });
    const differing = this.names.filter((name) => known.get(name).files < this.files.length || known.get(name).types.size > 1);
    byId("differences").replaceChildren(
      ...differing.slice(0, MOST_DIFFERENCES).map((name) => {
        const { files, types } = known.get(name);
        const row = element("tr");
        row.append(
          element("td", "", visible(shortened(name, 200))),
          element("td", "", [...types].map(visible).join(", ")),
          element("td", "number", `${countText(files)} of ${countText(this.files.length)}`),
        );
        return row;
      }),
    );
    const more = differing.length - MOST_DIFFERENCES;
    byId("no-differences").textContent = differing.length ? (more > 0 ? `${plural(more, "more column")}` : "") : "All files have the same columns.";
    byId("no-differences").dataset.count = differing.length;
  }
}

unpackDocument(byId("payload").textContent).then((contents) => new DatasetPage(contents), (error) => {
  byId("notice").hidden = false;
  byId("notice").textContent = `This page cannot show its numbers: ${error.message}`;
  throw error;
});
