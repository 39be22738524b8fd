import { fromTokenUnits } from '../../domain/money/money.ts';
import { NATIVE_COIN, type NetworkSettings } from '../../domain/networks/networks.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import type { SeenOutflow, StrangersAmong } from '../../ports/outgoing/chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { accountOf } from './address.ts';
import { SUN } from './outgoing-fate.ts';
import { readTransfers, tokenAccounts } from './receipt.ts';
import { listedBlocks, type ListedBlock, type On } from './listed-blocks.ts';
import { newestBlock, transactionInfo } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

interface Found {
  readonly txHash: string;
  readonly blockNumber: number;
  /** In sun; what the transaction itself transfers, without its fee. */
  readonly sun: number;
}

/**
 * Every transaction that an address sent and we did not sign, with what it took. Nodes do not index transactions by
 * address, so the blocks are read. Anyone else who moves the address's tokens needs an allowance, and granting one is a
 * transaction of the address.
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
  for await (const blocks of listedBlocks(on, { fromBlock, toBlock: newest })) found.push(...sentBy(address, blocks));
  if (found.length === 0) return [];
  const strangers = await strangersAmong(found.map(({ txHash }) => txHash));
  const outflows: SeenOutflow[] = [];
  for (const transaction of found.filter(({ txHash }) => strangers.has(txHash)))
    outflows.push(...(await on((provider) => takenBy(provider, settings, address, transaction))));
  return outflows;
}

/** Transactions sent by the address. */
const sentBy = (address: string, blocks: readonly ListedBlock[]): Found[] =>
  blocks.flatMap(({ number, transactions }) =>
    transactions.flatMap(({ txID, raw_data: raw }) => {
      const own = (raw?.contract ?? []).find(
        ({ parameter }) => accountOf(parameter?.value?.owner_address ?? '') === accountOf(address),
      );
      if (own === undefined) return [];
      const value = own.parameter?.value;
      const sun = (own.type === 'TransferContract' ? (value?.amount ?? 0) : 0) + (value?.call_value ?? 0);
      return [{ txHash: txID, blockNumber: number, sun }];
    }),
  );

async function takenBy(
  provider: RpcProvider,
  settings: NetworkSettings,
  address: string,
  { txHash, blockNumber, sun }: Found,
): Promise<SeenOutflow[]> {
  const info = await transactionInfo(provider, 'wallet', txHash);
  if (info === null)
    throw new ProviderFault('behind', `has no receipt of ${txHash}, which is in its block ${blockNumber}`);
  const transfers = readTransfers(info, tokenAccounts(settings.tokens), () => true).filter(
    ({ fromAddress }) => fromAddress === address,
  );
  const tokens = transfers.map(({ tokenAddress, toAddress, tokenUnits, logIndex }): SeenOutflow => {
    const token = must(settings.tokens.find((candidate) => candidate.address === tokenAddress));
    const units = fromTokenUnits(tokenUnits, token.decimals);
    return { coin: token.coin, units, toAddress, txHash, part: String(logIndex), blockNumber };
  });
  // A call that paid a contract in TRX ends like a transfer of TRX.
  const handedOver = OUTCOMES['tron-native'](info) === 'nothing' ? 0 : sun;
  const native = BigInt(handedOver + (info.fee ?? 0)) * SUN;
  const shared = { toAddress: null, txHash, blockNumber };
  if (native > 0n)
    return [...tokens, { ...shared, coin: NATIVE_COIN[settings.network], units: native, part: 'native' }];
  return tokens.length > 0 ? tokens : [{ ...shared, coin: null, units: null, part: 'nothing' }];
}
