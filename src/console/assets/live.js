'use strict';
/* Keeps the page up to date. Without this script it has to be reloaded by hand. */
{
  const AGAIN_MS = 2000;
  const notice = document.getElementById('stale');
  const touched = new WeakSet();
  let source = null;
  let waiting = null;
  let isJustLoaded = true;

  /** A form stays as it is while somebody fills it in or has its list open. */
  const isInUse = (form) => touched.has(form) || form.contains(document.activeElement);
  document.addEventListener('input', ({ target }) => target.form && touched.add(target.form));

  /** Nothing moves while the pointer is over a control or text is selected. */
  const isBusy = (main) => {
    const marked = getSelection();
    if (marked.type === 'Range' && main.contains(marked.anchorNode)) return true;
    return matchMedia('(hover: hover)').matches && main.querySelector(':is(a, button, summary, label):hover') !== null;
  };

  const HEADS = { tr: 'a[href]', li: 'a[href]', details: 'summary', section: 'h2, h3' };
  const ROW_IDS = 'input[type=hidden]:not([name=csrf], [name=back])';
  /** Identifies an element by its content, so that a row keeps its state when others are added or removed. */
  const keyOf = (node) => {
    if (!(node instanceof Element)) return '#text';
    const { localName: name } = node;
    const head = HEADS[name] === undefined ? null : node.querySelector(HEADS[name]);
    const own =
      node.id ||
      node.getAttribute('aria-label') ||
      node.getAttribute('action') ||
      head?.getAttribute('href') ||
      head?.textContent;
    return `${name} ${own || (name === 'tr' ? (node.querySelector(ROW_IDS)?.value ?? node.cells[0]?.textContent) : '')}`;
  };
  const isWrittenIn = (node) =>
    node instanceof Element &&
    [node, ...node.querySelectorAll('form')].some((form) => form.matches('form') && isInUse(form));

  const renewAttributes = (old, fresh) => {
    for (const { name } of [...old.attributes])
      if (name !== 'open' && !fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes)
      if (name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  };

  const renew = (old, fresh) => {
    if (old.isEqualNode(fresh)) return;
    if (!(old instanceof Element)) return void (old.data = fresh.data);
    // The rest of its row stays too, since it says what the form is for.
    if ((old.localName === 'form' || HEADS[old.localName] !== undefined) && isWrittenIn(old)) return;
    renewAttributes(old, fresh);
    renewChildren(old, fresh);
  };

  const renewChildren = (old, fresh) => {
    const known = new Map();
    for (const child of old.childNodes) known.set(keyOf(child), [...(known.get(keyOf(child)) ?? []), child]);
    const wanted = [...fresh.childNodes].map((child) => ({ child, mine: known.get(keyOf(child))?.shift() ?? null }));
    const kept = new Set(wanted.map(({ mine }) => mine));
    for (const child of [...old.childNodes]) if (!kept.has(child) && !isWrittenIn(child)) child.remove();
    let next = old.firstChild;
    for (const { child, mine } of wanted) {
      while (next && !kept.has(next)) next = next.nextSibling;
      if (mine === null || mine !== next) old.insertBefore(mine ?? child, next);
      else next = next.nextSibling;
      if (mine) renew(mine, child);
    }
  };

  const say = (key) => {
    notice.hidden = key === null;
    if (key !== null) notice.textContent = notice.dataset[key];
  };

  const stop = () => {
    source?.close();
    source = null;
    clearTimeout(waiting);
  };

  const show = (answer) => {
    if (answer.status === 401) {
      stop();
      return say('ended');
    }
    const main = document.getElementById('main');
    const fresh = answer.status < 500 ? answer.responseXML?.getElementById('main') : null;
    if (!fresh) return say('stale');
    const topOf = (part) => part.getBoundingClientRect().top;
    const isRead = (part) => part.getClientRects().length > 0 && topOf(part) >= 0;
    const read = scrollY > 0 ? [...main.querySelectorAll('tr, li, p, h2, dt')].find(isRead) : undefined;
    const before = read && topOf(read);
    renew(main, fresh);
    say(null);
    // Browsers keep the scroll position by themselves, but not inside a table that scrolls sideways.
    if (read?.isConnected) scrollBy(0, topOf(read) - before);
    lookSoon();
  };

  /** What the server is still asking somebody is looked for soon. */
  const lookSoon = () => {
    clearTimeout(waiting);
    if (document.querySelector('#main [data-asking]')) waiting = setTimeout(look, AGAIN_MS);
  };

  const look = () => {
    clearTimeout(waiting);
    if (document.hidden || !source) return;
    if (isBusy(document.getElementById('main'))) return void (waiting = setTimeout(look, AGAIN_MS));
    // A document loaded this way runs no scripts and needs no parsing of markup from text.
    const request = new XMLHttpRequest();
    request.open('GET', location.href);
    request.responseType = 'document';
    request.setRequestHeader('Quittance-Live', '1');
    request.onload = () => show(request);
    request.onerror = () => say('stale');
    request.send();
  };

  const listen = () => {
    if (source || document.hidden) return;
    source = new EventSource('/live');
    source.addEventListener('look', look);
    source.addEventListener('ended', () => {
      stop();
      say('ended');
    });
    source.onerror = () => say('stale');
    source.onopen = () => {
      if (isJustLoaded) lookSoon();
      else look();
      isJustLoaded = false;
    };
  };

  // A browser has few connections to one host, so a hidden page closes its own.
  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : listen()));
  addEventListener('pagehide', stop);
  addEventListener('pageshow', listen);
  listen();
}
