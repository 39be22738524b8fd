import type { Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { Html } from '../../runtime/http/html.ts';

/** A disc in the colour of a coin or network, and on it its sign, drawn here so that nothing is loaded for it. */
const disc = (colour: string, sign: string): Html =>
  new Html([
    `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="12" fill="${colour}"/><path fill="#fff" d="${sign}"/></svg>`,
  ]);

export const ICONS: Readonly<Record<Network | Coin, Html>> = {
  ethereum: disc('#627eea', 'm12 3 5.5 9-5.5 3.3L6.5 12zm0 13.6 5.5-3.3L12 21l-5.5-7.7z'),
  bsc: disc(
    '#b8860b',
    'm8.2 10.7 3.8-3.8 3.8 3.8 1.9-1.9L12 3.1 6.3 8.8zm0 2.6 3.8 3.8 3.8-3.8 1.9 1.9-5.7 5.7-5.7-5.7zM3.5 12l2-2 2 2-2 2zm13 0 2-2 2 2-2 2zm-6.5 0 2-2 2 2-2 2z',
  ),
  tron: disc(
    '#d8001f',
    'm5 6 11 2.1 3 2.9L11.4 20zm2.3 2.2 3.8 8.6.7-5.9zm2.2-.3 3.6 2.6 2-1.6zm4.3 4.1-.7 5.2 3.9-5.7z',
  ),
  solana: disc('#7c3aed', 'M8 6h11l-3 2.5H5zm-3 4.8h11l3 2.5H8zM8 15.5h11L16 18H5z'),
  USDT: disc(
    '#1a7f5f',
    'M6 5h12v3h-4.4v2.3c3 .2 5 .8 5 1.6s-2 1.4-5 1.6V19h-3.2v-5.5c-3-.2-5-.8-5-1.6s2-1.4 5-1.6V8H6z',
  ),
  USDC: disc(
    '#2775ca',
    'M11 4h2v2c1.9.3 3.2 1.4 3.4 3.1h-2.2c-.2-.8-.9-1.3-2.2-1.3-1.4 0-2.2.6-2.2 1.4 0 .9.9 1.2 2.6 1.6 2.5.5 4.2 1.3 4.2 3.5 0 1.9-1.4 3.2-3.6 3.6V20h-2v-2.1c-2.2-.3-3.6-1.6-3.7-3.5h2.3c.1 1 1 1.6 2.5 1.6 1.5 0 2.3-.6 2.3-1.5 0-1-.9-1.3-2.7-1.7-2.4-.5-4-1.3-4-3.4 0-1.8 1.3-3.1 3.3-3.4z',
  ),
};
