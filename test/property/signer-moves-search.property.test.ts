import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type { MerchantId } from '../../src/domain/values/ids.ts';
import { addressFamilyOf } from '../../src/domain/networks/networks.ts';
import type { ApprovalAct, ApprovalTerms } from '../../src/ports/signer/approvals.ts';
import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import type { Signature } from '../../src/ports/outgoing/signer.ts';
import { signedBy } from '../support/approvers.ts';
import { MODEL_WALLET, type ModelChain } from '../support/model-chains/model-chain.ts';
import { outgoing } from '../support/outgoing.ts';
import { runsOf } from '../support/runs.ts';
import { paidOrder, recorded, settlementEvent, settlementTerms, type StreamEvent } from '../support/settlement-log.ts';
import {
  COIN,
  MODELS,
  onModel,
  PEOPLE,
  repriced,
  SearchedSigner,
  submitAll,
  submitOne,
  unitsOf,
} from '../support/signer-search.ts';

/*
 * A worker that lies searches for any order of withdrawals, settlements, approvals, events and restarts after
 * which the chain shows money at an address that two people did not agree to, more of it than they agreed to or than a
 * merchant is owed, or more than the caps of the treasury.
 */

const LIMITS = { perTransaction: '25', perDay: '60' };
const OWED_BY_AN_ORDER = 10n * COIN;
const AMOUNTS = ['25', '10', '20', '30', '5', '9.99'];
const MERCHANTS = ['mer_a', 'mer_b'] as unknown as readonly [MerchantId, MerchantId];
const LEGS = 5;
const LIES = ['terms', 'attempt', 'draft', 'log place'] as const;
const MISUSES = ['for another place', 'for more', 'under another name', 'twice'] as const;

type Action =
  | {
      readonly does: 'sign';
      readonly leg: number;
      readonly what: number;
      readonly pick: number;
      readonly lie: (typeof LIES)[number] | null;
    }
  | {
      readonly does: 'agree';
      readonly leg: number;
      readonly what: number;
      readonly people: number;
      readonly misuse: (typeof MISUSES)[number] | null;
    }
  | {
      readonly does: 'register';
      readonly merchant: number;
      readonly place: number;
      readonly people: number;
      readonly misuse: 'under another name' | null;
    }
  | { readonly does: 'owe' | 'record' | 'submit' | 'advance' | 'release'; readonly pick: number }
  | { readonly does: 'fail' | 'restart' };

const pick = fc.nat(1_000);
const what = fc.nat(AMOUNTS.length * 16 - 1);
const people = fc.constantFrom(1, 2, 2, 3);
const one = { leg: fc.nat(LEGS - 1), what };
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant('sign' as const),
      ...one,
      pick,
      lie: fc.option(fc.constantFrom(...LIES), { freq: 2 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('agree' as const),
      ...one,
      people,
      misuse: fc.option(fc.constantFrom(...MISUSES), { freq: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ does: fc.constant('register' as const), merchant: fc.nat(1), place: fc.constantFrom(2, 2, 2, 3, 1), people },
      misuse: fc.option(fc.constant('under another name' as const), { freq: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constantFrom('owe', 'owe', 'record', 'submit', 'advance', 'release'), pick }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('fail', 'restart') }) },
);

/** What lets a move come about at all, so that the search begins where money can go. */
const FIRST: readonly Action[] = [
  ...[0, 0, 1].map((each) => ({ does: 'owe' as const, pick: each })),
  { does: 'register', merchant: 0, place: 2, people: 2, misuse: null },
];

/** To that address, of 10 out of the 20 that are owed. */
const A_SETTLEMENT: Action = { does: 'agree', leg: 0, what: 17, people: 2, misuse: null };

class Worker {
  readonly held: { readonly order: OutgoingTransaction; readonly signedBytes: string }[] = [];
  /** Who signed which terms, of moves and of settlement addresses. */
  readonly agreed = new Map<string, Set<string>>();
  readonly places: readonly string[];
  readonly owed = new Map<MerchantId, bigint>();
  readonly #chain: ModelChain;
  readonly #signer: SearchedSigner;
  readonly #log: StreamEvent[] = [];
  #orders = 0;
  #taken = 0;
  readonly #legs = new Map<
    number,
    { readonly order: OutgoingTransaction; readonly attempts: number; readonly draft: TransactionDraft }
  >();
  /** What was last agreed to for a leg. */
  readonly #wanted = new Map<number, OutgoingTransaction>();

  constructor(chain: ModelChain, journalDirectory: string) {
    const { network } = chain;
    this.#chain = chain;
    const family = addressFamilyOf(network);
    // Two cold addresses, and two of merchants; only the first is on the list.
    this.places = [50, 51, 52, 53].map((index) => MODEL_WALLET.collectionAddress(family, index));
    chain.others.push(...this.places);
    this.#signer = new SearchedSigner(chain, {
      ...{ journalDirectory, limits: {}, payoutsPerHour: 100 },
      ...{ treasuryLimits: { USDT: LIMITS }, withdrawalAddresses: { test: { [network]: [this.places[0]!] } } },
    });
  }

  async act(step: Action): Promise<void> {
    switch (step.does) {
      case 'sign':
        return this.#sign(step);
      case 'agree':
        return this.#agree(step);
      case 'register':
        return this.#register(step);
      case 'owe': {
        const merchant = MERCHANTS[step.pick % 2]!;
        this.#log.push(...paidOrder((this.#orders += 1), merchant, this.#chain.network));
        this.owed.set(merchant, (this.owed.get(merchant) ?? 0n) + OWED_BY_AN_ORDER);
        return this.#tell();
      }
      case 'record':
        return this.#record(step.pick % LEGS);
      case 'release':
        return this.#release(step.pick % LEGS);
      case 'submit':
        return submitOne(this.#chain, this.held, step.pick);
      case 'advance':
        return this.#chain.advance(step.pick);
      case 'fail':
        this.#chain.failsNext = true;
        return;
      case 'restart':
        this.#signer.restart();
        this.#taken = 0;
        this.#tell();
    }
  }

  #tell(): void {
    this.#signer.ledger.take(this.#taken, recorded(this.#log).slice(this.#taken));
    this.#taken = this.#log.length;
  }

  /** As an honest node does before it asks for a signature; the liar may leave it out. */
  #record(leg: number): void {
    const order = this.#wanted.get(leg);
    if (order?.kind !== 'settlement') return;
    const { network, amount, fromAddress, toAddress, merchantId } = order;
    this.#log.push(
      settlementEvent(
        'SettlementRequested',
        settlementTerms(order.id, amount, { network, fromAddress, toAddress, merchantId }),
      ),
    );
    this.#tell();
  }

  /** The money of a payment is to be free again, whether or not it landed. */
  async #release(leg: number): Promise<void> {
    const order = this.#legs.get(leg)?.order;
    if (order) await this.#signer.ask('release', { order });
  }

  #orderOf(leg: number, what: number): OutgoingTransaction {
    const kind = what % 2 === 0 ? 'withdrawal' : 'settlement';
    const merchantId = kind === 'settlement' ? MERCHANTS[(what >> 1) % 2]! : null;
    const toAddress =
      kind === 'withdrawal' ? this.places[what % 16 < 12 ? 0 : 1]! : this.places[what % 16 < 12 ? 2 : 3]!;
    const { network } = this.#chain;
    const fromAddress = MODEL_WALLET.treasury[addressFamilyOf(network)];
    return outgoing({
      kind,
      id: `mv_${leg}`,
      network,
      coin: 'USDT',
      amount: AMOUNTS[(what >> 4) % AMOUNTS.length]!,
      fromAddress,
      toAddress,
      merchantId,
    });
  }

  async #agree({ leg, what, people: count, misuse }: Extract<Action, { does: 'agree' }>): Promise<void> {
    const order = this.#wanted.get(leg) ?? this.#orderOf(leg, what);
    this.#wanted.set(leg, order);
    const act: ApprovalAct = { kind: 'transaction', order, proposedBy: 'operator' };
    const changed = {
      ...order,
      ...(misuse === 'for more' && { amount: '25' }),
      ...(misuse === 'for another place' && { toAddress: this.places[1]! }),
    };
    await this.#gather(termsOf(order), act, { ...act, order: changed }, count, misuse);
    await this.#sign({ does: 'sign', leg, what, pick: what, lie: null });
  }

  async #register({ merchant, place, people: count, misuse }: Extract<Action, { does: 'register' }>): Promise<void> {
    const [merchantId, address] = [MERCHANTS[merchant]!, this.places[place]!];
    const act: ApprovalAct = {
      kind: 'settlement_address',
      destination: { mode: 'test', network: this.#chain.network, merchantId, address },
      proposedBy: 'operator',
    };
    await this.#gather(addressOf(merchantId, address), act, act, count, misuse);
  }

  /** People sign what they are shown; the worker hands their signatures in for what it likes. */
  async #gather(
    terms: string,
    shown: ApprovalAct,
    sent: ApprovalAct,
    count: number,
    misuse: string | null,
  ): Promise<void> {
    for (const name of PEOPLE.slice(0, count)) {
      const answer = await this.#signer.ask<ApprovalTerms>('approvalTerms', { act: shown });
      if (!answer?.ok || answer.done) return;
      const approval = signedBy(name, answer);
      this.agreed.set(terms, (this.agreed.get(terms) ?? new Set()).add(name));
      const [other] = PEOPLE.filter((one) => one !== name);
      const handed = misuse === 'under another name' ? { ...approval, approver: other } : approval;
      await this.#signer.ask('approve', { act: sent, approval: handed });
      if (misuse === 'twice')
        await this.#signer.ask('approve', { act: sent, approval: { ...approval, approver: other } });
    }
  }

  async #sign({ leg, what, pick, lie }: Extract<Action, { does: 'sign' }>): Promise<void> {
    const known = this.#legs.get(leg);
    const order =
      lie === 'terms' ? this.#orderOf(leg, what) : (known?.order ?? this.#wanted.get(leg) ?? this.#orderOf(leg, what));
    const next = (known?.attempts ?? 0) + 1;
    const draft = this.#draft(known?.draft, unitsOf(order), pick, lie === 'draft');
    const request = {
      order,
      attempt: lie === 'attempt' ? 1 + (pick % (next + 1)) : next,
      draft,
      logPlace: this.#signer.placeOf(lie === 'log place'),
    };
    const answer = await this.#signer.ask<Signature>('sign', request);
    if (!answer?.ok) return;
    if (this.#signer.advance(answer)) this.#legs.set(leg, { order, attempts: request.attempt, draft });
    this.held.push({ order, signedBytes: answer.signedBytes });
    if (pick % 2 === 0) this.#chain.submit(answer.signedBytes);
  }

  #draft(last: TransactionDraft | undefined, units: bigint, pick: number, isLie: boolean): TransactionDraft {
    if (isLie) return this.#chain.lie(units, pick);
    return repriced(last, pick) ?? this.#chain.draft(units, pick, this.#legs.size);
  }
}

const termsOf = ({ kind, id, amount, toAddress, merchantId }: OutgoingTransaction): string =>
  `${kind} ${id}: ${amount} to ${toAddress} of ${merchantId}`;
const addressOf = (merchantId: MerchantId | null, address: string): string => `${merchantId} is settled to ${address}`;

/** What the chain shows that must never be; null when it is as it should be. */
function violationOf({ landed }: ModelChain, worker: Worker): string | null {
  const orders = landed.map(({ signedBytes }) => worker.held.find((one) => one.signedBytes === signedBytes)!.order);
  if (new Set(orders.map(({ id }) => id)).size < orders.length) return 'one move landed twice';
  const agreedTo = (terms: string): number => worker.agreed.get(terms)?.size ?? 0;
  const settled = new Map<MerchantId, bigint>();
  for (const [index, { toAddress, units }] of landed.entries()) {
    const order = orders[index]!;
    const terms = termsOf({ ...order, toAddress });
    if (agreedTo(terms) < 2) return `${terms} landed, to which ${agreedTo(terms)} agreed`;
    if (units !== BigInt(Math.round(Number(order.amount) * 1e6))) return `${units} landed for ${terms}`;
    if (units > BigInt(LIMITS.perTransaction) * COIN) return `${terms} is above its cap`;
    if (order.kind === 'withdrawal' && toAddress !== worker.places[0]) return `${terms} is not on the list`;
    if (order.kind !== 'settlement') continue;
    if (agreedTo(addressOf(order.merchantId, toAddress)) < 2)
      return `${terms} went where two people had not registered`;
    settled.set(order.merchantId!, (settled.get(order.merchantId!) ?? 0n) + units);
  }
  for (const [merchant, units] of settled)
    if (units > (worker.owed.get(merchant) ?? 0n))
      return `${merchant} was settled ${units} of ${worker.owed.get(merchant)}`;
  const total = landed.reduce((sum, { units }) => sum + units, 0n);
  return total > BigInt(LIMITS.perDay) * COIN ? `${total} within a day` : null;
}

describe.each(MODELS)('on %s', (_, model) => {
  it('no sequence of withdrawals, settlements, lies and restarts moves more than approvers agreed to, merchants are owed and caps allow', async () => {
    const moved = { withdrawal: 0, settlement: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 50 }), (steps) =>
        onModel(model, async (chain, directory) => {
          const worker = new Worker(chain, directory);
          for (const step of [...FIRST, ...(steps.length % 2 === 0 ? [A_SETTLEMENT] : []), ...steps])
            await worker.act(step);
          submitAll(chain, worker.held);
          for (const { signedBytes } of chain.landed)
            moved[worker.held.find((one) => one.signedBytes === signedBytes)!.order.kind as keyof typeof moved] += 1;
          expect(violationOf(chain, worker)).toBeNull();
        }),
      ),
      { numRuns: runsOf(24) },
    );
    // A search that gets nothing finds nothing.
    expect(moved.withdrawal).toBeGreaterThan(1);
    expect(moved.settlement).toBeGreaterThan(1);
  }, 120_000);
});
