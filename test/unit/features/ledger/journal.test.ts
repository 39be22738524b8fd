import { expect, it } from 'vitest';
import { LedgerJournal } from '../../../../src/features/ledger/journal.ts';
import { entryKey, LEDGER_BOOKS_TABLE } from '../../../../projections/ledger/rows.ts';

it('finds the newest block of a network among the last entries of its mode', async () => {
  const entries = new Map([
    [entryKey('test', 1), { network: 'bsc', blockNumber: 80 }],
    [entryKey('test', 2), { network: 'bsc', blockNumber: 70 }],
    [entryKey('test', 3), { network: 'tron', blockNumber: 900 }],
    [entryKey('test', 4), { network: null, blockNumber: null }],
  ]);
  const readModel = {
    get: async (table: string) => (table === LEDGER_BOOKS_TABLE ? { entries: entries.size } : null),
    getMany: async (_: string, keys: readonly string[]) => keys.map((key) => entries.get(key) ?? null),
  };
  const journal = new LedgerJournal(readModel as never);
  expect(await journal.newestBlock('test', 'bsc')).toBe(80);
  expect(await journal.newestBlock('test', 'tron')).toBe(900);
  expect(await journal.newestBlock('test', 'solana')).toBe(0);
});
