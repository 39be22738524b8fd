import type { OutflowFacts, TreasuryFunded, TreasuryReconciled, UnknownOutflowFound } from '../domain/events/treasury-move-events.ts';
import { DEPOSIT_WALLETS, TREASURY } from '../domain/ledger.ts';
import { formatAmount, isCoin, MAX_WHOLE_UNITS, SCALE, signedAmountOf, type Coin } from '../domain/money.ts';
import { NATIVE_COIN, type NativeCoin } from '../domain/networks.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { MoveSigner, SeenOutflow } from '../ports/moves.ts';
import type { Promised } from '../ports/payouts.ts';
import type { ReadModel } from '../ports/read-model.ts';
import { balanceKey, LEDGER_ADDRESSES_TABLE, LEDGER_BALANCES_TABLE } from '../../projections/ledger-rows.ts';
import { movesInFlight } from '../../state-machines/treasury-moves.ts';
import type { WholeRows } from '../runtime/whole-rows.ts';
import type { MoveDesk } from './move-money-desk.ts';
import { addedTo, promisedOf } from './promised.ts';

export interface ReconcileDeps {
  readonly readModel: ReadModel;
  /** The books must be whole while they are read: what they lack would be taken for money that was brought, or that left. */
  readonly wholeBooks: WholeRows;
  readonly signer: Pick<MoveSigner, 'unknownTransactions'>;
  /** What refunds that are signed and not recorded as landed may have taken already. */
  readonly sent: (desk: MoveDesk) => Promise<Promised>;
  readonly clock: Clock;
  /** A difference counts once it is the same after this pause: what lands meanwhile is written down by then. */
  readonly pause: () => Promise<void>;
}

type Account = TreasuryReconciled['data']['accounts'][number];

interface Look {
  readonly throughBlock: number;
  readonly accounts: readonly Account[];
  /** Collection addresses that hold less than the books say. */
  readonly short: readonly OutflowFacts[];
}

/** Looks before a difference is believed. */
const LOOKS = 3;
const PAGE = 1_000;

/**
 * Compares one treasury and its collection addresses with the books. Money that is missing, or a transfer that the
 * signer's journal does not know, is an outflow nobody ordered, and stops payouts; money that is too much was brought by the operator.
 */
export async function reconcileTreasury(
  desk: MoveDesk,
  deps: ReconcileDeps,
): Promise<TreasuryReconciled['data'] & { readonly unknown: readonly OutflowFacts[] }> {
  const lookNow = (): Promise<Look> => deps.wholeBooks(() => lookAt(desk, deps));
  let look = await lookNow();
  for (let looks = 1; looks < LOOKS && hasDifference(look); looks++) {
    await deps.pause();
    look = await lookNow();
  }
  const { mode, network } = desk.chain;
  const foundAtSec = toSec(deps.clock.nowMs());
  const strangers = await unknownTransfers(desk, deps, look.throughBlock);
  // The same money is not reported twice: by its transaction where that is known, by the balance otherwise.
  const { unknownOutflows } = await desk.context();
  const known = [...strangers.filter(({ outflowKey }) => !Object.hasOwn(unknownOutflows, outflowKey)), ...Object.values(unknownOutflows)];
  const seen = amountsAt(desk.treasury, known);
  const missing = look.accounts.filter(
    ({ account, coin, difference }) => account === 'treasury' && isCoin(coin) && signedAmountOf(difference) + (seen[coin] ?? 0n) < 0n,
  );
  const unknown = [...strangers, ...look.short, ...missing.map((account) => outflowOf(desk, account, look.throughBlock))];
  const fundings = look.accounts.flatMap((account) => fundingOf(desk, account, look.throughBlock, foundAtSec, seen));
  const outflows: UnknownOutflowFound['data'][] = unknown.map((facts) => ({ ...facts, foundAtSec }));
  const result = { mode, network, throughBlock: look.throughBlock, accounts: look.accounts, reconciledAtSec: foundAtSec };
  const refused = await desk.tell({ type: 'RecordReconciliation', fundings, outflows, result }, 'reconcile');
  if (refused !== null) throw new Error(`the reconciliation of ${mode} ${network} cannot be written down: ${refused}`);
  return { ...result, unknown };
}

/** 10^-18 units by coin of what was reported to have left an address and is not in the books yet. */
function amountsAt(address: string, outflows: readonly OutflowFacts[]): Partial<Record<string, bigint>> {
  const sums: Partial<Record<string, bigint>> = {};
  for (const { address: left, coin, amount } of outflows)
    if (left === address && coin !== null && amount !== null) sums[coin] = (sums[coin] ?? 0n) + signedAmountOf(amount);
  return sums;
}

const hasDifference = ({ accounts, short }: Look): boolean =>
  short.length > 0 || accounts.some(({ account, coin, difference }) => account === 'treasury' && isCoin(coin) && signedAmountOf(difference) !== 0n);

async function lookAt(desk: MoveDesk, deps: ReconcileDeps): Promise<Look> {
  const { chain, treasury } = desk;
  const native = NATIVE_COIN[chain.network];
  const throughBlock = await chain.finalBlock();
  const inFlight = addedTo(await deps.sent(desk), promisedOf([], movesInFlight(await desk.context())));
  const held = await chain.balances(treasury);
  const accounts: Account[] = [];
  for (const { coin } of chain.settings.tokens) {
    const booked = await bookedOf(desk, deps, TREASURY, coin);
    accounts.push(accountOf('treasury', coin, booked, withinFlight(booked, held.coins[coin] ?? 0n, inFlight.coins[coin] ?? 0n)));
  }
  accounts.push(accountOf('treasury', native, await bookedOf(desk, deps, TREASURY, native), held.native));
  const collection = await lookAtCollection(desk, deps, throughBlock);
  return { throughBlock, accounts: [...accounts, ...collection.accounts], short: collection.short };
}

/** What is out may have landed or not: anything between is as it should be. */
function withinFlight(booked: bigint, onChain: bigint, inFlight: bigint): bigint {
  return onChain < booked && onChain >= booked - inFlight ? booked : onChain;
}

/** Every collection address that the books say holds a stablecoin, against the chain. */
async function lookAtCollection(desk: MoveDesk, deps: ReconcileDeps, throughBlock: number): Promise<Pick<Look, 'accounts' | 'short'>> {
  const { chain } = desk;
  const { unknownOutflows } = await desk.context();
  const sweeping = new Set(Object.values((await desk.context()).moves).flatMap(({ kind, terms }) => (kind === 'sweep' ? [terms.fromAddress] : [])));
  const short: OutflowFacts[] = [];
  const accounts: Account[] = [];
  for (const { coin } of chain.settings.tokens) {
    let [bookedSum, onChainSum] = [0n, 0n];
    for await (const { address, booked } of bookedAddresses(desk, deps, coin)) {
      if (sweeping.has(address)) continue;
      const onChain = (await chain.balances(address)).coins[coin] ?? 0n;
      bookedSum += booked;
      onChainSum += onChain;
      const missing = booked - onChain - (amountsAt(address, Object.values(unknownOutflows))[coin] ?? 0n);
      if (missing > 0n) short.push(shortfall(desk, address, coin, missing, throughBlock));
    }
    accounts.push(accountOf('collection', coin, bookedSum, onChainSum));
  }
  return { accounts, short };
}

async function* bookedAddresses({ chain }: MoveDesk, { readModel }: ReconcileDeps, coin: Coin): AsyncGenerator<{ address: string; booked: bigint }> {
  const prefix = `${balanceKey(chain.mode, DEPOSIT_WALLETS, chain.network, coin)}/`;
  for (let afterKey = prefix; ;) {
    const page = await readModel.scan(LEDGER_ADDRESSES_TABLE, { afterKey, limit: PAGE });
    for (const { key, row } of page) {
      if (!key.startsWith(prefix)) return;
      const booked = signedAmountOf(row['balance'] as string);
      if (booked > 0n) yield { address: row['address'] as string, booked };
    }
    if (page.length < PAGE) return;
    afterKey = page.at(-1)!.key;
  }
}

async function bookedOf({ chain }: MoveDesk, { readModel }: ReconcileDeps, account: string, coin: string): Promise<bigint> {
  const row = await readModel.get(LEDGER_BALANCES_TABLE, balanceKey(chain.mode, account, chain.network, coin));
  return row === null ? 0n : signedAmountOf(row['balance'] as string);
}

/** Transfers out of the treasury that the signer never signed, where the chain can list them. */
async function unknownTransfers(desk: MoveDesk, { signer }: ReconcileDeps, throughBlock: number): Promise<OutflowFacts[]> {
  const { chain, treasury } = desk;
  const { reconciledThrough } = await desk.context();
  const seen = await chain.outflows(treasury, (reconciledThrough ?? -1) + 1, throughBlock);
  if (seen.length === 0) return [];
  const { mode, network } = chain;
  const unknown = new Set(await signer.unknownTransactions(mode, network, [...new Set(seen.map(({ txHash }) => txHash))]));
  return seen.filter(({ txHash }) => unknown.has(txHash)).map((transfer) => strangerOf(desk, transfer));
}

function strangerOf(
  { chain: { mode, network }, treasury }: MoveDesk,
  { coin, units, toAddress, txHash, logIndex, blockNumber }: SeenOutflow,
): OutflowFacts {
  const outflowKey = `${txHash}:${logIndex}`;
  return { mode, network, outflowKey, address: treasury, coin, amount: formatAmount(units), toAddress, txHash, blockNumber };
}

/** The key names the amount, so that an explained shortfall that grows is reported again. */
function shortfall({ chain: { mode, network } }: MoveDesk, address: string, coin: Coin, units: bigint, blockNumber: number): OutflowFacts {
  const amount = formatAmount(units);
  return { mode, network, outflowKey: `${address}:${coin}:${amount}`, address, coin, amount, toAddress: null, txHash: null, blockNumber };
}

const outflowOf = (desk: MoveDesk, { coin, difference }: Account, blockNumber: number): OutflowFacts =>
  shortfall(desk, desk.treasury, coin as Coin, -signedAmountOf(difference), blockNumber);

function fundingOf(
  { chain: { mode, network }, treasury }: MoveDesk,
  { account, coin, difference }: Account,
  blockNumber: number,
  recordedAtSec: number,
  seen: Partial<Record<string, bigint>>,
): TreasuryFunded['data'][] {
  const units = signedAmountOf(difference) + (seen[coin] ?? 0n);
  if (account !== 'treasury' || units <= 0n) return [];
  const evidence = { fromAddress: null, txHash: null, logIndex: null, blockNumber };
  return partsOf(units).map((part) => ({ mode, network, coin, amount: formatAmount(part), address: treasury, ...evidence, recordedAtSec }));
}

/** An event holds less than `MAX_WHOLE_UNITS`; what is more is written down in several. */
function partsOf(units: bigint): bigint[] {
  const most = (MAX_WHOLE_UNITS - 1n) * 10n ** BigInt(SCALE);
  return units <= most ? [units] : [most, ...partsOf(units - most)];
}

const accountOf = (account: Account['account'], coin: Coin | NativeCoin, booked: bigint, onChain: bigint): Account => ({
  ...{ account, coin, booked: formatAmount(booked), onChain: formatAmount(onChain), difference: formatAmount(onChain - booked) },
});
