// Makes reports and drives them in Chromium, without a network: hover, click, keys, a phone, dark, print.
//   node report_test.mjs BIN_FOLDER SOURCE_FOLDER [SCREENSHOT_FOLDER]
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Browser} from './browser.mjs';

const [bin, source, shots] = process.argv.slice(2);
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
if (!chromium) {
  console.log('SKIPPED: chromium is missing: scripts/install-deps chromium');
  process.exit(0);
}
const folder = mkdtempSync(join(tmpdir(), 'scry-pages-'));
const path = (name) => join(folder, name);
const url = (name) => `file://${path(name)}`;
const scry = (program, ...words) => execFileSync(join(bin, program), words, {cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], env: {...process.env, SCRY_ENZYME: 'off', SCRY_CACHE: path('cache')}});
const kLaptop = {width: 1280, height: 800}, kPhone = {width: 360, height: 740, mobile: true};

const kOddModel = `#include <scry.h>
using namespace scry;
struct Odd : Model {
  Embedding w;
  explicit Odd(const Task& t) : Model(t, state("h", 1)), w(*this, "w", 2, 4) {}
  Step step(const State& s, const Input& x, const Sym& y) const override { return {.score = w[x][y], .state = {s["h"]}}; }
};
SCRY_MODEL() {
  return {std::make_shared<Odd>(Task{Alphabet::of("a <b>"), Alphabet({"</script><script>document.title='hacked'</script>", "\\"'\`\${1}", "名詞", "اسم"})})};
}
`;

function makePages() {
  const words = readFileSync(join(source, 'data/stress/train.tsv'), 'utf8').split('\n');
  writeFileSync(path('train.tsv'), `${words.slice(0, 300).join('\n')}\n`);
  writeFileSync(path('test.tsv'), `${words.slice(300, 312).join('\n')}\n`);
  writeFileSync(path('hmm.txt'), `1 2 3 1 2\n1\n${'1 3 2 2 '.repeat(50).trim()}\n`);
  writeFileSync(path('odd.cpp'), kOddModel);
  writeFileSync(path('odd.txt'), 'a <b> a\n');
  const tagger = 'lesson_03_stress_tagger';
  scry(tagger, 'fit', '--train', 'train.tsv', '--dev', 'test.tsv', '--epochs', '4', '-o', 'f', '--report', 'fit.html');
  scry(tagger, 'learn', '--params', 'f', '--train', 'train.tsv', '--dev', 'test.tsv', '-M', '4', '--epochs', '1', '-o', 'l', '--report', 'learn.html');
  scry(tagger, 'eval', '--params', 'l', '--input', 'test.tsv', '-M', '4,8,16', '--runs', '3', '--report', 'eval.html');
  scry(tagger, 'eval', '--params', 'l', '--input', 'test.tsv', '--limit', '1', '-M', '8', '--runs', '2', '--methods', 'PF,PS', '--report', 'eval_one.html');
  scry(tagger, 'sample', '--params', 'l', '--input', 'test.tsv', '-M', '32', '--method', 'filter', '--resample', 'always', '--report', 'filter.html');
  scry('lesson_01_hmm', 'sample', '--input', 'hmm.txt', '-M', '200', '--report', 'long.html');
  scry('lesson_01_hmm', 'sample', '--input', 'hmm.txt', '-M', '1', '--method', 'smooth', '--report', 'one.html');
  scry('scry', 'sample', 'odd.cpp', '--input', 'odd.txt', '-M', '60', '--method', 'filter', '--report', 'odd.html');
  return ['fit', 'learn', 'eval', 'eval_one', 'filter', 'long', 'one', 'odd'].map((name) => `${name}.html`);
}

let browser;
async function open(name, how) {
  const page = await browser.open(url(name), how);
  page.name = name;
  return page;
}
function checkClean(page) {
  assert.deepEqual(page.errors, [], `${page.name}: console errors`);
  assert.deepEqual(page.requests, [], `${page.name}: requests`);
}
async function shoot(page, kind) {
  if (!shots) return;
  mkdirSync(shots, {recursive: true});
  writeFileSync(join(shots, `${page.name.replace('.html', '')}-${kind}.png`), await page.screenshot(true));
}
const count = (page, selector) => page.get(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
const text = (page, selector) => page.get(`document.querySelector(${JSON.stringify(selector)}).textContent`);
const tipText = (page) => page.get(`document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent`);
const focused = (page) => page.get(`document.activeElement.getAttribute('aria-label')`);

const tests = {
  async 'every page opens clean on a laptop, on a phone and in the dark, and prints'(pages) {
    for (const name of pages) {
      for (const [kind, how] of Object.entries({laptop: kLaptop, dark: {...kLaptop, dark: true}, phone: kPhone})) {
        const page = await open(name, how);
        assert.ok(await count(page, 'section h2') > 0, `${name}: no section`);
        const over = await page.get('document.documentElement.scrollWidth - window.innerWidth');
        assert.ok(over <= 0, `${name}, ${kind}: the page is ${over} pixels too wide`);
        const back = await page.get('getComputedStyle(document.body).backgroundColor');
        assert.equal(back, kind === 'dark' ? 'rgb(20, 23, 27)' : 'rgb(255, 255, 255)');
        await shoot(page, kind);
        if (kind === 'laptop') {
          const pdf = await page.pdf();
          assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
          if (shots) writeFileSync(join(shots, `${name.replace('.html', '')}.pdf`), pdf);
        }
        checkClean(page);
      }
    }
  },

  async 'every picture has a name, and a table or a caption in words behind it'(pages) {
    for (const name of pages) {
      const page = await open(name, kLaptop);
      const bare = await page.get(`[...document.querySelectorAll('main svg')].filter((svg) => !svg.getAttribute('aria-label') && !svg.closest('[aria-hidden=true], button')).length`);
      assert.equal(bare, 0, `${name}: pictures without a name`);
      const sections = await page.get(`[...document.querySelectorAll('section')].filter((section) => section.querySelector('svg') && !section.querySelector('details summary')).length`);
      assert.equal(sections, 0, `${name}: pictures without a table`);
      await page.get(`document.querySelectorAll('details').forEach((each) => { each.open = true; })`);
      await page.settle();
      assert.equal(await page.get(`[...document.querySelectorAll('section details')].filter((each) => !each.querySelector('table tbody tr td')).length`), 0, `${name}: an empty table`);
      checkClean(page);
    }
  },

  async 'eval: a point tells its figures, and measures and lines can be switched'() {
    const page = await open('eval.html', kLaptop);
    await page.hover('.series .stop');
    assert.match(await tipText(page), /^\S+\nM = 4: KL bits [\d.]+ ± [\d.]+ \(95 %\)/);
    const lines = await count(page, '.series path.line');
    await page.click('.legend button');
    assert.equal(await page.get(`document.querySelector('.legend button').getAttribute('aria-pressed')`), 'false');
    assert.equal(await count(page, '.series path.line'), lines - 1);
    await page.get(`(() => { const s = document.querySelector('select'); s.value = 'sd_log_z'; s.dispatchEvent(new Event('change')); })()`);
    await page.settle();
    assert.match(await text(page, 'figcaption'), /^sd log Ẑ/);
    assert.ok(await count(page, '.dots circle') > 10);
    await page.hover('.dots circle');
    assert.match(await tipText(page), /^input \d+, t = \d+/);
    checkClean(page);
  },

  async 'a chart can be walked by keys'() {
    const page = await open('fit.html', kLaptop);
    await page.get(`document.querySelectorAll('.stop[tabindex="0"]')[1].focus()`);
    const first = await focused(page);
    await page.press('ArrowRight');
    const second = await focused(page);
    assert.notEqual(second, first);
    assert.match(await tipText(page), /epoch \d/);
    await page.press('ArrowDown');
    assert.notEqual(await focused(page), second);
    await page.press('Escape');
    assert.equal(await tipText(page), '');
    checkClean(page);
  },

  async 'forest: hover tells G and weight, click shows ancestors and descendants'() {
    const page = await open('filter.html', kLaptop);
    await page.hover('.forest .node:nth-of-type(3)');
    assert.match(await tipText(page), /G -?[\d.]+[^]*weight [\d.<]+ ?[\d.]* ?% when it was there[^]*particle/);
    await page.click('.forest .node:nth-of-type(3)');
    assert.equal(await count(page, '.forest .node.self'), 1);
    const wrong = await page.get(`(() => {
      const nodes = [...document.querySelector('.forest svg').querySelectorAll('.node')];
      const prefix = (node) => node.getAttribute('aria-label').split('\\n')[0].replace('y₁…y_t = ', '');
      const self = prefix(document.querySelector('.node.self'));
      return nodes.filter((node) => { const p = prefix(node); const kin = p.startsWith('The start') || self === p || self.startsWith(p + ' ') || p.startsWith(self + ' '); return kin !== node.classList.contains('kin'); }).length;
    })()`);
    assert.equal(wrong, 0, 'kin are the prefixes of it, and those that it is a prefix of');
    assert.match(await text(page, '.chosen-node'), /1 ancestor, \d+ descendants? drawn/);
    assert.ok(await count(page, '.forest .mark') > 0, 'resampling is marked');
    await page.click('.forest .node:nth-of-type(3)');
    assert.equal(await count(page, '.forest .kin'), 0);
    checkClean(page);
  },

  async 'forest: arrow keys go to parent, child and neighbours, Enter chooses, Escape forgets'() {
    const page = await open('filter.html', kLaptop);
    await page.get(`document.querySelector('.forest .node[tabindex="0"]').focus()`);
    assert.match(await focused(page), /^The start/);
    await page.press('ArrowRight');
    const child = await focused(page);
    assert.match(child, /t = 1,/);
    await page.press('ArrowDown');
    assert.match(await focused(page), /t = 1,/);
    assert.notEqual(await focused(page), child);
    await page.press('ArrowUp');
    assert.equal(await focused(page), child);
    await page.press('Enter');
    assert.equal(await count(page, '.forest .node.self'), 1);
    await page.press('ArrowLeft');
    assert.match(await focused(page), /^The start/);
    await page.press('Escape');
    assert.equal(await count(page, '.forest .node.self'), 0);
    assert.equal(await page.get(`document.querySelector('.forest').querySelectorAll('[tabindex="0"]').length`), 1, 'one stop of Tab');
    checkClean(page);
  },

  async 'forest: on a phone a tap chooses, and wide ones scroll in their own box'() {
    const page = await open('long.html', kPhone);
    await page.get(`[...document.querySelectorAll('.forest')].forEach((box, i) => { box.id = 'forest-' + i; })`);
    const [inside, outside] = await page.get(`(() => { const box = document.querySelector('#forest-2'); return [box.scrollWidth, box.clientWidth]; })()`);
    assert.ok(inside > 200 * 70 && outside < 360);
    await page.click('#forest-0 .node:nth-of-type(2)');
    assert.match(await text(page, '.chosen-node'), /t = 1/);
    checkClean(page);
  },

  async 'names that are markup are text'() {
    const page = await open('odd.html', kLaptop);
    assert.match(await page.get('document.title'), /^scry sample: odd.txt$/);
    const labels = await page.get(`[...document.querySelectorAll('.node')].map((node) => node.getAttribute('aria-label')).join('\\n')`);
    for (const tag of ['</script><script>', '"\'`${1}', '名詞', 'اسم']) assert.ok(labels.includes(tag), tag);
    checkClean(page);
  },
};

let failed = 0;
try {
  const pages = makePages();
  browser = await Browser.start(chromium);
  for (const [name, run] of Object.entries(tests)) {
    try {
      await run(pages);
      console.log(`passed: ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED: ${name}\n${error.stack}`);
    }
  }
} finally {
  if (browser) await browser.stop();
  rmSync(folder, {recursive: true, force: true});
}
process.exit(failed === 0 ? 0 : 1);
