import { fromTokenUnits } from '../../domain/money.ts';
import { NATIVE_COIN, type NetworkSettings } from '../../domain/networks.ts';
import type { SeenOutflow, StrangersAmong } from '../../ports/outgoing-chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/rpc-pool.ts';
import { accountOf } from './address.ts';
import { SUN } from './outgoing-fate.ts';
import { readTransfers, succeeded, tokenAccounts } from './receipt.ts';
import { ask, newestBlock, transactionInfo } from './rpc.ts';

/** Blocks in one answer; the main network's are some 150 kB each. */
const BLOCKS_A_CALL = 10;

interface FoundTransaction {
  readonly txID?: string;
  readonly raw_data?: { readonly contract?: readonly Contract[] };
}
interface Contract {
  readonly type?: string;
  readonly parameter?: { readonly value?: { readonly owner_address?: string; readonly amount?: number; readonly call_value?: number } };
}
interface Found {
  readonly txHash: string;
  readonly blockNumber: number;
  /** In sun; what the transaction itself hands over, without its fee. */
  readonly sun: number;
}

type On = <Value>(task: (provider: RpcProvider) => Promise<Value>) => Promise<Value>;

/**
 * Every transaction that an address sent and we did not sign, whatever it does, with what it took. A node lists no
 * transactions by address, so the blocks themselves are read; who else moves the address's tokens needs an allowance, and
 * granting one is a transaction of the address.
 */
export async function tronOutflows(
  on: On,
  settings: NetworkSettings,
  address: string,
  fromBlock: number,
  strangersAmong: StrangersAmong,
): Promise<SeenOutflow[]> {
  const newest = (await on((provider) => newestBlock(provider, 'wallet'))).number;
  const found: Found[] = [];
  for (let first = fromBlock; first <= newest; first += BLOCKS_A_CALL)
    found.push(...(await on((provider) => sentBy(provider, address, first, Math.min(newest, first + BLOCKS_A_CALL - 1)))));
  if (found.length === 0) return [];
  const strangers = await strangersAmong(found.map(({ txHash }) => txHash));
  const outflows: SeenOutflow[] = [];
  for (const transaction of found.filter(({ txHash }) => strangers.has(txHash)))
    outflows.push(...(await on((provider) => takenBy(provider, settings, address, transaction))));
  return outflows;
}

/** Both blocks included. */
async function sentBy(provider: RpcProvider, address: string, first: number, last: number): Promise<Found[]> {
  type Block = { readonly block_header?: { readonly raw_data?: { readonly number?: number } }; readonly transactions?: readonly FoundTransaction[] };
  const { block: blocks = [] } = await ask<{ readonly block?: readonly Block[] }>(provider, 'wallet', 'getblockbylimitnext', {
    startNum: first,
    endNum: last + 1,
  });
  const numbers = blocks.map((block) => block.block_header?.raw_data?.number ?? 0);
  if (numbers.length !== last - first + 1 || numbers.some((number, index) => number !== first + index))
    throw new ProviderFault('behind', `does not have the blocks ${first} to ${last}`);
  return blocks.flatMap(({ transactions = [] }, index) =>
    transactions.flatMap(({ txID, ...transaction }) => {
      const own = (transaction.raw_data?.contract ?? []).find(
        ({ parameter }) => accountOf(parameter?.value?.owner_address ?? '') === accountOf(address),
      );
      if (own === undefined || txID === undefined) return [];
      const value = own.parameter?.value;
      const sun = (own.type === 'TransferContract' ? (value?.amount ?? 0) : 0) + (value?.call_value ?? 0);
      return [{ txHash: txID, blockNumber: first + index, sun }];
    }),
  );
}

async function takenBy(
  provider: RpcProvider,
  settings: NetworkSettings,
  address: string,
  { txHash, blockNumber, sun }: Found,
): Promise<SeenOutflow[]> {
  const info = await transactionInfo(provider, 'wallet', txHash);
  if (info === null) throw new ProviderFault('behind', `has no receipt of ${txHash}, which is in its block ${blockNumber}`);
  const transfers = readTransfers(info, tokenAccounts(settings.tokens), () => true).filter(({ fromAddress }) => fromAddress === address);
  const tokens = transfers.map(({ tokenAddress, toAddress, tokenUnits, logIndex }): SeenOutflow => {
    const token = settings.tokens.find((candidate) => candidate.address === tokenAddress)!;
    const units = fromTokenUnits(tokenUnits, token.decimals);
    return { coin: token.coin, units, toAddress, txHash, part: String(logIndex), blockNumber };
  });
  const handedOver = info.result === 'FAILED' || (info.receipt?.result !== undefined && !succeeded(info)) ? 0 : sun;
  const native = BigInt(handedOver + (info.fee ?? 0)) * SUN;
  const shared = { toAddress: null, txHash, blockNumber };
  if (native > 0n) return [...tokens, { ...shared, coin: NATIVE_COIN[settings.network], units: native, part: 'native' }];
  return tokens.length > 0 ? tokens : [{ ...shared, coin: null, units: null, part: 'nothing' }];
}
