import { describe, expect, it } from 'vitest';
import { ledgerCommands, ledgerStreams, type LedgerParts } from '../../../src/operator/ledger.ts';
import { presentTrialBalance } from '../../../src/http/presenters/ledger-books.presenter.ts';
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

describe('a month that an operator closes', () => {
  it('is closed in the name of the operator', async () => {
    const close = async (_mode: string, period: string, actor: string) => ({
      ok: true,
      value: { period, actor, closedAtSec: 1, entry: 'e', balances: {} },
    });
    const { 'ledger.close': run } = ledgerCommands({ ...parts, periods: { close } as never });
    expect(await run!({ mode: 'test', month: '2026-09', operator: 'olga' })).toMatchObject({ period: '2026-09', actor: 'olga' });
    await expect(run!({ mode: 'test', month: '2026-09', operator: 'x'.repeat(101) })).rejects.toThrow('operator must have');
  });
});

describe('the totals of a trial balance', () => {
  it('come in the order of networks and coins, whatever was booked first', () => {
    const sums = [
      { network: 'tron', coin: 'USDT', units: 0n },
      { network: 'ethereum', coin: 'USDT', units: 0n },
      { network: 'ethereum', coin: 'ETH', units: 0n },
    ] as const;
    const trial = { mode: 'test', asOf: { day: null, clock: 'recorded' }, entries: 0, balances: [], sums, sealed: null } as const;
    expect(presentTrialBalance(trial).totals.map(({ network, coin }) => `${network}/${coin}`)).toEqual([
      'ethereum/ETH',
      'ethereum/USDT',
      'tron/USDT',
    ]);
  });
});
