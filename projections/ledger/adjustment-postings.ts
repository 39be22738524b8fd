import type { AdjustmentEvent, AdjustmentTerms } from '../../src/domain/events/adjustment-events.ts';
import type { Posting } from '../../src/domain/money/ledger.ts';
import { signedAmountOf } from '../../src/domain/money/money.ts';
import type { EntryDraft } from './entry.ts';

/** The entry of a manual adjustment; null if it is only proposed, or was rejected. */
export function bookAdjustment(event: AdjustmentEvent): EntryDraft | null {
  if (event.type !== 'AdjustmentPosted') return null;
  const { data } = event;
  return {
    kind: 'adjustment',
    postings: adjustmentPostings(data),
    ...(data.reversesEvent !== null && { reverses: data.reversesEvent }),
  };
}

export const adjustmentPostings = ({
  network,
  coin,
  lines,
}: Pick<AdjustmentTerms, 'network' | 'coin' | 'lines'>): Posting[] =>
  lines.map(({ account, amount }) => ({ account, network, coin, units: signedAmountOf(amount) }));
