import { getAddress } from 'ethers';
import { NATIVE_COIN, type NetworkSettings } from '../../domain/networks/networks.ts';
import type { SeenInflow, SoughtInflows, StrangersAmong } from '../../ports/outgoing/chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { blocksOfChange } from './balance-changes.ts';
import { strangeLogs, transferOf } from './outflows.ts';
import { findReceipt, fromQuantity, newestNumber, readTransactions } from './rpc.ts';
import { topicOf } from './transfer-log.ts';
import { must } from '../../domain/values/must.ts';

/** Limit of blocks read with all transactions; each has a few hundred kilobytes on the main networks. */
const MOST_BLOCKS = 2_000;
const AT_A_TIME = 8;

/**
 * Incoming transfers from others: our tokens by their logs, and native coin by transactions to the address. Native coin
 * from within a contract shows only in the balance.
 */
export async function evmInflows(
  provider: RpcProvider,
  settings: NetworkSettings,
  address: string,
  sought: SoughtInflows,
  strangersAmong: StrangersAmong,
): Promise<SeenInflow[]> {
  if ((await newestNumber(provider)) < sought.toBlock)
    throw new ProviderFault('behind', `does not have block ${sought.toBlock} yet`);
  const native = NATIVE_COIN[settings.network];
  const tokens = sought.coins.some((coin) => coin !== native)
    ? await tokenInflows(provider, settings, address, sought, strangersAmong)
    : [];
  if (!sought.coins.includes(native)) return tokens;
  const paid = await nativeInflows(provider, address, sought, strangersAmong);
  return [...tokens, ...paid.map((inflow) => ({ ...inflow, coin: native }))];
}

async function tokenInflows(
  provider: RpcProvider,
  settings: NetworkSettings,
  address: string,
  sought: SoughtInflows,
  strangersAmong: StrangersAmong,
): Promise<SeenInflow[]> {
  const logs = await strangeLogs(provider, settings, [null, topicOf(address)], sought, strangersAmong);
  return logs.flatMap((log) => {
    const seen = transferOf(settings, log);
    const fromAddress = getAddress(`0x${must(log.topics[1]).slice(26)}`);
    if (seen === null || fromAddress.toLowerCase() === address.toLowerCase()) return [];
    const { coin, units, txHash, blockNumber } = seen;
    return [{ coin, units, fromAddress, txHash, logIndex: fromQuantity(log.logIndex, 'log index'), blockNumber }];
  });
}

async function nativeInflows(
  provider: RpcProvider,
  address: string,
  sought: SoughtInflows,
  strangersAmong: StrangersAmong,
): Promise<Omit<SeenInflow, 'coin'>[]> {
  const numbers = await blocksOfChange(provider, address, sought);
  if (numbers.length > MOST_BLOCKS) return [];
  const found: Omit<SeenInflow, 'coin'>[] = [];
  for (let at = 0; at < numbers.length; at += AT_A_TIME) {
    const part = await Promise.all(
      numbers.slice(at, at + AT_A_TIME).map((number) => paidIn(provider, address, number)),
    );
    found.push(...part.flat());
  }
  if (found.length === 0) return [];
  const strangers = await strangersAmong(found.map(({ txHash }) => txHash));
  return found.filter(({ txHash }) => strangers.has(txHash));
}

/** Successful transactions of one block that sent native coin directly to the address. */
async function paidIn(
  provider: RpcProvider,
  address: string,
  blockNumber: number,
): Promise<Omit<SeenInflow, 'coin'>[]> {
  const meant = (await readTransactions(provider, blockNumber)).filter(
    ({ from, to, value }) =>
      to?.toLowerCase() === address.toLowerCase() && from.toLowerCase() !== address.toLowerCase() && BigInt(value) > 0n,
  );
  const receipts = await Promise.all(meant.map(({ hash }) => findReceipt(provider, hash, blockNumber)));
  return meant.flatMap(({ hash, from, value }, index) => {
    const receipt = receipts[index];
    if (!receipt) throw new ProviderFault('behind', `does not show ${hash}, which is in its block ${blockNumber}`);
    if (receipt.status !== '0x1') return [];
    return [
      { units: BigInt(value), fromAddress: getAddress(from), txHash: hash.toLowerCase(), logIndex: null, blockNumber },
    ];
  });
}
