/* global document, Event */
// A program in several languages, as tabs. The language that was chosen once holds for the whole page.
import { element } from './element.js';

let chosen = 'curl';

/** `what` names the programs for screen readers. */
export function codeTabs(id, samples, what = 'Request') {
  const panels = samples.map(({ label, source }, index) => {
    const panel = element('pre', { id: `${id}-code-${index}`, tabIndex: 0, textContent: source });
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-label', `${what} in ${label}`);
    return panel;
  });
  const tabs = samples.map(({ label }, index) => {
    const tab = element('button', { type: 'button', textContent: label });
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', `${id}-code-${index}`);
    tab.addEventListener('click', () => choose(label));
    return tab;
  });
  const list = element('div', { className: 'tabs' }, ...tabs);
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', `Language: ${what.toLowerCase()}`);
  list.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    const next = (current() + step + tabs.length) % tabs.length;
    choose(samples[next].label);
    tabs[next].focus();
  });
  const current = () =>
    Math.max(
      0,
      samples.findIndex(({ label }) => label === chosen),
    );
  const show = () => {
    tabs.forEach((tab, index) => {
      tab.setAttribute('aria-selected', String(index === current()));
      tab.tabIndex = index === current() ? 0 : -1;
    });
    panels.forEach((panel, index) => (panel.hidden = index !== current()));
  };
  const box = element('div', { className: 'code' }, list, ...panels);
  box.addEventListener('language', show);
  show();
  return box;
}

function choose(label) {
  chosen = label;
  for (const box of document.querySelectorAll('.code')) box.dispatchEvent(new Event('language'));
}
