import type { EventLogRestored } from '../../domain/events/operations-events.ts';
import { addressFamilyOf, comparableAddress } from '../../domain/networks/networks.ts';
import type { AccountChain } from '../../ports/chain/account-chain.ts';
import type { AddressDeriver } from '../../ports/chain/addresses.ts';
import type { Chain, Transfer } from '../../ports/chain/chain.ts';
import { lastBlockBefore } from '../shared/last-block-before.ts';
import { must } from '../../domain/values/must.ts';

export type SearchedChain = Chain | AccountChain;

/** Addresses that a lost part of the event log assigned, which may hold money unknown to any session. */
export type LostAddresses = EventLogRestored['data']['addresses'][number];

export interface FoundMoney {
  /** Number of addresses searched. */
  readonly searched: number;
  readonly transfers: readonly { readonly transfer: Transfer; readonly derivationIndex: number }[];
}

/** Addresses searched beyond those known to be leased, in case the signer's record is lost too. */
const BEYOND_KNOWN = 10_000;
const DERIVED_AT_ONCE = 1_024;
const BLOCKS_AT_A_TIME = 2_000;

/** Every transfer since the time to one of the addresses, on one chain. Throws `ChainUnavailable`. */
export async function searchLost(
  lost: LostAddresses,
  deriver: AddressDeriver,
  chain: SearchedChain,
  sinceSec: number,
): Promise<FoundMoney> {
  const family = addressFamilyOf(chain.network);
  const end = Math.min(deriver.capacity, lost.leasedBelow + (lost.isKnown ? 0 : BEYOND_KNOWN));
  const indexes = new Map<string, number>();
  for (let next = lost.unusedFrom; next < end; next += DERIVED_AT_ONCE) {
    const addresses = await deriver.derive(next, Math.min(DERIVED_AT_ONCE, end - next));
    addresses.forEach((address, at) => indexes.set(comparableAddress(family, address), next + at));
  }
  const transfers =
    'scan' in chain
      ? await ofBlocks(chain, (to) => indexes.has(comparableAddress(family, to)), sinceSec)
      : await ofAccounts(chain, [...indexes.keys()]);
  return {
    searched: indexes.size,
    transfers: transfers.map((transfer) => ({
      transfer,
      derivationIndex: must(indexes.get(comparableAddress(family, transfer.toAddress))),
    })),
  };
}

async function ofBlocks(chain: Chain, isOurs: (address: string) => boolean, sinceSec: number): Promise<Transfer[]> {
  const found: Transfer[] = [];
  const { number: head } = await chain.head();
  for (let from = (await lastBlockBefore(chain, sinceSec)).number; from <= head;) {
    const { transfers, lastBlock } = await chain.scan(from, Math.min(head, from + BLOCKS_AT_A_TIME - 1), isOurs);
    found.push(...transfers);
    from = lastBlock.number + 1;
  }
  return found;
}

/**
 * Only we can take money out of such an account, and nothing was recorded, so everything that arrived is still there.
 */
async function ofAccounts(chain: AccountChain, owners: readonly string[]): Promise<Transfer[]> {
  const accounts = owners.flatMap((owner) => chain.tokenAccountsOf(owner));
  const { units } = await chain.balances(accounts);
  const found: Transfer[] = [];
  for (const account of accounts.filter((_, at) => must(units[at]) > 0n))
    for (const { txHash, failed } of await chain.history(account.account, { commitment: 'confirmed' })) {
      const transfer = failed ? null : (await chain.effectOf(txHash, account))?.transfer;
      if (transfer) found.push(transfer);
    }
  return found;
}
