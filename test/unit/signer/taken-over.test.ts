import { describe, expect, it } from 'vitest';
import type { ApprovalAct, ApprovalTerms } from '../../../src/ports/signer/approvals.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { Signature } from '../../../src/ports/outgoing/signer.ts';
import type { PayoutRules } from '../../../src/ports/signer/protocol.ts';
import { formatAmount } from '../../../src/domain/money/money.ts';
import { mostNative } from '../../../src/domain/networks/native-cost.ts';
import { addressFamilyOf } from '../../../src/domain/networks/networks.ts';
import { signedBy } from '../../support/approvers.ts';
import { MODEL_WALLET, STRANGERS, type ModelChain } from '../../support/model-chains/model-chain.ts';
import { outgoing } from '../../support/outgoing.ts';
import {
  paidOrder,
  recorded,
  settlementEvent,
  settlementTerms,
  type StreamEvent,
} from '../../support/settlement-log.ts';
import { base58 } from '../../../src/chain-formats/base58.ts';
import { MERCHANT_ID } from '../../support/session-facts.ts';
import { MODELS, onModel, SEARCH_MS, SearchedSigner, unitsOf } from '../../support/signer-search.ts';

/*
 * Each process that may be taken over takes what it can. What docs/security.md calls the most is reached to the cent,
 * and nothing is signed beyond it.
 */

const HOUR_MS = 3_600_000;
const PLENTY = { perTransaction: '1000', perHour: '1000', perDay: '1000', approvalFrom: '1000' };

/** A signer with its chain in the hands of whoever asks; `goes` moves the clock on. */
class Taken {
  readonly signer: SearchedSigner;
  readonly #chain: ModelChain;
  #nowMs = SEARCH_MS;
  #signed = 0;

  constructor(chain: ModelChain, rules: Omit<PayoutRules, 'networks' | 'approvers'>) {
    this.#chain = chain;
    this.signer = new SearchedSigner(chain, rules, null, () => this.#nowMs);
  }

  goes(hours: number): void {
    // The journal's clock has gone on by itself meanwhile.
    this.#nowMs += hours * HOUR_MS + 60_000;
  }

  /** What the chain moved, to whom. */
  get taken(): Record<string, bigint> {
    const sums: Record<string, bigint> = {};
    for (const { toAddress, units } of this.#chain.landed) sums[toAddress] = (sums[toAddress] ?? 0n) + units;
    return sums;
  }

  draft(order: OutgoingTransaction) {
    return this.#chain.draft(unitsOf(order), this.#signed, this.#signed);
  }

  /** The event log says whatever the order needs; what is signed lands. `signed`, or the code of the refusal. */
  async asks(order: OutgoingTransaction): Promise<string | undefined> {
    await this.signer.book(order);
    const request = { order, attempt: 1, draft: this.draft(order), logPlace: this.signer.placeOf(false) };
    const answer = await this.signer.ask<Signature>('sign', request);
    if (!answer?.ok) return answer?.code;
    this.signer.advance(answer);
    this.#signed += 1;
    this.#chain.submit(answer.signedBytes);
    this.#chain.advance(0);
    return 'signed';
  }

  async agree(act: ApprovalAct, ...names: string[]): Promise<void> {
    for (const name of names) {
      const terms = await this.signer.ask<ApprovalTerms>('approvalTerms', { act });
      if (!terms?.ok || terms.done) throw new Error('there is nothing to approve');
      expect(await this.signer.ask('approve', { act, approval: signedBy(name, terms) })).toMatchObject({ ok: true });
    }
  }
}

let orders = 0;
const ofTreasury = (
  { network }: ModelChain,
  change: Partial<OutgoingTransaction> & Pick<OutgoingTransaction, 'kind' | 'toAddress'>,
): OutgoingTransaction =>
  outgoing({
    ...{ network, coin: 'USDT', id: `order-${(orders += 1)}`, amount: '1' },
    fromAddress: MODEL_WALLET.treasury[addressFamilyOf(network)],
    ...change,
  });
const refundOf = (
  chain: ModelChain,
  deposit: number,
  amount: string,
  change: Partial<OutgoingTransaction> = {},
): OutgoingTransaction => {
  const { payer, proof } = chain.paid[deposit]!;
  return ofTreasury(chain, { kind: 'refund', amount, toAddress: payer, deposits: [{ ...proof, amount }], ...change });
};
/** A transaction that the chain does not have. */
const INVENTED = { ethereum: `0x${'9'.repeat(64)}`, tron: '9'.repeat(64), solana: base58(Buffer.alloc(64, 99)) };
const invented = ({ network, paid }: ModelChain) => {
  const txHash = INVENTED[network as keyof typeof INVENTED];
  return { ...paid[0]!.proof, txHash, depositKey: `${network}:${txHash}:0` };
};
const thiefOn = ({ network }: ModelChain): string => STRANGERS.collectionAddress(addressFamilyOf(network), 7);

describe.each(MODELS)('on %s', (_, model) => {
  it('a worker takes PAYOUT_LIMITS of a day, what its accomplices paid in, and not a cent more', () =>
    onModel(model, async (chain, journalDirectory) => {
      const limits = { perTransaction: '30', perHour: '60', perDay: '100', approvalFrom: '30.01' };
      const worker = new Taken(chain, { journalDirectory, limits: { USDT: limits }, payoutsPerHour: 100 });
      const [first, , other] = chain.paid;
      expect(await worker.asks(refundOf(chain, 0, '30.01'))).toBe('per_transaction_cap');
      for (const answer of ['signed', 'signed']) expect(await worker.asks(refundOf(chain, 0, '30'))).toBe(answer);
      expect(await worker.asks(refundOf(chain, 1, '0.01'))).toBe('hourly_cap');
      worker.goes(1);
      expect(await worker.asks(refundOf(chain, 0, '0.01'))).toBe('exceeds_deposit');
      expect(await worker.asks(refundOf(chain, 1, '30'))).toBe('signed');
      expect(await worker.asks(refundOf(chain, 2, '10', { toAddress: thiefOn(chain) }))).toBe('not_the_payer');
      expect(await worker.asks(refundOf(chain, 2, '10'))).toBe('signed');
      worker.goes(1);
      expect(await worker.asks(refundOf(chain, 2, '0.01'))).toBe('daily_cap');
      expect(worker.taken).toEqual({ [first!.payer]: 90_000_000n, [other!.payer]: 10_000_000n });
      worker.goes(24);
      expect(await worker.asks(refundOf(chain, 2, '20'))).toBe('signed');
      for (const deposit of [0, 1, 2])
        expect(await worker.asks(refundOf(chain, deposit, '0.01'))).toBe('exceeds_deposit');
      expect(worker.taken).toEqual({ [first!.payer]: 90_000_000n, [other!.payer]: 30_000_000n });
    }));

  it('a worker makes PAYOUTS_PER_HOUR payouts within an hour', () =>
    onModel(model, async (chain, journalDirectory) => {
      const worker = new Taken(chain, { journalDirectory, limits: { USDT: PLENTY }, payoutsPerHour: 2 });
      for (const answer of ['signed', 'signed', 'velocity', 'velocity'])
        expect(await worker.asks(refundOf(chain, 0, '0.01'))).toBe(answer);
    }));

  it('a worker burns NATIVE_LIMITS of a day in fees, and then signs nothing more', () =>
    onModel(model, async (chain, journalDirectory) => {
      const most = mostNative(chain.draft(1n, 9, 0));
      const [perTransaction, perHour, perDay] = [most, 2n * most, 3n * most].map((units) => formatAmount(units));
      const worker = new Taken(chain, {
        ...{ journalDirectory, limits: { USDT: PLENTY }, payoutsPerHour: 100 },
        nativeLimits: { [chain.network]: { perTransaction, perHour, perDay } },
      });
      for (const answer of ['signed', 'signed', 'native_hourly_cap'])
        expect(await worker.asks(refundOf(chain, 0, '1'))).toBe(answer);
      worker.goes(1);
      expect(await worker.asks(refundOf(chain, 0, '1'))).toBe('signed');
      worker.goes(1);
      expect(await worker.asks(refundOf(chain, 0, '1'))).toBe('native_daily_cap');
    }));

  it('the API process, which can write any payment and refund into the event log, takes nothing that no payer paid', () =>
    onModel(model, async (chain, journalDirectory) => {
      const api = new Taken(chain, { journalDirectory, limits: { USDT: PLENTY }, payoutsPerHour: 100 });
      const deposits = [{ ...invented(chain), amount: '500' }];
      expect(await api.asks(refundOf(chain, 0, '500', { deposits }))).toBe('deposit_not_found');
      expect(await api.asks(refundOf(chain, 0, '60', { toAddress: thiefOn(chain) }))).toBe('not_the_payer');
      expect(await api.asks(refundOf(chain, 0, '60.01'))).toBe('exceeds_deposit');
      expect(api.taken).toEqual({});
    }));

  it.each(['first', 'last'])('one RPC provider of two, asked %s, makes the signer pay nothing', (place) =>
    onModel(model, (chain, journalDirectory) =>
      onModel(model, async (lying) => {
        const thief = thiefOn(chain);
        const name = invented(chain);
        lying.show({ payer: thief, units: 500_000_000n, proof: name });
        const two = [lying.urls[0]!, chain.urls[0]!];
        const urls = place === 'first' ? two : two.toReversed();
        const rules = { journalDirectory, limits: { USDT: PLENTY }, payoutsPerHour: 100 };
        const asked = { deposits: [{ ...name, amount: '500' }], toAddress: thief };
        const both = new Taken({ ...chain, urls }, rules);
        expect(await both.asks(refundOf(chain, 0, '500', asked))).toBe('chain_unavailable');
        // The same lie is believed where it is all that is known.
        const alone = new Taken({ ...lying, urls: [lying.urls[0]!] }, rules);
        expect(await alone.asks(refundOf(chain, 0, '500', asked))).toBe('signed');
      }),
    ),
  );

  it('a console that shows two approvers one thing and has them sign another takes TREASURY_LIMITS of a day, to addresses of the list', () =>
    onModel(model, async (chain, journalDirectory) => {
      const cold = STRANGERS.collectionAddress(addressFamilyOf(chain.network), 9);
      chain.others.push(cold);
      const console = new Taken(chain, {
        ...{ journalDirectory, limits: { USDT: PLENTY }, payoutsPerHour: 100 },
        treasuryLimits: { USDT: { perTransaction: '30', perDay: '50' } },
        withdrawalAddresses: { test: { [chain.network]: [cold] } },
      });
      const approved = async (change: Partial<OutgoingTransaction>, ...names: string[]) => {
        const order = ofTreasury(chain, { kind: 'withdrawal', toAddress: cold, ...change });
        await console.agree({ kind: 'transaction', order, proposedBy: 'olga' }, ...names);
        return console.asks(order);
      };
      expect(await approved({ amount: '30' }, 'ada')).toBe('approval');
      expect(await approved({ amount: '30', toAddress: thiefOn(chain) }, 'ada', 'ben')).toBe('not_on_allow_list');
      expect(await approved({ amount: '30.01' }, 'ada', 'ben')).toBe('per_transaction_cap');
      for (const amount of ['30', '20']) expect(await approved({ amount }, 'ada', 'ben')).toBe('signed');
      expect(await approved({ amount: '0.01' }, 'ada', 'ben')).toBe('daily_cap');
      expect(console.taken).toEqual({ [cold]: 50_000_000n });
    }));

  it('and by a settlement address of its own, no more than the books owe that merchant', () =>
    onModel(model, async (chain, journalDirectory) => {
      const { network } = chain;
      const thief = thiefOn(chain);
      chain.others.push(thief);
      const console = new Taken(chain, {
        ...{ journalDirectory, limits: { USDT: PLENTY }, payoutsPerHour: 100 },
        treasuryLimits: { USDT: { perTransaction: '1000', perDay: '1000' } },
      });
      const destination = { mode: 'test', network, merchantId: MERCHANT_ID, address: thief } as const;
      await console.agree({ kind: 'settlement_address', destination, proposedBy: 'olga' }, 'ada', 'ben');
      const log: StreamEvent[] = [];
      const tell = (...events: StreamEvent[]) => {
        const from = log.push(...events) - events.length;
        const told = recorded(log).map(({ position: _position, hash: _hash, ...parts }) => parts);
        console.signer.ledger.take(from, told.slice(from));
      };
      tell(...paidOrder(0, MERCHANT_ID, network));
      const settled = async (amount: string) => {
        const order = ofTreasury(chain, { kind: 'settlement', toAddress: thief, merchantId: MERCHANT_ID, amount });
        tell(settlementEvent('SettlementRequested', settlementTerms(order.id, amount, { network, toAddress: thief })));
        const act: ApprovalAct = { kind: 'transaction', order, proposedBy: 'olga' };
        const terms = await console.signer.ask<ApprovalTerms>('approvalTerms', { act });
        if (terms?.ok && !terms.done) await console.agree(act, 'ada', 'ben');
        return console.asks(order);
      };
      expect(await settled('10')).toBe('signed');
      expect(await settled('0.01')).toBe('exceeds_account');
      expect(console.taken).toEqual({ [thief]: 10_000_000n });
    }));
});
