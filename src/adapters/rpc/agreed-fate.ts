import type { Fate } from '../../ports/outgoing/transaction.ts';
import { must } from '../../domain/values/must.ts';

const RANK = { landed: 0, ineffective: 0, never: 0, alarm: 0, pending: 1, absent: 2 } as const satisfies Record<
  Fate['kind'],
  number
>;

/** A conclusion that ends an order requires agreement; otherwise the transaction continues. */
export function agreedFate(opinions: readonly Fate[]): Fate {
  const alarm = opinions.find((fate) => fate.kind === 'alarm');
  if (alarm) return alarm;
  const [first, ...others] = opinions.toSorted((one, other) => RANK[other.kind] - RANK[one.kind]);
  if (others.every((other) => isSame(must(first), other))) return must(first);
  // One says landed, the other does not see it (yet): nothing is concluded, and the bytes are sent again.
  const known = opinions.some((fate) => fate.kind === 'pending' || fate.kind === 'landed');
  if (!known) return { kind: 'absent' };
  const unseen = opinions.flatMap((fate) => (fate.kind === 'pending' && fate.unseen) || [])[0];
  const inBlock = unseen !== undefined || opinions.some((fate) => fate.kind === 'landed');
  return { kind: 'pending', inBlock, ...(unseen !== undefined && { unseen }) };
}

function isSame(one: Fate, other: Fate): boolean {
  if (one.kind === 'landed' && other.kind === 'landed')
    return one.landed.txHash === other.landed.txHash && one.landed.blockHash === other.landed.blockHash;
  if (one.kind === 'ineffective' && other.kind === 'ineffective') return one.txHash === other.txHash;
  return one.kind === other.kind;
}
