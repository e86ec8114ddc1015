// The particle forest of one run: a prefix is one node, however many particles share it.

const kPitch = 74, kWidest = 150;  // pixels from a level to the next

function drawForest(run) {
  const nodes = run.nodes.map((node, id) => ({...node, id, children: []}));
  for (const node of nodes) {
    node.up = node.parent < 0 ? null : nodes[node.parent];
    node.level = node.up ? node.up.level + 1 : 0;
    node.tags = node.up ? [...node.up.tags, node.tag] : [];
    if (node.up) node.up.children.push(node);
  }
  for (const node of nodes) node.children.sort((a, b) => b.final - a.final || b.share - a.share || a.id - b.id);
  const state = {width: 'share', most: 40, chosen: null};
  const box = el('div', {class: 'scroll forest', tabindex: '-1'});
  const chosen = el('div', {class: 'chosen-node', role: 'status', 'aria-live': 'polite'});
  const left = el('p');
  const redraw = drawToWidth(box, (width) => {
    const shown = chooseNodes(nodes, state.most);
    if (state.chosen && !shown.has(state.chosen)) state.chosen = null;
    state.pitch = Math.min(kWidest, Math.max(kPitch, Math.floor((width - 80) / Math.max(1, run.levels - 1))));
    paintForest(box, run, nodes[0], shown, state, chosen);
    left.textContent = leftOutWords(run, nodes, shown);
  });
  const leaves = nodes.filter((node) => node.children.length === 0).length;
  const counts = [10, 20, 40, 80, 160, 320].filter((count) => count < leaves);
  const controls = el('div', {class: 'controls'},
    makeSelect('Width by', [['share', 'weight when it was there'], ['final', 'weight of its final descendants']], (value) => { state.width = value; redraw(); }));
  if (counts.length > 0) {
    const select = makeSelect('Branches', counts.concat([leaves]).map((count) => [count, count === leaves ? `all ${leaves}` : `the ${count} heaviest`]), (value) => { state.most = Number(value); redraw(); });
    select.querySelector('select').value = String(counts.includes(40) ? 40 : leaves);
    controls.append(select);
  }
  if (!counts.includes(40)) state.most = leaves;
  const columns = [
    {head: 't', value: (node) => node.level, number: true}, {head: 'prefix', value: (node) => prefixText(node.tags)},
    {head: 'G', value: (node) => node.score, number: true}, {head: 'C', value: (node) => node.compat, number: true},
    {head: 'weight when there', value: (node) => node.share, text: percent, number: true},
    {head: 'weight of final descendants', value: (node) => node.final, text: percent, number: true},
    {head: run.has_counts ? 'particles' : 'prefixes', value: (node) => node.count, number: true}, {head: 'children', value: (node) => node.children.length, number: true},
  ];
  return [el('figure', {}, el('h3', {}, 'Particle forest'), controls, box, chosen,
    el('figcaption', {}, `From left to right, t = 0 … ${run.levels - 1}. A node is a prefix, with its last tag; the width of the line into it is its share of the weight of its level (square root of the share, so that light ones can be seen). Grey and broken: dead, none of its descendants is in the final sample. Click a node, or Enter, for its ancestors and descendants; arrow keys go to parent, heaviest child and neighbours; Escape forgets.`), left),
  behind('Table of the prefixes', () => makeTable('Prefixes of the forest', columns, nodes.slice(1)))];
}

// The heaviest branches: leaves by their weight at the end, or when they were there, with all above.
function chooseNodes(nodes, most) {
  const weight = (node) => Math.max(node.final, node.share);
  const leaves = nodes.filter((node) => node.children.length === 0).sort((a, b) => weight(b) - weight(a) || a.id - b.id);
  const shown = new Set();
  for (const leaf of leaves.slice(0, most)) for (let node = leaf; node && !shown.has(node); node = node.up) shown.add(node);
  return shown;
}

function leftOutWords(run, nodes, shown) {
  const missing = run.num_prefixes - (shown.size - 1);
  if (missing <= 0) return `All ${plural(run.num_prefixes, 'prefix', 'prefixes')} of the run are drawn.`;
  const weight = d3.max(d3.range(1, run.levels), (level) => 1 - d3.sum([...shown].filter((node) => node.level === level), (node) => node.share)) || 0;
  const tabled = nodes.length - 1 < run.num_prefixes ? ` This page has ${nodes.length - 1}: the heaviest branches.` : '';
  return `${shown.size - 1} of ${run.num_prefixes} prefixes are drawn; those left out hold at most ${percent(Math.max(0, weight))} of the weight of a level.${tabled}`;
}

function describeNode(run, node) {
  if (node.level === 0) return 'The start: nothing yet.';
  const lines = [`y₁…y_t = ${prefixText(node.tags)}`, `t = ${node.level}, x_t = ${isolate(run.x[node.level - 1])}`,
    `G ${num(node.score)}, C ${num(node.compat)}`, `weight ${percent(node.share)} when it was there, ${percent(node.final)} at the end${node.final === 0 ? ': dead' : ''}`];
  if (run.has_counts) lines.push(plural(node.count, 'particle'));
  return lines.join('\n');
}

function paintForest(box, run, root, shown, state, chosen) {
  const tree = d3.hierarchy(root, (node) => node.children.filter((child) => shown.has(child)));
  const leaves = tree.leaves().length;
  const pitch = leaves <= 12 ? 30 : 20;
  d3.tree().nodeSize([pitch, state.pitch]).separation(() => 1)(tree);
  const [top, bottom] = d3.extent(tree.descendants(), (each) => each.x);
  const header = 52, width = (run.levels - 1) * state.pitch + 70, height = bottom - top + header + 36;
  const at = (each) => [each.depth * state.pitch + 28, each.x - top + header + 16];
  const hadFocus = box.contains(document.activeElement), wasDrawn = box.firstChild !== null;
  box.replaceChildren();
  const svg = d3.select(box).append('svg').attr('width', width).attr('height', height).attr('viewBox', `0 0 ${width} ${height}`).attr('role', 'group')
    .attr('aria-label', `Particle forest of ${plural(shown.size - 1, 'prefix', 'prefixes')}; the table below has the numbers`);
  paintColumns(svg, run, state.pitch, height);
  const links = svg.append('g'), spots = svg.append('g');
  const curve = d3.linkHorizontal().x((d) => d[0]).y((d) => d[1]);
  const byNode = new Map();
  for (const each of tree.descendants()) {
    const node = each.data, place = at(each), dead = node.final === 0 ? ' dead' : '';
    const link = each.parent ? links.append('path').attr('class', `link${dead}`).attr('d', curve({source: at(each.parent), target: place})).attr('stroke-width', 1 + (pitch - 5) * Math.sqrt(node[state.width])).node() : null;
    const group = spots.append('g').attr('class', `node${dead}`).attr('transform', `translate(${place})`);
    paintNode(group, run, node);
    byNode.set(node, {each, group: group.node(), link});
  }
  if (!wasDrawn) box.scrollTop = at(tree)[1] - box.clientHeight / 2;
  actOnForest(svg.node(), run, root, byNode, state, chosen, hadFocus);
}

// About as wide as the text will be.
const textWidth = (text) => d3.sum([...text], (letter) => (letter.codePointAt(0) > 0x2e7f ? 12.5 : 7.5));

function paintNode(group, run, node) {
  const text = node.level === 0 ? '' : shorten(node.tag, 7), width = Math.max(16, textWidth(text) + 8);
  group.attr('role', 'button').attr('tabindex', '-1').attr('aria-pressed', 'false').attr('aria-label', describeNode(run, node));
  group.append('rect').attr('x', -width / 2).attr('y', -8).attr('width', width).attr('height', 16).attr('rx', 8);
  group.append('text').attr('text-anchor', 'middle').attr('dy', '0.35em').text(text);
  explain(group.node(), describeNode(run, node));
}

// x_t over each level, and where the run resampled or left out.
function paintColumns(svg, run, pitch, height) {
  const columns = svg.append('g').attr('class', 'columns');
  for (let t = 1; t < run.levels; ++t) {
    const step = run.steps[t - 1], x = t * pitch + 28;
    if (t % 2 === 1) columns.append('rect').attr('x', x - pitch / 2).attr('width', pitch).attr('height', height);
    columns.append('text').attr('x', x).attr('y', 16).text(shorten(run.x[t - 1], Math.floor(pitch / 8)));
    columns.append('text').attr('class', 'soft').attr('x', x).attr('y', 32).text(`t = ${t}`);
    const words = step.resampled ? 'resampled' : step.left_out > 0 ? 'reduced' : null;
    if (!words) continue;
    const mark = columns.append('g').attr('class', step.resampled ? 'mark' : 'mark dash');
    const place = step.resampled && !run.resamples_before ? x + pitch / 2 - 4 : x - pitch / 2;
    mark.append('line').attr('x1', place).attr('x2', place).attr('y1', 52).attr('y2', height);
    mark.append('title').text(step.resampled ? `resampled ${run.resamples_before ? 'before' : 'after'} y_${t} was drawn` : `${step.left_out} children left out at t = ${t}`);
    mark.append('text').attr('x', place).attr('y', 48).attr('style', 'font-size:11px').text(words);
  }
}

function actOnForest(svg, run, root, byNode, state, chosen, takeFocus) {
  let current = state.chosen || root;
  const spot = (node) => byNode.get(node).group;
  const choose = (node) => {
    state.chosen = node;
    const kin = new Set();
    if (node) {
      for (let above = node; above; above = above.up) kin.add(above);
      byNode.get(node).each.each((below) => kin.add(below.data));
    }
    svg.classList.toggle('chosen', Boolean(node));
    for (const [each, {group, link}] of byNode) {
      group.classList.toggle('kin', kin.has(each));
      group.classList.toggle('self', each === node);
      group.setAttribute('aria-pressed', String(each === node));
      if (link) link.classList.toggle('kin', kin.has(each));
    }
    chosen.textContent = node ? `${describeNode(run, node)}\n${plural(node.level, 'ancestor')}, ${plural(kin.size - node.level - 1, 'descendant')} drawn` : 'Choose a prefix for its ancestors and descendants.';
  };
  const go = (node) => {
    if (!node) return;
    spot(current).setAttribute('tabindex', '-1');
    current = node;
    spot(node).setAttribute('tabindex', '0');
    spot(node).focus();
  };
  // Neighbours at the same level, from top to bottom.
  const neighbours = (node) => [...byNode].filter(([each]) => each.level === node.level).sort((a, b) => a[1].each.x - b[1].each.x).map(([each]) => each);
  const beside = (node, by) => { const row = neighbours(node); return row[row.indexOf(node) + by]; };
  for (const [node, {group}] of byNode) {
    group.addEventListener('click', () => { go(node); choose(state.chosen === node ? null : node); tip.hide(); });
  }
  svg.addEventListener('keydown', (event) => {
    const children = byNode.get(current).each.children || [];
    if (event.key === 'ArrowLeft') go(current.up);
    else if (event.key === 'ArrowRight') go(children.length > 0 ? children[0].data : null);
    else if (event.key === 'ArrowUp') go(beside(current, -1));
    else if (event.key === 'ArrowDown') go(beside(current, 1));
    else if (event.key === 'Home') go(root);
    else if (event.key === 'Enter' || event.key === ' ') choose(state.chosen === current ? null : current);
    else if (event.key === 'Escape') { choose(null); tip.hide(); } else return;
    event.preventDefault();
  });
  spot(current).setAttribute('tabindex', '0');
  choose(state.chosen);
  if (takeFocus) spot(current).focus();
}
