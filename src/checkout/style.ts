import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html } from '../runtime/http/html.ts';

/** Inlined into the page, so that address and amount are readable, and the layout is stable, after a single request. */
function inside(file: string): string {
  return readFileSync(new URL(`assets/${file}`, import.meta.url), 'utf8')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s*\n\s*/g, '');
}

const sourceOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

const style = inside('checkout.css');
const firstView = inside('first-view.js');

export const styleHtml = new Html([`<style>${style}</style>`]);

/** For pages that show times or a choice of networks; precedes them. */
export const firstViewHtml = new Html([`<script>${firstView}</script>`]);

/** The only inline style and the only inline script that the content security policy allows. */
export const styleSource = sourceOf(style);
export const firstViewSource = sourceOf(firstView);
