// Drawing: canvases in real pixels, and colours that follow the page's theme.

// Fits a canvas to its place on the page; returns its size in real pixels and their ratio.
function fitCanvas(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width * ratio));
  const height = Math.max(1, Math.round(box.height * ratio));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  return { width, height, ratio };
}

const themeColours = new Map();

// A colour of the theme as [red, green, blue].
function themeColour(name) {
  if (!themeColours.has(name)) {
    const probe = byId("tooltip");
    probe.style.outlineColor = `var(--${name})`;
    const parts = getComputedStyle(probe).outlineColor.match(/\d+/g);
    themeColours.set(name, parts.slice(0, 3).map(Number));
  }
  return themeColours.get(name);
}

function mixed(from, to, share) {
  return from.map((part, index) => Math.round(part + (to[index] - part) * share));
}

function cssColour([red, green, blue], alpha = 1) {
  return `rgb(${red} ${green} ${blue} / ${alpha})`;
}

// How bright a colour is to the eye, from 0 to 1, as defined for contrasts on the web.
function luminance(colour) {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// Black or white, whichever is easier to read on a colour: their contrast is never below 4.5.
function readableOn(colour) {
  return luminance(colour) > 0.179 ? [0, 0, 0] : [255, 255, 255];
}

// As one number in the order in which canvases keep pixels.
function pixelColour([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

// Stones of one colour are never quite alike.
const SHADES = 6;

function shadeOf(index) {
  return (Math.imul(index + 1, 2654435761) >>> 16) % SHADES;
}

function shaded(colour, shade) {
  const step = shade / (SHADES - 1) - 0.5;
  return mixed(colour, step > 0 ? [255, 255, 255] : [0, 0, 0], Math.abs(step) * 0.26);
}

const ENCODING_COLOURS = ["plain", "const", "dict", "all-null"];
const FAMILY_COLOURS = TYPE_FAMILIES.map((_, index) => `type-${index}`);

// Pixel colours by category, shade and light: 0 bright, 1 read along, 2 in the dark.
function palette(mode) {
  const ground = themeColour("stone");
  const names = mode === "encoding" ? ENCODING_COLOURS : FAMILY_COLOURS;
  const colours = new Uint32Array(names.length * SHADES * 3);
  names.forEach((name, category) => {
    for (let shade = 0; shade < SHADES; shade++) {
      const colour = shaded(themeColour(name), shade);
      [0, 0.4, 0.66].forEach((share, light) => {
        colours[(category * SHADES + shade) * 3 + light] = pixelColour(mixed(colour, ground, share));
      });
    }
  });
  return colours;
}

let tooltipOwner = null;

// Shows lines of text at a place of the window; no lines hide it.
function showTooltip(owner, lines, x, y) {
  const box = byId("tooltip");
  if (!lines) {
    if (tooltipOwner === owner) box.hidden = true;
    return;
  }
  tooltipOwner = owner;
  box.replaceChildren(
    ...lines.map((line, index) => element("div", index ? "" : "tooltip-title", line)),
  );
  box.hidden = false;
  const left = Math.min(x + 14, window.innerWidth - box.offsetWidth - 8);
  const top = y + 18 + box.offsetHeight > window.innerHeight ? y - box.offsetHeight - 10 : y + 18;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, top)}px`;
}
