// What is typed as columns, turned into positions: the rules of pymosaic's `columns=`.

// Entries are separated by commas or line ends; one in double quotes may hold them.
function splitEntries(text) {
  const entries = [];
  let entry = "";
  let quoted = false;
  let wasQuoted = false;
  const finish = () => {
    const trimmed = wasQuoted ? entry : entry.trim();
    if (trimmed || wasQuoted) entries.push(trimmed);
    entry = "";
    wasQuoted = false;
  };
  for (let i = 0; i < text.length; i++) {
    const mark = text[i];
    if (quoted) {
      if (mark !== '"') entry += mark;
      else if (text[i + 1] === '"') (entry += '"'), (i += 1);
      else quoted = false;
    } else if (mark === '"' && !entry.trim() && !wasQuoted) {
      quoted = wasQuoted = true;
      entry = "";
    } else if (mark === "," || mark === "\n") finish();
    else if (!wasQuoted || mark.trim()) entry += mark;
  }
  finish();
  return entries;
}

// An entry as it must be typed.
function quotedEntry(name) {
  return /[",\n]/.test(name) || name.trim() !== name ? `"${name.replaceAll('"', '""')}"` : name;
}

// A pattern as the pieces between its stars; nothing else in it is special.
function parsePattern(pattern) {
  return pattern.split("*");
}

// Each piece is looked for behind the one before, so that no pattern takes long.
function matchesPattern(pieces, text) {
  const first = pieces[0];
  const last = pieces[pieces.length - 1];
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= text.length - last.length;
}

class Projection {
  constructor(picture) {
    this.picture = picture;
    this.byName = new Map(picture.names.map((name, position) => [name, position]));
  }

  // `{ wanted: 1 for each column wanted, count, missing: entries that match nothing }`
  resolve(text) {
    const { names } = this.picture;
    const wanted = new Uint8Array(names.length);
    const missing = [];
    const whole = this.byName.get(text) ?? this.byName.get(text.trim());
    for (const entry of whole === undefined ? splitEntries(text) : [names[whole]]) {
      const position = this.byName.get(entry);
      if (position !== undefined) wanted[position] = 1;
      else if (!this.expand(entry, wanted)) missing.push(entry);
    }
    return { wanted, count: wanted.reduce((sum, one) => sum + one, 0), missing };
  }

  expand(pattern, wanted) {
    if (!pattern.includes("*")) return false;
    const { names } = this.picture;
    const pieces = parsePattern(pattern);
    let found = false;
    for (let p = 0; p < names.length; p++) {
      if (matchesPattern(pieces, names[p])) {
        wanted[p] = 1;
        found = true;
      }
    }
    return found;
  }
}
