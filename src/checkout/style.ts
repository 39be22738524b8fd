import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html } from './html.ts';

/** The page's style, sent inside the page so that address and amount are readable after one request. */
const style = readFileSync(new URL('assets/checkout.css', import.meta.url), 'utf8')
  .replace(/\/\*.*?\*\//gs, '')
  .replace(/\s*\n\s*/g, '');

export const styleHtml = new Html(`<style>${style}</style>`);

/** The only style that the content security policy lets through. */
export const styleSource = `'sha256-${hash('sha256', style, 'base64')}'`;
