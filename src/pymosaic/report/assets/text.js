// Texts: numbers as people read them, names as they are, whatever they hold.

const wholeNumber = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function countText(value) {
  return wholeNumber.format(value);
}

function bytesText(value) {
  let unit = 0;
  while (value >= 1023.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

function shareText(share) {
  const percent = share * 100;
  if (percent === 0) return "0 %";
  if (percent < 0.01) return "< 0.01 %";
  return `${percent.toFixed(percent < 1 ? 2 : percent < 99.95 ? 1 : 0)} %`;
}

function plural(count, noun) {
  return `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

// Controls, spaces that do not show, marks that turn the direction of text, halves of pairs.
const UNSEEN = /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

function visible(text) {
  return text.replace(UNSEEN, (mark) => `\\u{${mark.codePointAt(0).toString(16)}}`);
}

function shortened(text, length) {
  const characters = Array.from(text.slice(0, 2 * length + 2));
  return characters.length > length ? `${characters.slice(0, length).join("")}…` : text;
}

// The start and the end of a long text: names that are alike often differ at the end.
function bothEnds(text, length) {
  const characters = Array.from(text);
  if (characters.length <= length) return text;
  const half = Math.floor((length - 1) / 2);
  return `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
}

const SEPARATORS = /[_\-./:| ]/u;

// What all names start and end with, as whole words: told once, so that what differs is seen.
function commonAffixes(names) {
  if (names.length < 2) return { prefix: "", suffix: "" };
  let first = names[0];
  let last = names[0];
  let shortest = names[0].length;
  let suffix = names[0];
  for (const name of names) {
    if (name < first) first = name;
    if (name > last) last = name;
    shortest = Math.min(shortest, name.length);
    let shared = 0;
    while (shared < suffix.length && shared < name.length && suffix.at(-1 - shared) === name.at(-1 - shared)) shared += 1;
    suffix = suffix.slice(suffix.length - shared);
  }
  let end = 0;
  while (end < first.length && first[end] === last[end]) end += 1;
  while (end > 0 && !SEPARATORS.test(first[end - 1])) end -= 1;
  const start = suffix.search(SEPARATORS);
  suffix = start < 0 ? "" : suffix.slice(start);
  if (end >= shortest) end = 0;
  if (end + suffix.length >= shortest) suffix = "";
  return { prefix: end >= 3 ? first.slice(0, end) : "", suffix: suffix.length >= 3 ? suffix : "" };
}

// The part of a name that differs, with a sign for what is left out.
function withoutAffixes(name, { prefix, suffix }, sign = "…") {
  const middle = name.slice(prefix.length, name.length - suffix.length);
  return `${prefix ? sign : ""}${middle}${suffix ? sign : ""}`;
}

function affixesText({ prefix, suffix }) {
  const parts = [];
  if (prefix) parts.push(`start with ${visible(prefix)}`);
  if (suffix) parts.push(`end with ${visible(suffix)}`);
  return parts.length ? `All names ${parts.join(" and ")}.` : "";
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function byId(id) {
  return document.getElementById(id);
}
