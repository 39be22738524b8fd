import { ProviderFault, type RpcError } from '../../ports/chain/rpc-pool.ts';
import { must } from '../../domain/values/must.ts';

/** What a provider's refusal of a log range means for the next attempt. */
export type RangeAdvice =
  /** The provider named a last block that works. */
  | { readonly kind: 'up-to'; readonly toBlock: number }
  /** The provider named a number of blocks that works. */
  | { readonly kind: 'at-most'; readonly blocks: number }
  /** Too large, without a hint. */
  | { readonly kind: 'halve' }
  /** Not about the size; use another provider. */
  | { readonly kind: 'give-up' };

const NOT_SERVED =
  /not (supported|available|allowed|enabled|found)|does not exist|unsupported|disabled|forbidden|unauthori[sz]ed|upgrade your plan to (use|access)/i;
/** "Try with this block range [0xBDE5F8, 0x102DBCC]", "this block range should work: [0x1, 0xa]". */
const HEX_RANGE = /\[\s*0x[0-9a-f]+\s*,\s*(0x[0-9a-f]+)\s*\]/i;
/**
 * "range 1000000 exceeds limit of 10000", "up to a 10 block range", "limited to a 10,000 range", "max block range
 * 5000", "up to a 2K block range".
 */
const RANGE_CAP =
  /(?:exceeds? (?:the )?limit of|up to an?|limited to (?:an?|\d+ -)|max(?:imum)?(?: allowed)?(?: is set to)?(?: block)?(?: range)?(?: is set to|:| of| is| =)?)\s*([\d,]+)(k?)\b/i;
const BEHIND =
  /header not found|unknown block|block not found|requested data not available|after last accepted block|beyond (the )?(current )?head|invalid block range params|block range extends beyond/i;

/**
 * Interprets the limit errors of Infura (-32005 with `data.to`, -32602), Alchemy (-32602, -32600, both with a working
 * range), QuickNode (-32012) and similar providers. Texts take precedence over codes, which providers reuse.
 */
export function adviceOf(error: RpcError | ProviderFault, fromBlock: number, toBlock: number): RangeAdvice {
  if (error instanceof ProviderFault) return error.kind === 'too-large' ? { kind: 'halve' } : { kind: 'give-up' };
  const { code, message, data } = error;
  const upTo = hintedEnd(message, data);
  if (upTo !== null && upTo >= fromBlock && upTo < toBlock) return { kind: 'up-to', toBlock: upTo };
  if (BEHIND.test(message)) return { kind: 'give-up' };
  const cap = RANGE_CAP.exec(message);
  const blocks = cap ? Number(must(cap[1]).replaceAll(',', '')) * (cap[2] ? 1000 : 1) : 0;
  if (blocks > 0 && blocks < toBlock - fromBlock + 1) return { kind: 'at-most', blocks };
  return code === -32601 || NOT_SERVED.test(message) ? { kind: 'give-up' } : { kind: 'halve' };
}

function hintedEnd(message: string, data: unknown): number | null {
  const fromData = typeof data === 'object' && data !== null && 'to' in data ? data.to : undefined;
  const hex = typeof fromData === 'string' && /^0x[0-9a-f]+$/i.test(fromData) ? fromData : HEX_RANGE.exec(message)?.[1];
  return hex === undefined ? null : Number.parseInt(hex, 16);
}
