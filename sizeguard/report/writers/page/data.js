// Turns the embedded bytes into columns. Layout, little endian: length of the header, header (JSON), then the arrays it lists.

async function readData(element) {
  const text = atob(element.textContent);
  element.remove();
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let at = 4 + length;
  const take = (size) => { const part = buffer.slice(at, at + size); at += size; return part; };
  const columns = header.columns.map((column) => ({ ...column, values: new Float64Array(take(8 * header.rows)) }));
  const levels = header.levels.map((level) => {
    const ids = new Uint32Array(take(4 * header.rows));
    return { name: level.name, ids, texts: new Texts(new TextDecoder().decode(new Uint8Array(take(level.bytes))), level.count) };
  });
  return { ...header, columns, levels };
}

// Names of one level, in ascending order, a line each: no name holds a line break.
class Texts {
  constructor(text, count) {
    this.text = text;
    this.start = new Uint32Array(count + 1);
    for (let i = 0, at = 0; i < count; i++) {
      this.start[i] = at;
      const end = text.indexOf("\n", at);
      at = end < 0 ? text.length + 1 : end + 1;
    }
    this.start[count] = text.length + 1;
    this.count = count;
    this.lower = null;
  }

  get(i) { return this.text.slice(this.start[i], this.start[i + 1] - 1) || "–"; }

  // Which names hold the words: one byte each.
  search(words) {
    if (this.lower === null) {
      const lower = this.text.toLowerCase();
      // A few letters get longer, so places would not fit: then only ASCII is lowered.
      const ascii = () => this.text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
      this.lower = lower.length === this.text.length ? lower : ascii();
    }
    const found = new Uint8Array(this.count);
    for (let at = this.lower.indexOf(words); at >= 0;) {
      const i = upper(this.start, at) - 1;
      found[i] = 1;
      at = this.lower.indexOf(words, this.start[i + 1]);
    }
    return found;
  }
}

// How many numbers of an ascending array are not larger.
function upper(array, value) {
  let low = 0, high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}
