// The numbers of the file: unpacked once, kept in flat arrays, no object per column.

const ARRAY_KINDS = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  float64: Float64Array,
};

async function unpack(base64) {
  const binary = atob(base64);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const contents = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  for (const [name, [kind, offset, count]] of Object.entries(contents.arrays)) {
    contents.arrays[name] = new ARRAY_KINDS[kind](buffer, start + offset, count);
  }
  return new Picture(contents);
}

const TYPE_FAMILIES = [
  ["integer", /^(TINYINT|SMALLINT|INTEGER|BIGINT)/],
  ["float", /^(FLOAT|DOUBLE)/],
  ["decimal", /^DECIMAL/],
  ["boolean", /^BOOLEAN/],
  ["date and time", /^(DATE|TIME)/],
  ["text", /^(STRING|CHAR|VARCHAR)/],
  ["binary", /^(BYTES|BINARY|VARBINARY)/],
  ["list and map", /^(ARRAY|MAP)/],
];

const LONG_NAME = 28;

class Picture {
  constructor(contents) {
    Object.assign(this, contents.arrays);
    this.title = contents.title;
    this.file = contents.file;
    this.names = contents.names;
    // Short names are shown whole.
    const longest = contents.names.reduce((most, name) => Math.max(most, name.length), 0);
    this.affixes = longest > LONG_NAME ? commonAffixes(contents.names) : { prefix: "", suffix: "" };
    this.typeNames = contents.typeNames;
    this.encodings = contents.encodings;
    this.minimum = contents.minimum;
    this.maximum = contents.maximum;
    this.withStatistics = contents.withStatistics;
    this.samples = contents.samples;
    this.parquet = contents.parquet;
    this.access = contents.access;
    this.shown = contents.shown;
    this.shownRows = contents.shownRows;
    this.columns = contents.file.columns;
    this.buckets = contents.file.buckets;
    this.families = this.typeNames.map((name) =>
      TYPE_FAMILIES.findIndex(([, pattern]) => pattern.test(name)),
    );
    this.place();
    this.attribute();
    this.addUp();
  }

  // Where the columns of a bucket are, and their physical columns: children follow all primaries.
  place() {
    const { columns, buckets } = this;
    this.bucketStart = new Uint32Array(buckets + 1);
    for (let b = 0; b <= buckets; b++) {
      this.bucketStart[b] = Math.floor((b * columns + buckets - 1) / buckets);
    }
    this.childrenBefore = new Uint32Array(columns + 1);
    for (let p = 0; p < columns; p++) {
      this.childrenBefore[p + 1] = this.childrenBefore[p] + this.children[p];
    }
    this.physicalColumns = columns + this.childrenBefore[columns];
  }

  // A name without what all names share.
  shortName(position, sign) {
    return withoutAffixes(this.names[position], this.affixes, sign);
  }

  bucketOf(position) {
    return Math.floor((position * this.buckets) / this.columns);
  }

  isPaged(s, bucket) {
    const cell = s * this.buckets + bucket;
    return this.bucketSize[cell] > 0 && this.bucketRawSize[cell] === 0;
  }

  // Index in `slots` of the first physical column of a bucket.
  slotStart(s, bucket) {
    const first = this.bucketStart[bucket];
    return s * this.physicalColumns + first + this.childrenBefore[first];
  }

  childCount(bucket) {
    return (
      this.childrenBefore[this.bucketStart[bucket + 1]] - this.childrenBefore[this.bucketStart[bucket]]
    );
  }

  physicalCount(bucket) {
    return this.bucketStart[bucket + 1] - this.bucketStart[bucket] + this.childCount(bucket);
  }

  directorySize(bucket) {
    const children = this.childCount(bucket);
    return (children ? 2 + 4 * children : 0) + 4 * this.physicalCount(bucket);
  }

  // Calls `visit(index in the bucket's physical columns)` for a column and its children.
  eachPhysical(bucket, position, visit) {
    const first = this.bucketStart[bucket];
    visit(position - first);
    const before = this.bucketStart[bucket + 1] - first - this.childrenBefore[first];
    for (let i = this.childrenBefore[position]; i < this.childrenBefore[position + 1]; i++) {
      visit(before + i);
    }
  }

  // Stored bytes of every column: of its slots in a paged bucket, else its share of the bucket's
  // bytes, by its part of the bytes before compression.
  attribute() {
    const { columns, buckets } = this;
    this.stored = new Float64Array(this.shown.length * columns);
    for (let s = 0; s < this.shown.length; s++) {
      for (let b = 0; b < buckets; b++) {
        const first = this.bucketStart[b];
        const last = this.bucketStart[b + 1];
        const size = this.bucketSize[s * buckets + b];
        if (!size || first === last) continue;
        if (this.isPaged(s, b)) {
          const start = this.slotStart(s, b);
          for (let p = first; p < last; p++) {
            let sum = 0;
            this.eachPhysical(b, p, (index) => (sum += this.slots[start + index]));
            this.stored[s * columns + p] = sum;
          }
          continue;
        }
        let raw = 0;
        for (let p = first; p < last; p++) raw += this.raw[s * columns + p];
        for (let p = first; p < last; p++) {
          const share = raw ? this.raw[s * columns + p] / raw : 1 / (last - first);
          this.stored[s * columns + p] = share * size;
        }
      }
    }
  }

  // Sums over the row groups that are shown, by column.
  addUp() {
    const { columns, shown } = this;
    this.totalStored = new Float64Array(columns);
    this.totalRaw = new Float64Array(columns);
    this.totalNulls = new Float64Array(columns);
    this.distinctLow = new Float64Array(columns);
    this.distinctHigh = new Float64Array(columns);
    this.isExact = new Uint8Array(columns).fill(shown.length ? 1 : 0);
    for (let s = 0; s < shown.length; s++) {
      for (let p = 0; p < columns; p++) {
        const cell = s * columns + p;
        this.totalStored[p] += this.stored[cell];
        this.totalRaw[p] += this.raw[cell];
        this.totalNulls[p] += this.nulls[cell];
        const distinct = this.distinctIn(cell, p);
        this.distinctLow[p] = Math.max(this.distinctLow[p], distinct);
        this.distinctHigh[p] += distinct;
      }
      for (let b = 0; b < this.buckets; b++) {
        if (this.bucketRawSize[s * this.buckets + b] && this.bucketStart[b + 1] - this.bucketStart[b] > 1) {
          this.isExact.fill(0, this.bucketStart[b], this.bucketStart[b + 1]);
        }
      }
    }
    // Bytes that are in no part: of row groups that are not shown, or nobody's.
    this.restName = shown.length < this.file.rowGroups ? "not described here" : "unused";
    this.largestStored = this.totalStored.reduce((most, size) => Math.max(most, size), 1);
    this.totalRows = this.shownRows.reduce((sum, rows) => sum + rows, 0);
    this.totalBuckets = this.bucketSize.reduce((sum, size) => sum + size, 0);
    this.family = Uint8Array.from(this.types, (type) => this.families[type]);
    this.rank = new Uint32Array(columns);
    for (let i = 0; i < columns; i++) this.rank[this.order[i]] = i;
  }

  // Different values of a column in a row group, NaN where that is not known.
  distinctIn(cell, position) {
    const encoding = this.encodings[this.encoding[cell] & 3];
    if (encoding === "ALL_NULL") return 0;
    // What is encoded of a list or map is its length.
    if (encoding === "PLAIN" || this.children[position]) return NaN;
    return encoding === "CONST" ? 1 : this.entries[cell];
  }

  typeName(position) {
    return this.typeNames[this.types[position]];
  }

  encodingName(s, position) {
    const code = this.encoding[s * this.columns + position];
    const own = this.encodings[code & 3];
    const inner = this.encodings.filter((_, index) => (code >> 2) & (1 << index));
    return inner.length ? `${own}, elements ${inner.join(" and ")}` : own;
  }

  // The encodings of a column over the row groups shown, the most frequent first.
  encodingText(position) {
    if (this.shown.length === 1) return this.encodingName(0, position);
    const counts = [0, 0, 0, 0];
    for (let s = 0; s < this.shown.length; s++) {
      counts[this.encoding[s * this.columns + position] & 3] += 1;
    }
    const used = [0, 1, 2, 3].filter((code) => counts[code]).sort((a, b) => counts[b] - counts[a]);
    if (used.length === 1) return this.encodings[used[0]];
    return used.map((code) => `${this.encodings[code]} ×${counts[code]}`).join(", ");
  }

  distinctText(position) {
    const low = this.distinctLow[position];
    const high = this.distinctHigh[position];
    if (!this.shown.length || Number.isNaN(high)) return "";
    return low === high ? countText(low) : `${countText(low)} to ${countText(high)}`;
  }

  storedText(position) {
    return (this.isExact[position] ? "" : "≈ ") + bytesText(Math.round(this.totalStored[position]));
  }
}
