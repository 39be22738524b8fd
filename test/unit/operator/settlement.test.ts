import { describe, expect, it } from 'vitest';
import { treasuryCommands } from '../../../src/operator/treasury.ts';
import type { MoveRequested } from '../../../src/domain/events/treasury-move-events.ts';

/* Of the treasury, what proposals and approvals of settlements ask for. */

type Parts = Parameters<typeof treasuryCommands>[0];

function commandsOf(payable: { units: string }) {
  const moves: Record<string, object> = {};
  const executor = {
    chain: {
      mode: 'test',
      network: 'ethereum',
      settings: { network: 'ethereum', tokens: [{ coin: 'USDT', address: '0xToken', decimals: 6 }] },
    },
    treasury: '0xTreasury',
    waiting: [],
    context: async () => ({ moves: { ...moves } }),
    tell: async (command: { type: string; kind?: string; data?: MoveRequested; moveId?: string; approver?: string }) => {
      if (command.type === 'RequestMove') moves[command.data!.moveId] = { kind: command.kind, terms: command.data, signed: [], approvers: [] };
      return null;
    },
  };
  const later = <Value>(value: Value): Promise<Value> => new Promise((resolve) => setTimeout(() => resolve(value), 5));
  const parts = {
    treasury: () => ({ moves: { executors: [executor], wake: () => undefined }, wholeBooks: (work: () => Promise<unknown>) => work() }),
    payouts: {
      signer: {
        checkMove: async () => ({ ok: false, code: 'approval' }),
        approvalTerms: async () => ({ ok: true, done: false, text: 'the terms', number: 'the number' }),
        approve: async () => later({ ok: true, approvers: ['ben', 'cleo'], done: true }),
      },
    },
    core: {
      merchantHandler: {
        read: async () => ({ context: { registered: { mode: 'test' }, settlementAddresses: { ethereum: '0xMerchant' } } }),
      },
    },
    readModel: { get: async () => later({ balance: `-${payable.units}` }) },
    clock: { nowMs: () => 0 },
    random: { bytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) },
    ofRefunds: {},
  } as unknown as Parts;
  return treasuryCommands(parts);
}

const args = (amount: string) => ({ merchant_id: 'mer_1', network: 'ethereum', coin: 'USDT', amount, operator: 'ana' });

describe('settlements', () => {
  it('proposed at the same moment do not take the same money', async () => {
    const commands = commandsOf({ units: '10.00' });
    const asked = await Promise.allSettled(['6.00', '6.00', '4.00'].map((amount) => commands['treasury.settle']!(args(amount))));
    expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(String((asked[1] as PromiseRejectedResult).reason)).toMatch(/owe the merchant 4\.00 USDT on ethereum/);
  });

  it('are not approved when the books owe less by then', async () => {
    const payable = { units: '10.00' };
    const commands = commandsOf(payable);
    const { id } = (await commands['treasury.settle']!(args('10.00'))) as { id: string };
    const approve = { id, approvals: [{ approver: 'cleo' }] };
    payable.units = '9.99';
    await expect(commands['treasury.approve']!(approve)).rejects.toThrow(/owe the merchant 0\.01 USDT less by now/);
    payable.units = '10.00';
    expect(await commands['treasury.approve']!(approve)).toMatchObject({ id, approved_by: ['ben', 'cleo'] });
    expect(await commands['treasury.approve']!({ id })).toEqual({ to_sign: [{ text: 'the terms', number: 'the number' }] });
  });
});
