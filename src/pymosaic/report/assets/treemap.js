// Rectangles with areas by size, in reading order: rows of cells that are about square.

// `place(index, x, y, width, height)` is called for each of `count` cells.
function stripTreemap(count, sizeOf, x, y, width, height, place) {
  let total = 0;
  let filled = 0;
  for (let i = 0; i < count; i++) {
    total += sizeOf(i);
    if (sizeOf(i) > 0) filled += 1;
  }
  if (!(total > 0) || width <= 0 || height <= 0) return;
  const rows = Math.max(1, Math.round(Math.sqrt((filled * height) / width)));
  let start = 0;
  let before = 0; // of the sizes, in earlier rows
  for (let row = 1; row <= rows && start < count; row++) {
    // A row takes its part of what is left, to the nearest cell.
    const part = (total - before) / (rows - row + 1);
    let sum = 0;
    let end = start;
    while (end < count && (row === rows || sum === 0 || sum + sizeOf(end) / 2 <= part)) {
      sum += sizeOf(end);
      end += 1;
    }
    const top = y + (before / total) * height;
    const rowHeight = (sum / total) * height;
    let left = x;
    for (let i = start; i < end; i++) {
      const cellWidth = sum > 0 ? (sizeOf(i) / sum) * width : 0;
      place(i, left, top, cellWidth, rowHeight);
      left += cellWidth;
    }
    before += sum;
    start = end;
  }
}
