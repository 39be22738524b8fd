import type { PaymentOption } from '../domain/events/session-events.ts';
import type { Network } from '../domain/networks.ts';
import type { SessionView } from '../use-cases/views.ts';
import { Html, html } from './html.ts';
import type { PageState, PageStatus } from './page-model.ts';

/** Everything one rendering of the page needs. */
export interface PageInput {
  readonly session: SessionView;
  readonly status: PageStatus;
  readonly shop: { readonly name: string; readonly host: string | null };
  /** Wallet links by wallet name, per option. */
  readonly linksOf: (option: PaymentOption) => Readonly<Record<string, string>>;
  /** Networks whose chain is a stand-in, and whether this is a sandbox at all. */
  readonly simulated: ReadonlySet<Network>;
  readonly sandbox: boolean;
  readonly testMode: boolean;
  readonly nowSec: number;
  readonly assetVersion: string;
  readonly explorerUrl: (network: Network, txHash: string) => string | null;
}

export const NETWORK_NAMES: Readonly<Record<Network, string>> = { ethereum: 'Ethereum', bsc: 'BNB Smart Chain', tron: 'TRON', solana: 'Solana' };
const STANDARD: Readonly<Record<Network, string>> = { ethereum: 'ERC-20', bsc: 'BEP-20', tron: 'TRC-20', solana: 'SPL' };

const HEADLINES: Readonly<Record<PageState, string>> = {
  awaiting: 'Waiting for your payment',
  underpaid: 'Part of the amount arrived',
  seen: 'Payment seen on the network',
  paid: 'Paid',
  overpaid: 'Paid, with an excess',
  expired: 'This payment session has expired',
  failed: 'The payment did not go through',
  cancelled: 'The shop cancelled this payment',
};

/** The whole payment page. Reads and pays by hand without any script; the script adds live updates and copying. */
export function renderPage(input: PageInput): string {
  const { session, status } = input;
  const open = status.state === 'awaiting' || status.state === 'underpaid' || status.state === 'seen';
  return html`<!doctype html>
<html lang="en" data-state="${status.state}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${HEADLINES[status.state]} · ${input.shop.name}</title>
<link rel="stylesheet" href="/pay/assets/checkout.css?${input.assetVersion}">
<script src="/pay/assets/checkout.js?${input.assetVersion}" defer></script>
</head>
<body data-events="/pay/${session.sessionId}/events" data-status="/pay/${session.sessionId}/status" data-expires="${status.expiresAtSec}">
${testBand(input)}
<main>
<header>
<p class="shop">${input.shop.name}${input.shop.host && html` <span class="host">${input.shop.host}</span>`}</p>
${order(session)}
</header>
<section class="status" role="status" aria-live="polite" id="status">${statusBlock(input)}</section>
${open && payment(input)}
${!open && returnLinks(session, status.state)}
</main>
<footer><p>Check the address in your wallet before you send. Payment ${session.sessionId}</p></footer>
</body>
</html>`.text;
}

function testBand(input: PageInput): Html | null {
  if (input.sandbox) return html`<p class="band" role="note">Sandbox: these are local test chains. Never send real money here.</p>`;
  return input.testMode ? html`<p class="band" role="note">Test mode: test networks only. Never send real money here.</p>` : null;
}

function order(session: SessionView): Html {
  const shopMoney = `${session.amount} ${session.currency}`;
  const converted = session.rateLock !== null;
  return html`<h1><span class="amount" data-amount="${session.dueAmount}">${session.dueAmount}</span> ${session.dueCoin}</h1>
${converted && html`<p class="rate">${shopMoney} at 1 ${session.currency} = ${session.rateLock?.rate} ${session.dueCoin}; the rate holds until this session ends.</p>`}
${session.personal?.description && html`<p class="description">${session.personal.description}</p>`}
${orderDetails(session)}`;
}

interface ShownItem {
  readonly price_data: { readonly currency: string; readonly unit_amount: string; readonly product_data: { readonly name: string; readonly description?: string } };
  readonly quantity?: number;
}

function orderDetails(session: SessionView): Html | null {
  const items = (session.personal?.lineItems ?? []) as readonly ShownItem[];
  if (items.length === 0 && session.taxAmount === null && session.shippingAmount === null) return null;
  const extra = (label: string, amount: string | null) => amount !== null && html`<tr><td>${label}</td><td>${amount} ${session.currency}</td></tr>`;
  return html`<details class="order"${items.length <= 3 && new Html(' open')}><summary>Order</summary><table>
${items.map((item) => html`<tr><td>${item.quantity ?? 1} × ${item.price_data.product_data.name}${item.price_data.product_data.description && html`<small>${item.price_data.product_data.description}</small>`}</td><td>${item.price_data.unit_amount} ${item.price_data.currency}</td></tr>`)}
${extra('Tax', session.taxAmount)}${extra('Shipping', session.shippingAmount)}
<tr class="total"><td>Total</td><td>${session.amount} ${session.currency}</td></tr></table></details>`;
}

/** The part of the page that live updates replace. */
export function statusBlock(input: PageInput): Html {
  const { status } = input;
  return html`<h2>${HEADLINES[status.state]}</h2>
<p>${explanation(input)}</p>
${status.transfers.length > 0 && html`<ul class="transfers">${status.transfers.map((transfer) => transferLine(input, transfer))}</ul>`}
${status.strayMoney && html`<p class="hint">Money also arrived that does not count for this order. The shop sees it and can return it to the address that paid.</p>`}`;
}

function transferLine(input: PageInput, transfer: PageStatus['transfers'][number]): Html {
  const link = input.explorerUrl(transfer.network, transfer.txHash);
  const progress = { final: 'final', reverted: 'left the chain', failed: 'failed', detected: transfer.need === null ? `${transfer.have} confirmations, waiting for finality` : `${Math.min(transfer.have, transfer.need)} of ${transfer.need} confirmations` }[transfer.status];
  const hash = html`<code>${transfer.txHash.slice(0, 10)}…${transfer.txHash.slice(-6)}</code>`;
  return html`<li><strong>${transfer.amount} ${transfer.coin}</strong> on ${NETWORK_NAMES[transfer.network]}: ${progress} ${link ? html`<a href="${link}" rel="noopener noreferrer nofollow" target="_blank">${hash}</a>` : hash}</li>`;
}

function explanation({ status, session }: PageInput): Html {
  switch (status.state) {
    case 'awaiting':
      return html`Send exactly <strong>${status.due} ${status.coin}</strong> before <time datetime="${isoTime(status.expiresAtSec)}" data-countdown>${isoTime(status.expiresAtSec).slice(11, 16)} UTC</time>.`;
    case 'underpaid':
      return html`${status.received} ${status.coin} arrived. Send the missing <strong>${status.missing} ${status.coin}</strong> to the same address before <time datetime="${isoTime(status.expiresAtSec)}" data-countdown>${isoTime(status.expiresAtSec).slice(11, 16)} UTC</time>.`;
    case 'seen':
      return html`We see your transfer and wait until the network makes it final. You can close this page.`;
    case 'paid':
      return html`${status.received} ${status.coin} received. Thank you.`;
    case 'overpaid':
      return html`${status.received} ${status.coin} received, ${status.excess} ${status.coin} more than due. The shop can return the excess to the address that paid.`;
    case 'expired':
      return html`Do not send money to this address any more. ${Number(status.received) > 0 ? `${status.received} ${status.coin} arrived; the shop can return it to the address that paid.` : 'Go back to the shop to start a new payment. A transfer you already made in time is still recognised.'}`;
    case 'failed':
      return html`The network dropped your transfer for good, so no money arrived. Go back to the shop to pay again.`;
    case 'cancelled':
      return html`Do not send money to this address any more. ${session.deposits.length > 0 ? 'Your transfer was seen; the shop can return it to the address that paid.' : ''}`;
  }
}

const isoTime = (sec: number): string => new Date(sec * 1000).toISOString();

function payment(input: PageInput): Html {
  const { session } = input;
  return html`<section class="pay" aria-label="How to pay"><fieldset><legend>Network</legend>
${session.paymentOptions.map((option, index) => html`<input type="radio" name="network" id="network-${option.network}" value="${option.network}"${index === 0 && new Html(' checked')}><label for="network-${option.network}">${NETWORK_NAMES[option.network]}<small>${STANDARD[option.network]}${input.simulated.has(option.network) && ' · simulated'}</small></label>`)}
${session.paymentOptions.map((option) => optionPanel(input, option))}</fieldset></section>`;
}

function optionPanel(input: PageInput, option: PaymentOption): Html {
  const { session, status } = input;
  const amount = status.state === 'underpaid' ? status.missing : session.dueAmount;
  const links = Object.entries(input.linksOf(option));
  const name = NETWORK_NAMES[option.network];
  return html`<div class="panel" data-network="${option.network}">
<p class="warn">Send only <strong>${option.coin}</strong> on <strong>${name}</strong>. Other coins or networks may be lost.</p>
<img class="qr" src="/pay/${session.sessionId}/qr/${option.network}.svg" width="200" height="200" alt="QR code of the ${name} address ${option.address}">
<dl>
<dt>Amount</dt><dd><output class="value">${amount}</output> ${option.coin} <button type="button" class="copy" data-copy="${amount}" hidden>Copy amount</button></dd>
<dt>Address</dt><dd><code class="address value" translate="no">${grouped(option.address)}</code> <button type="button" class="copy" data-copy="${option.address}" hidden>Copy address</button></dd>
</dl>
${links.length > 0 && html`<details class="wallets"><summary>Open in a wallet app</summary><ul>${links.map(([wallet, link]) => html`<li><a href="${link}" rel="noopener noreferrer nofollow">${wallet}</a></li>`)}</ul></details>`}
${input.sandbox && html`<form class="sandbox" method="post" action="/pay/${session.sessionId}/sandbox-pay"><input type="hidden" name="network" value="${option.network}"><button>Pay with the test wallet</button></form>`}
</div>`;
}

/** Groups of four for reading and comparing; one text for screen readers, copying and searching. */
function grouped(address: string): Html {
  const groups = address.match(/.{1,4}/g) ?? [];
  return new Html(groups.map((group) => html`<span>${group}</span>`.text).join(''));
}

function returnLinks(session: SessionView, state: PageState): Html | null {
  const paid = state === 'paid' || state === 'overpaid';
  const url = paid ? session.personal?.successUrl : session.personal?.cancelUrl;
  return url ? html`<p class="return"><a class="button" href="${url}" rel="noopener noreferrer">Back to the shop</a></p>` : null;
}
