// Which bytes a projection reads: from this file as pymosaic reads it, and from Parquet's layout.

// Groups ranges `[offset, length]` into reads, as pymosaic.io.ranges.merge_ranges does.
function mergeRanges(ranges, gap, maxBytes) {
  const reads = [];
  let start = 0;
  let end = -1;
  const sorted = ranges.filter(([, length]) => length > 0).sort((a, b) => a[0] - b[0]);
  for (const [offset, length] of sorted) {
    const reach = Math.max(end, offset + length);
    if (end >= 0 && offset - end <= gap && (reach === end || reach - start <= maxBytes)) {
      end = reach;
      continue;
    }
    if (end >= 0) reads.push([start, end - start]);
    start = offset;
    end = offset + length;
  }
  if (end >= 0) reads.push([start, end - start]);
  return reads;
}

// Collects reads; what came with the end of the file is not read again.
class Reads {
  constructor(size, access) {
    this.size = size;
    this.access = access;
    this.tailStart = size;
    this.list = []; // [offset, length, what]
    this.rounds = 0;
  }

  // The end of the file, then what of its last structures lies before that.
  open(structures, minimum) {
    this.tailStart = Math.max(0, this.size - Math.max(this.access.tail, minimum));
    this.take([[this.tailStart, this.size - this.tailStart]], "open");
    if (structures < this.tailStart) {
      this.take([[structures, this.tailStart - structures]], "open");
      this.tailStart = structures;
    }
  }

  round(ranges, what) {
    const missing = ranges.filter(([offset, length]) => length > 0 && offset < this.tailStart);
    this.take(mergeRanges(missing, this.access.gap, this.access.maxMerged), what);
  }

  take(ranges, what) {
    if (ranges.length) this.rounds += 1;
    for (const [offset, length] of ranges) this.list.push([offset, length, what]);
  }

  get bytes() {
    return this.list.reduce((sum, [, length]) => sum + length, 0);
  }
}

const READ_WHOLE = 1;
const READ_SLOTS = 2;

// Reads of this file; `touched` tells, by row group and bucket, how much of it.
function mosaicReads(picture, wanted, access) {
  const { file, buckets } = picture;
  const tail = access.tail ?? file.size - file.openOffset;
  const reads = new Reads(file.size, { ...access, tail });
  reads.open(file.openOffset, file.footerSize);
  reads.touched = new Uint8Array(picture.shown.length * buckets);
  const plans = bucketPlans(picture, wanted);
  for (let s = 0; s < picture.shown.length; s++) {
    if (!picture.shownRows[s]) continue;
    const first = [];
    const second = [];
    for (const { bucket, positions } of plans) {
      const cell = s * buckets + bucket;
      const offset = picture.bucketOffset[cell];
      const size = picture.bucketSize[cell];
      if (!size) continue;
      const width = picture.bucketStart[bucket + 1] - picture.bucketStart[bucket];
      if (!picture.isPaged(s, bucket) || positions.length === width) {
        first.push([offset, size]);
        reads.touched[cell] = READ_WHOLE;
        continue;
      }
      reads.touched[cell] = READ_SLOTS;
      const directory = picture.directorySize(bucket);
      first.push([offset, Math.min(directory, size)]);
      slotRanges(picture, s, bucket, positions, offset + directory, second);
    }
    reads.round(first, s);
    reads.round(second, s);
  }
  return reads;
}

function bucketPlans(picture, wanted) {
  const plans = [];
  for (let b = 0; b < picture.buckets; b++) {
    const positions = [];
    for (let p = picture.bucketStart[b]; p < picture.bucketStart[b + 1]; p++) {
      if (wanted[p]) positions.push(p);
    }
    if (positions.length) plans.push({ bucket: b, positions });
  }
  return plans;
}

function slotRanges(picture, s, bucket, positions, offset, ranges) {
  const start = picture.slotStart(s, bucket);
  const starts = [offset];
  for (let i = 0; i < picture.physicalCount(bucket); i++) {
    starts.push(starts[i] + picture.slots[start + i]);
  }
  for (const position of positions) {
    picture.eachPhysical(bucket, position, (index) =>
      ranges.push([starts[index], picture.slots[start + index]]),
    );
  }
}

// Parquet stores one chunk per column and row group, in the order of the schema, then a footer that
// names every one of them and is read first, all of it.
function parquetLayout(picture) {
  const { columns, shown } = picture;
  const starts = new Float64Array(shown.length * columns + 1);
  let offset = 4;
  for (let s = 0; s < shown.length; s++) {
    for (let i = 0; i < columns; i++) {
      starts[s * columns + i] = offset;
      offset += Math.round(picture.stored[s * columns + picture.order[i]]);
    }
  }
  starts[shown.length * columns] = offset;
  const footer = picture.parquet.schemaBytes + shown.length * picture.parquet.rowGroupBytes;
  return { starts, footerOffset: offset, footer, size: offset + footer + 8 };
}

function parquetReads(picture, layout, wanted, access) {
  const tail = access.tail ?? layout.size - layout.footerOffset;
  const reads = new Reads(layout.size, { ...access, tail });
  reads.open(layout.footerOffset, 8);
  const { columns } = picture;
  for (let s = 0; s < picture.shown.length; s++) {
    const ranges = [];
    for (let i = 0; i < columns; i++) {
      if (!wanted[picture.order[i]]) continue;
      const start = layout.starts[s * columns + i];
      ranges.push([start, layout.starts[s * columns + i + 1] - start]);
    }
    reads.round(ranges, s);
  }
  return reads;
}
