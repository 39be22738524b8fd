import { describe, expect, it } from 'vitest';
import { amountOf } from '../../../../src/domain/money/money.ts';
import type { ChainView } from '../../../../src/signer/chains/chain-view.ts';
import type { JournalEntry } from '../../../../src/signer/journal/journal.ts';
import type { SigningWallet } from '../../../../src/signer/keys/signing-wallet.ts';
import { topUpFault } from '../../../../src/signer/policies/top-ups.ts';
import { outgoing } from '../../../support/outgoing.ts';

const HOUR_MS = 3_600_000;
const GIVEN_AT_MS = 1_800_000_000_000;
const order = outgoing({
  ...{ kind: 'gas_top_up', id: 'gas_2', network: 'ethereum', coin: 'ETH', amount: '0.003' },
  ...{ fromAddress: '0xTreasury', toAddress: '0xCollection' },
});
const entry = (seq: number, purpose: 'gas_top_up' | 'sweep', txHash: string) =>
  ({
    ...{ kind: 'signed', seq, id: `${purpose} 1`, network: 'ethereum', purpose, txHash, atMs: GIVEN_AT_MS },
    ...(purpose === 'sweep' ? { fromAddress: '0xCollection' } : { toAddress: '0xCollection' }),
  }) as JournalEntry;
/** Gas was given, offered more of a fee once, and its sweep is signed. */
const others = [
  entry(1, 'gas_top_up', '0xg1'),
  entry(2, 'gas_top_up', '0xg2'),
  entry(3, 'sweep', '0xs1'),
] as const satisfies readonly JournalEntry[];
const wallet = { treasury: { evm: '0xTreasury' } } as SigningWallet;

const codeAfter = async (ms: number, landed: readonly string[], held = '0.001'): Promise<string | undefined> => {
  const view = {
    hasLanded: async ({ txHash }: { txHash: string }) => landed.includes(txHash),
    hadNoEffect: async () => false,
    sweepGas: async () => ({ needed: amountOf('0.004'), held: amountOf(held) }),
  } as unknown as ChainView;
  return (await topUpFault(order, { others, wallet, nowMs: GIVEN_AT_MS + ms }, view))?.code;
};

describe('gas for an address that was given some', () => {
  it('is refused while the sweep that spends it may still land at its fee', async () => {
    expect(await codeAfter(HOUR_MS - 1, ['0xg2'])).toBe('velocity');
  });

  it.each(['0xg1', '0xg2'])('is given after an hour, once %s is seen in the chain', async (txHash) => {
    expect(await codeAfter(HOUR_MS, [])).toBe('velocity');
    expect(await codeAfter(HOUR_MS, [txHash])).toBeUndefined();
  });

  it('is then no more than what the address lacks', async () => {
    expect(await codeAfter(HOUR_MS, ['0xg2'], '0.002')).toBe('more_than_needed');
  });

  it('is given at once when the sweep has landed', async () => {
    expect(await codeAfter(0, ['0xs1'])).toBeUndefined();
  });
});
