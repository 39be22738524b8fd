'use strict';
(() => {
  const padded = (number) => String(number).padStart(2, '0');
  /* As the language writes it; the browser's own formatter would stop a slow phone for 0.15 s. */
  const clock = (date) => {
    const [before, after] = document.body.dataset.clock.split('|');
    const hours = date.getHours();
    const shown = after === undefined ? hours : hours % 12 || 12;
    const pattern = after !== undefined && hours >= 12 ? after : before;
    return pattern.replace('{hh}', padded(shown)).replace('{h}', shown).replace('{mm}', padded(date.getMinutes()));
  };
  const localTimes = () => {
    for (const time of document.querySelectorAll('time[datetime]')) {
      const moment = new Date(time.dateTime);
      const { locale } = document.body.dataset;
      const text =
        'whole' in time.dataset
          ? moment.toLocaleString(locale, { dateStyle: 'long', timeStyle: 'long' })
          : clock(moment);
      if (time.textContent !== text) time.textContent = text;
    }
  };

  /* Private windows may refuse storage; the choice is then not remembered. */
  const remembered = () => {
    try {
      return localStorage.getItem('network');
    } catch {
      return null;
    }
  };
  let isWhole = false;
  const lastNetwork = () => {
    if (isWhole || !document.querySelector('footer')) return;
    isWhole = true;
    const last = remembered();
    const pay = document.querySelector('.pay');
    if (!last || !pay || pay.dataset.network || document.querySelector(`label[for="network-${CSS.escape(last)}"] .out`))
      return;
    const input = document.getElementById(`network-${last}`);
    if (input) input.checked = true;
  };

  /* Told before the browser paints, so that nobody sees the page move. */
  new MutationObserver(() => {
    localTimes();
    lastNetwork();
  }).observe(document, { childList: true, subtree: true });
})();
