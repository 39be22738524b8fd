'use strict';
/* Keeps what is read up to date. The page works without: it is then loaded by hand. */
{
  const AGAIN_MS = 2000;
  const notice = document.getElementById('stale');
  const touched = new WeakSet();
  let source = null;
  let waiting = null;
  let isJustLoaded = true;

  /** Whoever writes in a form, or looks into its list, finds it as it was. */
  const isInUse = (form) => touched.has(form) || form.contains(document.activeElement);
  document.addEventListener('input', ({ target }) => target.form && touched.add(target.form));

  /** What is about to be clicked, or was marked to be copied, stays where it is. */
  const isBusy = (main) => {
    const marked = getSelection();
    if (marked.type === 'Range' && main.contains(marked.anchorNode)) return true;
    return matchMedia('(hover: hover)').matches && main.querySelector(':is(a, button, summary, label):hover') !== null;
  };

  const HEADS = { tr: 'a[href]', li: 'a[href]', details: 'summary', section: 'h2, h3' };
  const ROW_IDS = 'input[type=hidden]:not([name=csrf], [name=back])';
  /** What an element is about, so that a row stays itself when others come and go. */
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
    // With what stands around it in its row, which says what it is about.
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
    // Browsers keep what is read in its place by themselves, but not inside a table that can be scrolled sideways.
    if (read?.isConnected) scrollBy(0, topOf(read) - before);
  };

  const look = () => {
    clearTimeout(waiting);
    if (document.hidden || !source) return;
    if (isBusy(document.getElementById('main'))) return void (waiting = setTimeout(look, AGAIN_MS));
    // A document from here is made without scripts running, and without making markup of a text.
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
      if (!isJustLoaded) look();
      isJustLoaded = false;
    };
  };

  // A browser has few connections to one host: a page that nobody sees gives its own back.
  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : listen()));
  addEventListener('pagehide', stop);
  addEventListener('pageshow', listen);
  listen();
}
