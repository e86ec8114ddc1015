// Elements, numbers, tables, and the tip beside the pointer.

function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// A name of the data stands for itself, whichever way its script runs.
const isolate = (text) => `\u2068${text}\u2069`;
const prefixText = (tags) => (tags.length === 0 ? 'nothing yet' : tags.map(isolate).join(' '));

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
function num(value) {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (!isNumber(value)) return '–';
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : d3.format('.4~g')(value);
}
function percent(share) {
  if (!isNumber(share)) return '–';
  if (share > 0 && share < 0.001) return '< 0.1 %';
  return `${d3.format('.3~g')(100 * share)} %`;
}
const plural = (count, noun, nouns = `${noun}s`) => `${d3.format(',')(count)} ${count === 1 ? noun : nouns}`;

// Columns are {head, value(row), number, text: of what value gives}. At most `most` rows at first.
function makeTable(label, columns, rows, isKey = () => false, most = 500) {
  const body = el('tbody');
  const side = (column) => (column.number ? 'number' : null);
  const add = (some) => {
    for (const row of some) {
      const cells = columns.map((column) => {
        const text = (column.text || num)(column.value(row));
        return el('td', {class: side(column)}, column.number ? text : el('bdi', {}, text));
      });
      body.append(el('tr', {class: isKey(row) ? 'key' : null}, ...cells));
    }
  };
  add(rows.slice(0, most));
  const head = columns.map((column) => el('th', {scope: 'col', class: side(column)}, column.head));
  const table = el('table', {}, el('caption', {class: 'skip'}, label), el('thead', {}, el('tr', {}, ...head)), body);
  const box = el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label}, table);
  if (rows.length <= most) return box;
  const more = el('button', {type: 'button'}, `Show all ${rows.length} rows`);
  more.addEventListener('click', () => { add(rows.slice(most)); more.remove(); });
  return el('div', {}, box, more);
}

// The table behind a picture. It is made when it is first looked at.
function behind(summary, make, open = false) {
  const details = el('details', {}, el('summary', {}, summary));
  let isMade = false;
  const fill = () => {
    if (isMade || !details.open) return;
    isMade = true;
    details.append(make());
  };
  details.addEventListener('toggle', fill);
  if (open) { details.open = true; fill(); }
  return details;
}

function makeSelect(label, options, onChange) {
  const select = el('select', {}, ...options.map(([value, text]) => el('option', {value}, text)));
  select.addEventListener('change', () => onChange(select.value));
  return el('label', {}, label, select);
}

const tip = {
  show(text, x, y) {
    const box = document.getElementById('tip');
    box.textContent = text;
    box.hidden = false;
    const {width, height} = box.getBoundingClientRect();
    const left = Math.max(4, Math.min(x + 14, window.innerWidth - width - 4));
    const above = y - height - 12;
    box.style.left = `${left}px`;
    box.style.top = `${above > 4 ? above : Math.min(y + 18, window.innerHeight - height - 4)}px`;
  },
  showAt(element, text) {
    const box = element.getBoundingClientRect();
    tip.show(text, box.right - 10, box.top);
  },
  hide() { document.getElementById('tip').hidden = true; },
};

// Shows text beside an element of a picture while the pointer is on it or it has the focus.
function explain(element, text) {
  element.addEventListener('pointerenter', (event) => tip.show(text, event.clientX, event.clientY));
  element.addEventListener('pointermove', (event) => tip.show(text, event.clientX, event.clientY));
  element.addEventListener('pointerleave', tip.hide);
  element.addEventListener('focus', () => tip.showAt(element, text));
  element.addEventListener('blur', tip.hide);
}

// Calls draw(width) now that the host has a width, and whenever that changes.
function drawToWidth(host, draw) {
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(host.clientWidth);
    if (width === 0 || width === drawn) return;
    drawn = width;
    draw(width);
  }).observe(host);
  return () => { if (drawn > 0) draw(drawn); };
}
