import { expect, it } from 'vitest';
import { notFinalIn } from '../../../../src/features/ledger/not-final.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { OPEN_DEPOSITS_TABLE } from '../../../../projections/deposits/deposits-by-block.projection.ts';
import { LEDGER_SESSIONS_TABLE } from '../../../../projections/ledger/session-books.ts';
import { depositFacts } from '../../../support/session-facts.ts';

it('deposits that are not final belong to the month of their block, and to the mode of their session', async () => {
  const model = new MemoryReadModel();
  const put = (table: string, key: string, row: object) =>
    model.tables.set(table, (model.tables.get(table) ?? new Map()).set(key, row));
  const open = (key: string, sessionId: string, time: string) =>
    put(OPEN_DEPOSITS_TABLE, key, {
      sessionId,
      status: 'detected',
      facts: depositFacts({ txHash: key, blockTimeSec: Date.parse(time) / 1000 }),
    });
  put(LEDGER_SESSIONS_TABLE, 'cs_test', { mode: 'test' });
  put(LEDGER_SESSIONS_TABLE, 'cs_live', { mode: 'live' });
  open('0x1', 'cs_test', '2026-10-31T23:59:59Z');
  open('0x2', 'cs_test', '2026-11-01T00:00:00Z');
  open('0x3', 'cs_live', '2026-10-31T12:00:00Z');
  open('0x4', 'cs_test', '2026-09-30T12:00:00Z');
  const found = async (mode: 'test' | 'live', month: string) =>
    (await notFinalIn(model, mode, month)).map(({ txHash }) => txHash);
  expect([await found('test', '2026-10'), await found('live', '2026-10'), await found('test', '2026-08')]).toEqual([
    ['0x1', '0x4'],
    ['0x3'],
    [],
  ]);
});
