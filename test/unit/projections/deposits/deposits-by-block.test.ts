import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../../../src/domain/events/envelope.ts';
import type { SessionEvent } from '../../../../src/domain/events/session-events.ts';
import { sessionStream } from '../../../../src/domain/values/streams.ts';
import type { Row } from '../../../../src/ports/read-model/read-model.ts';
import {
  DEPOSITS_BY_BLOCK_TABLE,
  OPEN_DEPOSITS_TABLE,
  REVERTED_DEPOSITS_TABLE,
  depositsByBlock,
} from '../../../../projections/deposits/deposits-by-block.projection.ts';
import {
  depositFacts,
  SESSION_ID,
  depositReverted,
  depositDetected,
  depositConfirmed,
} from '../../../support/session-facts.ts';
import type { RowReader } from '../../../../src/ports/read-model/projection.ts';

/** The tables after the events, by table and key. */
function project(...events: SessionEvent[]): Map<string, Row> {
  const rows = new Map<string, Row>();
  events.forEach((event, revision) => {
    const stored = {
      stream: sessionStream(SESSION_ID),
      revision,
      atMs: 1_800_000_000_000,
      event,
    } as unknown as StoredEvent<SessionEvent>;
    for (const change of depositsByBlock.apply(
      stored,
      ((table: string, key: string) => rows.get(`${table} ${key}`) ?? null) as RowReader,
    )) {
      if (change.op === 'put') rows.set(`${change.table} ${change.key}`, change.row);
      if (change.op === 'delete') rows.delete(`${change.table} ${change.key}`);
    }
  });
  return rows;
}
const keysOf = (rows: Map<string, Row>, table: string): string[] =>
  [...rows.keys()].filter((key) => key.startsWith(`${table} `)).map((key) => key.slice(table.length + 1));

const facts = depositFacts({ blockNumber: 100 });
const detected = depositDetected(facts);
const confirmed = depositConfirmed(facts, { blockNumber: 103, blockHash: '0xother' });
const reverted: SessionEvent = depositReverted(facts.depositKey, { afterFinal: false, headNumber: 120 });

describe('deposits by block', () => {
  it('keeps what was seen and is not final, whatever its height', () => {
    const rows = project(detected);
    expect(keysOf(rows, OPEN_DEPOSITS_TABLE)).toEqual([`ethereum/${facts.depositKey}`]);
    expect(keysOf(rows, DEPOSITS_BY_BLOCK_TABLE)).toEqual([`ethereum/000000000100/${facts.depositKey}`]);
  });
  it('moves a final deposit to the block it became final in', () => {
    const rows = project(detected, confirmed);
    expect(keysOf(rows, OPEN_DEPOSITS_TABLE)).toEqual([]);
    expect(keysOf(rows, DEPOSITS_BY_BLOCK_TABLE)).toEqual([`ethereum/000000000103/${facts.depositKey}`]);
  });
  it('keeps a reverted deposit by the time of the reversal, seen or final before, and restores it when it comes back', () => {
    for (const rows of [project(detected, reverted), project(detected, confirmed, reverted)]) {
      expect([keysOf(rows, OPEN_DEPOSITS_TABLE), keysOf(rows, DEPOSITS_BY_BLOCK_TABLE)]).toEqual([[], []]);
      const [key] = keysOf(rows, REVERTED_DEPOSITS_TABLE);
      expect(key).toBe(`ethereum/001800000000/${facts.depositKey}`);
      expect(rows.get(`${REVERTED_DEPOSITS_TABLE} ${key}`)).toMatchObject({
        status: 'reverted',
        revertedAtSec: 1_800_000_000,
        sessionId: SESSION_ID,
      });
    }
    const back = project(detected, confirmed, reverted, detected);
    expect(keysOf(back, REVERTED_DEPOSITS_TABLE)).toEqual([]);
    expect(keysOf(back, OPEN_DEPOSITS_TABLE)).toHaveLength(1);
    expect(keysOf(project(detected, reverted, detected, confirmed, reverted), REVERTED_DEPOSITS_TABLE)).toHaveLength(1);
  });
});
