import { accountOf, TOKENS } from '../networks.ts';
import type { ModelledNetwork } from '../plan/plan.ts';
import type { World } from '../world.ts';
import type { LostHistory } from './lost.ts';
import { legsOf, type SeenLeg, type SeenSession } from './sessions.ts';
import { unitsOf, type Data, type Fact, type Landed } from './truth.ts';

/** Every transfer out of an address of ours is one that was ordered, goes where the money came from, and goes once. */
export function judgeOutgoing(
  world: World,
  sessions: readonly SeenSession[],
  facts: readonly Fact[],
  movements: readonly Landed[],
  lost: LostHistory,
): string[] {
  const treasuries = [...world.chains.values()].map(({ treasury }) => treasury);
  const addresses = [...lost.sessions, ...sessions].flatMap((session) => [...session.addresses]);
  const ours = new Set([...treasuries, ...addresses]);
  const outgoing = movements.filter(({ from, txHash }) => ours.has(from) && !world.misplaced.has(txHash));
  const known = legsOf(sessions);
  const legIds = new Set(known.map(({ leg }) => leg.legId));
  const unknown = legsOf(lost.sessions).filter(({ leg }) => !legIds.has(leg.legId));
  const legs = [
    ...known,
    ...unknown.map(({ session, leg }) => ({ session, leg: { ...leg, status: 'open' as const } })),
  ];
  const legOfTransaction = new Map(
    legs.flatMap(({ leg }) => [...leg.txHashes].map((txHash) => [txHash, leg] as const)),
  );
  const ofTreasury = [...lost.facts, ...facts].filter(
    ({ stream, data }) => stream.startsWith('treasury-') && data['moveId'] !== undefined,
  );
  const terms = new Map(
    ofTreasury.flatMap(({ type, data }) =>
      type.endsWith('Requested') ? [[String(data['moveId']), data] as const] : [],
    ),
  );
  const moveOfTransaction = new Map(
    ofTreasury.flatMap(({ data }) =>
      typeof data['txHash'] === 'string' ? [[data['txHash'], String(data['moveId'])] as const] : [],
    ),
  );
  const faults: string[] = [];
  const landedOf = new Map<string, Landed[]>();
  const moved = new Set<string>();
  for (const movement of outgoing) {
    const leg = legOfTransaction.get(movement.txHash);
    if (leg) landedOf.set(leg.legId, [...(landedOf.get(leg.legId) ?? []), movement]);
    else faults.push(...judgeMove(movement, moveOfTransaction.get(movement.txHash) ?? null, terms, moved));
  }
  for (const { session, leg } of legs) faults.push(...judgeLeg(session, leg, landedOf.get(leg.legId) ?? []));
  faults.push(...judgePaidBack(known.filter(({ leg }) => leg.status !== 'failed')));
  faults.push(...judgePaidBack(legs.filter(({ leg }) => landedOf.has(leg.legId))));
  return faults;
}

function judgeMove(
  { txHash, from, to, units, coin, network }: Landed,
  moveId: string | null,
  terms: ReadonlyMap<string, Data>,
  moved: Set<string>,
): string[] {
  const ordered = moveId === null ? undefined : terms.get(moveId);
  if (moveId === null || !ordered) return [`${units} units left ${from} by ${txHash}, which nobody ordered`];
  const faults = moved.has(moveId) ? [`${moveId} was carried out twice`] : [];
  moved.add(moveId);
  const isAsOrdered =
    accountOf(String(ordered['toAddress'])) === to &&
    accountOf(String(ordered['fromAddress'])) === from &&
    unitsOf(ordered['amount']) === units &&
    ordered['coin'] === coin &&
    ordered['network'] === network;
  return isAsOrdered ? faults : [...faults, `${moveId} was carried out otherwise than it was ordered`];
}

function judgeLeg(session: SeenSession, leg: SeenLeg, landed: readonly Landed[]): string[] {
  const faults: string[] = [];
  const name = `${session.sessionId}: leg ${leg.legId}`;
  if (landed.length > 1) faults.push(`${name} was paid ${landed.length} times`);
  if (leg.status === 'landed' && landed.length === 0) faults.push(`${name} counts as paid and is not`);
  if (leg.status === 'failed' && landed.length > 0) faults.push(`${name} failed and was paid`);
  for (const { to, units, coin, network } of landed)
    if (to !== leg.to || units !== leg.units || coin !== leg.coin || network !== leg.network)
      faults.push(`${name} was paid otherwise than it was ordered`);
  for (const { depositKey } of leg.takenFrom) {
    const deposit = session.deposits.get(depositKey);
    if (!deposit) faults.push(`${name} gives back ${depositKey}, which never came`);
    else if (deposit.from !== leg.to) faults.push(`${name} goes to ${leg.to}, and ${deposit.from} had paid`);
    else if (landed.length > 0 && deposit.status !== 'confirmed' && !session.wasReversed)
      faults.push(`${name} was paid of ${depositKey}, which is ${deposit.status}`);
  }
  return faults;
}

/** No more of a deposit goes back than had come, by promise or, whatever log promised it, by payment. */
function judgePaidBack(legs: ReturnType<typeof legsOf>): string[] {
  const back = new Map<string, bigint>();
  const came = new Map<string, bigint>();
  for (const { session, leg } of legs)
    for (const { depositKey, amount } of leg.takenFrom) {
      back.set(depositKey, (back.get(depositKey) ?? 0n) + unitsOf(amount));
      came.set(depositKey, session.deposits.get(depositKey)?.units ?? 0n);
    }
  return [...back].flatMap(([key, units]) =>
    units > came.get(key)! ? [`${units} units of ${key} go back, more than had come`] : [],
  );
}

/** Whatever the treasury began has come to an end. */
export function unfinishedMoves(facts: readonly Fact[]): string[] {
  const ended = new Set(
    facts
      .filter(({ type }) => /^(Sweep|GasTopUp|NonceAccount|Return|Withdrawal|Settlement)(Completed|Failed)$/.test(type))
      .map(({ data }) => data['moveId']),
  );
  const begun = facts.filter(({ type }) =>
    /^(Sweep|GasTopUp|NonceAccount|Return|Withdrawal|Settlement)Requested$/.test(type),
  );
  return begun
    .filter(({ data }) => !ended.has(data['moveId']))
    .map(({ type, data }) => `${String(data['moveId'])} (${type}) never ended`);
}

const hasEnded = (facts: readonly Fact[], moveId: unknown): boolean =>
  facts.some(({ type, data }) => /^Sweep(Completed|Failed)$/.test(type) && data['moveId'] === moveId);

/** Whether the sweep that some gas was ordered for was signed after that. */
function isSignedSince(facts: readonly Fact[], { moveId, forMoveId }: Data): boolean {
  const at = facts.findIndex(({ type, data }) => type === 'GasTopUpRequested' && data['moveId'] === moveId);
  return facts.slice(at + 1).some(({ type, data }) => type === 'SweepSigned' && data['moveId'] === forMoveId);
}

const DONE = /^(RefundPayoutLanded|(Sweep|GasTopUp|NonceAccount|Return|Withdrawal|Settlement)Completed)$/;

/** What is done is final; a refund on Ethereum is done 12 blocks deep, which a reorganisation may undo meanwhile. */
function whyNotDone({ chains }: World, { type, data }: Fact): string | null {
  const isFinal = type !== 'RefundPayoutLanded' || !chains.has('ethereum');
  for (const { chain } of chains.values()) {
    const block = chain.blockOf(String(data['txHash']), chain.view);
    if (block && isFinal && block.number > chain.finalizedIn(chain.view))
      return `its transaction is only ${chain.view.height - block.number + 1} blocks deep`;
    if (block) return null;
  }
  return isFinal ? 'no chain has its transaction' : null;
}

/**
 * The nonce account that a signed payment names, with its value; null for anything else. Accounts advanced in one block
 * hold the same value.
 */
export function namedNonce({ data }: Fact): { readonly nonce: string; readonly payment: string } | null {
  const validity = data['validity'] as
    | { readonly kind: string; readonly nonceIndex: number; readonly nonce: string }
    | undefined;
  return validity?.kind === 'solana-nonce'
    ? { nonce: `${validity.nonceIndex} ${validity.nonce}`, payment: String(data['legId'] ?? data['moveId']) }
    : null;
}

/**
 * What is ordered although it cannot be, fails although nothing stands against it, or counts as done too early; null for
 * anything else.
 */
export function whyUnreasonable(world: World, fact: Fact, facts: readonly Fact[]): string | null {
  const { type, data } = fact;
  // Gas is wanted no more once its sweep has ended, or was signed without it because fees had come down.
  if (type === 'GasTopUpFailed' && (hasEnded(facts, data['forMoveId']) || isSignedSince(facts, data))) return null;
  if (DONE.test(type)) return whyNotDone(world, fact);
  const meets = (...kinds: readonly string[]): boolean => world.plan.steps.some(({ kind }) => kinds.includes(kind));
  if (/^(RefundPayout|Sweep|GasTopUp)Failed$/.test(type) && !meets('frozen', 'paused', 'reorg', 'restore'))
    return `it fails (${String(data['reason'])}), and nothing stands against it`;
  // What is taken over after a restore was carried out before.
  if (type !== 'SweepRequested' || meets('reorg', 'restore')) return null;
  const [network, coin] = [data['network'] as ModelledNetwork, data['coin'] as 'USDT' | 'USDC'];
  const { chain } = world.chainOf(network);
  const held = chain.valueAt(`${TOKENS[network][coin]}/${accountOf(String(data['fromAddress']))}`, chain.view);
  return unitsOf(data['amount']) > held
    ? `${String(data['amount'])} ${coin} of an address that holds ${held} units`
    : null;
}
