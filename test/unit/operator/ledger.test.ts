import { describe, expect, it } from 'vitest';
import { ledgerCommands, ledgerStreams, type LedgerParts } from '../../../src/operator/ledger.ts';
import { StoreUnavailable } from '../../../src/ports/event-store.ts';
import { LedgerBalances } from '../../../src/features/ledger/balances.ts';
import { LedgerJournal } from '../../../src/features/ledger/journal.ts';
import { MemoryReadModel } from '../../support/memory-read-model.ts';
import { MERCHANT_ID } from '../../support/session-facts.ts';

const readModel = new MemoryReadModel();
const parts: LedgerParts = {
  balances: new LedgerBalances(readModel),
  journal: new LedgerJournal(readModel),
  periods: { close: () => expect.unreachable() } as never,
  modeOfMerchant: () => 'test',
  servedRows: () => Promise.reject(new StoreUnavailable('the rows are being built')),
};
const ARGUMENTS = { mode: 'test', account: 'assets:treasury', merchant_id: MERCHANT_ID, format: 'csv' };

describe('what an operator reads of the books', () => {
  const { 'ledger.close': _, ...commands } = ledgerCommands(parts);

  it.each(Object.entries({ ...commands, ...ledgerStreams(parts) }))('is refused while they are built anew: %s', async (_name, read) => {
    await expect(read(ARGUMENTS)).rejects.toThrow(StoreUnavailable);
  });
});
