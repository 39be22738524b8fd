import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { CancelDraft } from '../domain/events/payout-draft.ts';
import type { Mode } from '../domain/ids.ts';
import { amountOf, least } from '../domain/money.ts';
import { nativeLimitsOf, type NativeLimits } from '../domain/native-limits.ts';
import { addressFamilyOf, NETWORKS } from '../domain/networks.ts';
import type { PayoutOrder, PayoutRefusal, PayoutRequest, PayoutSignature, PayoutVerdict, SignerPayoutStatus } from '../ports/payouts.ts';
import type { PayoutNetwork, PayoutRules } from '../ports/signer-protocol.ts';
import { crashPoint } from '../runtime/util/crash-point.ts';
import { hashOf, openOutflows, refundTerms } from './approval-text.ts';
import { Approvals } from './approvals.ts';
import { ViewUnavailable, type ChainView } from './chain-view.ts';
import { DepositLookups } from './deposit-lookups.ts';
import { EvmView } from './evm-view.ts';
import { changesOf, limitsOf, stricter, withLimits, type Limits } from './limits-in-force.ts';
import { LedgerAccounts } from './ledger-accounts.ts';
import { Moves } from './moves.ts';
import { feeRefusal, nativeRefusal, nativeRoomRefusal, type NativeParts } from './native-rules.ts';
import { JournalBroken, PayoutJournal, placeOf, type JournalEntry, type MovedEntry, type SignedEntry } from './payout-journal.ts';
import { bytesOf, refusal, sequenceRefusal, without } from './exclusive.ts';
import { isIdTaken, isStopped, limitsRefusal, signatureOf, signedOf, stopRefusal, takenByDeposit } from './payout-rules.ts';
import { depositFault, isOurs } from './return-rules.ts';
import { SolanaView } from './solana-view.ts';
import { TronView } from './tron-view.ts';
import type { SigningWallet } from './signing-wallet.ts';
import type { SignerAccount } from './signer-account.ts';

type Allocation = { readonly ok: true; readonly takenFrom: SignedEntry['takenFrom'] } | PayoutRefusal;

/**
 * Decides what is signed. Nothing it is told counts: payer and amounts are read from the chain, limits and what was paid
 * before from its own journal, and a request whose ledger is not where the journal is gets nothing.
 */
export class Payouts {
  readonly #accounts: ReadonlyMap<Mode, SignerAccount>;
  readonly #views: ReadonlyMap<string, ChainView>;
  readonly #nowMs: () => number;
  #turn: Promise<unknown> = Promise.resolve();
  /** Money that is not a refund, on the same journals and in the same turns. */
  readonly moves: Moves;

  readonly approvals: Approvals;

  /** What merchants are owed. */
  readonly accounts: LedgerAccounts;

  /** Throws `JournalBroken` and `ApproversRefused`. The caller holds the lock of the journals. */
  constructor(
    rules: PayoutRules,
    wallets: ReadonlyMap<Mode, SigningWallet>,
    nowMs: () => number = Date.now,
    onWrongApproval: (why: string) => void = () => undefined,
    accounts = new LedgerAccounts(),
  ) {
    this.accounts = accounts;
    this.#nowMs = nowMs;
    this.#accounts = new Map([...wallets].map(([mode, wallet]) => [mode, accountOf(rules, mode, wallet, nowMs())]));
    this.#views = new Map(
      rules.networks.map((network) => [`${network.mode}/${network.network}`, viewOf(network, nativeLimitsOf(network.network, rules.nativeLimits))]),
    );
    const shared = { nowMs, inTurn: <Result>(mode: Mode, task: (account: SignerAccount) => Promise<Result>) => this.#inTurn(mode, task) };
    this.moves = new Moves({ ...shared, views: this.#views, accounts });
    this.approvals = new Approvals({ ...shared, rules, onWrong: onWrongApproval });
  }

  check(order: PayoutOrder): Promise<PayoutVerdict> {
    return this.#inTurn(order.mode, async (account) => {
      const allocation = await this.#judge(order, account);
      return allocation.ok ? { ok: true } : allocation;
    });
  }

  sign(request: PayoutRequest): Promise<PayoutSignature> {
    return this.#inTurn(request.order.mode, (account) => this.#sign(request, account));
  }

  release(order: PayoutOrder): Promise<PayoutVerdict> {
    return this.#inTurn(order.mode, async ({ journal }) => {
      const entries = signedOf(journal.entries).filter((entry) => entry.legId === order.legId && entry.network === order.network);
      const known = journal.entries.some((entry) => entry.kind === 'released' && entry.legId === order.legId);
      if (entries.length === 0 || known) return { ok: true };
      const view = this.#views.get(`${order.mode}/${order.network}`);
      if (!view || !(await view.hadNoEffect(entries)))
        return refusal('later', 'may_have_paid', 'the chain does not say for good that nothing was paid');
      journal.append({ kind: 'released', legId: order.legId, reason: 'no_effect' }, this.#nowMs());
      return { ok: true };
    });
  }

  /** Anyone may stop; going on is for two approvers. */
  stop(mode: Mode, by: string): Promise<SignerPayoutStatus | PayoutRefusal> {
    return this.#inTurn(mode, async (account) => {
      if (!isStopped(account.journal)) account.journal.append({ kind: 'stopped', by }, this.#nowMs());
      return this.#statusOf(account);
    });
  }

  status(mode: Mode): Promise<SignerPayoutStatus | PayoutRefusal> {
    return this.#inTurn(mode, async (account) => this.#statusOf(account));
  }

  async #sign(request: PayoutRequest, account: SignerAccount): Promise<PayoutSignature> {
    const { order, draft, attempt } = request;
    const { journal, wallet } = account;
    const view = this.#views.get(`${order.mode}/${order.network}`);
    if (!view) return refusal('later', 'unknown_network', `the signer knows no ${order.mode} ${order.network}`);
    if (isIdTaken(journal.entries, order.legId, 'signed', order.network)) return refusal('denied', 'id_taken', `${order.legId} names something else`);
    const ofNetwork = bytesOf(journal.entries).filter((entry) => entry.network === order.network);
    const repeated = ofNetwork.find((entry) => entry.legId === order.legId && entry.attempt === attempt);
    // After a crash between the journal and the ledger the ledger is one behind, and asks for exactly that entry again.
    const before = repeated && ofNetwork.at(-1) === repeated ? ofNetwork.at(-2) : ofNetwork.at(-1);
    if (placeOf(before)?.hash !== request.ledger?.hash)
      return refusal('stopped', 'journal_disagrees', 'the ledger is not where the journal is: a restored backup, or a second signer');
    if (repeated)
      return repeated.kind === 'signed' && sameRequest(repeated, request)
        ? signatureOf(repeated)
        : refusal('stopped', 'second_payload', `${order.legId} was signed with another payload`);
    if (request.fromAddress !== wallet.treasury[addressFamilyOf(order.network)])
      return refusal('stopped', 'other_treasury', 'the treasury is not the account of this wallet');
    const fault = view.faultOf(draft, order);
    if (fault !== null) return refusal('denied', 'wrong_draft', fault);
    const tooDear =
      feeRefusal(draft, order.network, account.rules.nativeLimits) ?? nativeRefusal(draft, this.#nativeParts(order, journal.entries, account));
    if (tooDear) return tooDear;
    const ofLeg = signedOf(ofNetwork).filter((entry) => entry.legId === order.legId);
    const allocation = ofLeg.length === 0 ? await this.#first(request, ofNetwork, account) : await this.#replacement(request, ofLeg, account);
    if (!allocation.ok) return allocation;
    const signed = await view.sign(draft, order, wallet);
    // Two payouts with equal bytes would land as one: the later one takes another moment.
    if (bytesOf(journal.entries).some((entry) => entry.txHash === signed.txHash))
      return refusal('later', 'equal_bytes', 'another payout is this very transaction');
    crashPoint('signer-before-journal');
    const { network, legId, coin, toAddress } = order;
    const fact = {
      kind: 'signed',
      network,
      legId,
      attempt,
      coin,
      units: amountOf(order.amount).toString(),
      toAddress,
      draft,
      takenFrom: allocation.takenFrom,
      ...signed,
    } as const;
    const entry = journal.append(fact, this.#nowMs());
    crashPoint('signer-after-journal');
    return signatureOf(entry as SignedEntry);
  }

  async #first(request: PayoutRequest, ofNetwork: readonly (SignedEntry | MovedEntry)[], account: SignerAccount): Promise<Allocation> {
    const { draft, attempt, order, fromAddress } = request;
    if (draft.kind === 'evm-cancel') return refusal('denied', 'wrong_draft', `nothing was signed for ${order.legId} that could be cancelled`);
    if (attempt !== 1) return refusal('stopped', 'journal_disagrees', `the journal knows no earlier transaction of ${order.legId}`);
    const taken = sequenceRefusal(ofNetwork, draft, fromAddress, fromAddress);
    if (taken) return taken;
    const allocation = await this.#judge(order, account);
    const fault = allocation.ok && (await this.#views.get(`${order.mode}/${order.network}`)!.sequenceFault(draft, fromAddress));
    return fault ? refusal('later', 'sequence_busy', fault) : allocation;
  }

  async #replacement({ order, attempt, draft }: PayoutRequest, ofLeg: readonly SignedEntry[], account: SignerAccount): Promise<Allocation> {
    const last = ofLeg.at(-1)!;
    const same =
      last.attempt === attempt - 1 &&
      last.toAddress === order.toAddress &&
      last.units === amountOf(order.amount).toString() &&
      last.coin === order.coin;
    if (!same) return refusal('stopped', 'second_payload', `${order.legId} was signed with other terms`);
    if (draft.kind === 'evm-cancel') return this.#cancellation(order, ofLeg, draft, account);
    if (last.draft.kind === 'evm-cancel') return refusal('denied', 'cancelled', `${order.legId} was cancelled`);
    const allocation = await this.#judge(order, account);
    if (!allocation.ok) return allocation;
    const view = this.#views.get(`${order.mode}/${order.network}`)!;
    return (await view.mayFollow(ofLeg, draft))
      ? allocation
      : refusal('later', 'may_still_land', `an earlier transaction of ${order.legId} may still land`);
  }

  /**
   * Moves nothing, so neither the deposit nor any cap on coins is asked about; the fee was. Until the chain says which of them landed, the
   * leg counts as paid.
   */
  async #cancellation(
    { legId, mode, network }: PayoutOrder,
    ofLeg: readonly SignedEntry[],
    draft: CancelDraft,
    account: SignerAccount,
  ): Promise<Allocation> {
    const { journal } = account;
    const stopped = stopRefusal(journal, network);
    if (stopped) return stopped;
    if (journal.entries.some((entry) => entry.kind === 'released' && entry.legId === legId))
      return refusal('denied', 'released', `${legId} has ended`);
    const excludes = await this.#views.get(`${mode}/${network}`)!.mayFollow(ofLeg, draft);
    return excludes
      ? { ok: true, takenFrom: ofLeg.at(-1)!.takenFrom }
      : refusal('denied', 'may_still_land', `the cancellation excludes nothing that was signed for ${legId}`);
  }

  /** Everything that must hold before any transaction of a leg; a replacement takes the place of what was signed for it. */
  async #judge(order: PayoutOrder, account: SignerAccount): Promise<Allocation> {
    const { wallet, journal, rules } = account;
    const stopped = stopRefusal(journal, order.network);
    if (stopped) return stopped;
    const view = this.#views.get(`${order.mode}/${order.network}`);
    if (!view) return refusal('later', 'unknown_network', `the signer knows no ${order.mode} ${order.network}`);
    if (journal.entries.some((entry) => entry.kind === 'released' && entry.legId === order.legId))
      return refusal('denied', 'released', `${order.legId} has ended`);
    const others = without(journal.entries, order.legId);
    const limited = limitsRefusal(order, hashOf(refundTerms(order)), others, rules, journal.timeMs(this.#nowMs()));
    const noRoom = limited ?? nativeRoomRefusal(this.#nativeParts(order, others, account));
    if (noRoom) return noRoom;
    if (Object.values(wallet.treasury).includes(order.toAddress)) return refusal('denied', 'own_address', 'the payer is the treasury itself');
    return this.#allocate(order, view, wallet, takenByDeposit(others));
  }

  #statusOf({ journal, limits, wanted }: SignerAccount): SignerPayoutStatus {
    return {
      stopped: isStopped(journal),
      unknownOutflows: NETWORKS.flatMap((network) => openOutflows(journal.entries, network)).length,
      limitsToApprove: changesOf(limits, wanted),
      wrongApprovals: this.approvals.wrong,
      entries: bytesOf(journal.entries).length,
      place: journal.place,
    };
  }

  #nativeParts({ network }: PayoutOrder, entries: readonly JournalEntry[], { journal, rules }: SignerAccount): NativeParts {
    return { network, entries, limits: rules.nativeLimits, nowMs: journal.timeMs(this.#nowMs()) };
  }

  /** Takes from each deposit named what the order says, each found on chain at one of our addresses and paid by the payee. */
  async #allocate(order: PayoutOrder, view: ChainView, wallet: SigningWallet, taken: ReadonlyMap<string, bigint>): Promise<Allocation> {
    const takenFrom: { depositKey: string; units: string }[] = [];
    let rest = amountOf(order.amount);
    if (rest <= 0n) return refusal('denied', 'nothing_to_pay', 'the amount is zero');
    const lookedUp = new DepositLookups(view, order.deposits);
    for (const [index, proof] of order.deposits.entries()) {
      if (rest === 0n) break;
      if (!isOurs(wallet, order.network, proof))
        return refusal('denied', 'not_our_address', `${proof.depositKey} is said to have come to an address that is not ours`);
      if (proof.toAddress === order.toAddress) return refusal('denied', 'own_address', 'the payer is one of our own addresses');
      const found = await lookedUp.at(index);
      const fault = depositFault(found, order);
      if (fault) return fault;
      if (takenFrom.some(({ depositKey }) => depositKey === found!.depositKey))
        return refusal('denied', 'named_twice', `${proof.depositKey} is named twice`);
      const left = found!.units - (taken.get(found!.depositKey) ?? 0n);
      const share = least(least(left, amountOf(proof.amount)), rest);
      if (share <= 0n) continue;
      rest -= share;
      takenFrom.push({ depositKey: found!.depositKey, units: share.toString() });
    }
    return rest === 0n ? { ok: true, takenFrom } : refusal('denied', 'exceeds_deposit', 'more than is left of what the payer paid');
  }

  /** One decision at a time: two requests must never see the same journal. */
  #inTurn<Result>(mode: Mode, task: (account: SignerAccount) => Promise<Result>): Promise<Result | PayoutRefusal> {
    const account = this.#accounts.get(mode);
    if (!account) return Promise.resolve(refusal('later', 'no_wallet', `the signer holds no ${mode} keys`));
    const run = this.#turn.then(() => task(account)).catch(asRefusal);
    // One request that nobody foresaw must not keep the signer from the next one.
    this.#turn = run.catch(() => undefined);
    return run;
  }
}

function asRefusal(error: unknown): PayoutRefusal {
  if (error instanceof ViewUnavailable) return refusal('later', 'chain_unavailable', error.message);
  if (error instanceof JournalBroken) return refusal('stopped', 'journal_broken', error.message);
  throw error;
}

function viewOf(network: PayoutNetwork, limits: NativeLimits): ChainView {
  switch (network.network) {
    case 'ethereum':
    case 'bsc':
      return new EvmView(network, limits);
    case 'tron':
      return new TronView(network);
    case 'solana':
      return new SolanaView(network);
  }
}

/** What the journal does not know yet, or what allows less, is in force at once. */
function accountOf(rules: PayoutRules, mode: Mode, wallet: SigningWallet, nowMs: number): SignerAccount {
  const journal = PayoutJournal.open(journalPath(rules, mode, wallet));
  const wanted = limitsOf(rules, mode);
  const approved = (): Limits | undefined => journal.entries.findLast((entry) => entry.kind === 'limits')?.limits;
  const before = approved();
  const inForce = before ? stricter(before, wanted) : wanted;
  if (JSON.stringify(before) !== JSON.stringify(inForce)) journal.append({ kind: 'limits', limits: inForce, approvers: [] }, nowMs);
  return {
    ...{ wallet, journal, wanted },
    get limits() {
      return stricter(approved()!, wanted);
    },
    get rules() {
      return withLimits(rules, mode, this.limits);
    },
  };
}

/** One journal for a wallet, whatever data directory is used with it. */
function journalPath(rules: PayoutRules, mode: Mode, wallet: SigningWallet): string {
  return join(rules.journalDirectory, `payouts-${mode}-${hash('sha256', wallet.treasury.evm, 'hex').slice(0, 16)}.jsonl`);
}

const sameRequest = (entry: SignedEntry, { order, draft }: PayoutRequest): boolean =>
  JSON.stringify([entry.toAddress, entry.coin, entry.units, entry.draft]) ===
  JSON.stringify([order.toAddress, order.coin, amountOf(order.amount).toString(), draft]);
