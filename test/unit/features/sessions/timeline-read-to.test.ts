import { describe, expect, it } from 'vitest';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import type { SweepMarks } from '../../../../src/domain/events/operations-events.ts';
import type { PaymentOption } from '../../../../src/domain/events/session-events.ts';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import { coverageStream, sessionStream } from '../../../../src/domain/values/streams.ts';
import { TURNS, turnOf } from '../../../../src/domain/sweep-turns.ts';
import { encodeEvent } from '../../../../src/runtime/commands/codec.ts';
import { sessionTimeline } from '../../../../src/features/sessions/timeline/timeline.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { createdFacts } from '../../../support/session-facts.ts';

const OWNER = 'oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96';
const created = createdFacts();
const option: PaymentOption = { ...created.paymentOptions[0]!, network: 'solana', address: OWNER };
const id: SessionId = created.sessionId;
const START_SEC = created.createdAtSec;

async function append(store: MemoryEventStore, stream: string, atSec: number, event: DomainEvent): Promise<void> {
  const last = await store.lastOfStream(stream);
  const revision = (last?.revision ?? -1) + 1;
  const metadata = { correlationId: 'test', actor: 'test', prev: last?.hash ?? '' };
  const encoded = encodeEvent({ id: `${stream}-${revision}`, stream, revision, atMs: atSec * 1000, event, metadata });
  await store.append({ stream, expected: last ? last.revision : 'no-stream', events: [encoded] });
}

const scanned = (toSec: number, sweeps?: SweepMarks): DomainEvent => ({
  type: 'RangeScanned',
  data: {
    mode: created.mode,
    network: 'solana',
    fromBlock: 1,
    toBlock: 9,
    toBlockHash: 'hash',
    toBlockTimeSec: toSec,
    providers: ['rpc.example'],
    transfersSeen: 0,
    ...(sweeps && { sweeps }),
  },
});

async function recordedOrder(isCancelled = false): Promise<MemoryEventStore> {
  const store = new MemoryEventStore();
  await append(store, sessionStream(id), START_SEC, {
    type: 'SessionCreated',
    data: { ...created, paymentOptions: [option] },
  });
  if (isCancelled)
    await append(store, sessionStream(id), START_SEC + 60, {
      type: 'SessionCancelled',
      data: { cancelledAtSec: START_SEC + 60, inFlight: false },
    } as DomainEvent);
  return store;
}

const readTo = async (store: MemoryEventStore): Promise<number | null> =>
  (await sessionTimeline(store, id, START_SEC + 9_999))!.readTo[0]!.timeSec;
const mark = (startedSec: number, turns: number) => ({ startedSec, previousSec: startedSec - 60, turns });

describe('the time up to which a session was read, as in its timeline', () => {
  it('is not there before anything was read', async () => {
    const timeline = await sessionTimeline(await recordedOrder(), id, START_SEC);
    expect(timeline!.readTo).toEqual([{ network: 'solana', timeSec: null }]);
    expect(timeline!.conclusion).toContain('Read up to: solana not yet.');
  });

  it('is that of the network while the session is open', async () => {
    const store = await recordedOrder();
    await append(
      store,
      coverageStream(created.mode, 'solana'),
      START_SEC + 500,
      scanned(START_SEC + 480, { recent: null, old: null }),
    );
    expect(await readTo(store)).toBe(START_SEC + 480);
  });

  it('is the last turn of the address once the session has ended', async () => {
    const stream = coverageStream(created.mode, 'solana');
    const store = await recordedOrder(true);
    await append(store, stream, START_SEC + 40, scanned(START_SEC + 30, { recent: null, old: null }));
    expect(await readTo(store)).toBe(START_SEC + 30);
    await append(store, stream, START_SEC + 100, scanned(START_SEC + 100, { recent: null, old: null }));
    expect(await readTo(store)).toBe(START_SEC + 60);
    await append(
      store,
      stream,
      START_SEC + 500,
      scanned(START_SEC + 500, { recent: mark(START_SEC + 470, turnOf(OWNER)), old: null }),
    );
    expect(await readTo(store)).toBe(START_SEC + 410);
    await append(
      store,
      stream,
      START_SEC + 510,
      scanned(START_SEC + 510, { recent: mark(START_SEC + 470, turnOf(OWNER) + 1), old: null }),
    );
    expect(await readTo(store)).toBe(START_SEC + 470);
    const later = START_SEC + 3 * 86_400;
    await append(
      store,
      stream,
      later,
      scanned(later, { recent: mark(later - 5, TURNS), old: mark(later - 7_200, TURNS) }),
    );
    expect(await readTo(store)).toBe(later - 7_200);
  });

  it('is that of the blocks where a network is read by blocks, ended or not', async () => {
    const store = await recordedOrder(true);
    await append(store, coverageStream(created.mode, 'solana'), START_SEC + 900, scanned(START_SEC + 900));
    expect(await readTo(store)).toBe(START_SEC + 900);
  });
});
