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

const STAR = -1;
const ANY = -2;

// A pattern as a list of code points, STAR, ANY and sets; as Python's fnmatch understands it.
function parsePattern(pattern) {
  const marks = Array.from(pattern);
  const tokens = [];
  for (let i = 0; i < marks.length; ) {
    const mark = marks[i++];
    if (mark === "*") {
      if (tokens[tokens.length - 1] !== STAR) tokens.push(STAR);
    } else if (mark === "?") tokens.push(ANY);
    else if (mark === "[") {
      let end = i;
      if (marks[end] === "!") end += 1;
      if (marks[end] === "]") end += 1;
      while (end < marks.length && marks[end] !== "]") end += 1;
      if (end >= marks.length) tokens.push("[".codePointAt(0));
      else {
        tokens.push(parseSet(marks.slice(i, end)));
        i = end + 1;
      }
    } else tokens.push(mark.codePointAt(0));
  }
  return tokens;
}

function parseSet(marks) {
  const negated = marks[0] === "!";
  const points = (negated ? marks.slice(1) : marks).map((mark) => mark.codePointAt(0));
  const ranges = [];
  const HYPHEN = 45;
  for (let i = 0; i < points.length; ) {
    if (i + 2 < points.length && points[i + 1] === HYPHEN) {
      // A range that runs backwards holds nothing.
      if (points[i] <= points[i + 2]) ranges.push([points[i], points[i + 2]]);
      i += 3;
    } else {
      ranges.push([points[i], points[i]]);
      i += 1;
    }
  }
  return { negated, ranges };
}

function matchesToken(token, point) {
  if (token === ANY) return true;
  if (typeof token === "number") return token === point;
  return token.ranges.some(([low, high]) => low <= point && point <= high) !== token.negated;
}

// Only the last star is ever tried again, so that no pattern takes long.
function matchesPattern(tokens, text) {
  const points = Array.from(text, (mark) => mark.codePointAt(0));
  let at = 0;
  let token = 0;
  let star = -1;
  let retry = 0;
  while (at < points.length) {
    if (token < tokens.length && tokens[token] !== STAR && matchesToken(tokens[token], points[at])) {
      at += 1;
      token += 1;
    } else if (token < tokens.length && tokens[token] === STAR) {
      star = token++;
      retry = at;
    } else if (star >= 0) {
      token = star + 1;
      at = ++retry;
    } else return false;
  }
  while (tokens[token] === STAR) token += 1;
  return token === tokens.length;
}

// The part of a pattern before its first wildcard: names that lack it need no closer look.
function literalPrefix(pattern) {
  return pattern.slice(0, pattern.search(/[*?[]/));
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
    if (!/[*?[]/.test(pattern)) return false;
    const { names } = this.picture;
    const tokens = parsePattern(pattern);
    const prefix = literalPrefix(pattern);
    let found = false;
    for (let p = 0; p < names.length; p++) {
      if (names[p].startsWith(prefix) && matchesPattern(tokens, names[p])) {
        wanted[p] = 1;
        found = true;
      }
    }
    return found;
  }
}
