import type { NativeCoinFound, UnknownOutflowFound } from '../../domain/events/treasury-move-events.ts';
import { DEPOSIT_WALLETS } from '../../domain/money/ledger.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { formatAmount, least, most, signedAmountOf } from '../../domain/money/money.ts';
import { NATIVE_COIN, type NativeCoin, type Network } from '../../domain/networks/networks.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { AccountBalances, OutgoingChain, ShownBalances } from '../../ports/outgoing/chain.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { WholeRows } from '../../runtime/projections/whole-rows.ts';
import { addressKey, balanceKey, LEDGER_ADDRESSES_TABLE } from '../../../projections/ledger/rows.ts';
import { addressesOf } from '../../../state-machines/treasury/moves.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import { amountsAt, shortfall, type LookDeps } from './reconcile-look.ts';
import { must } from '../../domain/values/must.ts';

export interface NativeDeps extends Pick<LookDeps, 'newestBooked'> {
  readonly executor: Pick<MoveExecutor, 'context' | 'tell'> & {
    readonly chain: Pick<
      OutgoingChain,
      'mode' | 'network' | 'balances' | 'finalBalances' | 'finalBlock' | 'newestBlock'
    >;
  };
  readonly readModel: Pick<ReadModel, 'getMany'>;
  readonly wholeBooks: WholeRows;
  /** Rejects if the books contradict the event log. False if no proof is possible now. */
  readonly proveBooks: () => Promise<boolean>;
  /** Converts an address to the form of the wallet and the books. */
  readonly derivedForm: (address: string) => string;
  /** Reports to the signer, which also stops while an outflow is unexplained. */
  readonly reportOutflows: () => Promise<void>;
  readonly clock: Clock;
}

export interface GivenAddress {
  readonly address: string;
  readonly sessionId: SessionId;
}

/** A recorded difference of native coin at a collection address. Decimal strings in units of the coin. */
export interface NativeDifference {
  /** `found`: it is booked now. `missing`: nobody here sent it away, and payouts stop. */
  readonly kind: 'found' | 'missing';
  readonly sessionId: SessionId;
  readonly network: Network;
  readonly address: string;
  readonly coin: NativeCoin;
  readonly booked: string;
  readonly onChain: string;
}

/** Whether any address seems to hold native coin other than in the books, including coin that is currently moving. */
export async function differsInNative(
  deps: NativeDeps,
  given: readonly GivenAddress[],
  native: readonly bigint[],
): Promise<boolean[]> {
  const booked = await bookedAt(deps, given);
  return given.map((_, index) => booked[index] !== native[index]);
}

/**
 * Records what the addresses hold beyond the books as coin of unknown origin, and what they lack as an outflow that
 * nobody ordered. Reads the chain before the moves and those before the books, so that every move visible on the chain
 * is still open or already booked. Of the final and the newest balance it uses the one with the smaller difference,
 * because a move is booked at a depth that may lie between them.
 */
export async function settleNative(
  deps: NativeDeps,
  given: readonly GivenAddress[],
  isProven = false,
): Promise<NativeDifference[]> {
  const { chain } = deps.executor;
  const { mode, network } = chain;
  const coin = NATIVE_COIN[network];
  const blockNumber = await chain.finalBlock();
  const shown = await shownAt(deps, given);
  const { moves, unknownOutflows, nativeCoinFinds } = await deps.executor.context();
  const moving = new Set(Object.values(moves).flatMap(addressesOf));
  const booked = await bookedAt(deps, given);
  const foundAtSec = toSec(deps.clock.nowMs());
  const differences: NativeDifference[] = [];
  const found: NativeCoinFound['data'][] = [];
  const missing: UnknownOutflowFound['data'][] = [];
  for (const [index, { address: key, sessionId }] of given.entries()) {
    const address = deps.derivedForm(key);
    if (moving.has(address)) continue;
    const reported = amountsAt(address, Object.values(unknownOutflows))[coin] ?? 0n;
    const expected = must(booked[index]) - reported;
    const { final, newest } = must(shown[index]);
    const [lower, upper] = [least(final.native, newest.native), most(final.native, newest.native)];
    if (lower > expected)
      found.push({
        mode,
        network,
        coin,
        amount: formatAmount(lower - expected),
        address,
        sessionId,
        blockNumber,
        foundAtSec,
      });
    else if (upper < expected)
      missing.push({ ...shortfall({ chain }, address, coin, expected - upper, blockNumber), foundAtSec });
    else continue;
    const [kind, onChain] = lower > expected ? (['found', lower] as const) : (['missing', upper] as const);
    differences.push({
      kind,
      sessionId,
      network,
      address,
      coin,
      booked: formatAmount(must(booked[index])),
      onChain: formatAmount(onChain),
    });
  }
  // A proof takes long, and the balances must be read again after it: a sweep in between burns part of what was seen.
  if (found.length > 0 && !isProven && (await deps.proveBooks())) return settleNative(deps, given, true);
  // Unproven findings wait for a later run.
  const proven = isProven ? found : [];
  const settled = isProven ? differences : differences.filter(({ kind }) => kind === 'missing');
  if (settled.length === 0) return [];
  const refused = await deps.executor.tell(
    { type: 'RecordCollectionLook', finds: nativeCoinFinds, found: proven, missing },
    'reconcile',
  );
  // Something moved in the meantime; the next run finds the rest.
  if (refused !== null) return [];
  if (missing.length > 0) await deps.reportOutflows();
  return settled;
}

/** Both balances of an address, by two providers where there are two. */
interface ShownTwice {
  readonly final: AccountBalances;
  /** By one that has the newest booked block: what another does not show yet would look like an outflow. */
  readonly newest: AccountBalances;
}

/** In the given order. */
export async function shownAt(
  { executor: { chain }, newestBooked }: Pick<NativeDeps, 'executor' | 'newestBooked'>,
  given: readonly GivenAddress[],
): Promise<ShownTwice[]> {
  const atLeast = await newestBooked(chain);
  const newest: ShownBalances[] = [];
  for (const { address } of given) newest.push(await chain.balances(address, atLeast));
  const providers = [...new Set(newest.map(({ provider }) => provider))];
  const final = await chain.finalBalances(
    given.map(({ address }) => address),
    providers,
  );
  return newest.map((one, index) => ({ newest: one, final: must(final[index]) }));
}

/** 10^-18 units by address, in the given order. */
function bookedAt(
  { executor, readModel, wholeBooks, derivedForm }: NativeDeps,
  given: readonly GivenAddress[],
): Promise<bigint[]> {
  const { mode, network } = executor.chain;
  const balance = balanceKey(mode, DEPOSIT_WALLETS, network, NATIVE_COIN[network]);
  const keys = given.map(({ address }) => addressKey(balance, derivedForm(address)));
  return wholeBooks(async () =>
    (await readModel.getMany(LEDGER_ADDRESSES_TABLE, keys)).map((row) =>
      row === null ? 0n : signedAmountOf(row.balance),
    ),
  );
}
