import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html } from '../runtime/util/html.ts';

/**
 * What is sent inside the page, so that address and amount are readable, and nothing moves any more, after one request.
 */
function inside(file: string): string {
  return readFileSync(new URL(`assets/${file}`, import.meta.url), 'utf8')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s*\n\s*/g, '');
}

const sourceOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

const style = inside('checkout.css');
const firstView = inside('first-view.js');

export const styleHtml = new Html(`<style>${style}</style>`);

/** For pages that show moments or a choice of networks; stands before them. */
export const firstViewHtml = new Html(`<script>${firstView}</script>`);

/** The only style and the only script within the page that the content security policy lets through. */
export const styleSource = sourceOf(style);
export const firstViewSource = sourceOf(firstView);
