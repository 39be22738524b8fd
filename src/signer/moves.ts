import type { MoveDraft } from '../domain/events/payout-draft.ts';
import type { Mode } from '../domain/ids.ts';
import { amountOf } from '../domain/money.ts';
import { addressFamilyOf, type Network } from '../domain/networks.ts';
import type { MoveOrder, MoveRequestToSign } from '../ports/moves.ts';
import type { PayoutRefusal, PayoutSignature, PayoutVerdict } from '../ports/payouts.ts';
import { crashPoint } from '../runtime/util/crash-point.ts';
import type { ChainView } from './chain-view.ts';
import type { LedgerAccounts } from './ledger-accounts.ts';
import { signMove } from './move-bytes.ts';
import { moveRefusal, movedOf } from './move-rules.ts';
import { placeOf, type JournalEntry, type MovedEntry } from './payout-journal.ts';
import { bytesOf, refusal, sequenceRefusal, without } from './exclusive.ts';
import { feeRefusal, isPaidByTreasury, nativeRefusal, nativeRoomRefusal, type NativeParts } from './native-rules.ts';
import { isIdTaken, signatureOf, stopRefusal } from './payout-rules.ts';
import type { SignerAccount } from './signer-account.ts';
import { depositFault, takeFrom, type Taken } from './return-rules.ts';
import { topUpFault } from './top-up-rules.ts';

/** Allowed, with the money of deposits that it takes, or why not. */
type Judged = { readonly ok: true; readonly takenFrom: Taken } | PayoutRefusal;
const NOTHING_TAKEN: Judged = { ok: true, takenFrom: [] };

interface MovesParts {
  readonly views: ReadonlyMap<string, ChainView>;
  readonly accounts: Pick<LedgerAccounts, 'refusal'>;
  readonly nowMs: () => number;
  /** One decision at a time, refunds included. */
  readonly inTurn: <Result>(mode: Mode, task: (account: SignerAccount) => Promise<Result>) => Promise<Result | PayoutRefusal>;
}

/**
 * Decides what is signed beside refunds. Sweeps end in the treasury and gas goes to our own addresses, both derived here; a
 * return goes to who paid, as the chain shows it, by the limits of refunds; everything else leaves to an allow-listed address, within caps, once two operators agreed.
 */
export class Moves {
  readonly #parts: MovesParts;

  constructor(parts: MovesParts) {
    this.#parts = parts;
  }

  check(order: MoveOrder): Promise<PayoutVerdict> {
    return this.#parts.inTurn(order.mode, async (account) => {
      const judged = await this.#judge(order, account);
      return judged.ok ? ({ ok: true } as const) : judged;
    });
  }

  sign(request: MoveRequestToSign): Promise<PayoutSignature> {
    return this.#parts.inTurn(request.order.mode, (account) => this.#sign(request, account));
  }

  /** Gives a return's money back to its deposit once the signer itself saw on chain that nothing was paid. */
  release(order: MoveOrder): Promise<PayoutVerdict> {
    return this.#parts.inTurn(order.mode, async ({ journal }) => {
      const entries = movedOf(journal.entries).filter((entry) => entry.legId === order.moveId && entry.network === order.network);
      const known = journal.entries.some((entry) => entry.kind === 'released' && entry.legId === order.moveId);
      if (entries.length === 0 || known) return { ok: true } as const;
      const view = this.#parts.views.get(`${order.mode}/${order.network}`);
      if (!view || !(await view.hadNoEffect(entries)))
        return refusal('later', 'may_have_paid', 'the chain does not say for good that nothing was paid');
      journal.append({ kind: 'released', legId: order.moveId, reason: 'no_effect' }, this.#parts.nowMs());
      return { ok: true } as const;
    });
  }

  /** Those of the transactions that this signer never signed. */
  async unknown(mode: Mode, network: Network, txHashes: readonly string[]): Promise<readonly string[] | PayoutRefusal> {
    return this.#parts.inTurn(mode, async ({ journal }) => {
      const signed = new Set(bytesOf(journal.entries).flatMap((entry) => (entry.network === network ? [entry.txHash] : [])));
      return txHashes.filter((txHash) => !signed.has(txHash));
    });
  }

  async #sign(request: MoveRequestToSign, account: SignerAccount): Promise<PayoutSignature> {
    const { order, draft, attempt } = request;
    const { journal, wallet } = account;
    const view = this.#parts.views.get(`${order.mode}/${order.network}`);
    if (!view) return refusal('later', 'unknown_network', `the signer knows no ${order.mode} ${order.network}`);
    if (isIdTaken(journal.entries, order.moveId, 'moved', order.network))
      return refusal('denied', 'id_taken', `${order.moveId} names something else`);
    const ofNetwork = bytesOf(journal.entries).filter((entry) => entry.network === order.network);
    const repeated = ofNetwork.find((entry) => entry.legId === order.moveId && entry.attempt === attempt);
    // After a crash between the journal and the ledger the ledger is one behind, and asks for exactly that entry again.
    const before = repeated && ofNetwork.at(-1) === repeated ? ofNetwork.at(-2) : ofNetwork.at(-1);
    if (placeOf(before)?.hash !== request.ledger?.hash)
      return refusal('stopped', 'journal_disagrees', 'the ledger is not where the journal is: a restored backup, or a second signer');
    if (repeated)
      return repeated.kind === 'moved' && sameRequest(repeated, request)
        ? signatureOf(repeated)
        : refusal('stopped', 'second_payload', `${order.moveId} was signed with another payload`);
    const fault = view.faultOf(draft, order);
    if (fault !== null) return refusal('denied', 'wrong_draft', fault);
    const tooDear = feeRefusal(draft, order.network, account.rules.nativeLimits) ?? this.#nativeRefusal(draft, order, account);
    if (tooDear) return tooDear;
    const ofMove = movedOf(ofNetwork).filter((entry) => entry.legId === order.moveId);
    const judged = ofMove.length === 0 ? await this.#first(request, account) : await this.#replacement(request, ofMove, account);
    if (!judged.ok) return judged;
    const signed = await signMove(draft, order, wallet);
    if (bytesOf(journal.entries).some((entry) => entry.txHash === signed.txHash))
      return refusal('later', 'equal_bytes', 'another transfer is this very transaction');
    crashPoint('signer-before-journal');
    const { network, moveId: legId, coin, fromAddress, toAddress, kind: move } = order;
    const units = amountOf(order.amount).toString();
    const taken = judged.takenFrom.length > 0 && { takenFrom: judged.takenFrom };
    const fact = { kind: 'moved', move, network, legId, attempt, coin, units, fromAddress, toAddress, draft, ...taken, ...signed } as const;
    const entry = journal.append(fact, this.#parts.nowMs());
    crashPoint('signer-after-journal');
    return signatureOf(entry as MovedEntry);
  }

  async #first({ draft, attempt, order }: MoveRequestToSign, account: SignerAccount): Promise<Judged> {
    const { wallet, journal } = account;
    if (attempt !== 1) return refusal('stopped', 'journal_disagrees', `the journal knows no earlier transaction of ${order.moveId}`);
    const ofNetwork = bytesOf(journal.entries).filter(({ network }) => network === order.network);
    const treasury = wallet.treasury[addressFamilyOf(order.network)];
    const taken = sequenceRefusal(ofNetwork, draft, order.fromAddress, treasury);
    if (taken) return taken;
    const judged = await this.#judge(order, account);
    const fault = judged.ok && (await this.#parts.views.get(`${order.mode}/${order.network}`)!.sequenceFault(draft, treasury));
    return fault ? refusal('later', 'sequence_busy', fault) : judged;
  }

  async #replacement({ order, attempt, draft }: MoveRequestToSign, ofMove: readonly MovedEntry[], account: SignerAccount): Promise<Judged> {
    const last = ofMove.at(-1)!;
    const same =
      last.attempt === attempt - 1 &&
      last.move === order.kind &&
      last.fromAddress === order.fromAddress &&
      last.toAddress === order.toAddress &&
      last.units === amountOf(order.amount).toString() &&
      last.coin === order.coin;
    if (!same) return refusal('stopped', 'second_payload', `${order.moveId} was signed with other terms`);
    const judged = await this.#judge(order, account);
    if (!judged.ok) return judged;
    const view = this.#parts.views.get(`${order.mode}/${order.network}`)!;
    return (await view.mayFollow(ofMove, draft))
      ? judged
      : refusal('later', 'may_still_land', `an earlier transaction of ${order.moveId} may still land`);
  }

  #nativeRefusal(draft: MoveDraft, order: MoveOrder, account: SignerAccount): PayoutRefusal | null {
    return isPaidByTreasury(order.kind, order.network) ? nativeRefusal(draft, this.#nativeParts(order, account.journal.entries, account)) : null;
  }

  #nativeParts({ network }: MoveOrder, entries: readonly JournalEntry[], { journal, rules }: SignerAccount): NativeParts {
    return { network, entries, limits: rules.nativeLimits, nowMs: journal.timeMs(this.#parts.nowMs()) };
  }

  /**
   * Everything that must hold before any transaction; a replacement takes the place of what was signed for it. What a return pays back is
   * found on chain, never believed.
   */
  async #judge(order: MoveOrder, account: SignerAccount): Promise<Judged> {
    const { wallet, journal, rules } = account;
    const stopped = stopRefusal(journal, order.network);
    if (stopped) return stopped;
    if (journal.entries.some((entry) => entry.kind === 'released' && entry.legId === order.moveId))
      return refusal('denied', 'released', `${order.moveId} has ended`);
    const nowMs = journal.timeMs(this.#parts.nowMs());
    const others = without(journal.entries, order.moveId);
    const refused = moveRefusal(order, { wallet, entries: others, all: journal.entries, rules, nowMs });
    // Nobody is asked to approve what the merchant's account does not hold.
    const exceeds = order.kind === 'settlement' && (!refused || refused.code === 'approval') ? this.#parts.accounts.refusal(order, others) : null;
    if (exceeds ?? refused) return (exceeds ?? refused)!;
    const noRoom = isPaidByTreasury(order.kind, order.network) ? nativeRoomRefusal(this.#nativeParts(order, others, account)) : null;
    if (noRoom) return noRoom;
    if (order.kind !== 'return' && order.kind !== 'gas_top_up') return NOTHING_TAKEN;
    const view = this.#parts.views.get(`${order.mode}/${order.network}`);
    if (!view) return refusal('later', 'unknown_network', `the signer knows no ${order.mode} ${order.network}`);
    if (order.kind === 'gas_top_up') return (await topUpFault(order, { wallet, journal: { entries: others } }, view)) ?? NOTHING_TAKEN;
    const found = await view.findDeposit(order.deposit!);
    const fault = depositFault(found, order);
    if (fault) return fault;
    const taken = takeFrom(found!, order, others);
    return 'ok' in taken ? taken : { ok: true, ...taken };
  }
}

const sameRequest = (entry: MovedEntry, { order, draft }: MoveRequestToSign): boolean =>
  JSON.stringify([entry.move, entry.fromAddress, entry.toAddress, entry.coin, entry.units, entry.draft]) ===
  JSON.stringify([order.kind, order.fromAddress, order.toAddress, order.coin, amountOf(order.amount).toString(), draft]);
