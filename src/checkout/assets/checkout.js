'use strict';
(() => {
  const root = document.documentElement;
  const { page, status: statusUrl, events } = document.body.dataset;
  const texts = JSON.parse(document.body.dataset.texts ?? '{}');
  const status = document.getElementById('status');
  let version = document.body.dataset.version;
  let expiresSec = Number(document.body.dataset.expires);

  // The server's clock decides, so a wrong clock on this device never shows a wrong deadline.
  // Some systems stop one of the two clocks of a browser while they sleep.
  const stamp = () => [performance.now(), Date.now()];
  const since = ([steadyMs, wallMs]) => Math.max(performance.now() - steadyMs, Date.now() - wallMs);
  let serverNowMs = Number(document.body.dataset.now);
  let toldAt = stamp();
  const nowMs = () => serverNowMs + since(toldAt);
  const tellTime = (now) => {
    serverNowMs = now;
    toldAt = stamp();
  };

  const padded = (number) => String(number).padStart(2, '0');
  const SOON_SEC = 300;
  const RENEW_AGAIN_MS = 2000;
  const isPastDeadline = () => nowMs() / 1000 > expiresSec;
  const countdown = () => {
    const timer = document.getElementById('timer');
    if (!timer) return;
    const left = Math.max(0, Math.ceil(expiresSec - nowMs() / 1000));
    const parts =
      left >= 3600
        ? [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60]
        : [Math.floor(left / 60), left % 60];
    timer.textContent = parts.map((part, index) => (index === 0 ? String(part) : padded(part))).join(':');
    timer.parentElement.classList.add('counts');
    timer.parentElement.classList.toggle('soon', left < SOON_SEC);
  };

  const element = (name, text, properties) => {
    const made = Object.assign(document.createElement(name), properties);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const ANSWER_MS = 10_000;
  /** Null without an answer; a line that went dead gives none and no error either. */
  const ask = (url) => fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
  // What had the focus, was open or was shown keeps so: whoever reads with a keyboard or a screen reader would have to start
  // anew. If it is gone, the focus goes to what happened.
  const placeOf = (found) => {
    if (found.id) return `#${CSS.escape(found.id)}`;
    const panel = found.closest('.panel')?.dataset.network;
    const within = panel ? `.panel[data-network="${panel}"] ` : '';
    const [name] = found.classList;
    const kind = found.matches('a')
      ? `a[href="${CSS.escape(found.getAttribute('href'))}"]`
      : found.localName + (name ? `.${name}` : '');
    const among = [...document.querySelectorAll(within + kind)];
    return [within + kind, among.indexOf(found)];
  };
  const foundAt = (place) =>
    Array.isArray(place) ? document.querySelectorAll(place[0])[place[1]] : document.querySelector(place);
  const keeping = (change) => {
    const focused = document.activeElement;
    const place = focused && focused !== document.body ? placeOf(focused) : null;
    const shown = [...document.querySelectorAll('details[open], .fold:checked')].map(placeOf);
    change();
    for (const one of shown) {
      const again = foundAt(one);
      if (again) again[again.matches('details') ? 'open' : 'checked'] = true;
    }
    if (place === null || focused.isConnected) return;
    const next = foundAt(place);
    next?.focus({ preventScroll: true });
    if (!next || document.activeElement !== next) status.focus({ preventScroll: true });
  };
  // More than the words changed: the page is fetched anew, and all but the status, which screen readers follow, replaced.
  let renewals = 0;
  const replaceAround = (kept, fresh) => {
    const siblings = [...fresh.parentElement.children];
    const at = siblings.indexOf(fresh);
    for (const old of [...kept.parentElement.children]) if (old !== kept) old.remove();
    kept.before(...siblings.slice(0, at));
    kept.after(...siblings.slice(at + 1));
  };
  const renew = async (wanted) => {
    const renewal = (renewals += 1);
    const answer = await ask(page);
    const text = answer?.ok ? await answer.text().catch(() => null) : null;
    // A later change asked anew: what it got must not give way to this older page, and the address on it.
    if (renewal !== renewals) return;
    // The stream tells nothing twice, so without another try the page would keep an address that takes no money any more.
    if (text === null) return void setTimeout(poll, RENEW_AGAIN_MS);
    const fresh = new DOMParser().parseFromString(text, 'text/html');
    const before = document.querySelector('.pay')?.dataset.network;
    const chosen = document.querySelector('input[name=network]:checked')?.value;
    keeping(() => {
      replaceAround(status, fresh.getElementById('status'));
      replaceAround(status.parentElement, fresh.querySelector('.state'));
      document.querySelector('footer').replaceWith(fresh.querySelector('footer'));
      // The payer's choice stays, unless money arrived elsewhere since.
      if (chosen && document.querySelector('.pay')?.dataset.network === before) choose(chosen);
    });
    document.title = fresh.title;
    root.dataset.state = fresh.documentElement.dataset.state;
    version = wanted;
    document.dispatchEvent(new CustomEvent('page-renewed'));
  };
  // Inside a shop's own page: only the origin that the merchant registered hears anything.
  const { embeddedBy, session } = document.body.dataset;
  const host = embeddedBy && (parent !== window ? parent : opener);
  const tell = (type, facts) =>
    host?.postMessage({ type: `quittance.${type}`, version: 1, session_id: session, ...facts }, embeddedBy);
  let told = '';
  const tellStatus = (leadsTo) => {
    if (told !== root.dataset.state) tell('status', { status: (told = root.dataset.state), return_url: leadsTo });
  };
  if (host) {
    tellStatus(document.body.dataset.returnUrl || null);
    new ResizeObserver(() => tell('size', { height: Math.ceil(document.body.getBoundingClientRect().height) })).observe(
      document.body,
    );
  }

  const lineOf = (text) => text.replaceAll(/\s+/g, ' ').trim();
  let headline = lineOf(document.querySelector('h1')?.textContent ?? '');
  let applied = 0;
  const apply = async ({ now, page: shown }) => {
    applied += 1;
    tellTime(now);
    expiresSec = shown.expires_at;
    // Rendered by what renders the page: both always say the same.
    keeping(() => status.replaceChildren(...new DOMParser().parseFromString(shown.html, 'text/html').body.childNodes));
    const news = document.getElementById('news');
    if (headline !== shown.headline) news.textContent = headline = shown.headline;
    root.dataset.tone = shown.tone;
    document.title = shown.title;
    if (shown.version !== version) await renew(shown.version);
    tellStatus(shown.return_url);
    countdown();
  };

  /*
   * The stream tells of changes at once, but a line that went dead, a proxy that holds its answer back and a device that
   * slept look like one on which nothing happens. So the page also asks by itself: soon while the stream is silent or
   * the deadline has passed, seldom as long as anything is open, and at once when the payer comes back to it.
   */
  const POLL_MS = 5000;
  const POLL_ANYWAY_MS = 30_000;
  /** Two beats of the stream missed. */
  const SILENT_MS = 22_000;
  const OVER = ['paid', 'overpaid', 'refunded'];
  let source = null;
  let heardAt = null;
  let openedAt = stamp();
  let askedAt = stamp();
  let isAsking = false;
  const paused = (is) => {
    const hint = document.getElementById('paused');
    if (hint) hint.hidden = !is;
  };
  const askForNews = async () => {
    const before = applied;
    const answer = await ask(statusUrl);
    const news = answer?.ok ? await answer.json().catch(() => null) : null;
    paused(news === null);
    if (news === null) return;
    // What came meanwhile may be newer: an older answer would ask for money that has been paid.
    await (applied === before ? apply(news) : askForNews());
  };
  const poll = async () => {
    askedAt = stamp();
    if (isAsking) return;
    isAsking = true;
    await askForNews().finally(() => (isAsking = false));
  };
  const listen = () => {
    source?.close();
    source = new EventSource(events);
    openedAt = stamp();
    const heard = () => {
      heardAt = stamp();
      paused(false);
    };
    source.onmessage = (message) => {
      heard();
      void apply(JSON.parse(message.data));
    };
    source.addEventListener('beat', ({ data }) => {
      heard();
      tellTime(Number(data));
    });
    source.onerror = () => (heardAt = null);
  };
  const watch = () => {
    countdown();
    goBack();
    const isSilent = heardAt === null || since(heardAt) > SILENT_MS;
    const isOpen = !OVER.includes(root.dataset.state);
    const isLate = isPastDeadline() && document.querySelector('.pay') !== null;
    if (since(askedAt) > (isOpen && (isSilent || isLate) ? POLL_MS : POLL_ANYWAY_MS)) void poll();
    if (isSilent && since(openedAt) > SILENT_MS) listen();
  };
  const comeBack = () => {
    heardAt = null;
    listen();
    void poll();
  };

  // Back to the shop, once in this tab: whoever comes back to this page wants to read it.
  let returning = null;
  const remember = (key) => {
    try {
      const known = sessionStorage.getItem(key);
      sessionStorage.setItem(key, '1');
      return known !== null;
    } catch {
      return false;
    }
  };
  const goBack = () => {
    const hint = document.getElementById('return');
    if (!hint) return void (returning = null);
    const shown = hint.querySelector('b');
    if (returning === null) {
      if (hint.dataset.done) return;
      hint.dataset.done = '1';
      if (remember(`returned ${hint.dataset.session}`)) return;
      returning = { at: stamp(), seconds: parseInt(shown.textContent.match(/\d+/)[0], 10) };
    }
    const left = Math.max(0, Math.ceil(returning.seconds - since(returning.at) / 1000));
    hint.hidden = false;
    shown.textContent = shown.textContent.replace(/\d+/, left);
    if (left > 0) return;
    returning = null;
    location.assign(hint.dataset.to);
  };
  const stay = () => {
    returning = null;
    document.getElementById('return').hidden = true;
  };

  const say = (after, text, bad) => {
    after.parentElement.querySelector('.said')?.remove();
    const said = element('p', '', { className: bad ? 'said bad' : 'said', role: 'status' });
    after.parentElement.append(said);
    said.textContent = text;
    return said;
  };
  // Malware swaps addresses in the clipboard, so what was copied can be read back and compared. Reading asks the payer for
  // leave, so it happens by itself only where leave was given before, and else behind a button.
  const checkCopied = async (button, wanted) => {
    const found = await navigator.clipboard.readText().catch(() => null);
    if (found === null) say(button, texts.copied);
    else say(button, found === wanted ? texts.copied_right : texts.copy_differs, found !== wanted);
  };
  // Pages without a certificate and some browsers in apps have no clipboard, but copy what is selected.
  const copySelected = (text) => {
    const field = element('textarea', text, { readOnly: true });
    field.style.cssText = 'position:fixed;opacity:0';
    const focused = document.activeElement;
    document.body.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    focused?.focus({ preventScroll: true });
    return done;
  };
  const toClipboard = (text) =>
    (async () => navigator.clipboard.writeText(text))().then(
      () => true,
      () => copySelected(text),
    );
  const copy = async (button) => {
    const wanted = button.dataset.copy;
    const isUnchanged = button.parentElement.querySelector('.value').textContent === wanted;
    if (!isUnchanged || !(await toClipboard(wanted))) return say(button, texts.copy_by_hand, true);
    const leave = await navigator.permissions?.query({ name: 'clipboard-read' }).catch(() => null);
    if (leave?.state === 'granted') return checkCopied(button, wanted);
    const said = say(button, `${texts.copied} `);
    if (leave?.state !== 'prompt') return;
    const check = element('button', texts.check_copied, { type: 'button', className: 'plain' });
    check.addEventListener('click', () => void checkCopied(button, wanted));
    said.append(check);
  };
  document.addEventListener('click', (event) => {
    const button = event.target.closest('button.copy');
    if (button) void copy(button);
    if (event.target.closest('#print')) print();
    if (event.target.closest('#stay')) stay();
    const all = event.target.closest('#copy-all');
    if (all)
      void toClipboard(document.querySelector('main').innerText).then((done) =>
        say(all, done ? texts.help_copied : texts.copy_by_hand, !done),
      );
  });
  document.addEventListener('submit', async (event) => {
    const form = event.target;
    if (!form.matches('.test-wallet')) return;
    event.preventDefault();
    const button = form.querySelector('button');
    button.disabled = true;
    say(button, texts.test_paying);
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.action, { method: 'POST', body, headers: { accept: 'application/json' } }).catch(
      () => null,
    );
    button.disabled = false;
    if (!answer?.ok) say(button, texts.test_failed, true);
  });

  const choose = (network) => {
    const input = document.getElementById(`network-${network}`);
    if (input) input.checked = true;
  };
  document.addEventListener('change', (event) => {
    if (event.target.name !== 'network') return;
    try {
      localStorage.setItem('network', event.target.value);
    } catch {
      // Private windows may refuse storage; the choice is then not remembered.
    }
  });

  countdown();
  if (!events) return;
  setInterval(watch, 1000);
  listen();
  addEventListener('pageshow', ({ persisted }) => persisted && comeBack());
  addEventListener('online', comeBack);
  document.addEventListener('resume', comeBack);
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && comeBack());
})();
