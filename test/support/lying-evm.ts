import { getBytes, keccak256, toUtf8Bytes } from 'ethers';
import { receiptsRootOf } from '../../src/adapters/evm/receipts-root.ts';
import { rpcErrorOf } from '../../src/adapters/rpc/dialects.ts';
import { TRANSFER_TOPIC } from '../../src/adapters/evm/transfer-log.ts';
import { ChainUnavailable } from '../../src/ports/chain/chain.ts';
import { ProviderFault, RpcError } from '../../src/ports/chain/rpc-pool.ts';
import type { Opinion, RpcPool, RpcProvider, RunOptions } from '../../src/ports/chain/rpc-pool.ts';

/** A token transfer that some block holds, or may. */
export interface ModelTransfer {
  readonly txHash: string;
  readonly to: string;
  readonly units: bigint;
}

export interface ModelBlock {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly transfers: readonly ModelTransfer[];
  readonly receipts: readonly ModelReceipt[];
}

interface ModelReceipt {
  readonly transactionHash: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly status: string;
  readonly type: string;
  readonly cumulativeGasUsed: string;
  readonly logsBloom: string;
  readonly logs: readonly object[];
}

export const START_SEC = 1_800_000_000;
const FINALITY = 4;
export const PAYER = `0x${'77'.repeat(20)}`;

const hex = (value: number): string => `0x${value.toString(16)}`;
const word = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

/** One chain in memory, with headers that commit to what their blocks hold. */
export class ModelChain {
  readonly token: string;
  #blocks: ModelBlock[] = [];
  #made = 0;

  constructor(token: string) {
    this.token = token;
    this.mine([]);
  }

  get head(): number {
    return this.#blocks.length - 1;
  }

  get finalized(): number {
    return Math.max(0, this.head - FINALITY);
  }

  at(number: number): ModelBlock | undefined {
    return this.#blocks[number];
  }

  blockOf(txHash: string): ModelBlock | undefined {
    return this.#blocks.find(({ transfers }) => transfers.some((transfer) => transfer.txHash === txHash));
  }

  mine(transfers: readonly ModelTransfer[]): void {
    const number = this.#blocks.length;
    this.#made += 1;
    const hash = keccak256(toUtf8Bytes(`block ${this.#made}`));
    const parentHash = this.#blocks.at(-1)?.hash ?? `0x${'0'.repeat(64)}`;
    const receipts = transfers.map((transfer, index) => this.#receiptOf(transfer, index, number, hash));
    this.#blocks.push({ number, hash, parentHash, transfers, receipts });
  }

  /** Takes the newest blocks away, never a final one; answers what they held. */
  drop(count: number): readonly ModelTransfer[] {
    const dropped = this.#blocks.splice(Math.max(this.finalized + 1, this.#blocks.length - count));
    return dropped.flatMap(({ transfers }) => transfers);
  }

  headerOf({ number, hash, parentHash, receipts }: ModelBlock): object {
    return {
      ...{ number: hex(number), hash, parentHash, timestamp: hex(START_SEC + number * 12) },
      logsBloom: union(receipts.map(({ logsBloom }) => logsBloom)),
      receiptsRoot: receiptsRootOf(receipts as never),
    };
  }

  #receiptOf({ txHash, to, units }: ModelTransfer, index: number, number: number, hash: string): ModelReceipt {
    const topics = [TRANSFER_TOPIC, word(PAYER), word(to)];
    const place = { blockNumber: hex(number), blockHash: hash, transactionHash: txHash };
    const log = {
      ...place,
      address: this.token,
      topics,
      data: `0x${units.toString(16).padStart(64, '0')}`,
      logIndex: hex(index),
    };
    const gas = hex(50_000 * (index + 1));
    return {
      ...place,
      status: '0x1',
      type: '0x2',
      cumulativeGasUsed: gas,
      logsBloom: bloomOf([this.token, ...topics]),
      logs: [log],
    };
  }
}

/** What a provider leaves out at the moment. */
export interface Lies {
  nullReceipts: boolean;
  nullBlockReceipts: boolean;
  /** Our transfers, out of every log answer. */
  withoutOurs: boolean;
  lagBlocks: number;
  /** Calls its newest block final. */
  finalIsHead?: boolean;
}

export const HONEST: Lies = { nullReceipts: false, nullBlockReceipts: false, withoutOurs: false, lagBlocks: 0 };

/** A provider of the chain that leaves things out. What it makes up is in a chain of its own. */
export class ModelProvider implements RpcProvider {
  readonly name: string;
  lies: Lies = HONEST;
  readonly #chain: ModelChain;
  readonly #ours: string;

  constructor(name: string, chain: ModelChain, ours: string) {
    this.name = name;
    this.#chain = chain;
    this.#ours = word(ours);
  }

  report(): void {}

  post(): Promise<unknown> {
    return Promise.reject(new ProviderFault('incapable', 'no such call'));
  }

  get(): Promise<unknown> {
    return this.post();
  }

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    const chain = this.#chain;
    const head = Math.max(0, chain.head - this.lies.lagBlocks);
    const at = (tag: unknown): number =>
      tag === 'latest'
        ? head
        : tag === 'finalized'
          ? this.lies.finalIsHead
            ? head
            : Math.min(head, chain.finalized)
          : Number(tag);
    const shown = (number: number) => (number <= head ? chain.at(number) : undefined);
    switch (method) {
      case 'eth_chainId':
        return '0x7a69';
      case 'eth_call':
        return `0x${'6'.padStart(64, '0')}`;
      case 'eth_getBlockByNumber': {
        const block = shown(at(params[0]));
        return block ? chain.headerOf(block) : null;
      }
      case 'eth_getTransactionReceipt': {
        const block = this.lies.nullReceipts ? undefined : chain.blockOf(params[0] as string);
        return (
          (block && shown(block.number)?.receipts.find(({ transactionHash }) => transactionHash === params[0])) ?? null
        );
      }
      case 'eth_getBlockReceipts':
        return this.lies.nullBlockReceipts ? null : (shown(at(params[0]))?.receipts ?? null);
      case 'eth_getLogs':
        return this.#logs(params[0] as { fromBlock?: string; toBlock?: string; blockHash?: string }, head);
      default:
        throw refused(method, `the method ${method} does not exist/is not available`, -32_601);
    }
  }

  #logs(
    { fromBlock, toBlock, blockHash }: { fromBlock?: string; toBlock?: string; blockHash?: string },
    head: number,
  ): unknown {
    const all = Array.from({ length: head + 1 }, (_, number) => this.#chain.at(number)!);
    refuseLogs(fromBlock, toBlock, head);
    if (blockHash && !all.some(({ hash }) => hash === blockHash)) throw refused('eth_getLogs', 'unknown block');
    const wanted = all.filter(({ number, hash }) =>
      blockHash ? hash === blockHash : number >= Number(fromBlock) && number <= Number(toBlock),
    );
    const logs = wanted.flatMap(({ receipts }) =>
      receipts.flatMap((receipt) => receipt.logs as { topics: string[] }[]),
    );
    return this.lies.withoutOurs ? logs.filter(({ topics }) => topics[2] !== this.#ours) : logs;
  }
}

const refused = (method: string, text: string, code = -32_000): RpcError =>
  rpcErrorOf({ family: 'evm', method, code, text });

/** As geth 1.17.10 does. */
function refuseLogs(fromBlock: string | undefined, toBlock: string | undefined, head: number): void {
  if (fromBlock === undefined || toBlock === undefined) return;
  if (Number(fromBlock) > Number(toBlock)) throw refused('eth_getLogs', 'invalid block range params', -32_602);
  if (Number(toBlock) > head) throw refused('eth_getLogs', 'block range extends beyond current head block', -32_602);
}

/** Providers in memory, asked in their order. */
export class ModelPool implements RpcPool {
  readonly #providers: readonly RpcProvider[];

  constructor(providers: readonly RpcProvider[]) {
    this.#providers = providers;
  }

  get size(): number {
    return this.#providers.length;
  }

  get sources(): number {
    return this.size;
  }

  async run<Value>(task: (provider: RpcProvider) => Promise<Value>, { preferOtherThan = [] }: RunOptions = {}) {
    const rank = ({ name }: RpcProvider): number => preferOtherThan.indexOf(name);
    const ranked = this.#providers.toSorted((one, other) => rank(one) - rank(other));
    const faults: string[] = [];
    for (const provider of ranked) {
      const opinion = await ask(provider, task);
      if ('value' in opinion) return opinion;
      faults.push(opinion.fault.message);
    }
    throw new ChainUnavailable(faults.join('; '));
  }

  async survey<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    enough: (soFar: readonly Opinion<Value>[]) => boolean = () => false,
  ): Promise<readonly Opinion<Value>[]> {
    const opinions: Opinion<Value>[] = [];
    for (const provider of this.#providers) {
      opinions.push(await ask(provider, task));
      if (enough(opinions)) break;
    }
    return opinions;
  }

  status(): readonly [] {
    return [];
  }

  async close(): Promise<void> {}
}

async function ask<Value>(
  provider: RpcProvider,
  task: (provider: RpcProvider) => Promise<Value>,
): Promise<Opinion<Value>> {
  try {
    return { provider: provider.name, value: await task(provider) };
  } catch (error) {
    if (error instanceof ProviderFault || error instanceof RpcError) return { provider: provider.name, fault: error };
    throw error;
  }
}

/** Yellow paper, M3:2048. */
function bloomOf(values: readonly string[]): string {
  const bytes = new Uint8Array(256);
  for (const value of values) {
    const hash = getBytes(keccak256(value));
    for (const pair of [0, 2, 4]) {
      const bit = ((hash[pair]! << 8) | hash[pair + 1]!) % 2048;
      bytes[255 - (bit >> 3)]! |= 1 << (bit & 7);
    }
  }
  return `0x${Buffer.from(bytes).toString('hex')}`;
}

function union(blooms: readonly string[]): string {
  const bits = blooms.reduce((all, bloom) => all | BigInt(bloom), 0n);
  return `0x${bits.toString(16).padStart(512, '0')}`;
}
