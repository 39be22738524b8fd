import type { BookRatesRecorded } from '../../../domain/events/book-rate-events.ts';
import { BOOK_RATES_STREAM } from '../../../domain/values/streams.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EventStore } from '../../../ports/event-log/event-store.ts';
import { appendNext, type AppendNextDeps } from '../../../runtime/commands/append-next.ts';
import { BookRates } from './book-rates.ts';

export interface RecordRatesDeps extends AppendNextDeps {
  readonly store: Pick<EventStore, 'append' | 'readStream' | 'lastOfStream'>;
}

/** Returns the id of the event with the rates, or why nothing was recorded. A recorded rate never changes. */
export async function recordRates(
  deps: RecordRatesDeps,
  said: Pick<BookRatesRecorded['data'], 'currency' | 'source' | 'rates' | 'actor'>,
): Promise<{ readonly event: string } | { readonly refused: string }> {
  const last = await deps.store.lastOfStream(BOOK_RATES_STREAM);
  const known = await BookRates.read(deps.store, said.currency);
  const twice = said.rates.find(({ coin, atSec }) => known.has(coin, atSec));
  if (twice)
    return {
      refused: `rates: ${twice.coin} already has a rate for ${new Date(twice.atSec * 1000).toISOString()}, and rates never change`,
    };
  const event: BookRatesRecorded = {
    type: 'BookRatesRecorded',
    data: { ...said, recordedAtSec: toSec(deps.clock.nowMs()) },
  };
  const { result, encoded } = await appendNext(deps, { stream: BOOK_RATES_STREAM, last, event, actor: said.actor });
  return result.ok ? { event: encoded.id } : { refused: 'others are writing at the same time: try again' };
}
