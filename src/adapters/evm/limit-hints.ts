import { RpcError, type ProviderFault } from '../../ports/chain/rpc-pool.ts';
import { must } from '../../domain/values/must.ts';

/** What a provider's refusal of a log range means for the next attempt. */
export type RangeAdvice =
  /** The provider named a last block that works. */
  | { readonly kind: 'up-to'; readonly toBlock: number }
  /** The provider named a number of blocks that works. */
  | { readonly kind: 'at-most'; readonly blocks: number }
  /** Too large without a hint, or in words that nobody knows. */
  | { readonly kind: 'halve' }
  /** It serves no logs of any range: read receipts. */
  | { readonly kind: 'not-served' }
  /** Not about the size: another provider, or later. */
  | { readonly kind: 'refused' };

/** "Try with this block range [0xBDE5F8, 0x102DBCC]", "this block range should work: [0x1, 0xa]". */
const HEX_RANGE = /\[\s*0x[0-9a-f]+\s*,\s*(0x[0-9a-f]+)\s*\]/i;
/** "retry with the range 24383075-24383096". */
const RANGE = /\brange (\d+)-(\d+)/i;
/**
 * "range 1000000 exceeds limit of 10000", "up to a 10 block range", "limited to a 10,000 range", "max block range
 * 5000", "up to a 2K block range", "maximum allowed is 20000 blocks", "range limit 2000".
 */
const RANGE_CAP =
  /(?:exceeds? (?:the )?limit of|up to an?|limited to (?:an?|\d+ -)|range limit|max(?:imum)?(?: allowed)?(?: is set to)?(?: block)?(?: range)?(?: is(?: set to)?|:| of| =)?)\s*([\d,]+)(k?)\b/i;

/** Texts take precedence over codes, which providers reuse. */
export function adviceOf(error: RpcError | ProviderFault, fromBlock: number, toBlock: number): RangeAdvice {
  if (!(error instanceof RpcError)) return { kind: error.kind === 'too-large' ? 'halve' : 'refused' };
  if (error.means === 'cannot') return { kind: 'not-served' };
  // An answer that nobody knows may be about the range: it is never a reason to give it up.
  if (error.means !== 'too-wide' && error.means !== 'unknown') return { kind: 'refused' };
  const text = `${error.message} ${fieldOf(error.data, 'payload')}`;
  const upTo = hintedEnd(text, fieldOf(error.data, 'to'));
  if (upTo !== null && upTo >= fromBlock && upTo < toBlock) return { kind: 'up-to', toBlock: upTo };
  const cap = RANGE_CAP.exec(text);
  const blocks = cap ? Number(must(cap[1]).replaceAll(',', '')) * (cap[2] ? 1000 : 1) : 0;
  return blocks > 0 && blocks < toBlock - fromBlock + 1 ? { kind: 'at-most', blocks } : { kind: 'halve' };
}

/** A text field of an error's data; '' without it. */
function fieldOf(data: unknown, name: 'payload' | 'to'): string {
  if (typeof data !== 'object' || data === null) return '';
  const fields: { payload?: unknown; to?: unknown } = data;
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

function hintedEnd(text: string, to: string): number | null {
  const hex = /^0x[0-9a-f]+$/i.test(to) ? to : HEX_RANGE.exec(text)?.[1];
  const end = hex ?? RANGE.exec(text)?.[2];
  return end === undefined ? null : Number(end);
}
