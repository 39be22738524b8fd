import { setTimeout as sleep } from 'node:timers/promises';
import { formatAmount, amountOf, type Coin } from '../../domain/money.ts';
import { addressFamilyOf, type Network } from '../../domain/networks.ts';
import type { OutgoingChain } from '../../ports/outgoing-chain.ts';
import { rowPages } from '../../ports/row-pages.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import type { WholeRows } from '../../runtime/projections/whole-rows.ts';
import { ADDRESSES_TABLE, addressKey, type AddressRow } from '../../../projections/addresses/address-index.projection.ts';
import { OPEN_DEPOSITS_TABLE, openKey, type DepositRow } from '../../../projections/deposits/deposits-by-block.projection.ts';
import { bookedAddresses } from './reconcile-look.ts';

export interface UnbookedDeps {
  readonly chain: Pick<OutgoingChain, 'network' | 'mode' | 'settings' | 'tokenBalances'>;
  readonly readModel: Pick<ReadModel, 'scan'>;
  readonly wholeBooks: WholeRows;
  /** What arrived just now is in the books after this pause. */
  readonly pause: () => Promise<void>;
}

/** Final money at an address of ours that the books do not have. Decimal strings in units of the coin. */
export interface UnbookedMoney {
  readonly sessionId: string;
  readonly network: Network;
  readonly address: string;
  readonly coin: Coin;
  /** What was seen and waits for its finality included. */
  readonly booked: string;
  readonly onChain: string;
  readonly todo: string;
}

export interface UnbookedLook {
  readonly found: readonly UnbookedMoney[];
  readonly addressesRead: number;
  /** Where to go on; null when every address was looked at. */
  readonly next: string | null;
}

interface Given {
  readonly address: string;
  readonly sessionId: string;
}

/** Addresses whose balances are asked for at a time. */
const PAGE = 1_000;
/** Addresses of one look: minutes at a provider that limits calls. */
const MOST = 10_000;
const BREATH_MS = 50;

/**
 * Looks at every address that was ever given out in the mode, whatever became of its session: what it holds and the books lack was
 * never recorded. `after`: where an earlier look ended.
 */
export async function lookForUnbooked(deps: UnbookedDeps, after: string | null, most = MOST): Promise<UnbookedLook> {
  const { mode, network } = deps.chain;
  const prefix = addressKey(mode, addressFamilyOf(network), '');
  const found: UnbookedMoney[] = [];
  let [addressesRead, last] = [0, after ?? ''];
  for (;;) {
    const limit = Math.min(PAGE, most - addressesRead);
    const page = await deps.readModel.scan(ADDRESSES_TABLE, { afterKey: `${prefix}${last}`, limit });
    const given = page.flatMap(({ key, row }): Given[] =>
      key.startsWith(prefix) ? [{ address: key.slice(prefix.length), sessionId: (row as AddressRow).sessionId }] : [],
    );
    found.push(...(await sureAmong(deps, given)));
    addressesRead += given.length;
    last = given.at(-1)?.address ?? last;
    if (given.length < limit) return { found, addressesRead, next: null };
    if (addressesRead >= most) return { found, addressesRead, next: last };
    await sleep(BREATH_MS);
  }
}

/** Money that is in the books after the pause was just on its way there. */
async function sureAmong(deps: UnbookedDeps, given: readonly Given[]): Promise<UnbookedMoney[]> {
  const first = await unbookedAt(deps, given);
  if (first.length === 0) return [];
  await deps.pause();
  const suspects = new Set(first.map(({ address }) => address));
  return unbookedAt(
    deps,
    given.filter(({ address }) => suspects.has(address)),
  );
}

async function unbookedAt(deps: UnbookedDeps, given: readonly Given[]): Promise<UnbookedMoney[]> {
  if (given.length === 0) return [];
  const { network, settings } = deps.chain;
  const held = await deps.chain.tokenBalances(given.map(({ address }) => address));
  if (held.every((coins) => Object.values(coins).every((units) => units === 0n))) return [];
  const known = await deps.wholeBooks(() => knownMoney(deps));
  return given.flatMap(({ address, sessionId }, index) =>
    settings.tokens.flatMap(({ coin }): UnbookedMoney[] => {
      const onChain = held[index]![coin] ?? 0n;
      const booked = known.get(`${comparable(network, address)}/${coin}`) ?? 0n;
      if (onChain <= booked) return [];
      return [{ sessionId, network, address, coin, booked: formatAmount(booked), onChain: formatAmount(onChain), todo: todoFor(network, address) }];
    }),
  );
}

/** By address and coin: the books, and deposits that wait for their finality. */
async function knownMoney({ chain, readModel }: UnbookedDeps): Promise<Map<string, bigint>> {
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
      const { facts } = row as unknown as DepositRow;
      add(facts.toAddress, facts.coin, amountOf(facts.amount));
    }
  return known;
}

const comparable = (network: Network, address: string): string => (addressFamilyOf(network) === 'evm' ? address.toLowerCase() : address);

const todoFor = (network: Network, address: string): string =>
  network === 'solana'
    ? `quittance chain rescan --network solana --address ${address}`
    : `find the blocks of its transfers in an explorer, then: quittance chain rescan --network ${network} --from <block> --to <block>; it is shown as unmatched where the session does not offer the network`;
