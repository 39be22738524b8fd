import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { exchangeWallets } from '../../../../src/settings/exchange-wallets.ts';
import { ChainUnavailable } from '../../../../src/ports/chain/chain.ts';
import type { ContractCheck } from '../../../../src/ports/chain/senders.ts';
import { withExchangeWallets } from '../../../../src/features/deposits/exchange-wallets.ts';
import { createSenders } from '../../../../src/features/deposits/sender-check.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const SAFE = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const PERSON = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const HOT = '0x28C6c06298d514Db089934071355E5743bf21d60';

function checkOf(isContract: ContractCheck['isContract']): ContractCheck & { asked: string[] } {
  const asked: string[] = [];
  return {
    network: 'ethereum',
    mode: 'live',
    asked,
    isContract: (address) => {
      asked.push(address);
      return isContract(address);
    },
    close: () => Promise.resolve(),
  };
}

describe('the sender of a deposit', () => {
  it('is classified by the list of exchanges in any spelling, then by the chain, which is asked once', async () => {
    const check = checkOf((address) => Promise.resolve(address === SAFE));
    const senders = createSenders(
      [check],
      withExchangeWallets({ ethereum: { [PERSON.toUpperCase().replace('0X', '0x')]: 'Our own executor' } }),
    );
    expect(await senders.of('live', 'ethereum', HOT)).toEqual({ kind: 'exchange', name: 'Binance' });
    expect(await senders.of('live', 'ethereum', PERSON)).toEqual({ kind: 'exchange', name: 'Our own executor' });
    expect(await senders.of('live', 'ethereum', SAFE)).toEqual({ kind: 'contract', name: null });
    expect(await senders.of('live', 'ethereum', SAFE)).toEqual({ kind: 'contract', name: null });
    expect(check.asked).toEqual([SAFE]);
  });

  it('stays a contract, but is not a wallet for ever on the word of one provider', async () => {
    const nowMs = vi.spyOn(performance, 'now');
    onTestFinished(() => nowMs.mockRestore());
    nowMs.mockReturnValue(1_000);
    let hasCode = false;
    const check = checkOf(() => Promise.resolve(hasCode));
    const senders = createSenders([check], {});
    expect(await senders.of('live', 'ethereum', SAFE)).toEqual({ kind: 'wallet', name: null });
    hasCode = true;
    nowMs.mockReturnValue(3_600_000);
    expect(await senders.of('live', 'ethereum', SAFE)).toEqual({ kind: 'contract', name: null });
    nowMs.mockReturnValue(36_000_000);
    expect(await senders.of('live', 'ethereum', SAFE)).toEqual({ kind: 'contract', name: null });
    expect(check.asked).toHaveLength(2);
  });

  it('is unknown, and looked up again, while the chain does not respond, is slow or is not read at all', async () => {
    let answer: () => Promise<boolean> = () => Promise.reject(new ChainUnavailable('down'));
    const senders = createSenders([checkOf(() => answer())], {}, 20);
    expect(await senders.of('live', 'ethereum', PERSON)).toBeNull();
    answer = () => new Promise(() => undefined);
    expect(await senders.of('live', 'ethereum', PERSON)).toBeNull();
    answer = () => Promise.resolve(false);
    expect(await senders.of('live', 'ethereum', PERSON)).toEqual({ kind: 'wallet', name: null });
    expect(await senders.of('live', 'tron', 'TAnyone')).toBeNull();
    expect(await senders.of('test', 'ethereum', PERSON)).toBeNull();
  });

  it("is judged by the operator's file, whose faults are named", () => {
    const directory = temporaryFolder('exchange-wallets');
    const file = join(directory, 'wallets.json');
    writeFileSync(file, JSON.stringify({ solana: { So1: 'Kraken' } }));
    expect(exchangeWallets({ EXCHANGE_WALLETS_FILE: file })).toMatchObject({
      solana: { So1: 'Kraken' },
      bsc: { [HOT.toLowerCase()]: 'Binance' },
    });
    writeFileSync(file, JSON.stringify({ bitcoin: {} }));
    expect(() => exchangeWallets({ EXCHANGE_WALLETS_FILE: file })).toThrow(/EXCHANGE_WALLETS_FILE.*wallets\.json/);
    expect(() => exchangeWallets({ EXCHANGE_WALLETS_FILE: join(directory, 'none') })).toThrow(
      /EXCHANGE_WALLETS_FILE.*none cannot be read/,
    );
  });
});
