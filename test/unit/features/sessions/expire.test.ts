import { describe, expect, it } from 'vitest';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../../../src/domain/events/envelope.ts';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import type { Network } from '../../../../src/domain/networks/networks.ts';
import { ExpireSessions } from '../../../../src/features/sessions/expire.process.ts';
import { dueChanges, dueKey } from '../../../../projections/sessions/due-sessions.ts';
import type { SessionRow } from '../../../../projections/sessions/session-row.ts';
import { DueSessions } from '../../../../src/features/sessions/due.ts';

const DEADLINE = 1_800_000_000;
const MAX_WAIT = 600;

/** A session that offers two networks, and the expiry that watches it. */
function expiring() {
  const due = new DueSessions();
  const sessionId = 'cs_a' as SessionId;
  due.add({ sessionId, mode: 'test', networks: ['tron', 'bsc'], expiresAtSec: DEADLINE });
  const scanned: Partial<Record<Network, number | null>> = {};
  const expired: SessionId[] = [];
  let nowSec = DEADLINE;
  let monotonicSec = 0;
  let inDoubt = false;
  const expiry = new ExpireSessions({
    due,
    clock: { nowMs: () => nowSec * 1000 },
    isClockInDoubt: () => inDoubt,
    monotonicMs: () => monotonicSec * 1000,
    scannedToSec: (_, network) => scanned[network] ?? null,
    maxWaitSec: MAX_WAIT,
    expire: async (id) => void expired.push(id),
    onError: (error) => {
      throw error;
    },
  });
  const pass = async (seconds: number): Promise<void> => {
    nowSec += seconds;
    monotonicSec += seconds;
    await expiry.round();
  };
  return {
    due,
    expired,
    scanned,
    pass,
    setClock: (sec: number) => (nowSec = sec),
    doubt: (is: boolean) => (inDoubt = is),
  };
}

describe('a session past its deadline', () => {
  it('does not expire on a clock in doubt, however long, and does so once the clock is trusted', async () => {
    const { expired, scanned, pass, doubt } = expiring();
    Object.assign(scanned, { tron: DEADLINE + 5, bsc: DEADLINE + 5 });
    doubt(true);
    for (let round = 0; round < 10; round += 1) await pass(MAX_WAIT);
    expect(expired).toEqual([]);
    doubt(false);
    await pass(1);
    expect(expired).toEqual(['cs_a']);
  });

  it('expires once every network was read past the deadline', async () => {
    const { expired, scanned, pass } = expiring();
    Object.assign(scanned, { tron: DEADLINE + 5, bsc: DEADLINE });
    await pass(10);
    expect(expired).toEqual([]);
    scanned.bsc = DEADLINE + 1;
    await pass(2);
    expect(expired).toEqual(['cs_a']);
  });

  it('expires as soon when the deadline was brought nearer, in the list that a restart reads, too', async () => {
    const { due, expired, scanned, pass, setClock } = expiring();
    setClock(DEADLINE - 900);
    Object.assign(scanned, { tron: DEADLINE - 500, bsc: DEADLINE - 500 });
    await pass(300);
    expect(expired).toEqual([]);
    const event = { type: 'SessionDeadlineMoved', data: { expiresAtSec: DEADLINE - 600, movedAtSec: DEADLINE - 600 } };
    due.apply({ stream: 'session-cs_a', event } as unknown as StoredEvent<DomainEvent>);
    await pass(2);
    expect(expired).toEqual(['cs_a']);
    const row = { sessionId: 'cs_a', status: 'open', options: '' };
    const [before, after] = [DEADLINE, DEADLINE - 600].map((expiresAtSec) => ({ ...row, expiresAtSec }) as SessionRow);
    expect(dueChanges(before!, after!).map(({ op, key }) => [op, key])).toEqual([
      ['delete', dueKey(DEADLINE, 'cs_a')],
      ['put', dueKey(DEADLINE - 600, 'cs_a')],
    ]);
    expect(dueChanges(after!, { ...after!, received: '1.00' })).toEqual([]);
  });

  it('expires after the longest wait when a network cannot be read', async () => {
    const { expired, scanned, pass } = expiring();
    scanned.tron = DEADLINE + 5;
    await pass(1);
    await pass(MAX_WAIT - 1);
    expect(expired).toEqual([]);
    await pass(2);
    expect(expired).toEqual(['cs_a']);
  });

  it('is not ended by an outage of the service before its networks were asked', async () => {
    const { expired, scanned, pass, setClock } = expiring();
    setClock(DEADLINE + 3_600);
    await pass(1);
    scanned.tron = DEADLINE - 1_000;
    scanned.bsc = DEADLINE - 1_000;
    await pass(2);
    expect(expired).toEqual([]);
    Object.assign(scanned, { tron: DEADLINE + 1, bsc: DEADLINE + 1 });
    await pass(2);
    expect(expired).toEqual(['cs_a']);
  });

  it('waits for a network that is catching up, and for no other one', async () => {
    const { expired, scanned, pass } = expiring();
    for (let behind = 5_000; behind >= 0; behind -= 1_000) {
      scanned.bsc = DEADLINE - behind;
      await pass(MAX_WAIT / 2);
    }
    expect(expired).toEqual([]);
    await pass(MAX_WAIT);
    expect(expired).toEqual(['cs_a']);
  });

  it('is not ended by a clock that was set forward while its networks are read', async () => {
    const { expired, scanned, pass, setClock } = expiring();
    setClock(DEADLINE + 86_400);
    for (let sec = 0; sec < 2 * MAX_WAIT; sec += 10) {
      Object.assign(scanned, { tron: DEADLINE - 5_000 + sec, bsc: DEADLINE - 5_000 + sec });
      await pass(10);
    }
    expect(expired).toEqual([]);
  });

  it('is ended in time when the clock was set back after it was ahead', async () => {
    const { expired, scanned, pass, setClock } = expiring();
    Object.assign(scanned, { tron: DEADLINE - 5, bsc: DEADLINE - 5 });
    setClock(DEADLINE + 86_400);
    await pass(1);
    setClock(DEADLINE + 5);
    Object.assign(scanned, { tron: DEADLINE + 2, bsc: DEADLINE + 2 });
    await pass(1);
    expect(expired).toEqual(['cs_a']);
  });
});
