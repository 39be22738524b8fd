import { z } from 'zod';
import { parseMerchantId, type MerchantId } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { base58, fromBase58 } from '../../chain-formats/base58.ts';
import { evmAddressOf, tronAddressOf } from './account-address.ts';
import { must } from '../../domain/values/must.ts';

/*
 * Input fields in the canonical form of each network: equal values have equal text, or are refused on entry. Journal
 * keys and address comparisons rely on that.
 */

/** EIP-55. The only other accepted form is all lower case. */
const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text) => ({ text, canonical: evmAddressOf(Buffer.from(text.slice(2), 'hex')) }))
  .refine(({ text, canonical }) => text === canonical || text === canonical.toLowerCase(), 'the checksum is wrong')
  .transform(({ canonical }) => canonical);

const tronAddress = z
  .string()
  .regex(/^T[1-9A-HJ-NP-Za-km-z]{33}$/)
  .refine((text) => {
    const bytes = must(fromBase58(text));
    return bytes.length === 25 && tronAddressOf(bytes.subarray(1, 21)) === text;
  }, 'the checksum is wrong');

const base58Of = (bytes: number, shortest: number, longest: number) =>
  z
    .string()
    .min(shortest)
    .max(longest)
    .refine((text) => {
      const decoded = fromBase58(text);
      return decoded?.length === bytes && base58(decoded) === text;
    }, `${bytes} bytes in base58`);

export interface NetworkFields {
  readonly address: z.ZodType<string>;
  readonly txHash: z.ZodType<string>;
}

const evm: NetworkFields = { address: evmAddress, txHash: z.string().regex(/^0x[0-9a-f]{64}$/) };
export const tronFields: NetworkFields = { address: tronAddress, txHash: z.string().regex(/^[0-9a-f]{64}$/) };
export const solanaFields: NetworkFields = { address: base58Of(32, 32, 44), txHash: base58Of(64, 64, 88) };
export const evmFields = evm;

export const FIELDS: Readonly<Record<Network, NetworkFields>> = {
  ethereum: evm,
  bsc: evm,
  tron: tronFields,
  solana: solanaFields,
};

/** Objects with a network and that network's own fields. `shapeOf` must not contain `network` itself. */
export function onNetwork<Shape extends z.core.$ZodLooseShape>(
  shapeOf: (fields: NetworkFields, network: Network) => Shape,
) {
  const variant = <Name extends Network>(name: Name) =>
    z.strictObject({ ...shapeOf(FIELDS[name], name), network: z.literal(name) });
  return z.discriminatedUnion('network', [variant('ethereum'), variant('bsc'), variant('tron'), variant('solana')]);
}

/** Ids of sessions, refunds, moves and merchants. */
export const id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
export const merchantId = z.custom<MerchantId>((value) => typeof value === 'string' && parseMerchantId(value) !== null);
/** Below 2^256. */
export const units = z
  .string()
  .regex(/^(0|[1-9]\d{0,77})$/)
  .refine((text) => BigInt(text) < 1n << 256n, 'above 2^256 - 1');
/** An index in the wallet. */
export const walletIndex = z.int().min(0).max(0x7fff_ffff);
/** A person's name, or the origin of an order. */
export const words = z.string().regex(/^[^\p{C}]{1,256}$/u);
/** Decimal string in units of a coin. */
export const amount = z.string().regex(/^(0|[1-9]\d{0,11})(\.\d{1,18})?$/);
