import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import { sessionStream, treasuryStream } from '../../src/domain/values/streams.ts';
import { orderOf } from '../../src/features/payouts/moves/order.ts';
import { LedgerAccounts } from '../../src/signer/journal/ledger-accounts.ts';
import type { JournalEntry } from '../../src/signer/journal/journal.ts';
import { orderedLeg } from '../../src/features/payouts/refunds/orders.ts';
import { historyOf, ownerOf, sessionIdOf, steps, type Step } from '../support/random-history.ts';
import { recorded, settlementEvent, settlementTerms, type StreamEvent } from '../support/settlement-log.ts';
import { runsOf } from '../support/runs.ts';

/*
 * Whatever payers, merchants and operators do in sessions, settled as often as the signer lets them: what leaves for a
 * merchant and its payers, as settlements, refunds and returns, is no more than what came. Orders have fees, and come
 * late, twice and in the wrong coin.
 */

const AMOUNTS = ['20', '10', '9.9', '5', '1', '0.01'];
/** Without reorganisations, which take money that has left, and without credits from elsewhere. */
const isPlayed = ({ kind }: Step): boolean => !['revert', 'unland', 'credit', 'uncredit'].includes(kind);

class Treasury {
  readonly accounts = new LedgerAccounts();
  readonly journal: JournalEntry[] = [];
  readonly came = new Map<string, bigint>();
  readonly left = new Map<string, bigint>();
  readonly signed = { settlement: 0, refund: 0, return: 0 };
  readonly #log: StreamEvent[] = [];
  readonly #taken = new Map<string, bigint>();
  #given = 0;

  tell(...events: StreamEvent[]): void {
    this.#log.push(...events);
    expect(this.accounts.take(this.#given, recorded(this.#log).slice(this.#given)).fault).toBeNull();
    this.#given = this.#log.length;
  }

  sign(purpose: 'settlement' | 'refund' | 'return', id: string, place: string, network: string, amount: string): void {
    this.journal.push({
      ...{ kind: 'signed', purpose, network, id, coin: 'USDT', units: amountOf(amount).toString() },
    } as unknown as JournalEntry);
    this.left.set(place, (this.left.get(place) ?? 0n) + amountOf(amount));
    this.signed[purpose] += 1;
  }

  /** As the signer does: what was signed for a deposit is not signed again. False if it is more than came. */
  take(deposit: string, amount: string, came: string): boolean {
    const taken = (this.#taken.get(deposit) ?? 0n) + amountOf(amount);
    if (taken > amountOf(came)) return false;
    this.#taken.set(deposit, taken);
    return true;
  }

  release(id: string, place: string, amount: string): void {
    this.journal.push({ kind: 'released', id, reason: 'no_effect' } as unknown as JournalEntry);
    this.left.set(place, this.left.get(place)! - amountOf(amount));
  }
}

it('no more leaves for a merchant than came', () => {
  const total = { settlement: 0, refund: 0, return: 0 };
  fc.assert(
    fc.property(steps, fc.infiniteStream(fc.nat(1000)), (drawn, picks) => {
      const treasury = new Treasury();
      const pick = (): number => picks.next().value;
      let moves = 0;
      const returned = new Set<string>();
      const settle = (session: number): void => {
        const { mode, merchantId } = ownerOf(session);
        const network = (['ethereum', 'bsc', 'tron'] as const)[pick() % 3]! as Network;
        const coin = pick() % 3 === 0 ? 'USDC' : 'USDT';
        for (const amount of AMOUNTS) {
          const terms = settlementTerms(`stl_${(moves += 1)}`, amount, { mode, merchantId, network, coin });
          if (treasury.accounts.refusal(orderOf({ kind: 'settlement', terms }), treasury.journal) !== null) continue;
          treasury.tell(settlementEvent('SettlementRequested', terms));
          expect(treasury.accounts.refusal(orderOf({ kind: 'settlement', terms }), treasury.journal)).toBeNull();
          treasury.sign('settlement', terms.moveId, `${mode}/${merchantId}/${network}/${coin}`, network, amount);
          if (pick() % 2 === 0) treasury.tell(settlementEvent('SettlementCompleted', terms));
        }
      };
      historyOf(drawn.filter(isPlayed), (session, event, { context }) => {
        const { mode, merchantId } = ownerOf(session);
        const placeOf = (of: { readonly network: string; readonly coin: string }) =>
          `${mode}/${merchantId}/${of.network}/${of.coin}`;
        if (event.type === 'DepositPutBack' && returned.has(event.data.depositKey)) return false;
        if (event.type === 'RefundPayoutSigned') {
          const { refundId, legId } = event.data;
          const { order } = orderedLeg(context, refundId, legId, '0xTreasury')!;
          if (treasury.accounts.refusal(order, treasury.journal) !== null) return false;
          const isLeft = ({ depositKey, amount }: { depositKey: string; amount: string }): boolean =>
            treasury.take(`${session} ${depositKey}`, amount, context.deposits.get(depositKey)!.facts.amount);
          if (!order.deposits.every(isLeft)) return false;
          treasury.sign('refund', legId, placeOf(order), order.network, order.amount);
        }
        if (event.type === 'RefundPayoutFailed') {
          const { order, leg } = orderedLeg(context, event.data.refundId, event.data.legId, '0xTreasury')!;
          // A worker may lie, and then the signer releases nothing.
          if (leg.payouts.length > 0 && pick() % 2 === 0) treasury.release(order.id, placeOf(order), order.amount);
        }
        if (event.type === 'DepositConfirmed') {
          const { facts } = context.deposits.get(event.data.depositKey)!;
          const place = placeOf(facts);
          treasury.came.set(place, (treasury.came.get(place) ?? 0n) + amountOf(facts.amount));
        }
        treasury.tell([sessionStream(sessionIdOf(session)), event]);
        if (event.type === 'DepositSetAside' && pick() % 2 === 0) {
          const { depositKey } = event.data;
          const { facts } = context.deposits.get(depositKey)!;
          if (!treasury.take(`${session} ${depositKey}`, facts.amount, facts.amount)) return true;
          const deposit = { depositKey, txHash: '0x', logIndex: 0, toAddress: '0xA', derivationIndex: 0 };
          const { network, coin, amount } = facts;
          const change = { mode, network, coin, merchantId: null, deposit };
          const terms = settlementTerms(`rtn_${(moves += 1)}`, amount, change);
          expect(treasury.accounts.refusal(orderOf({ kind: 'return', terms }), treasury.journal)).toBeNull();
          treasury.tell([
            treasuryStream(mode, network),
            { type: 'ReturnRequested', data: terms } as unknown as DomainEvent,
          ]);
          returned.add(depositKey);
          treasury.sign('return', terms.moveId, placeOf(facts), network, amount);
        }
        if (pick() % 2 === 0) settle(session);
        return true;
      });
      for (const kind of ['settlement', 'refund', 'return'] as const) total[kind] += treasury.signed[kind];
      for (const [place, units] of treasury.left)
        expect(units, place).toBeLessThanOrEqual(treasury.came.get(place) ?? 0n);
    }),
    { numRuns: runsOf(60) },
  );
  expect(Math.min(total.settlement, total.refund, total.return)).toBeGreaterThan(5);
}, 120_000);
