import { refuse } from '../../domain/values/result.ts';
import { COIN_MAX_DECIMALS } from '../../domain/money/currencies.ts';
import type { RateLock } from '../../domain/events/coin-events.ts';
import { amountOf, convertForPayer, isCoin, MAX_UNITS, type Coin } from '../../domain/money/money.ts';
import type { Rates } from '../../ports/rates/rates.ts';
import type { MerchantSettings } from '../merchants/lookup.ts';
import type { CreateSessionInput } from '../shared/merchant-api.ts';
import { unavailable, type Refused } from './unavailable.ts';

export interface PriceDeps {
  readonly rates: Rates;
  /** The converted amount is rounded up to this many decimals, unless that adds more than a thousandth. */
  readonly conversionDecimals: number;
}

/** The price of an order in a coin. */
export interface Price {
  readonly coin: Coin;
  /** Null if the order is in the coin itself. */
  readonly rateLock: RateLock | null;
  readonly due: bigint;
}

export async function priceIn(
  { rates, conversionDecimals }: PriceDeps,
  input: CreateSessionInput,
  coin: Coin,
  nowMs: number,
): Promise<{ ok: true; value: Price } | Refused> {
  if (coin === input.currency) return { ok: true, value: { coin, rateLock: null, due: amountOf(input.amount) } };
  if (!rates.mayQuote(input.currency)) return noRateEver(input, coin);
  const rateLock = await rates.lock(input.currency, coin, nowMs);
  if (!rateLock) return unavailable('rate_unavailable', `no usable exchange rate from ${input.currency} to ${coin}`);
  const due = convertForPayer(amountOf(input.amount), rateLock.rate, conversionDecimals, COIN_MAX_DECIMALS);
  return due >= MAX_UNITS ? tooLarge(input, coin) : { ok: true, value: { coin, rateLock, due } };
}

/**
 * The price in the other coin if the payer may choose and that coin has a rate. An order priced in a coin is paid in
 * that coin.
 */
export async function otherPrice(
  deps: PriceDeps,
  { policy }: MerchantSettings,
  input: CreateSessionInput,
  { coin, rateLock }: Price,
  nowMs: number,
): Promise<(Price & { readonly rateLock: RateLock }) | null> {
  if (
    policy.offerBothCoins !== true ||
    input.targetCurrency !== undefined ||
    rateLock === null ||
    isCoin(input.currency)
  )
    return null;
  const other = await priceIn(deps, input, coin === 'USDT' ? 'USDC' : 'USDT', nowMs);
  return other.ok && other.value.rateLock ? { ...other.value, rateLock: other.value.rateLock } : null;
}

const tooLarge = ({ amount, currency }: CreateSessionInput, coin: Coin): Refused =>
  refuse('invalid_request', `amount must be smaller: ${amount} ${currency} is 10^12 ${coin} or more`, 'amount');

const noRateEver = ({ currency }: CreateSessionInput, coin: Coin): Refused =>
  refuse('invalid_request', `currency: this installation has no exchange rate from ${currency} to ${coin}`, 'currency');
