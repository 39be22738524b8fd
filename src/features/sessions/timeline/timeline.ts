import type { DomainEvent } from '../../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../../domain/events/envelope.ts';
import { isOfSession } from '../../../domain/events/of-streams.ts';
import type { RangeScanned } from '../../../domain/events/operations-events.ts';
import type { SessionCreated } from '../../../domain/events/session-events.ts';
import type { SessionId } from '../../../domain/values/ids.ts';
import { coverageStream, deliveryStream, rescansStream, sessionStream } from '../../../domain/values/streams.ts';
import { RECENT_SEC, turnOf } from '../../../domain/sweep-turns.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EventStore } from '../../../ports/event-log/event-store.ts';
import { decodeEvent } from '../../../runtime/commands/codec.ts';
import { coveredBlocks } from '../../shared/covered-blocks.ts';
import { newestRanges } from '../../shared/newest-ranges.ts';
import { conclusionOf } from './conclusion.ts';
import { describeEvent } from './words.ts';
import type { CoveredRange, ReadTo, Timeline } from './types.ts';
import { must } from '../../../domain/values/must.ts';

/** Most recorded ranges of one network that are examined: one a minute for more than a day. */
const MAX_RANGES = 2_000;
const PAGE = 500;

/**
 * Every observation and decision about a session in order, from the event log alone; null if there is no such session.
 */
export async function sessionTimeline(store: EventStore, id: SessionId, nowSec: number): Promise<Timeline | null> {
  const session = (await store.readStream(sessionStream(id))).map(decodeEvent).filter(isOfSession);
  const created = session[0]?.event;
  if (created?.type !== 'SessionCreated') return null;
  const notifications = session.flatMap(({ metadata }) => metadata.notificationId ?? []);
  const deliveries = await Promise.all(
    notifications.map(async (notification) => (await store.readStream(deliveryStream(notification))).map(decodeEvent)),
  );
  const events = [...session, ...deliveries.flat()].sort(inOrder);
  const coverage = await coverageOf(store, created.data, nowSec);
  const end = session.find(({ event }) => END_EVENTS.has(event.type));
  const readTo = await readToOf(store, created.data, end);
  return {
    sessionId: id,
    mode: created.data.mode,
    entries: events.map((stored) => ({ atMs: stored.atMs, type: stored.event.type, ...describeEvent(stored.event) })),
    coverage,
    readTo,
    conclusion: `${conclusionOf(
      session.map(({ event }) => event),
      coverage,
      nowSec,
    )}${end ? '' : readToWords(readTo)}`,
  };
}

/** After one of these events a session's accounts are read only in rounds. */
const END_EVENTS: ReadonlySet<string> = new Set(['SessionPaid', 'SessionExpired', 'SessionFailed', 'SessionCancelled']);

async function readToOf(
  store: EventStore,
  { mode, paymentOptions }: SessionCreated['data'],
  end: StoredEvent<DomainEvent> | undefined,
): Promise<ReadTo[]> {
  const options = [...new Map(paymentOptions.map((option) => [option.network, option])).values()];
  return Promise.all(
    options.map(async ({ network, address }) => {
      const last = await store.lastOfStream(coverageStream(mode, network));
      const range = last === null ? null : rangeOf(last);
      if (range === null) return { network, timeSec: null };
      const isInRounds = range.sweeps !== undefined && end !== undefined;
      return { network, timeSec: isInRounds ? readInRounds(address, toSec(end.atMs), range) : range.toBlockTimeSec };
    }),
  );
}

/** Until its end the session's accounts were read like all open ones, and since then in their turn. */
function readInRounds(address: string, endedAtSec: number, { toBlockTimeSec, sweeps }: RangeScanned['data']): number {
  const isRecent = toBlockTimeSec - endedAtSec <= RECENT_SEC;
  const mark = isRecent ? must(sweeps).recent : must(sweeps).old;
  const lookedSec = mark === null ? null : turnOf(address) < mark.turns ? mark.startedSec : mark.previousSec;
  return Math.max(lookedSec ?? 0, Math.min(endedAtSec, toBlockTimeSec));
}

const readToWords = (readTo: readonly ReadTo[]): string =>
  ` Read up to: ${readTo.map(({ network, timeSec }) => `${network} ${timeSec === null ? 'not yet' : momentOf(timeSec)}`).join(', ')}.`;

const momentOf = (sec: number): string => `${new Date(sec * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const inOrder = (one: StoredEvent<DomainEvent>, other: StoredEvent<DomainEvent>): number =>
  one.atMs - other.atMs || one.stream.localeCompare(other.stream) || one.revision - other.revision;

async function coverageOf(store: EventStore, created: SessionCreated['data'], nowSec: number): Promise<CoveredRange[]> {
  const networks = [...new Set(created.paymentOptions.map((option) => option.network))];
  const untilSec = Math.min(nowSec, created.expiresAtSec);
  const ranges = await Promise.all(
    networks.map((network) =>
      rangesBetween(store, coverageStream(created.mode, network), created.createdAtSec, untilSec),
    ),
  );
  const again = await Promise.all(
    networks.map((network) => newestRanges(store, rescansStream(created.mode, network), created.createdAtSec * 1000)),
  );
  return networks.flatMap((network, index) => {
    const covered = coveredBlocks(must(ranges[index]), must(again[index]).ranges);
    return covered ? { network, ...covered } : [];
  });
}

/** The ranges that overlap the time, by binary search: ranges of a network are ordered by chain time. */
async function rangesBetween(
  store: EventStore,
  stream: string,
  fromSec: number,
  toSec: number,
): Promise<RangeScanned['data'][]> {
  const last = await store.lastOfStream(stream);
  if (!last) return [];
  let low = 0;
  let high = last.revision;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [record] = await store.readStream(stream, { from: middle, limit: 1 });
    const range = record && rangeOf(record);
    if (range && range.toBlockTimeSec < fromSec) low = middle + 1;
    else high = middle;
  }
  const found: RangeScanned['data'][] = [];
  for (let from = low; found.length < MAX_RANGES;) {
    const page = await store.readStream(stream, { from, limit: PAGE });
    for (const record of page) {
      const range = rangeOf(record);
      if (range) found.push(range);
      if (range && range.toBlockTimeSec > toSec) return found;
    }
    if (page.length < PAGE) return found;
    from += page.length;
  }
  return found;
}

function rangeOf(record: Parameters<typeof decodeEvent>[0]): RangeScanned['data'] | null {
  const { event } = decodeEvent(record);
  return event.type === 'RangeScanned' ? event.data : null;
}
