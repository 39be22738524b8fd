import type { AdjustmentEvent } from '../../domain/events/adjustment-events.ts';
import { isOfAdjustments, isOfSession, isOfTransfer, isOfTreasury } from '../../domain/events/of-streams.ts';
import type { SessionEvent } from '../../domain/events/session-events.ts';
import { isOwed, isStep, OWED_MOVES, type MoveTerms } from '../../domain/events/treasury-move-events.ts';
import type { TreasuryEvent } from '../../domain/events/treasury-events.ts';
import { DEPOSIT_WALLETS, type Posting } from '../../domain/money/ledger.ts';
import { amountOf, formatAmount, isCoin, least, most } from '../../domain/money/money.ts';
import type { Mode } from '../../domain/values/ids.ts';
import { holding, readWritten } from '../../domain/values/written-json.ts';
import { ADJUSTMENTS_PREFIX, SESSION_PREFIX, TRANSFER_PREFIX, TREASURY_PREFIX } from '../../domain/values/streams.ts';
import type { AuditAnchor } from '../../ports/event-log/audit.ts';
import type { OutgoingKind, OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { TakenEvents, SignerRefusal } from '../../ports/outgoing/signer.ts';
import type { HashedParts } from '../../domain/events/canonical-text.ts';
import { decodeData, hashRecorded } from '../../runtime/commands/codec.ts';
import { MerkleFrontier } from '../../runtime/merkle/frontier.ts';
import { leafHash } from '../../runtime/merkle/tree.ts';
import { adjustmentPostings } from '../../../projections/ledger/adjustment-postings.ts';
import { bookSessionEvent } from '../../../projections/ledger/postings.ts';
import { ownUnapplied } from '../../../projections/ledger/order-money.ts';
import {
  legKey,
  namedDeposits,
  type BookedDeposit,
  type SessionBooks,
  type SessionBooksRow,
} from '../../../projections/ledger/session-books.ts';
import { bookTransferEvent } from '../../../projections/ledger/transfer-postings.ts';
import { bookTreasuryEvent } from '../../../projections/ledger/treasury-postings.ts';
import { adjustmentTerms, hashOf } from '../approvals/text.ts';
import { refusal, standing } from '../exclusive.ts';
import { AskedPayments, type BookedPayout } from './asked-payments.ts';
import type { JournalEntry } from './journal.ts';
import { accountKey, ownedAccountOf, ownerOf, UnmatchedTransfers } from './owed-accounts.ts';
import { must } from '../../domain/values/must.ts';

/** Other streams book nothing. */
const BOOKED = [SESSION_PREFIX, ADJUSTMENTS_PREFIX, TREASURY_PREFIX, TRANSFER_PREFIX];
const isCompleted = isStep(OWED_MOVES, 'Completed');
const isFailed = isStep(OWED_MOVES, 'Failed');
const isBooks = holding<SessionBooksRow>('sessionId', 'mode');
const isDeposit = holding<BookedDeposit>('network', 'amount');

/**
 * What each merchant, and the accounts of unmatched transfers and of unknown senders of native coin, are owed, by network and coin. The signer
 * computes it from the event log itself: it receives every event from the first one, hashes each text, and counts
 * nothing unless the tree over all of them has the roots that it signed as checkpoints.
 */
export class LedgerAccounts {
  readonly #anchors: () => readonly AuditAnchor[];
  /** Up to the newest checkpoint reached. */
  readonly #proven = new MerkleFrontier();
  /** Leaves after it. */
  #open: Buffer[] = [];
  /** As text, which takes a third of the memory of records. */
  readonly #sessions = new Map<string, string>();
  /** By stream and deposit key, so that an event of a busy session costs no more than another. */
  readonly #deposits = new Map<string, string>();
  readonly #owed = new Map<string, bigint>();
  /** Native coin at collection addresses in 10^-18 units. Fees beyond it were paid from outside funds. */
  readonly #held = new Map<string, bigint>();
  readonly #payments = new AskedPayments();
  readonly #unmatched = new UnmatchedTransfers();
  /** Credits from manual entries, with the hash of the terms that two people must have approved. */
  readonly #given: { readonly account: string; readonly units: bigint; readonly terms: string }[] = [];
  readonly #asked = new Set<string>();
  #signed: { readonly anchors: readonly AuditAnchor[]; readonly roots: ReadonlyMap<number, string> } = {
    anchors: [],
    roots: new Map(),
  };
  #fault: string | null = null;

  /** `anchors`: the checkpoints that this signer signed, oldest first. */
  constructor(anchors: () => readonly AuditAnchor[] = () => []) {
    this.#anchors = anchors;
  }

  /** Takes the events from leaf `from` on; none if that is not the next leaf, which the result names. */
  take(from: number, events: readonly HashedParts[]): TakenEvents {
    if (this.#fault === null && from === this.#size) for (const event of events) this.#take(event);
    return { size: this.#size, fault: this.#fault };
  }

  /**
   * Why the account in the books does not cover the payment: the merchant's for a settlement or a refund, that of
   * unmatched transfers for a return, that of unknown senders for a return of native coin. Null if it does.
   */
  refusal(order: OutgoingTransaction, entries: readonly JournalEntry[]): SignerRefusal | null {
    // A checkpoint may have been signed since the last events came.
    this.#prove();
    const fault = this.#fault ?? this.#unknownMove(order, entries);
    if (fault !== null) return refusal('stopped', 'ledger_disagrees', fault);
    const newest = this.#anchors().at(-1);
    if (newest && newest.size > this.#size)
      return refusal(
        'later',
        'ledger_behind',
        `the signer received ${this.#size} events of the event log but has signed ${newest.size}`,
      );
    if (order.kind === 'refund') return this.#refundRefusal(order, entries);
    const payer = ownerOf(order.kind, order.merchantId);
    if (payer === null) return refusal('denied', 'no_merchant', 'a settlement must name its merchant');
    const account = accountKey(order.mode, payer.owner, order);
    const left = this.#owedTo(account, entries) - this.#payments.moves(account, order.id);
    if (order.kind === 'return' && !order.deposits.every((deposit) => this.#unmatched.has(order.mode, deposit)))
      return refusal('later', 'exceeds_account', 'the books do not have it as an unmatched transfer');
    if (amountOf(order.amount) <= left) return null;
    const why = `the books owe ${payer.name} ${formatAmount(left)} ${order.coin} on ${order.network}, less what is proposed or under way`;
    return refusal('later', 'exceeds_account', why);
  }

  /**
   * Refunds for which nothing is signed are covered in the order of their requests; one that is too large does not keep
   * a later one waiting. A settlement counts once it is signed: until then the refund comes first.
   */
  #refundRefusal(order: OutgoingTransaction, entries: readonly JournalEntry[]): SignerRefusal | null {
    const asked = this.#payments.payoutOf(order);
    if (asked === null || asked.account !== accountKey(order.mode, asked.payout.merchantId, order))
      return refusal(
        'later',
        'ledger_behind',
        `the events that the signer received have no open refund payout ${order.id} of ${order.amount} ${order.coin}`,
      );
    const { account, payout } = asked;
    const waiting = this.#payments.waiting(account, entries);
    const reserved = [...waiting.values()].reduce((sum, units) => sum + units, 0n);
    let left = this.#owedTo(account, entries) + reserved - this.#payments.moves(account, order.id, entries);
    for (const [id, units] of waiting) {
      if (id === order.id) break;
      if (units <= left) left -= units;
    }
    const need = asked.units + this.#lackingInSession(payout);
    // Nothing is taken from the account of a merchant who owes us, either.
    if (need === 0n || need <= left) return null;
    const why = `the refund takes ${formatAmount(need)} ${order.coin} on ${order.network} from the merchant's account, for which the books hold ${formatAmount(left)}`;
    return refusal('later', 'exceeds_account', why);
  }

  /** The part of the payout that the session itself has lost since, because a deposit left the chain. */
  #lackingInSession({ stream, booked }: BookedPayout): bigint {
    const books = readWritten(must(this.#sessions.get(stream)), isBooks);
    const lacking = most(-ownUnapplied(books, booked.network, booked.coin), 0n);
    return least(lacking, amountOf(booked.fromUnapplied));
  }

  /** What the account holds, without what open moves will take. */
  #owedTo(account: string, entries: readonly JournalEntry[]): bigint {
    const agreed = new Set(entries.flatMap((entry) => (entry.kind === 'agreed' ? [entry.terms] : [])));
    const given = this.#given.filter((each) => each.account === account && agreed.has(each.terms));
    const owed = given.reduce((sum, { units }) => sum + units, this.#owed.get(account) ?? 0n);
    return owed - this.#payments.unproven(account, entries);
  }

  get #size(): number {
    return this.#proven.size + this.#open.length;
  }

  #take(event: HashedParts): void {
    const place = this.#size + 1;
    this.#open.push(leafHash(Buffer.from(hashRecorded(event), 'hex')));
    this.#prove();
    try {
      this.#book(event);
    } catch (error) {
      this.#fault ??= `event ${place} of the event log cannot be booked: ${error instanceof Error ? error.message : 'it cannot be read'}`;
    }
  }

  /** Moves leaves into the proven tree up to the newest checkpoint. Each checkpoint must have the signed root. */
  #prove(): void {
    const anchors = this.#anchors();
    if (anchors !== this.#signed.anchors)
      this.#signed = { anchors, roots: new Map(anchors.map(({ size, rootHash }) => [size, rootHash])) };
    const newest = anchors.at(-1)?.size ?? 0;
    while (this.#open.length > 0 && this.#proven.size < newest) {
      this.#proven.append(must(this.#open.shift()));
      const { size } = this.#proven;
      const signed = this.#signed.roots.get(size);
      if (signed !== undefined && this.#proven.root().toString('base64') !== signed)
        this.#fault ??= `the first ${size} events of the event log are not the signed ones`;
    }
  }

  #book(recorded: HashedParts): void {
    if (!BOOKED.some((prefix) => recorded.stream.startsWith(prefix))) return;
    const stored = decodeData({ ...recorded, position: '', hash: '' });
    if (isOfSession(stored)) this.#bookSession(stored.stream, stored.event, stored.id);
    else if (isOfAdjustments(stored)) this.#bookAdjustment(stored.event);
    else if (isOfTreasury(stored)) this.#bookTreasury(stored.event);
    else if (isOfTransfer(stored)) {
      const booking = bookTransferEvent(stored.event);
      if (!booking) return;
      this.#unmatched.follow(booking.mode, stored.event);
      this.#post(booking.mode, booking.draft.postings);
    }
  }

  #bookTreasury(event: TreasuryEvent): void {
    for (const kind of OWED_MOVES) if (isStep([kind], 'Requested')(event)) this.#ask(kind, event.data);
    if (isCompleted(event)) this.#payments.completed(event.data.moveId);
    if (isFailed(event)) this.#payments.failed(event.data.moveId);
    const booking = bookTreasuryEvent(
      event,
      (place) => this.#held.get(accountKey(place.mode, place.address, place)) ?? null,
    );
    if (!booking) return;
    if (booking.before) this.#post(booking.mode, booking.before.postings);
    this.#post(booking.mode, booking.draft.postings);
  }

  #ask(kind: OutgoingKind, terms: MoveTerms): void {
    this.#asked.add(terms.moveId);
    const payer = ownerOf(kind, terms.merchantId);
    if (payer === null) throw new Error(`${terms.moveId} names no merchant`);
    const account = accountKey(terms.mode, payer.owner, terms);
    this.#payments.ask(terms.moveId, { account, units: amountOf(terms.amount) });
  }

  /** Debits count at once; credits count once two people have approved them here. */
  #bookAdjustment(event: AdjustmentEvent): void {
    if (event.type !== 'AdjustmentPosted') return;
    const { mode } = event.data;
    const terms = hashOf(adjustmentTerms(event.data));
    for (const posting of adjustmentPostings(event.data)) {
      const account = ownedAccountOf(mode, posting);
      if (account === null) continue;
      if (posting.units > 0n) add(this.#owed, account, -posting.units);
      else this.#given.push({ account, units: -posting.units, terms });
    }
  }

  #bookSession(stream: string, event: SessionEvent, eventId: string): void {
    const before = this.#booksOf(stream, namedDeposits(event));
    const { books, draft, further = [] } = bookSessionEvent(before, event, eventId);
    if (books !== before) this.#keep(stream, books);
    this.#followRefund(stream, event, books);
    this.#unmatched.follow(books.mode, event);
    for (const each of [...(draft ? [draft] : []), ...further]) this.#post(books.mode, each.postings);
  }

  /** The books of the session with these deposits; null before its first event. */
  #booksOf(stream: string, depositKeys: readonly string[]): SessionBooks | null {
    const known = this.#sessions.get(stream);
    if (known === undefined) return null;
    const deposits = depositKeys.flatMap((key) => {
      const deposit = this.#deposits.get(`${stream} ${key}`);
      return deposit === undefined ? [] : [[key, readWritten(deposit, isDeposit)] as const];
    });
    return { ...readWritten(known, isBooks), deposits: Object.fromEntries(deposits) };
  }

  #keep(stream: string, { deposits, ...row }: SessionBooks): void {
    this.#sessions.set(stream, JSON.stringify(row));
    for (const [key, deposit] of Object.entries(deposits))
      this.#deposits.set(`${stream} ${key}`, JSON.stringify(deposit));
  }

  #followRefund(stream: string, event: SessionEvent, books: SessionBooks): void {
    const ask = (refundId: string, legId: string): void => {
      this.#asked.add(legId);
      const booked = must(books.legs[legKey(refundId, legId)]);
      this.#payments.ask(legId, {
        account: accountKey(books.mode, books.merchantId, booked),
        units: amountOf(booked.amount) - amountOf(booked.fromUnapplied),
        payout: { stream, merchantId: books.merchantId, refundId, booked },
      });
    };
    switch (event.type) {
      case 'RefundRequested':
        for (const { legId } of event.data.legs) ask(event.data.refundId, legId);
        return;
      case 'RefundPayoutSigned':
      case 'RefundPayoutReplaced':
        return this.#payments.signed(event.data.legId);
      case 'RefundPayoutLanded':
        return this.#payments.completed(event.data.legId);
      case 'RefundPayoutReverted':
        ask(event.data.refundId, event.data.legId);
        return this.#payments.signed(event.data.legId);
      case 'RefundPayoutFailed':
        return this.#payments.failed(event.data.legId);
      default:
    }
  }

  #post(mode: Mode, postings: readonly Posting[]): void {
    for (const posting of postings) {
      const { account, coin, address, units } = posting;
      if (account === DEPOSIT_WALLETS && address !== undefined && !isCoin(coin))
        add(this.#held, accountKey(mode, address, posting), units);
      const owned = ownedAccountOf(mode, posting);
      if (owned !== null) add(this.#owed, owned, -units);
    }
  }

  /**
   * What was signed for them is in the event log forever. A log without it is not the one for which the signature was
   * given.
   */
  #unknownMove({ network }: OutgoingTransaction, entries: readonly JournalEntry[]): string | null {
    const missing = standing(entries).find(
      ({ purpose, network: of, id }) =>
        (purpose === 'refund' || isOwed(purpose)) && of === network && !this.#asked.has(id),
    );
    return missing ? `the event log does not know the ${missing.purpose} ${missing.id}, which was signed` : null;
  }
}

const add = (sums: Map<string, bigint>, key: string, units: bigint): unknown =>
  sums.set(key, (sums.get(key) ?? 0n) + units);
