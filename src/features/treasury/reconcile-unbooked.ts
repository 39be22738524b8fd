import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionId } from '../../domain/values/ids.ts';
import { formatAmount, amountOf, least, type Coin } from '../../domain/money/money.ts';
import { addressFamilyOf, comparableAddress, type Network } from '../../domain/networks/networks.ts';
import type { AccountBalances, OutgoingChain } from '../../ports/outgoing/chain.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { WholeRows } from '../../runtime/projections/whole-rows.ts';
import { ADDRESSES_TABLE, addressKey } from '../../../projections/addresses/address-index.projection.ts';
import { OPEN_DEPOSITS_TABLE, openKey } from '../../../projections/deposits/deposits-by-block.projection.ts';
import { bookedAddresses } from './reconcile-look.ts';
import {
  differsInNative,
  settleNative,
  shownAt,
  type GivenAddress,
  type NativeDeps,
  type NativeDifference,
} from './reconcile-native.ts';
import { must } from '../../domain/values/must.ts';

export interface UnbookedDeps {
  readonly chain: Pick<OutgoingChain, 'network' | 'mode' | 'settings' | 'finalBalances'>;
  readonly readModel: Pick<ReadModel, 'scan'>;
  readonly wholeBooks: WholeRows;
  readonly native: NativeDeps;
  /** After this pause, money that was just arriving is in the books. */
  readonly pause: () => Promise<void>;
}

/** Final money at one of our addresses that is missing from the books. Decimal strings in units of the coin. */
export interface UnbookedMoney {
  readonly sessionId: SessionId;
  readonly network: Network;
  readonly address: string;
  readonly coin: Coin;
  /** Includes deposits that wait for finality. */
  readonly booked: string;
  readonly onChain: string;
  readonly todo: string;
}

export interface UnbookedLook {
  readonly found: readonly UnbookedMoney[];
  /** Native coin that this run booked or found missing. */
  readonly native: readonly NativeDifference[];
  readonly addressesRead: number;
  /** Where to continue; null once every address was examined. */
  readonly next: string | null;
}

/** Addresses per balance request. */
const PAGE = 1_000;
/** Addresses per run: minutes at a rate-limited provider. */
const MOST = 10_000;
const BREATH_MS = 50;

/**
 * Examines every address ever assigned in the mode, whatever became of its session. Money that it holds and the books
 * lack was never recorded. `after`: where the previous run ended.
 */
export async function lookForUnbooked(deps: UnbookedDeps, after: string | null, most = MOST): Promise<UnbookedLook> {
  const { mode, network } = deps.chain;
  const prefix = addressKey(mode, addressFamilyOf(network), '');
  const found: UnbookedMoney[] = [];
  const native: NativeDifference[] = [];
  let [addressesRead, last] = [0, after ?? ''];
  for (;;) {
    const limit = Math.min(PAGE, most - addressesRead);
    const page = await deps.readModel.scan(ADDRESSES_TABLE, { afterKey: `${prefix}${last}`, limit });
    const given = page.flatMap(({ key, row }): GivenAddress[] =>
      key.startsWith(prefix) ? [{ address: key.slice(prefix.length), sessionId: row.sessionId }] : [],
    );
    const sure = await sureAmong(deps, given);
    found.push(...sure.found);
    native.push(...sure.native);
    addressesRead += given.length;
    last = given.at(-1)?.address ?? last;
    if (given.length < limit) return { found, native, addressesRead, next: null };
    if (addressesRead >= most) return { found, native, addressesRead, next: last };
    await sleep(BREATH_MS);
  }
}

/** Drops money that is in the books after the pause, because it was just arriving. */
async function sureAmong(
  deps: UnbookedDeps,
  given: readonly GivenAddress[],
): Promise<Pick<UnbookedLook, 'found' | 'native'>> {
  if (given.length === 0) return { found: [], native: [] };
  const held = await deps.chain.finalBalances(given.map(({ address }) => address));
  const unbooked = new Set((await unbookedAt(deps, given, held)).map(({ address }) => address));
  const differs = await differsInNative(
    deps.native,
    given,
    held.map(({ native }) => native),
  );
  if (unbooked.size === 0 && !differs.includes(true)) return { found: [], native: [] };
  await deps.pause();
  const suspects = given.filter(({ address }) => unbooked.has(address));
  const before = held.filter((_, index) => unbooked.has(must(given[index]).address));
  const heldNow = await surelyHeld(deps, suspects, before);
  const inDoubt = given.filter((_, index) => differs[index]);
  return {
    found: await unbookedAt(deps, suspects, heldNow),
    native: inDoubt.length === 0 ? [] : await settleNative(deps.native, inDoubt),
  };
}

/**
 * What was there before the pause and both states still show: an address may be paid all the time, and a provider whose
 * final state is old still shows what has been swept.
 */
async function surelyHeld(
  { chain, native }: UnbookedDeps,
  given: readonly GivenAddress[],
  before: readonly Pick<AccountBalances, 'coins'>[],
): Promise<Pick<AccountBalances, 'coins'>[]> {
  if (given.length === 0) return [];
  return (await shownAt(native, given)).map(({ final, newest }, index) => {
    const states = [final, newest, must(before[index])];
    const sure = chain.settings.tokens.map(
      ({ coin }) => [coin, states.map(({ coins }) => coins[coin] ?? 0n).reduce(least)] as const,
    );
    return { coins: Object.fromEntries(sure) };
  });
}

async function unbookedAt(
  deps: UnbookedDeps,
  given: readonly GivenAddress[],
  held: readonly Pick<AccountBalances, 'coins'>[],
): Promise<UnbookedMoney[]> {
  if (held.every(({ coins }) => Object.values(coins).every((units) => units === 0n))) return [];
  const { network, settings } = deps.chain;
  const known = await deps.wholeBooks(() => knownMoney(deps));
  return given.flatMap(({ address, sessionId }, index) =>
    settings.tokens.flatMap(({ coin }): UnbookedMoney[] => {
      const onChain = must(held[index]).coins[coin] ?? 0n;
      const booked = known.get(`${comparable(network, address)}/${coin}`) ?? 0n;
      if (onChain <= booked) return [];
      return [
        {
          sessionId,
          network,
          address,
          coin,
          booked: formatAmount(booked),
          onChain: formatAmount(onChain),
          todo: todoFor(network, address),
        },
      ];
    }),
  );
}

/** By address and coin: the books plus deposits that wait for finality. */
async function knownMoney({
  chain,
  readModel,
}: Pick<UnbookedDeps, 'chain' | 'readModel'>): Promise<Map<string, bigint>> {
  const { network, settings } = chain;
  const known = new Map<string, bigint>();
  const add = (address: string, coin: Coin, units: bigint): void => {
    const key = `${comparable(network, address)}/${coin}`;
    known.set(key, (known.get(key) ?? 0n) + units);
  };
  for (const { coin } of settings.tokens)
    for await (const { address, booked } of bookedAddresses({ chain }, { readModel }, coin)) add(address, coin, booked);
  for await (const page of rowPages(readModel, OPEN_DEPOSITS_TABLE, { prefix: openKey(network, '') }))
    for (const { row } of page) {
      const { facts } = row;
      add(facts.toAddress, facts.coin, amountOf(facts.amount));
    }
  return known;
}

const comparable = (network: Network, address: string): string => comparableAddress(addressFamilyOf(network), address);

const todoFor = (network: Network, address: string): string =>
  network === 'solana'
    ? `quittance chain rescan --network solana --address ${address}`
    : `find the blocks of its transfers in an explorer, then: quittance chain rescan --network ${network} --from <block> --to <block>; it is shown as unmatched where the session does not offer the network`;
