// Writes names in little room: wrapped, or shortened in the middle, and different names never as the same text.

const LEAST = 6; // letters of a name that is shortened: fewer say nothing

// A function for the width of texts in a font, in pixels.
function measure(font) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  return (text) => pen.measureText(text).width;
}

// A function's name without its result and parameters: sg::add<float> for void sg::add<float>(int).
function withoutParameters(text) {
  const name = text.replaceAll("(anonymous namespace)::", "");
  if (/\boperator\b|decltype\(/.test(name) || /^(\w+ )+(for|to) /.test(name)) return name;
  let depth = 0, start = 0;
  for (let i = 0; i < name.length; i++) {
    const letter = name[i];
    if (letter === "(" && depth === 0 && i > start) return name.slice(start, i);
    if (letter === "(" || letter === "<") depth++;
    else if (letter === ")" || (letter === ">" && name[i - 1] !== "-")) depth--;
    else if (letter === " " && depth === 0) start = i + 1;
  }
  return name;
}

// The beginning and the end of a name: the end says most.
function middle(name, width, wide) {
  if (wide(name) <= width) return name;
  const letters = [...name];
  const cut = (kept) => `${letters.slice(0, kept >> 2).join("")}…${letters.slice(letters.length - kept + (kept >> 2)).join("")}`;
  return longest(letters.length - 1, cut, width, wide);
}

// The longest text of at most `most` letters that fits; empty if that is nearly nothing.
function longest(most, cut, width, wide) {
  let low = 0, high = most;
  while (low < high) {
    const half = (low + high + 1) >> 1;
    if (wide(cut(half)) <= width) low = half; else high = half - 1;
  }
  return low >= LEAST ? cut(low) : "";
}

// A few letters, and the part in which the name differs from others that begin with as many letters.
function around(name, start, width, wide) {
  const part = [...name.slice(Math.max(start - 2, 3))];
  const cut = (kept) => `${name.slice(0, 3)}…${part.slice(0, kept).join("")}${kept < part.length ? "…" : ""}`;
  return longest(part.length, cut, width, wide);
}

function commonStart(names) {
  let first = names[0];
  for (const name of names) {
    let k = 0;
    while (k < first.length && first[k] === name[k]) k++;
    first = first.slice(0, k);
  }
  return first.length;
}

// Write each name in its room; a text is empty if there is no room for one that tells the name from the others.
// items: name, text (as it was shortened) and again(start), which shortens it so that it begins to differ at `start`
function tellApart(items) {
  const groups = new Map();
  for (const item of items) {
    if (!groups.has(item.text)) groups.set(item.text, new Map());
    const names = groups.get(item.text);
    if (!names.has(item.name)) names.set(item.name, []);
    names.get(item.name).push(item);
  }
  const taken = new Set([...groups].filter(([, names]) => names.size === 1).map(([text]) => text));
  for (const [shared, names] of groups) {
    if (names.size === 1 || !shared) continue;
    const start = commonStart([...names.keys()]);
    for (const same of names.values()) {
      for (const item of same) item.text = item.again(start);
      const text = same[0].text;
      if (taken.has(text)) for (const item of same) item.text = "";
      else if (text) taken.add(text);
    }
  }
}

// Names of a column of a table, as they fit its width.
function fitted(names, width, wide) {
  const items = names.map((name) => {
    if (wide(name) <= width) return { name, text: name, again: () => name };
    const short = withoutParameters(name);
    return { name, text: middle(short, width, wide), again: (start) => around(name, start, width, wide) };
  });
  tellApart(items);
  return items.map((item) => item.text || item.name);
}

// Break a name into at most `most` lines after its separators and between its words; null if it needs more.
function wrap(name, width, most, wide) {
  const lines = [""];
  for (const part of name.split(/(?<=\w[_,/.<(-]|::|\s)(?!\s)|(?<=[a-z])(?=[A-Z])/)) {
    if (wide(part) > width) return null;
    if (wide(lines.at(-1) + part) <= width) lines[lines.length - 1] += part; else lines.push(part);
    if (lines.length > most) return null;
  }
  return lines;
}
