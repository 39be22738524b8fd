import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TransactionDraft } from '../../../../src/domain/events/transaction-draft.ts';
import { Journal, placeOf } from '../../../../src/signer/journal/journal.ts';
import { signedAfter } from '../../../../src/signer/journal/signed-after.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const draft: TransactionDraft = {
  ...{ kind: 'evm', chainId: '1', nonce: 0, tokenAddress: '0xToken', tokenUnits: '5000000', gasLimit: '90000' },
  ...{ maxFeePerGas: '100', maxPriorityFeePerGas: '1' },
};
const signed = (id: string, network: 'ethereum' | 'bsc', change = {}) =>
  ({
    kind: 'signed',
    purpose: 'refund',
    network,
    id,
    attempt: 1,
    coin: 'USDT',
    units: '7250000000000000000',
    fromAddress: '0xTreasury',
    toAddress: '0xPayer',
    draft,
    takenFrom: [{ depositKey: 'bsc:0x1:0', place: 'bsc:0x1#0', units: '7250000000000000000' }],
    txHash: `0x${id}`,
    signedBytes: '0xb',
    ...change,
  }) as Parameters<Journal['append']>[0];

let directory: string;
let journal: Journal;
beforeEach(() => {
  directory = temporaryFolder('signed-after');
  journal = Journal.open(join(directory, 'payouts.jsonl'));
});
afterEach(() => {
  journal.close();
});

const idsAfter = (place: ReturnType<typeof placeOf>) => {
  const found = signedAfter(journal.entries, 'bsc', place);
  return 'payments' in found ? found.payments.map(({ id }) => id) : found.code;
};

describe("what was signed after the event log's position in the journal", () => {
  it('is listed for its network, oldest first, with amounts in units of the coin', () => {
    const known = journal.append(signed('a', 'bsc'), 1_000);
    journal.append(signed('b', 'ethereum'), 2_000);
    journal.append(signed('c', 'bsc'), 3_000);
    journal.append(signed('d', 'bsc'), 4_000);
    expect(idsAfter(placeOf(known))).toEqual(['c', 'd']);
    expect(idsAfter(null)).toEqual(['a', 'c', 'd']);
    expect(signedAfter(journal.entries, 'bsc', placeOf(known))).toMatchObject({
      payments: [
        {
          kind: 'refund',
          amount: '7.25',
          depositKeys: ['bsc:0x1:0'],
          txHash: '0xc',
          signedAtSec: 3,
          journal: { seq: 3 },
        },
        {},
      ],
    });
  });

  it('cannot be determined when the event log knows an entry that this journal lacks', () => {
    journal.append(signed('a', 'bsc'), 1_000);
    expect(idsAfter({ seq: 7, hash: 'f'.repeat(64) })).toBe('journal_disagrees');
  });

  it('names the merchant of a settlement by its approved settlement address', () => {
    const destination = (merchantId: string) =>
      ({ kind: 'destination', network: 'bsc', merchantId, address: '0xPayer', approvers: [] }) as const;
    journal.append(destination('mer_one'), 1_000);
    journal.append(signed('stl', 'bsc', { purpose: 'settlement', takenFrom: [] }), 2_000);
    journal.append(destination('mer_two'), 3_000);
    expect(signedAfter(journal.entries, 'bsc', null)).toMatchObject({
      payments: [{ kind: 'settlement', merchantId: 'mer_one' }],
    });
  });
});
