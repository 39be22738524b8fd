import type { RecordedEvent } from '../../../src/ports/event-log/event-store.ts';
import type { Facts } from '../plan/carry-out.ts';
import type { ModelledNetwork } from '../plan/plan.ts';
import { START_MS, type World } from '../world.ts';
import { judgeBooks } from './books.ts';
import { LostHistory } from './lost.ts';
import { judgeNotifications } from './notifications.ts';
import { judgeOutgoing, namedNonce, unfinishedMoves, whyUnreasonable } from './outgoing.ts';
import { isSettled, judgeSettled, whyNotTyped } from './settled.ts';
import { arrivedIn, heldOf, legsOf, lostOf, sessionOf, take, type SeenDeposit, type SeenSession } from './sessions.ts';
import { allMovements, factOf, movementsOn, unitsOf, type Fact, type Landed } from './truth.ts';

/** Longest wait of an expiry for a network that cannot be read. */
const EXPIRY_WAIT_MS = 600_000;
/** A transfer that is back may be reverted by what was seen a moment before. */
const REVERT_MS = 60_000;
/** A fork is noticed within this time where nothing else is wrong. */
const NOTICED_MS = 90_000;
/** Once nothing is wrong any more, everything goes on as usual after this time. */
const RECOVERED_MS = 300_000;
const LATEST_DEADLINE_MS = 12 * 3_600_000;

/** What must never be in the log of a service that does what it says, whatever its surroundings do. */
const FORBIDDEN_LINES = [
  'a projection parked an event',
  'a projection failed',
  'a stored secret cannot be decrypted',
  'look-ups differ from the event log',
];
const OUTFLOW = 'money left one of our addresses without an order';

/**
 * Judges the installation by what is outside of it: each event when it is written, and everything once all is quiet.
 */
export class Oracle {
  readonly violations: string[] = [];
  readonly sessions = new Map<string, SeenSession>();
  readonly facts: Fact[] = [];
  readonly #world: World;
  readonly #lengths = new Map<string, number>();
  /** By value of a nonce account: whose payment names it. */
  readonly #nonces = new Map<string, string>();
  /** By address: the session whose payers were shown it. */
  readonly #shownFor = new Map<string, string>();
  readonly #lost = new LostHistory();

  constructor(world: World) {
    this.#world = world;
    world.log.onCommitted.push((event) => this.#judge(event));
    world.log.onLost.push(({ length }) => this.#forget(length));
    world.onStolen.push((what) => this.found(what));
    for (const { chain } of world.chains.values())
      chain.onSubmitted.push(
        ({ txHash, movements }) => movements.some(({ asset }) => asset !== 'native') && this.#judgeBroadcast(txHash),
      );
  }

  /** Whether nothing is left to do but to wait for people. */
  isSettled(): boolean {
    const sessions = [...this.sessions.values()];
    const isPaying = !this.#lacksPayments && sessions.some((one) => isGivingBack(one) && !isSettled(this.facts, one));
    if (isPaying || sessions.some(mustEnd)) return false;
    if ([...this.#world.chains.values()].some(({ chain }) => chain.pool.size > 0)) return false;
    const movements = allMovements(this.#world);
    if (movements.some(({ isFinal }) => !isFinal)) return false;
    // After a long outage a payment is looked for again in minutes.
    if (
      sessions.some(({ addresses, deposits }) =>
        movements.some((one) => addresses.has(one.to) && !deposits.has(keyOf(one))),
      )
    )
      return false;
    if (!this.#lacksPayments && unfinishedMoves(this.facts).length > 0) return false;
    return sessions.every(({ deposits }) => [...deposits.values()].every(({ status }) => status !== 'detected'));
  }

  /** Once everything had its time. */
  judgeTheEnd(told: Facts): void {
    const movements = allMovements(this.#world);
    for (const session of this.sessions.values()) {
      this.#judgeDeposits(session, movements);
      this.#judgeStatus(session, movements);
    }
    const sessions = [...this.sessions.values()];
    for (const fault of judgeOutgoing(this.#world, sessions, this.facts, movements, this.#lost)) this.found(fault);
    const everyFact = [...this.#lost.facts, ...this.facts];
    for (const fault of judgeSettled([...this.#lost.sessions, ...sessions], everyFact, movements)) this.found(fault);
    for (const fault of judgeNotifications(this.#world, this.facts, this.sessions, this.#lost.facts)) this.found(fault);
    this.#judgePromises(told);
    if (!this.#lacksPayments)
      for (const fault of [...unfinishedMoves(this.facts), ...judgeBooks(this.#world, sessions, this.facts)])
        this.found(fault);
    const mayLeave = this.#lacksPayments || this.#world.misplaced.size > 0;
    const forbidden = mayLeave ? FORBIDDEN_LINES : [...FORBIDDEN_LINES, OUTFLOW];
    for (const { what, text } of [...this.#world.timeline.lines]) {
      if (what === 'log error' && forbidden.some((line) => text.startsWith(line)))
        this.found(`the service says: ${text}`);
      // Whatever the surroundings do, code that takes them for something else is at fault.
      if (/^log /.test(what) && /\b(TypeError|ReferenceError): /.test(text))
        this.found(`the service stumbles: ${text}`);
      // What a decider proposes and its machine refuses is stored nowhere, and a bug.
      if (text.includes('IllegalHistory')) this.found(`a decision was not legal: ${text}`);
    }
  }

  found(fault: string): void {
    this.violations.push(fault);
    this.#world.timeline.add('violation', fault);
  }

  get #lacksPayments(): boolean {
    return this.#lost.hasPayments(this.facts);
  }

  /** A copy takes the place of the log, without so many of the newest events. */
  #forget(count: number): void {
    const sessions = this.#lost.lose(count, this.facts, this.sessions);
    this.sessions.clear();
    for (const [stream, session] of sessions) this.sessions.set(stream, session);
    this.#lengths.clear();
    for (const { stream, revision } of this.facts) this.#lengths.set(stream, revision + 1);
  }

  #judge(event: RecordedEvent): void {
    const fact = factOf(event, this.#world.scheduler.nowMs);
    this.facts.push(fact);
    const { stream, revision, type } = fact;
    this.#world.timeline.count(
      `event ${type}${stream.startsWith('session-') ? ` when ${this.sessions.get(stream)?.status ?? 'absent'}` : ''}`,
    );
    if (revision !== (this.#lengths.get(stream) ?? 0)) this.found(`${stream} has a gap before ${revision}`);
    this.#lengths.set(stream, revision + 1);
    const unreasonable = whyNotTyped(this.#world, fact) ?? whyUnreasonable(this.#world, fact, this.facts);
    if (unreasonable !== null) this.found(`${stream}/${revision} ${type}: ${unreasonable}`);
    const named = namedNonce(fact);
    const holder = named && (this.#nonces.get(named.nonce) ?? named.payment);
    if (named && holder) this.#nonces.set(named.nonce, holder);
    if (named && holder !== named.payment)
      this.found(
        `${stream}/${revision} ${type}: ${named.payment} names the same value of a nonce account as ${holder}`,
      );
    if (!stream.startsWith('session-')) return;
    const before = this.sessions.get(stream);
    if (!before) {
      if (type !== 'SessionCreated') return this.found(`${stream} begins with ${type}`);
      if (Number(fact.data['expiresAtSec']) <= Number(fact.data['createdAtSec']))
        this.found(`${stream} ends before it begins`);
      return this.#begin(fact);
    }
    this.#count(before, fact);
    this.#judgeMoment(before, fact);
    const fault = take(before, fact);
    if (fault !== null) this.found(`${stream}/${revision} ${type}: ${fault}`);
  }

  /** Situations that only several events together are. */
  #count(session: SeenSession, { type, data }: Fact): void {
    const { timeline } = this.#world;
    if (type === 'RefundRequested' && isSettled(this.facts, session))
      timeline.count('a merchant who was settled refunds');
    const isOwn = type === 'DepositConfirmed' && session.deposits.get(String(data['depositKey']))?.isOwn;
    if (isOwn) timeline.count('money of the treasury at an order');
    if (type !== 'DepositReverted') return;
    const open = legsOf([session]).filter(({ leg }) => leg.status === 'open');
    if (open.some(({ leg }) => leg.takenFrom.some(({ depositKey }) => depositKey === data['depositKey'])))
      timeline.count('a deposit leaves the chain while it is refunded');
  }

  #begin(fact: Fact): void {
    const session = sessionOf(fact);
    this.sessions.set(fact.stream, session);
    for (const address of session.addresses) {
      const first = this.#shownFor.get(address) ?? session.sessionId;
      this.#shownFor.set(address, first);
      if (first !== session.sessionId) this.found(`${session.sessionId} shows ${address}, which ${first} had shown`);
    }
  }

  /** Before the event is taken in. */
  #judgeMoment(session: SeenSession, { stream, revision, type, data, committedMs }: Fact): void {
    const where = `${stream}/${revision} ${type}`;
    if (type === 'DepositConfirmed') {
      const fault = this.#whyNotFinal(
        String(data['depositKey']),
        data['rule'] as { kind: string; confirmations?: number },
      );
      if (fault !== null) this.found(`${where}: ${fault}`);
    }
    if ((type === 'DepositDetected' || type === 'DepositConfirmed') && !this.#isOfSomeBranch(data))
      this.found(`${where}: block ${String(data['blockHash'])} never held ${String(data['depositKey'])}`);
    if (type === 'DepositReverted') {
      const landed = this.#landedAs(String(data['depositKey']));
      if (landed && committedMs - landed.block.minedMs > REVERT_MS)
        this.found(`${where}: the chain has held the transfer for ${(committedMs - landed.block.minedMs) / 1000} s`);
    }
    if (type === 'DepositReverted') {
      const replacedMs = this.#replacedMs(session.deposits.get(String(data['depositKey'])));
      const goneMs = committedMs - Math.max(replacedMs, this.#world.troubledMs + RECOVERED_MS);
      if (goneMs > NOTICED_MS) this.found(`${where}: it was gone for ${goneMs / 1000} s before anybody noticed`);
    }
    if (type === 'SessionPaid' && heldOf(session) < session.due - session.tolerance)
      this.found(`${where}: paid with ${heldOf(session)} of ${session.due} units`);
    if (
      type === 'SessionExpired' &&
      session.hadEnough &&
      lostOf(session) &&
      arrivedIn(session) < session.due - session.tolerance
    )
      this.found(`${where}: its payment was lost, and it ends as if none had come`);
    if (type === 'SessionExpired' && committedMs - this.#world.troubledMs > EXPIRY_WAIT_MS) {
      const paid = session.refunds.size === 0 ? this.#arrivedOnTime(session, allMovements(this.#world)) : 0n;
      if (paid > 0n && paid >= session.due - session.tolerance)
        this.found(`${where}: it was paid in time, by ${paid} units`);
      for (const [network, { chain }] of this.#world.chains)
        if (session.networks.has(network) && chain.view.branch.at(-1)!.timeSec <= session.expiresAtSec)
          this.found(`${where}: the time of ${network} has not come to its deadline`);
    }
  }

  /** When the block was made that took the place of the one that had it. */
  #replacedMs(deposit: SeenDeposit | undefined): number {
    const chain = deposit && this.#world.chains.get(deposit.network as ModelledNetwork)?.chain;
    return chain?.view.branch[deposit!.blockNumber]?.minedMs ?? Infinity;
  }

  /** Whether the block that an event names ever held its transfer. */
  #isOfSomeBranch({ depositKey, blockHash }: Fact['data']): boolean {
    const [network, txHash = ''] = String(depositKey).split(':');
    return this.#world.chains.get(network as ModelledNetwork)?.chain.everHeld(txHash, String(blockHash)) ?? false;
  }

  #landedAs(depositKey: string): Landed | null {
    const [network, txHash, logIndex] = depositKey.split(':') as [ModelledNetwork, string, string];
    const chain = this.#world.chains.get(network)?.chain;
    return (
      (chain &&
        movementsOn(network, chain).find(
          (movement) => movement.txHash === txHash && movement.logIndex === Number(logIndex),
        )) ??
      null
    );
  }

  /** Money for a deposit that is gone must not even be handed to a node. */
  #judgeBroadcast(txHash: string): void {
    for (const session of this.sessions.values())
      for (const { legs } of session.refunds.values())
        for (const { legId, txHashes, takenFrom } of legs.values())
          for (const { depositKey } of txHashes.has(txHash) ? takenFrom : [])
            if (session.deposits.get(depositKey)?.status !== 'confirmed')
              this.found(`${session.sessionId}: ${legId} was sent while ${depositKey} was gone`);
  }

  #whyNotFinal(depositKey: string, rule: { readonly kind: string; readonly confirmations?: number }): string | null {
    const landed = this.#landedAs(depositKey);
    const chain = landed && this.#world.chains.get(landed.network)?.chain;
    if (!chain || !landed) return 'the chain does not have the transfer';
    const deep = chain.view.height - landed.block.number + 1;
    if (landed.isFinal || (rule.kind === 'confirmations' && deep >= (rule.confirmations ?? Infinity))) return null;
    return `only ${deep} blocks deep, not ${rule.confirmations ?? 'final'}`;
  }

  #arrivedOnTime(session: SeenSession, movements: readonly Landed[]): bigint {
    return movements
      .filter(
        ({ to, coin, network, block, units, txHash }) =>
          session.addresses.has(to) &&
          !this.#world.misplaced.has(txHash) &&
          coin === session.coin &&
          session.networks.has(network) &&
          block.timeSec <= session.expiresAtSec &&
          units >= session.dust,
      )
      .reduce((sum, { units }) => sum + units, 0n);
  }

  #judgeDeposits(session: SeenSession, movements: readonly Landed[]): void {
    const arrived = movements.filter(({ to }) => session.addresses.has(to));
    const keys = new Set(arrived.map(keyOf));
    for (const landed of arrived) {
      const key = keyOf(landed);
      const deposit = session.deposits.get(key);
      if (!deposit)
        this.found(
          `${session.sessionId}: ${landed.units} units of ${landed.coin} arrived (${key}) and nobody knows of them`,
        );
      else if (deposit.status !== 'confirmed')
        this.found(`${session.sessionId}: ${key} is final and stays ${deposit.status}`);
      else if (
        deposit.units !== landed.units ||
        deposit.coin !== landed.coin ||
        deposit.from !== landed.from ||
        deposit.to !== landed.to
      )
        this.found(`${session.sessionId}: ${key} is not recorded as the chain has it`);
    }
    for (const { depositKey, status } of session.deposits.values())
      if (status !== 'reverted' && !keys.has(depositKey))
        this.found(`${session.sessionId}: ${depositKey} stays ${status}, and the chain does not have it`);
  }

  #judgeStatus(session: SeenSession, movements: readonly Landed[]): void {
    const { status, sessionId, due, tolerance, refunds, history } = session;
    if (mustEnd(session)) return this.found(`${sessionId} is still open`);
    if (status === 'open') return;
    for (const { refundId, ended } of refunds.values())
      if (ended === null && !this.#lacksPayments && !isSettled(this.facts, session))
        this.found(`${sessionId}: refund ${refundId} never ended`);
    // Money that a merchant gave back before does not pay.
    const gaveBackFirst =
      refunds.size > 0 && (status !== 'paid' || history.indexOf('RefundRequested') < history.indexOf('SessionPaid'));
    if (status === 'cancelled' || gaveBackFirst) return;
    const arrived = this.#arrivedOnTime(session, movements);
    if (status !== 'paid' && arrived >= due - tolerance)
      this.found(`${sessionId} got ${arrived} of ${due} units in time and is ${status}`);
    if (status === 'paid' && arrived < due - tolerance && !session.wasReversed)
      this.found(`${sessionId} is paid and got ${arrived} of ${due} units in time`);
    if (status === 'failed' && !history.includes('DepositReverted'))
      this.found(`${sessionId} has failed although no payment was lost`);
  }

  /** What people were told is so. */
  #judgePromises({ sessions, refunds }: Facts): void {
    for (const [order, { view }] of sessions) {
      const session = this.sessions.get(`session-${view.sessionId}`);
      if (!session && this.#lost.has(view.sessionId)) continue;
      if (!session) this.found(`order ${order} was answered with ${view.sessionId}, which does not exist`);
      else if (unitsOf(view.dueAmount) !== session.due) this.found(`order ${order} was told another amount`);
    }
    const orders = this.facts
      .filter(({ type }) => type === 'SessionCreated')
      .map(({ data }) => `${String(data['merchantId'])} ${String(data['orderId'])}`);
    for (const order of new Set(orders.filter((name, at) => orders.indexOf(name) !== at)))
      this.found(`two sessions for order ${order}`);
    const kept = refunds.filter(({ view }) => !this.#lost.has(view.refundId));
    for (const [key, answers] of Map.groupBy(kept, (one) => one.key))
      if (new Set(answers.map(({ view }) => view.refundId)).size > 1)
        this.found(`one request (${key}) made several refunds`);
    for (const { order, view } of refunds) {
      const known = [...this.sessions.values()].some((session) => session.refunds.has(view.refundId));
      if (!known && !this.#lost.has(view.refundId))
        this.found(`the refund of ${order} was answered with ${view.refundId}, which does not exist`);
    }
  }

  /** How long it took, for the figure. */
  get simulatedSec(): number {
    return (this.#world.scheduler.nowMs - START_MS) / 1000;
  }
}

const isGivingBack = ({ refunds }: SeenSession): boolean => [...refunds.values()].some(({ ended }) => ended === null);

/** It must get an end within the run: it was not made by a process whose clock was a day ahead. */
const mustEnd = ({ status, expiresAtSec }: SeenSession): boolean =>
  status === 'open' && expiresAtSec * 1000 < START_MS + LATEST_DEADLINE_MS;

const keyOf = ({ network, txHash, logIndex }: Landed): string => `${network}:${txHash}:${logIndex}`;
