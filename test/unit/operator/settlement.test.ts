import { describe, expect, it } from 'vitest';
import { givenAddress } from '../../../src/composition/networks/given-address.ts';
import { withEventLog } from '../../../src/features/payouts/event-log-feed.ts';
import type { MoveRequested } from '../../../src/domain/events/treasury-move-events.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { OutgoingSigner } from '../../../src/ports/outgoing/signer.ts';
import type { ApprovalSigner } from '../../../src/ports/signer/approvals.ts';
import type { HashedParts } from '../../../src/domain/events/canonical-text.ts';
import { treasuryCommands } from '../../../src/operator/treasury/treasury.ts';
import { LedgerAccounts } from '../../../src/signer/journal/ledger-accounts.ts';
import { MERCHANT_ID } from '../../support/session-facts.ts';
import { paidOrder, recorded, settlementEvent, type StreamEvent } from '../../support/settlement-log.ts';

/*
 * Of the treasury, what proposals and approvals of settlements ask for: the accounts are those of the signer, made of a
 * log that grows.
 */

const TOKEN = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const TREASURY = '0x0d836c629A35654fcF10c8959Bca31368c6Dcdf6';
const COLLECTION = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const OWN = '0x28C6c06298d514Db089934071355E5743bf21d60';

type Parts = Parameters<typeof treasuryCommands>[0];

function commandsOf(log: StreamEvent[]) {
  const moves: Record<string, object> = {};
  const executor = {
    chain: {
      mode: 'test',
      network: 'ethereum',
      settings: { network: 'ethereum', tokens: [{ coin: 'USDT', address: TOKEN, decimals: 6 }] },
    },
    treasury: TREASURY,
    waiting: [],
    context: async () => ({ moves: { ...moves } }),
    tell: async (command: {
      type: string;
      kind?: string;
      data?: MoveRequested;
      moveId?: string;
      approver?: string;
    }) => {
      if (command.type !== 'RequestMove') return null;
      moves[command.data!.moveId] = { kind: command.kind, terms: command.data, signed: [], approvers: [] };
      log.push(settlementEvent('SettlementRequested', command.data!));
      return null;
    },
  };
  const later = <Value>(value: Value): Promise<Value> => new Promise((resolve) => setTimeout(() => resolve(value), 5));
  const accounts = new LedgerAccounts();
  const signer = {
    takeEvents: async (from: number, events: readonly HashedParts[]) => later(accounts.take(from, events)),
    check: async (order: OutgoingTransaction) =>
      accounts.refusal(order, []) ?? { ok: false, kind: 'later', code: 'approval', message: 'two approvers' },
    approvalTerms: async () => ({ ok: true, done: false, text: 'the terms', number: 'the number' }),
    approve: async () => later({ ok: true, approvers: ['ben', 'cleo'], done: true, counted: true }),
  } as unknown as OutgoingSigner & ApprovalSigner;
  const store = { readAll: async ({ after }: { after: string | null }) => recorded(log).slice(Number(after ?? 0)) };
  const parts = {
    treasury: () => ({ moves: { executors: [executor], wake: () => undefined } }),
    payouts: { signer: withEventLog(signer, store) },
    core: {
      merchantHandler: {
        read: async () => ({
          context: { registered: { mode: 'test' }, settlementAddresses: { ethereum: '0xMerchant' } },
        }),
      },
      addressesComplete: async () => undefined,
      addressIndexes: new Map([['test/evm', { isOurs: (address: string) => address === COLLECTION }]]),
    },
    givenAddress,
    clock: { nowMs: () => 0 },
    random: { bytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) },
    ofRefunds: {},
  } as unknown as Parts;
  return treasuryCommands(parts);
}

const args = (amount: string) => ({
  merchant_id: MERCHANT_ID,
  network: 'ethereum',
  coin: 'USDT',
  amount,
  operator: 'ana',
});

describe('settlements', () => {
  it('proposed at the same time do not take the same money', async () => {
    const commands = commandsOf(paidOrder(0));
    const asked = await Promise.allSettled(
      ['6.00', '6.00', '4.00'].map((amount) => commands['treasury.settle']!(args(amount))),
    );
    expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(String((asked[1] as PromiseRejectedResult).reason)).toMatch(/owe the merchant 4\.00 USDT on ethereum/);
  });

  it('are not approved when the books owe less by then', async () => {
    const log = paidOrder(0);
    const commands = commandsOf(log);
    const { id } = (await commands['treasury.settle']!(args('10.00'))) as { id: string };
    const approve = { id, approvals: [{ approver: 'cleo' }] };
    const depositKey = 'ethereum:0x0:0';
    log.push([
      log[0]![0],
      {
        type: 'DepositReverted',
        data: {
          depositKey,
          reason: 'vanished',
          afterFinal: true,
          headNumber: 210,
          revertedAtSec: 1_800_000_500,
        } as never,
      },
    ]);
    await expect(commands['treasury.approve']!(approve)).rejects.toThrow(/owe the merchant 0\.00 USDT on ethereum/);
    log.push(...paidOrder(1));
    expect(await commands['treasury.approve']!(approve)).toMatchObject({ id, approved_by: ['ben', 'cleo'] });
    expect(await commands['treasury.approve']!({ id })).toEqual({
      to_sign: [{ text: 'the terms', number: 'the number' }],
    });
  });
});

describe('the settlement address of a merchant', () => {
  const set = (address: string) =>
    commandsOf([])['merchant.settlement-address']!({ merchant_id: MERCHANT_ID, network: 'ethereum', address });

  it.each([
    ['the contract of the coin', TOKEN, 'is the contract of a coin'],
    ['the treasury', TREASURY, 'is an address of this service'],
    ['a collection address', COLLECTION, 'is an address of this service'],
    ['that of nobody', `0x${'0'.repeat(40)}`, 'is an address without a key'],
    ['one with a mistake', OWN.replace('d60', 'd61'), 'is not an address on ethereum'],
  ])('is not %s', async (_, address, why) => {
    await expect(set(address)).rejects.toThrow(`address ${why}`);
  });

  it('is one of their own, in whatever notation', async () => {
    expect(await set(OWN.toLowerCase())).toEqual({ to_sign: [{ text: 'the terms', number: 'the number' }] });
  });
});
