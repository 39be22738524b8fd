import type { PaymentOption } from '../../domain/events/session-events.ts';
import { NATIVE_COIN, type Network } from '../../domain/networks/networks.ts';
import { baseUnits } from '../deep-links.ts';
import { html, when, type Html } from '../../runtime/http/html.ts';
import { ICONS } from './icons.ts';
import { NETWORK_NAMES, pagePath, TOKEN_STANDARD, type PageInput } from './input.ts';
import { waitOf } from './model.ts';
import { outageSentence } from './status.ts';
import { qrCode } from '../qr.ts';
import { walletChainOf } from '../solana-transfer.ts';
import { coinText } from '../coin-text.ts';
import { amountHtml, strong, sentenceHtml } from '../speech.ts';
import { must } from '../../domain/values/must.ts';

/** Cheapest first, by recent network fees for payers (docs/checkout.md, "Networks"). */
const CHEAPEST_FIRST: readonly Network[] = ['solana', 'bsc', 'tron', 'ethereum'];

/** Links are offered under the wallets' own names; anything not listed here is not offered. */
const WALLET_NAMES: Readonly<Record<string, string>> = {
  metamask: 'MetaMask',
  trust: 'Trust Wallet',
  tokenpocket: 'TokenPocket',
  coinbase: 'Base App',
  imtoken: 'imToken',
  tronlink: 'TronLink',
  phantom: 'Phantom',
};
/** Links that name address, token, chain and amount, so that they also work as a QR code. */
const PAYMENT_LINKS = ['eip681', 'solana_pay'];
/** No other scheme is ever put into a link, whatever a link builder returns. */
const LINK_SCHEMES = /^(?:https|ethereum|solana|tpoutside|tronlinkoutside|imtokenv2):/;
/** Characters of the address per group. */
const GROUP = /.{1,4}/g;

const cheapestFirst = (options: readonly PaymentOption[]): PaymentOption[] =>
  [...options].sort((left, right) => CHEAPEST_FIRST.indexOf(left.network) - CHEAPEST_FIRST.indexOf(right.network));

/**
 * How to pay the remaining amount, by default on the network that the payer has already used: one choice and one panel
 * per network, switched by CSS alone.
 */
export function paymentHtml(input: PageInput, amount: string): Html {
  const { session, speech } = input;
  const options = cheapestFirst(session.paymentOptions);
  const { network: known, outages } = input.status;
  const isOut = ({ network }: PaymentOption): boolean => outages.some((outage) => outage.network === network);
  const chosen =
    options.find(({ network }) => network === known) ?? options.find((option) => !isOut(option)) ?? options[0];
  return html`<section class="pay" aria-label="${speech.text('how_to_pay')}" data-network="${known ?? ''}">
    ${coinSwitch(input)}
    <fieldset>
      <legend>${speech.text('network')}</legend>
      ${options.map((option) => choice(input, option, option === chosen))}
      ${options.map((option) => panel(input, option, amount))}
    </fieldset>
  </section>`;
}

/** Links, so that it works without script; always in the order of their names. */
function coinSwitch(input: PageInput): Html | null {
  const { session, speech } = input;
  if (session.alternative === null) return null;
  const here = pagePath(input);
  const language = `&lang=${speech.language.code}`;
  const coins = [session, session.alternative].sort((left, right) => right.dueCoin.localeCompare(left.dueCoin));
  return html`<nav class="coins" aria-labelledby="coins">
    <h2 id="coins">${speech.text('coin')}</h2>
    <ul>
      ${coins.map(({ dueCoin, dueAmount }) => {
        const label = html`<span>${ICONS[dueCoin]}${dueCoin}</span><small>${amountHtml(coinText(dueAmount))}</small>`;
        if (dueCoin === session.dueCoin) return html`<li><b aria-current="true">${label}</b></li>`;
        return html`<li><a href="${here}coin=${dueCoin}${language}" rel="nofollow">${label}</a></li>`;
      })}
    </ul>
    <p class="hint">${speech.text('coin_decides')}</p>
  </nav>`;
}

function choice(
  { speech, simulated, status, finalityOf }: PageInput,
  { network, finality }: PaymentOption,
  chosen: boolean,
): Html {
  const stand = simulated.has(network) ? html` · ${speech.text('simulated')}` : null;
  const isOut = status.outages.some((outage) => outage.network === network);
  const time = speech.text('about', { time: speech.duration(waitOf(finality, finalityOf(network)).seconds) });
  const hint = isOut
    ? html`<small class="out">${speech.text('outage_hint')}</small>`
    : html`<small>${speech.text(`hint_${network}`)}${stand}</small>`;
  return html`<input
      type="radio"
      name="network"
      id="network-${network}"
      value="${network}"
      autocomplete="off"
      ${when(chosen, 'checked')}
    /><label for="network-${network}"
      ><span>${ICONS[network]}${NETWORK_NAMES[network]}</span
      ><small>${TOKEN_STANDARD[network]} · ${time}</small>${hint}</label
    >`;
}

function panel(input: PageInput, option: PaymentOption, amount: string): Html {
  const { session, speech, status } = input;
  const name = NETWORK_NAMES[option.network];
  const links = input.linksOf(option, amount);
  const copy = (text: string, label: string): Html =>
    html`<button type="button" class="copy scripted" data-copy="${text}">${label}</button>`;
  return html`<div class="panel" data-network="${option.network}">
    ${outageWarning(input, option)}
    <p class="warning">
      ${sentenceHtml(speech.sentence('warning', { coin: strong(option.coin), network: strong(name) }))}
    </p>
    ${browserWallet(input, option, amount)} ${walletLinks(input, links)}
    <dl>
      <div>
        <dt>${speech.text('amount')}</dt>
        <dd>
          <bdi><span class="value" translate="no">${amountHtml(amount)}</span> ${ICONS[option.coin]}${option.coin}</bdi
          >${copy(amount, speech.text('copy_amount'))}
        </dd>
      </div>
      <div>
        <dt>${speech.text('address')}</dt>
        <dd>
          <code class="address value" dir="ltr" translate="no">${grouped(option.address)}</code
          >${copy(option.address, speech.text('copy_address'))}
        </dd>
      </div>
    </dl>
    ${input.sandbox && html`<form class="test-wallet" method="post" action="/pay/${session.sessionId}/sandbox-pay?coin=${option.coin}"><input type="hidden" name="network" value="${option.network}" /><button>${speech.text('test_pay')}</button></form>`}
    ${addressCode(input, option)}
    <p class="hint">
      ${sentenceHtml(speech.sentence('exchange', { amount: strong(`${status.toSend} ${option.coin}`) }))}
    </p>
    ${paymentCode(input, option, links, amount)}
  </div>`;
}

function outageWarning({ speech, status, session }: PageInput, { network }: PaymentOption): Html | null {
  const outage = status.outages.find((candidate) => candidate.network === network);
  if (!outage) return null;
  const others = session.paymentOptions.length > status.outages.length;
  return html`<p class="warning">
    ${sentenceHtml(outageSentence(speech, outage))} ${others && speech.text('outage_others')}
  </p>`;
}

/** Collapsed on a touch screen: nobody scans the screen in their own hand. */
function addressCode({ speech }: PageInput, option: PaymentOption): Html {
  const { path, size } = qrCode(option.address);
  const label = speech.text('qr_label', { address: option.address, network: NETWORK_NAMES[option.network] });
  return html`<input type="checkbox" class="fold" id="code-${option.network}" autocomplete="off" /><label
      for="code-${option.network}"
      >${speech.text('show_code')}</label
    >
    <svg class="code" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">
      <path d="${path}" />
    </svg>
    <p class="caption">${speech.text('qr_caption')}</p>`;
}

/** The script shows the buttons of installed wallets; the data they need is in attributes here. */
function browserWallet({ session, speech }: PageInput, option: PaymentOption, amount: string): Html {
  const solana = option.network === 'solana';
  return html`<div
    class="browser-wallet"
    hidden
    data-token="${option.tokenAddress}"
    data-chain="${solana ? walletChainOf(option.chainId) : option.chainId}"
    data-to="${option.address}"
    data-units="${baseUnits(amount, option.decimals)}"
    data-amount="${amount} ${option.coin}"
    data-gas="${NATIVE_COIN[option.network]}"
    ${solana && html`data-transfer="/pay/${session.sessionId}/solana-transfer?coin=${option.coin}"`}
  >
    <p>${speech.text('browser_wallet')}</p>
  </div>`;
}

/** First on a touch screen, where the wallet is at hand: one button, behind it the apps. */
function walletLinks({ speech }: PageInput, links: Readonly<Record<string, string>>): Html | null {
  const shown = Object.entries(links).filter(
    ([wallet, link]) =>
      LINK_SCHEMES.test(link) && (WALLET_NAMES[wallet] !== undefined || PAYMENT_LINKS.includes(wallet)),
  );
  if (shown.length === 0) return null;
  const nameOf = (wallet: string): string => WALLET_NAMES[wallet] ?? speech.text('open_wallet');
  return html`<details class="more apps">
    <summary class="button">${speech.text('wallet_apps')}</summary>
    <ul>
      ${shown.map(([wallet, link]) => html`<li><a href="${link}" rel="noopener noreferrer nofollow">${nameOf(wallet)}</a></li>`)}
    </ul>
  </details>`;
}

/** Fetched only when opened: few wallets read it, and some read it wrongly. */
function paymentCode(
  { session, speech }: PageInput,
  option: PaymentOption,
  links: Readonly<Record<string, string>>,
  amount: string,
): Html | null {
  if (!PAYMENT_LINKS.some((name) => links[name] !== undefined)) return null;
  const network = NETWORK_NAMES[option.network];
  return html`<details class="more">
    <summary>${speech.text('payment_code')}</summary>
    <p class="warning">${speech.text('payment_code_warning')}</p>
    <img
      class="code"
      loading="lazy"
      src="/pay/${session.sessionId}/qr/${option.network}-link.svg?coin=${option.coin}&${amount}"
      width="240"
      height="240"
      alt="${speech.text('payment_code_label', { network })}"
    />
  </details>`;
}

/** The link in the second code; null when the network has none. */
export const paymentLink = (links: Readonly<Record<string, string>>): string | null => {
  const name = PAYMENT_LINKS.find((candidate) => links[candidate] !== undefined);
  return name === undefined ? null : must(links[name]);
};

/** Groups of four for comparison by eye; one text for screen readers, copying and searching. */
const grouped = (address: string): Html =>
  html`${(address.match(GROUP) ?? []).map((group) => html`<span>${group}</span>`)}`;
