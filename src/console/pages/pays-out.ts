import { html } from '../../runtime/http/html.ts';
import type { ConsoleDeps } from '../deps.ts';
import { words } from '../words.ts';

/** Whether this process can say anything about outgoing money. */
export const paysOut = ({ commands }: Pick<ConsoleDeps, 'commands'>): boolean =>
  Object.hasOwn(commands, 'treasury.status');

export const PAYS_NOTHING_OUT = html`<p class="empty">
  ${words`This process pays nothing out. If another one does, its console shows the treasury; if none does, refunds wait until
  payouts are set up (${html`<code>docs/treasury.md</code>`}).`}
</p>`;
