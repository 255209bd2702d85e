// Turns rows, in which those of a group are neighbours, into a tree whose nodes are made when they are looked at.

class Tree {
  constructor(data) {
    this.data = data;
    this.sums = data.columns.map((column) => running(column.values));
    this.areas = data.columns.map((column, i) => (column.signed ? running(column.values, Math.abs) : this.sums[i]));
    this.found = null;
    this.root = new Node(this, null, 0, data.rows, 0, null);
  }

  // Which rows match the search: null for all.
  mark(rows) { this.found = rows && running(rows); }
}

function running(values, change = (value) => value) {
  const sums = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i++) sums[i + 1] = sums[i] + change(values[i]);
  return sums;
}

// Rows [start, end) of one value of each level before `depth`. A node of the rest holds several children of its parent: `only`.
class Node {
  constructor(tree, parent, start, end, depth, only) {
    Object.assign(this, { tree, parent, start, end, depth, only, kept: new Map(), values: new Map() });
  }

  over(sums) {
    if (!this.only) return sums[this.end] - sums[this.start];
    let total = 0;
    for (const child of this.only) total += sums[this.bounds[child + 1]] - sums[this.bounds[child]];
    return total;
  }

  sum(metric) { return this.over(this.tree.sums[metric]); }
  area(metric) { return this.over(this.tree.areas[metric]); }
  matches() { return !this.tree.found || this.over(this.tree.found) > 0; }

  get name() {
    if (this.only) return `${this.only.length.toLocaleString("en")} smaller`;
    if (!this.parent) return this.tree.data.title;
    const level = this.tree.data.levels[this.depth - 1];
    return level.texts.get(level.ids[this.start]);
  }

  // The name without the prefix that it shares with its neighbours: add.Tensor for aten::add.Tensor.
  get label() {
    return this.below(this.name);
  }

  // A name of this node without that prefix.
  below(name) {
    const start = this.parent && !this.only ? this.parent.shared : "";
    return name.startsWith(start) ? name.slice(start.length) || name : name;
  }

  // The common prefix of the children's names, or the namespace of more than half of them. Names in parentheses, such
  // as (core), are ignored.
  get shared() {
    if (this.begins === undefined) {
      const level = this.tree.data.levels[this.depth], bounds = this.bounds, spaces = new Map();
      let first = null, count = 0;
      for (let i = 0; i + 1 < bounds.length; i++) {
        const name = level.texts.get(level.ids[bounds[i]]), end = name.indexOf("::");
        if (name.startsWith("(") || name.length < 2) continue;
        count++;
        if (end > 0) spaces.set(name.slice(0, end + 2), (spaces.get(name.slice(0, end + 2)) || 0) + 1);
        if (first === null) { first = name; continue; }
        let k = 0;
        while (k < first.length && first[k] === name[k]) k++;
        first = first.slice(0, k);
      }
      const after = (separator) => (first.includes(separator) ? first.lastIndexOf(separator) + separator.length : 0);
      const all = count > 1 ? first.slice(0, Math.max(after("::"), after("/"))) : "";
      const most = [...spaces].find(([, names]) => names > count / 2);
      this.begins = all || (count > 1 && most ? most[0] : "");
    }
    return this.begins;
  }

  // The number of the value that all rows have on a level, or -1.
  valueOf(level) {
    const { ids } = this.tree.data.levels[level];
    if (level < this.depth) return ids[this.start];
    if (!this.values.has(level)) {
      let same = !this.only;
      for (let i = this.start + 1; i < this.end && same; i++) same = ids[i] === ids[this.start];
      this.values.set(level, same ? ids[this.start] : -1);
    }
    return this.values.get(level);
  }

  // The child with a name, or null.
  named(name) {
    if (this.isLeaf) return null;
    const level = this.tree.data.levels[this.depth], bounds = this.bounds;
    for (let i = 0; i + 1 < bounds.length; i++) if (level.texts.get(level.ids[bounds[i]]) === name) return this.child(i);
    return null;
  }

  get isLeaf() { return !this.only && this.depth === this.tree.data.levels.length; }

  // Where the groups of the next level begin.
  get bounds() {
    if (this.edges) return this.edges;
    if (this.only) return (this.edges = this.parent.bounds);
    const ids = this.tree.data.levels[this.depth].ids;
    const edges = [this.start];
    for (let i = this.start + 1; i < this.end; i++) if (ids[i] !== ids[i - 1]) edges.push(i);
    edges.push(this.end);
    return (this.edges = Uint32Array.from(edges));
  }

  // The children's numbers, the largest first, and their areas in the same order.
  order(metric) {
    let kept = this.kept.get(metric);
    if (!kept) {
      const bounds = this.bounds, sums = this.tree.areas[metric];
      const all = this.only || Uint32Array.from({ length: bounds.length - 1 }, (_, i) => i);
      const area = (i) => sums[bounds[i + 1]] - sums[bounds[i]];
      let sorted = true;
      for (let i = 1; i < all.length && sorted; i++) sorted = area(all[i - 1]) >= area(all[i]);
      const children = sorted ? all : all.slice().sort((a, b) => area(b) - area(a));
      kept = { children, areas: Float64Array.from(children, area) };
      this.kept.set(metric, kept);
    }
    return kept;
  }

  child(number) {
    const bounds = this.bounds, parent = this.only ? this.parent : this;
    return new Node(this.tree, parent, bounds[number], bounds[number + 1], parent.depth + 1, null);
  }

  rest(numbers) {
    const node = new Node(this.tree, this.only ? this.parent : this, this.start, this.end, this.depth, numbers);
    node.parentNode = this;
    return node;
  }

  // Row ranges, for the table.
  ranges() {
    if (!this.only) return [[this.start, this.end]];
    const bounds = this.bounds;
    return Array.from(this.only, (i) => [bounds[i], bounds[i + 1]]);
  }
}
