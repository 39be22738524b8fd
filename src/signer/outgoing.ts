import type { JournalPlace } from '../domain/events/transaction-draft.ts';
import type { Mode } from '../domain/values/ids.ts';
import { amountOf, formatAmount } from '../domain/money/money.ts';
import { nativeLimitsOf } from '../domain/networks/native-limits.ts';
import { addressFamilyOf, NETWORKS, type Network } from '../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../ports/outgoing/transaction.ts';
import type {
  AskedNativeTransfer,
  SeenNativeTransfer,
  Signature,
  SignerRefusal,
  SignerStatus,
  SignerVerdict,
  SigningRequest,
} from '../ports/outgoing/signer.ts';
import type { PayoutRules } from '../ports/signer/protocol.ts';
import { crashPoint } from '../runtime/util/crash-point.ts';
import { openOutflows } from './approvals/text.ts';
import { Approvals } from './approvals/approvals.ts';
import { AccountTurns } from './account-turns.ts';
import type { ChainView } from './chains/chain-view.ts';
import { bytesOf, isReleased, refusal, sameRequest, sameTerms, sequenceRefusal, without } from './exclusive.ts';
import { placeOf, type JournalEntry, type SignedEntry } from './journal/journal.ts';
import { isIdTaken, isStopped, signatureOf, stopRefusal, usedCaps } from './policies/limits.ts';
import { changesOf } from './policies/limits-in-force.ts';
import { LedgerAccounts } from './journal/ledger-accounts.ts';
import { holdsPlace, newestPlaces, placesOn } from './journal/log-places.ts';
import { feeRefusal, isPaidByTreasury, nativeRefusal, nativeRoomRefusal, type NativeParts } from './policies/native.ts';
import { feeOfReturnRefusal } from './policies/native-return.ts';
import { signedBytesOf } from './chains/outgoing-bytes.ts';
import { POLICIES } from './policies/policies.ts';
import type { Judged } from './policies/policy.ts';
import { OwnMoney } from './policies/own-money.ts';
import { openAccount, type SignerAccount } from './keys/signer-account.ts';
import type { SigningWallet } from './keys/signing-wallet.ts';
import { signedAfter } from './journal/signed-after.ts';
import { viewOf } from './chains/views.ts';
import { must } from '../domain/values/must.ts';

/**
 * Decides what is signed, by the policy of its kind. It trusts no request: payers and amounts are read from the chain,
 * our own addresses are derived here, limits and earlier payments are in its own journal, and a request whose event log
 * is at another position than the journal is refused.
 */
export class Outgoing {
  readonly #accounts: AccountTurns;
  readonly #own: OwnMoney;
  readonly #views: ReadonlyMap<string, ChainView>;
  readonly #nowMs: () => number;
  readonly approvals: Approvals;
  /** What merchants are owed. */
  readonly ledger: LedgerAccounts;

  /** Throws `JournalBroken` and `ApproversRefused`. The caller holds the lock of the journals. */
  constructor(
    rules: PayoutRules,
    wallets: ReadonlyMap<Mode, SigningWallet>,
    nowMs: () => number = Date.now,
    onWrongApproval: (why: string) => void = () => undefined,
    ledger = new LedgerAccounts(),
  ) {
    this.ledger = ledger;
    this.#nowMs = nowMs;
    const accounts = new Map([...wallets].map(([mode, wallet]) => [mode, openAccount(rules, mode, wallet, nowMs())]));
    this.#accounts = new AccountTurns(accounts);
    this.#own = new OwnMoney(accounts);
    this.#views = new Map(
      rules.networks.map((network) => [
        `${network.mode}/${network.network}`,
        viewOf(network, nativeLimitsOf(network.network, rules.nativeLimits)),
      ]),
    );
    this.approvals = new Approvals({
      nowMs,
      rules,
      onWrong: onWrongApproval,
      accounts: this.#accounts,
      ledger,
    });
  }

  check(order: OutgoingTransaction): Promise<SignerVerdict> {
    return this.#accounts.inTurn(order.mode, async (account) => {
      const judged = await this.#onView(order, (view) => this.#judge(order, account, view));
      return judged.ok ? { ok: true } : judged;
    });
  }

  sign(request: SigningRequest): Promise<Signature> {
    return this.#accounts.inTurn(request.order.mode, (account) =>
      this.#onView(request.order, (view) => this.#sign(request, account, view)),
    );
  }

  /** Returns reserved money to its deposits, once the signer itself has seen on chain that nothing was paid. */
  release({ mode, network, id }: OutgoingTransaction, seenIn?: number): Promise<SignerVerdict> {
    return this.#accounts.inTurn(mode, async ({ journal }) => {
      const entries = bytesOf(journal.entries).filter((entry) => entry.id === id && entry.network === network);
      if (entries.length === 0 || isReleased(journal.entries, id)) return { ok: true };
      const view = this.#views.get(`${mode}/${network}`);
      if (!view || !(await view.hadNoEffect(entries, seenIn)))
        return refusal('later', 'may_have_paid', 'the chain does not show conclusively that nothing was paid');
      journal.append({ kind: 'released', id, reason: 'no_effect' }, this.#nowMs());
      return { ok: true };
    });
  }

  /** A transfer of native coin to one of our addresses, as the signer sees it. */
  nativeTransfer({
    mode,
    network,
    txHash,
    toAddress,
  }: AskedNativeTransfer): Promise<{ transfer: SeenNativeTransfer | null } | SignerRefusal> {
    return this.#accounts.inTurn(mode, () =>
      this.#onView({ mode, network }, async (view) => {
        const found = await view.findNativeTransfer({ txHash, toAddress });
        return {
          transfer: found && { fromAddress: found.fromAddress, amount: formatAmount(found.units), final: found.final },
        };
      }),
    );
  }

  /** The transactions among these that this signer never signed. */
  unknown(mode: Mode, network: Network, txHashes: readonly string[]): Promise<readonly string[] | SignerRefusal> {
    return this.#accounts.inTurn(mode, async ({ journal }) => {
      const signed = new Set(
        bytesOf(journal.entries).flatMap((entry) => (entry.network === network ? [entry.txHash] : [])),
      );
      return txHashes.filter((txHash) => !signed.has(txHash));
    });
  }

  /** What was signed after the place of an event log. */
  signedAfter(
    mode: Mode,
    network: Network,
    logPlace: JournalPlace | null,
  ): Promise<ReturnType<typeof signedAfter> | SignerRefusal> {
    return this.#accounts.inTurn(mode, async ({ journal }) => signedAfter(journal.entries, network, logPlace));
  }

  /**
   * Anyone may stop; resuming needs two approvers. It waits for no other request: what is being judged meanwhile is not
   * signed. Pressed again, it is a stop of its own, for which approvals of resuming from the last one do not count.
   */
  stop(mode: Mode, by: string): Promise<SignerStatus | SignerRefusal> {
    return this.#accounts.atOnce(mode, (account) => {
      if (account.journal.entries.at(-1)?.kind !== 'stopped')
        account.journal.append({ kind: 'stopped', by }, this.#nowMs());
      return this.#statusOf(account);
    });
  }

  status(mode: Mode): Promise<SignerStatus | SignerRefusal> {
    return this.#accounts.atOnce(mode, (account) => this.#statusOf(account));
  }

  async #sign(request: SigningRequest, account: SignerAccount, view: ChainView): Promise<Signature> {
    const { order, draft, attempt } = request;
    const { journal, wallet } = account;
    const { id, kind: purpose, network, coin, fromAddress, toAddress } = order;
    if (isIdTaken(journal.entries, order)) return refusal('denied', 'id_taken', `${id} belongs to another order`);
    // What the event log has paid is missing here: this journal remembers none of its payments, caps and nonces on any
    // network.
    if (request.logPlace !== null && !holdsPlace(journal.entries, network, request.logPlace) && !isStopped(journal))
      journal.append({ kind: 'stopped', by: NO_JOURNAL }, this.#nowMs());
    const places = placesOn(journal.entries, network);
    const ofNetwork = bytesOf(places);
    const repeated = ofNetwork.find((entry) => entry.id === id && entry.attempt === attempt);
    // After a crash between the journal and the event log, the latter is one entry behind and requests that entry
    // again.
    const before = repeated && places.at(-1) === repeated ? places.at(-2) : places.at(-1);
    if (placeOf(before)?.hash !== request.logPlace?.hash)
      return refusal(
        'stopped',
        'journal_disagrees',
        'the event log and the journal are at different positions: a restored backup, or a second signer',
      );
    if (repeated) {
      // Kept for later: the event log would otherwise release what the journal has signed.
      const stopped = stopRefusal(journal, network);
      if (stopped) return { ...stopped, kind: 'stopped' };
      return sameRequest(repeated, request)
        ? signatureOf(repeated)
        : refusal('stopped', 'second_payload', `${id} was signed with another payload`);
    }
    const fault = view.faultOf(draft, order);
    if (fault !== null) return refusal('denied', 'wrong_draft', fault);
    const tooDear = feeRefusal(draft, network, account.rules.nativeLimits) ?? this.#nativeRefusal(request, account);
    if (tooDear) return tooDear;
    const earlier = ofNetwork.filter((entry) => entry.id === id);
    const judged =
      earlier.length === 0
        ? await this.#first(request, ofNetwork, account, view)
        : await this.#replacement(request, earlier, account, view);
    if (!judged.ok) return judged;
    const misdirected = await view.payeeFault(draft, order.toAddress);
    if (misdirected) return refusal('later', 'wrong_draft', misdirected);
    const unaffordable = feeOfReturnRefusal(draft, order, judged);
    if (unaffordable) return unaffordable;
    const signed = await signedBytesOf(draft, order, wallet);
    // Two transactions with equal bytes would land as one; the later one uses another time.
    if (bytesOf(journal.entries).some((entry) => entry.txHash === signed.txHash))
      return refusal('later', 'equal_bytes', 'another transfer has exactly this transaction');
    // A stop or an unknown outflow may have come since the judgement. From here on, nothing else runs before the answer.
    const stopped = stopRefusal(journal, network);
    if (stopped) return stopped;
    crashPoint('signer-before-journal');
    const money = { coin, units: amountOf(order.amount).toString(), fromAddress, toAddress };
    const fact = {
      kind: 'signed',
      purpose,
      network,
      id,
      attempt,
      ...money,
      draft,
      takenFrom: judged.takenFrom,
      ...signed,
    } as const;
    const entry = journal.append(fact, this.#nowMs());
    crashPoint('signer-after-journal');
    return signatureOf({ ...signed, seq: entry.seq, hash: entry.hash });
  }

  async #first(
    request: SigningRequest,
    ofNetwork: readonly SignedEntry[],
    account: SignerAccount,
    view: ChainView,
  ): Promise<Judged> {
    const { draft, attempt, order } = request;
    if (draft.kind === 'evm-cancel')
      return refusal('denied', 'wrong_draft', `nothing was signed for ${order.id} that could be cancelled`);
    if (attempt !== 1)
      return refusal('stopped', 'journal_disagrees', `the journal knows no earlier transaction of ${order.id}`);
    const treasury = account.wallet.treasury[addressFamilyOf(order.network)];
    const taken = sequenceRefusal(ofNetwork, draft, order.fromAddress, treasury);
    if (taken) return taken;
    const judged = await this.#judge(order, account, view);
    const fault = judged.ok && (await view.sequenceFault(draft, treasury));
    return fault ? refusal('later', 'sequence_busy', fault) : judged;
  }

  async #replacement(
    request: SigningRequest,
    earlier: readonly SignedEntry[],
    account: SignerAccount,
    view: ChainView,
  ): Promise<Judged> {
    const { order, attempt, draft } = request;
    const last = must(earlier.at(-1));
    if (last.attempt !== attempt - 1 || !sameTerms(last, order))
      return refusal('stopped', 'second_payload', `${order.id} was signed with different terms`);
    if (draft.kind === 'evm-cancel') return this.#cancellation(request, earlier, account, view);
    if (last.draft.kind === 'evm-cancel') return refusal('denied', 'cancelled', `${order.id} was cancelled`);
    const judged = await this.#judge(order, account, view);
    if (!judged.ok || (await view.mayFollow(earlier, draft))) return judged;
    return refusal('later', 'may_still_land', `an earlier transaction of ${order.id} may still land`);
  }

  /**
   * Moves nothing, so neither the deposit nor any cap on coins is checked; the fee was. Until the chain shows which of
   * them landed, the leg counts as paid.
   */
  async #cancellation(
    { order: { id, kind, network }, draft }: SigningRequest,
    earlier: readonly SignedEntry[],
    { journal }: SignerAccount,
    view: ChainView,
  ): Promise<Judged> {
    if (kind !== 'refund' && kind !== 'return')
      return refusal('denied', 'wrong_draft', 'only a refund or a return can be cancelled');
    const stopped = stopRefusal(journal, network);
    if (stopped) return stopped;
    if (isReleased(journal.entries, id)) return refusal('denied', 'released', `${id} has ended`);
    if (await view.mayFollow(earlier, draft)) return { ok: true, takenFrom: must(earlier.at(-1)).takenFrom };
    return refusal('denied', 'may_still_land', `the cancellation excludes nothing signed for ${id}`);
  }

  /** Checks common to all transactions. A replacement supersedes what was signed for its id. */
  async #judge(order: OutgoingTransaction, account: SignerAccount, view: ChainView): Promise<Judged> {
    const { wallet, journal, rules } = account;
    const stopped = stopRefusal(journal, order.network);
    if (stopped) return stopped;
    if (isReleased(journal.entries, order.id)) return refusal('denied', 'released', `${order.id} has ended`);
    if (amountOf(order.amount) <= 0n) return refusal('denied', 'nothing_to_pay', 'the amount is zero');
    const others = without(journal.entries, order.id);
    const parts = {
      wallet,
      rules,
      others,
      all: journal.entries,
      ledger: this.ledger,
      own: this.#own,
      nowMs: journal.timeMs(this.#nowMs()),
    };
    const policy = POLICIES[order.kind];
    const refused =
      policy.refusal(order, parts) ??
      (isPaidByTreasury(order) ? nativeRoomRefusal(this.#nativeParts(order, others, account)) : null);
    if (refused) return refused;
    return policy.onChain ? policy.onChain(order, parts, view) : { ok: true, takenFrom: [] };
  }

  #statusOf({ journal, limits, wanted, rules }: SignerAccount): SignerStatus {
    const signed = bytesOf(journal.entries);
    return {
      stopped: isStopped(journal),
      unknownOutflows: NETWORKS.flatMap((network) => openOutflows(journal.entries, network)).length,
      caps: usedCaps(journal.entries, rules.limits, journal.timeMs(this.#nowMs())),
      limitsToApprove: changesOf(limits, wanted),
      wrongApprovals: this.approvals.wrong,
      entries: signed.length,
      place: journal.place,
      lastPlaces: newestPlaces(journal.entries),
    };
  }

  #nativeRefusal({ draft, order }: SigningRequest, account: SignerAccount): SignerRefusal | null {
    return isPaidByTreasury(order)
      ? nativeRefusal(draft, this.#nativeParts(order, account.journal.entries, account))
      : null;
  }

  #nativeParts(
    { network }: OutgoingTransaction,
    entries: readonly JournalEntry[],
    { journal, rules }: SignerAccount,
  ): NativeParts {
    return { network, entries, limits: rules.nativeLimits, nowMs: journal.timeMs(this.#nowMs()) };
  }

  #onView<Answer>(
    { mode, network }: Pick<OutgoingTransaction, 'mode' | 'network'>,
    task: (view: ChainView) => Promise<Answer | SignerRefusal>,
  ): Promise<Answer | SignerRefusal> {
    const view = this.#views.get(`${mode}/${network}`);
    return view
      ? task(view)
      : Promise.resolve(refusal('later', 'unknown_network', `the signer knows no ${mode} ${network}`));
  }
}

const NO_JOURNAL = 'the signer, whose journal lacks what the event log has paid';
