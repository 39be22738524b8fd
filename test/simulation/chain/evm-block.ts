import { getBytes, keccak256, type Transaction } from 'ethers';
import { receiptsRootOf } from '../../../src/adapters/evm/receipts-root.ts';
import { TRANSFER_TOPIC } from '../../../src/adapters/evm/transfer-log.ts';
import type { ChainBlock } from './block.ts';

export interface EvmReceipt {
  readonly gasUsed: bigint;
  readonly gasPrice: bigint;
  readonly from: string;
}

export type EvmBlock = ChainBlock<Transaction, EvmReceipt>;

export interface JsonLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly logIndex: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly transactionHash: string;
}

interface Rendered {
  readonly header: object;
  readonly receipts: readonly { readonly transactionHash: string; readonly logs: readonly JsonLog[] }[];
}

export const quantity = (value: number | bigint): string => `0x${value.toString(16)}`;
const word = (hex: string): string => `0x${hex.replace(/^0x/, '').toLowerCase().padStart(64, '0')}`;
const NO_BLOOM = `0x${'0'.repeat(512)}`;
const NO_RECEIPTS = receiptsRootOf([])!;
const rendered = new WeakMap<EvmBlock, Rendered>();

/** A block as JSON-RPC shows it: header and receipts commit to each other. */
export function render(block: EvmBlock): Rendered {
  const known = rendered.get(block);
  if (known) return known;
  const place = { blockNumber: quantity(block.number), blockHash: block.hash };
  let gas = 0n;
  const receipts = block.included.map(
    ({ transaction, succeeded, movements, logIndexes, receipt: { gasUsed, gasPrice, from } }) => {
      gas += gasUsed + 21_000n;
      const logs = movements.map(({ asset, from: payer, to, units }, index) => ({
        ...{ address: asset, topics: [TRANSFER_TOPIC, word(payer), word(to)], data: word(units.toString(16)) },
        ...{ ...place, transactionHash: transaction.txHash, logIndex: quantity(logIndexes[index]!) },
      }));
      return {
        ...place,
        transactionHash: transaction.txHash,
        status: succeeded ? '0x1' : '0x0',
        type: '0x2',
        cumulativeGasUsed: quantity(gas),
        gasUsed: quantity(gasUsed),
        effectiveGasPrice: quantity(gasPrice),
        from,
        logsBloom: bloomOf(logs.flatMap(({ address, topics }) => [address, ...topics])),
        logs,
      };
    },
  );
  const header = {
    number: quantity(block.number),
    hash: block.hash,
    parentHash: block.parentHash,
    timestamp: quantity(block.timeSec),
    baseFeePerGas: quantity(block.price),
    logsBloom: receipts.length === 0 ? NO_BLOOM : union(receipts.map(({ logsBloom }) => logsBloom)),
    receiptsRoot: receipts.length === 0 ? NO_RECEIPTS : receiptsRootOf(receipts),
  };
  const result = { header, receipts };
  rendered.set(block, result);
  return result;
}

const bits = new Map<string, readonly number[]>();

/** Yellow paper, M3:2048. */
function bloomOf(values: readonly string[]): string {
  const bytes = new Uint8Array(256);
  for (const value of values) for (const bit of bitsOf(value)) bytes[255 - (bit >> 3)]! |= 1 << (bit & 7);
  return `0x${Buffer.from(bytes).toString('hex')}`;
}

function bitsOf(value: string): readonly number[] {
  const known = bits.get(value);
  if (known) return known;
  const digest = getBytes(keccak256(value));
  const found = [0, 2, 4].map((pair) => ((digest[pair]! << 8) | digest[pair + 1]!) % 2048);
  bits.set(value, found);
  return found;
}

function union(blooms: readonly string[]): string {
  const all = blooms.reduce((together, bloom) => together | BigInt(bloom), 0n);
  return `0x${all.toString(16).padStart(512, '0')}`;
}
