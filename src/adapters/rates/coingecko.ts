import { isCurrency } from '../../domain/money/currencies.ts';
import type { Coin } from '../../domain/money/money.ts';
import { endpoint, getJson } from './bounded-json.ts';
import { ONE, ProviderFailed, isRecord, readPrice, withCoinCrosses } from './provider.ts';
import type { Quote, RateProvider } from './provider.ts';
import { keysOf } from '../../domain/values/keys-of.ts';

export const COINGECKO_URL = 'https://api.coingecko.com';

export const COINGECKO_IDS: Readonly<Record<Coin, string>> = { USDT: 'tether', USDC: 'usd-coin' };

/**
 * ISO codes from https://docs.coingecko.com/docs/fiat-currencies-support, without the obsolete Venezuelan code listed
 * there.
 */
const FIAT =
  'usd,aed,ars,aud,bdt,bhd,bmd,brl,cad,chf,clp,cny,czk,dkk,eur,gbp,gel,hkd,huf,idr,ils,inr,jpy,krw,kwd,lkr,mmk,mxn,myr,ngn,nok,nzd,php,pkr,pln,rub,sar,sek,sgd,thb,try,twd,uah,vnd,zar';

/**
 * CoinGecko's simple price: a volume-weighted average over many exchanges, refreshed about once a minute. Quotes carry
 * CoinGecko's own time, so one that is no longer updated ages. Shape:
 * https://docs.coingecko.com/v3.0.1/reference/simple-price
 */
export function coingeckoProvider(baseUrl: string = COINGECKO_URL): RateProvider {
  const url = endpoint(
    baseUrl,
    `api/v3/simple/price?ids=${Object.values(COINGECKO_IDS).join(',')}&vs_currencies=${FIAT}&include_last_updated_at=true&precision=full`,
  );
  return {
    name: 'coingecko',
    minIntervalMs: 30_000,
    async fetchQuotes(_nowMs, signal, heard) {
      return parseCoingecko((await getJson(url, signal, heard)).json);
    },
  };
}

export function parseCoingecko(json: unknown): Quote[] {
  if (!isRecord(json)) throw new ProviderFailed('answered no prices');
  const quotes = keysOf(COINGECKO_IDS).flatMap((coin) => quotesOfCoin(coin, json[COINGECKO_IDS[coin]]));
  if (quotes.length === 0) throw new ProviderFailed('answered no prices');
  return withCoinCrosses(quotes);
}

function quotesOfCoin(coin: Coin, prices: unknown): Quote[] {
  if (!isRecord(prices)) return [];
  const updatedAtSec = prices['last_updated_at'];
  if (typeof updatedAtSec !== 'number' || !Number.isSafeInteger(updatedAtSec) || updatedAtSec <= 0) return [];
  return Object.entries(prices).flatMap(([code, value]): Quote[] => {
    const currency = code.toUpperCase();
    const price = isCurrency(currency) && currency !== coin ? readPrice(value) : null;
    return price === null ? [] : [{ currency, coin, rate: ONE.dividedBy(price), quotedAtMs: updatedAtSec * 1000 }];
  });
}
