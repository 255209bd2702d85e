// Turns the page's parts into one view: what the treemap shows, the table lists; what is searched for stands out in both.

async function main() {
  const began = performance.now();
  const get = (id) => document.getElementById(id);
  const data = await readData(get("data"));
  const tree = new Tree(data);
  const metric = { now: 0 };
  let node = tree.root, found = null;

  const say = (what) => {
    const path = [];
    for (let each = what; each && each.parent; each = each.parent) path.unshift(each.name);
    get("box").textContent = `${path.join("  ›  ") || "all rows"}:   ${data.columns.filter((c) => c.name !== "shared").map((c) => `${c.name} ${signed(c, what.sum(data.columns.indexOf(c)))}`).join(" · ")}`;
  };
  const rowsText = (count) => `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`;
  const signed = (column, value) => (column.signed && value > 0 ? "+" : "") + bytes(value);
  const map = new Treemap(get("map"), say, (to) => go(to || node.parentNode || node.parent || node));
  const table = new Table(data, (row) => {
    get("box").textContent = data.levels.map((level) => level.texts.get(level.ids[row])).join("  ›  ");
  });

  const go = (to) => {
    node = to;
    keepPlace();
    const steps = [];
    for (let each = node; each; each = each.parentNode || each.parent) steps.unshift(each);
    get("path").replaceChildren(...steps.flatMap((each, i) => {
      const button = document.createElement("button");
      button.textContent = each.parent ? each.name : "all";
      button.addEventListener("click", () => go(each));
      if (each === node) button.setAttribute("aria-current", "location");
      return i ? [" › ", button] : [button];
    }));
    colour();
    map.show(node, metric.now);
    table.show(node.ranges(), found);
    say(node);
  };

  // The level whose values have colours, and what the colours mean.
  const colour = () => {
    Object.assign(map, { node, metric: metric.now });
    map.colourBy(Number(get("hue").value), data, metric.now);
    explainColours();
  };
  const explainColours = () => get("colours").replaceChildren(...map.meanings().map(([hue, text]) => {
    const entry = document.createElement("span"), swatch = document.createElement("i");
    swatch.style.background = hue;
    entry.append(swatch, text);
    return entry;
  }));

  // What is shown is in the address, so that it can be sent: #metric=file&search=gemm&in=aten::add
  const keepPlace = () => {
    const place = new URLSearchParams(), words = get("search").value;
    if (metric.now !== first) place.set("metric", data.columns[metric.now].name);
    if (words) place.set("search", words);
    if (get("hue").value !== hues) place.set("colours", data.levels[get("hue").value].name);
    for (const name of names(node)) place.append("in", name);
    const text = place.toString(), hash = text ? `#${text}` : "";
    if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname);
  };

  const names = (what) => {
    const path = [];
    for (let each = what.only ? what.parent : what; each.parent; each = each.parent) path.unshift(each.name);
    return path;
  };

  // Shows the place of the address; a part of it that this page does not have is left out.
  const goToPlace = () => {
    const place = new URLSearchParams(location.hash.slice(1));
    const column = data.columns.findIndex((each) => each.area && each.name === place.get("metric"));
    metric.now = column < 0 ? first : column;
    get("metric").value = metric.now;
    const level = data.levels.findIndex((each) => each.name === place.get("colours"));
    get("hue").value = level < 0 ? hues : level;
    let to = tree.root;
    for (const name of place.getAll("in")) {
      const child = to.named(name);
      if (!child || child.isLeaf) break;
      to = child;
    }
    get("search").value = place.get("search") || "";
    if (get("search").value || found) search();
    go(to);
  };

  // The boxes of the treemap that are directly below its node, as a table of text.
  const asText = () => {
    const column = data.columns[metric.now], whole = node.area(metric.now);
    const { children } = node.order(metric.now);
    const rows = Array.from(children, (number) => node.child(number));
    const lines = rows.map((each) => {
      const part = whole > 0 ? (100 * each.area(metric.now)) / whole : 0;
      return `${signed(column, each.sum(metric.now))}\t${part.toFixed(1)}%\t${each.name}`;
    });
    const title = [data.title, ...names(node)].join("  ›  ");
    return [`${title}  ${column.name} ${signed(column, node.sum(metric.now))}`, `bytes\tshare\t${data.levels[node.depth].name}`, ...lines, ""].join("\n");
  };

  const copy = async () => {
    const text = asText();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages of files, or without the permission: what is selected can always be copied.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    get("found").textContent = "copied";
  };

  const search = () => {
    const start = performance.now(), words = get("search").value.toLowerCase();
    found = null;
    get("found").textContent = "";
    if (words) {
      const hits = data.levels.map((level) => level.texts.search(words));
      found = new Uint8Array(data.rows);
      let count = 0, size = 0;
      for (let i = 0; i < data.rows; i++) {
        if (!data.levels.some((level, k) => hits[k][level.ids[i]])) continue;
        found[i] = 1;
        count++;
        size += data.columns[metric.now].values[i];
      }
      get("found").textContent = `${rowsText(count)}, ${signed(data.columns[metric.now], size)} bytes`;
    }
    tree.mark(found);
    map.draw();
    table.show(node.ranges(), found);
    document.body.dataset.searchMs = Math.round(performance.now() - start);
    document.body.dataset.searched = words;
    keepPlace();
  };

  // The sum of the rows, not a number that came along: what it says is what is there.
  const sums = data.columns.map((column, i) => [column, tree.root.sum(i)]).filter(([column]) => column.area);
  const left = data.leftOut;
  get("totals").textContent = (data.whole ? `${data.whole} · ` : "") + sums.map(([column, sum]) => `${column.name} ${signed(column, sum + (left ? left[column.name] || 0 : 0))}`).join(" · ")
    + ` · ${rowsText(data.rows)}` + (left ? ` and what the filter left out` : "");
  for (const [column, sum] of sums) document.body.dataset[`sum${column.name}`] = sum;

  data.columns.forEach((column, i) => { if (column.area) get("metric").append(new Option(column.name, i)); });
  metric.now = Number(get("metric").value);
  const first = metric.now;
  data.levels.forEach((level, i) => get("hue").append(new Option(level.name, i)));
  const usual = ["component", "operator"].map((name) => data.levels.findIndex((level) => level.name === name)).find((i) => i >= 0);
  const hues = String(usual || 0);
  get("byhue").hidden = data.levels.length < 2 || data.columns[first].signed;
  get("hue").addEventListener("change", () => go(node));
  get("metric").addEventListener("change", () => { metric.now = Number(get("metric").value); if (found) search(); go(node); });
  let waiting = 0;
  get("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 80); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target.tagName !== "INPUT") { event.preventDefault(); get("search").focus(); }
  });
  new ResizeObserver(() => { map.layout(); map.draw(); table.draw(); }).observe(get("map"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { explainColours(); map.draw(); });
  get("copy").addEventListener("click", copy);
  addEventListener("hashchange", goToPlace);
  goToPlace();
  document.body.dataset.loadMs = Math.round(performance.now() - began);
  document.body.dataset.ready = "yes";
}

main().catch((error) => {
  document.getElementById("totals").textContent = `cannot show the data: ${error.message}`;
  document.body.dataset.ready = "failed";
});
