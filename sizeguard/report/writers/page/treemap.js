// Turns the node that is looked at into boxes on a canvas. Only what is large enough to be seen is laid out.

const SMALLEST = 30; // px²: smaller boxes become one
const INNER_WIDTH = 70, INNER_HEIGHT = 46, STRIP = 16; // px: a box that shows what is in it
const HUES = [210, 30, 140, 285, 350, 60, 175, 320]; // degrees, neighbours in size far apart
const FONT = "12px system-ui, sans-serif", LETTERS = 15; // px: height of a line

class Treemap {
  constructor(canvas, choose, enter) {
    Object.assign(this, { canvas, choose, enter, boxes: [], chosen: -1, node: null, metric: 0, wide: measure(FONT) });
    canvas.addEventListener("mousemove", (event) => this.select(this.at(event)));
    canvas.addEventListener("click", (event) => { this.select(this.at(event)); this.go(); });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  show(node, metric) {
    Object.assign(this, { node, metric, chosen: -1 });
    this.layout();
    this.draw();
  }

  layout() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.boxes = [];
    this.place(this.node, 0, 0, width, height, 0);
    this.label();
  }

  // Write into the boxes. Boxes in one box have different names.
  label() {
    const siblings = new Map();
    for (const box of this.boxes) {
      box.lines = [];
      if (box.width <= 34 || box.height <= 15) continue;
      const { parent } = box.node;
      if (!siblings.has(parent)) siblings.set(parent, []);
      siblings.get(parent).push(this.named(box));
    }
    for (const items of siblings.values()) {
      tellApart(items);
      for (const { box, text } of items) box.lines = this.lines(box, text);
    }
  }

  // The name of a box, in as many lines as there is room for.
  named(box) {
    const { wide } = this, { node } = box, name = node.label, short = node.below(withoutParameters(node.name));
    const width = box.width - 6, again = (start) => around(name, start, width, wide);
    const item = (text) => ({ box, name, text, again });
    if (hasOneLine(box)) {
      const tails = [...this.numbers(node).map((numbers) => `  ${numbers}`), ""];
      for (const tail of tails) for (const text of [name, short]) if (wide(text + tail) <= width) return item(text);
    } else {
      const most = Math.floor((box.height - 4) / LETTERS);
      const lines = wrap(name, width, most - 1, wide) || wrap(short, width, most - 1, wide) || wrap(short, width, most, wide);
      if (lines) return item(lines.join("\n"));
    }
    return item(middle(short, width, wide));
  }

  // The name, and as many numbers as there is room for: none is cut.
  lines(box, text) {
    if (!text) return [];
    const { wide } = this, width = box.width - 6, numbers = this.numbers(box.node);
    if (hasOneLine(box)) {
      const most = numbers.find((each) => wide(`${text}  ${each}`) <= width);
      return [most ? `${text}  ${most}` : text];
    }
    const names = text.split("\n"), hasRoom = (names.length + 1) * LETTERS + 4 <= box.height;
    return [...names, ...numbers.filter((each) => hasRoom && wide(each) <= width).slice(0, 1)];
  }

  place(node, x, y, width, height, depth) {
    const { children, areas } = node.order(this.metric);
    let total = 0;
    for (const area of areas) total += area;
    if (!(total > 0)) return;
    const scale = (width * height) / total;
    let i = 0;
    while (i < children.length) {
      const short = Math.min(width, height);
      if (short < 1 || areas[i] * scale < SMALLEST) break;
      // A row of boxes along the short side, as long as that makes them squarer.
      let sum = 0, end = i, worst = Infinity;
      while (end < children.length && areas[end] * scale >= SMALLEST / 4) {
        const next = sum + areas[end] * scale, side = next / short;
        const ratio = Math.max((areas[i] * scale) / side / side, side / ((areas[end] * scale) / side));
        if (ratio > worst) break;
        worst = ratio;
        sum = next;
        end++;
      }
      const side = sum / short;
      let along = 0;
      for (; i < end; i++) {
        const length = (areas[i] * scale) / side;
        const box = width >= height ? [x, y + along, side, length] : [x + along, y, length, side];
        this.add(node.child(children[i]), ...box, depth);
        along += length;
      }
      if (width >= height) { x += side; width -= side; } else { y += side; height -= side; }
    }
    if (i < children.length && areas[i] > 0 && width * height >= 4) {
      let end = children.length;
      while (end > i && areas[end - 1] === 0) end--;
      this.boxes.push({ node: node.rest(children.slice(i, end)), x, y, width, height, depth, open: false });
    }
  }

  add(node, x, y, width, height, depth) {
    const open = !node.isLeaf && width > INNER_WIDTH && height > INNER_HEIGHT && node.bounds.length > 2;
    this.boxes.push({ node, x, y, width, height, depth, open });
    if (open) this.place(node, x + 2, y + STRIP, width - 4, height - STRIP - 2, depth + 1);
  }

  draw() {
    const { canvas } = this, ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = FONT;
    pen.textBaseline = "top";
    pen.direction = "ltr";
    const style = getComputedStyle(document.documentElement);
    const dark = isDark();
    const colours = { back: style.getPropertyValue("--back"), text: style.getPropertyValue("--text"), choice: style.getPropertyValue("--choice"), dark };
    this.boxes.forEach((box, i) => this.box(pen, box, i === this.chosen, colours));
    if (this.node && !this.boxes.length) {
      const { name, signed } = this.node.tree.data.columns[this.metric];
      pen.fillStyle = colours.text;
      pen.fillText(signed ? "nothing changed" : `no row has bytes of ${name}`, 8, 8);
    }
  }

  box(pen, { node, x, y, width, height, depth, lines }, chosen, colours) {
    pen.globalAlpha = node.matches() ? 1 : 0.18;
    pen.fillStyle = this.colour(node, depth, colours);
    pen.fillRect(x, y, width, height);
    pen.strokeStyle = chosen ? colours.choice : colours.back;
    pen.lineWidth = chosen ? 3 : 1;
    pen.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1, 0), Math.max(height - 1, 0));
    pen.fillStyle = colours.text;
    lines.forEach((line, i) => pen.fillText(line, x + 3, y + 2 + LETTERS * i));
    pen.globalAlpha = 1;
  }

  // Bytes and their part of what is shown, and only the bytes.
  numbers(node) {
    const whole = this.node.area(this.metric), part = whole > 0 ? (100 * node.area(this.metric)) / whole : 0;
    const column = node.tree.data.columns[this.metric], sum = node.sum(this.metric);
    const size = `${column.signed && sum > 0 ? "+" : ""}${bytes(sum)} B`;
    return [`${size}  ${part.toFixed(1)}%`, size];
  }

  // A hue for each of the largest values of a level. In a diff, orange grew and blue shrank: all eyes tell them apart.
  colour(node, depth, { dark }) {
    if (this.isSigned) {
      const sum = node.sum(this.metric);
      return sum > 0 ? grown(dark) : sum < 0 ? shrunk(dark) : grey(dark, 0);
    }
    const place = this.hues.get(node.valueOf(this.level));
    return place === undefined ? grey(dark, depth) : hued(place, dark, depth);
  }

  get isSigned() { return this.node.tree.data.columns[this.metric].signed; }

  // Colour by the values of a level. Those with most bytes have a hue each; the others are grey.
  colourBy(level, data, metric) {
    const sums = new Map(), { ids } = data.levels[level], { values } = data.columns[metric];
    for (let i = 0; i < data.rows; i++) if (values[i]) sums.set(ids[i], (sums.get(ids[i]) || 0) + values[i]);
    const largest = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a) || a - b);
    this.level = level;
    this.hues = new Map(largest.slice(0, HUES.length).map((id, place) => [id, place]));
  }

  // What the colours mean: pairs of a colour and a text.
  meanings() {
    const dark = isDark(), { texts } = this.node.tree.data.levels[this.level];
    if (this.isSigned) return [[grown(dark), "grew"], [shrunk(dark), "shrank"]];
    const named = [...this.hues].map(([id, place]) => [hued(place, dark, 1), texts.get(id)]);
    return [...named, [grey(dark, 1), "all others"]];
  }

  at(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    return this.find(event.clientX - left, event.clientY - top);
  }

  find(x, y) {
    for (let i = this.boxes.length - 1; i >= 0; i--) {
      const box = this.boxes[i];
      if (x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height) return i;
    }
    return -1;
  }

  select(i) {
    if (i === this.chosen || i < 0) return;
    this.chosen = i;
    this.draw();
    this.choose(this.boxes[i].node);
  }

  go() {
    const box = this.boxes[this.chosen];
    if (box && !box.node.isLeaf) this.enter(box.node);
  }

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Enter" || event.key === " ") this.go();
    else if (event.key === "Escape" || event.key === "Backspace") this.enter(null);
    else if (steps[event.key]) this.step(...steps[event.key]);
    else return;
    event.preventDefault();
  }

  // The nearest box in that direction, from the middle of the chosen one.
  step(dx, dy) {
    const from = this.boxes[this.chosen];
    if (!from) return this.select(0);
    const x = from.x + from.width / 2, y = from.y + (from.open ? STRIP / 2 : from.height / 2);
    const reach = dx ? from.width / 2 : dy > 0 && from.open ? STRIP / 2 : from.height / 2;
    for (let far = reach + 2; far < 4000; far += 4) {
      const i = this.find(x + dx * far, y + dy * far);
      if (i >= 0 && i !== this.chosen) return this.select(i);
    }
  }
}

function isDark() { return matchMedia("(prefers-color-scheme: dark)").matches; }
function grown(dark) { return dark ? "#9a4a10" : "#ffb877"; }
function shrunk(dark) { return dark ? "#1b4f91" : "#9cc7f7"; }
function grey(dark, depth) { return `hsl(212 8% ${dark ? 28 - 3 * depth : 82 + 3 * depth}%)`; }
function hued(place, dark, depth) { return `hsl(${HUES[place]} ${dark ? `40% ${30 - 4 * depth}` : `60% ${79 + 4 * depth}`}%)`; }

function hasOneLine({ open, height }) { return open || height < 32; }

function bytes(size) { return Math.round(size).toLocaleString("en"); }
