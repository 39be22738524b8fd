import type { FacadeBlock } from './block.ts';
import type { FacadeReceipt, SealedTransaction } from './journal.ts';
import { base58Of } from './tron-codec.ts';
import { decodeRaw, rawToJson } from './tron-transaction.ts';

/* Blocks, transactions and contracts as the API writes them. */

export function blockJson(block: FacadeBlock, withTransactions: boolean, visible: boolean): Record<string, unknown> {
  const raw = {
    ...(block.number === 0 ? {} : { number: block.number }),
    txTrieRoot: (block.transactions.length > 0 ? '11' : '00').repeat(32),
    witness_address: shown(`41${'00'.repeat(20)}`, visible),
    parentHash: block.parentId,
    timestamp: block.timeMs,
  };
  const transactions =
    withTransactions && block.transactions.length > 0
      ? { transactions: block.transactions.map((sealed) => transactionJson(sealed, visible)) }
      : {};
  return { blockID: block.id, block_header: { raw_data: raw, witness_signature: '' }, ...transactions };
}

export function infoJson(sealed: SealedTransaction, timeMs: number, visible: boolean): Record<string, unknown> {
  const { contract_address: contract, log, ...rest }: FacadeReceipt = sealed.info;
  return {
    ...rest,
    blockNumber: sealed.blockNumber,
    blockTimeStamp: timeMs,
    ...(contract === undefined ? {} : { contract_address: shown(contract, visible) }),
    ...(log === undefined
      ? {}
      : { log: visible ? log.map((entry) => ({ ...entry, address: base58Of(`41${entry.address}`) })) : log }),
  };
}

export function transactionJson(sealed: SealedTransaction, visible: boolean): Record<string, unknown> {
  const contractRet = sealed.info.receipt['result'] ?? 'SUCCESS';
  return {
    ret: [{ contractRet }],
    signature: sealed.signatures,
    txID: sealed.txId,
    raw_data: rawToJson(decodeRaw(sealed.rawHex), visible),
    raw_data_hex: sealed.rawHex,
  };
}

interface AbiEntry {
  readonly type: string;
  readonly name?: string;
  readonly stateMutability?: string;
  readonly anonymous?: boolean;
  readonly inputs?: readonly object[];
  readonly outputs?: readonly object[];
}

const capitalised = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** The ABI with the capitalised enum names of TRON's API. */
export function tronAbiEntry({ type, name, stateMutability, inputs, outputs }: AbiEntry): Record<string, unknown> {
  return {
    type: capitalised(type),
    ...(name === undefined ? {} : { name }),
    ...(stateMutability === undefined ? {} : { stateMutability: capitalised(stateMutability) }),
    inputs,
    outputs,
  };
}

export const shown = (address: string, visible: boolean): string => (visible ? base58Of(address) : address);
