'use strict';
(() => {
  const body = document.body;
  const root = document.documentElement;
  const status = document.getElementById('status');
  let state = root.dataset.state;
  let expires = Number(body.dataset.expires);

  const countdown = () => {
    const left = Math.max(0, expires - Math.floor(Date.now() / 1000));
    const text = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
    for (const element of document.querySelectorAll('[data-countdown]')) element.textContent = text;
  };
  countdown();
  setInterval(countdown, 1000);

  const copied = (button, text) => {
    const before = button.textContent;
    button.textContent = text;
    setTimeout(() => (button.textContent = before), 2000);
  };
  for (const button of document.querySelectorAll('button.copy')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        copied(button, 'Copied');
      } catch {
        copied(button, 'Select and copy by hand');
      }
    });
  }

  const remembered = (() => {
    try {
      return localStorage.getItem('network');
    } catch {
      return null;
    }
  })();
  for (const input of document.querySelectorAll('input[name=network]')) {
    if (input.value === remembered) input.checked = true;
    input.addEventListener('change', () => {
      try {
        localStorage.setItem('network', input.value);
      } catch {
        // Private windows may refuse; the choice is then not remembered.
      }
    });
  }

  const apply = (update) => {
    expires = update.expires_at;
    if (update.state !== state) return location.reload();
    status.innerHTML = update.html;
    countdown();
  };
  if (['awaiting', 'underpaid', 'seen', 'expired', 'cancelled', 'failed'].includes(state)) {
    let polling = null;
    const poll = async () => {
      const answer = await fetch(body.dataset.status).catch(() => null);
      if (answer?.ok) apply(await answer.json());
    };
    const source = new EventSource(body.dataset.events);
    source.onmessage = (message) => apply(JSON.parse(message.data));
    source.onopen = () => {
      clearInterval(polling);
      polling = null;
    };
    source.onerror = () => (polling ??= setInterval(poll, 5000));
  }
})();
