import { z } from 'zod';
import { isCurrency } from '../../domain/money/currencies.ts';
import type { Coin } from '../../domain/money/money.ts';
import { NETWORKS, type Network } from '../../domain/networks/networks.ts';
import { keysOf } from '../../domain/values/keys-of.ts';

/* Building blocks shared by requests and responses. */

/** A text whose description appears in the reference. */
export const text = (description: string) => z.string().meta({ description });
export const integer = (description: string) => z.int().meta({ description });
export const flag = (description: string) => z.boolean('must be true or false').meta({ description });

/** An enumeration with the meaning of each value. */
export function enumeration<const Meanings extends Readonly<Record<string, string>>>(
  lead: string,
  meanings: Meanings,
  rule?: string,
) {
  const values = keysOf<keyof Meanings & string>(meanings);
  return z
    .enum(values, rule ?? `must be one of ${values.join(', ')}`)
    .meta({ description: explanation(lead, meanings, values) });
}

export function explanation<Value extends string>(
  lead: string,
  meanings: Readonly<Record<Value, string>>,
  values: readonly Value[],
): string {
  return `${lead} ${values.map((value) => `\`${value}\`: ${meanings[value]}`).join('; ')}.`;
}

/** Canonical form of amounts, as `parseAmount` reads it; the pattern decides without creating a number. */
const NORMAL_FORM = /^(?:0|[1-9]\d{0,11})(?:\.\d{1,18})?$/;
const MAX_AMOUNT_LENGTH = 40;
const AMOUNT_RULE =
  'must be a decimal string such as "10.50": digits and at most one point, no sign, exponent or leading zeros, under 10^12';

const isAmount = (text: string): boolean => text.length <= MAX_AMOUNT_LENGTH && NORMAL_FORM.test(text);

/** A decimal string in canonical form, zero included. Excess decimals are refused together with the currency. */
export const amountText = z
  .string(AMOUNT_RULE)
  .refine(isAmount, AMOUNT_RULE)
  .meta({
    description: 'Decimal string in normal form.',
    pattern: NORMAL_FORM.source,
    maxLength: MAX_AMOUNT_LENGTH,
    examples: ['10.50'],
  });

/** A decimal string in canonical form above zero. */
export const positiveAmountText = z
  .string(AMOUNT_RULE)
  .refine((text) => isAmount(text) && /[1-9]/.test(text), `${AMOUNT_RULE}, and above zero`)
  .meta({
    description: 'Decimal string in normal form, above zero.',
    pattern: NORMAL_FORM.source,
    maxLength: MAX_AMOUNT_LENGTH,
    examples: ['10.50'],
  });

const CURRENCY_RULE = 'must be an ISO 4217 code, USDT or USDC';
// Checked first: upper-casing other scripts can produce ASCII, such as from the long s.
const CURRENCY_LETTERS = /^[A-Za-z]{3,4}$/;

export const currencyCode = z
  .string(CURRENCY_RULE)
  .refine((code) => CURRENCY_LETTERS.test(code) && isCurrency(code.toUpperCase()), CURRENCY_RULE)
  .meta({ description: 'ISO 4217 code or coin, in any case.', pattern: '^[A-Za-z]{3,4}$', examples: ['USD'] });

const COIN_NAMES = { USDT: 'Tether USD', USDC: 'USD Coin' } as const satisfies Record<Coin, string>;

export const coin = enumeration('The stablecoin.', COIN_NAMES, 'must be USDT or USDC');

const COIN_RULE = 'must be USDT or USDC';

/** A coin in a request, in any case. */
export const coinCode = z
  .string(COIN_RULE)
  .refine((code) => /^usd[tc]$/i.test(code), COIN_RULE)
  .meta({ description: 'USDT or USDC, in any case.', pattern: '^[Uu][Ss][Dd][TtCc]$', examples: ['USDT'] });

const NETWORK_NAMES = {
  ethereum: 'Ethereum',
  bsc: 'BNB Smart Chain',
  tron: 'TRON',
  solana: 'Solana',
} as const satisfies Record<Network, string>;

export const network = enumeration('The network.', NETWORK_NAMES, `must be one of ${NETWORKS.join(', ')}`);

/** For the metadata of a session. */
export const MAX_METADATA_KEY_LENGTH = 40;
export const MAX_METADATA_VALUE_LENGTH = 500;

export const sessionId = z
  .string()
  .meta({ description: 'Id of the payment session.', examples: ['cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4'] });
export const orderId = z
  .string()
  .meta({ description: 'Your order id, as you gave it at the create.', examples: ['order-1042'] });
export const refundId = z
  .string()
  .meta({ description: 'Id of the refund.', examples: ['re_k7w2q5m4n6p3r7s2t5v4x6y3z7'] });
export const transactionHash = text("Hash of the transaction in the network's own form.");
export const explorerUrl = text(
  'The transaction at a block explorer; null where the network has none, as in the sandbox.',
).nullable();
export const blockNumber = integer('Block (on Solana: slot) that holds the transaction.');
export const smallTransfers = integer(
  'Only for transfers below the dust limit that are counted together: their number. Transaction, block and time are those of the newest.',
);
export const logIndex = integer('Which of the transfers of the transaction it is.');

const MIN_SESSION_TTL_SEC = 60;
const MAX_SESSION_TTL_SEC = 30 * 86_400;

/** How long a session can be paid. */
export const sessionLifetime = z
  .int(`must be a whole number from ${MIN_SESSION_TTL_SEC} to ${MAX_SESSION_TTL_SEC}`)
  .min(MIN_SESSION_TTL_SEC, `must be at least ${MIN_SESSION_TTL_SEC}`)
  .max(MAX_SESSION_TTL_SEC, `must be at most ${MAX_SESSION_TTL_SEC}`);

export const unixSeconds = z.int().meta({ description: 'Unix time in seconds.', examples: [1767225600] });

/** Text of `min` to `max` UTF-16 units without control characters; `lines` allows tabs and line breaks. */
export function plainText(max: number, options: { readonly min?: number; readonly lines?: boolean } = {}) {
  const min = options.min ?? 0;
  const rule =
    min > 0 ? `must be a string of ${min} to ${max} characters` : `must be a string of at most ${max} characters`;
  // oxlint-disable-next-line no-control-regex
  const forbidden = options.lines ? /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/ : /[\u0000-\u001f\u007f]/;
  return z
    .string(rule)
    .refine((text) => text.length >= min && text.length <= max, rule)
    .refine((text) => text.length > max || !forbidden.test(text), 'must not hold control characters')
    .meta({ minLength: min, maxLength: max });
}

/** Returns the canonical form of the input. */
export const httpsUrl = z
  .string('must be an https URL')
  .check((context) => {
    const read = readReturnUrl(context.value);
    if ('fault' in read) context.issues.push({ code: 'custom', message: read.fault, input: context.value });
    else context.value = read.href;
  })
  .meta({
    description:
      'https URL of at most 2048 characters without user name or password; http for localhost in test mode. `{SESSION_ID}` and `{ORDER_ID}` are replaced, percent-encoded.',
    format: 'uri',
    maxLength: 2048,
    examples: ['https://shop.example/thanks'],
  });

const MAX_URL_LENGTH = 2048;
const LOCAL_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The canonical form of a return URL, or its fault. */
export type ReturnUrl = { readonly href: string } | { readonly fault: string };

/**
 * Checked before and after parsing, because parsers repair what a browser then follows: leading blanks, missing
 * slashes, backslashes, line breaks inside the scheme.
 */
export function readReturnUrl(text: string): ReturnUrl {
  if (text.length > MAX_URL_LENGTH) return { fault: `must be at most ${MAX_URL_LENGTH} characters` };
  if (/[^\u0021-\u007e\u00a1-\uffff]/.test(text) || text.includes('\\'))
    return { fault: 'must not hold blanks, control characters or backslashes' };
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) return { fault: 'must start with https://' };
  if (/[{}]/.test(authority)) return { fault: 'must hold no placeholders in its host' };
  if (authority.includes('@')) return { fault: 'must not hold a user name or password' };
  const unknown = /\{(?!SESSION_ID\}|ORDER_ID\})[A-Z_]+\}/.exec(text)?.[0];
  if (unknown !== undefined) return { fault: `must hold no placeholders but {SESSION_ID} and {ORDER_ID}: ${unknown}` };
  const url = URL.parse(text);
  // In a path, the parser writes braces as percent signs.
  const href = url?.href.replaceAll(/%7B(SESSION_ID|ORDER_ID)%7D/g, '{$1}');
  if (url === null || href === undefined || href.length > MAX_URL_LENGTH)
    return { fault: `must be a valid URL of at most ${MAX_URL_LENGTH} characters` };
  if (url.protocol === 'http:' && !LOCAL_HOSTS.has(url.hostname)) return { fault: 'must start with https://' };
  return url.hostname === '' || url.username !== '' || url.password !== ''
    ? { fault: 'must name a host and no user' }
    : { href };
}
