import { getAddress } from 'ethers';
import { fromTokenUnits } from '../../domain/money.ts';
import { NATIVE_COIN, type NetworkSettings } from '../../domain/networks.ts';
import type { SeenInflow, SeenOutflow, StrangersAmong } from '../../ports/outgoing-chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/rpc-pool.ts';
import { TRANSFER_TOPIC } from './transfer-log.ts';

/** Providers cut wider ranges off. */
const RANGE = 2_000;

interface FoundLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly transactionHash: string;
  readonly logIndex: string;
  readonly blockNumber: string;
}

/**
 * Transfers of our tokens out of an address that others made, with the native coin that the same transactions took. One
 * that moves native coin alone leaves no log: the account's transaction count and its balance tell of it.
 */
export async function evmOutflows(
  provider: RpcProvider,
  settings: NetworkSettings,
  address: string,
  fromBlock: number,
  strangersAmong: StrangersAmong,
): Promise<SeenOutflow[]> {
  const logs = await strangeLogs(provider, settings, [topicOf(address)], fromBlock, strangersAmong);
  const transfers = logs.flatMap((log) => transferOf(settings, log) ?? []);
  const native = await Promise.all(hashesOf(logs).map((txHash) => nativeOutflow(provider, settings, address, txHash)));
  return [...transfers, ...native.flat()];
}

/** Transfers of our tokens to an address that others made. What native coin came leaves no log. */
export async function evmInflows(
  provider: RpcProvider,
  settings: NetworkSettings,
  address: string,
  fromBlock: number,
  strangersAmong: StrangersAmong,
): Promise<SeenInflow[]> {
  const logs = await strangeLogs(provider, settings, [null, topicOf(address)], fromBlock, strangersAmong);
  return logs.flatMap((log) => {
    const seen = transferOf(settings, log);
    const fromAddress = getAddress(`0x${log.topics[1]!.slice(26)}`);
    if (seen === null || fromAddress.toLowerCase() === address.toLowerCase()) return [];
    const { coin, units, txHash, blockNumber } = seen;
    return [{ coin, units, fromAddress, txHash, logIndex: Number(log.logIndex), blockNumber }];
  });
}

const topicOf = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

const hashesOf = (logs: readonly FoundLog[]): string[] => [...new Set(logs.map(({ transactionHash }) => transactionHash.toLowerCase()))];

/** Of the transfers between these parties those that others made. */
async function strangeLogs(
  provider: RpcProvider,
  settings: NetworkSettings,
  parties: readonly (string | null)[],
  fromBlock: number,
  strangersAmong: StrangersAmong,
): Promise<FoundLog[]> {
  const logs = await transferLogs(provider, settings, parties, fromBlock);
  if (logs.length === 0) return [];
  const strangers = await strangersAmong(hashesOf(logs));
  return logs.filter(({ transactionHash }) => strangers.has(transactionHash.toLowerCase()));
}

async function transferLogs(
  provider: RpcProvider,
  settings: NetworkSettings,
  parties: readonly (string | null)[],
  fromBlock: number,
): Promise<FoundLog[]> {
  const newest = Number(await provider.call('eth_blockNumber', []));
  const found: FoundLog[] = [];
  for (let first = fromBlock; first <= newest; first += RANGE) {
    const range = { fromBlock: hex(first), toBlock: hex(Math.min(newest, first + RANGE - 1)) };
    const filter = { ...range, address: settings.tokens.map((token) => token.address), topics: [TRANSFER_TOPIC, ...parties] };
    found.push(...((await provider.call('eth_getLogs', [filter])) as readonly FoundLog[]));
  }
  return found;
}

function transferOf({ tokens }: NetworkSettings, log: FoundLog) {
  const token = tokens.find((candidate) => candidate.address.toLowerCase() === log.address.toLowerCase());
  if (!token || log.topics.length !== 3) return null;
  return {
    coin: token.coin,
    units: fromTokenUnits(BigInt(log.data), token.decimals),
    toAddress: getAddress(`0x${log.topics[2]!.slice(26)}`),
    txHash: log.transactionHash.toLowerCase(),
    part: String(Number(log.logIndex)),
    blockNumber: Number(log.blockNumber),
  };
}

/** What its sender paid beside the tokens: value and fee. Nothing when somebody else sent it. */
async function nativeOutflow(provider: RpcProvider, { network }: NetworkSettings, address: string, txHash: string): Promise<SeenOutflow[]> {
  const transaction = (await provider.call('eth_getTransactionByHash', [txHash])) as { readonly value: string } | null;
  const receipt = (await provider.call('eth_getTransactionReceipt', [txHash])) as {
    readonly from: string;
    readonly blockNumber: string;
    readonly gasUsed: string;
    readonly effectiveGasPrice: string;
  } | null;
  if (transaction === null || receipt === null) throw new ProviderFault('behind', `does not show ${txHash}, whose log it gave`);
  if (receipt.from.toLowerCase() !== address.toLowerCase()) return [];
  const units = BigInt(transaction.value) + BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
  if (units === 0n) return [];
  return [{ coin: NATIVE_COIN[network], units, toAddress: null, txHash, part: 'native', blockNumber: Number(receipt.blockNumber) }];
}

const hex = (number: number): string => `0x${number.toString(16)}`;
