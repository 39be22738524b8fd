import type { Block, IsOurs, Transfer } from '../../ports/chain/chain.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { faultOf } from '../rpc/dialects.ts';
import { provenReceipts } from './disproof.ts';
import { fromQuantity, mustReadHeader, readBlockReceipts, toQuantity } from './rpc.ts';
import type { Header, RawLog } from './rpc.ts';
import { adviceOf, type RangeAdvice } from './limit-hints.ts';
import { createTransferBloom } from './logs-bloom.ts';
import { createRangeWindow, type RangeWindow } from './range-window.ts';
import { isOurTransfer, readTransferLogs, toTransfer, transferLogsIn, type TokensByAddress } from './transfer-log.ts';
import { must } from '../../domain/values/must.ts';

export interface LogScannerOptions {
  readonly tokens: TokensByAddress;
  readonly initialBlocks: number;
  readonly maxBlocks: number;
}

export interface ScannedRange {
  /** In chain order. */
  readonly transfers: readonly Transfer[];
  readonly lastBlock: Block;
  /** Every block of a short range, samples of a long one; oldest first, including the last. */
  readonly headers: readonly Block[];
}

/**
 * Up to this many blocks, every header is compared with the logs; longer ranges are sampled. Enough for what a restart
 * leaves behind: sessions expire on what this reading found.
 */
const EVERY_HEADER_UP_TO = 256;
const SAMPLES = 3;
/** A provider that silently truncates responses does so at a round number. */
const ROUND_CUT = 1_000;
/** Maximum number of blocks read by receipts at once; each may take its own request. */
const MAX_BLOCKS_BY_RECEIPTS = 64;
const BLOCKS_AT_A_TIME = 8;
const MAX_SEEN_HEADERS = 1_024;
/** How long a provider that refused the logs of a single block is read by receipts. */
const WITHOUT_LOGS_MS = 600_000;
/** Enough halvings to get from any window to a single block. */
const MAX_REFUSALS = 40;

/**
 * Reads token transfers with `eth_getLogs` from one provider at a time and rejects responses that contradict its own
 * headers.
 */
export class LogScanner {
  readonly #options: LogScannerOptions;
  readonly #tokenAddresses: readonly string[];
  readonly #blooms: readonly { readonly address: string; readonly mayHold: (logsBloom: string) => boolean }[];
  readonly #windows = new Map<string, RangeWindow>();
  /** By provider and hash, oldest first: headers of the first reading, which the second one needs again. */
  readonly #seenHeaders = new Map<string, Header>();
  /** Until when a provider is read by receipts, as it refused the logs of a single block. */
  readonly #withoutLogs = new Map<string, number>();

  constructor(options: LogScannerOptions) {
    this.#options = options;
    this.#tokenAddresses = [...options.tokens.keys()];
    this.#blooms = this.#tokenAddresses.map((address) => ({ address, mayHold: createTransferBloom(address) }));
  }

  /**
   * Reads from `fromBlock` as far as this provider's window allows, at most to `toBlock`; by receipts where it serves no
   * logs. `isIdle`: headers of a short range are sampled, too.
   */
  async scan(
    provider: RpcProvider,
    fromBlock: number,
    toBlock: number,
    isOurs: IsOurs,
    isIdle = false,
  ): Promise<ScannedRange> {
    if (performance.now() < (this.#withoutLogs.get(provider.name) ?? 0))
      return this.#scanWithoutLogs(provider, fromBlock, toBlock, isOurs);
    const plannedEnd = Math.min(toBlock, fromBlock + this.#windowOf(provider).blocks - 1);
    // Of a short range every header is read after the logs and compared with them.
    const isShort = plannedEnd - fromBlock < (isIdle ? SAMPLES : EVERY_HEADER_UP_TO);
    const before = isShort ? null : await mustReadHeader(provider, plannedEnd);
    const read = await this.#readLogs(provider, fromBlock, plannedEnd);
    if (read === null) return this.#scanWithoutLogs(provider, fromBlock, toBlock, isOurs);
    const { logs, endBlock } = read;
    const ours = matchLogs(logs, this.#options.tokens, isOurs);
    const headers = await readHeaders(provider, headerNumbers(fromBlock, endBlock, ours, isIdle));
    const last = must(headers.at(-1)).block;
    if (before !== null && endBlock === plannedEnd && last.hash !== before.block.hash)
      throw new ProviderFault('inconsistent', `block ${endBlock} was replaced while its range was read`);
    refuseBrokenLinks(headers);
    await this.#refuseIncomplete(provider, logs, headers, endBlock - fromBlock + 1);
    this.#remember(provider, headers);
    const blocks = new Map(headers.map(({ block }) => [block.number, block]));
    const transfers = ours.map((log) =>
      toTransfer(log, this.#options.tokens, must(blocks.get(fromQuantity(log.blockNumber, 'block number')))),
    );
    transfers.sort((a, b) => a.block.number - b.block.number || a.logIndex - b.logIndex);
    return { transfers, lastBlock: last, headers: headers.map(({ block }) => block) };
  }

  /**
   * Reads a bounded number of blocks by their contents: the receipts of every block whose header may include a
   * transfer, verified against that header. If the provider does not serve receipts, the logs by block hash, which do
   * not come from its range index.
   */
  async scanBlocks(provider: RpcProvider, fromBlock: number, toBlock: number, isOurs: IsOurs): Promise<ScannedRange> {
    const last = await mustReadHeader(provider, Math.min(toBlock, fromBlock + MAX_BLOCKS_BY_RECEIPTS - 1));
    const headers = await this.#headersUpTo(provider, last, fromBlock);
    refuseBrokenLinks(headers);
    const transfers: Transfer[] = [];
    for (let at = 0; at < headers.length; at += BLOCKS_AT_A_TIME) {
      const found = await Promise.all(
        headers.slice(at, at + BLOCKS_AT_A_TIME).map((header) => this.#transfersIn(provider, header, isOurs)),
      );
      transfers.push(...found.flat());
    }
    return { transfers, lastBlock: last.block, headers: headers.map(({ block }) => block) };
  }

  /** Not for good: a provider may serve logs again, and one that serves no receipts either is asked for logs next. */
  async #scanWithoutLogs(
    provider: RpcProvider,
    fromBlock: number,
    toBlock: number,
    isOurs: IsOurs,
  ): Promise<ScannedRange> {
    try {
      return await this.scanBlocks(provider, fromBlock, toBlock, isOurs);
    } catch (error) {
      this.#withoutLogs.delete(provider.name);
      throw error;
    }
  }

  async #transfersIn(provider: RpcProvider, header: Header, isOurs: IsOurs): Promise<Transfer[]> {
    const { block, logsBloom } = header;
    if (logsBloom !== null && !this.#blooms.some(({ mayHold }) => mayHold(logsBloom))) return [];
    const receipts = await provenReceipts(provider, header);
    const logs = receipts
      ? transferLogsIn(receipts, this.#options.tokens)
      : await readTransferLogs(provider, { address: this.#tokenAddresses, blockHash: block.hash });
    refuseForeignBlocks(logs, [header]);
    return matchLogs(logs, this.#options.tokens, isOurs)
      .map((log) => toTransfer(log, this.#options.tokens, block))
      .sort((a, b) => a.logIndex - b.logIndex);
  }

  /**
   * Headers from the first block to the last. Those of the first reading are reused where they lead to the last block;
   * the others are read.
   */
  async #headersUpTo(provider: RpcProvider, last: Header, fromBlock: number): Promise<Header[]> {
    const headers = [last];
    for (let next = last; next.block.number > fromBlock;) {
      const parent = this.#seenHeaders.get(`${provider.name} ${next.block.parentHash}`);
      if (!parent) break;
      headers.unshift(parent);
      next = parent;
    }
    const missing = must(headers[0]).block.number - fromBlock;
    const numbers = Array.from({ length: missing }, (_, offset) => fromBlock + offset);
    return [...(await readHeaders(provider, numbers)), ...headers];
  }

  #remember(provider: RpcProvider, headers: readonly Header[]): void {
    for (const header of headers) this.#seenHeaders.set(`${provider.name} ${header.block.hash}`, header);
    for (const key of this.#seenHeaders.keys()) {
      if (this.#seenHeaders.size <= MAX_SEEN_HEADERS) break;
      this.#seenHeaders.delete(key);
    }
  }

  #windowOf(provider: RpcProvider): RangeWindow {
    let window = this.#windows.get(provider.name);
    if (!window) {
      window = createRangeWindow(this.#options);
      this.#windows.set(provider.name, window);
    }
    return window;
  }

  /** The logs from `fromBlock` to the largest end that the provider serves; null if it does not serve one block. */
  async #readLogs(
    provider: RpcProvider,
    fromBlock: number,
    toBlock: number,
  ): Promise<{ logs: readonly RawLog[]; endBlock: number } | null> {
    const window = this.#windowOf(provider);
    let endBlock = toBlock;
    for (let refusals = 0; refusals < MAX_REFUSALS; refusals += 1) {
      const asked = endBlock - fromBlock + 1;
      const read = await this.#readRange(provider, fromBlock, endBlock);
      if (Array.isArray(read)) {
        window.succeeded(asked);
        return { logs: read, endBlock };
      }
      if (asked === 1 || read.kind === 'not-served') {
        this.#withoutLogs.set(provider.name, performance.now() + WITHOUT_LOGS_MS);
        return null;
      }
      const next =
        read.kind === 'up-to' ? read.toBlock - fromBlock + 1 : read.kind === 'at-most' ? read.blocks : asked / 2;
      window.refused(next, read.kind === 'at-most');
      endBlock = Math.min(endBlock, fromBlock + window.blocks - 1);
    }
    throw new ProviderFault('inconsistent', `eth_getLogs refused ${MAX_REFUSALS} ever smaller ranges`);
  }

  async #readRange(provider: RpcProvider, fromBlock: number, endBlock: number): Promise<RawLog[] | RangeAdvice> {
    const range = { fromBlock: toQuantity(fromBlock), toBlock: toQuantity(endBlock) };
    try {
      const logs = await readTransferLogs(provider, { address: this.#tokenAddresses, ...range });
      return logs.length === 0 || logs.length % ROUND_CUT !== 0 ? logs : { kind: 'halve' };
    } catch (error) {
      if (!(error instanceof RpcError || error instanceof ProviderFault)) throw error;
      const advice = adviceOf(error, fromBlock, endBlock);
      if (advice.kind === 'refused') throw error instanceof RpcError ? faultOf(error, 'eth_getLogs') : error;
      return advice;
    }
  }

  /**
   * Throws if logs are missing compared with the headers. A node that lags behind its own headers, or truncates
   * responses, returns too few logs without an error; the bloom filter of the header tells where to expect some.
   */
  async #refuseIncomplete(
    provider: RpcProvider,
    logs: readonly RawLog[],
    headers: readonly Header[],
    rangeBlocks: number,
  ): Promise<void> {
    const seen = refuseForeignBlocks(logs, headers);
    for (const { block, logsBloom } of headers) {
      for (const { address, mayHold } of this.#blooms) {
        if (logsBloom === null || seen.has(address + toQuantity(block.number)) || !mayHold(logsBloom)) continue;
        if (!(await this.#hasTransfers(provider, block, address))) continue;
        if (rangeBlocks > 1) this.#windowOf(provider).refused(rangeBlocks / 2, false);
        throw new ProviderFault('inconsistent', `eth_getLogs left out transfers of block ${block.number}`);
      }
    }
  }

  /**
   * Asks by block hash, which a node without the block must refuse (EIP-234); by receipts where that is not supported.
   */
  async #hasTransfers(provider: RpcProvider, block: Block, tokenAddress: string): Promise<boolean> {
    try {
      return (await readTransferLogs(provider, { address: tokenAddress, blockHash: block.hash })).length > 0;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const logs = transferLogsIn(await readBlockReceipts(provider, block.number), this.#options.tokens);
      return logs.some((log) => log.address === tokenAddress);
    }
  }
}

/** The logs that are transfers of allow-listed tokens to us. Every transfer of the network passes through this loop. */
export function matchLogs(logs: readonly RawLog[], tokens: TokensByAddress, isOurs: IsOurs): RawLog[] {
  const candidates = isOurs.sift
    ? isOurs.sift(logs.map((log) => log.topics[2] ?? '')).map((position) => must(logs[position]))
    : logs;
  return candidates.filter((log) => isOurTransfer(log, tokens, isOurs));
}

async function readHeaders(provider: RpcProvider, numbers: readonly number[]): Promise<Header[]> {
  const headers: Header[] = [];
  for (let at = 0; at < numbers.length; at += BLOCKS_AT_A_TIME) {
    const some = numbers.slice(at, at + BLOCKS_AT_A_TIME);
    headers.push(...(await Promise.all(some.map((number) => mustReadHeader(provider, number)))));
  }
  return headers;
}

function headerNumbers(fromBlock: number, endBlock: number, ours: readonly RawLog[], isIdle: boolean): number[] {
  const length = endBlock - fromBlock + 1;
  const numbers = new Set(ours.map((log) => fromQuantity(log.blockNumber, 'block number')));
  for (const number of numbers) {
    if (number < fromBlock || number > endBlock)
      throw new ProviderFault('inconsistent', `a log of block ${number} in an answer for ${fromBlock} to ${endBlock}`);
  }
  if (length <= (isIdle ? SAMPLES : EVERY_HEADER_UP_TO))
    for (let number = fromBlock; number <= endBlock; number += 1) numbers.add(number);
  else for (let sample = 0; sample < SAMPLES; sample += 1) numbers.add(fromBlock + Math.floor(Math.random() * length));
  return [...numbers.add(endBlock)].sort((a, b) => a - b);
}

function refuseBrokenLinks(headers: readonly Header[]): void {
  headers.forEach(({ block }, index) => {
    const parent = headers[index - 1]?.block;
    if (parent && parent.number === block.number - 1 && parent.hash !== block.parentHash) {
      throw new ProviderFault('inconsistent', `block ${block.number} does not follow block ${parent.number}`);
    }
  });
}

/** Which token appears in which block (address and block quantity joined). Throws if a log belongs to another block. */
function refuseForeignBlocks(logs: readonly RawLog[], headers: readonly Header[]): Set<string> {
  const hashes = new Map(headers.map(({ block }) => [toQuantity(block.number), block.hash]));
  const seen = new Set<string>();
  for (const log of logs) {
    const hash = hashes.get(log.blockNumber);
    if (hash === undefined) continue;
    if (hash !== log.blockHash)
      throw new ProviderFault('inconsistent', `a log of block ${log.blockNumber} that is not in the chain`);
    seen.add(log.address + log.blockNumber);
  }
  return seen;
}
