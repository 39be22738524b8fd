import type { Block } from '../../ports/chain/chain.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';

/*
 * The parts of Ethereum JSON-RPC responses that are used here (execution-apis), validated on entry. Hex text of
 * receipts and logs is in lower case from there on, as providers differ in it.
 */

export interface RawLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly transactionHash: string;
  readonly logIndex: string;
  readonly removed?: boolean;
}

export interface RawReceipt {
  readonly transactionHash: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly status: string;
  readonly logs: readonly RawLog[];
  readonly gasUsed: string;
  readonly effectiveGasPrice?: string;
  readonly type?: string;
  readonly cumulativeGasUsed?: string;
  readonly logsBloom?: string;
}

export interface RawTransaction {
  readonly hash: string;
  readonly from: string;
  /** Absent where it makes a contract. */
  readonly to?: string | null;
  readonly value: string;
}

export interface Header {
  readonly block: Block;
  /** 2048-bit bloom over the addresses and topics of the block's logs; null if the node omits it. */
  readonly logsBloom: string | null;
  /** The root hash of all receipts of the block; null if the node omits it. */
  readonly receiptsRoot: string | null;
}

const QUANTITY = /^0x(0|[1-9a-f][0-9a-f]{0,12})$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
/** At most 256 bits. */
const AMOUNT = /^0x[0-9a-f]{1,64}$/i;

export const toQuantity = (number: number): string => `0x${number.toString(16)}`;

/** For block numbers, times and indexes: at most 52 bits. */
export function fromQuantity(value: unknown, what: string): number {
  if (!isText(value, QUANTITY)) throw new ProviderFault('inconsistent', `${what} is not a quantity`);
  return Number.parseInt(value, 16);
}

/** For amounts: at most 256 bits. */
export function wideQuantity(value: unknown, what: string): bigint {
  if (!isText(value, AMOUNT)) throw new ProviderFault('inconsistent', `${what} is not a quantity`);
  return BigInt(value);
}

export const newestNumber = async (provider: RpcProvider): Promise<number> =>
  fromQuantity(await provider.call('eth_blockNumber', []), 'newest block number');

function readHash(value: unknown, what: string): string {
  if (!isText(value, HASH)) throw new ProviderFault('inconsistent', `${what} is not a hash`);
  return value.toLowerCase();
}

/** By number or tag; null if the provider does not have the block (yet). */
export async function readHeader(provider: RpcProvider, at: number | 'latest' | 'finalized'): Promise<Header | null> {
  const raw = await provider.call('eth_getBlockByNumber', [typeof at === 'number' ? toQuantity(at) : at, false]);
  if (raw === null) return null;
  if (!isObject(raw)) throw new ProviderFault('inconsistent', `block ${at} is not a block`);
  const block = {
    number: fromQuantity(raw['number'], 'block number'),
    hash: readHash(raw['hash'], 'block hash'),
    parentHash: readHash(raw['parentHash'], 'parent hash'),
    timeSec: fromQuantity(raw['timestamp'], 'block time'),
  };
  if (typeof at === 'number' && block.number !== at)
    throw new ProviderFault('inconsistent', `asked for block ${at}, got ${block.number}`);
  const bloom = raw['logsBloom'];
  const root = raw['receiptsRoot'];
  return {
    block,
    logsBloom: typeof bloom === 'string' && bloom.length === 514 ? bloom : null,
    receiptsRoot: isText(root, HASH) ? root.toLowerCase() : null,
  };
}

/** Like `readHeader`, for a block that the network is known to have. */
export async function mustReadHeader(provider: RpcProvider, at: number | 'latest' | 'finalized'): Promise<Header> {
  const header = await readHeader(provider, at);
  if (header === null) throw new ProviderFault('behind', `block ${at} is not there`);
  return header;
}

/** The newest final block; null while the node knows none. */
export const finalBlock = async (provider: RpcProvider): Promise<Block | null> =>
  (await nullIfNotKnown(readHeader(provider, 'finalized')))?.block ?? null;

/** -1 while the node knows none, as what is not known to be final is not. */
export const finalNumber = async (provider: RpcProvider): Promise<number> => (await finalBlock(provider))?.number ?? -1;

/** What the node does not have yet, or no longer. */
export const isNotKnown = (error: unknown): boolean =>
  error instanceof RpcError && ['not-ready', 'not-kept', 'behind'].includes(error.means);

const nullIfNotKnown = <Found>(reading: Promise<Found | null>): Promise<Found | null> =>
  reading.catch((error: unknown) => {
    if (isNotKnown(error)) return null;
    throw error;
  });

/** By its hash, or in its block: a node forgets the hashes of old transactions and keeps their blocks. */
export async function findReceipt(
  provider: RpcProvider,
  txHash: string,
  blockNumber: number,
): Promise<RawReceipt | null> {
  const found = await nullIfNotKnown(readReceipt(provider, txHash));
  if (found !== null) return found;
  try {
    const receipts = await readBlockReceipts(provider, blockNumber);
    return receipts.find(({ transactionHash }) => transactionHash === txHash.toLowerCase()) ?? null;
  } catch (error) {
    if (error instanceof RpcError || (error instanceof ProviderFault && error.kind === 'behind')) return null;
    throw error;
  }
}

export async function readReceipt(provider: RpcProvider, txHash: string): Promise<RawReceipt | null> {
  const raw = await provider.call('eth_getTransactionReceipt', [txHash]);
  if (raw === null) return null;
  const receipt = receiptIn(raw);
  if (receipt === null) throw new ProviderFault('inconsistent', 'the receipt lacks what one has');
  if (receipt.transactionHash !== txHash.toLowerCase())
    throw new ProviderFault('inconsistent', 'the receipt is of another transaction');
  return receipt;
}

/**
 * Validates every entry, or rejects the whole response: an incomplete receipt would otherwise fail in the middle of a
 * scan.
 */
export async function readBlockReceipts(provider: RpcProvider, number: number): Promise<readonly RawReceipt[]> {
  const raw = await provider.call('eth_getBlockReceipts', [toQuantity(number)]);
  if (!Array.isArray(raw)) throw new ProviderFault('behind', `no receipts of block ${number}`);
  return raw.map((entry: unknown) => {
    const receipt = receiptIn(entry);
    if (receipt !== null && fromQuantity(receipt.blockNumber, 'block number') === number) return receipt;
    throw new ProviderFault('inconsistent', `an entry of the receipts of block ${number} is not a receipt`);
  });
}

/** What its sender paid, in wei. */
export const feeOf = ({ gasUsed, effectiveGasPrice }: RawReceipt): bigint =>
  wideQuantity(gasUsed, 'gas used') * wideQuantity(effectiveGasPrice, 'gas price');

/** Every transaction of a block that the provider must have. */
export async function readTransactions(provider: RpcProvider, number: number): Promise<readonly RawTransaction[]> {
  const raw = await provider.call('eth_getBlockByNumber', [toQuantity(number), true]);
  if (!isObject(raw) || !Array.isArray(raw['transactions']))
    throw new ProviderFault('behind', `does not have block ${number}`);
  const transactions: readonly unknown[] = raw['transactions'];
  if (!transactions.every(isTransaction))
    throw new ProviderFault('inconsistent', `an entry of block ${number} is not a transaction`);
  return transactions;
}

export async function readTransaction(provider: RpcProvider, txHash: string): Promise<RawTransaction | null> {
  const raw = await provider.call('eth_getTransactionByHash', [txHash]);
  if (raw !== null && !isTransaction(raw)) throw new ProviderFault('inconsistent', `${txHash} is not a transaction`);
  return raw;
}

/** As `findReceipt`. */
export async function findTransaction(
  provider: RpcProvider,
  txHash: string,
  blockNumber: number,
): Promise<RawTransaction | null> {
  const found = await nullIfNotKnown(readTransaction(provider, txHash));
  if (found !== null) return found;
  const inBlock = await readTransactions(provider, blockNumber);
  return inBlock.find(({ hash }) => hash.toLowerCase() === txHash.toLowerCase()) ?? null;
}

/** Wei for a unit of gas in the newest block; 0 where the network has no base fee. */
export async function readBaseFee(provider: RpcProvider): Promise<bigint> {
  const raw = await provider.call('eth_getBlockByNumber', ['latest', false]);
  if (!isObject(raw)) throw new ProviderFault('behind', 'does not have its newest block');
  return wideQuantity(raw['baseFeePerGas'], 'base fee');
}

export async function readLogs(provider: RpcProvider, filter: Record<string, unknown>): Promise<RawLog[]> {
  const logs = await provider.call('eth_getLogs', [filter]);
  if (!Array.isArray(logs)) throw new ProviderFault('inconsistent', 'eth_getLogs did not answer a list');
  return logs.map((entry: unknown) => {
    const log = logIn(entry);
    if (log === null)
      throw new ProviderFault('inconsistent', 'the answer of eth_getLogs holds something that is no log');
    return log;
  });
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function receiptIn(value: unknown): RawReceipt | null {
  if (!isReceipt(value) || !HASH.test(value.transactionHash)) return null;
  const logs = value.logs.map(logIn);
  if (!logs.every((log) => log !== null)) return null;
  const [transactionHash, blockHash] = [value.transactionHash.toLowerCase(), value.blockHash.toLowerCase()];
  return { ...value, transactionHash, blockHash, logs };
}

const isReceipt = (value: unknown): value is Omit<RawReceipt, 'logs'> & { readonly logs: readonly unknown[] } =>
  isObject(value) &&
  ['transactionHash', 'blockNumber', 'blockHash'].every((field) => typeof value[field] === 'string') &&
  // Any other status would pass for a failure, which releases the money of a payout.
  (value['status'] === '0x0' || value['status'] === '0x1') &&
  Array.isArray(value['logs']);

const isTransaction = (value: unknown): value is RawTransaction =>
  isObject(value) &&
  isText(value['hash'], HASH) &&
  isText(value['from'], ADDRESS) &&
  isText(value['value'], AMOUNT) &&
  // Absent where it makes a contract.
  ((value['to'] ?? null) === null || isText(value['to'], ADDRESS));

const isText = (value: unknown, form: RegExp): value is string => typeof value === 'string' && form.test(value);

const LOG_FIELDS = ['address', 'data', 'blockNumber', 'blockHash', 'transactionHash', 'logIndex'] as const;
const UPPER_CASE = /[A-Z]/;

/** Checks only the shape; quantities and hashes are validated where they are read. Null for what is no log. */
function logIn(value: unknown): RawLog | null {
  if (!isLog(value)) return null;
  const isLower = LOG_FIELDS.every((field) => !UPPER_CASE.test(value[field]));
  if (isLower && !value.topics.some((topic) => UPPER_CASE.test(topic))) return value;
  const lower = { ...value, topics: value.topics.map((topic) => topic.toLowerCase()) };
  for (const field of LOG_FIELDS) lower[field] = lower[field].toLowerCase();
  return lower;
}

const isLog = (value: unknown): value is RawLog =>
  isObject(value) &&
  LOG_FIELDS.every((field) => typeof value[field] === 'string') &&
  Array.isArray(value['topics']) &&
  value['topics'].every((topic) => typeof topic === 'string');
