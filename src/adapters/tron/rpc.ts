import { z } from 'zod';
import type { Block } from '../../ports/chain/chain.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { faultOf } from '../rpc/dialects.ts';
import { inForm } from '../rpc/in-form.ts';
import {
  tronListedTransaction,
  tronTransactionInfo,
  type TronListedTransaction,
  type TronTransactionInfo,
} from './receipt.ts';

/** `wallet` answers with the newest block, `walletsolidity` only with solidified data. */
export type TronView = 'wallet' | 'walletsolidity';

/** Absent fields have protocol buffer defaults: the first block has no number. */
export const tronBlock = z.object({
  blockID: z.string().optional(),
  block_header: z
    .object({
      raw_data: z
        .object({
          number: z.number().nullish(),
          parentHash: z.string().nullish(),
          timestamp: z.number().nullish(),
        })
        .nullish(),
    })
    .nullish(),
  transactions: z.array(tronListedTransaction).nullish(),
});
const blockReceipts = z.array(tronTransactionInfo);

/** TronGrid suspends keys that ignore its limits; its documentation demands at least this pause. */
const LIMITED_PAUSE_MS = 30_000;
const BLOCK_ID = /^[0-9a-f]{64}$/i;

/** One POST. */
export async function ask<Value>(
  provider: RpcProvider,
  form: z.ZodType<Value>,
  view: TronView,
  call: string,
  body: unknown,
): Promise<Value> {
  const answer = await provider.post(`/${view}/${call}`, body, `${view}/${call}`).catch((error: unknown) => {
    if (error instanceof ProviderFault && error.kind === 'rate-limited')
      throw new ProviderFault('rate-limited', error.message, Math.max(LIMITED_PAUSE_MS, error.retryAfterMs ?? 0));
    throw error instanceof RpcError ? faultOf(error, call) : error;
  });
  return inForm(form, answer, call);
}

/** The newest block of a view. */
export async function newestBlock(provider: RpcProvider, view: TronView): Promise<Block> {
  const block = await headerOf(provider, view, null);
  if (block === null) throw new ProviderFault('behind', `${view} serves no block`);
  provider.report(view === 'wallet' ? 'head' : 'final', block.number);
  return block;
}

/** Null if the provider has no block with that number. */
export async function blockAt(provider: RpcProvider, number: number): Promise<Block | null> {
  const block = await headerOf(provider, 'wallet', number);
  if (block !== null && block.number !== number)
    throw new ProviderFault('inconsistent', `answered block ${block.number} for ${number}`);
  return block;
}

/** Providers without `getblock`, the only call that returns a header without all its transactions. */
const withoutGetBlock = new WeakSet<RpcProvider>();

/** The newest block for `null`. */
async function headerOf(provider: RpcProvider, view: TronView, number: number | null): Promise<Block | null> {
  if (!withoutGetBlock.has(provider)) {
    try {
      const wanted = number === null ? { detail: false } : { id_or_num: String(number), detail: false };
      return readHeader(await ask(provider, tronBlock, view, 'getblock', wanted));
    } catch (error) {
      if (!isUnknownCall(error)) throw error;
      withoutGetBlock.add(provider);
    }
  }
  const block =
    number === null
      ? ask(provider, tronBlock, view, 'getnowblock', {})
      : ask(provider, tronBlock, view, 'getblockbynum', { num: number });
  return readHeader(await block);
}

function isUnknownCall(error: unknown): boolean {
  return (
    error instanceof ProviderFault &&
    (['incapable', 'unknown'].includes(error.kind) || /status 40[45]\b/.test(error.message))
  );
}

export async function mustHaveBlock(provider: RpcProvider, number: number): Promise<Block> {
  const block = await blockAt(provider, number);
  if (block === null) throw new ProviderFault('behind', `does not have block ${number} yet`);
  return block;
}

function readHeader(block: z.infer<typeof tronBlock>): Block | null {
  if (block.blockID === undefined) return null;
  const raw = block.block_header?.raw_data ?? {};
  if (!BLOCK_ID.test(block.blockID)) throw new ProviderFault('inconsistent', 'answered a block without an id');
  return {
    number: raw.number ?? 0,
    hash: block.blockID,
    parentHash: raw.parentHash ?? '',
    timeSec: Math.floor((raw.timestamp ?? 0) / 1000),
  };
}

/** Null if the view has no such transaction. */
export async function transactionInfo(
  provider: RpcProvider,
  view: TronView,
  txHash: string,
): Promise<(TronTransactionInfo & { readonly id: string }) | null> {
  const info = await ask(provider, tronTransactionInfo, view, 'gettransactioninfobyid', { value: txHash });
  if (info.id === undefined) return null;
  if (info.id !== txHash) throw new ProviderFault('inconsistent', `answered transaction ${info.id} for ${txHash}`);
  return { ...info, id: info.id };
}

/**
 * All receipts of a block. `[]` means an empty block, or a machine behind the provider's load balancer that has not
 * seen the block yet, so it counts only if the block itself has no transactions.
 */
export async function receiptsOfBlock(provider: RpcProvider, number: number): Promise<readonly TronTransactionInfo[]> {
  const receipts = await ask(provider, blockReceipts, 'wallet', 'gettransactioninfobyblocknum', { num: number });
  if (receipts.length === 0 && (await wholeBlock(provider, number)).transactions.length > 0)
    throw new ProviderFault('behind', `has no receipts yet for block ${number}`);
  for (const receipt of receipts) {
    if ((receipt.blockNumber ?? 0) !== number || receipt.id === undefined)
      throw new ProviderFault('inconsistent', `answered foreign receipts for block ${number}`);
  }
  return receipts;
}

/** The transactions that the block lists. Throws if the provider has a different block there by now. */
export async function transactionsOf(
  provider: RpcProvider,
  { number, hash }: Block,
): Promise<readonly TronListedTransaction[]> {
  const { blockID, transactions } = await wholeBlock(provider, number);
  if (blockID !== hash) throw new ProviderFault('inconsistent', `answered two blocks for ${number}`);
  return transactions;
}

async function wholeBlock(provider: RpcProvider, number: number) {
  const { blockID, transactions } = await ask(provider, tronBlock, 'wallet', 'getblockbynum', { num: number });
  if (blockID === undefined) throw new ProviderFault('behind', `does not have block ${number} yet`);
  return { blockID, transactions: transactions ?? [] };
}

/** The receipts of exactly the transactions that the block lists. */
export async function completeReceiptsOf(provider: RpcProvider, block: Block): Promise<readonly TronTransactionInfo[]> {
  const [receipts, listed] = await Promise.all([
    receiptsOfBlock(provider, block.number),
    transactionsOf(provider, block),
  ]);
  assertComplete(block, receipts, listed);
  return receipts;
}

export function assertComplete(
  { number }: Block,
  receipts: readonly TronTransactionInfo[],
  listed: readonly TronListedTransaction[],
): void {
  const ids = new Set(receipts.map(({ id }) => id));
  if (ids.size !== listed.length || !listed.every(({ txID }) => ids.has(txID)))
    throw new ProviderFault('inconsistent', `answered other receipts of block ${number} than it lists transactions`);
}

/** Two blocks of one height come from the slots of two producers, so their times differ. */
export function assertSameBlock(block: Block, receipt: TronTransactionInfo | undefined): void {
  if (receipt?.blockTimeStamp !== undefined && Math.floor(receipt.blockTimeStamp / 1000) !== block.timeSec) {
    throw new ProviderFault('inconsistent', `answered receipts and header of different blocks at ${block.number}`);
  }
}
