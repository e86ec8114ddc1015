// Chromium by the DevTools protocol over a pipe: no library, no port, no network.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const kPatience = 60_000;  // milliseconds that an answer may take, on a busy machine

export class Browser {
  static async start(program) {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), 'scry-report-'));
    browser.process = spawn(program, [
      '--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--no-first-run',
      '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update',
      '--disable-sync', '--no-proxy-server', '--host-resolver-rules=MAP * ~NOTFOUND',
      `--user-data-dir=${browser.folder}`, 'about:blank',
    ], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: {...process.env, HOME: browser.folder}});
    browser.calls = new Map();
    browser.listeners = [];
    browser.next = 1;
    browser.process.on('exit', () => browser.fail(new Error('chromium ended')));
    let rest = '';
    browser.process.stdio[4].on('data', (bytes) => {
      const texts = (rest + bytes).split('\0');
      rest = texts.pop();
      for (const text of texts) browser.take(JSON.parse(text));
    });
    return browser;
  }

  fail(error) {
    for (const call of this.calls.values()) call.reject(error);
    this.calls.clear();
  }

  take(message) {
    if (message.id === undefined) {
      for (const listener of this.listeners) listener(message);
      return;
    }
    const call = this.calls.get(message.id);
    this.calls.delete(message.id);
    if (!call) return;
    if (message.error) call.reject(new Error(`${call.method}: ${message.error.message}`));
    else call.resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), kPatience);
      const settle = (then) => (value) => { clearTimeout(timer); then(value); };
      this.calls.set(id, {method, resolve: settle(resolve), reject: settle(reject)});
      this.process.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    });
  }

  async open(url, {width, height, dark = false, mobile = false}) {
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    const page = new Page(this, sessionId);
    for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'Accessibility']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile});
    await page.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
    const loaded = page.once('Page.loadEventFired');
    await page.send('Page.navigate', {url});
    await loaded;
    await page.settle();
    return page;
  }

  async stop() {
    const ended = new Promise((resolve) => this.process.on('exit', resolve));
    this.process.kill('SIGKILL');
    await ended;
    rmSync(this.folder, {recursive: true, force: true, maxRetries: 5, retryDelay: 200});
  }
}

class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
    this.errors = [];    // of the console, uncaught ones included
    this.requests = [];  // of anything but the page itself
    browser.listeners.push(({method, params, sessionId}) => {
      if (sessionId !== session) return;
      if (method === 'Runtime.exceptionThrown') this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === 'Runtime.consoleAPICalled' && ['error', 'warning', 'assert'].includes(params.type)) this.errors.push(params.args.map((arg) => arg.value ?? arg.description).join(' '));
      if (method === 'Log.entryAdded' && ['error', 'warning'].includes(params.entry.level)) this.errors.push(params.entry.text);
      if (method === 'Network.requestWillBeSent' && params.type !== 'Document' && !params.request.url.startsWith('data:')) this.requests.push(params.request.url);
    });
  }
  send(method, params) { return this.browser.send(method, params, this.session); }
  once(event) {
    return new Promise((resolve) => {
      const listener = ({method, sessionId, params}) => {
        if (method !== event || sessionId !== this.session) return;
        this.browser.listeners.splice(this.browser.listeners.indexOf(listener), 1);
        resolve(params);
      };
      this.browser.listeners.push(listener);
    });
  }
  // The value of an expression in the page.
  async get(expression) {
    const {result, exceptionDetails} = await this.send('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }
  // Until what was asked for has been drawn.
  settle() { return this.get('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))'); }
  // The middle of the first element that the selector names, scrolled into sight.
  place(selector) {
    return this.get(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({block: 'center', inline: 'center'}); const b = e.getBoundingClientRect(); return {x: b.x + b.width / 2, y: b.y + b.height / 2}; })()`);
  }
  async hover(selector) {
    const at = await this.place(selector);
    await this.send('Input.dispatchMouseEvent', {type: 'mouseMoved', ...at});
    await this.settle();
  }
  async click(selector) {
    const at = await this.place(selector);
    await this.send('Input.dispatchMouseEvent', {type: 'mouseMoved', ...at});
    for (const type of ['mousePressed', 'mouseReleased']) await this.send('Input.dispatchMouseEvent', {type, ...at, button: 'left', clickCount: 1});
    await this.settle();
  }
  async press(key) {
    const codes = {Enter: 13, Escape: 27, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Home: 36, Tab: 9};
    for (const type of ['keyDown', 'keyUp']) await this.send('Input.dispatchKeyEvent', {type, key, code: key, windowsVirtualKeyCode: codes[key]});
    await this.settle();
  }
  async screenshot(full = false) {
    const {data} = await this.send('Page.captureScreenshot', {format: 'png', captureBeyondViewport: full, ...(full ? {clip: await this.get('({x: 0, y: 0, width: document.documentElement.scrollWidth, height: Math.min(9000, document.documentElement.scrollHeight), scale: 1})')} : {})});
    return Buffer.from(data, 'base64');
  }
  async pdf() {
    const {data} = await this.send('Page.printToPDF', {printBackground: true, preferCSSPageSize: true});
    return Buffer.from(data, 'base64');
  }
}
