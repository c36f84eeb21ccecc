// Texts: numbers as people read them, names as they are, whatever they hold.

const wholeNumber = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

function countText(value) {
  return wholeNumber.format(value);
}

function bytesText(value) {
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
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

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function byId(id) {
  return document.getElementById(id);
}
