// Turns the rows of a node into a table of which only the visible lines exist.

const LINE = 22; // px
const PADDING = 16; // px: left and right of a cell's text, as page.css has it
const MOST = 15e6; // px: beyond it browsers cut the height off, so lines are then scrolled to in proportion

class Table {
  constructor(data, choose) {
    this.data = data;
    this.choose = choose;
    this.head = document.getElementById("head");
    this.rows = document.getElementById("rows");
    this.space = document.getElementById("space");
    this.order = new Uint32Array(0);
    this.sort = { key: data.columns[0], down: true };
    this.chosen = -1;
    this.keys = [...data.columns, ...data.levels];
    for (const key of this.keys) this.head.append(this.heading(key));
    // Below this width the table scrolls: a name of a few letters says nothing.
    for (const [name, ofNames] of [["--least", 14], ["--narrow", 28]]) {
      const widths = this.keys.map((key) => (key.values ? 11 : key.name === "symbol" ? 30 : ofNames));
      document.getElementById("table").style.setProperty(name, `${widths.reduce((a, b) => a + b, 0)}ch`);
    }
    this.rows.addEventListener("scroll", () => this.draw());
    document.getElementById("table").addEventListener("keydown", (event) => this.key(event));
  }

  heading(key) {
    const cell = this.cell(key, "columnheader"), button = document.createElement("button");
    button.textContent = key.name;
    button.addEventListener("click", () => this.sortBy(key));
    cell.append(button);
    key.cell = cell;
    return cell;
  }

  cell(key, role) {
    const cell = document.createElement("div");
    cell.className = key.values ? "cell number" : key.name === "symbol" ? "cell wide" : "cell";
    cell.setAttribute("role", role);
    return cell;
  }

  sortBy(key) {
    this.sort = { key, down: this.sort.key === key ? !this.sort.down : Boolean(key.values) };
    this.arrange();
  }

  show(ranges, found) {
    let count = 0;
    for (const [start, end] of ranges) count += end - start;
    const order = new Uint32Array(count);
    let at = 0;
    for (const [start, end] of ranges) for (let i = start; i < end; i++) if (!found || found[i]) order[at++] = i;
    this.order = order.slice(0, at);
    this.arrange();
  }

  arrange() {
    const { key, down } = this.sort, sign = down ? -1 : 1;
    const values = key.values || key.ids; // names come in ascending order, so their ids do
    const size = key.signed ? (i) => Math.abs(values[i]) : (i) => values[i];
    this.order.sort((a, b) => sign * (size(a) - size(b)) || a - b);
    for (const other of this.keys) other.cell.setAttribute("aria-sort", other === key ? (down ? "descending" : "ascending") : "none");
    this.chosen = -1;
    this.space.style.height = `${Math.min(this.order.length * LINE, MOST)}px`;
    this.rows.scrollTop = 0;
    document.getElementById("table").setAttribute("aria-rowcount", this.order.length);
    this.draw();
  }

  draw() {
    const { scrollTop, clientHeight } = this.rows, full = this.order.length * LINE;
    const shown = Math.min(full, MOST), room = Math.max(shown - clientHeight, 1);
    const first = Math.floor(full > MOST ? (scrollTop / room) * (this.order.length - clientHeight / LINE) : scrollTop / LINE);
    const top = full > MOST ? scrollTop : first * LINE;
    const count = Math.max(Math.min(Math.ceil(clientHeight / LINE + 1), this.order.length - first), 0);
    const texts = new Map(this.keys.filter((key) => !key.values).map((key) => [key, this.names(key, first, count)]));
    const lines = Array.from({ length: count }, (_, i) => this.line(first + i, top + i * LINE, (key) => texts.get(key)[i]));
    this.rows.replaceChildren(this.space, ...lines);
  }

  // The names of some rows, as they fit their column.
  names(key, first, count) {
    const names = Array.from({ length: count }, (_, i) => key.texts.get(key.ids[this.order[first + i]]));
    return fitted(names, key.cell.clientWidth - PADDING, measure(getComputedStyle(this.rows).font));
  }

  line(i, top, named) {
    const row = document.createElement("div"), number = this.order[i];
    row.className = i === this.chosen ? "row chosen" : "row";
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", i + 1);
    row.style.top = `${top}px`;
    for (const key of this.keys) {
      const cell = this.cell(key, "gridcell");
      cell.textContent = key.values ? (key.signed && key.values[number] > 0 ? "+" : "") + bytes(key.values[number]) : named(key);
      if (!key.values) cell.title = key.texts.get(key.ids[number]);
      row.append(cell);
    }
    row.addEventListener("click", () => { this.chosen = i; this.choose(number); this.draw(); });
    return row;
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.rows.clientHeight / LINE) - 1), last = this.order.length - 1;
    const to = { ArrowDown: this.chosen + 1, ArrowUp: this.chosen - 1, PageDown: this.chosen + page, PageUp: this.chosen - page, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.chosen = Math.min(Math.max(to, 0), last);
    const y = this.chosen * LINE, { scrollTop, clientHeight } = this.rows;
    if (this.order.length * LINE > MOST) this.rows.scrollTop = (this.chosen / last) * MOST;
    else if (y < scrollTop || y + LINE > scrollTop + clientHeight) this.rows.scrollTop = y - clientHeight / 2;
    this.choose(this.order[this.chosen]);
    this.draw();
  }
}
