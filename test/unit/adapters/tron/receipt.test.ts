import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { accountOf } from '../../../../src/adapters/tron/address.ts';
import { readTransfers, succeeded, tokenAccounts } from '../../../../src/adapters/tron/receipt.ts';
import { ProviderFault } from '../../../../src/ports/chain/rpc-pool.ts';
import type { TronTransactionInfo } from '../../../../src/adapters/tron/receipt.ts';
import { REPOSITORY } from '../../../support/repository.ts';

const FIXTURES = join(REPOSITORY, 'test', 'fixtures', 'chains');
const USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const tokens = tokenAccounts([
  { coin: 'USDT', address: USDT, decimals: 6 },
  { coin: 'USDC', address: 'TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8', decimals: 6 },
]);
const everyone = (): boolean => true;

interface Expected {
  readonly chain: string;
  readonly file: string;
  readonly hash: string;
  readonly success: boolean;
  readonly transfers: readonly {
    readonly contract: string;
    readonly units: string;
    readonly logIndex: number;
    readonly from: string;
    readonly to: string;
  }[];
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'));
const expected = (readJson('expected.json') as Expected[]).filter(({ chain }) => chain === 'tron');
const infoOf = (file: string): TronTransactionInfo => readJson(file) as TronTransactionInfo;
const usdtTransfer = infoOf('tron/info_0b9c085adefe.json');

describe('a TRON receipt', () => {
  it('has an expected result for every recorded transaction', () => {
    expect(expected.map(({ file }) => file).sort()).toEqual(
      readdirSync(join(FIXTURES, 'tron'))
        .filter((name) => name.startsWith('info_'))
        .map((name) => `tron/${name}`)
        .sort(),
    );
  });

  it.each(expected)('of main-network transaction $hash reads as recorded', ({ file, hash, success, transfers }) => {
    const info = infoOf(file);
    expect(info.id).toBe(hash);
    expect(succeeded(info)).toBe(success);
    const read = readTransfers(info, tokens, everyone);
    expect(
      read.map((transfer) => ({
        contract: `41${accountOf(transfer.tokenAddress)}`,
        units: transfer.tokenUnits.toString(),
        logIndex: transfer.logIndex,
        from: `41${accountOf(transfer.fromAddress)}`,
        to: `41${accountOf(transfer.toAddress)}`,
      })),
    ).toEqual(transfers.map(({ contract, units, logIndex, from, to }) => ({ contract, units, logIndex, from, to })));
  });

  it('hands out only the transfers to wanted receivers, with the index among all logs', () => {
    const info = infoOf('tron/info_6e5ffb1e12db.json');
    const second = readTransfers(info, tokens, (address) => address === 'TE3PrjwpnpasE6sbbfPvZRLimpJmeM1zL9');
    expect(second).toMatchObject([
      { tokenUnits: 938500000n, logIndex: 1, fromAddress: 'TCbbMu8gKpZoq3NuJVV73wz6TyFxiPRLud' },
    ]);
  });

  it('credits nothing when the contract did not succeed, whatever logs it shows', () => {
    expect(readTransfers({ ...usdtTransfer, result: 'FAILED' }, tokens, everyone)).toEqual([]);
    for (const result of ['OUT_OF_ENERGY', 'REVERT', 'DEFAULT', 'TRANSFER_FAILED'])
      expect(readTransfers({ ...usdtTransfer, receipt: { result } }, tokens, everyone)).toEqual([]);
  });

  it('blames the provider for logs without a result, and for a transfer that cannot be read', () => {
    const [log] = usdtTransfer.log!;
    for (const broken of [
      { ...usdtTransfer, receipt: {} },
      { ...usdtTransfer, log: [{ ...log!, data: '' }] },
      { ...usdtTransfer, log: [{ ...log!, topics: log!.topics!.slice(0, 2) }] },
    ])
      expect(() => readTransfers(broken, tokens, everyone)).toThrow(ProviderFault);
    const shouted = { ...log!, topics: log!.topics!.map((topic) => topic.toUpperCase()) };
    expect(readTransfers({ ...usdtTransfer, log: [shouted] }, tokens, everyone)).toHaveLength(1);
  });

  it('ignores what the contract returned: USDT returns false on success', () => {
    expect(readTransfers({ ...usdtTransfer, ...{ contractResult: ['0'.repeat(64)] } }, tokens, everyone)).toHaveLength(
      1,
    );
    expect(
      readTransfers({ ...usdtTransfer, ...{ contractResult: [`${'0'.repeat(63)}1`] } }, tokens, everyone),
    ).toHaveLength(1);
  });

  it('ignores tokens that are not ours and logs that are no transfer', () => {
    const [log] = usdtTransfer.log!;
    const withLog = (changes: object): TronTransactionInfo => ({ ...usdtTransfer, log: [{ ...log!, ...changes }] });
    expect(readTransfers(withLog({ address: '39dd12a54e2bab7c82aa14a1e158b34263d2d510' }), tokens, everyone)).toEqual(
      [],
    );
    expect(readTransfers(withLog({ topics: [] }), tokens, everyone)).toEqual([]);
    expect(
      readTransfers(
        withLog({
          topics: ['8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925', ...log!.topics!.slice(1)],
        }),
        tokens,
        everyone,
      ),
    ).toEqual([]);
  });

  it('reads never activated receivers and zero-value transfers like any other', () => {
    const [log] = usdtTransfer.log!;
    const zero = { ...usdtTransfer, log: [{ ...log!, data: '0'.repeat(64) }] };
    expect(readTransfers(zero, tokens, everyone)).toMatchObject([{ tokenUnits: 0n }]);
  });
});
