import { randomBytes } from 'node:crypto';
import { getBytes, keccak256 } from 'ethers';
import { receiptsRootOf } from '../../src/adapters/evm/receipts-root.ts';
import type { RawLog, RawReceipt } from '../../src/adapters/evm/rpc.ts';
import { TRANSFER_TOPIC } from '../../src/adapters/evm/transfer-log.ts';

/** A transfer that waits for its block. `reference` names it towards the bench. */
export interface Payment {
  readonly reference: string;
  readonly to: string;
  readonly units: string;
}

interface StandInBlock {
  readonly number: number;
  readonly hash: string;
  readonly header: object;
  readonly receipts: readonly RawReceipt[];
  readonly references: readonly string[];
}

export interface ChainRules {
  readonly chainId: string;
  readonly token: string;
  /** Blocks from one that its chain calls final up to the head, both included. */
  readonly finalizedDepth: number;
}

interface LogFilter {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
}

const quantity = (value: number): string => `0x${value.toString(16)}`;
const word = (hex: string): string => `0x${hex.replace(/^0x/, '').toLowerCase().padStart(64, '0')}`;
const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`;
const bitsOf = (value: string): number[] => {
  const digest = getBytes(keccak256(value));
  return [0, 2, 4].map((at) => ((digest[at]! << 8) | digest[at + 1]!) & 2047);
};
const KEPT_BLOCKS = 2_000;

/**
 * A chain of one token in memory. Its blocks hold what a node's do, as far as a reader can check it: hashes that lead
 * on, blooms, roots of receipts.
 */
export class StandInChain {
  readonly #rules: ChainRules;
  readonly #payer = hex(20);
  readonly #commonBits: readonly number[];
  readonly #blocks: StandInBlock[] = [];
  readonly #places = new Map<string, { readonly block: number; readonly index: number }>();
  #waiting: Payment[] = [];

  constructor(rules: ChainRules) {
    this.#rules = rules;
    this.#commonBits = [rules.token, TRANSFER_TOPIC, word(this.#payer)].flatMap(bitsOf);
    for (let block = 0; block < rules.finalizedDepth + 1; block += 1) this.mine();
  }

  get height(): number {
    return this.#blocks.length - 1;
  }

  pay(payments: readonly Payment[]): void {
    for (const payment of payments) this.#waiting.push(payment);
  }

  /** Puts everything that waits into one block. */
  mine(): void {
    const payments = this.#waiting;
    this.#waiting = [];
    const number = this.#blocks.length;
    const hash = hex(32);
    const bloom = new Uint8Array(256);
    const receipts = payments.map((payment, index) =>
      this.#receipt(payment, index, { blockNumber: quantity(number), blockHash: hash }, bloom),
    );
    const parentHash = this.#blocks[number - 1]?.hash ?? hex(32);
    const header = {
      number: quantity(number),
      hash,
      parentHash,
      timestamp: quantity(Math.floor(Date.now() / 1000)),
      baseFeePerGas: '0x3b9aca00',
      ...{ logsBloom: `0x${Buffer.from(bloom).toString('hex')}`, receiptsRoot: receiptsRootOf(receipts) },
    };
    this.#blocks.push({ number, hash, header, receipts, references: payments.map(({ reference }) => reference) });
    this.#forget(number - KEPT_BLOCKS);
  }

  /** What was paid in the block. */
  referencesIn(number: number): readonly string[] {
    return this.#blocks[number]?.references ?? [];
  }

  answer(method: string, [first]: readonly unknown[]): unknown {
    switch (method) {
      case 'eth_chainId':
        return quantity(Number(this.#rules.chainId));
      case 'eth_blockNumber':
        return quantity(this.height);
      case 'eth_getBlockByNumber':
        return this.#blocks[this.#numberOf(first)]?.header ?? null;
      case 'eth_getLogs':
        return this.#logs(first as LogFilter);
      case 'eth_getBlockReceipts':
        return this.#blocks[this.#numberOf(first)]?.receipts ?? null;
      case 'eth_getTransactionReceipt': {
        const place = this.#places.get(String(first));
        return place ? this.#blocks[place.block]!.receipts[place.index] : null;
      }
      case 'eth_call':
        return (first as { data: string }).data === '0x313ce567' ? word('6') : `0x${'0'.repeat(64)}`;
      case 'eth_getCode':
        return '0x';
      case 'eth_getBalance':
      case 'eth_getTransactionCount':
        return '0x0';
      default:
        throw new Error(`the method ${method} does not exist`);
    }
  }

  #numberOf(tag: unknown): number {
    if (tag === 'latest') return this.height;
    return tag === 'finalized' ? this.height - this.#rules.finalizedDepth : Number(tag);
  }

  #logs({ fromBlock, toBlock, blockHash }: LogFilter): RawLog[] {
    const blocks =
      blockHash === undefined
        ? this.#blocks.slice(Number(fromBlock), Number(toBlock) + 1)
        : this.#blocks.slice(-KEPT_BLOCKS).filter(({ hash }) => hash === blockHash);
    return blocks.flatMap(({ receipts }) => receipts.flatMap(({ logs }) => logs));
  }

  #receipt(
    { to, units }: Payment,
    index: number,
    place: { blockNumber: string; blockHash: string },
    blockBloom: Uint8Array,
  ): RawReceipt {
    const transactionHash = hex(32);
    const topics = [TRANSFER_TOPIC, word(this.#payer), word(to)];
    const bloom = new Uint8Array(256);
    for (const bit of [...this.#commonBits, ...bitsOf(topics[2]!)]) {
      bloom[255 - (bit >> 3)]! |= 1 << (bit & 7);
      blockBloom[255 - (bit >> 3)]! |= 1 << (bit & 7);
    }
    const data = word(BigInt(units).toString(16));
    const log = {
      address: this.#rules.token,
      topics,
      data,
      ...place,
      transactionHash,
      logIndex: quantity(index),
      removed: false,
    };
    this.#places.set(transactionHash, { block: Number(place.blockNumber), index });
    const gas = {
      cumulativeGasUsed: quantity((index + 1) * 52_000),
      from: log.address,
      gasUsed: quantity(52_000),
      effectiveGasPrice: '0x3b9aca00',
    };
    const logsBloom = `0x${Buffer.from(bloom).toString('hex')}`;
    return { transactionHash, ...place, status: '0x1', type: '0x2', ...gas, logsBloom, logs: [log] };
  }

  #forget(number: number): void {
    const old = this.#blocks[number];
    if (old === undefined) return;
    for (const { transactionHash } of old.receipts) this.#places.delete(transactionHash);
    this.#blocks[number] = { ...old, receipts: [], references: [] };
  }
}
