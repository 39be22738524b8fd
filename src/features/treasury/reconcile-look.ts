import { isDeepStrictEqual } from 'node:util';
import type { OutflowFacts, TreasuryReconciled } from '../../domain/events/treasury-move-events.ts';
import { DEPOSIT_WALLETS, TREASURY } from '../../domain/money/ledger.ts';
import { amountOf, formatAmount, most, signedAmountOf, type Coin } from '../../domain/money/money.ts';
import { NATIVE_COIN, type NativeCoin, type Network } from '../../domain/networks/networks.ts';
import { isNative, type Reserved } from '../../ports/outgoing/transaction.ts';
import type { AccountBalances, OutgoingChain } from '../../ports/outgoing/chain.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import {
  balanceKey,
  LEDGER_ADDRESSES_TABLE,
  LEDGER_BALANCES_TABLE,
  LEDGER_NEWEST_BLOCKS_TABLE,
  newestBlockKey,
} from '../../../projections/ledger/rows.ts';
import { movesInFlight, sweepsInFlight } from '../../../state-machines/treasury/moves.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import { addedTo, reservedOf } from '../payouts/reserved.ts';

export interface LookDeps {
  readonly readModel: ReadModel;
  /** What refunds may have spent that are signed and not recorded as landed. */
  readonly sent: (executor: MoveExecutor) => Promise<Reserved>;
  /** The newest block of a network from which the books hold money; 0 if there is none. */
  readonly newestBooked: (chain: BookedChain) => Promise<number>;
}

type BookedChain = Pick<OutgoingChain, 'mode' | 'network' | 'newestBlock'>;

/** No provider lags so far: a booked block further ahead was made up by one. */
const MADE_UP_FROM = 10_000;

/** A block that a provider made up must not keep all others from being asked. */
export async function newestBooked(readModel: Pick<ReadModel, 'get'>, chain: BookedChain): Promise<number> {
  const row = await readModel.get(LEDGER_NEWEST_BLOCKS_TABLE, newestBlockKey(chain.mode, chain.network));
  if (row === null) return 0;
  const head = await chain.newestBlock();
  return row.blockNumber < head + MADE_UP_FROM ? row.blockNumber : head;
}

export type Account = TreasuryReconciled['data']['accounts'][number];

/** One comparison of the books with the chain. */
export interface Look {
  readonly throughBlock: number;
  /** Upper bound of the blocks from which the balances come. */
  readonly newestBlock: number;
  readonly accounts: readonly Account[];
  /** Those that showed the balances. */
  readonly providers: readonly string[];
  /** Collection addresses that hold less than the books say. */
  readonly short: readonly OutflowFacts[];
}

/**
 * Upper bound of the network fee of one of our transactions, in units of the native coin: what one in flight may have
 * cost.
 */
const DEAREST_FEE: Readonly<Record<Network, string>> = { ethereum: '0.05', bsc: '0.01', tron: '100', solana: '0.01' };

/** What is not as it should be; sums over collection addresses differ whenever a deposit arrives. */
const differencesOf = ({ accounts, short }: Look): string[] => [
  ...accounts
    .filter(({ account, difference }) => account === 'treasury' && signedAmountOf(difference) !== 0n)
    .map(({ coin, difference }) => `${coin} ${difference}`),
  ...short.map(({ address, coin, amount }) => `${address} ${coin} ${amount}`),
];

export const hasDifference = (look: Look): boolean => differencesOf(look).length > 0;

export const isSameDifference = (one: Look, other: Look): boolean =>
  isDeepStrictEqual(differencesOf(one), differencesOf(other));

/** Reads the chain, then the books. `asked`: the providers asked before, of which this look prefers the first. */
export async function lookAt(executor: MoveExecutor, deps: LookDeps, asked: readonly string[]): Promise<Look> {
  const { chain, treasury } = executor;
  const native = NATIVE_COIN[chain.network];
  const context = await executor.context();
  // The balances are newer than either; a provider that lags must not end the comparison.
  const throughBlock = Math.max(await chain.finalBlock(), context.reconciledThrough ?? 0);
  const moving = movesInFlight(context);
  const sweeping = sweepsInFlight(context);
  const arriving = reservedOf([], sweeping).coins;
  const inFlight = addedTo(await deps.sent(executor), reservedOf([], moving));
  // A lagging provider lacks movements that are already in the books.
  const atLeast = await deps.newestBooked(chain);
  const providers = new Set<string>();
  const heldAt = async (address: string): Promise<AccountBalances> => {
    const held = await chain.balances(address, atLeast, asked);
    providers.add(held.provider);
    return held;
  };
  const held = await heldAt(treasury);
  const newestBlock = await chain.newestBlock();
  const accounts: Account[] = [];
  for (const { coin } of chain.settings.tokens) {
    const booked = await bookedOf(executor, deps, coin);
    accounts.push(
      accountOf(
        'treasury',
        coin,
        booked,
        withinFlight(booked, held.coins[coin] ?? 0n, inFlight.coins[coin] ?? 0n, arriving[coin] ?? 0n),
      ),
    );
  }
  const gas = moving.flatMap((move) => (isNative(move) ? [amountOf(move.terms.amount)] : []));
  // On Solana the treasury also pays the fee of a sweep.
  const payingFees = inFlight.payouts + (chain.network === 'solana' ? sweeping.length : 0);
  const mayBeSpent = gas.reduce(
    (total, units) => total + units,
    BigInt(payingFees) * amountOf(DEAREST_FEE[chain.network]),
  );
  const booked = await bookedOf(executor, deps, native);
  accounts.push(accountOf('treasury', native, booked, withinFlight(booked, held.native, mayBeSpent)));
  const collection = await lookAtCollection(executor, deps, throughBlock, heldAt);
  return {
    ...{ throughBlock, newestBlock, providers: [...providers] },
    accounts: [...accounts, ...collection.accounts],
    short: collection.short,
  };
}

/**
 * Transactions in flight, in or out, may have landed or not. Any balance between is correct; beyond that, the result is
 * the smallest certain difference.
 */
function withinFlight(booked: bigint, onChain: bigint, inFlight: bigint, arriving = 0n): bigint {
  if (onChain > booked) return most(booked, onChain - arriving);
  return onChain >= booked - inFlight ? booked : onChain;
}

/** Compares every collection address that holds a stablecoin in the books with the chain. */
async function lookAtCollection(
  executor: MoveExecutor,
  deps: LookDeps,
  throughBlock: number,
  heldAt: (address: string) => Promise<AccountBalances>,
): Promise<Pick<Look, 'accounts' | 'short'>> {
  const { chain } = executor;
  const { unknownOutflows, moves } = await executor.context();
  const sweeping = new Set(
    Object.values(moves).flatMap(({ kind, terms }) => (kind === 'sweep' ? [terms.fromAddress] : [])),
  );
  const short: OutflowFacts[] = [];
  const accounts: Account[] = [];
  for (const { coin } of chain.settings.tokens) {
    let [bookedSum, onChainSum] = [0n, 0n];
    for await (const { address, booked } of bookedAddresses(executor, deps, coin)) {
      if (sweeping.has(address)) continue;
      const usual = (await heldAt(address)).coins[coin] ?? 0n;
      const elsewhere = usual < booked ? (await chain.heldElsewhere?.(address))?.[coin] : undefined;
      const onChain = usual + (elsewhere ?? 0n);
      bookedSum += booked;
      onChainSum += onChain;
      const missing = booked - onChain - (amountsAt(address, Object.values(unknownOutflows))[coin] ?? 0n);
      if (missing > 0n) short.push(shortfall(executor, address, coin, missing, throughBlock));
    }
    accounts.push(accountOf('collection', coin, bookedSum, onChainSum));
  }
  return { accounts, short };
}

/** The collection addresses that hold a coin in the books. */
export async function* bookedAddresses(
  { chain }: { readonly chain: Pick<OutgoingChain, 'mode' | 'network'> },
  { readModel }: { readonly readModel: Pick<ReadModel, 'scan'> },
  coin: Coin,
): AsyncGenerator<{ address: string; booked: bigint }> {
  const prefix = `${balanceKey(chain.mode, DEPOSIT_WALLETS, chain.network, coin)}/`;
  for await (const page of rowPages(readModel, LEDGER_ADDRESSES_TABLE, { prefix }))
    for (const { row } of page) {
      const booked = signedAmountOf(row.balance);
      if (booked > 0n) yield { address: row.address, booked };
    }
}

async function bookedOf({ chain }: MoveExecutor, { readModel }: LookDeps, coin: string): Promise<bigint> {
  const row = await readModel.get(LEDGER_BALANCES_TABLE, balanceKey(chain.mode, TREASURY, chain.network, coin));
  return row === null ? 0n : signedAmountOf(row.balance);
}

/** 10^-18 units by coin that are reported to have left an address and are not booked yet. */
export function amountsAt(address: string, outflows: readonly OutflowFacts[]): Partial<Record<string, bigint>> {
  const sums: Partial<Record<string, bigint>> = {};
  for (const { address: left, coin, amount } of outflows)
    if (left === address && coin !== null && amount !== null) sums[coin] = (sums[coin] ?? 0n) + signedAmountOf(amount);
  return sums;
}

/** The key contains the block, so that the same amount can go missing twice. */
export function shortfall(
  { chain: { mode, network } }: { readonly chain: Pick<OutgoingChain, 'mode' | 'network'> },
  address: string,
  coin: Coin | NativeCoin,
  units: bigint,
  blockNumber: number,
): OutflowFacts {
  const outflowKey = `${address}:${coin}:${blockNumber}`;
  return {
    mode,
    network,
    outflowKey,
    address,
    coin,
    amount: formatAmount(units),
    toAddress: null,
    txHash: null,
    blockNumber,
  };
}

const accountOf = (account: Account['account'], coin: Coin | NativeCoin, booked: bigint, onChain: bigint): Account => ({
  account,
  coin,
  booked: formatAmount(booked),
  onChain: formatAmount(onChain),
  difference: formatAmount(onChain - booked),
});
