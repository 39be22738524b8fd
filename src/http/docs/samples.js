/* global document, Event */
// The request in several languages, as tabs. What was chosen once holds for all operations of the page.
import { element } from './element.js';

let chosen = 0;

export function codeTabs(id, samples) {
  const panels = samples.map(({ label, source }, index) => {
    const panel = element('pre', { id: `${id}-code-${index}`, tabIndex: 0, textContent: source });
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-label', `Request in ${label}`);
    return panel;
  });
  const tabs = samples.map(({ label }, index) => {
    const tab = element('button', { type: 'button', textContent: label });
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', `${id}-code-${index}`);
    tab.addEventListener('click', () => choose(index));
    return tab;
  });
  const list = element('div', { className: 'tabs' }, ...tabs);
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Language of the request');
  list.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    choose((chosen + step + tabs.length) % tabs.length);
    tabs[chosen].focus();
  });
  const show = () => {
    tabs.forEach((tab, index) => {
      tab.setAttribute('aria-selected', String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
    });
    panels.forEach((panel, index) => (panel.hidden = index !== chosen));
  };
  const box = element('div', { className: 'code' }, list, ...panels);
  box.addEventListener('language', show);
  show();
  return box;
}

function choose(index) {
  chosen = index;
  for (const box of document.querySelectorAll('.code')) box.dispatchEvent(new Event('language'));
}
