import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CancelDraft, TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import { addressFamilyOf } from '../../src/domain/networks/networks.ts';
import type { ApprovalAct, ApprovalTerms } from '../../src/ports/signer/approvals.ts';
import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import type { Signature, SignerVerdict } from '../../src/ports/outgoing/signer.ts';
import { signedBy } from '../support/approvers.ts';
import { MODEL_WALLET, SECOND_PROVIDER, type ModelChain } from '../support/model-chains/model-chain.ts';
import { outgoing } from '../support/outgoing.ts';
import { runsOf } from '../support/runs.ts';
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
 * A worker that lies searches for any order of requests, chain events and restarts after which the chain shows more
 * than deposits, caps and the account of a merchant who was settled allow. Requests go through the signer's door as its
 * socket hands them on.
 */

const LIMITS = { perTransaction: '45', perHour: '80', perDay: '80', approvalFrom: '40' };
const PAYOUTS_PER_HOUR = 5;
/** What the merchant was left with by a settlement: less than the deposits and the caps, or more than both. */
const ACCOUNTS = ['55', '500'] as const;
const LEGS = 6;
/** The longest step of a model chain's time. */
const A_DAY = 3;
const AMOUNTS = ['45', '30', '25', '20', '60', '7.5', '40'];

const LIES = ['attempt', 'terms', 'deposits', 'draft', 'draft', 'log place'] as const;
type Lie = (typeof LIES)[number];
const MISUSES = ['for another leg', 'for more', 'under another name', 'twice'] as const;
type Misuse = (typeof MISUSES)[number];
type Action =
  | {
      readonly does: 'sign';
      readonly leg: number;
      readonly what: number;
      readonly pick: number;
      readonly lie: Lie | null;
    }
  | {
      readonly does: 'approve';
      readonly leg: number;
      readonly what: number;
      readonly pick: number;
      readonly misuse: Misuse | null;
    }
  | {
      readonly does: 'submit' | 'advance' | 'again' | 'release' | 'deny' | 'second' | 'own transfer';
      readonly pick: number;
    }
  | { readonly does: 'stop'; readonly leg: number; readonly what: number; readonly pick: number }
  | { readonly does: 'fail' | 'restart' };

const pick = fc.nat(1_000);
const lie = fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...LIES) });
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ does: fc.constant('sign' as const), leg: fc.nat(LEGS - 1), what: pick, pick, lie }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('approve' as const),
      leg: fc.nat(1),
      what: fc.nat(100).map((n) => AMOUNTS.length * n + (n % 2) * (AMOUNTS.length - 1)),
      ...{ pick, misuse: fc.option(fc.constantFrom(...MISUSES)) },
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('submit' as const), pick }) },
  {
    weight: 5,
    arbitrary: fc.record({ does: fc.constantFrom('advance', 'advance', 'again', 'release', 'deny', 'second'), pick }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('own transfer' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('fail', 'restart') }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('stop' as const), leg: fc.nat(LEGS - 1), what: pick, pick }) },
);

const CANCELLATION: CancelDraft = {
  kind: 'evm-cancel',
  chainId: '31337',
  nonce: 0,
  gasLimit: '21000',
  maxFeePerGas: '2000',
  maxPriorityFeePerGas: '1000',
};

/** The worker: all that it asked for, and all that it was given. */
class Worker {
  readonly held: { readonly leg: number; readonly signedBytes: string }[] = [];
  cancelled = 0;
  /** Sweeps that were signed, and how many of them were then paid back. */
  readonly swept = { signed: 0, paidBack: 0 };
  /** Signatures that came although a stop had been answered. */
  afterStop = 0;
  #isStopped = false;
  /** Who signed which terms. */
  readonly agreed = new Map<string, Set<string>>();
  /** What was last approved for a leg, as the number that orders are made of. */
  readonly #approved = new Map<number, number>();
  readonly #chain: ModelChain;
  readonly #signer: SearchedSigner;
  readonly #attempts = new Map<number, number>();
  readonly #orders = new Map<number, OutgoingTransaction>();
  readonly #drafts = new Map<number, TransactionDraft>();

  readonly account: string;

  constructor(chain: ModelChain, journalDirectory: string, account: string) {
    this.#chain = chain;
    this.account = account;
    this.#signer = new SearchedSigner(
      chain,
      {
        journalDirectory,
        limits: { USDT: LIMITS },
        payoutsPerHour: PAYOUTS_PER_HOUR,
      },
      account,
    );
  }

  async act(step: Action): Promise<void> {
    const chain = this.#chain;
    switch (step.does) {
      case 'sign':
        return this.#sign(step);
      case 'approve':
        return this.#approve(step);
      case 'submit':
        return submitOne(chain, this.held, step.pick);
      case 'advance':
        return chain.advance(step.pick);
      case 'second':
        chain.second = SECOND_PROVIDER[step.pick % SECOND_PROVIDER.length]!;
        return;
      case 'again': {
        // On TRON nothing is signed again before the last one has expired.
        const legs = [...this.#orders.keys()];
        if (legs.length === 0) return;
        this.#chain.advance(A_DAY);
        return this.#sign({ does: 'sign', leg: legs[step.pick % legs.length]!, what: 0, pick: step.pick, lie: null });
      }
      case 'release': {
        const order = this.#orders.get(step.pick % LEGS);
        if (order) await this.#signer.ask<SignerVerdict>('release', { order });
        return;
      }
      case 'deny': {
        const order = this.#orders.get(step.pick % LEGS);
        if (order) await this.#signer.deny(order);
        return;
      }
      case 'fail':
        chain.failsNext = true;
        return;
      case 'own transfer':
        return this.#ownTransfer(step.pick);
      case 'stop':
        return this.#stopDuring(step);
      case 'restart':
        this.#signer.restart();
    }
  }

  /** Sweeps, and names the sweep as a deposit of the address that it emptied. */
  async #ownTransfer(pick: number): Promise<void> {
    const { network } = this.#chain;
    const family = addressFamilyOf(network);
    const [treasury, from] = [MODEL_WALLET.treasury[family], MODEL_WALLET.collectionAddress(family, pick % 3)];
    const number = this.swept.signed + 1;
    const ask = (order: OutgoingTransaction) =>
      this.#signer.ask<Signature>('sign', {
        ...{ order, attempt: 1, logPlace: this.#signer.placeOf(false) },
        draft: this.#chain.draft(unitsOf(order), pick, this.#orders.size + number),
      });
    const money = { network, coin: 'USDT', amount: '10' } as const;
    const sweep = outgoing({
      ...{ ...money, kind: 'sweep', id: `swp_${number}-${pick}`, derivationIndex: pick % 3 },
      ...{ fromAddress: from, toAddress: treasury },
    });
    const signed = await ask(sweep);
    if (!signed?.ok) return;
    this.#signer.advance(signed);
    this.swept.signed = number;
    const { txHash } = signed;
    const proof = { depositKey: `${network}:${txHash}:0`, txHash, logIndex: 0, toAddress: treasury };
    this.#chain.show({ payer: from, units: unitsOf(sweep), proof: { ...proof, derivationIndex: null } });
    const back = outgoing({
      ...{ ...money, kind: 'refund', id: `re_own-${number}-${pick}`, fromAddress: treasury, toAddress: from },
      deposits: [{ ...proof, derivationIndex: null, amount: '10' }],
    });
    await this.#signer.book(back);
    const paid = await ask(back);
    if (!paid?.ok) return;
    this.#signer.advance(paid);
    this.swept.paidBack += 1;
  }

  orderOf(leg: number): OutgoingTransaction {
    return this.#orders.get(leg)!;
  }

  async #approve({ leg, what, pick, misuse }: Extract<Action, { does: 'approve' }>): Promise<void> {
    const order = this.#orders.get(leg) ?? this.#order(leg, what, null);
    const act: ApprovalAct = { kind: 'transaction', order, proposedBy: 'merchant' };
    this.#approved.set(leg, what);
    await this.#signer.book(order);
    for (const name of PEOPLE.slice(0, 1 + (pick % PEOPLE.length))) {
      const terms = await this.#signer.ask<ApprovalTerms>('approvalTerms', { act });
      if (!terms?.ok || terms.done) return;
      const approval = signedBy(name, terms);
      this.agreed.set(termsOf(order), (this.agreed.get(termsOf(order)) ?? new Set()).add(name));
      const [other] = PEOPLE.filter((one) => one !== name);
      await this.#signer.ask('approve', {
        act: {
          ...act,
          order:
            misuse === 'for another leg'
              ? this.#order((leg + 1) % LEGS, what, null)
              : { ...order, ...(misuse === 'for more' && { amount: '45' }) },
        },
        approval: misuse === 'under another name' ? { ...approval, approver: other } : approval,
      });
      if (misuse === 'twice') await this.#signer.ask('approve', { act, approval });
    }
    await this.#sign({ does: 'sign', leg, what, pick: 3 * pick + 1, lie: null });
  }

  async #sign({ leg, what, pick, lie }: Extract<Action, { does: 'sign' }>): Promise<void> {
    const known = this.#orders.get(leg);
    const order =
      known && lie !== 'terms' ? known : this.#order(leg, (pick % 3 > 0 && this.#approved.get(leg)) || what, lie);
    const next = (this.#attempts.get(leg) ?? 0) + 1;
    const request = {
      ...{ order, attempt: lie === 'attempt' ? 1 + (pick % (next + 1)) : next },
      draft: this.#draft(leg, unitsOf(order), pick, lie === 'draft'),
      logPlace: this.#signer.placeOf(lie === 'log place'),
    };
    await this.#signer.book(order);
    const answer = await this.#signer.ask<Signature>('sign', request);
    if (!answer?.ok) return;
    if (this.#isStopped) this.afterStop += 1;
    if (this.#signer.advance(answer)) {
      this.#attempts.set(leg, request.attempt);
      this.#orders.set(leg, order);
      this.#drafts.set(leg, request.draft);
    }
    if (request.draft.kind === 'evm-cancel') this.cancelled += 1;
    this.held.push({ leg, signedBytes: answer.signedBytes });
    // Half of the payloads go out at once, the others wait for their moment.
    if (pick % 2 === 0) this.#chain.submit(answer.signedBytes);
  }

  /** Somebody stops while a request is in work, and two people resume. */
  async #stopDuring({ leg, what, pick: turns }: Extract<Action, { does: 'stop' }>): Promise<void> {
    const signing = this.#sign({ does: 'sign', leg, what, pick: 3 * turns, lie: null });
    for (let turn = 0; turn < turns % 12; turn += 1) await new Promise(setImmediate);
    await this.#signer.ask('stop', { mode: 'test', by: 'olga' });
    this.#isStopped = true;
    await signing;
    this.#isStopped = false;
    const act: ApprovalAct = { kind: 'resume', mode: 'test', anew: [], proposedBy: 'olga' };
    for (const name of PEOPLE.slice(0, 2)) {
      const terms = await this.#signer.ask<ApprovalTerms>('approvalTerms', { act });
      if (terms?.ok && !terms.done) await this.#signer.ask('approve', { act, approval: signedBy(name, terms) });
    }
  }

  #order(leg: number, what: number, lie: Lie | null): OutgoingTransaction {
    const { network, paid } = this.#chain;
    const { payer, handedTo } = paid[what % paid.length]!;
    const named = paid.filter((one) => lie === 'deposits' || one.payer === payer);
    return outgoing({
      ...{ kind: 'refund', id: `re_a-${leg}`, network, coin: 'USDT', amount: AMOUNTS[what % AMOUNTS.length]! },
      ...{ fromAddress: MODEL_WALLET.treasury[addressFamilyOf(network)], toAddress: handedTo ?? payer },
      // As much of each as could be asked for: what is left of a deposit is the signer's to know.
      deposits: (what % 2 === 0 ? named : named.toReversed()).map(({ proof }) => ({ ...proof, amount: '999999' })),
    });
  }

  /** The same at another price, as an honest replacement is; the next one of its kind; or whatever comes to mind. */
  #draft(leg: number, units: bigint, pick: number, isLie: boolean): TransactionDraft {
    const last = this.#drafts.get(leg);
    if (isLie) return this.#chain.lie(units, pick);
    // Nothing at the same nonce, at times also for what was cancelled or was never signed.
    const sequence = last?.kind === 'evm' || last?.kind === 'evm-cancel' ? last.nonce : this.#orders.size;
    if (this.#chain.network === 'ethereum' && pick % 4 === 1)
      return { ...CANCELLATION, nonce: sequence, maxFeePerGas: String(2_000 + pick) };
    return repriced(last, pick) ?? this.#chain.draft(units, pick, this.#orders.size);
  }
}

/** What an approver agrees to by signing. */
const termsOf = ({ id, amount, toAddress }: OutgoingTransaction): string => `${amount} to ${toAddress} for ${id}`;

/** What the chain shows that must never be; null when it is as it should be. */
function violationOf({ paid, landed }: ModelChain, worker: Worker): string | null {
  const { held, swept } = worker;
  if (swept.paidBack > 0) return 'a transfer of our own was paid back';
  if (worker.afterStop > 0) return 'a signature came after a stop';
  const legs = landed.map(({ signedBytes }) => held.find((one) => one.signedBytes === signedBytes)!.leg);
  if (new Set(legs).size < legs.length) return `legs ${legs.join(', ')} were paid`;
  for (const [index, { toAddress }] of landed.entries())
    if (toAddress !== worker.orderOf(legs[index]!).toAddress) return `what ${legs[index]} pays went to ${toAddress}`;
  for (const payer of new Set([...paid.map((one) => one.payer), ...landed.map(({ toAddress }) => toAddress)])) {
    const sum = (list: readonly { readonly units: bigint }[]): bigint =>
      list.reduce((total, { units }) => total + units, 0n);
    const [got, gave] = [
      sum(landed.filter(({ toAddress }) => toAddress === payer)),
      sum(paid.filter((one) => one.payer === payer)),
    ];
    if (got > gave) return `${payer} got ${got} back of ${gave}`;
  }
  for (const leg of legs) {
    const terms = termsOf(worker.orderOf(leg));
    const agreed = worker.agreed.get(terms)?.size ?? 0;
    if (needsApproval(worker.orderOf(leg)) && agreed < 2) return `${terms} was paid, to which ${agreed} agreed`;
  }
  const ofAccount = landed
    .filter((_, index) => (worker.agreed.get(termsOf(worker.orderOf(legs[index]!)))?.size ?? 0) < 2)
    .reduce((sum, { units }) => sum + units, 0n);
  if (ofAccount > BigInt(worker.account) * COIN)
    return `${ofAccount} of an account of ${worker.account}, to which nobody agreed`;
  const total = landed.reduce((sum, { units }) => sum + units, 0n);
  if (total > BigInt(LIMITS.perHour) * COIN) return `${total} within an hour`;
  if (landed.some(({ units }) => units > BigInt(LIMITS.perTransaction) * COIN)) return 'one payout above its cap';
  return landed.length > PAYOUTS_PER_HOUR ? `${landed.length} payouts within an hour` : null;
}

const needsApproval = ({ amount }: OutgoingTransaction): boolean => Number(amount) >= Number(LIMITS.approvalFrom);

describe.each(MODELS)('on %s', (network, model) => {
  it('no sequence of requests, lies and restarts moves more than deposits and caps allow', async () => {
    let moved = 0;
    let replaced = 0;
    let cancelled = 0;
    let approved = 0;
    let swept = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 15, maxLength: 45 }), (steps) =>
        onModel(model, async (chain, directory) => {
          const worker = new Worker(chain, directory, ACCOUNTS[steps.length % 2]!);
          for (const step of steps) await worker.act(step);
          submitAll(chain, worker.held);
          moved += chain.landed.length;
          replaced += worker.held.length - new Set(worker.held.map(({ leg }) => leg)).size;
          cancelled += worker.cancelled;
          swept += worker.swept.signed;
          approved += worker.held.filter(({ leg }) => needsApproval(worker.orderOf(leg))).length;
          expect(violationOf(chain, worker)).toBeNull();
        }),
      ),
      { numRuns: runsOf(48) },
    );
    // A search that gets nothing finds nothing.
    expect(moved).toBeGreaterThan(20);
    expect(replaced).toBeGreaterThan(2);
    expect(approved).toBeGreaterThan(2);
    expect(swept).toBeGreaterThan(2);
    expect(cancelled > 0).toBe(network === 'ethereum');
  }, 120_000);
});
