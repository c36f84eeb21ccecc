// One column in full.

const MOST_ROW_GROUPS = 200;

function showDetails(picture, position, isWanted, toggle) {
  const box = byId("details");
  const facts = element("dl");
  const fact = (name, text) => {
    if (text === "" || text === null || text === undefined) return;
    facts.append(element("dt", "", name), element("dd", "", text));
  };
  const bucket = picture.bucketOf(position);
  fact("Type", visible(picture.typeName(position)));
  fact("Place", `column ${countText(picture.rank[position] + 1)} as written, bucket ${countText(bucket)}`);
  fact("Nulls", `${countText(picture.totalNulls[position])} of ${plural(picture.totalRows, "row")}`);
  fact("Distinct", picture.distinctText(position));
  fact("Stored", `${picture.storedText(position)} (${shareText(picture.totalBuckets ? picture.totalStored[position] / picture.totalBuckets : 0)} of all buckets)`);
  fact("Before compression", bytesText(picture.totalRaw[position]));
  fact("Min", visible(picture.minimum[position] ?? ""));
  fact("Max", visible(picture.maximum[position] ?? ""));
  const name = element("h3", "column-name", visible(shortened(picture.names[position], 2000)));
  const button = element("button", "wide", isWanted ? "Remove from the projection" : "Add to the projection");
  button.addEventListener("click", () => toggle(position));
  box.replaceChildren(name, facts);
  if (picture.samples[position].length) {
    const samples = element("ul", "samples");
    samples.append(...picture.samples[position].map((text) => element("li", "", visible(text))));
    box.append(samples);
  }
  box.append(rowGroupTable(picture, position), button);
}

function rowGroupTable(picture, position) {
  const table = element("table", "groups");
  const head = table.createTHead().insertRow();
  for (const title of ["Row group", "Encoding", "Nulls", "Raw", "Stored"]) {
    head.append(element("th", "", title));
  }
  const body = table.createTBody();
  for (let s = 0; s < Math.min(picture.shown.length, MOST_ROW_GROUPS); s++) {
    const cell = s * picture.columns + position;
    const sign = picture.isPaged(s, picture.bucketOf(position)) ? "" : "≈ ";
    const row = body.insertRow();
    for (const text of [
      countText(picture.shown[s]),
      picture.encodingName(s, position),
      countText(picture.nulls[cell]),
      bytesText(picture.raw[cell]),
      sign + bytesText(Math.round(picture.stored[cell])),
    ]) {
      row.append(element("td", "", text));
    }
  }
  return table;
}
