import { getAddress } from 'ethers';
import type { BlockRange } from '../../domain/events/treasury-move-events.ts';
import { fromTokenUnits } from '../../domain/money/money.ts';
import { NATIVE_COIN, type NetworkSettings } from '../../domain/networks/networks.ts';
import type { SeenOutflow, StrangersAmong } from '../../ports/outgoing/chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { feeOf, findReceipt, findTransaction, fromQuantity, newestNumber, toQuantity, type RawLog } from './rpc.ts';
import { readTransferLogs, topicOf } from './transfer-log.ts';
import { must } from '../../domain/values/must.ts';

/** Providers truncate wider ranges. */
const RANGE = 2_000;

/**
 * Transfers of our tokens out of an address that others made, with the native coin spent by the same transactions. A
 * transaction that moves only native coin has no log; the account's transaction count and balance reveal it.
 */
export async function evmOutflows(
  provider: RpcProvider,
  settings: NetworkSettings,
  address: string,
  fromBlock: number,
  strangersAmong: StrangersAmong,
): Promise<SeenOutflow[]> {
  const toBlock = await newestNumber(provider);
  const logs = await strangeLogs(provider, settings, [topicOf(address)], { fromBlock, toBlock }, strangersAmong);
  const transfers = logs.flatMap((log) => transferOf(settings, log) ?? []);
  const places = new Map(logs.map((log) => [log.transactionHash, fromQuantity(log.blockNumber, 'block number')]));
  const native = await Promise.all([...places].map((place) => nativeOutflow(provider, settings, address, place)));
  return [...transfers, ...native.flat()];
}

const hashesOf = (logs: readonly RawLog[]): string[] => [
  ...new Set(logs.map(({ transactionHash }) => transactionHash)),
];

/** Of the transfers between these parties, those that others made. */
export async function strangeLogs(
  provider: RpcProvider,
  settings: NetworkSettings,
  parties: readonly (string | null)[],
  range: BlockRange,
  strangersAmong: StrangersAmong,
): Promise<RawLog[]> {
  const logs = await transferLogs(provider, settings, parties, range);
  if (logs.length === 0) return [];
  const strangers = await strangersAmong(hashesOf(logs));
  return logs.filter(({ transactionHash }) => strangers.has(transactionHash));
}

async function transferLogs(
  provider: RpcProvider,
  settings: NetworkSettings,
  parties: readonly (string | null)[],
  { fromBlock, toBlock }: BlockRange,
): Promise<RawLog[]> {
  const found: RawLog[] = [];
  for (let first = fromBlock; first <= toBlock; first += RANGE) {
    const range = { fromBlock: toQuantity(first), toBlock: toQuantity(Math.min(toBlock, first + RANGE - 1)) };
    const filter = { ...range, address: settings.tokens.map((token) => token.address) };
    found.push(...(await readTransferLogs(provider, filter, parties)));
  }
  return found;
}

/** Null for what moves none of our tokens: anybody can log a transfer of nothing in anyone's name (address poisoning). */
export function transferOf({ tokens }: NetworkSettings, log: RawLog) {
  const token = tokens.find((candidate) => candidate.address.toLowerCase() === log.address);
  if (!token || log.topics.length !== 3 || BigInt(log.data) === 0n) return null;
  return {
    coin: token.coin,
    units: fromTokenUnits(BigInt(log.data), token.decimals),
    toAddress: getAddress(`0x${must(log.topics[2]).slice(26)}`),
    txHash: log.transactionHash,
    part: String(fromQuantity(log.logIndex, 'log index')),
    blockNumber: fromQuantity(log.blockNumber, 'block number'),
  };
}

/** What its sender paid besides the tokens: value and fee. Null if somebody else sent it. */
async function nativeOutflow(
  provider: RpcProvider,
  { network }: NetworkSettings,
  address: string,
  [txHash, blockNumber]: readonly [string, number],
): Promise<SeenOutflow[]> {
  const transaction = await findTransaction(provider, txHash, blockNumber);
  const receipt = await findReceipt(provider, txHash, blockNumber);
  if (transaction === null || receipt === null)
    throw new ProviderFault('behind', `does not show ${txHash}, whose log it gave`);
  if (transaction.from.toLowerCase() !== address.toLowerCase()) return [];
  const units = BigInt(transaction.value) + feeOf(receipt);
  if (units === 0n) return [];
  return [
    {
      coin: NATIVE_COIN[network],
      units,
      toAddress: null,
      txHash,
      part: 'native',
      blockNumber,
    },
  ];
}
