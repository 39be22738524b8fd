import { isCoin } from './money.ts';

/** ISO 4217 active codes by minor unit (the standard's table A.1, without funds, metals and test codes). */
const BY_MINOR_UNIT: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF',
  2: 'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG',
  3: 'BHD IQD JOD KWD LYD OMR TND',
};

const MINOR_UNITS = new Map<string, number>(
  Object.entries(BY_MINOR_UNIT).flatMap(([unit, codes]) =>
    codes.split(' ').map((code) => [code, Number(unit)] as const),
  ),
);

/** Maximum decimals of a coin amount that a merchant writes. */
export const COIN_MAX_DECIMALS = 6;

/** An order currency: an ISO 4217 code or a coin, in upper case. */
export function isCurrency(code: string): boolean {
  return isCoin(code) || MINOR_UNITS.has(code);
}

/** Whether books can be kept in the currency. */
export const isFiat = (code: string): boolean => MINOR_UNITS.has(code);

/** Maximum decimals of an amount in the currency: the ISO 4217 minor unit, 6 for coins. */
export function maxDecimals(currency: string): number {
  return isCoin(currency) ? COIN_MAX_DECIMALS : (MINOR_UNITS.get(currency) ?? 2);
}

/** Decimals that an amount of the currency is padded to when shown: the minor unit, 2 for coins. */
export function shownDecimals(currency: string): number {
  return isCoin(currency) ? 2 : (MINOR_UNITS.get(currency) ?? 2);
}

/** Every ISO 4217 code the service knows, sorted. */
export const FIAT_CODES: readonly string[] = [...MINOR_UNITS.keys()].sort();
